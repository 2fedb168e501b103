// SPDX-License-Identifier: Apache-2.0
// For tests: small packages made of text, and one runtime for all tests that do not break it.
#pragma once

#include <gtest/gtest.h>
#include <webgpu/webgpu.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "jinja/template.h"
#include "json/json.h"
#include "package/package.h"
#include "wgk/wgk.h"

namespace wgk::testing {

inline bool no_device() {
  const char* value = std::getenv("WGK_TEST_DEVICE");
  return value != nullptr && std::string_view(value) == "none";
}

inline ::testing::AssertionResult contains(std::string_view text, std::string_view part) {
  if (text.contains(part)) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "'" << text << "' lacks '" << part << "'";
}

inline const Runtime& shared_runtime() {
  static const Runtime kRuntime = [] {
    auto runtime = Runtime::create();
    if (runtime) return *runtime;
    ADD_FAILURE() << runtime.error().to_string();
    return Runtime(nullptr);
  }();
  return kRuntime;
}

class RuntimeTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (no_device()) GTEST_SKIP() << "WGK_TEST_DEVICE=none";
    ASSERT_TRUE(shared_runtime().impl())
        << "no device: set WGK_TEST_DEVICE=none to skip on purpose";
  }
};

inline Package make_package(std::string_view manifest, std::string_view wgsl) {
  auto package = std::make_shared<package::Package>();
  auto json = json::parse(manifest);
  if (!json) ADD_FAILURE() << json.error().to_string();
  auto read = package::read_manifest(*json);
  if (!read) ADD_FAILURE() << read.error().to_string();
  package->manifest = std::move(*read);
  package->manifest_digest = "test";
  auto text = jinja::Template::parse(wgsl, "s.wgsl.jinja");
  if (!text) ADD_FAILURE() << text.error().to_string();
  package->templates.emplace_back("s.wgsl.jinja",
                                  std::make_shared<const jinja::Template>(std::move(*text)));
  return Package(std::move(package));
}

// y = x * factor, in any 4-byte type; `gap` elements at the end stay unwritten. `more` goes behind
// the text: another text is another pipeline.
inline Package scale_package(const std::string& more = {}) {
  return make_package(R"json({
    "domain": "test", "name": "Scale",
    "inputs": {"x": {"onnx": "X", "dtype": "T"}},
    "outputs": {"y": {"onnx": "Y", "dtype": "T", "shape": "shapes.x"}},
    "args": {"factor": {"kind": "f32"}, "gap": {"kind": "u32", "required": false}},
    "typeConstraints": {"T": ["float32", "int32", "int8", "uint8", "int64"]},
    "tunables": {"WIDTH": {"default": 64}},
    "variants": [
      {"id": "fast", "priority": 1, "when": ["tunables.WIDTH == 64"], "passes": [{"id": "main", "shader": "s.wgsl.jinja",
        "bindings": ["x", "y", {"name": "params", "struct": [
          {"name": "count", "type": "u32", "value": "numel(shapes.x)"}, {"name": "factor", "type": "f32"},
          {"name": "gap", "type": "u32", "required": false}]}],
        "dispatch": {"threads": "numel(shapes.x)", "workgroupSize": 64}}]},
      {"id": "slow", "passes": [{"id": "main", "shader": "s.wgsl.jinja",
        "bindings": ["x", "y", {"name": "params", "struct": [
          {"name": "count", "type": "u32", "value": "numel(shapes.x)"}, {"name": "factor", "type": "f32"},
          {"name": "gap", "type": "u32", "required": false}]}],
        "dispatch": {"threads": "numel(shapes.x)", "workgroupSize": 64}}]}]
  })json",
                      R"wgsl({{ env.wgsl.resourceDeclarations }}
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  let i = id.x + id.y * 65535u * 64u;
  if (i + params.gap < params.count) { y[i] = x[i] * {{ dtypes.T }}(params.factor); }
})wgsl" + more);
}

// y += x in place, through a scratch that must start as zero; a split submission where `split`.
inline Package accumulate_package(bool split) {
  return make_package(std::string(R"json({
    "domain": "test", "name": "Accumulate",
    "inputs": {"x": {"dtype": "float32"}, "y": {"dtype": "float32"}},
    "outputs": {"y": {"dtype": "float32", "shape": "shapes.y"}},
    "variants": [{"id": "only", "intermediates": [{"id": "sum", "dtype": "float32", "shape": "shapes.x", "zeroInit": true}],
      "passes": [
        {"id": "add", "derive": {"step": "1"}, "shader": "s.wgsl.jinja", "bindings": ["x", "sum"], "dispatch": {"workgroups": 1})json") +
                          (split ? R"json(, "submitAfter": true)json" : "") + R"json(},
        {"id": "store", "derive": {"step": "2"}, "shader": "s.wgsl.jinja", "bindings": ["sum", "y"], "dispatch": {"workgroups": 1}}]}]
  })json",
                      R"wgsl({{ env.wgsl.resourceDeclarations }}
@compute @workgroup_size(64) fn main(@builtin(local_invocation_index) i: u32) {
{% if step == 1 %}  if (i < arrayLength(&x)) { sum[i] = sum[i] + x[i]; }
{% else %}  if (i < arrayLength(&sum)) { y[i] = y[i] + sum[i]; }
{% endif %}})wgsl");
}

inline std::vector<float> numbers(std::size_t count) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<float>(i) * 0.25F - 3.0F;
  return values;
}

inline std::vector<float> times(std::vector<float> values, float factor) {
  for (float& value : values) value *= factor;
  return values;
}

// y += factor * x in place, through a scratch that must start as zero and is left zero, or is not
// where `keeps` is false; a second scratch is left with values.
inline Package kept_package(bool keeps = true) {
  return make_package(R"json({
    "domain": "test", "name": "Kept",
    "inputs": {"x": {"dtype": "float32"}, "y": {"dtype": "float32"}},
    "outputs": {"y": {"dtype": "float32", "shape": "shapes.y"}},
    "args": {"factor": {"kind": "f32"}},
    "variants": [{"id": "only", "intermediates": [
        {"id": "board", "dtype": "float32", "shape": "shapes.x", "zeroInit": true, "keptZero": true},
        {"id": "other", "dtype": "float32", "shape": "shapes.x"}],
      "passes": [
        {"id": "add", "derive": {"step": "1"}, "shader": "s.wgsl.jinja", "bindings": ["x", "board"], "dispatch": {"workgroups": 1}},
        {"id": "store", "derive": {"step": "2"}, "shader": "s.wgsl.jinja", "bindings": ["board", "other", "y",
          {"name": "params", "struct": [{"name": "factor", "type": "f32"}]}], "dispatch": {"workgroups": 1}}]}]
  })json",
                      std::string(R"wgsl({{ env.wgsl.resourceDeclarations }}
@compute @workgroup_size(64) fn main(@builtin(local_invocation_index) i: u32) {
{% if step == 1 %}  for (var k = i; k < arrayLength(&x); k += 64u) { board[k] = board[k] + x[k]; }
{% else %}  for (var k = i; k < arrayLength(&board); k += 64u) {
    y[k] = y[k] + board[k] * params.factor;
    other[k] = 7.0;
)wgsl") + (keeps ? "    board[k] = 0.0;\n" : "") +
                          "  }\n{% endif %}}");
}

}  // namespace wgk::testing
