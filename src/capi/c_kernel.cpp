// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "capi/handles.h"

using namespace wgk;        // NOLINT(google-build-using-namespace)
using namespace wgk::capi;  // NOLINT(google-build-using-namespace)

namespace {

struct ParsedCall {
  Inputs inputs;
  CallOptions options;
};

Result<ParsedCall> parse(const wgk_input* inputs, size_t count, const wgk_call_options* options) {
  auto parsed_inputs = parse_inputs(inputs, count);
  if (!parsed_inputs) return std::unexpected(std::move(parsed_inputs.error()));
  auto parsed_options = parse_call(options);
  if (!parsed_options) return std::unexpected(std::move(parsed_options.error()));
  return ParsedCall{std::move(*parsed_inputs), std::move(*parsed_options)};
}

template <class T>
Status give_future(Result<T> future, wgk_future** to) {
  if (!future) return std::unexpected(std::move(future.error()));
  *to = new wgk_future{wgk_future::Pending(std::move(*future))};
  return {};
}

}  // namespace

extern "C" {

wgk_status wgk_kernel_load(const wgk_runtime* runtime, const char* place,
                           const wgk_load_options* options, wgk_kernel** kernel,
                           wgk_error** error) {
  return guarded(error, [&]() -> Status {
    if (auto status = check(runtime, place, kernel); !status) return status;
    auto wanted = parse_load(options);
    if (!wanted) return std::unexpected(std::move(wanted.error()));
    return give_handle(runtime->value.load(place, *wanted), kernel);
  });
}

wgk_status wgk_kernel_from_package(const wgk_runtime* runtime, const wgk_package* package,
                                   const wgk_load_options* options, wgk_kernel** kernel,
                                   wgk_error** error) {
  return guarded(error, [&]() -> Status {
    if (auto status = check(runtime, package, kernel); !status) return status;
    auto wanted = parse_load(options);
    if (!wanted) return std::unexpected(std::move(wanted.error()));
    return give_handle(runtime->value.load(package->value, *wanted), kernel);
  });
}

wgk_status wgk_kernel_info(const wgk_kernel* kernel, char** json, wgk_error** error) {
  return guarded(error, [&]() -> Status {
    if (auto status = check(kernel, json); !status) return status;
    return give_json(info_of(kernel->value.package()), json);
  });
}

void wgk_kernel_free(wgk_kernel* kernel) { delete kernel; }

wgk_status wgk_kernel_call(const wgk_kernel* kernel, const wgk_input* inputs, size_t count,
                           const wgk_call_options* options, wgk_result** result,
                           wgk_error** error) {
  return guarded(error, [&]() -> Status {
    if (auto status = check(kernel, result); !status) return status;
    auto call = parse(inputs, count, options);
    if (!call) return std::unexpected(std::move(call.error()));
    return give_handle(kernel->value.call(call->inputs, call->options), result);
  });
}

wgk_status wgk_kernel_start(const wgk_kernel* kernel, const wgk_input* inputs, size_t count,
                            const wgk_call_options* options, wgk_future** future,
                            wgk_error** error) {
  return guarded(error, [&]() -> Status {
    if (auto status = check(kernel, future); !status) return status;
    auto call = parse(inputs, count, options);
    if (!call) return std::unexpected(std::move(call.error()));
    return give_future(kernel->value.start(call->inputs, call->options), future);
  });
}

wgk_status wgk_kernel_plan(const wgk_kernel* kernel, const wgk_signature* signature, char** json,
                           wgk_error** error) {
  return guarded(error, [&]() -> Status {
    if (auto status = check(kernel, json); !status) return status;
    auto call = parse_signature(signature);
    if (!call) return std::unexpected(std::move(call.error()));
    auto plan = kernel->value.plan(*call);
    if (!plan) return std::unexpected(std::move(plan.error()));
    return give_json((*plan)->to_json(), json);
  });
}

wgk_status wgk_kernel_plan_call(const wgk_kernel* kernel, const wgk_input* inputs, size_t count,
                                const wgk_call_options* options, char** json, wgk_error** error) {
  return guarded(error, [&]() -> Status {
    if (auto status = check(kernel, json); !status) return status;
    auto call = parse(inputs, count, options);
    if (!call) return std::unexpected(std::move(call.error()));
    auto plan = kernel->value.plan(call->inputs, call->options);
    if (!plan) return std::unexpected(std::move(plan.error()));
    return give_json((*plan)->to_json(), json);
  });
}

wgk_status wgk_kernel_explain(const wgk_kernel* kernel, const wgk_signature* signature, char** json,
                              wgk_error** error) {
  return guarded(error, [&]() -> Status {
    if (auto status = check(kernel, json); !status) return status;
    auto call = parse_signature(signature);
    if (!call) return std::unexpected(std::move(call.error()));
    return give_json(kernel->value.explain(*call).to_json(), json);
  });
}

wgk_status wgk_kernel_explain_call(const wgk_kernel* kernel, const wgk_input* inputs, size_t count,
                                   const wgk_call_options* options, char** json,
                                   wgk_error** error) {
  return guarded(error, [&]() -> Status {
    if (auto status = check(kernel, json); !status) return status;
    auto call = parse(inputs, count, options);
    if (!call) return std::unexpected(std::move(call.error()));
    return give_json(kernel->value.explain(call->inputs, call->options).to_json(), json);
  });
}

wgk_status wgk_kernel_memory(const wgk_kernel* kernel, const wgk_signature* signature,
                             wgk_memory_needs* needs, wgk_error** error) {
  return guarded(error, [&]() -> Status {
    if (auto status = check(kernel, needs); !status) return status;
    auto call = parse_signature(signature);
    if (!call) return std::unexpected(std::move(call.error()));
    auto memory = kernel->value.memory(*call);
    if (!memory) return std::unexpected(std::move(memory.error()));
    return give_needs(*memory, needs);
  });
}

wgk_status wgk_kernel_memory_call(const wgk_kernel* kernel, const wgk_input* inputs, size_t count,
                                  const wgk_call_options* options, wgk_memory_needs* needs,
                                  wgk_error** error) {
  return guarded(error, [&]() -> Status {
    if (auto status = check(kernel, needs); !status) return status;
    auto call = parse(inputs, count, options);
    if (!call) return std::unexpected(std::move(call.error()));
    auto memory = kernel->value.memory(call->inputs, call->options);
    if (!memory) return std::unexpected(std::move(memory.error()));
    return give_needs(*memory, needs);
  });
}

wgk_status wgk_kernel_prepare(const wgk_kernel* kernel, const wgk_signature* signature,
                              wgk_prepared** prepared, wgk_error** error) {
  return guarded(error, [&]() -> Status {
    if (auto status = check(kernel, prepared); !status) return status;
    auto call = parse_signature(signature);
    if (!call) return std::unexpected(std::move(call.error()));
    return give_handle(kernel->value.prepare(*call), prepared);
  });
}

wgk_status wgk_kernel_start_prepare(const wgk_kernel* kernel, const wgk_signature* signature,
                                    wgk_future** future, wgk_error** error) {
  return guarded(error, [&]() -> Status {
    if (auto status = check(kernel, future); !status) return status;
    auto call = parse_signature(signature);
    if (!call) return std::unexpected(std::move(call.error()));
    return give_future(kernel->value.start_prepare(*call), future);
  });
}

wgk_status wgk_runtime_prewarm(const wgk_runtime* runtime, const wgk_kernel* const* kernels,
                               const wgk_signature* const* signatures, size_t count,
                               wgk_future** future, wgk_error** error) {
  return guarded(error, [&]() -> Status {
    if (auto status = check(runtime, future); !status) return status;
    std::vector<Prewarm> calls;
    for (std::size_t i = 0; i < count; ++i) {
      if (auto status = check(kernels, signatures, kernels[i]); !status) return status;
      auto call = parse_signature(signatures[i]);
      if (!call) return std::unexpected(std::move(call.error()));
      calls.push_back({kernels[i]->value, std::move(*call)});
    }
    return give_future(runtime->value.prewarm(calls), future);
  });
}

wgk_status wgk_runtime_prewarm_remembered(const wgk_runtime* runtime, wgk_future** future,
                                          wgk_error** error) {
  return guarded(error, [&]() -> Status {
    if (auto status = check(runtime, future); !status) return status;
    return give_future(runtime->value.prewarm_remembered(), future);
  });
}

size_t wgk_result_count(const wgk_result* result) {
  return result == nullptr ? 0 : result->value.outputs().size();
}

const char* wgk_result_name(const wgk_result* result, size_t index) {
  if (index >= wgk_result_count(result)) return nullptr;
  return result->value.outputs()[index].first.c_str();
}

wgk_tensor* wgk_result_tensor(const wgk_result* result, const char* name) {
  return guarded_or<wgk_tensor*>(nullptr, [&]() -> wgk_tensor* {
    if (result == nullptr || name == nullptr || !result->value.at(name)) return nullptr;
    return new wgk_tensor{result->value.at(name)};
  });
}

const char* wgk_result_variant(const wgk_result* result) {
  return result == nullptr ? "" : result->value.plan().variant.c_str();
}

wgk_status wgk_result_timing(const wgk_result* result, wgk_call_timing* timing, wgk_error** error) {
  return guarded(error, [&]() -> Status {
    if (auto status = check(result, timing); !status) return status;
    const CallTiming& spent = result->value.timing();
    const wgk_call_timing all = {
        sizeof all,   1,          0,          spent.plan, spent.prepare, spent.upload,
        spent.submit, spent.wait, spent.total};
    return give_sized(all, timing);
  });
}

wgk_status wgk_result_plan(const wgk_result* result, char** json, wgk_error** error) {
  return guarded(error, [&]() -> Status {
    if (auto status = check(result, json); !status) return status;
    return give_json(result->value.plan().to_json(), json);
  });
}

void wgk_result_free(wgk_result* result) { delete result; }

}  // extern "C"
