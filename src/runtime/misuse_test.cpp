// SPDX-License-Identifier: Apache-2.0
// What a careless host program does: odd orders, calls from callbacks, ranges that do not fit. An
// error comes back or it works; nothing crashes, leaks or waits for itself.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <format>
#include <functional>
#include <future>
#include <limits>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gpu/count_support.h"
#include "gpu/null_host_support.h"
#include "runtime/access.h"
#include "runtime/test_support.h"

namespace wgk {
namespace {

using gpu::testing::Live;
using gpu::testing::NullHost;
using testing::numbers;
using testing::scale_package;
using testing::times;

class Misuse : public testing::RuntimeTest {
 protected:
  static Runtime make(const RuntimeOptions& options = {}) {
    auto runtime = create_with(options, gpu::testing::counting_procs());
    if (runtime) return *runtime;
    ADD_FAILURE() << runtime.error().to_string();
    std::abort();
  }
  static Result<Runtime> adopt(const NullHost& host) {
    AdoptOptions options;
    options.device = host.device;
    options.timed_wait = true;
    return adopt_with(options, gpu::testing::counting_procs());
  }
  static CallOptions by(double factor) { return {.args = {{"factor", factor}}, .read_back = true}; }
  Inputs inputs() const { return {{"x", HostTensor(x, {100})}}; }
  static Signature signature() {
    return {.inputs = {{.name = "x", .shape = {100}}}, .args = {{"factor", 2}}};
  }
  static std::string code(const auto& result) {
    return result ? std::string() : result.error().code;
  }
  std::vector<float> x = numbers(100);
};

// Polls until `done`, or gives up.
template <class Done>
void poll_until(const Runtime& runtime, const Done& done) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!done() && std::chrono::steady_clock::now() < end) runtime.poll();
  EXPECT_TRUE(done());
}

TEST_F(Misuse, ACallbackMayDropTheRuntime) {
  const Live before;
  int told = 0;
  {
    std::optional<Runtime> runtime = make();
    const auto count = [&](const Result<CallResult>& result) {
      ++told;
      EXPECT_TRUE(result || result.error().code == "usage/cancelled");
      runtime.reset();  // the last handle: whoever is behind this one is told too
    };
    {
      const Kernel kernel = *runtime->load(scale_package());
      ASSERT_TRUE(kernel.call(inputs(), by(2)));
      for (int i = 0; i < 3; ++i) (*kernel.start(inputs(), by(2))).then(count);
      ASSERT_TRUE(kernel.call(inputs(), by(2)));  // all three are done
      const Kernel fresh = *runtime->load(scale_package("// compiles for a while\n"));
      (*fresh.start_prepare(signature())).then([&](const Result<Prepared>&) { ++told; });
    }
    const Runtime* const polled = &*runtime;
    polled->poll();
    EXPECT_FALSE(runtime.has_value());
  }
  EXPECT_EQ(told, 4);
  EXPECT_EQ(Live(), before);
}

TEST_F(Misuse, CallbacksMayDoAnything) {
  const Live before;
  {
    const Runtime runtime = make();
    const Kernel kernel = *runtime.load(scale_package());
    int inner = 0, outer = 0;
    (*kernel.start(inputs(), by(2))).then([&](const Result<CallResult>& result) {
      EXPECT_TRUE(result);
      ++outer;
      runtime.poll();
      EXPECT_TRUE(runtime.wait_idle());
      EXPECT_TRUE(kernel.call(inputs(), by(3)));
      (*kernel.start(inputs(), by(4))).then([&](const Result<CallResult>& next) {
        EXPECT_TRUE(next);
        ++inner;
        EXPECT_TRUE(runtime.rebuild());
      });
      runtime.trim();
    });
    poll_until(runtime, [&] { return inner == 1; });
    EXPECT_EQ(outer, 1);
    EXPECT_TRUE(kernel.call(inputs(), by(2))) << "on the new device";
    // A callback that is none.
    auto future = *kernel.start(inputs(), by(2));
    future.then(nullptr);
    auto submission = *(*(*kernel.prepare(signature()))
                             .bind({{"x", *runtime.upload(HostTensor(x, {100}))},
                                    {"y", *runtime.empty(DType::f32, {100})}}))
                           .run();
    submission.then(nullptr);
    EXPECT_TRUE(runtime.wait_idle());
    runtime.poll();
  }
  EXPECT_EQ(Live(), before);
}

