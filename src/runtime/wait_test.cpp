// SPDX-License-Identifier: Apache-2.0
// Waits that the caller cuts short, on a device that says "not yet" for as long as the test wants.
#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

#include "gpu/procs.h"
#include "runtime/access.h"
#include "runtime/test_support.h"

namespace wgk {
namespace {

using std::chrono::milliseconds;
using testing::accumulate_package;
using testing::numbers;
using testing::scale_package;
using testing::times;

std::atomic<bool> g_busy = false;
std::atomic<int> g_inside = 0;  // long waits in progress

// Short waits run out at once, long ones last until the device is free (or for some seconds).
WGPUWaitStatus wait_any(WGPUInstance instance, std::size_t count, WGPUFutureWaitInfo* infos,
                        std::uint64_t timeout) {
  if (g_busy && timeout < 1'000'000'000) return WGPUWaitStatus_TimedOut;
  ++g_inside;
  for (int i = 0; g_busy && i < 5000; ++i) std::this_thread::sleep_for(milliseconds(1));
  const auto status = gpu::linked_procs().instance_wait_any(instance, count, infos, timeout);
  --g_inside;
  return status;
}

class ShortWaits : public testing::RuntimeTest {
 protected:
  void SetUp() override {
    RuntimeTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    gpu::Procs procs = gpu::linked_procs();
    procs.instance_wait_any = wait_any;
    auto made = create_with({}, procs);
    ASSERT_TRUE(made) << made.error().to_string();
    runtime = *made;
    scale = *runtime.load(scale_package());
  }
  void TearDown() override { g_busy = false; }

  // "Not yet" twice, and nothing is lost by it.
  template <class F>
  void expect_not_yet(F& future) {
    for (const auto timeout : {milliseconds(0), milliseconds(2)}) {
      const auto result = future.wait(timeout);
      ASSERT_FALSE(result);
      EXPECT_EQ(result.error().code, "usage/not-ready");
      EXPECT_FALSE(runtime.lost());
    }
  }

  Runtime runtime = Runtime(nullptr);
  Kernel scale;
  std::vector<float> x = numbers(100);
  Signature signature = {.inputs = {{.name = "x", .dtype = DType::f32, .shape = {100}}},
                         .args = {{"factor", 2.0}}};
};

TEST_F(ShortWaits, PreparingGoesOn) {
  g_busy = true;
  auto future = *scale.start_prepare(signature);
  expect_not_yet(future);
  g_busy = false;
  EXPECT_TRUE(future.wait());
  EXPECT_EQ(future.wait().error().code, "usage/future") << "taken once";
}

// The pipeline that clears scratch counts too.
TEST_F(ShortWaits, PreparingThatClearsGoesOn) {
  const Kernel accumulate = *runtime.load(accumulate_package(false));
  g_busy = true;
  auto future = *accumulate.start_prepare(
      {.inputs = {{.name = "x", .shape = {8}}, {.name = "y", .shape = {8}}}});
  expect_not_yet(future);
  g_busy = false;
  EXPECT_TRUE(future.wait());
}

// One thread waits for a pipeline; the others are not held up.
TEST_F(ShortWaits, LookingDoesNotQueueUpBehindAWait) {
  g_busy = true;
  auto first = *scale.start_prepare(signature);
  std::thread waiter([&] { EXPECT_TRUE(first.wait()); });
  while (g_inside == 0) std::this_thread::yield();
  auto second = *scale.start_prepare(signature);
  EXPECT_FALSE(*second.ready());
  expect_not_yet(second);
  EXPECT_EQ(g_inside, 1) << "the first is still waiting";
  g_busy = false;
  waiter.join();
  EXPECT_TRUE(second.wait());
}

TEST_F(ShortWaits, PrewarmingGoesOn) {
  g_busy = true;
  const Prewarm calls[] = {{scale, signature}, {scale, signature}};
  auto future = *runtime.prewarm(calls);
  expect_not_yet(future);
  g_busy = false;
  EXPECT_TRUE(future.wait());
}

TEST_F(ShortWaits, ACallGoesOn) {
  g_busy = true;
  auto future =
      *scale.start({{"x", HostTensor(x, {100})}}, {.args = {{"factor", 2.0}}, .read_back = true});
  expect_not_yet(future);  // for its pipeline
  g_busy = false;
  while (!*future.ready()) {
  }
  auto result = future.wait();
  ASSERT_TRUE(result) << result.error().to_string();
  EXPECT_EQ(*result->at("y").download<float>(), times(x, 2));

  auto second =
      *scale.start({{"x", HostTensor(x, {100})}}, {.args = {{"factor", 2.0}}, .read_back = true});
  g_busy = true;
  expect_not_yet(second);  // for its result
  g_busy = false;
  result = second.wait();
  ASSERT_TRUE(result) << result.error().to_string();
  EXPECT_EQ(*result->at("y").download<float>(), times(x, 2));
}

TEST_F(ShortWaits, ASubmissionAndTheQueueGoOn) {
  auto prepared = *scale.prepare(signature);
  const Tensor input = *runtime.upload(HostTensor(x, {100}));
  auto bound = *prepared.bind({{"x", input}, prepared.make_outputs()->at(0)});
  auto submission = *bound.run();
  g_busy = true;
  expect_not_yet(submission);
  EXPECT_EQ(runtime.wait_idle(milliseconds(0)).error().code, "usage/not-ready");
  EXPECT_EQ(runtime.wait_idle(milliseconds(2)).error().code, "usage/not-ready");
  EXPECT_FALSE(runtime.lost());
  g_busy = false;
  EXPECT_TRUE(submission.wait());
  EXPECT_TRUE(runtime.wait_idle());
  EXPECT_TRUE(bound.run_and_read());
}

TEST_F(ShortWaits, ACallbackCanBeCancelled) {
  int cancelled = 0;
  const auto heard = [&](const auto& result) {
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, "usage/cancelled");
    ++cancelled;
  };
  g_busy = true;
  auto called = *scale.start({{"x", HostTensor(x, {100})}}, {.args = {{"factor", 2.0}}});
  auto prepared = *scale.start_prepare(signature);
  called.then(heard);
  prepared.then(heard);
  called.cancel();
  prepared.cancel();
  runtime.poll();
  EXPECT_EQ(cancelled, 2);
  runtime.poll();
  EXPECT_EQ(cancelled, 2) << "once each";
}

// What one callback throws goes to whoever polls, and the others are told by the next poll.
TEST_F(ShortWaits, ACallbackThatThrowsTakesNoneWithIt) {
  std::vector<int> order;
  const auto note = [&](int which) {
    return [&order, which](const Result<CallResult>&) {
      order.push_back(which);
      if (which == 1) throw std::runtime_error("the caller's own");
    };
  };
  for (int i = 0; i < 3; ++i) {
    auto called = *scale.start({{"x", HostTensor(x, {100})}}, {.args = {{"factor", 2.0}}});
    called.then(note(i));
    called.cancel();
  }
  EXPECT_THROW(runtime.poll(), std::runtime_error);
  runtime.poll();
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2}));
}

}  // namespace
}  // namespace wgk
