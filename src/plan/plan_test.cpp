// SPDX-License-Identifier: Apache-2.0
// plan() and explain() from request to plan, on small packages.
#include "wgk/plan.h"

#include <gtest/gtest.h>

#include <cstring>

#include "plan/test_package.h"

namespace wgk {
namespace {

using planning::all_of;
using planning::make_package;
using planning::on_device;

std::string with_variants(std::string_view variants, std::string_view more = "") {
  return R"({"domain": "test", "name": "P", "inputs": {"x": {"dtype": "T"}, "w": {"dtype": "T", "optional": true}},
    "outputs": {"y": {"dtype": "T", "shape": "shapes.x"}, "s": {"dtype": "float32", "shape": [1], "optional": true}},
    "typeConstraints": {"T": ["float32", "float16", "int32"]}, "attributes": {"m": {"default": 0}},)" +
         std::string(more) + R"("variants": [)" + std::string(variants) + "]}";
}

// A variant of one pass; `rest` are further members of the pass, `more` of the variant.
std::string variant(std::string_view id, std::string_view more,
                    std::string_view rest = R"("bindings": ["x", "y"], "dispatch": {"x": 1})") {
  return R"({"id": ")" + std::string(id) + R"(", )" + std::string(more) +
         R"("passes": [{"shader": "s.wgsl.jinja", )" + std::string(rest) + "}]}";
}

Request request(Shape shape = {4}, DType dtype = DType::f32) {
  Request result;
  result.inputs.emplace_back("x", on_device(dtype, std::move(shape)));
  return result;
}

Plan must_plan(const package::Package& package, const Request& call,
               const DeviceCaps& caps = DeviceCaps::defaults()) {
  auto made = plan(package, call, caps);
  EXPECT_TRUE(made) << (made ? "" : made.error().to_string());
  return made ? *std::move(made) : Plan{};
}

std::string refusal(const package::Package& package, const Request& call,
                    const DeviceCaps& caps = DeviceCaps::defaults()) {
  auto made = plan(package, call, caps);
  return made ? "planned" : all_of(made.error());
}

std::vector<float> floats(const PlanUniform& uniform) {
  std::vector<float> values(uniform.bytes.size() / 4);
  std::memcpy(values.data(), uniform.bytes.data(), uniform.bytes.size());
  return values;
}

TEST(Plan, ASimplePackage) {
  const auto package = make_package(with_variants(variant(
      "v", R"j("derive": {"n": "numel(shapes.x)"}, )j",
      R"("bindings": ["x", "y", {"name": "params", "struct": [{"name": "n", "type": "u32", "value": "n"}]}],
                 "dispatch": {"threads": "n", "workgroupSize": 64}, "profile": {"bytesMoved": "n * 8"})")));
  const Plan plan = must_plan(*package, request({100, 3}));
  EXPECT_EQ(plan.variant, "v");
  ASSERT_EQ(plan.tensors.size(), 2U);
  EXPECT_EQ(plan.tensors[1].port, "y");
  EXPECT_EQ(plan.tensors[1].shape, (Shape{100, 3}));
  ASSERT_EQ(plan.passes.size(), 1U);
  const PlanPass& pass = plan.passes[0];
  EXPECT_EQ(pass.id, "pass_0");
  EXPECT_EQ(pass.label, "test.P.v.pass_0");
  EXPECT_EQ(pass.dispatch, (std::array<std::uint32_t, 3>{5, 1, 1}));
  EXPECT_EQ(*pass.wgsl,
            "struct Params { n: u32, _pad0: u32, _pad1: u32, _pad2: u32 };\n"
            "@group(0) @binding(0) var<storage, read> x: array<f32>;\n"
            "@group(0) @binding(1) var<storage, read_write> y: array<f32>;\n"
            "@group(0) @binding(2) var<uniform> params: Params;\n"
            "@compute @workgroup_size(1)\nfn main() {\n}");
  EXPECT_EQ(pass.bindings[1].size, 1200U);
  EXPECT_EQ(pass.uniforms[0].bytes[0], std::byte{44});
  EXPECT_EQ(pass.profile[0].second, Json(2400));
  EXPECT_NE(pass.key, (std::array<std::uint8_t, 16>{}));
}

TEST(Plan, EqualTextsShareTheirKeyAndOthersDoNot) {
  const auto package = make_package(
      with_variants(
          R"({"id": "v", "passes": [{"id": "a", "shader": "s.wgsl.jinja", "bindings": ["x", "y"], "dispatch": {"x": 1}},
          {"id": "b", "shader": "s.wgsl.jinja", "bindings": ["x", "y"], "dispatch": {"x": 2}},
          {"id": "c", "shader": "t.wgsl.jinja", "bindings": ["x", "y"], "dispatch": {"x": 2}},
          {"id": "d", "shader": "t.wgsl.jinja", "bindings": ["x", {"name": "y", "buffer": "read-only-storage"}], "dispatch": {"x": 2}}]})"),
      {{"s.wgsl.jinja", planning::kPlainTemplate}, {"t.wgsl.jinja", "fn main() {}"}});
  const Plan plan = must_plan(*package, request());
  EXPECT_EQ(plan.passes[0].key, plan.passes[1].key);
  EXPECT_NE(plan.passes[0].key, plan.passes[2].key);
  EXPECT_EQ(*plan.passes[2].wgsl, *plan.passes[3].wgsl);
  EXPECT_NE(plan.passes[2].key, plan.passes[3].key);
}

TEST(Plan, HalvesNeedTheirFeature) {
  const auto package = make_package(with_variants(variant("v", "")));
  const Plan plan = must_plan(*package, request({3}, DType::f16));
  EXPECT_EQ(plan.features, (std::vector<std::string>{"shader-f16"}));
  EXPECT_TRUE(plan.passes[0].wgsl->starts_with("enable f16;\n"));
  EXPECT_EQ(plan.tensors[0].byte_length, 6U);
  EXPECT_EQ(plan.passes[0].bindings[0].size, 8U);
}

TEST(Plan, DerivesOfThreeLevels) {
  const auto package = make_package(
      with_variants(
          variant(
              "v",
              R"("tunables": {"W": {"default": 8}}, "derive": {"a": "a * 10", "w": "tunables.W"}, )",
              R"("derive": {"a": "a + 1", "all": "derive.a ~ T"}, "bindings": ["x", "y"], "dispatch": {"x": 1})"),
          R"("tunables": {"W": {"default": 64}}, "derive": {"a": "ranks.x", "b": "a + 1"},)"),
      {{"s.wgsl.jinja", "{{ a }} {{ b }} {{ w }} {{ all }} {{ T }} {{ derive | tojson }}"}});
  EXPECT_EQ(*must_plan(*package, request({2, 2})).passes[0].wgsl,
            R"(21 3 8 21f32 f32 {"T": "f32", "a": 21, "b": 3, "w": 8, "all": "21f32"})");
}

TEST(Plan, RequestTunablesWin) {
  const auto package =
      make_package(with_variants(variant("v", R"("tunables": {"W": {"default": 8}}, )"),
                                 R"("tunables": {"W": {"default": 64}},)"),
                   {{"s.wgsl.jinja", "{{ tunables.W }}"}});
  Request call = request();
  EXPECT_EQ(*must_plan(*package, call).passes[0].wgsl, "8");
  call.tunables = {{"W", 5}};
  EXPECT_EQ(*must_plan(*package, call).passes[0].wgsl, "5");
}

TEST(Plan, FoldsLongDispatches) {
  const auto package = make_package(with_variants(
      variant("v", "", R"("bindings": ["x", "y"], "dispatch": {"workgroups": "attrs.m"})")));
  Request call = request();
  call.attrs = {{"m", 70000}};
  EXPECT_EQ(must_plan(*package, call).passes[0].dispatch,
            (std::array<std::uint32_t, 3>{65535, 2, 1}));
  call.attrs = {{"m", 65535.0 * 65535.0 + 1}};
  EXPECT_EQ(refusal(*package, call),
            "limit/dispatch: dispatch y of pass 'pass_0' is 65536; "
            "'maxComputeWorkgroupsPerDimension' is 65535");
  call.attrs = {{"m", 1.5}};
  EXPECT_EQ(refusal(*package, call),
            "plan/rule: dispatch x of pass 'pass_0' is 1.5; expected a non-negative integer");
  call.attrs = {{"m", 0}};
  EXPECT_TRUE(must_plan(*package, call).passes.empty());
  EXPECT_EQ(must_plan(*package, call).skipped[0].reason, "zero_dispatch");
}

TEST(Plan, ScratchIsMadeForLivePassesOnly) {
  const auto package = make_package(with_variants(
      R"({"id": "v", "intermediates": [{"id": "a", "dtype": "float32", "shape": "attrs.m", "zeroInit": true}, {"id": "b", "dtype": "uint8", "shape": [3]}],
          "passes": [{"id": "p", "shader": "s.wgsl.jinja", "bindings": ["x", "a"], "dispatch": {"x": 1}},
                     {"id": "q", "shader": "s.wgsl.jinja", "bindings": ["b", "y"], "dispatch": {"x": 0}}]})"));
  Request call = request();
  call.attrs = {{"m", 5}};
  const Plan plan = must_plan(*package, call);
  EXPECT_EQ(plan.scratch[0].shape, Shape{5});
  EXPECT_TRUE(plan.scratch[0].zero_init);
  EXPECT_TRUE(plan.scratch[0].allocated);
  EXPECT_FALSE(plan.scratch[1].allocated);
  EXPECT_EQ(plan.scratch[1].byte_length, 12U);
  EXPECT_EQ(plan.scratch_bytes(), 20U);
  call.attrs = {{"m", -1}};
  EXPECT_EQ(refusal(*package, call),
            "plan/rule: scratch 'a' has shape (-1); expected non-negative integers");
}

TEST(Plan, SaysWhichScratchTheKernelLeavesZero) {
  const auto package = make_package(with_variants(
      R"({"id": "v", "intermediates": [{"id": "a", "dtype": "uint32", "shape": [2], "zeroInit": true, "keptZero": true}, {"id": "b", "dtype": "uint32", "shape": [2], "zeroInit": true}],
          "passes": [{"id": "p", "shader": "s.wgsl.jinja", "bindings": ["x", "a", "b", "y"], "dispatch": {"x": 1}}]})"));
  const Plan plan = must_plan(*package, request());
  EXPECT_TRUE(plan.scratch[0].kept_zero);
  EXPECT_FALSE(plan.scratch[1].kept_zero);
  EXPECT_EQ(
      json::write(*plan.to_json(false).find("scratch")),
      R"([{"id":"a","dtype":"uint32","shape":[2],"byteLength":8,"bufferSize":8,"zeroInit":true,"keptZero":true},)"
      R"({"id":"b","dtype":"uint32","shape":[2],"byteLength":8,"bufferSize":8,"zeroInit":true}])");
}

TEST(Plan, NothingRunsForEmptyOutputs) {
  const auto package = make_package(with_variants(
      variant("v", R"("intermediates": [{"id": "a", "dtype": "float32", "shape": "-1"}], )",
              R"("bindings": ["x", "y", "a"], "dispatch": {"x": "0 - 1"})")));
  const Plan plan = must_plan(*package, request({0}));
  EXPECT_TRUE(plan.passes.empty());
  EXPECT_EQ(plan.scratch[0].shape, Shape{0});
  Request call = request({0});
  call.outputs.emplace_back("s", OutputDesc{});
  EXPECT_NE(refusal(*package, call), "planned");
}

TEST(Plan, LimitsNameNeedAndAllowance) {
  const auto package = make_package(with_variants(variant("v", "")));
  EXPECT_EQ(refusal(*package, request({70000000})),
            "limit/buffer: 'y' needs 280000000 bytes; 'maxBufferSize' is 268435456");
  EXPECT_EQ(refusal(*package, request({40000000})),
            "limit/buffer: binding 'x' needs 160000000 bytes; 'maxStorageBufferBindingSize' is "
            "134217728");
  PlanOptions options;
  options.check_bindings = false;
  EXPECT_TRUE(plan(*package, request({40000000}), DeviceCaps::defaults(), options));
}

TEST(Plan, BoundRangesMustBeAligned) {
  const auto package = make_package(with_variants(variant("v", "")));
  Request call = request();
  call.inputs[0].second.range = BufferRange{1, 128, 1024};
  EXPECT_EQ(refusal(*package, call),
            "request/value: the tensor of binding 'x' starts at offset 128 of its buffer; the "
            "device needs a multiple of 256");
  call.inputs[0].second.range->offset = 512;
  EXPECT_EQ(must_plan(*package, call).passes[0].bindings[0].offset, 512U);
}

TEST(Plan, ForbiddenAliasing) {
  const auto package = make_package(with_variants(variant("v", "")));
  Request call = request();
  call.inputs[0].second.range = BufferRange{1, 0, 1024};
  OutputDesc output;
  output.destination = on_device(DType::f32, {4});
  output.destination->range = BufferRange{1, 512, 1024};
  call.outputs.emplace_back("y", output);
  EXPECT_EQ(refusal(*package, call),
            "request/alias: bindings 'x' and 'y' are one buffer, read by one and written by the "
            "other in the same pass");
  call.outputs[0].second.destination->range->buffer = 2;
  EXPECT_EQ(must_plan(*package, call).passes[0].bindings[1].offset, 512U);
}

TEST(Plan, WrittenRangesMayShareABufferButNotBytes) {
  const auto package = make_package(
      with_variants(variant("v", "", R"("bindings": ["x", "y", "s"], "dispatch": {"x": 1})")));
  Request call = request();
  for (const char* port : {"y", "s"}) {
    OutputDesc output;
    output.destination = on_device(DType::f32, port[0] == 'y' ? Shape{4} : Shape{1});
    output.destination->range = BufferRange{9, 0, 1024};
    call.outputs.emplace_back(port, output);
  }
  EXPECT_EQ(refusal(*package, call),
            "request/alias: bindings 'y' and 's' are both written and overlap in one buffer");
  call.outputs[1].second.destination->range->offset = 256;
  EXPECT_EQ(must_plan(*package, call).passes.size(), 1U);
}

TEST(Plan, ViewsOfTheSameBytesSkipTheirPass) {
  const auto package = make_package(with_variants(variant(
      "v", "",
      R"("bindings": ["x", "y"], "dispatch": {"x": 1}, "viewAlias": [{"input": "x", "output": "y"}])")));
  Request call = request();
  call.inputs[0].second.range = BufferRange{1, 0, 1024};
  OutputDesc output;
  output.destination = call.inputs[0].second;
  call.outputs.emplace_back("y", output);
  const Plan same = must_plan(*package, call);
  EXPECT_TRUE(same.passes.empty());
  EXPECT_EQ(same.skipped[0].reason, "view_alias");
  call.outputs[0].second.destination->range->buffer = 2;
  EXPECT_EQ(must_plan(*package, call).passes.size(), 1U);
}

TEST(Plan, UniformValues) {
  const auto package = make_package(with_variants(
      variant("v", "", R"("bindings": ["x", "y", {"name": "p", "struct": [
        {"name": "scale", "type": "f32", "default": 0.5}, {"name": "m", "type": "f32", "value": "attrs.m"}, {"name": "inner", "type": "f32", "internal": true},
        {"name": "need", "type": "f32"}]}], "dispatch": {"x": 1})"),
      R"("args": {"scale": {"kind": "f32", "required": false}, "need": {"kind": "f32", "required": false}},)"));
  Request call = request();
  EXPECT_EQ(refusal(*package, call), "plan/rule: uniform 'p.need' has no value");
  call.args = {{"need", 7}};
  EXPECT_EQ(floats(must_plan(*package, call).passes[0].uniforms[0]),
            (std::vector<float>{0.5, 0, 0, 7}));
  call.args.emplace_back("scale", 3);
  EXPECT_EQ(floats(must_plan(*package, call).passes[0].uniforms[0]),
            (std::vector<float>{3, 0, 0, 7}));
  call.attrs = {{"m", "text"}};
  EXPECT_EQ(refusal(*package, call),
            "plan/rule: uniform 'p.m' is \"text\"; expected a finite number");
}

