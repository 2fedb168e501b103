// SPDX-License-Identifier: Apache-2.0
// Faults that a device, a driver or a machine can cause: each is a returned error, and the runtime
// goes on or says that it is lost.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "gpu/count_support.h"
#include "runtime/access.h"
#include "runtime/test_support.h"

namespace wgk {
namespace {

using gpu::testing::counting;
using testing::contains;
using testing::numbers;
using testing::scale_package;
using testing::times;

class RuntimeFaults : public testing::RuntimeTest {
 protected:
  void SetUp() override {
    testing::RuntimeTest::SetUp();
    counting().reset();
  }
  std::vector<float> x = numbers(100);
  CallOptions by(double factor) const { return {.args = {{"factor", factor}}, .read_back = true}; }
};

TEST_F(RuntimeFaults, OutOfMemoryEmptiesThePoolThenIsAnError) {
  const Runtime runtime = *create_with({}, gpu::testing::counting_procs());
  const Kernel kernel = *runtime.load(scale_package());
  ASSERT_TRUE(kernel.call({{"x", HostTensor(x, {100})}}, by(2)));
  static_cast<void>(*runtime.empty(DType::f32, {5000}));  // pooled at once
  EXPECT_GT(runtime.stats().pooled_bytes, 0);
  counting().failing_buffers = 1;
  const auto second_try = runtime.empty(DType::f32, {777});
  EXPECT_TRUE(second_try) << "with the room that the pool gave up";
  EXPECT_EQ(runtime.stats().pooled_bytes, 0);
  counting().failing_buffers = 1000;
  EXPECT_EQ(runtime.empty(DType::f32, {778}).error().code, "device/memory");
  EXPECT_EQ(kernel.call({{"x", HostTensor(numbers(50), {50})}}, by(2)).error().code,
            "device/memory");
  const std::uint64_t live = runtime.stats().live_bytes;
  counting().failing_buffers = 0;
  EXPECT_FALSE(runtime.lost());
  EXPECT_EQ(*kernel.call({{"x", HostTensor(x, {100})}}, by(3))->at("y").download<float>(),
            times(x, 3));
  EXPECT_LT(live, 8192) << "what failed is not counted";
}

TEST_F(RuntimeFaults, AnUncapturedErrorIsReturnedOnceByTheNextWait) {
  const Runtime runtime = *Runtime::create();
  const Kernel kernel = *runtime.load(scale_package());
  wgpuDeviceInjectError(runtime.device(), WGPUErrorType_Validation, {"stray", WGPU_STRLEN});
  const auto result = kernel.call({{"x", HostTensor(x, {100})}}, by(2));
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, "device/validation");
  EXPECT_TRUE(contains(result.error().message, "stray"));
  EXPECT_TRUE(kernel.call({{"x", HostTensor(x, {100})}}, by(2)));
  EXPECT_FALSE(runtime.lost());
}

TEST_F(RuntimeFaults, AMapThatFailsIsAnError) {
  const Runtime runtime = *Runtime::create();
  const Kernel kernel = *runtime.load(scale_package());
  auto pending = *kernel.start({{"x", HostTensor(x, {100})}}, by(2));
  wgpuDeviceDestroy(runtime.device());  // ends maps that are on their way
  EXPECT_EQ(pending.wait().error().code, "device/lost");
}

TEST_F(RuntimeFaults, NoAdapterIsAnError) {
  RuntimeOptions options;
  options.adapter.device = "no such adapter";
  EXPECT_EQ(Runtime::create(options).error().code, "device/none");
}

// The device goes while four threads work: every call from then on says so, and a rebuild brings
// all of them back.
TEST_F(RuntimeFaults, LossInTheMiddleOfABatchReachesEveryThread) {
  const Runtime runtime = *Runtime::create();
  const Kernel kernel = *runtime.load(scale_package());
  std::atomic<int> running = 0, lost = 0, wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0;; ++i) {
        const double factor = t * 1000 + i;
        const auto result = kernel.call({{"x", HostTensor(x, {100})}}, by(factor));
        if (!result) {
          ++(result.error().code == "device/lost" ? lost : wrong);
          return;
        }
        if (*result->at("y").download<float>() != times(x, static_cast<float>(factor))) ++wrong;
        if (i == 2) ++running;
      }
    });
  }
  while (running < 4) std::this_thread::yield();
  wgpuDeviceForceLoss(runtime.device(), WGPUDeviceLostReason_Unknown, {"pulled", WGPU_STRLEN});
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(lost, 4);
  EXPECT_EQ(wrong, 0);
  EXPECT_TRUE(contains(runtime.lost()->reason, "pulled"));
  for (std::uint64_t generation = 0; generation < 3; ++generation) {
    ASSERT_TRUE(runtime.rebuild());
    EXPECT_TRUE(kernel.call({{"x", HostTensor(x, {100})}}, by(2)));
    wgpuDeviceForceLoss(runtime.device(), WGPUDeviceLostReason_Unknown, {"again", WGPU_STRLEN});
    EXPECT_EQ(runtime.lost()->generation, generation + 1);
  }
}

}  // namespace
}  // namespace wgk
