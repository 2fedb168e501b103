// SPDX-License-Identifier: Apache-2.0
// Scratch that kernels leave zero, seen from outside: arenas, trimming, callers' encoders and
// devices, changed arguments, and kernels that break the promise.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "gpu/executor.h"
#include "gpu/host_support.h"
#include "gpu/transfer.h"
#include "runtime/access.h"
#include "runtime/kernel_impl.h"
#include "runtime/test_support.h"

namespace wgk {
namespace {

using testing::contains;
using testing::kept_package;
using testing::numbers;
using testing::shared_runtime;
using testing::times;

Signature kept_signature(std::int64_t size, double factor = 1) {
  return {.inputs = {{.name = "x", .shape = {size}}, {.name = "y", .shape = {size}}},
          .args = {{"factor", factor}}};
}

// One prepared call with tensors of its own; after n runs y is n * factor * x.
struct KeptCall {
  Tensor x, y;
  Bound bound;
  std::vector<float> values;

  KeptCall(const Runtime& runtime, const Prepared& prepared, const BindOptions& options = {})
      : values(numbers(static_cast<std::size_t>(prepared.plan().tensors[0].shape[0]))) {
    const auto size = static_cast<std::int64_t>(values.size());
    x = *runtime.upload(HostTensor(values, {size}));
    y = *runtime.upload(HostTensor(times(values, 0), {size}));
    bound = *prepared.bind({{"x", x}, {"y", y}}, options);
  }
  // Its "board" and its "other" scratch.
  const gpu::BufferRef& scratch(std::size_t index) const {
    return bound.impl()->bound->scratch()[index];
  }
  bool holds(float times_x) const { return *y.download<float>() == times(values, times_x); }
};

class KeptScratch : public testing::RuntimeTest {
 protected:
  const Runtime& runtime = shared_runtime();
  const Kernel kernel = *runtime.load(kept_package());
};

TEST_F(KeptScratch, IsNeverPartOfAnArena) {
  auto fresh = *Runtime::create();
  const Kernel on_fresh = *fresh.load(kept_package());
  const std::vector<Prepared> prepared = {*on_fresh.prepare(kept_signature(16)),
                                          *on_fresh.prepare(kept_signature(48)),
                                          *on_fresh.prepare(kept_signature(16))};
  EXPECT_EQ(memory(prepared).scratch, (16 + 48) * 4 * 2) << "equal calls are one prepared call";
  EXPECT_EQ(memory(prepared, true).scratch, (16 + 48) * 4 + 48 * 4);
  const Arena arena = *fresh.make_arena(prepared);
  EXPECT_EQ(arena.bytes(), 48 * 4);
  std::vector<KeptCall> calls;
  for (const Prepared& one : prepared) calls.emplace_back(fresh, one, BindOptions{.arena = arena});
  EXPECT_EQ(calls[0].scratch(1), calls[1].scratch(1));
  EXPECT_NE(calls[0].scratch(0), calls[1].scratch(0));
  EXPECT_EQ(calls[0].scratch(0), calls[2].scratch(0));
  std::vector<Bound> bound;
  for (const KeptCall& call : calls) bound.push_back(call.bound);
  const MemoryNeeds needs = memory(std::span<const Bound>(bound));
  EXPECT_EQ(needs.scratch, memory(prepared, true).scratch);
  EXPECT_EQ(needs.total(), fresh.stats().live_bytes);
  const KeptCall own(fresh, prepared[0], {.own_scratch = true, .arena = arena});
  EXPECT_EQ(own.scratch(1), calls[0].scratch(1));
  EXPECT_NE(own.scratch(0), calls[0].scratch(0));
  for (int run = 1; run < 4; ++run) {
    for (const KeptCall& call : calls) ASSERT_TRUE(call.bound.submit());
    ASSERT_TRUE(own.bound.submit());
    for (const KeptCall& call : calls) EXPECT_TRUE(call.holds(static_cast<float>(run)));
    EXPECT_TRUE(own.holds(static_cast<float>(run)));
  }
}

TEST_F(KeptScratch, StartsAsZeroInBuffersOfEarlierOwners) {
  const std::vector<float> sevens(52, 7.0F);
  for (const bool own : {false, true}) {
    ASSERT_TRUE(runtime.upload(HostTensor(sevens, {52})));  // and back to the pool
    const Prepared prepared = *kernel.prepare(kept_signature(52));
    const KeptCall call(runtime, prepared, {.own_scratch = own});
    for (int run = 1; run < 3; ++run) {
      ASSERT_TRUE(call.bound.submit());
      EXPECT_TRUE(call.holds(static_cast<float>(run)));
    }
  }
  static_cast<void>(runtime.trim());
}

// Trimming takes the idle scratch away.
TEST_F(KeptScratch, IsZeroAgainAfterTrimming) {
  const Prepared prepared = *kernel.prepare(kept_signature(60));
  for (int round = 0; round < 3; ++round) {
    {
      const KeptCall call(runtime, prepared);
      ASSERT_TRUE(call.bound.submit());
      EXPECT_TRUE(call.holds(1));
    }
    const std::uint64_t made = runtime.stats().buffers_made;
    EXPECT_GT(runtime.trim(), 0);
    const KeptCall again(runtime, prepared);
    EXPECT_GT(runtime.stats().buffers_made, made);
    ASSERT_TRUE(again.bound.submit());
    EXPECT_TRUE(again.holds(1));
  }
}

// Commands of the callers: several calls in one pass, an encoder that is dropped, and changed
// arguments in between.
TEST_F(KeptScratch, IsRightInCallersEncoders) {
  const std::vector<float> sevens(40, 7.0F);
  ASSERT_TRUE(runtime.upload(HostTensor(sevens, {40})));  // the board comes from the pool
  const Prepared prepared = *kernel.prepare(kept_signature(40));
  KeptCall a(runtime, prepared), b(runtime, prepared);
  const auto record = [&](bool submit) {
    WGPUCommandEncoder encoder = wgpuDeviceCreateCommandEncoder(runtime.device(), nullptr);
    WGPUComputePassEncoder pass = wgpuCommandEncoderBeginComputePass(encoder, nullptr);
    for (int i = 0; i < 3; ++i) {
      EXPECT_TRUE(a.bound.record(pass));
      EXPECT_TRUE(b.bound.record(pass));
    }
    wgpuComputePassEncoderEnd(pass);
    wgpuComputePassEncoderRelease(pass);
    if (submit) {
      WGPUCommandBuffer commands = wgpuCommandEncoderFinish(encoder, nullptr);
      wgpuQueueSubmit(runtime.queue(), 1, &commands);
      wgpuCommandBufferRelease(commands);
    }
    wgpuCommandEncoderRelease(encoder);
  };
  record(false);
  record(true);
  EXPECT_TRUE(a.holds(3));
  EXPECT_TRUE(b.holds(3));
  ASSERT_TRUE(a.bound.update({{"factor", 4}}));
  record(true);
  EXPECT_TRUE(a.holds(15));
  EXPECT_TRUE(b.holds(6));
}

TEST_F(KeptScratch, SurvivesCommandsThatWebGpuRefuses) {
  auto fresh = *Runtime::create();
  const Kernel on_fresh = *fresh.load(kept_package());
  const KeptCall call(fresh, *on_fresh.prepare(kept_signature(40)));
  WGPUCommandEncoder encoder = wgpuDeviceCreateCommandEncoder(fresh.device(), nullptr);
  WGPUComputePassEncoder pass = wgpuCommandEncoderBeginComputePass(encoder, nullptr);
  ASSERT_TRUE(call.bound.record(pass));
  wgpuComputePassEncoderDispatchWorkgroups(pass, 1U << 30, 1, 1);
  wgpuComputePassEncoderEnd(pass);
  wgpuComputePassEncoderRelease(pass);
  WGPUCommandBuffer commands = wgpuCommandEncoderFinish(encoder, nullptr);
  wgpuQueueSubmit(fresh.queue(), 1, &commands);
  wgpuCommandBufferRelease(commands);
  wgpuCommandEncoderRelease(encoder);
  EXPECT_FALSE(fresh.wait_idle()) << "the refusal is told";
  ASSERT_TRUE(call.bound.submit());
  EXPECT_TRUE(call.holds(1)) << "nothing of the refused commands ran";
}

TEST_F(KeptScratch, WorksOnAnAdoptedDevice) {
  WGPUInstance instance = gpu::testing::host_instance();
  WGPUAdapter adapter = gpu::testing::host_adapter(instance);
  ASSERT_NE(adapter, nullptr);
  WGPUDevice device = wgpuAdapterCreateDevice(adapter, nullptr);
  ASSERT_NE(device, nullptr);
  {
    AdoptOptions options;
    options.device = device;
    options.instance = instance;
    options.timed_wait = true;
    auto adopted = Runtime::adopt(options);
    ASSERT_TRUE(adopted) << adopted.error().to_string();
    const Kernel on_theirs = *adopted->load(kept_package());
    const std::vector<float> sevens(33, 7.0F);
    ASSERT_TRUE(adopted->upload(HostTensor(sevens, {33})));
    const KeptCall call(*adopted, *on_theirs.prepare(kept_signature(33)));
    for (int run = 1; run < 4; ++run) {
      ASSERT_TRUE(call.bound.submit());
      EXPECT_TRUE(call.holds(static_cast<float>(run)));
    }
    EXPECT_TRUE(gpu::check_kept_zero(*call.bound.impl()->bound));
  }
  wgpuDeviceRelease(device);
  wgpuAdapterRelease(adapter);
  wgpuInstanceRelease(instance);
}

// Calls of two packages, of which one leaves values in its scratch, made, recorded, submitted in
// another order, dropped, changed and trimmed as a seed says: each run must find zeros.
class AnyOrder {
 public:
  AnyOrder(const Runtime& runtime, const Kernel& kernel, std::uint32_t seed)
      : runtime_(runtime), random_(seed) {
    for (const std::int64_t size : {24, 24, 40})
      prepared_.push_back(*kernel.prepare(kept_signature(size)));
    Signature sum = kept_signature(40);
    sum.args.clear();
    prepared_.push_back(*dirty_.prepare(sum));
    arena_ = *runtime.make_arena(prepared_);
  }
  ~AnyOrder() {
    for (const Commands& commands : pending_) wgpuCommandBufferRelease(commands.buffer);
  }
  AnyOrder(const AnyOrder&) = delete;
  AnyOrder& operator=(const AnyOrder&) = delete;