TEST(Plan, SelectionExplainsItself) {
  const auto package = make_package(with_variants(
      variant("halves", R"("priority": 9, "requires": {"features": ["shader-f16"]}, )") + "," +
      variant(
          "big",
          R"("priority": 8, "requires": {"limits": {"maxComputeWorkgroupStorageSize": 32768}}, )") +
      "," + variant("even", R"("priority": 7, "when": ["numel(shapes.x) % 2 == 0"], )") + "," +
      variant("fails", R"("priority": 6, "when": ["attrs.m.deep[0] > 1"], )") + "," +
      variant("slow", R"("priority": 5, "demoteWhen": ["true"], )") + "," +
      variant("late", R"("supersededBy": ["plain"], "priority": 1, )") + "," +
      variant("plain", R"("priority": 2, )")));
  const Explanation odd = explain(*package, request({3}), DeviceCaps::defaults());
  EXPECT_EQ(odd.selected, "plain");
  std::vector<std::string> verdicts;
  for (const VariantDecision& decision : odd.decisions) verdicts.push_back(decision.verdict);
  EXPECT_EQ(verdicts, (std::vector<std::string>{"requires", "requires", "when", "error", "demoted",
                                                "superseded", "selected"}));
  EXPECT_EQ(odd.decisions[0].reason, "needs feature 'shader-f16', which the device lacks");
  EXPECT_EQ(odd.decisions[1].reason,
            "needs limit 'maxComputeWorkgroupStorageSize' of 32768; the device has 16384");
  EXPECT_NE(odd.decisions[2].reason.find("numel(shapes.x) % 2"), std::string::npos)
      << odd.decisions[2].reason;
  EXPECT_EQ(odd.decisions[5].reason, "superseded by 'plain', which fits");
  EXPECT_EQ(explain(*package, request({4}), DeviceCaps::defaults()).selected, "even");
}

