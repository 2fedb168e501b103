// SPDX-License-Identifier: Apache-2.0
#include "gpu/vulkan_driver.h"

#ifdef __linux__

#include <dlfcn.h>

#include <cstdint>

namespace wgk::gpu {
namespace {

// VkInstanceCreateInfo of Vulkan 1.0: nothing asked for.
struct InstanceCreateInfo {
  std::int32_t type = 1;  // VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO
  const void* next = nullptr;
  std::uint32_t flags = 0;
  const void* application = nullptr;
  std::uint32_t layer_count = 0;
  const char* const* layers = nullptr;
  std::uint32_t extension_count = 0;
  const char* const* extensions = nullptr;
};
using CreateInstance = std::int32_t (*)(const InstanceCreateInfo*, const void*, void**);
using DestroyInstance = void (*)(void*, const void*);

}  // namespace

VulkanDriver::VulkanDriver() : found_(false) {
  library_ = dlopen("libvulkan.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library_ == nullptr) return;
  const auto create = reinterpret_cast<CreateInstance>(dlsym(library_, "vkCreateInstance"));
  const InstanceCreateInfo info;
  found_ = create != nullptr && create(&info, nullptr, &instance_) == 0;
}

VulkanDriver::~VulkanDriver() {
  if (library_ == nullptr) return;
  const auto destroy = reinterpret_cast<DestroyInstance>(dlsym(library_, "vkDestroyInstance"));
  if (found_ && destroy != nullptr) destroy(instance_, nullptr);
  dlclose(library_);
}

}  // namespace wgk::gpu

#else

namespace wgk::gpu {
VulkanDriver::VulkanDriver() = default;
VulkanDriver::~VulkanDriver() = default;
}  // namespace wgk::gpu

#endif
