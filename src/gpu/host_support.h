// SPDX-License-Identifier: Apache-2.0
// For tests: how a host program makes what it passes to adopt(), without our table of functions.
#pragma once

#include <webgpu/webgpu.h>

#include <cstdint>

namespace wgk::gpu::testing {

// An instance that allows timed waits; `next`: toggles and the like.
inline WGPUInstance host_instance(WGPUChainedStruct* next = nullptr) {
  const WGPUInstanceFeatureName feature = WGPUInstanceFeatureName_TimedWaitAny;
  WGPUInstanceDescriptor descriptor = WGPU_INSTANCE_DESCRIPTOR_INIT;
  descriptor.nextInChain = next;
  descriptor.requiredFeatureCount = 1;
  descriptor.requiredFeatures = &feature;
  return wgpuCreateInstance(&descriptor);
}

// Null where there is none.
inline WGPUAdapter host_adapter(WGPUInstance instance,
                                const WGPURequestAdapterOptions* options = nullptr) {
  WGPUAdapter adapter = nullptr;
  WGPUFutureWaitInfo wait = WGPU_FUTURE_WAIT_INFO_INIT;
  wait.future =
      wgpuInstanceRequestAdapter(instance, options,
                                 {nullptr, WGPUCallbackMode_WaitAnyOnly,
                                  [](WGPURequestAdapterStatus, WGPUAdapter result, WGPUStringView,
                                     void* to, void*) { *static_cast<WGPUAdapter*>(to) = result; },
                                  &adapter, nullptr});
  wgpuInstanceWaitAny(instance, 1, &wait, UINT64_MAX);
  return adapter;
}

}  // namespace wgk::gpu::testing
