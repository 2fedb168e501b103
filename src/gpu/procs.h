// SPDX-License-Identifier: Apache-2.0
// The one table of WebGPU functions that this library calls: filled from the linked library or from
// a caller's lookup function, so that another webgpu.h implementation works, and so that tests can
// count calls and make any of them fail.
#pragma once

#include <webgpu/webgpu.h>

#include <cstddef>
#include <vector>

#include "wgk/error.h"

namespace wgk::gpu {

// X(member, Name): functions without which nothing works.
#define WGK_GPU_REQUIRED_PROCS(X)                                            \
  X(adapter_info_free_members, AdapterInfoFreeMembers)                       \
  X(bind_group_layout_release, BindGroupLayoutRelease)                       \
  X(bind_group_release, BindGroupRelease)                                    \
  X(buffer_add_ref, BufferAddRef)                                            \
  X(buffer_destroy, BufferDestroy)                                           \
  X(buffer_get_const_mapped_range, BufferGetConstMappedRange)                \
  X(buffer_get_size, BufferGetSize)                                          \
  X(buffer_get_usage, BufferGetUsage)                                        \
  X(buffer_map_async, BufferMapAsync)                                        \
  X(buffer_release, BufferRelease)                                           \
  X(buffer_unmap, BufferUnmap)                                               \
  X(command_buffer_release, CommandBufferRelease)                            \
  X(command_encoder_begin_compute_pass, CommandEncoderBeginComputePass)      \
  X(command_encoder_clear_buffer, CommandEncoderClearBuffer)                 \
  X(command_encoder_copy_buffer_to_buffer, CommandEncoderCopyBufferToBuffer) \
  X(command_encoder_finish, CommandEncoderFinish)                            \
  X(command_encoder_release, CommandEncoderRelease)                          \
  X(command_encoder_resolve_query_set, CommandEncoderResolveQuerySet)        \
  X(compute_pass_dispatch, ComputePassEncoderDispatchWorkgroups)             \
  X(compute_pass_end, ComputePassEncoderEnd)                                 \
  X(compute_pass_pop_debug_group, ComputePassEncoderPopDebugGroup)           \
  X(compute_pass_push_debug_group, ComputePassEncoderPushDebugGroup)         \
  X(compute_pass_release, ComputePassEncoderRelease)                         \
  X(compute_pass_set_bind_group, ComputePassEncoderSetBindGroup)             \
  X(compute_pass_set_pipeline, ComputePassEncoderSetPipeline)                \
  X(compute_pipeline_release, ComputePipelineRelease)                        \
  X(device_add_ref, DeviceAddRef)                                            \
  X(device_create_bind_group, DeviceCreateBindGroup)                         \
  X(device_create_bind_group_layout, DeviceCreateBindGroupLayout)            \
  X(device_create_buffer, DeviceCreateBuffer)                                \
  X(device_create_command_encoder, DeviceCreateCommandEncoder)               \
  X(device_create_compute_pipeline_async, DeviceCreateComputePipelineAsync)  \
  X(device_create_pipeline_layout, DeviceCreatePipelineLayout)               \
  X(device_create_query_set, DeviceCreateQuerySet)                           \
  X(device_create_shader_module, DeviceCreateShaderModule)                   \
  X(device_get_features, DeviceGetFeatures)                                  \
  X(device_get_limits, DeviceGetLimits)                                      \
  X(device_get_queue, DeviceGetQueue)                                        \
  X(device_pop_error_scope, DevicePopErrorScope)                             \
  X(device_push_error_scope, DevicePushErrorScope)                           \
  X(device_release, DeviceRelease)                                           \
  X(instance_add_ref, InstanceAddRef)                                        \
  X(instance_release, InstanceRelease)                                       \
  X(instance_wait_any, InstanceWaitAny)                                      \
  X(pipeline_layout_release, PipelineLayoutRelease)                          \
  X(query_set_release, QuerySetRelease)                                      \
  X(queue_on_submitted_work_done, QueueOnSubmittedWorkDone)                  \
  X(queue_release, QueueRelease)                                             \
  X(queue_submit, QueueSubmit)                                               \
  X(queue_write_buffer, QueueWriteBuffer)                                    \
  X(shader_module_release, ShaderModuleRelease)                              \
  X(supported_features_free_members, SupportedFeaturesFreeMembers)

// Functions of which an adopted device can do without, or which only Dawn has: null where they are
// missing.
#define WGK_GPU_OPTIONAL_PROCS(X)                                                   \
  X(adapter_get_features, AdapterGetFeatures)                                       \
  X(adapter_get_info, AdapterGetInfo)                                               \
  X(adapter_get_instance, AdapterGetInstance)                                       \
  X(adapter_get_limits, AdapterGetLimits)                                           \
  X(adapter_release, AdapterRelease)                                                \
  X(adapter_request_device, AdapterRequestDevice)                                   \
  X(compute_pass_write_timestamp, ComputePassEncoderWriteTimestamp)                 \
  X(create_instance, CreateInstance)                                                \
  X(device_destroy, DeviceDestroy)                                                  \
  X(device_force_loss, DeviceForceLoss)                                             \
  X(device_get_adapter, DeviceGetAdapter)                                           \
  X(device_get_adapter_info, DeviceGetAdapterInfo)                                  \
  X(device_get_lost_future, DeviceGetLostFuture)                                    \
  X(device_set_logging_callback, DeviceSetLoggingCallback)                          \
  X(instance_get_wgsl_language_features, InstanceGetWGSLLanguageFeatures)           \
  X(instance_request_adapter, InstanceRequestAdapter)                               \
  X(matrix_configs_free_members, AdapterPropertiesSubgroupMatrixConfigsFreeMembers) \
  X(supported_wgsl_language_features_free_members, SupportedWGSLLanguageFeaturesFreeMembers)

// Every adapter of an instance, each with a reference for the caller. Dawn only; null elsewhere.
using EnumerateAdapters = std::vector<WGPUAdapter> (*)(WGPUInstance,
                                                       const WGPURequestAdapterOptions*);
// The names of the toggles in force on a device. Dawn only; null elsewhere.
using TogglesUsed = std::vector<const char*> (*)(WGPUDevice);

struct Procs {
#define WGK_MEMBER(member, name) WGPUProc##name member = nullptr;
  WGK_GPU_REQUIRED_PROCS(WGK_MEMBER)
  WGK_GPU_OPTIONAL_PROCS(WGK_MEMBER)
#undef WGK_MEMBER
  EnumerateAdapters enumerate_adapters = nullptr;
  TogglesUsed toggles_used = nullptr;
};

// The functions of the linked library.
const Procs& linked_procs();

// `get_proc_address` is wgpuGetProcAddress of the caller's library. Errors: "device/function" with
// every missing name.
Result<Procs> procs_from(WGPUProc (*get_proc_address)(WGPUStringView name));

}  // namespace wgk::gpu
