// SPDX-License-Identifier: Apache-2.0
// Planning without a device, with every bend of the rules that C++ has.
#include "capi/handles.h"

using namespace wgk;        // NOLINT(google-build-using-namespace)
using namespace wgk::capi;  // NOLINT(google-build-using-namespace)

namespace {

Result<TensorDesc> parse_desc(const wgk_tensor_desc& given) {
  TensorDesc desc;
  auto shape = parse_shape(given.shape, given.rank);
  if (!shape) return std::unexpected(std::move(shape.error()));
  desc.shape = std::move(*shape);
  for (const auto& [dtype, to] :
       {std::pair{given.dtype, &desc.dtype}, std::pair{given.storage, &desc.storage},
        std::pair{given.host_array, &desc.host_array}}) {
    auto parsed = parse_optional_dtype(dtype);
    if (!parsed) return std::unexpected(std::move(parsed.error()));
    *to = *parsed;
  }
  desc.packed = given.packed;
  desc.on_device = given.on_device;
  if (given.has_range) desc.range = BufferRange{given.buffer, given.offset, given.size};
  if (given.host_size > 0 && given.host_data == nullptr)
    return failure("usage/arguments", "host_data is null");
  desc.host_data = {static_cast<const std::byte*>(given.host_data), given.host_size};
  return desc;
}

Result<OutputDesc> parse_output(const wgk_output_desc& given) {
  OutputDesc desc;
  if (given.shape != nullptr) {
    auto shape = parse_shape(given.shape, given.rank);
    if (!shape) return std::unexpected(std::move(shape.error()));
    desc.shape = std::move(*shape);
  }
  auto dtype = parse_optional_dtype(given.dtype);
  if (!dtype) return std::unexpected(std::move(dtype.error()));
  desc.dtype = *dtype;
  if (given.destination != nullptr) {
    auto destination = parse_desc(*given.destination);
    if (!destination) return std::unexpected(std::move(destination.error()));
    desc.destination = std::move(*destination);
  }
  return desc;
}

Result<Request> parse_request(const wgk_request* request) {
  if (request == nullptr) return failure("usage/arguments", "request is null");
  auto given = sized<wgk_request>(request, WGK_REQUEST_INIT);
  if (!given) return std::unexpected(std::move(given.error()));
  if ((given->input_count > 0 && given->inputs == nullptr) ||
      (given->output_count > 0 && given->outputs == nullptr))
    return failure("usage/arguments", "inputs or outputs is null");
  Request parsed;
  if (auto status = parse_values_of(*given, parsed); !status)
    return std::unexpected(std::move(status.error()));
  for (const wgk_tensor_desc& input : std::span(given->inputs, given->input_count)) {
    if (input.name == nullptr) return failure("usage/arguments", "an input has no name");
    auto desc = parse_desc(input);
    if (!desc) return std::unexpected(std::move(desc.error()));
    parsed.inputs.emplace_back(input.name, std::move(*desc));
  }
  for (const wgk_output_desc& output : std::span(given->outputs, given->output_count)) {
    if (output.name == nullptr) return failure("usage/arguments", "an output has no name");
    auto desc = parse_output(output);
    if (!desc) return std::unexpected(std::move(desc.error()));
    parsed.outputs.emplace_back(output.name, std::move(*desc));
  }
  return parsed;
}

Result<PlanOptions> parse_plan_options(const wgk_plan_options* options) {
  auto given = sized<wgk_plan_options>(options, WGK_PLAN_OPTIONS_INIT);
  if (!given) return std::unexpected(std::move(given.error()));
  PlanOptions parsed;
  parsed.check_bindings = !given->no_check_bindings;
  if (given->limits != nullptr) {
    auto limits = parse_limits(given->limits);
    if (!limits) return std::unexpected(std::move(limits.error()));
    if (auto status = limits->check(); !status) return std::unexpected(std::move(status.error()));
    parsed.limits = *limits;
  }
  if (given->template_at_hand != nullptr) {
    parsed.template_at_hand = [ask = given->template_at_hand,
                               user = given->template_user](std::string_view path) {
      return ask(std::string(path).c_str(), user);
    };
  }
  return parsed;
}

}  // namespace

extern "C" {

wgk_status wgk_planner_create(const wgk_package* package, const char* caps,
                              const wgk_plan_options* options, wgk_planner** planner,
                              wgk_error** error) {
  return guarded(error, [&]() -> Status {
    if (auto status = check(package, planner); !status) return status;
    auto device = parse_caps(caps);
    if (!device) return std::unexpected(std::move(device.error()));
    auto how = parse_plan_options(options);
    if (!how) return std::unexpected(std::move(how.error()));
    Planner made(package->value.shared(), std::move(*device), std::move(*how));
    *planner = new wgk_planner{package->value, std::move(made)};
    return {};
  });
}

wgk_status wgk_planner_info(const wgk_planner* planner, char** json, wgk_error** error) {
  return guarded(error, [&]() -> Status {
    if (auto status = check(planner, json); !status) return status;
    return give_json(Json::object({{"package", info_of(planner->package)},
                                   {"caps", planner->value.caps().to_json()}}),
                     json);
  });
}

wgk_status wgk_planner_plan(const wgk_planner* planner, const wgk_request* request, char** json,
                            wgk_error** error) {
  return guarded(error, [&]() -> Status {
    if (auto status = check(planner, json); !status) return status;
    auto call = parse_request(request);
    if (!call) return std::unexpected(std::move(call.error()));
    auto plan = planner->value.plan(*call);
    if (!plan) return std::unexpected(std::move(plan.error()));
    return give_json((*plan)->to_json(), json);
  });
}

wgk_status wgk_planner_explain(const wgk_planner* planner, const wgk_request* request, char** json,
                               wgk_error** error) {
  return guarded(error, [&]() -> Status {
    if (auto status = check(planner, json); !status) return status;
    auto call = parse_request(request);
    if (!call) return std::unexpected(std::move(call.error()));
    return give_json(planner->value.explain(*call).to_json(), json);
  });
}

void wgk_planner_free(wgk_planner* planner) { delete planner; }

}  // extern "C"
