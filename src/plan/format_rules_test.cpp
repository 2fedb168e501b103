// SPDX-License-Identifier: Apache-2.0
// Single rules of the format that small packages show best: fixed lengths, repeat groups, uniform
// values, guards, subgroup matrices, aliasing, and the limits of planning.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>

#include "base/contains_test.h"
#include "plan/test_package.h"
#include "wgk/plan.h"

namespace wgk {
namespace {

using planning::all_of;
using planning::make_package;
using planning::on_device;

// One float32 input, one output of its shape; `more` are further members of the manifest.
std::string manifest(std::string_view variants, std::string_view more = "") {
  return R"({"domain": "test", "name": "R", "inputs": {"x": {"dtype": "float32"}},
    "outputs": {"y": {"dtype": "float32", "shape": "shapes.x"}}, "attributes": {"m": {"default": 0}},)" +
         std::string(more) + R"("variants": [)" + std::string(variants) + "]}";
}

std::string one_pass(std::string_view pass, std::string_view variant = "") {
  return R"({"id": "v", )" + std::string(variant) + R"("passes": [{"shader": "s.wgsl.jinja", )" +
         std::string(pass) + "}]}";
}

Request request(Shape shape = {4}, Json m = 0) {
  Request result;
  result.inputs.emplace_back("x", on_device(DType::f32, std::move(shape)));
  result.attrs = {{"m", std::move(m)}};
  return result;
}

// The first text, or the error.
std::string text_of(const std::string& source, const Request& call,
                    const DeviceCaps& caps = DeviceCaps::defaults()) {
  const auto made = plan(*make_package(source), call, caps);
  if (!made) return all_of(made.error());
  return made->passes.empty() ? "nothing runs" : *made->passes[0].wgsl;
}

std::string outcome(const std::string& source, const Request& call, planning::Files templates = {},
                    const PlanOptions& options = {},
                    const DeviceCaps& caps = DeviceCaps::defaults()) {
  const auto made = plan(*make_package(source, templates), call, caps, options);
  if (!made) return all_of(made.error());
  std::string ids = made->variant;
  for (const PlanPass& pass : made->passes) ids += " " + pass.id;
  return ids;
}

std::string fixed(std::string_view element, std::string_view length) {
  return manifest(
      one_pass(R"("derive": {"n": "attrs.m"}, "bindings": [{"arg": "x", "elementType": ")" +
               std::string(element) + R"(", "length": )" + std::string(length) +
               R"(}, "y"], "dispatch": {"x": 1})"));
}

TEST(FormatRules, FixedLengthsAreWrittenAndMeasured) {
  EXPECT_TRUE(contains(text_of(fixed("f32", "4"), request()), "x: array<f32, 4u>;"));
  EXPECT_TRUE(
      contains(text_of(fixed("vec2<f32>", "\"$n\""), request({4}, 2)), "x: array<vec2<f32>, 2u>;"));
  EXPECT_TRUE(contains(text_of(fixed("vec4<u32>", "\"$n\""), request({4}, "1")),
                       "x: array<vec4<u32>, 1u>;"));
  // vec3 takes the room of four components, atomics that of one.
  EXPECT_TRUE(contains(text_of(fixed("vec3<f32>", "1"), request({4})), "array<vec3<f32>, 1u>"));
  EXPECT_EQ(text_of(fixed("vec3<f32>", "1"), request({3})),
            "plan/rule: binding 'x' has 12 bytes; its fixed length of 1 needs 16");
  EXPECT_TRUE(contains(text_of(fixed("atomic<u32>", "4"), request({4})), "array<atomic<u32>, 4u>"));
  EXPECT_EQ(text_of(fixed("f32", "5"), request({4})),
            "plan/rule: binding 'x' has 16 bytes; its fixed length of 5 needs 20");
}

