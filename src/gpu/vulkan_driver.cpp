// SPDX-License-Identifier: Apache-2.0
#include "gpu/vulkan_driver.h"

#ifdef __linux__

#include <dlfcn.h>

#include <cstdint>
#include <mutex>

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

}  // namespace

bool has_vulkan_driver() {
  static std::mutex mutex;
  static void* instance = nullptr;
  const std::lock_guard lock(mutex);
  if (instance != nullptr) return true;
  void* library = dlopen("libvulkan.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return false;
  const auto create = reinterpret_cast<CreateInstance>(dlsym(library, "vkCreateInstance"));
  const InstanceCreateInfo info;
  if (create != nullptr && create(&info, nullptr, &instance) == 0) return true;
  dlclose(library);
  return false;
}

}  // namespace wgk::gpu

#else

namespace wgk::gpu {
bool has_vulkan_driver() { return true; }
}  // namespace wgk::gpu

#endif
