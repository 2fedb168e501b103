// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <format>
#include <string>
#include <vector>

#include "runtime/test_support.h"

namespace wgk {
namespace {

using testing::contains;
using testing::numbers;
using testing::scale_package;
using testing::shared_runtime;
using testing::times;

// What a caller does with its own device.
struct Encoder {
  WGPUDevice device;
  WGPUQueue queue;
  WGPUCommandEncoder encoder = wgpuDeviceCreateCommandEncoder(device, nullptr);
  WGPUComputePassEncoder begin() const {
    return wgpuCommandEncoderBeginComputePass(encoder, nullptr);
  }
  static void end(WGPUComputePassEncoder pass) {
    wgpuComputePassEncoderEnd(pass);
    wgpuComputePassEncoderRelease(pass);
  }
  void submit() const {
    WGPUCommandBuffer commands = wgpuCommandEncoderFinish(encoder, nullptr);
    wgpuQueueSubmit(queue, 1, &commands);
    wgpuCommandBufferRelease(commands);
    wgpuCommandEncoderRelease(encoder);
  }
};

class PreparedCalls : public testing::RuntimeTest {
 protected:
  const Runtime& runtime = shared_runtime();
  Kernel scale = *runtime.load(scale_package());
  std::vector<float> x = numbers(100);
  static Signature signature(double factor) {
    return {.inputs = {{.name = "x", .dtype = DType::f32, .shape = {100}}},
            .args = {{"factor", factor}}};
  }
};

TEST_F(PreparedCalls, RecordManyIntoOnePassOfTheCallers) {
  auto prepared = scale.prepare(signature(2));
  ASSERT_TRUE(prepared) << prepared.error().to_string();
  std::vector<Tensor> values = {*runtime.upload(HostTensor(x, {100}))};
  std::vector<Bound> chain;
  for (int i = 0; i < 10; ++i) {
    values.push_back(*runtime.empty(DType::f32, {100}));
    auto bound = prepared->bind({{"X", values[values.size() - 2]}, {"y", values.back()}});
    ASSERT_TRUE(bound) << bound.error().to_string();
    EXPECT_EQ(bound->needs(), Needs::kPass);
    chain.push_back(*bound);
  }
  const auto before = runtime.stats();
  const Encoder encoder{runtime.device(), runtime.queue()};
  WGPUComputePassEncoder pass = encoder.begin();
  for (const Bound& bound : chain) ASSERT_TRUE(bound.record(pass));
  Encoder::end(pass);
  encoder.submit();
  const auto after = runtime.stats();
  EXPECT_EQ(after.submits, before.submits);
  EXPECT_EQ(after.waits, before.waits);
  EXPECT_EQ(after.buffers_made, before.buffers_made);
  EXPECT_EQ(after.bind_groups_made, before.bind_groups_made);
  EXPECT_EQ(*values.back().download<float>(), times(x, 1024));
}

TEST_F(PreparedCalls, BuffersOfUnsubmittedCommandsAreNotReused) {
  auto prepared = *scale.prepare(signature(2));
  const Encoder encoder{runtime.device(), runtime.queue()};
  const Tensor y = *runtime.empty(DType::f32, {100});
  {
    const Tensor input = *runtime.upload(HostTensor(x, {100}));
    auto bound = *prepared.bind({{"x", input}, {"y", y}});
    WGPUComputePassEncoder pass = encoder.begin();
    ASSERT_TRUE(bound.record(pass));
    Encoder::end(pass);
  }
  // Everything is dropped; a new tensor of the same size must not get the old buffer.
  const Tensor other = *runtime.upload(HostTensor(times(x, 100), {100}));
  encoder.submit();
  EXPECT_EQ(*y.download<float>(), times(x, 2));
}

TEST_F(PreparedCalls, BindAgainNeedsNoNewPlanOrPipeline) {
  auto prepared = *scale.prepare(signature(7));
  const auto before = runtime.stats();
  for (int i = 0; i < 3; ++i) {
    const Tensor input = *runtime.upload(HostTensor(times(x, static_cast<float>(i)), {100}));
    auto outputs = *prepared.make_outputs();
    auto bound = *prepared.bind({{"x", input}, outputs[0]});
    auto submission = bound.run();
    ASSERT_TRUE(submission);
    ASSERT_TRUE(submission->wait());
    EXPECT_EQ(*outputs[0].second.download<float>(), times(x, static_cast<float>(7 * i)));
  }
  EXPECT_EQ(runtime.stats().plans_made, before.plans_made);
  EXPECT_EQ(runtime.stats().pipelines_built, before.pipelines_built);
}

TEST_F(PreparedCalls, RunsAreAwaitedPolledCalledBackOrCancelled) {
  auto prepared = *scale.prepare(signature(3));
  const Tensor input = *runtime.upload(HostTensor(x, {100}));
  auto bound = *prepared.bind({{"x", input}, prepared.make_outputs()->at(0)});
  const auto before = runtime.stats();
  auto awaited = *bound.run();
  auto polled = *bound.run();
  auto called = *bound.run();
  auto cancelled = *bound.run();
  auto unheard = *bound.run();
  EXPECT_EQ(runtime.stats().submits - before.submits, 5);
  EXPECT_EQ(runtime.stats().waits, before.waits) << "running waits for nothing";
  EXPECT_TRUE(awaited.wait());
  while (!*polled.ready()) {
  }
  std::vector<std::string> heard;
  const auto note = [&](const Status& status) {
    heard.push_back(status ? "done" : status.error().code);
  };
  called.then(note);
  unheard.then(note);
  unheard.cancel();
  while (heard.size() < 2) runtime.poll();
  std::ranges::sort(heard);
  EXPECT_EQ(heard, (std::vector<std::string>{"done", "usage/cancelled"}));
  cancelled.cancel();
  EXPECT_EQ(cancelled.wait().error().code, "usage/cancelled");
  EXPECT_EQ(cancelled.ready().error().code, "usage/cancelled");
}

TEST_F(PreparedCalls, RunAndReadIsOneSubmission) {
  auto prepared = *scale.prepare(signature(3));
  const Tensor input = *runtime.upload(HostTensor(x, {100}));
  auto bound = *prepared.bind({{"x", input}, prepared.make_outputs()->at(0)});
  ASSERT_TRUE(bound.run_and_read());
  const auto before = runtime.stats();
  for (int i = 0; i < 100; ++i) {
    auto result = bound.run_and_read();
    ASSERT_TRUE(result) << result.error().to_string();
    EXPECT_EQ(*result->at("Y").download<float>(), times(x, 3));
  }
  const auto after = runtime.stats();
  EXPECT_EQ(after.submits - before.submits, 100);
  EXPECT_EQ(after.waits - before.waits, 100);
  EXPECT_EQ(after.buffers_made, before.buffers_made);
}

TEST_F(PreparedCalls, UniformValuesChangeBetweenRecordings) {
  auto prepared = *scale.prepare(signature(2));
  const Tensor input = *runtime.upload(HostTensor(x, {100}));
  const Tensor middle = *runtime.empty(DType::f32, {100});
  const Tensor y = *runtime.empty(DType::f32, {100});
  auto first = *prepared.bind({{"x", input}, {"y", middle}});
  auto second = *prepared.bind({{"x", middle}, {"y", y}});
  const Encoder encoder{runtime.device(), runtime.queue()};
  WGPUComputePassEncoder pass = encoder.begin();
  ASSERT_TRUE(first.record(pass));
  auto status = second.update({{"factor", 5}});
  ASSERT_TRUE(status) << status.error().to_string();
  ASSERT_TRUE(second.record(pass));
  ASSERT_TRUE(first.update({{"factor", 1000}}));  // too late for what is recorded
  Encoder::end(pass);
  encoder.submit();
  EXPECT_EQ(*y.download<float>(), times(x, 10));
  EXPECT_EQ(second.update({{"gap", 1}, {"nonsense", 1}}).error().code, "request/unknown");
}

// Equal passes of which one ends a submission: the argument chooses.
TEST_F(PreparedCalls, AnUpdateDoesNotSplitACall) {
  const auto pass = [](const char* id, const char* when, const char* more) {
    return std::format(
        R"({{"id": "{}", "shader": "s.wgsl.jinja", "bindings": ["x", "y", {{"name": "params",
        "struct": [{{"name": "parts", "type": "u32"}}]}}], "dispatch": {{"workgroups": "{}"}}{}}})",
        id, when, more);
  };
  const Kernel kernel = *runtime.load(testing::make_package(
      std::format(R"({{"domain": "test", "name": "Parts", "inputs": {{"x": {{"dtype": "float32"}}}},
        "outputs": {{"y": {{"dtype": "float32", "shape": "shapes.x"}}}},
        "args": {{"parts": {{"kind": "u32"}}}},
        "variants": [{{"id": "only", "passes": [{}, {}]}}]}})",
                  pass("whole", "1 if args.parts < 2 else 0", ""),
                  pass("part", "0 if args.parts < 2 else 1", R"(, "submitAfter": true)")),
      R"({{ env.wgsl.resourceDeclarations }}