TEST(FormatRules, FixedLengthsThatCannotBe) {
  for (const Json& length : {Json(0), Json(1.5), Json("many"), Json(-1), Json(true)}) {
    const std::string text = text_of(fixed("f32", "\"$n\""), request({4}, length));
    EXPECT_TRUE(text.starts_with("plan/rule: binding 'x' has length ")) << text;
  }
  EXPECT_EQ(text_of(fixed("f32", "\"$nosuch\""), request()),
            "plan/rule: binding 'x' takes its length from 'nosuch', which has no value");
  EXPECT_EQ(text_of(fixed("mat2x2<f32>", "4"), request()),
            "plan/rule: binding 'x' has a fixed length, which elements of type mat2x2<f32> cannot "
            "have");
}

TEST(FormatRules, RepeatGroupsNumberTheirPasses) {
  const std::string nested = manifest(R"({"id": "v", "passes": [
    {"id": "outer", "repeat": {"count": "attrs.m", "index": "i"}, "passes": [
      {"id": "p", "shader": "s.wgsl.jinja", "bindings": ["x", "y"], "dispatch": {"x": "repeat.index + 1"}},
      {"repeat": {"count": "repeat.i + 1", "index": "j"}, "passes": [
        {"id": "q", "shader": "s.wgsl.jinja", "bindings": ["x", "y"], "dispatch": {"x": 1},
         "derive": {"text": "repeat.i ~ repeat.i_count ~ repeat.j ~ repeat.j_count ~ repeat.index ~ repeat.count"}}]}]}]})");
  EXPECT_EQ(outcome(nested, request({4}, 2), {{"s.wgsl.jinja", "{{ text }}"}}),
            "v outer[0].p outer[0].repeat_1[0].q outer[1].p outer[1].repeat_1[0].q "
            "outer[1].repeat_1[1].q");
  const auto made = plan(*make_package(nested, {{"s.wgsl.jinja", "{{ text }}"}}), request({4}, 2),
                         DeviceCaps::defaults());
  ASSERT_TRUE(made);
  EXPECT_EQ(*made->passes[4].wgsl, "121212");
  EXPECT_EQ(made->passes[2].dispatch[0], 2U);
  EXPECT_EQ(*made->passes[0].wgsl, "");  // no derive of another pass is seen
}

TEST(FormatRules, RepeatGroupsHaveBounds) {
  const std::string source = manifest(
      R"({"id": "v", "passes": [{"id": "g", "repeat": {"count": "attrs.m", "index": "i"}, "passes": [
        {"shader": "s.wgsl.jinja", "bindings": ["x", "y"], "dispatch": {"x": 1}}]}]})");
  EXPECT_EQ(outcome(source, request({4}, 0)),
            "plan/rule: variant 'v' has no pass left: every repeat count is 0");
  for (const double count : {-1.0, 1.5, 65536.0}) {
    EXPECT_TRUE(
        outcome(source, request({4}, count)).starts_with("plan/rule: repeat group 'g' has count "));
  }
  PlanOptions options;
  options.limits = Limits{.passes = 3};
  EXPECT_EQ(outcome(source, request({4}, 3), {}, options), "v g[0].pass_0 g[1].pass_0 g[2].pass_0");
  EXPECT_EQ(outcome(source, request({4}, 4), {}, options),
            "limit/count: the variant has more than 3 pass instances");
}

TEST(FormatRules, PassesWithOneIdFailWhenTheirVariantIsTaken) {
  const std::string source = manifest(
      R"({"id": "twice", "when": ["attrs.m == 1"], "passes": [
           {"id": "p", "shader": "s.wgsl.jinja", "bindings": ["x", "y"], "dispatch": {"x": 1}},
           {"id": "p", "shader": "s.wgsl.jinja", "bindings": ["x", "y"], "dispatch": {"x": 1}}]},
         {"id": "good", "passes": [{"shader": "s.wgsl.jinja", "bindings": ["x", "y"], "dispatch": {"x": 1}}]})");
  EXPECT_EQ(outcome(source, request({4}, 0)), "good pass_0");
  EXPECT_EQ(outcome(source, request({4}, 1)), "plan/rule: two passes have the id 'p'");
}

