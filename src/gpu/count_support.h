// SPDX-License-Identifier: Apache-2.0
// For tests: a function table that counts every call and every object that is alive.
#pragma once

#include <webgpu/webgpu.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <type_traits>
#include <utility>

#include "gpu/procs.h"

namespace wgk::gpu::testing {

enum class Call : std::size_t {
#define WGK_CALL(member, name) member,
  WGK_GPU_REQUIRED_PROCS(WGK_CALL) WGK_GPU_OPTIONAL_PROCS(WGK_CALL)
#undef WGK_CALL
      count_
};
inline constexpr std::size_t kCalls = static_cast<std::size_t>(Call::count_);

inline constexpr std::array<std::string_view, kCalls> kCallNames = {
#define WGK_NAME(member, name) #member,
    WGK_GPU_REQUIRED_PROCS(WGK_NAME) WGK_GPU_OPTIONAL_PROCS(WGK_NAME)
#undef WGK_NAME
};

// References to objects of one kind that the library holds.
template <class H>
inline std::atomic<std::int64_t> live_of = 0;

struct Counting {
  std::array<std::atomic<std::uint64_t>, kCalls> calls = {};
  std::atomic<std::uint64_t> wrong_thread = 0;  // scopes closed by another thread than opened them
  std::atomic<int> failing_buffers = 0;         // so many buffers are refused from now on
  std::atomic<bool> swallow_passes = false;     // commands of passes count, but go nowhere

