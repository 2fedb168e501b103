// SPDX-License-Identifier: Apache-2.0
// Whether the system has a Vulkan driver, asked without Dawn: where there is none, Dawn prints the
// loader's complaint to stderr whatever log sinks are installed.
#pragma once

namespace wgk::gpu {

// Keeps the driver's library loaded while it lives, so that Dawn, asked next, need not load it
// again.
class VulkanDriver {
 public:
  VulkanDriver();
  ~VulkanDriver();
  VulkanDriver(const VulkanDriver&) = delete;
  VulkanDriver& operator=(const VulkanDriver&) = delete;

  // True also where it cannot be known: systems other than Linux.
  bool found() const { return found_; }

 private:
  bool found_ = true;
  void* library_ = nullptr;
  void* instance_ = nullptr;  // VkInstance
};

}  // namespace wgk::gpu