std::string with_field(std::string_view field, std::string_view dispatch = "1") {
  return manifest(one_pass(R"("bindings": ["x", "y", {"name": "p", "struct": [)" +
                           std::string(field) + R"(]}], "dispatch": {"x": )" +
                           std::string(dispatch) + "}"));
}

std::uint32_t first_word(const std::string& source, const Request& call) {
  const auto made = plan(*make_package(source), call, DeviceCaps::defaults());
  if (!made || made->passes.empty()) {
    ADD_FAILURE() << (made ? "nothing runs" : all_of(made.error()));
    return 0;
  }
  std::uint32_t word = 0;
  std::memcpy(&word, made->passes[0].uniforms[0].bytes.data(), 4);
  return word;
}

TEST(FormatRules, UniformValuesAreRoundedAndChecked) {
  const std::string real = with_field(R"({"name": "a", "type": "f32", "value": "attrs.m"})");
  EXPECT_EQ(first_word(real, request({4}, 1e39)), 0x7f800000U);
  EXPECT_EQ(first_word(real, request({4}, -1e39)), 0xff800000U);
  EXPECT_EQ(first_word(real, request({4}, 0.1)), 0x3dcccccdU);
  const std::string word = with_field(R"({"name": "a", "type": "u32", "value": "attrs.m"})");
  EXPECT_EQ(first_word(word, request({4}, 4294967295.0)), 0xffffffffU);
  for (const double value : {-1.0, 0.5, 4294967296.0}) {
    EXPECT_TRUE(outcome(word, request({4}, value)).starts_with("plan/rule: uniform 'p.a' is "))
        << value;
  }
  const std::string sign = with_field(R"({"name": "a", "type": "i32", "value": "attrs.m"})");
  EXPECT_EQ(first_word(sign, request({4}, -1)), 0xffffffffU);
  EXPECT_TRUE(outcome(sign, request({4}, 2147483648.0)).starts_with("plan/rule: uniform 'p.a' "));
  // A bool is no number.
  EXPECT_TRUE(outcome(word, request({4}, true)).starts_with("plan/rule: uniform 'p.a' is true"));
}

TEST(FormatRules, PassesThatDoNotRunCheckTheirUniformsLess) {
  const std::string range = with_field(R"({"name": "a", "type": "u32", "value": "attrs.m"})", "0");
  EXPECT_EQ(outcome(range, request({4}, -1)), "v");
  EXPECT_EQ(outcome(with_field(R"({"name": "need", "type": "u32"})", "0"), request()), "v");
  // What is no number fails all the same, and so does infinity in an integer.
  EXPECT_TRUE(outcome(range, request({4}, "text")).starts_with("plan/rule: uniform 'p.a' "));
  EXPECT_TRUE(outcome(with_field(R"j({"name": "a", "type": "u32", "value": "pow(10, 400)"})j", "0"),
                      request())
                  .starts_with("plan/rule: uniform 'p.a' "));
}

TEST(FormatRules, StructsOfOneNameHaveTheSameFields) {
  const auto source = [](std::string_view field) {
    return manifest(one_pass(
        R"("bindings": ["x", "y", {"name": "p", "struct": [{"name": "a", "type": "u32", "value": 1}]},
           {"name": "q", "struct": [{"name": ")" +
        std::string(field) + R"(", "type": "u32", "value": 2}]}], "dispatch": {"x": 1})"));
  };
  const std::string text = text_of(source("a"), request());
  EXPECT_EQ(text.find("struct Params"), text.rfind("struct Params")) << text;
  EXPECT_EQ(text_of(source("b"), request()),
            "plan/rule: uniform struct 'Params' is declared twice with different fields");
}

TEST(FormatRules, PaddingAvoidsNamesOfFields) {
  const std::string text = text_of(
      with_field(
          R"({"name": "_pad0", "type": "u32", "value": 1}, {"name": "b", "type": "i32", "value": 2})"),
      request());
  EXPECT_TRUE(text.starts_with("struct Params { _pad0: u32, b: i32, _pad1: u32, _pad2: u32 };"))
      << text;
}