  void step() {
    switch (below(9)) {
      case 0: return make();
      case 1:
      case 2: return record();
      case 3:
      case 4: return finish(true);
      case 5: return finish(false);
      case 6: return change();
      case 7: static_cast<void>(runtime_.trim()); return;
      default: return submit();
    }
  }
  // Every call has run as often as it should, with the factors of then.
  bool right() const {
    return std::ranges::all_of(calls_, [](const auto& one) { return one->call.holds(one->sum); });
  }

 private:
  struct One {
    KeptCall call;
    bool kept;
    float factor = 1, sum = 0;
  };
  struct Commands {
    WGPUCommandBuffer buffer = nullptr;
    std::vector<std::pair<std::weak_ptr<One>, float>> runs;  // some are dropped before
  };
  std::size_t below(std::size_t end) { return random_() % end; }
  const std::shared_ptr<One>& any() { return calls_[below(calls_.size())]; }

  void make() {
    if (calls_.size() > 4) calls_.erase(calls_.begin() + static_cast<std::ptrdiff_t>(below(5)));
    {
      const std::vector<float> sevens(40, 7.0F);
      std::vector<Tensor> pooled;  // when they go
      for (const std::int64_t size : {24, 24, 24, 24, 40, 40, 40, 40})
        pooled.push_back(*runtime_.upload(
            HostTensor(std::span(sevens).first(static_cast<std::size_t>(size)), {size})));
    }
    const std::size_t which = below(4);
    calls_.push_back(std::make_shared<One>(
        KeptCall(runtime_, prepared_[which],
                 {.own_scratch = below(3) == 0, .arena = below(2) == 0 ? arena_ : Arena()}),
        which < 3));
  }
  void record() {
    if (calls_.empty()) return;
    WGPUCommandEncoder encoder = wgpuDeviceCreateCommandEncoder(runtime_.device(), nullptr);
    Commands commands;
    for (std::size_t passes = 1 + below(2); passes > 0; --passes) {
      WGPUComputePassEncoder pass = wgpuCommandEncoderBeginComputePass(encoder, nullptr);
      for (std::size_t i = 1 + below(3); i > 0; --i) {
        const auto& one = any();
        EXPECT_TRUE(one->call.bound.record(pass));
        commands.runs.emplace_back(one, one->factor);
      }
      wgpuComputePassEncoderEnd(pass);
      wgpuComputePassEncoderRelease(pass);
    }
    commands.buffer = wgpuCommandEncoderFinish(encoder, nullptr);
    wgpuCommandEncoderRelease(encoder);
    pending_.push_back(std::move(commands));
  }
  void finish(bool run) {
    if (pending_.empty()) return;
    const auto at = pending_.begin() + static_cast<std::ptrdiff_t>(below(pending_.size()));
    if (run) wgpuQueueSubmit(runtime_.queue(), 1, &at->buffer);
    wgpuCommandBufferRelease(at->buffer);
    for (const auto& [dropped, factor] : at->runs) {
      if (const auto one = dropped.lock()) one->sum += run ? factor : 0;
    }
    pending_.erase(at);
  }
  void change() {
    if (calls_.empty()) return;
    const auto& one = any();
    if (!one->kept) return;
    one->factor = static_cast<float>(1 + below(4));
    EXPECT_TRUE(one->call.bound.update({{"factor", one->factor}}));
  }
  void submit() {
    if (calls_.empty()) return;
    const auto& one = any();
    EXPECT_TRUE(one->call.bound.submit());
    one->sum += one->factor;
  }