TEST(Plan, ForcedVariants) {
  const auto package = make_package(
      with_variants(variant("even", R"("priority": 7, "when": ["shapes.x[0] % 2 == 0"], )") + "," +
                    variant("slow", R"("demoteWhen": ["true"], )") + "," + variant("plain", "")));
  Request call = request({4});
  call.variant = "slow";
  EXPECT_EQ(must_plan(*package, call).variant, "slow");
  call = request({3});
  call.variant = "even";
  EXPECT_TRUE(refusal(*package, call).starts_with("request/variant: variant 'even' does not fit: "))
      << refusal(*package, call);
  const Explanation explanation = explain(*package, call, DeviceCaps::defaults());
  EXPECT_EQ(explanation.selected, std::nullopt);
  EXPECT_EQ(explanation.decisions[2].verdict, "eligible");
}

TEST(Plan, NoVariantListsEveryReason) {
  const auto package =
      make_package(with_variants(variant("a", R"("when": ["attrs.m == 1"], )") + "," +
                                 variant("b", R"("requires": {"features": ["subgroups"]}, )")));
  const std::string message = refusal(*package, request());
  EXPECT_TRUE(message.starts_with("select/none: no variant of test.P fits: a: ")) << message;
  EXPECT_NE(message.find("; b: needs feature 'subgroups', which the device lacks"),
            std::string::npos)
      << message;
}