TEST(FormatRules, GuardsMustBeExactlyTrue) {
  const auto guarded = [](std::string_view clause, std::string_view kind = "when") {
    return manifest(
        R"({"id": "a", ")" + std::string(kind) + R"(": [")" + std::string(clause) +
        R"("], "passes": [{"shader": "s.wgsl.jinja", "bindings": ["x", "y"], "dispatch": {"x": 1}}]},
      {"id": "b", "priority": -1, "passes": [{"shader": "s.wgsl.jinja", "bindings": ["x", "y"], "dispatch": {"x": 1}}]})");
  };
  EXPECT_EQ(outcome(guarded("attrs.m == 0"), request()), "a pass_0");
  for (const char* clause : {"1", "'true'", "[true]", "attrs.nothing", "nosuch"}) {
    EXPECT_EQ(outcome(guarded(clause), request()), "b pass_0") << clause;
  }
  // Only true demotes; an error makes ineligible. A demoted variant is the last resort.
  EXPECT_EQ(outcome(guarded("1", "demoteWhen"), request()), "a pass_0");
  EXPECT_EQ(outcome(guarded("true", "demoteWhen"), request()), "b pass_0");
  EXPECT_EQ(outcome(guarded("nosuch", "demoteWhen"), request()), "b pass_0");
}

TEST(FormatRules, DemotedAndIneligibleVariantsSupersedeNobody) {
  const auto source = [](std::string_view best) {
    return manifest(
        R"({"id": "best", "priority": 2, )" + std::string(best) +
        R"("passes": [{"shader": "s.wgsl.jinja", "bindings": ["x", "y"], "dispatch": {"x": 1}}]},
      {"id": "old", "priority": 1, "supersededBy": ["best"],
       "passes": [{"shader": "s.wgsl.jinja", "bindings": ["x", "y"], "dispatch": {"x": 1}}]})");
  };
  const auto verdict = [&](std::string_view best) {
    return explain(*make_package(source(best)), request(), DeviceCaps::defaults())
        .decisions[1]
        .verdict;
  };
  EXPECT_EQ(verdict(""), "superseded");
  EXPECT_EQ(verdict(R"("when": ["false"], )"), "selected");
  EXPECT_EQ(verdict(R"("demoteWhen": ["true"], )"), "selected");
}

TEST(FormatRules, MatrixPatternsPassWhereNothingIsReported) {
  const std::string source = manifest(one_pass(
      R"("bindings": ["x", "y"], "dispatch": {"x": 1})",
      R"("requires": {"subgroupMatrixConfigs": [{"componentType": "f16", "M": 16}, {"K": 4}]}, )"));
  DeviceCaps caps = DeviceCaps::defaults();
  EXPECT_EQ(outcome(source, request(), {}, {}, caps), "v pass_0");
  caps.subgroup_matrix_configs.emplace();
  EXPECT_TRUE(outcome(source, request(), {}, {}, caps).starts_with("select/none"));
  caps.subgroup_matrix_configs->push_back({"f16", "f16", 8, 8, 8});
  EXPECT_TRUE(outcome(source, request(), {}, {}, caps).starts_with("select/none"));
  caps.subgroup_matrix_configs->push_back({"f32", "f32", 8, 8, 4});
  EXPECT_EQ(outcome(source, request(), {}, {}, caps), "v pass_0");
}

TEST(FormatRules, TunablesOfAVariantCountAfterSelection) {
  const std::string source = manifest(
      R"({"id": "v", "tunables": {"W": {"default": 8}}, "when": ["tunables.W == 4"],
          "passes": [{"shader": "s.wgsl.jinja", "bindings": ["x", "y"], "dispatch": {"x": "tunables.W"}}]})",
      R"("tunables": {"W": {"default": 4}},)");
  const auto made = plan(*make_package(source), request(), DeviceCaps::defaults());
  ASSERT_TRUE(made) << all_of(made.error());
  EXPECT_EQ(made->passes[0].dispatch[0], 8U);
}

