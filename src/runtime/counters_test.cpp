// SPDX-License-Identifier: Apache-2.0
// What a steady state costs and what is left behind, shown by counters.
#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gpu/count_support.h"
#include "runtime/access.h"
#include "runtime/count_allocations.h"
#include "runtime/count_locks.h"
#include "runtime/test_support.h"

namespace wgk {
namespace {

using gpu::testing::Call;
using gpu::testing::counting;
using gpu::testing::kCallNames;
using gpu::testing::kCalls;
using gpu::testing::Live;
using testing::numbers;
using testing::scale_package;
using testing::times;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

Runtime counted_runtime(const RuntimeOptions& options = {}) {
  auto runtime = create_with(options, gpu::testing::counting_procs());
  if (runtime) return *runtime;
  ADD_FAILURE() << runtime.error().to_string();
  std::abort();
}

class Counters : public testing::RuntimeTest {
 protected:
  void SetUp() override {
    testing::RuntimeTest::SetUp();
    counting().reset();
  }
  std::vector<float> x = numbers(100);
  CallOptions by(double factor, bool read_back = false) const {
    return {.args = {{"factor", factor}}, .read_back = read_back};
  }
  // Whatever was called since the last reset beside these.
  static std::string other_calls(std::initializer_list<Call> allowed) {
    std::string others;
    for (std::size_t i = 0; i < kCalls; ++i) {
      const auto call = static_cast<Call>(i);
      if (counting().calls[i] > 0 && std::ranges::find(allowed, call) == allowed.end())
        others += std::string(kCallNames[i]) + " ";
    }
    return others;
  }
};

TEST_F(Counters, RecordingIsThreeCallsAndNoAllocation) {
  const Runtime runtime = counted_runtime();
  const Kernel kernel = *runtime.load(scale_package());
  const Prepared prepared =
      *kernel.prepare({.inputs = {{.name = "x", .shape = {100}}}, .args = {{"factor", 2}}});
  const Tensor input = *runtime.upload(HostTensor(x, {100}));
  const Bound bound = *prepared.bind({{"x", input}, prepared.make_outputs()->at(0)});
  WGPUCommandEncoder encoder = wgpuDeviceCreateCommandEncoder(runtime.device(), nullptr);
  WGPUComputePassEncoder pass = wgpuCommandEncoderBeginComputePass(encoder, nullptr);
  counting().reset();
  counting().swallow_passes = true;  // so that only our own allocations count
  const std::uint64_t before = allocations, locked = locks;
  bool good = true;
  for (int i = 0; i < 1000; ++i) good = bound.record(pass) && good;
  const std::uint64_t allocated = allocations - before, taken = locks - locked;
  counting().swallow_passes = false;
  EXPECT_TRUE(good);
  EXPECT_EQ(allocated, 0);
  EXPECT_EQ(taken, 0);
  EXPECT_EQ(counting().of(Call::compute_pass_set_pipeline), 1000);
  EXPECT_EQ(counting().of(Call::compute_pass_set_bind_group), 1000);
  EXPECT_EQ(counting().of(Call::compute_pass_dispatch), 1000);
  EXPECT_EQ(counting().total(), 3000) << "nothing else: no submit, wait or object";
  static_cast<void>(runtime.stats());
  if (!kSanitized) {
    EXPECT_GT(locks, locked + taken) << "a lock of ours would have been counted";
  }
  wgpuComputePassEncoderEnd(pass);
  wgpuComputePassEncoderRelease(pass);
  wgpuCommandEncoderRelease(encoder);
}

TEST_F(Counters, ASteadyRunIsOneSubmitAndNothingMade) {
  const Runtime runtime = counted_runtime();
  const Kernel kernel = *runtime.load(scale_package());
  const Tensor input = *runtime.upload(HostTensor(x, {100}));
  const Tensor output = *runtime.empty(DType::f32, {100});
  CallOptions call = by(2);
  call.outputs = {Output("y", output)};
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(kernel.call({{"x", input}}, call));
  const auto before = runtime.stats();
  const Live live;
  counting().reset();
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(kernel.call({{"x", input}}, call));
  EXPECT_EQ(runtime.stats().submits - before.submits, 10);
  EXPECT_EQ(runtime.stats().waits, before.waits) << "nothing waits for the device";
  EXPECT_EQ(counting().of(Call::queue_submit), 10);
  EXPECT_EQ(Live(), live);
  EXPECT_EQ(
      other_calls({Call::device_create_command_encoder, Call::command_encoder_release,
                   Call::command_encoder_begin_compute_pass, Call::compute_pass_end,
                   Call::compute_pass_release, Call::compute_pass_push_debug_group,
                   Call::compute_pass_pop_debug_group, Call::compute_pass_set_pipeline,
                   Call::compute_pass_set_bind_group, Call::compute_pass_dispatch,
                   Call::command_encoder_finish, Call::command_buffer_release, Call::queue_submit,
                   Call::device_push_error_scope, Call::device_pop_error_scope}),
      "")
      << "no wait of any kind: error scopes answer at once";
  EXPECT_EQ(*output.download<float>(), times(x, 2));
}

TEST_F(Counters, PrewarmStartsEveryPipelineBeforeItWaits) {
  const Runtime runtime = counted_runtime();
  std::vector<Prewarm> calls;
  for (int i = 0; i < 6; ++i) {
    calls.push_back({*runtime.load(scale_package("// " + std::to_string(i) + "\n")),
                     {.inputs = {{.name = "x", .shape = {100}}}, .args = {{"factor", 2}}}});
  }
  counting().reset();
  auto ready = runtime.prewarm(calls);
  ASSERT_TRUE(ready) << ready.error().to_string();
  EXPECT_EQ(counting().of(Call::device_create_compute_pipeline_async), 6);
  EXPECT_EQ(counting().of(Call::instance_wait_any), 0);
  ASSERT_TRUE(ready->wait());
  EXPECT_EQ(counting().of(Call::device_create_compute_pipeline_async), 6);
  EXPECT_GT(counting().of(Call::instance_wait_any), 0);
  EXPECT_EQ(counting().of(Call::device_create_buffer), 0) << "what calls need comes with them";
  EXPECT_EQ(counting().of(Call::queue_write_buffer), 0);
  const Kernel& first = calls[0].kernel;
  ASSERT_TRUE(first.call({{"x", HostTensor(x, {100})}}, by(2)));
  EXPECT_EQ(counting().of(Call::device_create_compute_pipeline_async), 6);
}

TEST_F(Counters, SwappedBuffersAreNeverConfused) {
  const Runtime runtime = counted_runtime();
  const Kernel kernel = *runtime.load(scale_package());
  Tensor a = *runtime.upload(HostTensor(x, {100}));
  Tensor b = *runtime.empty(DType::f32, {100});
  std::optional<std::uint64_t> groups;
  for (int i = 0; i < 10; ++i) {
    CallOptions call = by(i % 2 == 0 ? 2 : 0.5);
    call.outputs = {Output("y", b)};
    ASSERT_TRUE(kernel.call({{"x", a}}, call));
    EXPECT_EQ(*b.download<float>(), i % 2 == 0 ? times(x, 2) : x) << i;
    std::swap(a, b);
    if (i == 1) groups = runtime.stats().bind_groups_made;
  }
  EXPECT_EQ(runtime.stats().bind_groups_made, *groups) << "both ways have theirs";
}

TEST_F(Counters, MemoryOfACallIsExactAndTheCapIsToTheByte) {
  const Inputs inputs = {{"x", HostTensor(x, {100})}};
  std::uint64_t total = 0;
  {
    const Runtime runtime = counted_runtime();
    const Kernel kernel = *runtime.load(scale_package());
    const auto needs = kernel.memory(inputs, by(2, true));
    ASSERT_TRUE(needs) << needs.error().to_string();
    EXPECT_EQ(needs->inputs, 400);
    EXPECT_EQ(needs->outputs, 400);
    EXPECT_GT(needs->read_back, 0);
    EXPECT_EQ(counting().of(Call::device_create_buffer), 0) << "asking makes nothing";
    total = needs->total();
    ASSERT_TRUE(kernel.call(inputs, by(2, true)));
    EXPECT_EQ(runtime.stats().peak_bytes, total);

    // Tensors that are there already count for nothing, copies that stand in for them do.
    const Tensor big = *runtime.upload(HostTensor(numbers(200), {200}));
    const Tensor shifted = *Tensor::wrap(runtime, big.buffer(), 4, 400, {100}, DType::f32);
    CallOptions staged = by(3);
    staged.staging = true;
    EXPECT_EQ(kernel.memory({{"x", big}}, by(3))->inputs, 0);
    const auto staging = *kernel.memory({{"x", shifted}}, staged);
    EXPECT_EQ(staging.staging, 400);
    EXPECT_EQ(staging.inputs, 0);
  }
  for (const std::uint64_t missing : {0, 1}) {
    const Runtime runtime = counted_runtime({{.memory = {.cap = total - missing}}});
    const Kernel kernel = *runtime.load(scale_package());
    const auto result = kernel.call(inputs, by(2, true));
    EXPECT_LE(runtime.stats().peak_bytes, total - missing);
    if (missing == 0) {
      EXPECT_TRUE(result) << result.error().to_string();
    } else {
      ASSERT_FALSE(result);
      EXPECT_EQ(result.error().code, "limit/memory");
      EXPECT_EQ(runtime.stats().submits, 0) << "nothing ran";
    }
  }
}

TEST_F(Counters, MemoryOfARecordedSequenceIsExact) {
  const Runtime runtime = counted_runtime();
  const Kernel kernel = *runtime.load(testing::accumulate_package(false));
  std::vector<Prepared> calls;
  for (const std::int64_t size : {8, 1000})
    calls.push_back(*kernel.prepare(
        {.inputs = {{.name = "x", .shape = {size}}, {.name = "y", .shape = {size}}}}));
  const MemoryNeeds needs = memory(calls, true);
  const Arena arena = *runtime.make_arena(calls);
  std::vector<Bound> bound;
  for (const Prepared& call : calls) {
    const Shape shape = call.plan().tensors[0].shape;
    bound.push_back(*call.bind(
        {{"x", *runtime.empty(DType::f32, shape)}, {"y", *runtime.empty(DType::f32, shape)}},
        {.arena = arena}));
  }
  EXPECT_EQ(runtime.stats().live_bytes, needs.total());
}

// A chain as a model records it: every layer reads the same weights and what the layer before
// wrote.
TEST_F(Counters, MemoryOfABoundChainCountsSharedTensorsOnce) {
  const Runtime runtime = counted_runtime();
  const Kernel scale = *runtime.load(scale_package());
  const Kernel sum = *runtime.load(testing::accumulate_package(false));
  const auto of = [](std::int64_t size) {
    return Signature{.inputs = {{.name = "x", .shape = {size}}, {.name = "y", .shape = {size}}}};
  };
  const Prepared scaled =
      *scale.prepare({.inputs = {{.name = "x", .shape = {64}}}, .args = {{"factor", 2}}});
  const Prepared added = *sum.prepare(of(64)), other = *sum.prepare(of(32));
  const std::vector<Prepared> prepared = {added, other};
  const Arena arena = *runtime.make_arena(prepared);
  const Tensor weights = *runtime.empty(DType::f32, {64});
  Tensor state = *runtime.empty(DType::f32, {64});
  std::vector<Bound> chain;
  for (int layer = 0; layer < 5; ++layer) {
    const Tensor next = *scaled.make_output("y");
    chain.push_back(*scaled.bind({{"x", state}, {"y", next}}));
    chain.push_back(*added.bind({{"x", weights}, {"y", next}}, {.arena = arena}));
    state = next;
  }
  MemoryNeeds needs = memory(std::span<const Bound>(chain));
  EXPECT_EQ(needs.total(), runtime.stats().live_bytes);
  EXPECT_EQ(needs.inputs, 2 * 256) << "the weights and the first state";
  EXPECT_EQ(needs.outputs, 5 * 256) << "one per layer, though three calls use each";
  EXPECT_EQ(needs.scratch, arena.bytes());
  EXPECT_GT(needs.uniforms, 0);

  // Wrapped parts of one buffer that is there already; one of them cannot be bound as it is.
  const auto wrap = [&](std::uint64_t offset, std::int64_t size) {
    return *Tensor::wrap(runtime, weights.buffer(), offset, static_cast<std::uint64_t>(size) * 4,
                         {size}, DType::f32);
  };
  BindOptions apart{.staging = true, .own_scratch = true};
  const Tensor more = *runtime.empty(DType::f32, {32});
  chain.push_back(*other.bind({{"x", wrap(4, 32)}, {"y", more}}, apart));
  needs = memory(std::span<const Bound>(chain));
  EXPECT_EQ(needs.total(), runtime.stats().live_bytes);
  EXPECT_EQ(needs.staging, 128);
  EXPECT_EQ(needs.scratch, arena.bytes() + 128);
  EXPECT_EQ(needs.inputs, 2 * 256) << "the wrapped part lies in the weights";

  // Of somebody else's buffer only the ranges in use count.
  WGPUBufferDescriptor descriptor = WGPU_BUFFER_DESCRIPTOR_INIT;
  descriptor.size = 4096;
  descriptor.usage = WGPUBufferUsage_Storage;
  WGPUBuffer foreign = wgpuDeviceCreateBuffer(runtime.device(), &descriptor);
  const auto at = [&](std::uint64_t offset) {
    return *Tensor::wrap(runtime, foreign, offset, 256, {64}, DType::f32);
  };
  const std::vector<Bound> borrowed = {
      *scaled.bind({{"x", at(0)}, {"y", state}}),
      *scaled.bind({{"x", at(0)}, {"y", *scaled.make_output("y")}}),
      *scaled.bind({{"x", at(256)}, {"y", state}})};
  EXPECT_EQ(memory(std::span<const Bound>(borrowed)).inputs, 512);
  EXPECT_EQ(memory(std::span<const Bound>(borrowed)).outputs, 512);
  wgpuBufferRelease(foreign);
}

// Waits that are given up, as a frame loop does that drops late results.
struct Abandoning {
  Runtime runtime = counted_runtime();
  Kernel kernel = *runtime.load(scale_package());
  std::vector<float> x = numbers(100);
  Tensor input = *runtime.upload(HostTensor(x, {100}));
  Prepared prepared =
      *kernel.prepare({.inputs = {{.name = "x", .shape = {100}}}, .args = {{"factor", 2}}});
  Bound bound = *prepared.bind({{"x", input}, prepared.make_outputs()->at(0)});