  const Runtime& runtime_;
  const Kernel dirty_ = *runtime_.load(testing::accumulate_package(false));
  std::mt19937 random_;
  std::vector<Prepared> prepared_;
  Arena arena_;
  std::vector<std::shared_ptr<One>> calls_;
  std::vector<Commands> pending_;
};

TEST_F(KeptScratch, IsRightInAnyOrder) {
  for (std::uint32_t seed = 0; seed < 20; ++seed) {
    AnyOrder order(runtime, kernel, seed);
    for (int i = 0; i < 60; ++i) {
      order.step();
      ASSERT_TRUE(order.right()) << "seed " << seed << ", step " << i;
    }
  }
}

// Calls with guard bytes are tests: the promise is looked at as well.
TEST_F(KeptScratch, ABrokenPromiseIsSeenByCallsWithGuards) {
  const std::vector<float> x(50, 2.0F), y(50, 1.0F);
  const auto call = [&](const Kernel& of, std::uint32_t guards) {
    CallOptions options{.args = {{"factor", 3}}, .read_back = true};
    options.guard_bytes = guards;
    return of.call({{"x", HostTensor(x, {50})}, {"y", HostTensor(y, {50})}}, options);
  };
  const std::vector<float> right(50, 7.0F);
  for (const std::uint32_t guards : {256U, 0U}) {
    for (int i = 0; i < 2; ++i) {
      const auto result = call(kernel, guards);
      ASSERT_TRUE(result) << result.error().to_string();
      EXPECT_EQ(*result->at("y").download<float>(), right);
    }
  }
  const Kernel broken = *runtime.load(kept_package(false));
  for (int i = 0; i < 2; ++i) {
    const auto result = call(broken, 256);
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, "device/kept-zero");
    EXPECT_TRUE(contains(result.error().message,
                         "variant 'only' left scratch 'board' with 0x40000000 in word 0 of 50"));
  }
  const auto unseen = call(broken, 0);
  ASSERT_TRUE(unseen) << unseen.error().to_string();
  EXPECT_EQ(*unseen->at("y").download<float>(), right) << "the check cleared what it found";
}

}  // namespace
}  // namespace wgk