TEST(Plan, DecisionsAreGivenForWrongRequestsToo) {
  const auto package = make_package(
      with_variants(variant("a", R"("when": ["ranks.x == 1"], )") + "," + variant("b", "")), {},
      R"json({"contract": 1, "rules": [{"id": "r", "code": "request/shape", "require": "shapes.x[0] == 5",
                                           "message": "x has shape {{ shapes.x }}; expected (5)"}]})json");
  const Explanation explanation = explain(*package, request({4}), DeviceCaps::defaults());
  ASSERT_TRUE(explanation.error);
  EXPECT_EQ(all_of(*explanation.error), "request/shape: x has shape (4); expected (5)");
  EXPECT_EQ(explanation.decisions[0].verdict, "eligible");
  EXPECT_EQ(explanation.selected, std::nullopt);
}

TEST(Plan, BrokenConstructsRejectTheirVariant) {
  const auto package = make_package(
      with_variants(
          variant("cas", R"("priority": 1, )") + "," +
          R"({"id": "safe", "passes": [{"shader": "t.wgsl.jinja", "bindings": ["x", "y"], "dispatch": {"x": 1}}]})"),
      {{"s.wgsl.jinja", "fn main() { atomicCompareExchangeWeak(&a, 0u, 1u); }"},
       {"t.wgsl.jinja", "fn main() { /* atomicCompareExchangeWeak */ }"}});
  DeviceCaps caps = DeviceCaps::defaults();
  EXPECT_EQ(must_plan(*package, request(), caps).variant, "cas");
  caps.wgsl_compile_failures = {"atomicCompareExchangeWeak"};
  EXPECT_EQ(must_plan(*package, request(), caps).variant, "safe");
  EXPECT_EQ(explain(*package, request(), caps).decisions[0].reason,
            "its shader uses 'atomicCompareExchangeWeak', which this device does not compile");
  // A template that is not at hand cannot be judged.
  PlanOptions options;
  options.template_at_hand = [](std::string_view) { return false; };
  EXPECT_EQ(plan(*package, request(), caps, options)->variant, "cas");
}