TEST(FormatRules, GivenScalarsArePresentDuringInferenceOnly) {
  const std::string source =
      R"({"domain": "test", "name": "A", "inputs": {"x": {"dtype": "float32"}},
    "outputs": {"y": {"dtype": "float32", "shape": "[2 if present.a else 1]"}},
    "args": {"a": {"kind": "u32", "required": false}},
    "variants": [{"id": "v", "passes": [{"shader": "s.wgsl.jinja", "bindings": ["x", "y"],
      "dispatch": {"x": "2 if present.a else 1"}}]}]})";
  Request call;
  call.inputs.emplace_back("x", on_device(DType::f32, {4}));
  call.args = {{"a", 7}};
  const auto made = plan(*make_package(source), call, DeviceCaps::defaults());
  ASSERT_TRUE(made) << all_of(made.error());
  EXPECT_EQ(made->tensor("y")->shape, Shape{2});
  EXPECT_EQ(made->passes[0].dispatch[0], 1U);
}

TEST(FormatRules, BindingsAreComparedWithTheFirstOfTheirBuffer) {
  const std::string source =
      R"({"domain": "test", "name": "W", "inputs": {"x": {"dtype": "float32"}},
    "outputs": {"a": {"dtype": "float32", "shape": [4]}, "b": {"dtype": "float32", "shape": [4]}, "c": {"dtype": "float32", "shape": [4]}},
    "variants": [{"id": "v", "passes": [{"shader": "s.wgsl.jinja", "bindings": ["x", "a", "b", "c"], "dispatch": {"x": 1}}]}]})";
  const auto call = [](std::uint64_t b, std::uint64_t c) {
    Request result;
    result.inputs.emplace_back("x", on_device(DType::f32, {4}));
    const std::pair<const char*, std::uint64_t> outputs[] = {{"a", 0}, {"b", b}, {"c", c}};
    for (const auto& [port, offset] : outputs) {
      OutputDesc output;
      output.destination = on_device(DType::f32, {4});
      output.destination->range = BufferRange{9, offset, 4096};
      result.outputs.emplace_back(port, output);
    }
    return result;
  };
  EXPECT_EQ(outcome(source, call(256, 512)), "v pass_0");
  EXPECT_TRUE(outcome(source, call(0, 512)).starts_with("request/alias"));
  EXPECT_EQ(outcome(source, call(256, 256)), "v pass_0");  // as in the published loader
}

TEST(FormatRules, WorkIsLimited) {
  const std::string source = manifest(one_pass(R"("bindings": ["x", "y"], "dispatch": {"x": 1})"));
  const auto failing = [&](std::string_view text, const PlanOptions& options) {
    return outcome(source, request(), {{"s.wgsl.jinja", text}}, options).substr(0, 12);
  };
  PlanOptions options;
  options.limits = Limits{.steps = 1000};
  EXPECT_EQ(failing("{% for i in range(100) %}x{% endfor %}", options), "v pass_0");
  EXPECT_EQ(failing("{% for i in range(2000) %}x{% endfor %}", options), "limit/steps:");
  options = {};
  options.limits = Limits{.output_bytes = 100};
  EXPECT_EQ(failing("{% for i in range(30) %}xyzw{% endfor %}", options), "limit/output");
  options = {};
  options.limits = Limits{.depth = 10};
  EXPECT_EQ(failing("{% macro m(n) %}{{ m(n - 1) if n > 0 }}{% endmacro %}{{ m(5) }}", options),
            "v pass_0");
  EXPECT_EQ(failing("{% macro m(n) %}{{ m(n - 1) if n > 0 }}{% endmacro %}{{ m(20) }}", options),
            "limit/depth:");
}

