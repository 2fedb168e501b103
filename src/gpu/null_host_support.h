// SPDX-License-Identifier: Apache-2.0
// For tests: a host program with a WebGPU device of its own that needs no driver.
#pragma once

#include <webgpu/webgpu.h>

#include <cstdint>

namespace wgk::gpu::testing {

// A host program's device on the null back end, which obeys every call and takes no time. Made
// without the table: its calls never fail and its objects are not counted.
struct NullHost {
  WGPUInstance instance = nullptr;
  WGPUDevice device = nullptr;
  int uncaptured = 0;

  NullHost() {
    const WGPUInstanceFeatureName feature = WGPUInstanceFeatureName_TimedWaitAny;
    WGPUInstanceDescriptor descriptor = WGPU_INSTANCE_DESCRIPTOR_INIT;
    descriptor.requiredFeatureCount = 1;
    descriptor.requiredFeatures = &feature;
    instance = wgpuCreateInstance(&descriptor);
    WGPURequestAdapterOptions options = WGPU_REQUEST_ADAPTER_OPTIONS_INIT;
    options.backendType = WGPUBackendType_Null;
    WGPUAdapter adapter = nullptr;
    WGPUFutureWaitInfo wait = WGPU_FUTURE_WAIT_INFO_INIT;
    wait.future = wgpuInstanceRequestAdapter(
        instance, &options,
        {nullptr, WGPUCallbackMode_WaitAnyOnly,
         [](WGPURequestAdapterStatus, WGPUAdapter result, WGPUStringView, void* to, void*) {
           *static_cast<WGPUAdapter*>(to) = result;
         },
         &adapter, nullptr});
    wgpuInstanceWaitAny(instance, 1, &wait, UINT64_MAX);
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