@compute @workgroup_size(1) fn main() { y[0] = x[0] + f32(params.parts); })"));
  const Tensor input = *runtime.upload(HostTensor(std::vector<float>{1}, {1}));
  const Tensor y = *runtime.empty(DType::f32, {1});
  auto bound = *kernel.prepare({.inputs = {{.name = "x", .shape = {1}}}, .args = {{"parts", 0}}})
                    ->bind({{"x", input}, {"y", y}});
  EXPECT_TRUE(bound.update({{"parts", 1}}));
  const auto status = bound.update({{"parts", 2}});
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, "usage/specialized");
  EXPECT_TRUE(contains(status.error().message, "the submission of pass '")) << "and only that";
  EXPECT_EQ(bound.needs(), Needs::kPass);
}

TEST_F(PreparedCalls, SayWhatTheyNeed) {
  Kernel split = *runtime.load(testing::accumulate_package(true));
  auto prepared =
      split.prepare({.inputs = {{.name = "x", .shape = {8}}, {.name = "y", .shape = {8}}}});
  ASSERT_TRUE(prepared) << prepared.error().to_string();
  const Tensor input = *runtime.upload(HostTensor(numbers(8), {8}));
  const Tensor y = *runtime.upload(HostTensor(numbers(8), {8}));
  auto bound = *prepared->bind({{"x", input}, {"y", y}});
  EXPECT_EQ(bound.needs(), Needs::kSubmit);
  EXPECT_EQ(name(bound.needs()), "submit");
  const Encoder encoder{runtime.device(), runtime.queue()};
  WGPUComputePassEncoder pass = encoder.begin();
  EXPECT_EQ(bound.record(pass).error().code, "usage/needs-encoder");
  Encoder::end(pass);
  EXPECT_EQ(bound.record(encoder.encoder).error().code, "usage/needs-encoder");
  encoder.submit();
  ASSERT_TRUE(bound.submit());
  EXPECT_EQ(*y.download<float>(), times(numbers(8), 2));
}