  void wait_and_give_up(int i) {
    if (i % 2 == 0) {
      auto future =
          kernel.start({{"x", input}}, CallOptions{.args = {{"factor", 2}}, .read_back = true});
      ASSERT_TRUE(future) << future.error().to_string();
      future->cancel();
    } else {
      auto submission = bound.run();
      ASSERT_TRUE(submission) << submission.error().to_string();
      ASSERT_TRUE(submission->ready());
    }
  }
  // `burst` calls on their way at once.
  void many(int count, int burst) {
    for (int i = 0; i < count; ++i) {
      ASSERT_NO_FATAL_FAILURE(wait_and_give_up(i));
      if (i % burst == burst - 1) {
        ASSERT_TRUE(runtime.wait_idle());
      }
    }
    // The library lets go of what is done when more is submitted.
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(bound.submit() && runtime.wait_idle());
  }
};

// How deep the bursts get depends on who runs when, and Dawn keeps a command pool for each submit
// that was ever on its way at once, which a driver in C gives 64 KiB or more. So bursts are counted
// in objects of C++, ours and Dawn's, exactly; the driver's memory by the next test.
TEST_F(Counters, TenThousandAbandonedWaitsLeaveNothingBehind) {
  Abandoning calls;
  held.on = true;
  ASSERT_NO_FATAL_FAILURE(calls.many(2000, 100));
  const Live live;
  const Held before = held.now();
  ASSERT_NO_FATAL_FAILURE(calls.many(8000, 100));
  const Held after = held.now();
  held.on = false;
  EXPECT_LE(Live().total(), live.total() + 2);
  // A forgotten wait would be an object or more each time. A deeper burst leaves some of Dawn's.
  EXPECT_LT(after.objects - before.objects, 8000 / 8);
  EXPECT_LT(after.bytes - before.bytes, 8000 * 8);
  RecordProperty("held_objects", static_cast<int>(after.objects - before.objects));
  RecordProperty("held_bytes", static_cast<int>(after.bytes - before.bytes));
}

TEST_F(Counters, AbandonedWaitsOneByOneLeaveTheWholeHeapAsItWas) {
  Abandoning calls;
  ASSERT_NO_FATAL_FAILURE(calls.many(2000, 1));
  // A place and the library's own object would be some 400 bytes a wait; drivers come and go with
  // tens of bytes, and once with a pool of theirs when threads of the machine were busy. What is
  // forgotten grows in every round.
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (int round = 0; round < 3 && least >= std::int64_t{8000} * 32; ++round) {
    const std::size_t heap = ::mallinfo2().uordblks;
    ASSERT_NO_FATAL_FAILURE(calls.many(8000, 1));
    least = std::min(
        least, static_cast<std::int64_t>(::mallinfo2().uordblks) - static_cast<std::int64_t>(heap));
  }
  RecordProperty("heap_grown", static_cast<int>(least));
  if (!kSanitized) {
    EXPECT_LT(least, 8000 * 32);
  }
}

TEST_F(Counters, TenThousandCallsLeaveNothingBehind) {
  const Runtime runtime = counted_runtime();
  const Kernel kernel = *runtime.load(scale_package());
  const Tensor input = *runtime.upload(HostTensor(x, {100}));
  const Prepared prepared =
      *kernel.prepare({.inputs = {{.name = "x", .shape = {100}}}, .args = {{"factor", 2}}});
  const Bound bound = *prepared.bind({{"x", input}, prepared.make_outputs()->at(0)});
  const auto one_of_each = [&](int i) {
    switch (i % 4) {
      case 0: return kernel.call({{"x", HostTensor(x, {100})}}, by(2, true)).has_value();
      case 1: return kernel.call({{"x", input}}, by(3)).has_value();
      case 2: return bound.run_and_read().has_value();
      default: {
        auto future = kernel.start({{"x", input}}, by(4, true));
        return future && future->wait().has_value();
      }
    }
  };
  std::optional<Live> live;
  std::optional<RuntimeStats> stats;
  std::size_t heap = 0;
  for (int i = 0; i < 10000; ++i) {
    ASSERT_TRUE(one_of_each(i)) << i;
    if (i == 11) {  // each kind for the third time
      stats = runtime.stats();
      live.emplace();
    }
    if (i == 2000) heap = ::mallinfo2().uordblks;
  }
  ASSERT_TRUE(runtime.wait_idle());
  const auto after = runtime.stats();
  EXPECT_EQ(Live(), *live);
  EXPECT_EQ(after.buffers_made, stats->buffers_made);
  EXPECT_EQ(after.bind_groups_made, stats->bind_groups_made);
  EXPECT_EQ(after.pipelines_built, stats->pipelines_built);
  EXPECT_EQ(after.plans_made, stats->plans_made);
  EXPECT_EQ(after.live_bytes, stats->live_bytes);
  EXPECT_EQ(after.peak_bytes, stats->peak_bytes);
  if (!kSanitized) {
    const auto grown =
        static_cast<std::int64_t>(::mallinfo2().uordblks) - static_cast<std::int64_t>(heap);
    EXPECT_LT(grown, 64 * 1024) << "host memory is flat over 8000 calls";
  }
}

// Create, use, dispose, again: every object of every kind goes with the runtime.
TEST_F(Counters, ARuntimeTakesEverythingWithIt) {
  const Live before;
  RuntimeOptions options;
  options.adapter.backend = "null";  // the same calls, at no cost
  for (int i = 0; i < 30; ++i) {
    const Runtime runtime = counted_runtime(options);
    const Runtime second = counted_runtime(options);
    for (const Runtime& one : {runtime, second}) {
      const Kernel kernel = *one.load(scale_package());
      ASSERT_TRUE(kernel.call({{"x", HostTensor(x, {100})}}, by(2, true)));
      ASSERT_TRUE(kernel.start({{"x", HostTensor(x, {100})}}, by(3, true)));  // dropped at once
      const Tensor kept = *one.upload(HostTensor(x, {100}));
      const auto prepared =
          *kernel.prepare({.inputs = {{.name = "x", .shape = {100}}}, .args = {{"factor", 2}}});
      const auto bound = *prepared.bind({{"x", kept}, prepared.make_outputs()->at(0)});
      ASSERT_TRUE(bound.submit());
      if (i % 3 == 0) {
        ASSERT_TRUE(one.rebuild());
      }
    }
  }
  EXPECT_EQ(Live(), before) << Live().total() - before.total() << " objects are left";
  EXPECT_GT(counting().of(Call::device_destroy), 0) << "our own devices are destroyed";
}

// Nobody polls after then(): the runtime goes with its last handle all the same, and every callback
// hears of it.
TEST_F(Counters, CallbacksThatNobodyPollsForKeepNothing) {
  const Live before;
  RuntimeOptions options;
  options.adapter.backend = "null";
  int cancelled = 0;
  const auto heard = [&](const auto& result) {
    if (!result && result.error().code == "usage/cancelled") ++cancelled;
  };
  for (int i = 0; i < 3; ++i) {
    std::optional<Runtime> runtime = counted_runtime(options);
    Kernel kernel = *runtime->load(scale_package());
    const Signature signature = {.inputs = {{.name = "x", .shape = {100}}},
                                 .args = {{"factor", 2}}};
    const Prewarm wanted{kernel, signature};
    kernel.start({{"x", HostTensor(x, {100})}}, by(3, true))->then(heard);
    kernel.start_prepare(signature)->then(heard);
    runtime->prewarm({&wanted, 1})->then(heard);
    runtime->prewarm_remembered()->then(heard);
    Tensor kept = *runtime->upload(HostTensor(x, {100}));
    const auto prepared = *kernel.prepare(signature);
    auto bound = *prepared.bind({{"x", kept}, prepared.make_outputs()->at(0)});
    bound.run()->then(heard);
    Runtime copy = *runtime;
    runtime.reset();
    EXPECT_EQ(cancelled, 5 * i) << "there is a handle left";
    copy = Runtime(nullptr);
    EXPECT_EQ(cancelled, 5 * (i + 1));
    // A kernel outlives the handles; nobody can poll for what it starts now.
    kernel.start({{"x", HostTensor(x, {100})}}, by(3, true))->then(heard);
    EXPECT_EQ(cancelled, 5 * (i + 1) + 1);
    cancelled = 5 * (i + 1);
  }
  EXPECT_EQ(Live(), before) << Live().total() - before.total() << " objects are left";
}

}  // namespace
}  // namespace wgk