TEST_F(Misuse, HandlesGoInAnyOrder) {
  const Live before;
  for (int order = 0; order < 6; ++order) {
    std::optional<Runtime> runtime = make();
    std::optional<Kernel> kernel = *runtime->load(scale_package());
    std::optional<Tensor> input = *runtime->upload(HostTensor(x, {100}));
    std::optional<Prepared> prepared = *kernel->prepare(signature());
    std::optional<Bound> bound = *prepared->bind({{"x", *input}, prepared->make_outputs()->at(0)});
    std::optional<Submission> submission = *bound->run();
    std::optional<Future<CallResult>> future = *kernel->start(inputs(), by(2));
    std::vector<std::function<void()>> steps = {
        [&] { runtime.reset(); },  [&] { kernel.reset(); }, [&] { input.reset(); },
        [&] { prepared.reset(); }, [&] { bound.reset(); },  [&] { submission.reset(); }};
    for (std::size_t i = 0; i < steps.size(); ++i)
      steps[(i * 5 + static_cast<std::size_t>(order)) % steps.size()]();
    auto result = future->wait();  // what is left keeps what it needs
    ASSERT_TRUE(result) << result.error().to_string();
    EXPECT_EQ(*result->at("y").download<float>(), times(x, 2));
  }
  EXPECT_EQ(Live(), before);
}

TEST_F(Misuse, ARebuildMeetsWhatIsOnItsWay) {
  const Live before;
  {
    const Runtime runtime = make();
    const Kernel kernel = *runtime.load(scale_package());
    const Prepared prepared = *kernel.prepare(signature());
    const Tensor input = *runtime.upload(HostTensor(x, {100}), {.keep_host_copy = true});
    Bound bound = *prepared.bind({{"x", input}, prepared.make_outputs()->at(0)});
    auto call = *kernel.start(inputs(), by(2));
    auto fresh =
        *runtime.load(scale_package("// another text\n")).and_then([&](const Kernel& other) {
          return other.start_prepare(signature());
        });
    auto submission = *bound.run();
    int told = 0;
    (*kernel.start(inputs(), by(2))).then([&](const Result<CallResult>&) { ++told; });
    ASSERT_TRUE(runtime.rebuild());
    // Each ends, with its result or with the loss.
    for (const std::string& end : {code(call.wait()), code(fresh.wait()), code(submission.wait())})
      EXPECT_TRUE(end.empty() || end == "device/lost") << end;
    poll_until(runtime, [&] { return told == 1; });
    EXPECT_EQ(code(bound.submit()), "device/lost");
    EXPECT_EQ(code(bound.run_and_read()), "device/lost");
    EXPECT_EQ(code(bound.update({{"factor", 3}})), "device/lost");
    EXPECT_EQ(code(prepared.make_output("y")), "device/lost");
    EXPECT_TRUE(kernel.call({{"x", input}}, by(2))) << "it has a host copy";
  }
  EXPECT_EQ(Live(), before);
}

TEST_F(Misuse, RuntimesOnOneDeviceDoNotMix) {
  NullHost host;
  const Live before;
  {
    const Runtime one = *adopt(host);
    std::optional<Runtime> two = *adopt(host);
    const Kernel kernel = *one.load(scale_package());
    const Tensor foreign = *two->upload(HostTensor(x, {100}));
    EXPECT_EQ(code(kernel.call({{"x", foreign}}, by(2))), "usage/foreign");
    const Prepared prepared = *kernel.prepare(signature());
    EXPECT_EQ(code(prepared.bind({{"x", foreign}, {"y", foreign}})), "usage/foreign");
    const std::vector<Prewarm> calls = {{kernel, signature()}};
    EXPECT_EQ(code(two->prewarm(calls)), "usage/foreign");
    // The same buffer in both is the caller's business.
    const Tensor own = *one.empty(DType::f32, {100});
    const Tensor seen = *Tensor::wrap(*two, own.buffer(), 0, 400, {100}, DType::f32);
    EXPECT_TRUE(seen.upload(HostTensor(x, {100})));
    two.reset();
    EXPECT_TRUE(kernel.call({{"x", own}}, by(2)));
    EXPECT_FALSE(one.lost());
  }
  EXPECT_EQ(Live(), before);
  EXPECT_EQ(host.uncaptured, 0);
}