TEST_F(PreparedCalls, StagingCopiesGoIntoAnEncoder) {
  auto prepared = *scale.prepare(signature(2));
  const Tensor big = *runtime.upload(HostTensor(numbers(400), {400}));
  const Tensor input = *Tensor::wrap(runtime, big.buffer(), 4, 400, {100}, DType::f32);
  const Tensor y = *Tensor::wrap(runtime, big.buffer(), 1028, 400, {100}, DType::f32);
  EXPECT_FALSE(prepared.bind({{"x", input}, {"y", y}}));
  auto bound = prepared.bind({{"x", input}, {"y", y}}, {.staging = true});
  ASSERT_TRUE(bound) << bound.error().to_string();
  EXPECT_EQ(bound->needs(), Needs::kEncoder);
  EXPECT_EQ(bound->staging_notes().size(), 2);
  const Encoder encoder{runtime.device(), runtime.queue()};
  ASSERT_TRUE(bound->record(encoder.encoder));
  encoder.submit();
  auto expected = numbers(400);
  for (std::size_t i = 0; i < 100; ++i) expected[257 + i] = expected[1 + i] * 2;
  EXPECT_EQ(*big.download<float>(), expected);
}

TEST_F(PreparedCalls, ScratchIsZeroAtEveryRecording) {
  Kernel accumulate = *runtime.load(testing::accumulate_package(false));
  auto prepared =
      *accumulate.prepare({.inputs = {{.name = "x", .shape = {8}}, {.name = "y", .shape = {8}}}});
  const Tensor input = *runtime.upload(HostTensor(numbers(8), {8}));
  const Tensor y = *runtime.upload(HostTensor(numbers(8), {8}));
  auto bound = *prepared.bind({{"x", input}, {"y", y}});
  EXPECT_EQ(bound.needs(), Needs::kPass);
  const Encoder encoder{runtime.device(), runtime.queue()};
  WGPUComputePassEncoder pass = encoder.begin();
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(bound.record(pass));
  Encoder::end(pass);
  encoder.submit();
  EXPECT_EQ(*y.download<float>(), times(numbers(8), 4));
}

