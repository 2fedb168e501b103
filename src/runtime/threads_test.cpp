// SPDX-License-Identifier: Apache-2.0
// Eight threads that share one runtime and do whatever threads may do. Meant to run under the
// thread sanitizer too.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <format>
#include <string>
#include <thread>
#include <vector>

#include "runtime/test_support.h"

namespace wgk {
namespace {

using testing::numbers;
using testing::scale_package;
using testing::shared_runtime;
using testing::times;

constexpr std::int64_t kCount = 70;

// One thread's work; everything it shares with the others is behind these handles.
struct Worker {
  const Runtime& runtime;
  const Kernel& scale;
  const Kernel& accumulate;
  const Kernel& kept;                  // leaves its scratch zero
  const Tensor& shared;                // read by all
  const std::vector<Kernel>& kernels;  // as `scale`, each with a text of its own
  std::vector<float> x = numbers(kCount);

  static CallOptions by(double factor, bool read_back = true) {
    return {.args = {{"factor", factor}}, .read_back = read_back};
  }
  bool right(const Result<CallResult>& result, float factor) const {
    if (!result) return false;
    const auto y = result->at("y").download<float>();
    return y && *y == times(x, factor);
  }
  bool host_call(float factor) const {
    return right(scale.call({{"x", HostTensor(x, {kCount})}}, by(factor)), factor);
  }
  bool device_call(float factor) const {
    return right(scale.call({{"x", shared}}, by(factor, false)), factor);
  }
  bool split_call() const {
    const auto sum =
        accumulate.call({{"x", HostTensor(numbers(8), {8})}, {"y", HostTensor(numbers(8), {8})}},
                        {.read_back = true});
    return sum && *sum->at("y").download<float>() == times(numbers(8), 2);
  }
  bool kept_call(float factor) const {
    const std::vector<float> zeros(kCount, 0.0F);
    return right(kept.call({{"x", shared}, {"y", HostTensor(zeros, {kCount})}}, by(factor)),
                 factor);
  }
  bool prepared_call(float factor) const {
    const auto prepared =
        scale.prepare({.inputs = {{.name = "x", .shape = {kCount}}}, .args = {{"factor", factor}}});
    if (!prepared) return false;
    const auto y = prepared->make_output("y");
    if (!y) return false;
    auto bound = prepared->bind({{"x", shared}, {"y", *y}});
    if (!bound) return false;
    WGPUCommandEncoder encoder = wgpuDeviceCreateCommandEncoder(runtime.device(), nullptr);
    WGPUComputePassEncoder pass = wgpuCommandEncoderBeginComputePass(encoder, nullptr);
    const bool recorded = bound->record(pass).has_value();
    wgpuComputePassEncoderEnd(pass);
    wgpuComputePassEncoderRelease(pass);
    WGPUCommandBuffer commands = wgpuCommandEncoderFinish(encoder, nullptr);
    wgpuCommandEncoderRelease(encoder);
    wgpuQueueSubmit(runtime.queue(), 1, &commands);
    wgpuCommandBufferRelease(commands);
    if (!recorded || *y->download<float>() != times(x, factor)) return false;
    if (!bound->update({{"factor", factor + 1}})) return false;
    return right(bound->run_and_read(), factor + 1);
  }
  bool future_call(float factor, bool wait) const {
    auto future = scale.start({{"x", shared}}, by(factor));
    if (!future) return false;
    if (!wait) {
      future->cancel();
      return true;
    }
    while (true) {
      const auto ready = future->ready();
      if (!ready) return false;
      if (*ready) break;
    }
    return right(future->wait(), factor);
  }
  bool transfers(float value) const {
    const auto tensor = runtime.upload(HostTensor(x, {kCount}));
    if (!tensor) return false;
    const std::vector<float> patch = {value, value};
    if (!tensor->upload(HostTensor(patch, {2}), 3)) return false;
    const auto part = tensor->download(2, 4);
    return part && part->as<float>()[1] == value && part->as<float>()[3] == x[5];
  }
  // Texts of its own that all threads ask for at once, compiled ahead and then used.
  bool prewarmed(int i, float factor) const {
    const Kernel& kernel = kernels[static_cast<std::size_t>(i / 10) % kernels.size()];
    const Prewarm call[] = {
        {kernel, {.inputs = {{.name = "x", .shape = {kCount}}}, .args = {{"factor", factor}}}}};
    auto ready = runtime.prewarm(call);
    if (!ready) return false;
    if (i % 20 < 10 && !ready->wait()) return false;  // else it is dropped on its way
    return right(kernel.call({{"x", shared}}, by(factor)), factor);
  }
  // Input and output in one buffer, where neither can be bound: both go through copies.
  bool staged(float factor) const {
    const auto buffer = runtime.empty(DType::f32, {2 * kCount + 2});
    if (!buffer) return false;
    const auto wrap = [&](std::uint64_t offset) {
      return Tensor::wrap(runtime, buffer->buffer(), offset, kCount * 4, {kCount}, DType::f32);
    };
    const auto from = wrap(4), to = wrap(4 + kCount * 4);
    if (!from || !to || !from->upload(HostTensor(x, {kCount}))) return false;
    CallOptions options = by(factor);
    options.outputs = {Output("y", *to)};
    options.staging = true;
    return right(scale.call({{"x", *from}}, options), factor) &&
           *to->download<float>() == times(x, factor) && *from->download<float>() == x;
  }
  bool callback(float factor) const {
    auto heard = std::make_shared<std::atomic<int>>(0);
    auto future = scale.start({{"x", shared}}, by(factor));
    if (!future) return false;
    future->then([heard, x = x, factor](Result<CallResult> result) {
      *heard = result && *result->at("y").download<float>() == times(x, factor) ? 1 : -1;
    });
    while (*heard == 0) {  // whoever polls runs it
      runtime.poll();
      std::this_thread::yield();
    }
    return *heard == 1;
  }
  bool look() const {
    static_cast<void>(runtime.stats());
    static_cast<void>(runtime.caps());
    const auto why = scale.explain({{"x", shared}}, by(1));
    return why.selected.has_value() && !runtime.lost() && scale.memory({{"x", shared}}, by(1));
  }
  bool step(int t, int i) const {
    const auto factor = static_cast<float>((t * 37 + i) % 50);
    switch ((t + i) % 12) {
      case 10: return prewarmed(i, factor);
      case 11: return staged(factor);
      case 0: return device_call(factor);
      case 1: return i % 3 == 0 ? split_call() : kept_call(factor);
      case 2: return prepared_call(factor);
      case 3: return future_call(factor, true);
      case 4: return transfers(factor);
      case 5: return future_call(factor, false);
      case 6: return look();
      case 7:
        if (i % 50 == 0) static_cast<void>(runtime.trim());
        return device_call(factor);
      case 8: return i % 3 == 0 ? callback(factor) : host_call(factor);
      default: return host_call(factor);
    }
  }
};

class Threads : public testing::RuntimeTest {};

TEST_F(Threads, EightMakeFiveHundredMixedCallsEach) {
  const Runtime& runtime = shared_runtime();
  const Kernel scale = *runtime.load(scale_package());
  const Kernel accumulate = *runtime.load(testing::accumulate_package(true));
  const Kernel kept = *runtime.load(testing::kept_package());
  const Tensor shared = *runtime.upload(HostTensor(numbers(kCount), {kCount}));
  std::vector<Kernel> kernels;
  for (int i = 0; i < 20; ++i)
    kernels.push_back(*runtime.load(scale_package(std::format("// number {}\n", i))));
  std::atomic<int> wrong = 0, done = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      const Worker worker{runtime, scale, accumulate, kept, shared, kernels};
      for (int i = 0; i < 500; ++i) {
        if (!worker.step(t, i)) ++wrong;
        ++done;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(done, 4000);
  EXPECT_EQ(wrong, 0);
  EXPECT_FALSE(runtime.lost());
}

// One thread polls while the owner of a submission asks and waits.
TEST_F(Threads, APollerAndAnOwnerShareASubmission) {
  const Runtime& runtime = shared_runtime();
  const Kernel scale = *runtime.load(scale_package());
  const Prepared prepared =
      *scale.prepare({.inputs = {{.name = "x", .shape = {kCount}}}, .args = {{"factor", 2}}});
  const Bound bound = *prepared.bind({{"x", *runtime.upload(HostTensor(numbers(kCount), {kCount}))},
                                      prepared.make_outputs()->at(0)});
  std::atomic<int> told = 0, wrong = 0;
  std::atomic<bool> over = false;
  std::thread poller([&] {
    while (!over) {  // with a pause, or nobody else gets the locks on a busy machine
      runtime.poll();
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  });
  constexpr int kRuns = 200;
  for (int i = 0; i < kRuns; ++i) {
    auto submission = *bound.run();
    submission.then([&](const Status& status) {
      if (!status) ++wrong;
      ++told;
    });
    if (i % 3 == 0) {
      while (!*submission.ready()) std::this_thread::yield();
    }
    if (i % 3 != 2 && !submission.wait()) ++wrong;
  }
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (told < kRuns && std::chrono::steady_clock::now() < end) std::this_thread::yield();
  over = true;
  poller.join();
  EXPECT_EQ(told, kRuns);
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace wgk
