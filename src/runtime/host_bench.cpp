// SPDX-License-Identifier: Apache-2.0
// Host cost against bare Dawn: the same commands on the same device in the same run, once by C
// calls and once by this library.
#include <benchmark/benchmark.h>
#include <webgpu/webgpu.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <format>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/count_allocations.h"  // what the bare calls need is subtracted by the reader
#include "wgk/wgk.h"

namespace wgk {
namespace {

using Clock = std::chrono::steady_clock;
using Named = std::vector<std::pair<std::string, Tensor>>;

// A package of the project's; WGK_KERNELS is their folder where the source is not at hand.
std::string package_at(std::string_view name) {
  const char* folder = std::getenv("WGK_KERNELS");
  return std::format("{}/com.microsoft.{}", folder == nullptr ? WGK_SOURCE_DIR "/kernels" : folder,
                     name);
}

template <class T>
T need(Result<T> result) {
  if (result) return std::move(*result);
  std::fprintf(stderr, "%s\n", result.error().to_string().c_str());
  std::exit(1);
}

double seconds(Clock::time_point from) {
  return std::chrono::duration<double>(Clock::now() - from).count();
}

// A plan's commands by bare C calls.
class Bare {
 public:
  struct Step {
    WGPUComputePipeline pipeline;
    WGPUBindGroup group;
    std::array<std::uint32_t, 3> size;
  };

  Bare(WGPUDevice device, WGPUQueue queue) : device_(device), queue_(queue) {}

  void add(const Plan& plan, const Named& tensors) {
    std::vector<WGPUBuffer> scratch;
    for (const PlanScratch& item : plan.scratch)
      scratch.push_back(buffer(item.buffer_size, WGPUBufferUsage_Storage));
    for (const PlanPass& pass : plan.passes) {
      std::vector<WGPUBindGroupLayoutEntry> layouts;
      std::vector<WGPUBindGroupEntry> entries;
      for (const PlanBinding& binding : pass.bindings) {
        WGPUBindGroupLayoutEntry layout = WGPU_BIND_GROUP_LAYOUT_ENTRY_INIT;
        layout.binding = binding.index;
        layout.visibility = WGPUShaderStage_Compute;
        layout.buffer.type = binding.type == BindingType::kUniform ? WGPUBufferBindingType_Uniform
                             : binding.type == BindingType::kStorage
                                 ? WGPUBufferBindingType_Storage
                                 : WGPUBufferBindingType_ReadOnlyStorage;
        layouts.push_back(layout);
        WGPUBindGroupEntry entry = WGPU_BIND_GROUP_ENTRY_INIT;
        entry.binding = binding.index;
        entry.size = binding.size;
        if (binding.resource == PlanBinding::Resource::kTensor) {
          const std::string& port = plan.tensors[binding.slot].port;
          const auto found =
              std::ranges::find(tensors, port, &std::pair<std::string, Tensor>::first);
          entry.buffer = found->second.buffer();
          entry.offset = found->second.byte_offset();
        } else if (binding.resource == PlanBinding::Resource::kScratch) {
          entry.buffer = scratch[binding.slot];
        } else {
          const auto& bytes = pass.uniforms[binding.slot].bytes;
          entry.buffer = buffer(bytes.size(), WGPUBufferUsage_Uniform | WGPUBufferUsage_CopyDst);
          entry.size = bytes.size();
          wgpuQueueWriteBuffer(queue_, entry.buffer, 0, bytes.data(), bytes.size());
        }
        entries.push_back(entry);
      }
      add_step(pass, layouts, entries);
    }
  }
  void record(WGPUComputePassEncoder pass) const {
    for (const Step& step : steps_) {
      wgpuComputePassEncoderSetPipeline(pass, step.pipeline);
      wgpuComputePassEncoderSetBindGroup(pass, 0, step.group, 0, nullptr);
      wgpuComputePassEncoderDispatchWorkgroups(pass, step.size[0], step.size[1], step.size[2]);
    }
  }
  WGPUBuffer buffer(std::uint64_t size, WGPUBufferUsage usage) const {
    WGPUBufferDescriptor descriptor = WGPU_BUFFER_DESCRIPTOR_INIT;
    descriptor.size = std::max<std::uint64_t>(size, 4);
    descriptor.usage = usage;
    return wgpuDeviceCreateBuffer(device_, &descriptor);
  }
  std::size_t steps() const { return steps_.size(); }