// A limit for one evaluation is none for a plan that has very many of them.
TEST(FormatRules, WorkOfAPlanIsLimitedAsAWhole) {
  PlanOptions options;
  options.limits = Limits{.steps = 300'000};  // 1,200,000 for all together
  const auto code = [&](const std::string& source, planning::Files templates = {}) {
    return outcome(source, request(), templates, options).substr(0, 12);
  };
  const auto repeated = [](std::string_view count, std::string_view pass) {
    return manifest(R"({"id": "v", "passes": [{"repeat": {"count": )" + std::string(count) +
                    R"(, "index": "i"}, "passes": [{"shader": "s.wgsl.jinja", )" +
                    std::string(pass) + "}]}]}");
  };
  const std::string plain = R"("bindings": ["x", "y"], "dispatch": {"x": 1})";
  const std::string derived = R"("derive": {"k": "repeat.i"}, )" + plain;
  const planning::Files loop = {{"s.wgsl.jinja", "{{ k }}{% for i in range(20000) %}{% endfor %}"}};
  EXPECT_EQ(code(repeated("2", derived), loop), "v repeat_0[0");
  EXPECT_EQ(code(repeated("1000", derived), loop), "limit/steps:");

  // The same for expressions: manifest derives, clauses, uniforms.
  const std::string list = "fill(1, 4000)";
  const auto many = [&](std::string_view open, std::string_view close, int count) {
    std::string text;
    for (int i = 0; i < count; ++i)
      text += (i == 0 ? "" : ", ") + std::string(open) + std::to_string(i) + std::string(close);
    return text;
  };
  const std::string derives =
      R"("derive": {)" + many("\"d", "\": \"attrs.m ~ fill(1, 4000)|length\"", 1000) + "},";
  EXPECT_EQ(code(manifest(one_pass(plain), derives)), "limit/steps:");
  const std::string clauses =
      R"("when": [)" + many("\"", " <= attrs.m + fill(1, 4000)|length\"", 1000) + "],";
  EXPECT_EQ(code(manifest(one_pass(plain, clauses))), "limit/steps:");
  const std::string fields =
      R"("bindings": ["x", "y", {"buffer": "uniform", "name": "u", "struct": [)" +
      many("{\"type\": \"f32\", \"value\": \"fill(1, 4000)|length\", \"name\": \"f", "\"}", 1000) +
      R"(]}], "dispatch": {"x": 1})";
  EXPECT_EQ(code(manifest(one_pass(fields))), "limit/steps:");
  // Names and bindings are made for each instance.
  const std::string long_id = R"("id": ")" + std::string(100'000, 'p') + R"(", )" + plain;
  EXPECT_EQ(code(repeated("60000", long_id)), "limit/steps:");
}

// Clauses that depend on the device alone are evaluated once for all plans, as far as that goes.
// The others are left to each plan: none is false because there are so many.
TEST(FormatRules, WhatComesTooLateOnceIsNotFalse) {
  PlanOptions options;
  options.limits = Limits{.steps = 300'000};
  const auto taken = [&](int count) {
    std::string clauses;
    for (int i = 0; i < count; ++i)
      clauses +=
          (i == 0 ? "\"" : ", \"") + std::to_string(i) + " >= 0 and fill(1, 4000)|length == 4000\"";
    return outcome(manifest(one_pass(R"("bindings": ["x", "y"], "dispatch": {"x": 1})",
                                     R"("when": [)" + clauses + "], ")),
                   request(), {}, options)
        .substr(0, 12);
  };
  EXPECT_EQ(taken(100), "v pass_0");
  EXPECT_EQ(taken(220), "v pass_0");
  EXPECT_EQ(taken(1000), "limit/steps:");
}

// One variant that is wanted, and one to fall back on.
std::string wanted_or(const std::string& clauses, std::string_view more = "") {
  const std::string pass =
      R"("passes": [{"shader": "s.wgsl.jinja", "bindings": ["x", "y"], "dispatch": {"x": 1}}]})";
  return manifest(R"({"id": "good", "priority": 10, "when": [)" + clauses + "], " + pass +
                      R"(, {"id": "slow", )" + pass,
                  more);
}

std::string many_texts(int count, const std::function<std::string(int)>& make) {
  std::string all;
  for (int i = 0; i < count; ++i) all += (i == 0 ? "" : ", ") + make(i);
  return all;
}

// As with steps: what texts cost elsewhere makes no clause false, in the part that all plans share
// and in one plan.
TEST(FormatRules, TextsThatAreUsedUpSelectNothing) {
  PlanOptions options;
  options.limits = Limits{.output_bytes = 1000};
  const std::string letters(800, 'a');
  const auto derived = [&](int count) {
    const std::string derives = many_texts(count, [&](int i) {
      return "\"d" + std::to_string(i) + "\": \"'" + letters + "' ~ 'b'\"";
    });
    return outcome(wanted_or(R"("'a' ~ 'b' == 'ab'")", R"("derive": {)" + derives + "},"),
                   request(), {}, options);
  };
  EXPECT_EQ(derived(30), "good pass_0");
  EXPECT_EQ(derived(45), "good pass_0");
  const auto judged = [&](int count, const char* variant) {
    const std::string clauses = many_texts(count, [&](int i) {
      return "\"'" + letters + "' ~ attrs.m != '" + std::to_string(i) + "'\"";
    });
    Request call = request();
    call.variant = variant;
    return outcome(wanted_or(clauses), call, {}, options).substr(0, 12);
  };
  EXPECT_EQ(judged(30, ""), "good pass_0");
  EXPECT_EQ(judged(45, ""), "limit/output");
  EXPECT_EQ(judged(45, "good"), "limit/output");
}

// Reasons cost a plan nothing, and an explanation selects what a plan does.
TEST(FormatRules, AnExplanationSelectsWhatAPlanDoes) {
  PlanOptions options;
  options.limits = Limits{.steps = 300'000};
  const std::string pass =
      R"("passes": [{"shader": "s.wgsl.jinja", "bindings": ["x", "y"], "dispatch": {"x": 1}}]})";
  const std::string refused = many_texts(130, [&](int i) {
    return R"({"id": "v)" + std::to_string(i) + R"(", "priority": )" + std::to_string(1000 - i) +
           R"(, "when": ["fill(1, 4000)|length + attrs.m == )" + std::to_string(i) + R"("], )" +
           pass;
  });
  const auto package = make_package(
      manifest(refused + R"(, {"id": "good", "priority": 0, "when": ["attrs.m == 0"], )" + pass));
  const auto made = plan(*package, request(), DeviceCaps::defaults(), options);
  ASSERT_TRUE(made) << made.error().to_string();
  EXPECT_EQ(made->variant, "good");
  EXPECT_EQ(explain(*package, request(), DeviceCaps::defaults(), options).selected, "good");
}

// A text that is known already costs what it cost when it was made.
TEST(FormatRules, ALimitDoesNotDependOnWhatWasPlannedBefore) {
  PlanOptions options;
  options.limits = Limits{.steps = 300'000};
  const auto package = make_package(
      manifest(R"({"id": "v", "passes": [{"repeat": {"count": "attrs.m", "index": "i"}, "passes": [
        {"shader": "s.wgsl.jinja", "derive": {"k": "repeat.i"}, "bindings": ["x", "y"],
         "dispatch": {"x": 1}}]}]})"),
      {{"s.wgsl.jinja", "{{ k }}{% for i in range(20000) %}{% endfor %}"}});
  const Planner planner(package, DeviceCaps::defaults(), options);
  for (int turn = 0; turn < 3; ++turn) {
    const auto made = planner.plan(request({4}, 1000));
    ASSERT_FALSE(made) << turn;
    EXPECT_EQ(made.error().code, "limit/steps") << turn;
    EXPECT_TRUE(planner.plan(request({4}, 2))) << turn;
  }
}

}  // namespace
}  // namespace wgk
