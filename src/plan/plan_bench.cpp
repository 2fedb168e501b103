// SPDX-License-Identifier: Apache-2.0
// What planning costs: a new shape (rendering included), a new shape whose texts are known, and a
// known signature.
#include <benchmark/benchmark.h>

#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "json/json.h"
#include "package/package.h"
#include "plan/planner.h"

namespace wgk::planning {
namespace {

std::string read(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

// The row norm from the source tree, without its digests.
std::shared_ptr<const package::Package> row_norm() {
  static const auto loaded = [] {
    const std::string folder =
        std::string(WGK_SOURCE_DIR) +
        "/kernels/com.microsoft.SkipSimplifiedLayerNormalization/build/webgpu/";
    auto package = std::make_shared<package::Package>();
    package->manifest =
        package::read_manifest(*json::parse(read(folder + "manifest.json"))).value();
    package->contract =
        package::read_contract(*json::parse(read(folder + "contract.json"))).value();
    std::map<std::string, std::string, std::less<>> texts;
    const auto loader = [&](std::string_view name) -> const std::string* {
      const auto [text, fresh] = texts.try_emplace(std::string(name));
      if (fresh) text->second = read(folder + std::string(name));
      return &text->second;
    };
    for (const package::Variant& variant : package->manifest.variants) {
      for (const package::Pass* pass : package::passes_of(variant)) {
        if (package->find_template(pass->shader)) continue;
        auto parsed = jinja::Template::load(pass->shader, loader).value();
        package->templates.emplace_back(pass->shader,
                                        std::make_shared<const jinja::Template>(std::move(parsed)));
      }
    }
    return std::shared_ptr<const package::Package>(std::move(package));
  }();
  return loaded;
}

DeviceCaps device(const char* name) {
  return DeviceCaps::from_json(
             *json::parse(read(std::string(WGK_SOURCE_DIR) + "/tests/devices/" + name + ".json")))
      .value();
}

TensorDesc tensor(DType dtype, Shape shape) {
  TensorDesc result;
  result.shape = std::move(shape);
  result.dtype = dtype;
  result.on_device = true;
  return result;
}

Request request(std::int64_t rows, std::int64_t hidden) {
  Request result;
  result.inputs = {{"inputT", tensor(DType::f16, {1, rows, hidden})},
                   {"skipT", tensor(DType::f16, {1, rows, hidden})},
                   {"gammaT", tensor(DType::f16, {hidden})},
                   {"biasT", tensor(DType::f16, {hidden})}};
  result.outputs = {{"outputT", {}}, {"residualT", {}}};
  result.attrs = {{"epsilon", 1e-5}};
  return result;
}

// Every plan from nothing: no texts, no signatures, nothing kept of package and device.
void from_nothing(benchmark::State& state, const char* profile) {
  const auto package = row_norm();
  const DeviceCaps caps = device(profile);
  for (auto _ : state) benchmark::DoNotOptimize(plan(*package, request(300, 4096), caps));
}
BENCHMARK_CAPTURE(from_nothing, h200, "h200");

// A planner's first shape: nothing is rendered yet.
void new_text(benchmark::State& state, const char* profile) {
  const DeviceCaps caps = device(profile);
  std::unique_ptr<Planner> planner;
  for (auto _ : state) {
    state.PauseTiming();
    planner = std::make_unique<Planner>(row_norm(), caps);
    state.ResumeTiming();
    benchmark::DoNotOptimize(planner->plan(request(300, 4096)));
  }
}
BENCHMARK_CAPTURE(new_text, h200, "h200");
BENCHMARK_CAPTURE(new_text, default_limits, "default-limits");

// Another hidden size each time: its texts are rendered. Planners change before one has seen them
// all.
void new_width(benchmark::State& state, const char* profile) {
  constexpr std::int64_t kWidths = 256;
  const DeviceCaps caps = device(profile);
  auto planner = std::make_unique<Planner>(row_norm(), caps);
  std::int64_t width = 0;
  for (auto _ : state) {
    if (++width > kWidths) {
      state.PauseTiming();
      planner = std::make_unique<Planner>(row_norm(), caps);
      width = 1;
      state.ResumeTiming();
    }
    benchmark::DoNotOptimize(planner->plan(request(300, 4096 + 8 * width)));
  }
}
BENCHMARK_CAPTURE(new_width, h200, "h200");
BENCHMARK_CAPTURE(new_width, default_limits, "default-limits");

// Another number of rows: the texts are known.
void new_shape(benchmark::State& state, const char* profile) {
  const Planner planner(row_norm(), device(profile));
  std::int64_t rows = 0;
  for (auto _ : state) benchmark::DoNotOptimize(planner.plan(request(++rows, 4096)));
}
BENCHMARK_CAPTURE(new_shape, h200, "h200");
BENCHMARK_CAPTURE(new_shape, default_limits, "default-limits");

void known_signature(benchmark::State& state) {
  static const Planner planner(row_norm(), device("h200"));
  const Request call = request(300, 4096);
  for (auto _ : state) benchmark::DoNotOptimize(planner.plan(call));
}
BENCHMARK(known_signature);
BENCHMARK(known_signature)->Threads(2);

void explain_all(benchmark::State& state) {
  const Planner planner(row_norm(), device("h200"));
  const Request call = request(300, 4096);
  for (auto _ : state) benchmark::DoNotOptimize(planner.explain(call));
}
BENCHMARK(explain_all);

}  // namespace
}  // namespace wgk::planning

BENCHMARK_MAIN();