TEST_F(PreparedCalls, ScratchShowsNothingOfEarlierOwners) {
  const Kernel reveal = *runtime.load(testing::make_package(
      R"json({"domain": "test", "name": "Reveal", "inputs": {"x": {"dtype": "float32"}},
              "outputs": {"y": {"dtype": "float32", "shape": "shapes.x"}},
              "variants": [{"id": "only", "intermediates": [{"id": "left", "dtype": "float32", "shape": "shapes.x"}],
                "passes": [{"shader": "s.wgsl.jinja", "bindings": ["x", "left", "y"], "dispatch": {"workgroups": 20}}]}]})json",
      R"wgsl({{ env.wgsl.resourceDeclarations }}
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  if (id.x < arrayLength(&x)) { y[id.x] = x[id.x] + left[id.x]; }
})wgsl"));
  auto prepared = reveal.prepare({.inputs = {{.name = "x", .shape = {1240}}}});
  ASSERT_TRUE(prepared) << prepared.error().to_string();
  const std::vector<float> values = numbers(1240), sevens(1240, 7.0F);
  const Tensor input = *runtime.upload(HostTensor(values, {1240}));
  const Tensor y = *runtime.empty(DType::f32, {1240});
  for (const bool with_arena : {false, true}) {
    ASSERT_TRUE(runtime.upload(HostTensor(sevens, {1240})));  // and back to the pool
    const auto reused = runtime.stats().buffers_reused;
    BindOptions options;
    if (with_arena) options.arena = *runtime.make_arena({&*prepared, 1});
    auto bound = prepared->bind({{"x", input}, {"y", y}}, options);
    ASSERT_TRUE(bound) << bound.error().to_string();
    EXPECT_EQ(runtime.stats().buffers_reused, reused + 1) << "the scratch is the old tensor";
    ASSERT_TRUE(bound->submit());
    EXPECT_EQ(*y.download<float>(), values);
  }
}

TEST_F(PreparedCalls, EmptyHandlesAreErrors) {
  const std::string empty = "usage/range";
  Bound bound;
  EXPECT_EQ(bound.needs(), Needs::kPass);
  EXPECT_TRUE(bound.staging_notes().empty());
  EXPECT_EQ(bound.record(WGPUComputePassEncoder()).error().code, empty);
  EXPECT_EQ(bound.record(WGPUCommandEncoder()).error().code, empty);
  EXPECT_EQ(bound.submit().error().code, empty);
  EXPECT_EQ(bound.run().error().code, empty);
  EXPECT_EQ(bound.run_and_read().error().code, empty);
  EXPECT_EQ(bound.update({}).error().code, empty);
  const Prepared prepared[2];
  EXPECT_EQ(prepared[0].memory().total(), 0);
  EXPECT_EQ(prepared[0].bind({}).error().code, empty);
  EXPECT_EQ(prepared[0].make_outputs().error().code, empty);
  EXPECT_EQ(memory(prepared).total(), 0);
  EXPECT_EQ(memory(prepared, true).total(), 0);
  EXPECT_EQ(runtime.make_arena(prepared).error().code, empty);
  const Kernel kernel;
  EXPECT_EQ(kernel.call({}).error().code, empty);
  EXPECT_EQ(kernel.start({}).error().code, empty);
  EXPECT_EQ(kernel.prepare({}).error().code, empty);
  EXPECT_EQ(kernel.plan(Signature()).error().code, empty);
  EXPECT_EQ(kernel.memory(Signature()).error().code, empty);
  EXPECT_EQ(kernel.explain(Signature()).error->code, empty);
  EXPECT_EQ(kernel.explain(Inputs()).error->code, empty);
}

TEST_F(PreparedCalls, NamesWhatDoesNotFit) {
  auto prepared = *scale.prepare(signature(2));
  const Tensor good = *runtime.empty(DType::f32, {100});
  const Tensor y = *runtime.empty(DType::f32, {100});
  const auto code = [&](const std::vector<std::pair<std::string, Tensor>>& tensors) {
    auto bound = prepared.bind(tensors);
    return bound ? std::string("bound") : bound.error().code;
  };
  EXPECT_EQ(code({{"x", good}, {"y", y}}), "bound");
  EXPECT_EQ(code({{"x", good}}), "request/missing");
  EXPECT_EQ(code({{"x", good}, {"y", y}, {"q", y}}), "request/unknown");
  EXPECT_EQ(code({{"x", *runtime.empty(DType::i32, {100})}, {"y", y}}), "request/dtype");
  EXPECT_EQ(code({{"x", *runtime.empty(DType::f32, {99})}, {"y", y}}), "request/shape");
  EXPECT_EQ(code({{"x", good}, {"y", good}}), "request/alias");
  EXPECT_EQ(code({{"x", Tensor()}, {"y", y}}), "usage/range");
}