 private:
  void add_step(const PlanPass& pass, const std::vector<WGPUBindGroupLayoutEntry>& layouts,
                const std::vector<WGPUBindGroupEntry>& entries) {
    WGPUBindGroupLayoutDescriptor layout = WGPU_BIND_GROUP_LAYOUT_DESCRIPTOR_INIT;
    layout.entryCount = layouts.size();
    layout.entries = layouts.data();
    const WGPUBindGroupLayout group_layout = wgpuDeviceCreateBindGroupLayout(device_, &layout);
    WGPUPipelineLayoutDescriptor pipeline_layout = WGPU_PIPELINE_LAYOUT_DESCRIPTOR_INIT;
    pipeline_layout.bindGroupLayoutCount = 1;
    pipeline_layout.bindGroupLayouts = &group_layout;
    WGPUShaderSourceWGSL source = WGPU_SHADER_SOURCE_WGSL_INIT;
    source.code = {pass.wgsl->data(), pass.wgsl->size()};
    WGPUShaderModuleDescriptor module = WGPU_SHADER_MODULE_DESCRIPTOR_INIT;
    module.nextInChain = &source.chain;
    WGPUComputePipelineDescriptor pipeline = WGPU_COMPUTE_PIPELINE_DESCRIPTOR_INIT;
    pipeline.layout = wgpuDeviceCreatePipelineLayout(device_, &pipeline_layout);
    pipeline.compute.module = wgpuDeviceCreateShaderModule(device_, &module);
    WGPUBindGroupDescriptor group = WGPU_BIND_GROUP_DESCRIPTOR_INIT;
    group.layout = group_layout;
    group.entryCount = entries.size();
    group.entries = entries.data();
    steps_.push_back({wgpuDeviceCreateComputePipeline(device_, &pipeline),
                      wgpuDeviceCreateBindGroup(device_, &group), pass.dispatch});
  }

  WGPUDevice device_;
  WGPUQueue queue_;
  std::vector<Step> steps_;
};

Signature signature_of(const Named& tensors, Values attrs) {
  Signature signature{.attrs = std::move(attrs)};
  for (const auto& [name, tensor] : tensors)
    signature.inputs.push_back({.name = name, .dtype = tensor.dtype(), .shape = tensor.shape()});
  return signature;
}

// One norm of 1 x 4096, prepared and bound, and the same commands bare.
struct Norm {
  Runtime runtime;
  Kernel kernel;
  Named inputs, all;
  Tensor output;
  Prepared prepared;
  Bound bound;
  Bare bare;

