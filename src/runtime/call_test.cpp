// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "runtime/test_support.h"

namespace wgk {
namespace {

using testing::contains;
using testing::numbers;
using testing::scale_package;
using testing::shared_runtime;
using testing::times;

class Calls : public testing::RuntimeTest {
 protected:
  const Runtime& runtime = shared_runtime();
  Kernel scale = *runtime.load(scale_package());
  std::vector<float> x = numbers(100);
  CallOptions by(double factor) const { return {.args = {{"factor", factor}}}; }
};

TEST_F(Calls, TakesHostDataAndGivesTensors) {
  auto result = scale.call({{"x", HostTensor(x, {100})}}, by(2));
  ASSERT_TRUE(result) << result.error().to_string();
  const Tensor& y = result->at("y");
  EXPECT_EQ(y.shape(), Shape({100}));
  EXPECT_EQ(y.dtype(), DType::f32);
  EXPECT_NE(y.buffer(), nullptr);
  EXPECT_EQ(*y.download<float>(), times(x, 2));
  EXPECT_EQ(*result->at("Y").download<float>(), times(x, 2)) << "upstream names work too";
  EXPECT_FALSE(result->at("z"));
  EXPECT_EQ(result->at("z").download().error().code, "usage/range");
  EXPECT_EQ(result->plan().variant, "fast");
}

TEST_F(Calls, ReadsBackInTheSameSubmission) {
  auto options = by(-1);
  options.read_back = true;
  ASSERT_TRUE(scale.call({{"X", HostTensor(x, {100})}}, options));
  const auto before = runtime.stats();
  auto result = scale.call({{"X", HostTensor(x, {100})}}, options);
  ASSERT_TRUE(result) << result.error().to_string();
  const auto after = runtime.stats();
  EXPECT_EQ(after.submits - before.submits, 1);
  EXPECT_EQ(after.waits - before.waits, 1);
  EXPECT_EQ(result->at("y").buffer(), nullptr);
  EXPECT_EQ(*result->at("y").download<float>(), times(x, -1));
  EXPECT_EQ(runtime.stats().submits, after.submits) << "the result is on the host already";
}

TEST_F(Calls, ChainsTensorsWithoutWaiting) {
  const auto before = runtime.stats();
  Tensor value = scale.call({{"x", HostTensor(x, {100})}}, by(2))->at("y");
  // Each intermediate is dropped at once.
  for (int i = 0; i < 5; ++i) value = scale.call({{"x", value}}, by(2))->at("y");
  EXPECT_EQ(runtime.stats().waits, before.waits);
  EXPECT_EQ(*value.download<float>(), times(x, 64));
}

TEST_F(Calls, TakesDestinationsAndReadBackResults) {
  const Tensor y = *runtime.empty(DType::f32, {100});
  auto options = by(3);
  options.outputs = {Output("y", y)};
  auto result = scale.call({{"x", HostTensor(x, {100})}}, options);
  ASSERT_TRUE(result) << result.error().to_string();
  EXPECT_EQ(*y.download<float>(), times(x, 3));
  EXPECT_EQ(result->at("y").buffer(), y.buffer());
  options.outputs.clear();
  options.read_back = true;
  const Tensor host = scale.call({{"x", y}}, options)->at("y");
  EXPECT_EQ(*scale.call({{"x", host}}, options)->at("y").download<float>(), times(x, 27));
}

TEST_F(Calls, SaysWhatIsWrong) {
  const auto code = [&](const Inputs& inputs, const CallOptions& options) {
    auto result = scale.call(inputs, options);
    return result ? std::string("fine") : result.error().code;
  };
  EXPECT_EQ(code({{"x", HostTensor(x, {100})}}, by(1)), "fine");
  EXPECT_EQ(code({{"q", HostTensor(x, {100})}}, by(1)), "request/unknown");
  EXPECT_EQ(code({{"x", HostTensor(x, {99})}}, by(1)), "request/length");
  EXPECT_EQ(code({{"x", HostTensor(x, {100})}}, {}), "request/missing");
  EXPECT_EQ(code({{"x", Tensor()}}, by(1)), "usage/range");
  auto forced = by(1);
  forced.variant = "none";
  EXPECT_EQ(code({{"x", HostTensor(x, {100})}}, forced), "request/variant");
  EXPECT_TRUE(contains(scale.call({{"q", HostTensor(x, {100})}}, by(1)).error().to_string(),
                       "while calling test.Scale"));
}

TEST_F(Calls, IdenticalCallsMakeNothingNew) {
  const Tensor on_device = *runtime.upload(HostTensor(x, {100}));
  auto read = by(5);
  read.read_back = true;
  std::optional<RuntimeStats> settled;
  for (int i = 0; i < 200; ++i) {
    ASSERT_TRUE(scale.call({{"x", HostTensor(x, {100})}}, read));
    ASSERT_TRUE(scale.call({{"x", on_device}}, by(5)));
    const Tensor y = scale.call({{"x", on_device}}, read)->at("y");
    if (i == 2) settled = runtime.stats();
  }
  const auto after = runtime.stats();
  EXPECT_EQ(after.buffers_made, settled->buffers_made);
  EXPECT_EQ(after.bind_groups_made, settled->bind_groups_made);
  EXPECT_EQ(after.pipelines_built, settled->pipelines_built);
  EXPECT_EQ(after.plans_made, settled->plans_made);
  EXPECT_EQ(after.live_bytes, settled->live_bytes);
  EXPECT_EQ(after.pooled_bytes, settled->pooled_bytes);
}

TEST_F(Calls, NeverShowsOldContents) {
  auto options = by(1);
  options.args.emplace_back("gap", 10);  // leaves the last 10 elements unwritten
  const auto call = [&] { return *scale.call({{"x", HostTensor(x, {100})}}, options); };
  Tensor first = call().at("y");
  ASSERT_TRUE(first.upload(HostTensor(times(x, 100), {100})));
  void* buffer = first.buffer();
  first = {};
  const Tensor second = call().at("y");
  EXPECT_EQ(second.buffer(), buffer) << "the test is about reuse";
  auto expected = x;
  std::fill(expected.end() - 10, expected.end(), 0.0F);
  EXPECT_EQ(*second.download<float>(), expected);
  options.poison_outputs = true;
  auto poisoned = scale.call({{"x", HostTensor(x, {100})}}, options)->at("y").download<float>();
  EXPECT_TRUE(std::isnan((*poisoned)[99])) << "what is not written shows";
  EXPECT_EQ((*poisoned)[89], x[89]);
}

// Input and output of one buffer, neither of which can be bound; and the same tensor as both.
TEST_F(Calls, StagesSeveralTensorsOfOneBuffer) {
  const std::vector<float> values = numbers(202);
  const Tensor buffer = *runtime.upload(HostTensor(values, {202}));
  const auto wrap = [&](std::uint64_t offset, std::int64_t size) {
    return *Tensor::wrap(runtime, buffer.buffer(), offset, static_cast<std::uint64_t>(size) * 4,
                         {size}, DType::f32);
  };
  const Tensor y = wrap(404, 100);
  auto result = scale.call({{"x", wrap(4, 100)}},
                           {.args = {{"factor", 2}}, .outputs = {Output("y", y)}, .staging = true});
  ASSERT_TRUE(result) << result.error().to_string();
  std::vector<float> expected = values;
  for (std::size_t i = 0; i < 100; ++i) expected[101 + i] = values[1 + i] * 2;
  EXPECT_EQ(*buffer.download<float>(), expected);

  const Kernel accumulate = *runtime.load(testing::accumulate_package(false));
  const Tensor sum = wrap(12, 8);
  result = accumulate.call({{"x", HostTensor(numbers(8), {8})}, {"y", sum}}, {.staging = true});
  ASSERT_TRUE(result) << result.error().to_string();
  for (std::size_t i = 0; i < 8; ++i) expected[3 + i] += numbers(8)[i];
  EXPECT_EQ(*buffer.download<float>(), expected);
}

TEST_F(Calls, GuardBandsStayIntact) {
  auto options = by(2);
  options.guard_bytes = 256;
  options.read_back = true;
  auto result = scale.call({{"x", HostTensor(x, {100})}}, options);
  ASSERT_TRUE(result) << result.error().to_string();
  EXPECT_EQ(*result->at("y").download<float>(), times(x, 2));
  options.guard_bytes = 100;
  EXPECT_EQ(scale.call({{"x", HostTensor(x, {100})}}, options).error().code, "usage/alignment");
}

TEST_F(Calls, StartsWithoutWaitingAndIsAwaitedPolledOrCalledBack) {
  auto options = by(2);
  options.read_back = true;
  options.tunables = {{"WIDTH", 1}};  // pipelines that nobody has compiled yet
  std::vector<float> data = x;
  auto awaited = scale.start({{"x", HostTensor(data, {100})}}, options);
  ASSERT_TRUE(awaited) << awaited.error().to_string();
  std::fill(data.begin(), data.end(), 0.0F);  // the host data may go away
  EXPECT_EQ(*awaited->wait()->at("y").download<float>(), times(x, 2));
  EXPECT_EQ(awaited->wait().error().code, "usage/future");

  auto polled = *scale.start({{"x", HostTensor(x, {100})}}, options);
  while (!*polled.ready()) {
  }
  EXPECT_EQ(*polled.wait()->at("y").download<float>(), times(x, 2));

  std::optional<std::vector<float>> seen;
  auto called = *scale.start({{"x", HostTensor(x, {100})}}, options);
  called.then([&](Result<CallResult> result) { seen = *result->at("y").download<float>(); });
  EXPECT_FALSE(seen);
  while (!seen) runtime.poll();
  EXPECT_EQ(*seen, times(x, 2));

  auto cancelled = *scale.start({{"x", HostTensor(x, {100})}}, options);
  cancelled.cancel();
  EXPECT_FALSE(cancelled);
  EXPECT_EQ(cancelled.wait().error().code, "usage/future");
}

TEST_F(Calls, InPlaceTensorsAreWrittenWhereTheyAre) {
  Kernel accumulate = *runtime.load(testing::accumulate_package(false));
  const Tensor y = *runtime.upload(HostTensor(times(numbers(8), 10), {8}));
  for (int i = 1; i <= 3; ++i) {
    auto result = accumulate.call({{"x", HostTensor(numbers(8), {8})}, {"y", y}});
    ASSERT_TRUE(result) << result.error().to_string();
    EXPECT_EQ(*y.download<float>(), times(numbers(8), 10.0F + static_cast<float>(i)));
    EXPECT_EQ(result->at("y").buffer(), y.buffer());
  }
}

TEST_F(Calls, ExplainsVariantsAndStaging) {
  auto explanation = scale.explain({{"x", HostTensor(x, {100})}}, by(1));
  ASSERT_EQ(explanation.decisions.size(), 2);
  EXPECT_EQ(*explanation.selected, "fast");
  const Tensor big = *runtime.empty(DType::f32, {200});
  auto shifted = Tensor::wrap(runtime, big.buffer(), 4, 400, {100}, DType::f32);
  ASSERT_TRUE(shifted) << shifted.error().to_string();
  EXPECT_EQ(scale.call({{"x", *shifted}}, by(1)).error().code, "usage/alignment");
  auto staging = by(1);
  staging.staging = true;
  EXPECT_TRUE(scale.call({{"x", *shifted}}, staging));
  const auto last_note = [&](const CallOptions& options) {
    const auto notes = scale.explain({{"x", *shifted}}, options).notes;
    return notes.empty() ? std::string("no notes") : notes.back();
  };
  EXPECT_TRUE(contains(last_note(by(1)), "cannot be bound"));
  EXPECT_TRUE(contains(last_note(staging), "goes through a copy"));
}

TEST_F(Calls, StagingResolvesAliasing) {
  const Tensor both = *runtime.upload(HostTensor(numbers(200), {200}));
  auto input = *Tensor::wrap(runtime, both.buffer(), 0, 400, {100}, DType::f32);
  auto output = *Tensor::wrap(runtime, both.buffer(), 400 / 16 * 16 + 16, 384, {96}, DType::f32);
  auto options = by(2);
  options.outputs = {Output("y", output)};
  input = *Tensor::wrap(runtime, both.buffer(), 0, 384, {96}, DType::f32);
  EXPECT_EQ(scale.call({{"x", input}}, options).error().code, "request/alias");
  options.staging = true;
  auto result = scale.call({{"x", input}}, options);
  ASSERT_TRUE(result) << result.error().to_string();
  auto expected = numbers(96);
  EXPECT_EQ(*output.download<float>(), times(expected, 2));
}

}  // namespace
}  // namespace wgk