  std::uint64_t of(Call call) const { return calls[static_cast<std::size_t>(call)]; }
  std::uint64_t total() const {
    std::uint64_t sum = 0;
    for (const auto& count : calls) sum += count;
    return sum;
  }
  void reset() {
    for (auto& count : calls) count = 0;
    wrong_thread = 0;
    failing_buffers = 0;
    swallow_passes = false;
  }
};

inline Counting& counting() {
  static Counting state;
  return state;
}

// Every kind of object that the library makes or takes references of.
struct Live {
  std::int64_t adapters = live_of<WGPUAdapter>, bind_groups = live_of<WGPUBindGroup>,
               bind_group_layouts = live_of<WGPUBindGroupLayout>, buffers = live_of<WGPUBuffer>,
               command_buffers = live_of<WGPUCommandBuffer>,
               command_encoders = live_of<WGPUCommandEncoder>,
               passes = live_of<WGPUComputePassEncoder>, pipelines = live_of<WGPUComputePipeline>,
               devices = live_of<WGPUDevice>, instances = live_of<WGPUInstance>,
               pipeline_layouts = live_of<WGPUPipelineLayout>, query_sets = live_of<WGPUQuerySet>,
               queues = live_of<WGPUQueue>, shader_modules = live_of<WGPUShaderModule>;
  bool operator==(const Live&) const = default;
  std::int64_t total() const {
    return adapters + bind_groups + bind_group_layouts + buffers + command_buffers +
           command_encoders + passes + pipelines + devices + instances + pipeline_layouts +
           query_sets + queues + shader_modules;
  }
};

template <class T>
struct FirstArgument;
template <class R, class First, class... Rest>
struct FirstArgument<R (*)(First, Rest...)> {
  using type = First;
};

inline thread_local int open_scopes = 0;

template <Call kCall>
void note_scope() {
  if constexpr (kCall == Call::device_push_error_scope) ++open_scopes;
  if constexpr (kCall == Call::device_pop_error_scope) {
    if (--open_scopes < 0) {
      ++counting().wrong_thread;
      open_scopes = 0;
    }
  }
}

// Counts the object that a callback brings.
template <class Info, class Object>
Info count_result(Info info) {
  struct Next {
    Info info;
  };
  info.userdata1 = new Next{info};
  if constexpr (std::is_same_v<Object, WGPUAdapter>) {
    info.callback = [](WGPURequestAdapterStatus status, WGPUAdapter adapter, WGPUStringView message,
                       void* user, void*) {
      const std::unique_ptr<Next> next(static_cast<Next*>(user));
      if (adapter != nullptr) ++live_of<WGPUAdapter>;
      next->info.callback(status, adapter, message, next->info.userdata1, next->info.userdata2);
    };
  } else if constexpr (std::is_same_v<Object, WGPUDevice>) {
    info.callback = [](WGPURequestDeviceStatus status, WGPUDevice device, WGPUStringView message,
                       void* user, void*) {
      const std::unique_ptr<Next> next(static_cast<Next*>(user));
      if (device != nullptr) ++live_of<WGPUDevice>;
      next->info.callback(status, device, message, next->info.userdata1, next->info.userdata2);
    };
  } else {
    info.callback = [](WGPUCreatePipelineAsyncStatus status, WGPUComputePipeline pipeline,
                       WGPUStringView message, void* user, void*) {
      const std::unique_ptr<Next> next(static_cast<Next*>(user));
      if (pipeline != nullptr) ++live_of<WGPUComputePipeline>;
      next->info.callback(status, pipeline, message, next->info.userdata1, next->info.userdata2);
    };
  }
  return info;
}

template <class T>
T counted_argument(T argument) {
  if constexpr (std::is_same_v<T, WGPURequestAdapterCallbackInfo>)
    return count_result<T, WGPUAdapter>(argument);
  else if constexpr (std::is_same_v<T, WGPURequestDeviceCallbackInfo>)
    return count_result<T, WGPUDevice>(argument);
  else if constexpr (std::is_same_v<T, WGPUCreateComputePipelineAsyncCallbackInfo>)
    return count_result<T, WGPUComputePipeline>(argument);
  else
    return argument;
}

template <auto Member, Call kCall, class R, class... A>
R counted_call(A... arguments) {
  constexpr std::string_view kName = kCallNames[static_cast<std::size_t>(kCall)];
  Counting& state = counting();
  state.calls[static_cast<std::size_t>(kCall)].fetch_add(1, std::memory_order_relaxed);
  note_scope<kCall>();
  if constexpr (std::is_void_v<R>) {
    using First = typename FirstArgument<void (*)(A...)>::type;
    if constexpr (std::is_same_v<First, WGPUComputePassEncoder> && !kName.ends_with("_release")) {
      if (state.swallow_passes.load(std::memory_order_relaxed)) return;
    }
    if constexpr (std::is_pointer_v<First>) {
      if constexpr (kName.ends_with("_release")) --live_of<First>;
      if constexpr (kName.ends_with("_add_ref")) ++live_of<First>;
    }
    (linked_procs().*Member)(arguments...);
  } else if constexpr (kCall == Call::device_create_buffer) {
    if (state.failing_buffers.load() > 0) {
      --state.failing_buffers;
      return nullptr;
    }
    R buffer = (linked_procs().*Member)(arguments...);
    if (buffer != nullptr) ++live_of<WGPUBuffer>;
    return buffer;
  } else if constexpr (std::is_pointer_v<R> && !std::is_same_v<R, const void*>) {
    R object = (linked_procs().*Member)(arguments...);
    if (object != nullptr) ++live_of<R>;
    return object;
  } else {
    return (linked_procs().*Member)(counted_argument(arguments)...);
  }
}

template <auto Member, Call kCall, class R, class... A>
auto count_calls(R (*)(A...)) {
  return +[](A... arguments) -> R { return counted_call<Member, kCall, R, A...>(arguments...); };
}

// The linked functions with counters around them.
inline const Procs& counting_procs() {
  static const Procs kProcs = [] {
    Procs procs = linked_procs();
#define WGK_COUNT(member, name) \
  procs.member = count_calls<&Procs::member, Call::member>(procs.member);
    WGK_GPU_REQUIRED_PROCS(WGK_COUNT)
    WGK_GPU_OPTIONAL_PROCS(WGK_COUNT)
#undef WGK_COUNT
    procs.enumerate_adapters = [](WGPUInstance instance, const WGPURequestAdapterOptions* options) {
      auto adapters = linked_procs().enumerate_adapters(instance, options);
      live_of<WGPUAdapter> += static_cast<std::int64_t>(adapters.size());
      counting().calls[static_cast<std::size_t>(Call::instance_request_adapter)].fetch_add(1);
      return adapters;
    };
    return procs;
  }();
  return kProcs;
}

// The same as wgpuGetProcAddress of a library of its own: it has nothing that only Dawn has.
inline WGPUProc counting_lookup(WGPUStringView name) {
  const std::string_view wanted(name.data, name.length);
  const Procs& procs = counting_procs();
#define WGK_FIND(member, proc) \
  if (wanted == "wgpu" #proc) return reinterpret_cast<WGPUProc>(procs.member);
  WGK_GPU_REQUIRED_PROCS(WGK_FIND)
  WGK_GPU_OPTIONAL_PROCS(WGK_FIND)
#undef WGK_FIND
  return nullptr;
}

}  // namespace wgk::gpu::testing
