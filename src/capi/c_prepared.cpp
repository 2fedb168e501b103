// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <format>

#include "capi/handles.h"

using namespace wgk;        // NOLINT(google-build-using-namespace)
using namespace wgk::capi;  // NOLINT(google-build-using-namespace)

namespace {

Result<std::vector<Prepared>> parse(const wgk_prepared* const* calls, size_t count) {
  std::vector<Prepared> list;
  for (std::size_t i = 0; i < count; ++i) {
    if (auto status = check(calls, calls[i]); !status)
      return std::unexpected(std::move(status.error()));
    list.push_back(calls[i]->value);
  }
  return list;
}

// Whether make_outputs makes a tensor for it.
bool is_made(const PlanTensor& tensor) { return !tensor.is_input; }

// Waits for whatever the future is and keeps its result.
Status wait(wgk_future& future, std::optional<std::chrono::nanoseconds> timeout) {
  return std::visit(
      [&](auto& pending) -> Status {
        auto result = pending.wait(timeout);
        if (!result) return std::unexpected(std::move(result.error()));
        if constexpr (!std::is_void_v<typename decltype(result)::value_type>)
          future.place->put(std::move(*result));
        return {};
      },
      future.pending);
}

template <class T>
Result<T> take(wgk_future& future) {
  std::optional<T> value = future.place->take<T>();
  if (!value)
    return failure("usage/future", "the future has no result of this kind, or it was taken",
                   "wait for it first");
  return std::move(*value);
}

template <class T, class H>
Status take(wgk_future* future, H** to) {
  if (auto status = check(future, to); !status) return status;
  return give_handle(take<T>(*future), to);
}

}  // namespace