TEST(Plan, OpaqueInt64) {
  const auto package = make_package(
      R"({"domain": "test", "name": "I", "inputs": {"x": {"dtype": "int64"}}, "outputs": {"y": {"dtype": "int64", "shape": "shapes.x"}},
          "attributes": {"t": {"default": "u32"}},
          "variants": [{"passes": [{"shader": "s.wgsl.jinja", "bindings": ["x", "y"], "dispatch": {"x": 1}, "derive": {"t": "attrs.t"}}], "when": ["attrs.t == 'u32'"]},
                       {"passes": [{"shader": "t.wgsl.jinja", "bindings": ["x", "y"], "dispatch": {"x": 1}}]}]})",
      {{"s.wgsl.jinja", "y[0] = x[1];"}, {"t.wgsl.jinja", "y[0] = x[1].x;"}});
  EXPECT_EQ(must_plan(*package, request({2}, DType::i64)).tensors[1].byte_length, 16U);
  Request call = request({2}, DType::i64);
  call.attrs = {{"t", "f32"}};
  EXPECT_EQ(refusal(*package, call),
            "plan/rule: the shader computes with 'x', a tensor of opaque int64; it may only copy "
            "or select whole elements");
}

TEST(Plan, CanonicalJson) {
  const auto package = make_package(with_variants(variant(
      "v", R"("intermediates": [{"id": "a", "dtype": "float16", "shape": [3]}], )",
      R"("bindings": ["x", {"scratch": "a"}, "y", {"name": "p", "struct": [{"name": "n", "type": "u32", "value": 258}]}], "dispatch": {"x": 1}, "submitAfter": true)")));
  const Plan plan = must_plan(*package, request());
  const Json json = plan.to_json(false);
  const std::string text = json::write(json);
  EXPECT_EQ(text, json::write(must_plan(*package, request()).to_json(false)));
  EXPECT_EQ(text.find("wgsl\""), std::string::npos);
  EXPECT_NE(json::write(plan.to_json()).find("\"wgsl\":\"enable f16;\\n"), std::string::npos);
  const Json& pass = (*json.find("passes")->if_array())[0];
  EXPECT_EQ(
      json::write(*pass.find("bindings")),
      R"([{"index":0,"type":"read-only-storage","name":"x","tensor":"x","size":16},{"index":1,"type":"storage","name":"a","scratch":"a","size":8},)"
      R"({"index":2,"type":"storage","name":"y","tensor":"y","size":16},{"index":3,"type":"uniform","name":"p","size":16}])");
  EXPECT_EQ(
      json::write(*pass.find("uniforms")),
      R"([{"name":"p","bytes":"02010000000000000000000000000000","fields":[{"name":"n","type":"u32","offset":0}]}])");
  EXPECT_EQ(*pass.find("submitAfter"), Json(true));
}

}  // namespace
}  // namespace wgk
