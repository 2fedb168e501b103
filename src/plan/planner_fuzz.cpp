// SPDX-License-Identifier: Apache-2.0
// A package, a device and a request from one JSON text: planning errs or gives a plan, the same one
// each time, and agrees with its explanation.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "json/json.h"
#include "package/package.h"
#include "wgk/plan.h"

namespace wgk {
namespace {

constexpr Limits kLimits = {
    .passes = 64, .steps = 20'000, .depth = 60, .output_bytes = std::size_t{1} << 16};

const Json& member(const Json& json, std::string_view key) {
  static const Json absent;
  const Json* found = json.find(key);
  return found == nullptr ? absent : *found;
}

std::string text(const Json& json) {
  return json.if_string() == nullptr ? std::string() : *json.if_string();
}

std::shared_ptr<const package::Package> read_package(const Json& json) {
  auto manifest =
      package::read_manifest(member(json, "manifest"), {.max_variants = 64, .max_passes = 64});
  if (!manifest) return nullptr;
  auto package = std::make_shared<package::Package>();
  package->manifest = std::move(*manifest);
  if (auto contract = package::read_contract(member(json, "contract")))
    package->contract = std::move(*contract);
  const expr::Limits limits{kLimits.steps, kLimits.depth, kLimits.output_bytes};
  if (const auto* templates = member(json, "templates").if_object()) {
    for (const auto& [path, source] : *templates) {
      auto parsed = jinja::Template::parse(text(source), path, limits);
      if (!parsed) continue;
      package->templates.emplace_back(path,
                                      std::make_shared<const jinja::Template>(std::move(*parsed)));
    }
  }
  return package;
}

TensorDesc read_tensor(const Json& json) {
  TensorDesc tensor;
  if (const auto* shape = member(json, "shape").if_array()) {
    for (const Json& extent : *shape) {
      const double* number = extent.if_number();
      const bool fits = number != nullptr && *number > -1e18 && *number < 1e18;
      tensor.shape.push_back(fits ? static_cast<std::int64_t>(*number) : -1);
    }
  }
  tensor.dtype = dtype_from_name(text(member(json, "dtype")));
  tensor.storage = dtype_from_name(text(member(json, "storage")));
  tensor.packed = text(member(json, "layout")) == "packed";
  if (const double* buffer = member(json, "buffer").if_number();
      buffer != nullptr && *buffer >= 0 && *buffer < 100) {
    tensor.range = BufferRange{.buffer = static_cast<std::uint64_t>(*buffer)};
  }
  if (const std::string* data = member(json, "data").if_string()) {
    tensor.host_data = std::as_bytes(std::span(*data));
  } else {
    tensor.on_device = true;
  }
  return tensor;
}

Request read_request(const Json& json) {
  Request request;
  if (const auto* inputs = member(json, "inputs").if_object()) {
    for (const auto& [name, value] : *inputs) request.inputs.emplace_back(name, read_tensor(value));
  }
  if (const auto* outputs = member(json, "outputs").if_object()) {
    for (const auto& [name, value] : *outputs) {
      OutputDesc output;
      if (value.is_object()) output.destination = read_tensor(value);
      request.outputs.emplace_back(name, std::move(output));
    }
  }
  for (const auto& [key, target] :
       {std::pair{"attrs", &request.attrs}, std::pair{"args", &request.args},
        std::pair{"tunables", &request.tunables}}) {
    if (const auto* members = member(json, key).if_object()) *target = *members;
  }
  request.variant = text(member(json, "variant"));
  return request;
}

std::string shown(const Result<Plan>& made) {
  return made ? json::write(made->to_json()) : made.error().to_string();
}

void run(std::string_view input) {
  const auto json = json::parse(input, {.max_bytes = std::size_t{1} << 20, .max_depth = 64});
  if (!json) return;
  const auto package = read_package(*json);
  if (!package) return;
  const DeviceCaps caps =
      DeviceCaps::from_json(member(*json, "device")).value_or(DeviceCaps::defaults());
  const Request request = read_request(member(*json, "request"));
  PlanOptions options;
  options.limits = kLimits;
  const auto alone = plan(*package, request, caps, options);
  const Planner planner(package, caps, options);
  const auto first = planner.plan(request);
  const auto again = planner.plan(request);
  if (alone.has_value() != first.has_value() || alone.has_value() != again.has_value())
    std::abort();
  if (alone && (shown(alone) != shown(**first) || *first != *again)) std::abort();
  if (!alone && shown(alone) != first.error().to_string()) std::abort();
  const Explanation explanation = planner.explain(request);
  if (alone && explanation.selected != alone->variant) std::abort();
  if (explanation.decisions.size() != package->manifest.variants.size()) std::abort();
  (void)json::write(explanation.to_json());
}

}  // namespace
}  // namespace wgk

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  wgk::run({reinterpret_cast<const char*>(data), size});
  return 0;
}