TEST_F(Misuse, RangesThatDoNotFit) {
  const Runtime runtime = make();
  const Tensor base = *runtime.empty(DType::f32, {64});
  constexpr auto kMost = std::numeric_limits<std::uint64_t>::max();
  const auto wrap = [&](std::uint64_t offset, std::uint64_t size, Shape shape,
                        DType dtype = DType::f32) {
    return code(Tensor::wrap(runtime, base.buffer(), offset, size, std::move(shape), dtype));
  };
  EXPECT_EQ(wrap(0, 256, {64}), "");
  EXPECT_EQ(wrap(252, 4, {1}), "");
  EXPECT_EQ(wrap(0, 256, {0}), "");
  EXPECT_EQ(wrap(0, 255, {64}), "usage/range");
  EXPECT_EQ(wrap(4, 256, {64}), "usage/range");
  EXPECT_EQ(wrap(256, 4, {1}), "usage/range");
  EXPECT_EQ(wrap(256, 0, {0}), "usage/range") << "kernels own whole words";
  EXPECT_EQ(wrap(kMost, 4, {1}), "usage/range");
  EXPECT_EQ(wrap(4, kMost, {1}), "usage/range");
  EXPECT_EQ(wrap(kMost - 3, 4, {1}), "usage/range");
  EXPECT_EQ(wrap(254, 2, {1}, DType::f16), "usage/range") << "half a word at the end";
  EXPECT_NE(wrap(0, 256, {-1}), "");
  EXPECT_NE(wrap(0, 256, {std::int64_t{1} << 62, 4}), "");
  EXPECT_NE(wrap(0, 256, {std::numeric_limits<std::int64_t>::min()}), "");
  EXPECT_NE(code(Tensor::wrap(runtime, nullptr, 0, 4, {1}, DType::f32)), "");

  constexpr std::int64_t kFar = std::numeric_limits<std::int64_t>::max();
  for (const auto& [first, count] : std::vector<std::pair<std::int64_t, std::int64_t>>{
           {kFar, kFar}, {-1, 2}, {0, 65}, {64, 1}, {1, kFar}, {-kFar, kFar}, {0, -1}})
    EXPECT_EQ(code(base.download(first, count)), "usage/range") << first << ", " << count;
  EXPECT_TRUE(base.download(64, 0));
  EXPECT_EQ(code(base.upload(HostTensor(numbers(2), {2}), kFar)), "usage/range");
  EXPECT_EQ(code(base.upload(HostTensor(numbers(2), {2}), -1)), "usage/range");
  EXPECT_NE(code(base.upload(HostTensor(numbers(2), {3}))), "") << "fewer bytes than elements";
  EXPECT_NE(code(runtime.upload(HostTensor(numbers(2), {3}))), "");
  EXPECT_NE(code(runtime.upload(HostTensor(numbers(2), {-2}))), "");
  EXPECT_NE(code(runtime.empty(DType::f32, {std::int64_t{1} << 40})), "");
  EXPECT_NE(code(base.reshaped({kFar, kFar})), "");

  const Kernel kernel = *runtime.load(scale_package());
  CallOptions guarded = by(2);
  guarded.guard_bytes = std::numeric_limits<std::uint32_t>::max() - 255;
  // Devices differ in what they allow; the cap does not.
  const Runtime small = make({{.memory = {.cap = std::uint64_t{1} << 30}}});
  EXPECT_TRUE(code(small.load(scale_package())->call(inputs(), guarded)).starts_with("limit/"));
  guarded.guard_bytes = 12;
  EXPECT_EQ(code(kernel.call(inputs(), guarded)), "usage/alignment");
  EXPECT_TRUE(kernel.call(inputs(), by(2)));
}

TEST_F(Misuse, BuffersThatCannotBeUsed) {
  const Runtime runtime = make(), other = make();
  const Kernel kernel = *runtime.load(scale_package());
  const Prepared prepared = *kernel.prepare(signature());
  const auto output = prepared.make_outputs()->at(0);
  const auto buffer = [](const Runtime& on, WGPUBufferUsage usage, bool mapped = false) {
    WGPUBufferDescriptor descriptor = WGPU_BUFFER_DESCRIPTOR_INIT;
    descriptor.size = 400;
    descriptor.usage = usage;
    descriptor.mappedAtCreation = mapped ? WGPU_TRUE : WGPU_FALSE;
    return wgpuDeviceCreateBuffer(on.device(), &descriptor);
  };
  constexpr WGPUBufferUsage kUsage =
      WGPUBufferUsage_Storage | WGPUBufferUsage_CopySrc | WGPUBufferUsage_CopyDst;
  const auto run = [&](WGPUBuffer with, bool destroy) {
    const auto tensor = Tensor::wrap(runtime, with, 0, 400, {100}, DType::f32);
    EXPECT_TRUE(tensor);
    const auto bound = prepared.bind({{"x", *tensor}, output});
    if (destroy) wgpuBufferDestroy(with);
    const std::string end = !bound ? code(bound) : code(bound->run_and_read());
    wgpuBufferRelease(with);
    return end;
  };
  EXPECT_EQ(run(buffer(runtime, kUsage), false), "");
  EXPECT_EQ(run(buffer(runtime, kUsage), true), "device/validation") << "destroyed";
  EXPECT_EQ(run(buffer(runtime, kUsage, true), false), "device/validation") << "mapped";
  EXPECT_EQ(run(buffer(other, kUsage), false), "device/validation") << "of another device";
  EXPECT_EQ(run(buffer(runtime, WGPUBufferUsage_CopyDst), false), "usage/buffer-usage");
  EXPECT_TRUE(kernel.call(inputs(), by(2)));
  EXPECT_FALSE(runtime.lost());
  EXPECT_FALSE(other.lost());
}

