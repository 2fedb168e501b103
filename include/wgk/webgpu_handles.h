// SPDX-License-Identifier: Apache-2.0
// The WebGPU handles that cross the library's edge. <webgpu/webgpu.h> may be included before or
// after this.
#pragma once

extern "C" {
typedef struct WGPUAdapterImpl* WGPUAdapter;
typedef struct WGPUBufferImpl* WGPUBuffer;
typedef struct WGPUCommandEncoderImpl* WGPUCommandEncoder;
typedef struct WGPUComputePassEncoderImpl* WGPUComputePassEncoder;
typedef struct WGPUDeviceImpl* WGPUDevice;
typedef struct WGPUInstanceImpl* WGPUInstance;
typedef struct WGPUQueueImpl* WGPUQueue;
struct WGPUDeviceDescriptor;
struct WGPUStringView;
}
