// SPDX-License-Identifier: Apache-2.0
// For tests: a function table that counts calls and makes the n-th one fail the way WebGPU lets it
// fail.
#pragma once

#include <webgpu/webgpu.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "gpu/procs.h"

namespace wgk::gpu::testing {

struct Faults {
  std::atomic<std::uint64_t> calls = 0;  // that can fail
  std::uint64_t fail_at = 0;             // 1 is the first; 0: none
  int again = 0;                         // so many later calls of the same member fail too
  std::string failed;                    // the member that failed
  WGPUDevice device = nullptr;           // the last one made, for errors without a return value
  std::mutex mutex;
  // Ours, with the failing callback, until somebody looks at them.
  std::map<std::uint64_t, std::function<void()>> futures;
  static constexpr std::uint64_t kFirst = std::uint64_t{1} << 62;
  std::uint64_t next_future = kFirst;
  std::uint64_t lost_future = 0;                   // looks at it never fail: they decide nothing
  const Procs* base = nullptr;                     // what answers where nothing fails
  std::vector<std::string_view>* trace = nullptr;  // gets the member of every call that can fail

  void arm(std::uint64_t index, int more = 0) {
    calls = 0;
    fail_at = index;
    again = more;
    failed.clear();
    device = nullptr;
  }
};

inline Faults& faults() {
  static Faults state;
  return state;
}

inline const WGPUStringView kInjected = {"injected", 8};

template <class F>
WGPUFuture failing_future(F&& callback) {
  Faults& state = faults();
  const std::lock_guard lock(state.mutex);
  state.futures[state.next_future] = std::forward<F>(callback);
  return {state.next_future++};
}

// One overload per kind of callback.
inline WGPUFuture fail_later(WGPUBufferMapCallbackInfo info) {
  return failing_future([info] {
    info.callback(WGPUMapAsyncStatus_Error, kInjected, info.userdata1, info.userdata2);
  });
}
inline WGPUFuture fail_later(WGPUCreateComputePipelineAsyncCallbackInfo info) {
  return failing_future([info] {
    info.callback(WGPUCreatePipelineAsyncStatus_InternalError, nullptr, kInjected, info.userdata1,
                  info.userdata2);
  });
}
inline WGPUFuture fail_later(WGPUPopErrorScopeCallbackInfo info) {
  return failing_future([info] {
    info.callback(WGPUPopErrorScopeStatus_Error, WGPUErrorType_Unknown, kInjected, info.userdata1,
                  info.userdata2);
  });
}
inline WGPUFuture fail_later(WGPUQueueWorkDoneCallbackInfo info) {
  return failing_future([info] {
    info.callback(WGPUQueueWorkDoneStatus_Error, kInjected, info.userdata1, info.userdata2);
  });
}
inline WGPUFuture fail_later(WGPURequestDeviceCallbackInfo info) {
  return failing_future([info] {
    info.callback(WGPURequestDeviceStatus_Error, nullptr, kInjected, info.userdata1,
                  info.userdata2);
  });
}
inline WGPUFuture fail_later(WGPURequestAdapterCallbackInfo info) {
  return failing_future([info] {
    info.callback(WGPURequestAdapterStatus_Error, nullptr, kInjected, info.userdata1,
                  info.userdata2);
  });
}

inline bool now(std::string_view member) {
  Faults& state = faults();
  if (state.trace != nullptr) state.trace->push_back(member);
  if (++state.calls == state.fail_at) {
    state.failed = member;
    return true;
  }
  return state.again > 0 && state.failed == member && state.again-- > 0;
}

inline const Procs& base_procs() { return *faults().base; }

template <auto Member, class R, class... A>
R failing_call(std::string_view member, A... args) {
  if constexpr (std::is_same_v<R, WGPUFuture> && sizeof...(A) > 0) {
    if (now(member)) {
      const auto info = std::get<sizeof...(A) - 1>(std::tuple(args...));
      if constexpr (std::is_same_v<std::remove_const_t<decltype(info)>,
                                   WGPUPopErrorScopeCallbackInfo>) {
        // The scope itself goes away all the same.
        WGPUPopErrorScopeCallbackInfo nobody = WGPU_POP_ERROR_SCOPE_CALLBACK_INFO_INIT;
        nobody.mode = WGPUCallbackMode_WaitAnyOnly;
        nobody.callback = [](WGPUPopErrorScopeStatus, WGPUErrorType, WGPUStringView, void*, void*) {
        };
        static_cast<void>(
            base_procs().device_pop_error_scope(std::get<0>(std::tuple(args...)), nobody));
      }
      return fail_later(info);
    }
    return (base_procs().*Member)(args...);
  } else if constexpr (std::is_void_v<R>) {
    if (now(member)) {
      if (faults().device != nullptr)
        wgpuDeviceInjectError(faults().device, WGPUErrorType_Validation, kInjected);
      return;
    }
    (base_procs().*Member)(args...);
  } else if constexpr (std::is_pointer_v<R>) {
    return now(member) ? nullptr : (base_procs().*Member)(args...);
  } else {
    static_assert(std::is_same_v<R, WGPUStatus>);
    return now(member) ? WGPUStatus_Error : (base_procs().*Member)(args...);
  }
}

// `Tag` makes the member's name part of the function.
template <auto Member, class Tag, class R, class... A>
auto wrap(R (*)(A...)) {
  return +[](A... args) -> R { return failing_call<Member, R, A...>(Tag::name(), args...); };
}

inline WGPUWaitStatus wait_any(WGPUInstance instance, std::size_t count, WGPUFutureWaitInfo* infos,
                               std::uint64_t timeout) {
  Faults& state = faults();
  const bool look = count == 1 && infos[0].future.id == state.lost_future;
  if (!look && now("instance_wait_any")) return WGPUWaitStatus_Error;
  std::function<void()> callback;
  {
    const std::lock_guard lock(state.mutex);
    if (count == 1) {
      if (const auto found = state.futures.find(infos[0].future.id); found != state.futures.end()) {
        callback = std::move(found->second);
        state.futures.erase(found);
      }
    }
  }
  if (count != 1 || infos[0].future.id < Faults::kFirst)
    return base_procs().instance_wait_any(instance, count, infos, timeout);
  infos[0].completed = WGPU_TRUE;
  if (callback) callback();
  return WGPUWaitStatus_Success;
}

// The given functions; those that WebGPU lets fail count, and fail when their turn comes.
inline Procs faulty_procs(const Procs& base = linked_procs()) {
  faults().base = &base;
  Procs procs = base;
#define WGK_FAULT(member)                                          \
  {                                                                \
    struct Tag {                                                   \
      static constexpr std::string_view name() { return #member; } \
    };                                                             \
    procs.member = wrap<&Procs::member, Tag>(procs.member);        \
  }
  WGK_FAULT(adapter_get_info)
  WGK_FAULT(adapter_get_instance)
  WGK_FAULT(adapter_get_limits)
  WGK_FAULT(buffer_get_const_mapped_range)
  WGK_FAULT(buffer_map_async)
  WGK_FAULT(command_encoder_begin_compute_pass)
  WGK_FAULT(command_encoder_clear_buffer)
  WGK_FAULT(command_encoder_copy_buffer_to_buffer)
  WGK_FAULT(command_encoder_finish)
  WGK_FAULT(command_encoder_resolve_query_set)
  WGK_FAULT(compute_pass_dispatch)
  WGK_FAULT(compute_pass_pop_debug_group)
  WGK_FAULT(compute_pass_push_debug_group)
  WGK_FAULT(compute_pass_set_bind_group)
  WGK_FAULT(compute_pass_set_pipeline)
  WGK_FAULT(create_instance)
  WGK_FAULT(device_create_bind_group)
  WGK_FAULT(device_create_bind_group_layout)
  WGK_FAULT(device_create_buffer)
  WGK_FAULT(device_create_command_encoder)
  WGK_FAULT(device_create_compute_pipeline_async)
  WGK_FAULT(device_create_pipeline_layout)
  WGK_FAULT(device_create_query_set)
  WGK_FAULT(device_create_shader_module)
  WGK_FAULT(device_get_adapter)
  WGK_FAULT(device_get_adapter_info)
  WGK_FAULT(device_get_limits)
  WGK_FAULT(device_get_queue)
  WGK_FAULT(device_pop_error_scope)
  WGK_FAULT(queue_on_submitted_work_done)
  WGK_FAULT(queue_submit)
  WGK_FAULT(queue_write_buffer)
#undef WGK_FAULT
  procs.instance_wait_any = wait_any;
  procs.device_get_lost_future = [](WGPUDevice device) {
    const WGPUFuture future = base_procs().device_get_lost_future(device);
    faults().lost_future = future.id;
    return future;
  };
  procs.enumerate_adapters = [](WGPUInstance instance, const WGPURequestAdapterOptions* options) {
    return now("enumerate_adapters") ? std::vector<WGPUAdapter>()
                                     : base_procs().enumerate_adapters(instance, options);
  };
  procs.adapter_request_device = [](WGPUAdapter adapter, const WGPUDeviceDescriptor* descriptor,
                                    WGPURequestDeviceCallbackInfo info) {
    if (now("adapter_request_device")) return fail_later(info);
    // Notes the device on its way to the caller.
    struct Next {
      WGPURequestDeviceCallbackInfo info;
    };
    auto* next = new Next{info};
    info.userdata1 = next;
    info.callback = [](WGPURequestDeviceStatus status, WGPUDevice device, WGPUStringView message,
                       void* user, void*) {
      const std::unique_ptr<Next> original(static_cast<Next*>(user));
      faults().device = device;
      original->info.callback(status, device, message, original->info.userdata1,
                              original->info.userdata2);
    };
    return base_procs().adapter_request_device(adapter, descriptor, info);
  };
  return procs;
}

}  // namespace wgk::gpu::testing