extern "C" {

wgk_status wgk_prepared_plan(const wgk_prepared* prepared, char** json, wgk_error** error) {
  return guarded(error, [&]() -> Status {
    if (auto status = check(prepared, json); !status) return status;
    return give_json(prepared->value.plan().to_json(), json);
  });
}

wgk_status wgk_prepared_memory(const wgk_prepared* const* sequence, size_t count, bool with_arena,
                               wgk_memory_needs* needs, wgk_error** error) {
  return guarded(error, [&]() -> Status {
    if (auto status = check(needs); !status) return status;
    auto calls = parse(sequence, count);
    if (!calls) return std::unexpected(std::move(calls.error()));
    return give_needs(memory(*calls, with_arena), needs);
  });
}

wgk_status wgk_prepared_make_output(const wgk_prepared* prepared, const char* name,
                                    wgk_tensor** tensor, wgk_error** error) {
  return guarded(error, [&]() -> Status {
    if (auto status = check(prepared, name, tensor); !status) return status;
    return give_handle(prepared->value.make_output(name), tensor);
  });
}

size_t wgk_prepared_output_count(const wgk_prepared* prepared) {
  if (prepared == nullptr) return 0;
  return static_cast<size_t>(std::ranges::count_if(prepared->value.plan().tensors, is_made));
}

const char* wgk_prepared_output_name(const wgk_prepared* prepared, size_t index) {
  if (prepared == nullptr) return nullptr;
  for (const PlanTensor& tensor : prepared->value.plan().tensors) {
    if (is_made(tensor) && index-- == 0) return tensor.port.c_str();
  }
  return nullptr;
}

wgk_status wgk_prepared_make_outputs(const wgk_prepared* prepared, wgk_tensor** tensors,
                                     size_t count, wgk_error** error) {
  return guarded(error, [&]() -> Status {
    if (auto status = check(prepared); !status) return status;
    const std::size_t wanted = wgk_prepared_output_count(prepared);
    if (count != wanted || (count > 0 && tensors == nullptr)) {
      return failure("usage/arguments",
                     std::format("there is room for {} tensors; the plan has {} outputs",
                                 tensors == nullptr ? 0 : count, wanted));
    }
    auto outputs = prepared->value.make_outputs();
    if (!outputs) return std::unexpected(std::move(outputs.error()));
    std::vector<std::unique_ptr<wgk_tensor>> made;
    for (auto& [name, tensor] : *outputs)
      made.push_back(std::make_unique<wgk_tensor>(std::move(tensor)));
    for (std::size_t i = 0; i < count; ++i) tensors[i] = made[i].release();
    return {};
  });
}

wgk_status wgk_prepared_bind(const wgk_prepared* prepared, const wgk_named_tensor* tensors,
                             size_t count, const wgk_bind_options* options, wgk_bound** bound,
                             wgk_error** error) {
  return guarded(error, [&]() -> Status {
    if (auto status = check(prepared, bound); !status) return status;
    auto given = sized<wgk_bind_options>(options, WGK_BIND_OPTIONS_INIT);
    if (!given) return std::unexpected(std::move(given.error()));
    BindOptions wanted{.staging = given->staging, .own_scratch = given->own_scratch};
    if (given->arena != nullptr) wanted.arena = given->arena->value;
    std::vector<std::pair<std::string, Tensor>> list;
    for (std::size_t i = 0; i < count; ++i) {
      if (auto status = check(tensors, tensors[i].name, tensors[i].tensor); !status) return status;
      list.emplace_back(tensors[i].name, tensors[i].tensor->value);
    }
    return give_handle(prepared->value.bind(list, wanted), bound);
  });
}

void wgk_prepared_free(wgk_prepared* prepared) { delete prepared; }

wgk_status wgk_arena_create(const wgk_runtime* runtime, const wgk_prepared* const* calls,
                            size_t count, wgk_arena** arena, wgk_error** error) {
  return guarded(error, [&]() -> Status {
    if (auto status = check(runtime, arena); !status) return status;
    auto list = parse(calls, count);
    if (!list) return std::unexpected(std::move(list.error()));
    return give_handle(runtime->value.make_arena(*list), arena);
  });
}

uint64_t wgk_arena_bytes(const wgk_arena* arena) {
  return guarded_or<uint64_t>(0, [&] { return arena == nullptr ? 0 : arena->value.bytes(); });
}
void wgk_arena_free(wgk_arena* arena) { delete arena; }

wgk_status wgk_bound_memory(const wgk_bound* const* sequence, size_t count, wgk_memory_needs* needs,
                            wgk_error** error) {
  return guarded(error, [&]() -> Status {
    if (auto status = check(needs); !status) return status;
    std::vector<Bound> calls;
    for (std::size_t i = 0; i < count; ++i) {
      if (auto status = check(sequence, sequence[i]); !status) return status;
      calls.push_back(sequence[i]->value);
    }
    return give_needs(memory(calls), needs);
  });
}

wgk_needs wgk_bound_needs(const wgk_bound* bound) {
  return guarded_or<wgk_needs>(WGK_NEEDS_PASS, [&] {
    return bound == nullptr ? WGK_NEEDS_PASS : static_cast<wgk_needs>(bound->value.needs());
  });
}

wgk_status wgk_bound_plan(const wgk_bound* bound, char** json, wgk_error** error) {
  return guarded(error, [&]() -> Status {
    if (auto status = check(bound, json); !status) return status;
    return give_json(bound->value.plan().to_json(), json);
  });
}

wgk_status wgk_bound_staging_notes(const wgk_bound* bound, char** json, wgk_error** error) {
  return guarded(error, [&]() -> Status {
    if (auto status = check(bound, json); !status) return status;
    Json::Array notes;
    for (const std::string& note : bound->value.staging_notes()) notes.emplace_back(note);
    return give_json(notes, json);
  });
}

wgk_status wgk_bound_record_pass(const wgk_bound* bound, struct WGPUComputePassEncoderImpl* pass,
                                 wgk_error** error) {
  return guarded(error, [&]() -> Status {
    if (auto status = check(bound, pass); !status) return status;
    return bound->value.record(pass);
  });
}

wgk_status wgk_bound_record_encoder(const wgk_bound* bound, struct WGPUCommandEncoderImpl* encoder,
                                    wgk_error** error) {
  return guarded(error, [&]() -> Status {
    if (auto status = check(bound, encoder); !status) return status;
    return bound->value.record(encoder);
  });
}

wgk_status wgk_bound_submit(const wgk_bound* bound, wgk_error** error) {
  return guarded(error, [&]() -> Status {
    if (auto status = check(bound); !status) return status;
    return bound->value.submit();
  });
}

wgk_status wgk_bound_run(const wgk_bound* bound, wgk_future** future, wgk_error** error) {
  return guarded(error, [&]() -> Status {
    if (auto status = check(bound, future); !status) return status;
    auto submission = bound->value.run();
    if (!submission) return std::unexpected(std::move(submission.error()));
    *future = new wgk_future{wgk_future::Pending(std::move(*submission))};
    return {};
  });
}

wgk_status wgk_bound_run_and_read(const wgk_bound* bound, wgk_result** result, wgk_error** error) {
  return guarded(error, [&]() -> Status {
    if (auto status = check(bound, result); !status) return status;
    return give_handle(bound->value.run_and_read(), result);
  });
}

wgk_status wgk_bound_update(wgk_bound* bound, const char* args, wgk_error** error) {
  return guarded(error, [&]() -> Status {
    if (auto status = check(bound); !status) return status;
    auto values = parse_values(args, "args");
    if (!values) return std::unexpected(std::move(values.error()));
    return bound->value.update(*values);
  });
}

void wgk_bound_free(wgk_bound* bound) { delete bound; }

wgk_status wgk_future_ready(wgk_future* future, bool* ready, wgk_error** error) {
  return guarded(error, [&]() -> Status {
    if (auto status = check(future, ready); !status) return status;
    auto result = std::visit([](auto& pending) { return pending.ready(); }, future->pending);
    if (!result) return std::unexpected(std::move(result.error()));
    *ready = *result;
    return {};
  });
}

wgk_status wgk_future_wait(wgk_future* future, uint64_t timeout_ns, wgk_error** error) {
  return guarded(error, [&]() -> Status {
    if (auto status = check(future); !status) return status;
    return wait(*future, parse_timeout(timeout_ns));
  });
}

wgk_status wgk_future_then(wgk_future* future, wgk_future_callback callback, void* user,
                           wgk_error** error) {
  return guarded(error, [&]() -> Status {
    if (auto status = check(future); !status) return status;
    if (callback == nullptr) return failure("usage/arguments", "no callback was given");
    const bool waiting = std::visit(
        [](const auto& pending) {
          if constexpr (requires { static_cast<bool>(pending); })
            return static_cast<bool>(pending);
          else
            return true;
        },
        future->pending);
    if (!waiting)
      return failure("usage/future", "the future has its result, was cancelled or has a callback");
    std::visit(
        [&](auto& pending) {
          pending.then([place = std::weak_ptr(future->place), callback, user](auto result) {
            wgk_error* failed = nullptr;
            wgk_status status = WGK_OK;
            if (!result) {
              status = report(result.error(), &failed);
            } else if constexpr (!std::is_void_v<typename decltype(result)::value_type>) {
              if (const auto to = place.lock()) to->put(std::move(*result));
            }
            callback(status, failed, user);
          });
        },
        future->pending);
    return {};
  });
}

void wgk_future_cancel(wgk_future* future) {
  guarded_or(false, [&] {
    if (future != nullptr) std::visit([](auto& pending) { pending.cancel(); }, future->pending);
    return true;
  });
}

wgk_status wgk_future_take_result(wgk_future* future, wgk_result** result, wgk_error** error) {
  return guarded(error, [&] { return take<CallResult>(future, result); });
}

wgk_status wgk_future_take_prepared(wgk_future* future, wgk_prepared** prepared,
                                    wgk_error** error) {
  return guarded(error, [&] { return take<Prepared>(future, prepared); });
}

wgk_status wgk_future_take_count(wgk_future* future, size_t* count, wgk_error** error) {
  return guarded(error, [&]() -> Status {
    if (auto status = check(future, count); !status) return status;
    auto value = take<std::size_t>(*future);
    if (!value) return std::unexpected(std::move(value.error()));
    *count = *value;
    return {};
  });
}

void wgk_future_free(wgk_future* future) { delete future; }

}  // extern "C"
