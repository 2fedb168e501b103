// SPDX-License-Identifier: Apache-2.0
// Cost of evaluating and rendering: the row norm of this repository, as planning one new shape does
// it.
#include <benchmark/benchmark.h>

#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "expr/expression.h"
#include "jinja/template.h"
#include "json/json.h"

namespace wgk::jinja {
namespace {

using expr::Expression;
using expr::Rule;
using expr::Scope;
using expr::Value;

const std::string kFolder =
    WGK_SOURCE_DIR "/kernels/com.microsoft.SkipSimplifiedLayerNormalization/build/webgpu/";

std::string read(const std::string& name) {
  std::ifstream stream(kFolder + name);
  std::stringstream text;
  text << stream.rdbuf();
  return text.str();
}

// What planning knows before the manifest's derives: a float32 call with 576 values a row.
const Scope& outer_scope() {
  static const Scope kScope = [] {
    Scope scope(&expr::helpers());
    const Json names = json::parse(R"({
      "shapes": {"inputT": [1, 128, 576], "skipT": [1, 128, 576], "gammaT": [576], "outputT": [1, 128, 576]},
      "ranks": {"inputT": 3, "skipT": 3, "gammaT": 1, "outputT": 3},
      "present": {"inputT": true, "skipT": true, "gammaT": true, "biasT": false, "outputT": true, "residualT": false,
                  "meanT": false, "invStdT": false},
      "attrs": {"epsilon": 9.999999960041972e-13}, "args": {}, "repeat": {},
      "dtypes": {"T": "f32"}, "logicalDtypes": {"T": "float32"},
      "tensorDtypes": {"inputT": "float32", "skipT": "float32", "gammaT": "float32", "outputT": "float32"}})")
                           .value();
    for (const Json::Member& member : *names.if_object())
      scope.set(member.first, Value::from_json(member.second));
    std::vector<std::pair<std::string, Value>> device = {
        {"features", expr::feature_set(std::vector<std::string>{"subgroups", "shader-f16"})},
        {"wgslLanguageFeatures", expr::feature_set(std::vector<std::string>{"subgroup_id"})}};
    device.emplace_back("limits", Value::from_json(json::parse(R"({
      "maxComputeInvocationsPerWorkgroup": 1024, "maxComputeWorkgroupSizeX": 1024, "maxComputeWorkgroupStorageSize": 32768,
      "maxStorageBufferBindingSize": 1073741824, "maxComputeWorkgroupsPerDimension": 65535})")
                                                       .value()));
    device.emplace_back("adapterInfo", Value::from_json(json::parse(R"({
      "vendor": "x", "architecture": "y", "isFallbackAdapter": false, "subgroupMinSize": 32, "subgroupMaxSize": 32})")
                                                            .value()));
    const Value value = Value::object(std::move(device));
    scope.set("device", value);
    scope.set("env",
              Value::object({{"device", value},
                             {"wgsl", Value::object({{"resourceDeclarations",
                                                      Value("struct Params { a: u32 };")}})}}));
    scope.set("f16Ok", expr::f16_ok(true));
    scope.set("T", Value("f32"));
    const Json manifest = json::parse(read("manifest.json")).value();
    std::vector<std::pair<std::string, Value>> tunables;
    if (const Json* all = manifest.find("tunables")) {
      for (const Json::Member& tunable : *all->if_object()) {
        tunables.emplace_back(tunable.first, Value::from_json(*tunable.second.find("default")));
      }
    }
    scope.set("tunables", Value::object(std::move(tunables)));
    return scope;
  }();
  return kScope;
}

const std::vector<std::pair<std::string, Rule>>& derives() {
  static const std::vector<std::pair<std::string, Rule>> kDerives = [] {
    std::vector<std::pair<std::string, Rule>> rules;
    const Json manifest = json::parse(read("manifest.json")).value();
    for (const Json::Member& member : *manifest.find("derive")->if_object()) {
      rules.emplace_back(member.first, Rule(member.second));
    }
    return rules;
  }();
  return kDerives;
}

bool derive_all(Scope& scope) {
  for (const auto& [name, rule] : derives()) {
    Result<Value> value = rule.evaluate(scope);
    if (!value) return false;
    scope.set(name, *std::move(value));
  }
  return true;
}

void evaluate_guard(benchmark::State& state) {
  const Expression guard(
      "numel(shapes.inputT) % 4 == 0 and shapes.inputT[-1] <= 4096 and not present.biasT");
  for (auto _ : state) {
    Result<Value> value = guard.evaluate(outer_scope());
    if (!value) state.SkipWithError(value.error().message);
    benchmark::DoNotOptimize(value);
  }
}
BENCHMARK(evaluate_guard);

void evaluate_derives(benchmark::State& state) {
  for (auto _ : state) {
    Scope scope(&outer_scope());
    if (!derive_all(scope)) state.SkipWithError("a derive failed");
  }
  state.counters["rules"] = static_cast<double>(derives().size());
}
BENCHMARK(evaluate_derives);

void render(benchmark::State& state, const std::string& file) {
  std::map<std::string, std::string> files;
  const Loader loader = [&](std::string_view path) -> const std::string* {
    const auto [entry, added] = files.try_emplace(std::string(path));
    if (added) entry->second = read(std::string(path));
    return entry->second.empty() ? nullptr : &entry->second;
  };
  const Result<Template> parsed = Template::load(file, loader);
  Scope scope(&outer_scope());
  if (!parsed || !derive_all(scope)) {
    state.SkipWithError(parsed ? "a derive failed" : parsed.error().to_string());
    return;
  }
  std::size_t bytes = 0;
  for (auto _ : state) {
    Result<std::string> text = parsed->render(scope);
    if (!text) state.SkipWithError(text.error().to_string());
    bytes = text ? text->size() : 0;
    benchmark::DoNotOptimize(text);
  }
  state.counters["bytes"] = static_cast<double>(bytes);
}
BENCHMARK_CAPTURE(render, row, "norm-skip-row.wgsl.jinja");
BENCHMARK_CAPTURE(render, row_vec4, "norm-skip-row-vec4.wgsl.jinja");

void parse_template(benchmark::State& state) {
  const std::string text = read("norm-skip-row.wgsl.jinja");
  for (auto _ : state) benchmark::DoNotOptimize(Template::parse(text, "t"));
}
BENCHMARK(parse_template);

}  // namespace
}  // namespace wgk::jinja

BENCHMARK_MAIN();
