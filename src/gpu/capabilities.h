// SPDX-License-Identifier: Apache-2.0
// From WebGPU's view of an adapter or device to DeviceCaps, and back.
#pragma once

#include <webgpu/webgpu.h>

#include <optional>
#include <vector>

#include "gpu/instance.h"
#include "wgk/device_caps.h"
#include "wgk/error.h"

namespace wgk::gpu {

struct WantedCapabilities {
  std::vector<WGPUFeatureName> features;
  WGPULimits limits;
};
// All that packages can use of an adapter, or exactly what `exactly` lists ("device/none" if the
// adapter lacks some of it).
Result<WantedCapabilities> wanted_capabilities(const Procs& procs, WGPUAdapter adapter,
                                               const std::optional<DeviceCaps>& exactly);

struct DeviceCapabilities {
  DeviceCaps caps;
  bool synchronized = false;
  bool timestamps_inside_passes = false;
};
Result<DeviceCapabilities> device_capabilities(const Instance& instance, WGPUDevice device,
                                               const WGPULimits& limits);

}  // namespace wgk::gpu