  explicit Norm(const RuntimeOptions& options = {})
      : runtime(need(Runtime::create(options))),
        kernel(need(runtime.load(package_at("SkipSimplifiedLayerNormalization")))),
        bare(runtime.device(), runtime.queue()) {
    const std::vector<float> row(4096, 1.0F);
    const auto tensor = [&](Shape shape) {
      return need(runtime.upload(HostTensor(row, std::move(shape))));
    };
    inputs = {
        {"inputT", tensor({1, 4096})}, {"skipT", tensor({1, 4096})}, {"gammaT", tensor({4096})}};
    prepared = need(kernel.prepare(signature_of(inputs, {})));
    output = need(prepared.make_output("outputT"));
    all = inputs;
    all.emplace_back("outputT", output);
    bound = need(prepared.bind(all));
    bare.add(prepared.plan(), all);
  }
};

Norm& norm() {
  static auto* const kNormCall = new Norm;  // the device outlives every benchmark
  return *kNormCall;
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

// The two sides take turns, call by call: what differs between them is far less than what a run of
// either differs from the next run. `first` and `second` name the counters of their medians.
// `calls` of a turn come before the timed one.
template <class First, class Second>
void take_turns(benchmark::State& state, const char* first, const First& run_first,
                const char* second, const Second& run_second, int calls = 0) {
  std::vector<double> times[2];
  const auto time = [calls](const auto& run) {
    for (int i = 0; i < calls; ++i) run();
    const auto start = Clock::now();
    run();
    return seconds(start);
  };
  for (auto _ : state) {
    times[0].push_back(time(run_first));
    times[1].push_back(time(run_second));
  }
  state.counters[first] = median(times[0]);
  state.counters[second] = median(times[1]);
}

// Seconds and allocations of one dispatch, recorded a thousand times into a pass of its own.
struct Recorded {
  double seconds = 0, allocations = 0;
};
template <class Record>
Recorded record_thousand(WGPUDevice device, const Record& record) {
  constexpr int kCalls = 1000;
  WGPUCommandEncoder encoder = wgpuDeviceCreateCommandEncoder(device, nullptr);
  WGPUComputePassEncoder pass = wgpuCommandEncoderBeginComputePass(encoder, nullptr);
  record(pass);  // Dawn's first block of commands
  const std::uint64_t before = allocations;
  const auto start = Clock::now();
  for (int i = 0; i < kCalls; ++i) record(pass);
  const double spent = seconds(start);
  const std::uint64_t allocated = allocations - before;
  wgpuComputePassEncoderEnd(pass);
  wgpuComputePassEncoderRelease(pass);
  wgpuCommandEncoderRelease(encoder);
  return {spent / kCalls / static_cast<double>(norm().bare.steps()),
          static_cast<double>(allocated) / kCalls};
}

// Two ways to record take turns, a thousand dispatches at a time.
template <class First, class Second>
void record_turns(benchmark::State& state, const std::string& first, const First& run_first,
                  const std::string& second, const Second& run_second) {
  std::vector<double> times[2], made[2];
  const auto keep = [&](std::size_t side, const Recorded& recorded) {
    times[side].push_back(recorded.seconds);
    made[side].push_back(recorded.allocations);
  };
  for (auto _ : state) {
    keep(0, run_first());
    keep(1, run_second());
  }
  state.counters[first] = median(times[0]);
  state.counters[second] = median(times[1]);
  state.counters[first + "_allocations"] = median(made[0]);
  state.counters[second + "_allocations"] = median(made[1]);
}

Recorded record_ours() {
  return record_thousand(norm().runtime.device(), [](WGPUComputePassEncoder pass) {
    static_cast<void>(norm().bound.record(pass));
  });
}
void BM_RecordTurns(benchmark::State& state) {
  record_turns(
      state, "bare",
      [] {
        return record_thousand(norm().runtime.device(),
                               [](WGPUComputePassEncoder pass) { norm().bare.record(pass); });
      },
      "ours", record_ours);
}
BENCHMARK(BM_RecordTurns)->UseRealTime();

// Recording on many threads at once, each into an encoder of its own.
template <class Record>
void record_in_threads(benchmark::State& state, const Record& record) {
  const int threads = static_cast<int>(state.range(0));
  constexpr int kCalls = 2000;
  for (auto _ : state) {
    std::atomic<int> waiting = threads;
    std::vector<std::thread> pool;
    // From the first start to the last end: threads beyond the cores take turns.
    std::vector<Clock::time_point> begun(static_cast<std::size_t>(threads)),
        ended(static_cast<std::size_t>(threads));
    for (int t = 0; t < threads; ++t) {
      pool.emplace_back([&, t] {
        WGPUCommandEncoder encoder =
            wgpuDeviceCreateCommandEncoder(norm().runtime.device(), nullptr);
        WGPUComputePassEncoder pass = wgpuCommandEncoderBeginComputePass(encoder, nullptr);
        record(pass);
        --waiting;
        while (waiting > 0) std::this_thread::yield();
        begun[static_cast<std::size_t>(t)] = Clock::now();
        for (int i = 0; i < kCalls; ++i) record(pass);
        ended[static_cast<std::size_t>(t)] = Clock::now();
        wgpuComputePassEncoderEnd(pass);
        wgpuComputePassEncoderRelease(pass);
        wgpuCommandEncoderRelease(encoder);
      });
    }
    for (auto& thread : pool) thread.join();
    const auto span = *std::ranges::max_element(ended) - *std::ranges::min_element(begun);
    state.SetIterationTime(std::chrono::duration<double>(span).count());
  }
  state.counters["calls_per_second"] = benchmark::Counter(
      static_cast<double>(state.iterations()) * kCalls * threads, benchmark::Counter::kIsRate);
}

void BM_ThreadsBare(benchmark::State& state) {
  record_in_threads(state, [](WGPUComputePassEncoder pass) { norm().bare.record(pass); });
}
void BM_ThreadsOurs(benchmark::State& state) {
  record_in_threads(
      state, [](WGPUComputePassEncoder pass) { static_cast<void>(norm().bound.record(pass)); });
}
BENCHMARK(BM_ThreadsBare)->Arg(1)->Arg(8)->UseManualTime();
BENCHMARK(BM_ThreadsOurs)->Arg(1)->Arg(8)->UseManualTime();

// From the first command to the numbers on the host.
struct BareReader {
  explicit BareReader(Norm& call)
      : norm(call),
        staging(call.bare.buffer(16384, WGPUBufferUsage_MapRead | WGPUBufferUsage_CopyDst)) {}

  Norm& norm;
  WGPUBuffer staging;
  std::vector<float> result = std::vector<float>(4096);

  void run() {
    const WGPUDevice device = norm.runtime.device();
    WGPUCommandEncoder encoder = wgpuDeviceCreateCommandEncoder(device, nullptr);
    WGPUComputePassEncoder pass = wgpuCommandEncoderBeginComputePass(encoder, nullptr);
    norm.bare.record(pass);
    wgpuComputePassEncoderEnd(pass);
    wgpuComputePassEncoderRelease(pass);
    wgpuCommandEncoderCopyBufferToBuffer(encoder, norm.output.buffer(), 0, staging, 0, 16384);
    WGPUCommandBuffer commands = wgpuCommandEncoderFinish(encoder, nullptr);
    wgpuCommandEncoderRelease(encoder);
    wgpuQueueSubmit(norm.runtime.queue(), 1, &commands);
    wgpuCommandBufferRelease(commands);
    WGPUBufferMapCallbackInfo info = WGPU_BUFFER_MAP_CALLBACK_INFO_INIT;
    info.mode = WGPUCallbackMode_WaitAnyOnly;
    info.callback = [](WGPUMapAsyncStatus, WGPUStringView, void*, void*) {};
    WGPUFutureWaitInfo wait = {wgpuBufferMapAsync(staging, WGPUMapMode_Read, 0, 16384, info),
                               WGPU_FALSE};
    wgpuInstanceWaitAny(norm.runtime.instance(), 1, &wait, UINT64_MAX);
    std::memcpy(result.data(), wgpuBufferGetConstMappedRange(staging, 0, 16384), 16384);
    wgpuBufferUnmap(staging);
  }
};

void round_trips(benchmark::State& state, Norm& call) {
  BareReader reader(call);
  take_turns(
      state, "bare", [&] { reader.run(); }, "ours",
      [&] { benchmark::DoNotOptimize(call.bound.run_and_read()); });
}
void BM_RoundTripTurns(benchmark::State& state) { round_trips(state, norm()); }
void BM_RoundTripTurnsUnnamed(benchmark::State& state) {
  static auto* const kUnnamed = [] {
    RuntimeOptions options;
    options.debug_groups = false;
    return new Norm(options);
  }();
  round_trips(state, *kUnnamed);
}
BENCHMARK(BM_RoundTripTurns)->UseRealTime();
BENCHMARK(BM_RoundTripTurnsUnnamed)->UseRealTime();

// Planning, uploads of host data and all: what a simple caller pays. Bare: the same three writes.
void BM_RoundTripCall(benchmark::State& state) {
  const std::vector<float> row(4096, 1.0F);
  const Inputs inputs = {{"inputT", HostTensor(row, {1, 4096})},
                         {"skipT", HostTensor(row, {1, 4096})},
                         {"gammaT", HostTensor(row, {4096})}};
  const CallOptions options{.read_back = true};
  BareReader reader(norm());
  std::vector<double> parts[5];
  take_turns(
      state, "bare",
      [&] {
        for (const auto& [name, tensor] : norm().inputs) {
          wgpuQueueWriteBuffer(norm().runtime.queue(), tensor.buffer(), 0, row.data(),
                               row.size() * sizeof(float));
        }
        reader.run();
      },
      "ours",
      [&] {
        const CallResult result = need(norm().kernel.call(inputs, options));
        const CallTiming& spent = result.timing();
        const double times[] = {spent.plan, spent.prepare, spent.upload, spent.submit, spent.wait};
        for (std::size_t i = 0; i < std::size(parts); ++i) parts[i].push_back(times[i] * 1e-6);
      });
  const char* const names[] = {"plan", "prepare", "upload", "submit", "wait"};
  for (std::size_t i = 0; i < std::size(parts); ++i) state.counters[names[i]] = median(parts[i]);
}
BENCHMARK(BM_RoundTripCall)->UseRealTime();

// 32 layers of norm, decode attention and norm.
struct Chain {
  static constexpr std::int64_t kHeads = 4, kHidden = 128;
  Kernel norm_kernel = norm().kernel;
  Kernel attention = need(norm().runtime.load(package_at("SparseAttention")));
  const Values attrs = {{"num_heads", kHeads}, {"kv_num_heads", 2}, {"sparse_block_size", 16}};
  std::vector<Bound> calls;
  std::vector<std::pair<const Kernel*, Named>> separate;
  Bare bare = Bare(norm().runtime.device(), norm().runtime.queue());

  Chain() {
    const Runtime& runtime = norm().runtime;
    const std::vector<std::int32_t> rows = {0, 1, 3, 6, 10},
                                    columns = {0, 0, 1, 0, 1, 2, 0, 1, 2, 3}, length = {40};
    const Tensor block_rows = need(runtime.upload(HostTensor(rows, {1, 5})));
    const Tensor block_columns = need(runtime.upload(HostTensor(columns, {1, 10})));
    const Tensor total = need(runtime.upload(HostTensor(length, {1})));
    const Shape shape = {1, 1, kHidden};
    const auto zeros = [&](Shape dims) { return need(runtime.empty(DType::f32, std::move(dims))); };
    Tensor state = need(runtime.upload(HostTensor(std::vector<float>(kHidden, 0.5F), shape)));
    const Tensor gamma =
        need(runtime.upload(HostTensor(std::vector<float>(kHidden, 1.0F), {kHidden})));
    for (int layer = 0; layer < 32; ++layer) {
      const Tensor normed = zeros(shape), attended = zeros(shape), next = zeros(shape);
      add(norm_kernel, {{"inputT", state}, {"skipT", state}, {"gammaT", gamma}}, {},
          {"outputT", normed});
      add(attention,
          {{"queryT", zeros({1, 1, 256})},
           {"pastKeyT", zeros({1, 2, 64, 32})},
           {"pastValueT", zeros({1, 2, 64, 32})},
           {"blockRowIndicesT", block_rows},
           {"blockColIndicesT", block_columns},
           {"totalSequenceLengthT", total},
           {"keyTotalSequenceLengthsT", total}},
          attrs, {"outputT", attended});
      add(norm_kernel, {{"inputT", attended}, {"skipT", normed}, {"gammaT", gamma}}, {},
          {"outputT", next});
      state = next;
    }
  }
  void add(const Kernel& kernel, Named inputs, const Values& values,
           const std::pair<std::string, Tensor>& output) {
    const Prepared prepared = need(kernel.prepare(signature_of(inputs, values)));
    separate.emplace_back(&kernel, inputs);
    inputs.push_back(output);
    calls.push_back(need(prepared.bind(inputs)));
    bare.add(prepared.plan(), inputs);
  }
  template <class Record>
  static void submit(const Record& record) {
    WGPUCommandEncoder encoder = wgpuDeviceCreateCommandEncoder(norm().runtime.device(), nullptr);
    WGPUComputePassEncoder pass = wgpuCommandEncoderBeginComputePass(encoder, nullptr);
    record(pass);
    wgpuComputePassEncoderEnd(pass);
    wgpuComputePassEncoderRelease(pass);
    WGPUCommandBuffer commands = wgpuCommandEncoderFinish(encoder, nullptr);
    wgpuCommandEncoderRelease(encoder);
    wgpuQueueSubmit(norm().runtime.queue(), 1, &commands);
    wgpuCommandBufferRelease(commands);
    static_cast<void>(norm().runtime.wait_idle());
  }
};

Chain& chain() {
  static auto* const kChain = new Chain;
  return *kChain;
}

void BM_ChainTurns(benchmark::State& state) {
  chain();
  take_turns(
      state, "bare",
      [] { Chain::submit([](WGPUComputePassEncoder pass) { chain().bare.record(pass); }); }, "ours",
      [] {
        Chain::submit([](WGPUComputePassEncoder pass) {
          for (const Bound& call : chain().calls) static_cast<void>(call.record(pass));
        });
      });
}
void BM_ChainAwaited(benchmark::State& state) {
  chain();
  for (auto _ : state) {
    for (const auto& [kernel, tensors] : chain().separate) {
      Inputs inputs;
      for (const auto& [name, tensor] : tensors) inputs.emplace_back(name, tensor);
      const bool attends = kernel == &chain().attention;
      benchmark::DoNotOptimize(kernel->call(inputs, {.attrs = attends ? chain().attrs : Values()}));
      static_cast<void>(norm().runtime.wait_idle());
    }
  }
}
BENCHMARK(BM_ChainTurns)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(BM_ChainAwaited)->UseRealTime()->Unit(benchmark::kMillisecond);

// What each mode costs: the same commands on a safe and on a trusted device.
struct Trusted {
  Runtime runtime = need(Runtime::create({.mode = Mode::kTrusted}));
  Kernel kernel =
      need(runtime.load(package_at("SkipSimplifiedLayerNormalization"), {.trust = true}));
  Bound bound;

  Trusted() {
    const std::vector<float> row(4096, 1.0F);
    const auto tensor = [&](Shape shape) {
      return need(runtime.upload(HostTensor(row, std::move(shape))));
    };
    Named tensors = {
        {"inputT", tensor({1, 4096})}, {"skipT", tensor({1, 4096})}, {"gammaT", tensor({4096})}};
    const Prepared prepared = need(kernel.prepare(signature_of(tensors, {})));
    tensors.emplace_back("outputT", need(prepared.make_output("outputT")));
    bound = need(prepared.bind(tensors));
  }
};

Trusted& trusted() {
  static auto* const kTrusted = new Trusted;
  return *kTrusted;
}

void BM_RoundTripModes(benchmark::State& state) {
  norm();
  trusted();
  take_turns(
      state, "safe", [] { benchmark::DoNotOptimize(norm().bound.run_and_read()); }, "trusted",
      [] { benchmark::DoNotOptimize(trusted().bound.run_and_read()); },
      5);  // a GPU needs longer where another device of the process ran just before
}
void BM_RecordModes(benchmark::State& state) {
  norm();
  trusted();
  record_turns(state, "safe", record_ours, "trusted", [] {
    return record_thousand(trusted().runtime.device(), [](WGPUComputePassEncoder pass) {
      static_cast<void>(trusted().bound.record(pass));
    });
  });
}
BENCHMARK(BM_RoundTripModes)->UseRealTime();
BENCHMARK(BM_RecordModes)->UseRealTime();

}  // namespace
}  // namespace wgk

BENCHMARK_MAIN();