TEST_F(Misuse, EmptyHandlesAndLists) {
  const Runtime runtime = make();
  EXPECT_TRUE(runtime.prewarm({})->wait());
  EXPECT_TRUE(runtime.make_arena({}));
  EXPECT_EQ(memory(std::span<const Bound>()).total(), 0);
  EXPECT_EQ(memory(std::span<const Prepared>()).total(), 0);
  EXPECT_NE(code(Kernel().call({})), "");
  EXPECT_NE(code(Kernel().start({})), "");
  EXPECT_NE(code(Kernel().prepare({})), "");
  EXPECT_NE(code(Kernel().plan(Signature())), "");
  EXPECT_NE(code(Kernel().plan(Inputs())), "");
  EXPECT_NE(code(Kernel().memory(Signature())), "");
  EXPECT_NE(code(Kernel().memory(Inputs())), "");
  EXPECT_TRUE(Kernel().explain(Signature()).error);
  EXPECT_TRUE(Kernel().explain(Inputs()).error);
  EXPECT_NE(code(Prepared().bind({})), "");
  EXPECT_NE(code(Prepared().make_outputs()), "");
  Bound bound;
  EXPECT_NE(code(bound.submit()), "");
  EXPECT_NE(code(bound.run()), "");
  EXPECT_NE(code(bound.run_and_read()), "");
  EXPECT_NE(code(bound.update({})), "");
  EXPECT_NE(code(bound.record(WGPUComputePassEncoder())), "");
  EXPECT_NE(code(bound.record(WGPUCommandEncoder())), "");
  EXPECT_TRUE(Submission().wait());
  EXPECT_TRUE(*Submission().ready());
  EXPECT_NE(code(Tensor().download()), "");
  EXPECT_NE(code(Tensor().upload({})), "");
  EXPECT_NE(code(Tensor().reshaped({1})), "");
  EXPECT_EQ(code(Future<CallResult>().wait()), "usage/future");
  const std::vector<Prewarm> empty = {{Kernel(), {}}};
  EXPECT_NE(code(runtime.prewarm(empty)), "");
  const Kernel kernel = *runtime.load(scale_package());
  const Prepared prepared = *kernel.prepare(signature());
  EXPECT_NE(code(prepared.bind({{"x", Tensor()}, {"y", Tensor()}})), "");
  EXPECT_NE(code(kernel.call({{"x", Tensor()}}, by(2))), "");
  bound = *prepared.bind(
      {{"x", *runtime.upload(HostTensor(x, {100}))}, prepared.make_outputs()->at(0)});
  EXPECT_NE(code(bound.record(WGPUComputePassEncoder())), "") << "no pass";
  EXPECT_NE(code(bound.record(WGPUCommandEncoder())), "") << "no encoder";
}

TEST_F(Misuse, OptionsThatMakeNoSense) {
  for (const auto timeout : {std::chrono::seconds(0), std::chrono::seconds(-5)})
    EXPECT_EQ(code(Runtime::create({{.timeout = timeout}})), "usage/range");
  const Runtime poor = make({{.memory = {.cap = 0}}});
  const Kernel kernel = *poor.load(scale_package());
  EXPECT_EQ(code(kernel.call(inputs(), by(2))), "limit/memory");
  EXPECT_EQ(code(poor.empty(DType::f32, {1})), "limit/memory");
  EXPECT_EQ(poor.stats().peak_bytes, 0);
  const std::uint64_t cap = kernel.memory(inputs(), by(2))->total();
  const Runtime odd = make({{.memory = {.cap = cap, .pool = std::uint64_t{1} << 40}}});
  const Kernel other = *odd.load(scale_package());
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(other.call(inputs(), by(i)));
  EXPECT_EQ(odd.stats().peak_bytes, cap);
}

