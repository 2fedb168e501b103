// SPDX-License-Identifier: Apache-2.0
// For tests: a host program with a WebGPU device of its own that needs no driver.
#pragma once

#include <webgpu/webgpu.h>

#include "gpu/host_support.h"

namespace wgk::gpu::testing {

// A host program's device on the null back end, which obeys every call and takes no time. Made
// without the table: its calls never fail and its objects are not counted.
struct NullHost {
  WGPUInstance instance = nullptr;
  WGPUDevice device = nullptr;
  int uncaptured = 0;

  NullHost() {
    instance = host_instance();
    WGPURequestAdapterOptions options = WGPU_REQUEST_ADAPTER_OPTIONS_INIT;
    options.backendType = WGPUBackendType_Null;
    WGPUAdapter adapter = host_adapter(instance, &options);
    WGPUDeviceDescriptor wanted = WGPU_DEVICE_DESCRIPTOR_INIT;
    wanted.uncapturedErrorCallbackInfo = {
        nullptr,
        [](const WGPUDevice*, WGPUErrorType, WGPUStringView, void* host, void*) {
          ++static_cast<NullHost*>(host)->uncaptured;
        },
        this, nullptr};
    device = wgpuAdapterCreateDevice(adapter, &wanted);
    wgpuAdapterRelease(adapter);
  }
  ~NullHost() {
    wgpuDeviceRelease(device);
    wgpuInstanceRelease(instance);
  }
  NullHost(const NullHost&) = delete;
  NullHost& operator=(const NullHost&) = delete;
};

}  // namespace wgk::gpu::testing
