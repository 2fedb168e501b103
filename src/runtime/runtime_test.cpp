// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "gpu/device.h"
#include "runtime/access.h"
#include "runtime/test_support.h"

namespace wgk {
namespace {

using testing::contains;
using testing::numbers;
using testing::scale_package;
using testing::shared_runtime;
using testing::times;

class Runtimes : public testing::RuntimeTest {
 protected:
  std::vector<float> x = numbers(100);
  CallOptions by(double factor) const { return {.args = {{"factor", factor}}, .read_back = true}; }
  std::vector<float> run(const Kernel& kernel, double factor) const {
    auto result = kernel.call({{"x", HostTensor(x, {100})}}, by(factor));
    if (!result) {
      ADD_FAILURE() << result.error().to_string();
      return {};
    }
    return *result->at("y").download<float>();
  }
};

TEST_F(Runtimes, DescribeTheirDevice) {
  const DeviceDescription device = shared_runtime().describe();
  EXPECT_FALSE(device.adapter.name.empty());
  EXPECT_FALSE(device.adapter.backend.empty());
  EXPECT_FALSE(device.adopted);
  EXPECT_EQ(device.mode, Mode::kSafe);
  EXPECT_FALSE(device.toggles.empty());
  auto adapters = Runtime::adapters();
  ASSERT_TRUE(adapters);
  EXPECT_TRUE(std::ranges::any_of(
      *adapters, [&](const auto& adapter) { return adapter.name == device.adapter.name; }));
}

TEST_F(Runtimes, ComeAndGoForEver) {
  for (int i = 0; i < 5; ++i) {
    auto runtime = Runtime::create();
    ASSERT_TRUE(runtime);
    auto other = Runtime::create();
    ASSERT_TRUE(other);
    EXPECT_EQ(run(*runtime->load(scale_package()), i), times(x, static_cast<float>(i)));
    EXPECT_EQ(run(*other->load(scale_package()), -i), times(x, static_cast<float>(-i)));
  }
}

TEST_F(Runtimes, RefuseTensorsOfOthers) {
  auto runtime = *Runtime::create();
  const Tensor foreign = *shared_runtime().upload(HostTensor(x, {100}));
  Kernel kernel = *runtime.load(scale_package());
  EXPECT_EQ(kernel.call({{"x", foreign}}, by(1)).error().code, "usage/foreign");
}

TEST_F(Runtimes, TransferAnyRangeOfElements) {
  const Runtime& runtime = shared_runtime();
  std::vector<std::uint16_t> halves(9);
  for (std::size_t i = 0; i < halves.size(); ++i) halves[i] = static_cast<std::uint16_t>(i);
  const Tensor tensor = *runtime.upload(HostTensor(halves, {9}));
  const std::vector<std::uint16_t> patch = {100, 101, 102};
  for (const std::int64_t first :
       {1, 4, 6}) {  // odd and even starts: words are shared with neighbours
    ASSERT_TRUE(tensor.upload(HostTensor(patch, {3}), first));
    std::ranges::copy(patch, halves.begin() + first);
    EXPECT_EQ(*tensor.download<std::uint16_t>(), halves);
    auto part = tensor.download(first, 3);
    ASSERT_TRUE(part);
    EXPECT_TRUE(std::ranges::equal(part->as<std::uint16_t>(), patch));
  }
  EXPECT_EQ(tensor.upload(HostTensor(patch, {3}), 7).error().code, "usage/range");
  EXPECT_EQ(tensor.download(-1, 2).error().code, "usage/range");
  const std::vector<std::uint8_t> bytes = {1, 2, 3, 4, 5, 6, 7};
  const Tensor packed = *runtime.upload(HostTensor(bytes, {7}), {.form = {.packed = true}});
  EXPECT_EQ(packed.byte_length(), 8);
  const std::vector<std::uint8_t> two = {40, 50};
  ASSERT_TRUE(packed.upload(HostTensor(two, {2}), 3));
  EXPECT_EQ(*packed.download<std::uint8_t>(), std::vector<std::uint8_t>({1, 2, 3, 40, 50, 6, 7}));
  const std::vector<std::int64_t> wide = {-1, 5};
  const Tensor projected =
      *runtime.upload(HostTensor(wide, {2}), {.form = {.storage = DType::i32}});
  EXPECT_EQ(projected.byte_length(), 8);
  EXPECT_EQ(*projected.download<std::int64_t>(), wide);
  EXPECT_EQ(tensor.reshaped({3, 3})->shape(), Shape({3, 3}));
  EXPECT_EQ(tensor.reshaped({4, 3}).error().code, "request/shape");
  EXPECT_EQ(runtime.empty(DType::f32, {3})->download<float>(), std::vector<float>(3, 0.0F));
}

TEST_F(Runtimes, WrapBorrowedBuffersWithinTheirBounds) {
  const Runtime& runtime = shared_runtime();
  const Tensor owner = *runtime.upload(HostTensor(numbers(64), {64}));
  const auto code = [&](std::uint64_t offset, std::uint64_t size, Shape shape,
                        DType dtype = DType::f32) {
    auto tensor = Tensor::wrap(runtime, owner.buffer(), offset, size, std::move(shape), dtype);
    return tensor ? std::string("fine") : tensor.error().code;
  };
  EXPECT_EQ(code(0, 256, {64}), "fine");
  EXPECT_EQ(code(64, 128, {32}), "fine");
  EXPECT_EQ(code(64, 127, {32}), "usage/range");
  EXPECT_EQ(code(200, 128, {32}), "usage/range");
  EXPECT_EQ(code(254, 2, {1}, DType::f16), "usage/range") << "the word must be inside";
  const Tensor part = *Tensor::wrap(runtime, owner.buffer(), 64, 128, {32}, DType::f32);
  EXPECT_TRUE(part.borrowed());
  EXPECT_EQ((*part.download<float>())[0], numbers(64)[16]);
  EXPECT_EQ(Tensor::wrap(runtime, nullptr, 0, 4, {1}, DType::f32).error().code, "usage/range");
}

TEST_F(Runtimes, KeepTheMemoryCap) {
  auto runtime = *Runtime::create({{.memory = {.cap = 100000, .pool = 100000}}});
  Kernel kernel = *runtime.load(scale_package());
  std::vector<float> large(10000, 1.0F);
  // Input and output alone would take 80000 bytes, the read-back 65536 more.
  auto result = kernel.call({{"x", HostTensor(large, {10000})}}, by(1));
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, "limit/memory");
  EXPECT_LE(runtime.stats().peak_bytes, 100000);
  EXPECT_EQ(run(kernel, 2), times(x, 2)) << "smaller calls go on";
  const auto idle = runtime.stats();
  EXPECT_GT(idle.live_bytes + idle.pooled_bytes, 0);
  EXPECT_GT(runtime.trim(), 0);
  EXPECT_EQ(runtime.stats().pooled_bytes, 0);
  EXPECT_EQ(run(kernel, 3), times(x, 3));
}

TEST_F(Runtimes, TrimGivesIdleCallBuffersBack) {
  auto runtime = *Runtime::create();
  const Kernel kernel = *runtime.load(scale_package());
  const Kernel sums = *runtime.load(testing::accumulate_package(false));
  const std::vector<float> ones(64, 1.0F);
  const auto sum = [&] {
    return sums.call({{"x", HostTensor(ones, {64})}, {"y", HostTensor(ones, {64})}},
                     {.read_back = true});
  };
  for (std::int64_t n = 1; n <= 10; ++n) {
    const std::vector<float> some = numbers(static_cast<std::size_t>(1000 * n));
    ASSERT_TRUE(kernel.call({{"x", HostTensor(some, {1000 * n})}}, by(2)));
  }
  ASSERT_TRUE(sum());
  EXPECT_GE(runtime.stats().live_bytes, 440000) << "kept for the next equal calls";
  EXPECT_GT(runtime.trim(), 440000);
  EXPECT_LE(runtime.stats().live_bytes, 11 * 16) << "only the uniforms of the plans are left";
  EXPECT_EQ(runtime.stats().pooled_bytes, 0);
  EXPECT_EQ(run(kernel, 3), times(x, 3));
  auto again = sum();
  ASSERT_TRUE(again) << again.error().to_string();
  EXPECT_EQ(*again->at("y").download<float>(), std::vector<float>(64, 2.0F));
}

TEST_F(Runtimes, IdleCallBuffersMakeRoomUnderTheCap) {
  // Room for the largest call with its read-back, not for two of them.
  auto runtime = *Runtime::create({{.memory = {.cap = 200000}}});
  const Kernel kernel = *runtime.load(scale_package());
  for (int round = 0; round < 2; ++round) {
    for (const std::int64_t n : {10000, 9000, 8000}) {
      const std::vector<float> some = numbers(static_cast<std::size_t>(n));
      auto result = kernel.call({{"x", HostTensor(some, {n})}}, by(2));
      ASSERT_TRUE(result) << n << ": " << result.error().to_string();
      EXPECT_EQ(*result->at("y").download<float>(), times(some, 2));
    }
  }
  EXPECT_LE(runtime.stats().peak_bytes, 200000);
}

// The uniforms of a new plan are asked for while the plan's own entry is being made.
TEST_F(Runtimes, UniformsTakeTheRoomOfIdleCalls) {
  const auto idle_bytes = [this] {
    auto runtime = *Runtime::create();
    const Kernel kernel = *runtime.load(scale_package());
    EXPECT_EQ(run(kernel, 2), times(x, 2));
    return runtime.stats().live_bytes;
  }();
  auto runtime = *Runtime::create({{.memory = {.cap = 100000}}});
  const Kernel kernel = *runtime.load(scale_package());
  EXPECT_EQ(run(kernel, 2), times(x, 2));
  // Nothing is free but what the idle call holds.
  const Tensor rest = *runtime.empty(
      DType::f32, {static_cast<std::int64_t>((100000 - runtime.stats().live_bytes) / 4)});
  EXPECT_GE(runtime.stats().live_bytes, 100000 - 4);
  const auto prepared =
      kernel.prepare({.inputs = {{.name = "x", .shape = {50}}}, .args = {{"factor", 3}}});
  ASSERT_TRUE(prepared) << prepared.error().to_string();
  EXPECT_LT(runtime.stats().live_bytes, 100000 - idle_bytes / 2);
}

TEST_F(Runtimes, ARebuildLeavesNothingOnTheOldDevice) {
  auto runtime = *Runtime::create();
  const Kernel kernel = *runtime.load(scale_package());
  EXPECT_EQ(run(kernel, 2), times(x, 2));
  const std::weak_ptr<gpu::Device> old = context_of(runtime).device;
  ASSERT_TRUE(runtime.rebuild());
  EXPECT_TRUE(old.expired()) << "the kernel was not used again";
  EXPECT_EQ(run(kernel, 2), times(x, 2));
}

TEST_F(Runtimes, ThreadsThatRebuildAtOnceAgree) {
  auto runtime = *Runtime::create();
  const Kernel kernel = *runtime.load(scale_package());
  wgpuDeviceForceLoss(runtime.device(), WGPUDeviceLostReason_Unknown, {"unplugged", WGPU_STRLEN});
  ASSERT_TRUE(runtime.lost());
  std::vector<std::thread> threads;
  std::vector<std::vector<float>> results(4);
  for (auto& result : results) {
    threads.emplace_back([&] {
      ASSERT_TRUE(runtime.rebuild());
      auto done = kernel.call({{"x", HostTensor(x, {100})}}, by(2));
      // A thread that came late may have replaced the device once more.
      if (done) {
        result = *done->at("y").download<float>();
      } else {
        EXPECT_EQ(done.error().code, "device/lost") << done.error().to_string();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  ASSERT_FALSE(runtime.lost());
  EXPECT_TRUE(std::ranges::any_of(results, [&](const auto& one) { return one == times(x, 2); }));
  EXPECT_EQ(run(kernel, 2), times(x, 2));
}

TEST_F(Runtimes, LossIsAStateAndRebuildRestores) {
  auto runtime = *Runtime::create();
  Kernel kernel = *runtime.load(scale_package());
  EXPECT_FALSE(runtime.lost());
  const Tensor kept = *runtime.upload(HostTensor(x, {100}), {.keep_host_copy = true});
  const Tensor gone = *runtime.upload(HostTensor(x, {100}));
  auto prepared =
      *kernel.prepare({.inputs = {{.name = "x", .shape = {100}}}, .args = {{"factor", 2}}});
  auto bound = *prepared.bind({{"x", gone}, prepared.make_outputs()->at(0)});
  auto pending = *kernel.start({{"x", kept}}, by(2));
  wgpuDeviceForceLoss(runtime.device(), WGPUDeviceLostReason_Unknown, {"unplugged", WGPU_STRLEN});
  ASSERT_TRUE(runtime.lost());
  EXPECT_TRUE(contains(runtime.lost()->reason, "unplugged"));
  EXPECT_EQ(runtime.lost()->generation, 0);
  const auto lost = [](const auto& result) {
    return !result && result.error().code == "device/lost";
  };
  EXPECT_TRUE(lost(pending.wait()));
  EXPECT_TRUE(lost(kernel.call({{"x", kept}}, by(2))));
  EXPECT_TRUE(lost(bound.submit()));
  EXPECT_TRUE(lost(bound.record(WGPUCommandEncoder{})));
  EXPECT_TRUE(lost(bound.record(WGPUComputePassEncoder{})));
  EXPECT_TRUE(lost(kept.download()));
  EXPECT_TRUE(lost(runtime.upload(HostTensor(x, {100}))));
  ASSERT_TRUE(runtime.rebuild());
  EXPECT_FALSE(runtime.lost());
  auto again = kernel.call({{"x", kept}}, by(2));
  ASSERT_TRUE(again) << again.error().to_string();
  EXPECT_EQ(*again->at("y").download<float>(), times(x, 2));
  EXPECT_TRUE(lost(kernel.call({{"x", gone}}, by(2))));
  EXPECT_TRUE(lost(bound.submit()));
  EXPECT_EQ(*kept.download<float>(), x);
}

TEST_F(Runtimes, AdoptACallersDevice) {
  auto owner = *Runtime::create();
  AdoptOptions options;
  options.device = owner.device();
  options.timed_wait = true;
  {
    auto runtime = Runtime::adopt(options);
    ASSERT_TRUE(runtime) << runtime.error().to_string();
    EXPECT_TRUE(runtime->describe().adopted);
    EXPECT_EQ(runtime->describe().adapter.name, owner.describe().adapter.name);
    EXPECT_EQ(runtime->device(), owner.device());
    Kernel kernel = *runtime->load(scale_package());
    EXPECT_EQ(run(kernel, 4), times(x, 4));
  }
  EXPECT_FALSE(owner.lost()) << "nothing of the caller's is destroyed";
  EXPECT_EQ(run(*owner.load(scale_package()), 5), times(x, 5));
  options.mode = Mode::kTrusted;
  EXPECT_EQ(Runtime::adopt(options).error().code, "usage/mode");
  EXPECT_EQ(Runtime::adopt({}).error().code, "usage/device");
}

TEST_F(Runtimes, TrustedModeAsksForTrust) {
  auto runtime = Runtime::create({.mode = Mode::kTrusted});
  ASSERT_TRUE(runtime) << runtime.error().to_string();
  EXPECT_EQ(runtime->load(scale_package()).error().code, "store/trust");
  EXPECT_EQ(run(*runtime->load(scale_package(), {.trust = true}), 6), times(x, 6));
}

TEST_F(Runtimes, QuirksTurnVariantsOff) {
  const std::string table =
      R"([{"adapter": {"name": ")" + shared_runtime().describe().adapter.name.substr(0, 4) +
      R"("}, "op": "test.*", "variant": "fast", "reason": "known to go wrong"},
                               {"adapter": {"vendor": "nobody"}, "op": "*", "variant": "*", "reason": "elsewhere"}])";
  auto runtime = Runtime::create({{.quirks = table}});
  ASSERT_TRUE(runtime) << runtime.error().to_string();
  Kernel kernel = *runtime->load(scale_package());
  auto explanation = kernel.explain({{"x", HostTensor(x, {100})}}, by(1));
  EXPECT_EQ(*explanation.selected, "slow");
  EXPECT_TRUE(contains(explanation.decisions[0].reason, "known to go wrong"));
  auto forced = by(1);
  forced.variant = "fast";
  EXPECT_EQ(kernel.call({{"x", HostTensor(x, {100})}}, forced).error().code, "request/variant");
  EXPECT_EQ(Runtime::create({{.quirks = "[{"}}).error().code, "usage/quirks");
  EXPECT_EQ(
      Runtime::create(
          {{.quirks =
                R"([{"adapter": {"color": "red"}, "op": "a", "variant": "b", "reason": "c"}])"}})
          .error()
          .code,
      "usage/quirks");
}

TEST_F(Runtimes, MayBeUsedFromManyThreads) {
  const Runtime& runtime = shared_runtime();
  const Kernel scale = *runtime.load(scale_package());
  const Kernel accumulate = *runtime.load(testing::accumulate_package(true));
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 20; ++i) {
        const double factor = t * 100 + i;
        if (run(scale, factor) != times(x, static_cast<float>(factor))) ++wrong;
        auto sum = accumulate.call(
            {{"x", HostTensor(numbers(8), {8})}, {"y", HostTensor(numbers(8), {8})}},
            {.read_back = true});
        if (!sum || *sum->at("y").download<float>() != times(numbers(8), 2)) ++wrong;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong.load(), 0);
}

}  // namespace
}  // namespace wgk