TEST_F(Misuse, ALostDeviceIsNotAdopted) {
  NullHost host, next;
  const Live before;
  {
    const Runtime runtime = *adopt(host);
    const Kernel kernel = *runtime.load(scale_package());
    wgpuDeviceDestroy(host.device);
    EXPECT_TRUE(runtime.lost());
    EXPECT_EQ(code(adopt(host)), "device/lost");
    EXPECT_EQ(code(runtime.rebuild(host.device)), "device/lost") << "it is the same one";
    EXPECT_EQ(code(runtime.rebuild()), "usage/device");
    EXPECT_TRUE(runtime.rebuild(next.device));
    EXPECT_TRUE(kernel.call(inputs(), by(2)));
  }
  EXPECT_EQ(Live(), before);
}

// A sink that uses the runtime it hears of.
TEST_F(Misuse, ALogSinkMayCall) {
  std::optional<Runtime> runtime;
  int heard = 0;
  RuntimeOptions options;
  options.log = [&](LogLevel, std::string_view) {
    ++heard;
    if (!runtime) return;
    const Kernel kernel = *runtime->load(scale_package("// " + std::to_string(heard) + "\n"));
    EXPECT_TRUE(kernel.call({{"x", HostTensor(x, {100})}}, by(2)));
  };
  runtime = make(options);
  const Kernel kernel = *runtime->load(scale_package());
  EXPECT_TRUE(kernel.call(inputs(), by(2)));
  EXPECT_GT(heard, 1) << "the device and a pipeline";
}

// Dawn tells of unreachable code while it makes the module.
TEST_F(Misuse, ALogSinkMayCallWhereTheLibraryWarns) {
  std::optional<Runtime> runtime;
  std::vector<std::string> heard;
  RuntimeOptions options;
  options.log = [&](LogLevel, std::string_view message) {
    heard.emplace_back(message);
    if (!runtime) return;
    const Kernel kernel =
        *runtime->load(scale_package("// " + std::to_string(heard.size()) + "\n"));
    EXPECT_TRUE(kernel.call({{"x", HostTensor(x, {100})}}, by(2)));
  };
  runtime = make(options);
  const std::string unreachable = "fn nothing() { return; let unused = 1u; }\n";
  EXPECT_TRUE(runtime->load(scale_package(unreachable))->call(inputs(), by(2)));
  EXPECT_TRUE(std::ranges::any_of(
      heard, [](const std::string& message) { return message.contains("unreachable"); }));
}

// No lock is held around a sink: one that waits for a thread that logs would wait for ever.
TEST_F(Misuse, ALogSinkMayWaitForAThreadThatLogs) {
  std::vector<std::string> heard;
  std::optional<Runtime> runtime;
  std::future<bool> other;
  RuntimeOptions options;
  options.log = [&](LogLevel, std::string_view message) {
    heard.emplace_back(message);
    if (!runtime || other.valid()) return;
    other = std::async(std::launch::async, [&] {
      const Kernel kernel = *runtime->load(scale_package("// of another thread\n"));
      return kernel.call(inputs(), by(2)).has_value();
    });
    EXPECT_EQ(other.wait_for(std::chrono::seconds(20)), std::future_status::ready);
  };
  runtime = make(options);
  const std::size_t before = heard.size();
  EXPECT_TRUE(runtime->load(scale_package())->call(inputs(), by(2)));
  EXPECT_TRUE(other.get());
  EXPECT_GE(heard.size(), before + 2) << "the other thread's pipeline is not forgotten";
}

// Eight threads, each in its turn inside the sink, which calls the runtime.
TEST_F(Misuse, LogSinksOfManyThreadsMayCall) {
  std::optional<Runtime> runtime;
  std::atomic<int> inside = 0, heard = 0, wrong = 0;
  RuntimeOptions options;
  options.log = [&](LogLevel, std::string_view) {
    if (++inside != 1) ++wrong;
    const int number = ++heard;
    if (runtime) {
      for (const std::string& text : {std::format("// sink {}\n", number), std::string("// all\n")})
        if (!runtime->load(scale_package(text))->call(inputs(), by(2))) ++wrong;
    }
    --inside;
  };
  runtime = make(options);
  const Kernel first = *runtime->load(scale_package("// all\n"));
  EXPECT_TRUE(first.call(inputs(), by(2))) << "the sink asks for what the message is about";
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 8; ++t) {
      threads.emplace_back([&, t] {
        for (int i = 0; i < 4; ++i) {
          const Kernel kernel =
              *runtime->load(scale_package(std::format("// thread {}, {}\n", t, i)));
          if (!kernel.call(inputs(), by(2))) ++wrong;
        }
      });
    }
  }
  EXPECT_EQ(wrong, 0);
  EXPECT_GE(heard, 33) << "every pipeline, and the device";
}

}  // namespace
}  // namespace wgk
