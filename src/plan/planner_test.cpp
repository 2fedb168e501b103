// SPDX-License-Identifier: Apache-2.0
#include "plan/planner.h"

#include <gtest/gtest.h>

#include <thread>

#include "plan/test_package.h"

namespace wgk::planning {
namespace {

std::shared_ptr<package::Package> test_package() {
  return make_package(R"j({"domain": "test", "name": "C",
    "inputs": {"x": {"dtype": "float32"}, "i": {"dtype": "int64", "storage": "int32", "narrowing": "checked", "optional": true}},
    "outputs": {"y": {"dtype": "float32", "shape": "shapes.x"}}, "attributes": {"m": {"default": 0}},
    "variants": [{"passes": [{"shader": "s.wgsl.jinja", "bindings": ["x", "y"], "dispatch": {"threads": "numel(shapes.x)", "workgroupSize": 64}}]}]})j");
}

Request request(std::int64_t size) {
  Request result;
  result.inputs.emplace_back("x", on_device(DType::f32, {size}));
  result.outputs.emplace_back("y", OutputDesc{});
  return result;
}

TEST(Planner, KnownSignaturesGiveTheSamePlan) {
  const Planner planner(test_package(), DeviceCaps::defaults());
  const auto first = planner.plan(request(4));
  ASSERT_TRUE(first);
  EXPECT_EQ(*planner.plan(request(4)), *first);
  EXPECT_NE(*planner.plan(request(5)), *first);
  EXPECT_EQ(json::write((*first)->to_json()),
            json::write(plan(planner.package(), request(4), planner.caps())->to_json()));
  // The text did not depend on the shape, so it is shared.
  EXPECT_EQ((*planner.plan(request(5)))->passes[0].wgsl, (*first)->passes[0].wgsl);
}

TEST(Planner, EveryPartOfARequestCounts) {
  const Request base = request(4);
  const auto differs = [&base](auto change) {
    Request other = base;
    change(other);
    return !same_signature(base, other);
  };
  EXPECT_TRUE(differs([](Request& r) { r.inputs[0].first = "X"; }));
  EXPECT_TRUE(differs([](Request& r) { r.inputs[0].second.shape = {2, 2}; }));
  EXPECT_TRUE(differs([](Request& r) { r.inputs[0].second.dtype = DType::f16; }));
  EXPECT_TRUE(differs([](Request& r) { r.inputs[0].second.storage = DType::f32; }));
  EXPECT_TRUE(differs([](Request& r) { r.inputs[0].second.packed = true; }));
  EXPECT_TRUE(differs([](Request& r) { r.inputs[0].second.on_device = false; }));
  EXPECT_TRUE(differs([](Request& r) { r.inputs[0].second.host_array = DType::f32; }));
  EXPECT_TRUE(differs([](Request& r) { r.inputs[0].second.range = BufferRange{1, 0, 0}; }));
  EXPECT_TRUE(differs([](Request& r) { r.inputs.push_back(r.inputs[0]); }));
  EXPECT_TRUE(differs([](Request& r) { r.outputs.clear(); }));
  EXPECT_TRUE(differs([](Request& r) { r.outputs[0].second.shape = Shape{4}; }));
  EXPECT_TRUE(differs([](Request& r) { r.outputs[0].second.dtype = DType::f32; }));
  EXPECT_TRUE(differs([](Request& r) { r.outputs[0].second.destination = TensorDesc{}; }));
  EXPECT_TRUE(differs([](Request& r) { r.attrs = {{"m", 1}}; }));
  EXPECT_TRUE(differs([](Request& r) { r.args = {{"m", 1}}; }));
  EXPECT_TRUE(differs([](Request& r) { r.tunables = {{"m", 1}}; }));
  EXPECT_TRUE(differs([](Request& r) { r.variant = "v"; }));
  EXPECT_FALSE(differs([](Request&) {}));
}

TEST(Planner, BuffersCountByWhichAreEqual) {
  const auto with_buffers = [](std::uint64_t x, std::uint64_t y, std::uint64_t offset) {
    Request result = request(4);
    result.inputs[0].second.range = BufferRange{x, 0, 1024};
    result.outputs[0].second.destination = on_device(DType::f32, {4});
    result.outputs[0].second.destination->range = BufferRange{y, offset, 1024};
    return result;
  };
  EXPECT_TRUE(same_signature(with_buffers(1, 2, 0), with_buffers(7, 9, 0)));
  EXPECT_EQ(signature_hash(with_buffers(1, 2, 0)), signature_hash(with_buffers(7, 9, 0)));
  EXPECT_FALSE(same_signature(with_buffers(1, 2, 0), with_buffers(1, 1, 0)));
  EXPECT_FALSE(same_signature(with_buffers(1, 2, 0), with_buffers(1, 2, 256)));
  const Planner planner(test_package(), DeviceCaps::defaults());
  EXPECT_TRUE(planner.plan(with_buffers(1, 2, 0)));
  EXPECT_EQ(planner.plan(with_buffers(3, 3, 0)).error().code, "request/alias");
}

TEST(Planner, ValuesAreCheckedOnEveryCall) {
  const Planner planner(test_package(), DeviceCaps::defaults());
  const std::vector<std::int64_t> good = {1}, bad = {std::int64_t{1} << 40};
  Request call = request(4);
  call.inputs.emplace_back("i", on_host(DType::i64, {1}, good));
  EXPECT_TRUE(planner.plan(call));
  call.inputs.back().second = on_host(DType::i64, {1}, bad);
  EXPECT_EQ(planner.plan(call).error().code, "request/value");
  const std::vector<std::int64_t> long_data = {1, 2};
  call.inputs.back().second = on_host(DType::i64, {1}, long_data);
  EXPECT_EQ(planner.plan(call).error().code, "request/length");
  call.inputs.back().second = on_host(DType::i64, {1}, good);
  EXPECT_TRUE(planner.plan(call));
}

TEST(Planner, ThreadsGetTheSamePlans) {
  const Planner planner(test_package(), DeviceCaps::defaults());
  std::array<std::vector<std::shared_ptr<const Plan>>, 2> plans;
  {
    std::vector<std::jthread> threads;
    for (std::size_t t = 0; t < 2; ++t) {
      threads.emplace_back([&planner, &plans, t] {
        for (std::int64_t round = 0; round < 200; ++round) {
          const std::int64_t size = 1 + (t == 0 ? round % 20 : 19 - round % 20);
          plans[t].push_back(planner.plan(request(size)).value());
        }
      });
    }
  }
  for (std::int64_t size = 1; size <= 20; ++size) {
    const auto expected = planner.plan(request(size)).value();
    EXPECT_EQ(plans[0][static_cast<std::size_t>(size - 1)], expected);
    EXPECT_EQ(plans[1][static_cast<std::size_t>(20 - size)], expected);
  }
}

}  // namespace
}  // namespace wgk::planning
