// SPDX-License-Identifier: Apache-2.0
// Scratch that kernels leave zero, seen from outside: arenas, trimming, callers' encoders and
// devices, changed arguments, and kernels that break the promise.
#include <gtest/gtest.h>

#include <algorithm>
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
