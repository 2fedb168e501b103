// SPDX-License-Identifier: Apache-2.0
// What a caller's own device should be made with, so that packages find what they can use.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "wgk/device.h"
#include "wgk/error.h"
#include "wgk/package.h"
#include "wgk/runtime.h"
#include "wgk/webgpu_handles.h"

namespace wgk {

struct DeviceNeed {
  enum class Kind : std::uint8_t { kFeature, kLimit, kToggleOn, kToggleOff, kCache };
  Kind kind = Kind::kFeature;
  std::string name;  // "shader-f16", "maxStorageBufferBindingSize", "vulkan_enable_f16_on_nvidia"
  double least =
      0;  // limits: what some package cannot do without; 0: as much as the adapter offers
  bool required = false;  // without it some package has no variant at all
  std::string reason;     // which package and variant, and what it is for
};

struct DeviceNeedsOptions {
  Mode mode = Mode::kSafe;
  std::string cache_folder =
      {};  // compiled pipelines are kept there; give the runtime the same one
  GetProcAddress procs = nullptr;
};

// A list to read, and a way to apply it. Keep the object until the device is gone: the device calls
// its cache hooks.
class DeviceNeeds {
 public:
  const std::vector<DeviceNeed>& items() const { return items_; }

  // Adds what the adapter offers to the descriptor: features, limits (raised, never lowered),
  // Dawn's toggles and cache hooks. The descriptor then points into this object. Errors:
  // "device/feature" if something required is missing, "usage/device" if the descriptor already
  // chains toggles or cache hooks.
  Status add_to(WGPUAdapter adapter, WGPUDeviceDescriptor& descriptor);

  // The instance must offer unsafe features for these needs (toggle allow_unsafe_apis).
  bool wants_unsafe_apis() const;

 private:
  friend Result<DeviceNeeds> device_needs(std::span<const Package>, const DeviceNeedsOptions&);
  struct Storage;
  std::vector<DeviceNeed> items_;
  DeviceNeedsOptions options_;
  std::shared_ptr<Storage> storage_;
};

Result<DeviceNeeds> device_needs(std::span<const Package> packages,
                                 const DeviceNeedsOptions& options = {});

}  // namespace wgk