TEST_F(PreparedCalls, MemoryIsKnownBeforeAnythingRuns) {
  auto fresh = Runtime::create();
  ASSERT_TRUE(fresh);
  Kernel accumulate = *fresh->load(testing::accumulate_package(false));
  const Signature call = {.inputs = {{.name = "x", .shape = {8}}, {.name = "y", .shape = {8}}}};
  auto needs = accumulate.memory(call);
  ASSERT_TRUE(needs) << needs.error().to_string();
  EXPECT_EQ(needs->scratch, 32);
  EXPECT_EQ(needs->inputs, 64);
  EXPECT_EQ(fresh->stats().live_bytes, 0);
  auto prepared = *accumulate.prepare(call);
  EXPECT_EQ(fresh->stats().live_bytes, needs->uniforms);
  const Tensor input = *fresh->upload(HostTensor(numbers(8), {8}));
  const Tensor y = *fresh->upload(HostTensor(numbers(8), {8}));
  auto bound = *prepared.bind({{"x", input}, {"y", y}});
  EXPECT_EQ(fresh->stats().live_bytes, needs->total());
}

TEST_F(PreparedCalls, AnArenaServesManyCallsInTurn) {
  auto fresh = *Runtime::create();
  Kernel accumulate = *fresh.load(testing::accumulate_package(false));
  std::vector<Prepared> calls;
  for (const std::int64_t size : {8, 32, 16}) {
    calls.push_back(*accumulate.prepare(
        {.inputs = {{.name = "x", .shape = {size}}, {.name = "y", .shape = {size}}}}));
  }
  EXPECT_EQ(memory(calls).scratch, (8 + 32 + 16) * 4);
  EXPECT_EQ(memory(calls, true).scratch, 32 * 4);
  auto arena = fresh.make_arena(calls);
  ASSERT_TRUE(arena) << arena.error().to_string();
  EXPECT_EQ(arena->bytes(), 128);
  const std::uint64_t before = fresh.stats().live_bytes;
  std::vector<Tensor> results;
  std::vector<Bound> bound;
  for (const Prepared& call : calls) {
    const std::int64_t size = call.plan().tensors[0].shape[0];
    const auto values = numbers(static_cast<std::size_t>(size));
    const Tensor input = *fresh.upload(HostTensor(values, {size}));
    results.push_back(*fresh.upload(HostTensor(values, {size})));
    auto made = call.bind({{"x", input}, {"y", results.back()}}, {.arena = *arena});
    ASSERT_TRUE(made) << made.error().to_string();
    bound.push_back(*made);
  }
  EXPECT_EQ(fresh.stats().live_bytes - before, 2 * (8 + 32 + 16) * 4) << "tensors only";
  const Encoder encoder{fresh.device(), fresh.queue()};
  WGPUComputePassEncoder pass = encoder.begin();
  for (const Bound& call : bound) ASSERT_TRUE(call.record(pass));
  Encoder::end(pass);
  encoder.submit();
  for (const Tensor& result : results) {
    const auto values = numbers(static_cast<std::size_t>(result.elements()));
    EXPECT_EQ(*result.download<float>(), times(values, 2));
  }
  auto small = *fresh.make_arena(std::span(calls).first(1));
  const Tensor t = *fresh.empty(DType::f32, {32});
  const Tensor u = *fresh.empty(DType::f32, {32});
  EXPECT_EQ(calls[1].bind({{"x", t}, {"y", u}}, {.arena = small}).error().code, "usage/range");
}

TEST_F(PreparedCalls, PrewarmCompilesInParallelAndOnce) {
  auto fresh = Runtime::create();
  ASSERT_TRUE(fresh);
  Kernel kernel = *fresh->load(scale_package());
  std::vector<Prewarm> list;
  for (const DType dtype : {DType::f32, DType::i32, DType::i8, DType::u8}) {
    for (const double width : {64, 1}) {
      list.push_back({kernel,
                      {.inputs = {{.name = "x", .dtype = dtype, .shape = {100}}},
                       .args = {{"factor", 1}},
                       .tunables = {{"WIDTH", width}}}});
    }
  }
  auto future = fresh->prewarm(list);
  ASSERT_TRUE(future) << future.error().to_string();
  auto again = *fresh->prewarm(list);
  ASSERT_TRUE(future->wait());
  ASSERT_TRUE(again.wait());
  const auto stats = fresh->stats();
  EXPECT_GE(stats.pipelines_built, 3);
  EXPECT_LE(stats.pipelines_built, 8);
  std::vector<float> data = numbers(100);
  ASSERT_TRUE(kernel.call({{"x", HostTensor(data, {100})}}, {.args = {{"factor", 1}}}));
  EXPECT_EQ(fresh->stats().pipelines_built, stats.pipelines_built) << "the call finds its pipeline";
}

}  // namespace
}  // namespace wgk
