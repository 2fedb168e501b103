// SPDX-License-Identifier: Apache-2.0
// What is behind the C handles, and the line that no exception crosses.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "wgk.h"
#include "wgk/wgk.h"

struct wgk_error {
  std::string code, message, text;
};
struct wgk_runtime {
  wgk::Runtime value;
};
struct wgk_package {
  wgk::Package value;
};
struct wgk_kernel {
  wgk::Kernel value;
};
struct wgk_tensor {
  wgk::Tensor value;
};
struct wgk_result {
  wgk::CallResult value;
};
struct wgk_prepared {
  wgk::Prepared value;
};
struct wgk_bound {
  wgk::Bound value;
};
struct wgk_arena {
  wgk::Arena value;
};
struct wgk_device_needs {
  wgk::DeviceNeeds value;
};
struct wgk_planner {
  wgk::Package package;
  wgk::Planner value;
};
struct wgk_future {
  using Pending = std::variant<wgk::Future<wgk::CallResult>, wgk::Future<wgk::Prepared>,
                               wgk::Future<std::size_t>, wgk::Future<void>, wgk::Submission>;
  Pending pending;
  // After the wait or the callback, which may come on another thread or after it was freed.
  struct Place {
    std::mutex mutex;
    std::variant<std::monostate, wgk::CallResult, wgk::Prepared, std::size_t> result;
    void put(auto value) {
      const std::lock_guard lock(mutex);
      result = std::move(value);
    }
    // Takes a value of this kind out, once.
    template <class T>
    std::optional<T> take() {
      const std::lock_guard lock(mutex);
      T* const value = std::get_if<T>(&result);
      if (value == nullptr) return std::nullopt;
      std::optional<T> taken(std::move(*value));
      result = std::monostate();
      return taken;
    }
  };
  std::shared_ptr<Place> place = std::make_shared<Place>();
};

namespace wgk::capi {

wgk_status status_of(std::string_view code);
wgk_status report(const Error& error, wgk_error** to) noexcept;
// The same where there may be no memory for an Error.
wgk_status report(const char* code, const char* message, wgk_error** to) noexcept;

// Runs `body` (which returns a Status) and turns its error, or any exception, into a status and an
// error object.
template <class Body>
wgk_status guarded(wgk_error** error, Body&& body) noexcept {
  if (error != nullptr) *error = nullptr;
  try {
    const Status status = body();
    return status ? WGK_OK : report(status.error(), error);
  } catch (const std::bad_alloc&) {
    return report("limit/host-memory", "the host is out of memory", error);
  } catch (const std::exception& exception) {
    return report("usage/internal", exception.what(), error);
  } catch (...) {
    return report("usage/internal", "an unknown failure", error);
  }
}

// The same for functions that return no status: `otherwise` where the body throws.
template <class T, class Body>
T guarded_or(T otherwise, Body&& body) noexcept {
  try {
    return body();
  } catch (...) {
    return otherwise;
  }
}

// A null handle or place is an error of usage, not a crash.
template <class... Pointers>
Status check(Pointers... pointers) {
  if (((pointers != nullptr) && ...)) return {};
  return failure("usage/arguments", "a required pointer is null");
}

// Text for the caller to free.
Status give(std::string_view text, char** to);
Status give_json(const Json& json, char** to);

std::optional<std::string_view> optional_text(const char* text);
Result<Values> parse_values(const char* json, std::string_view what);
Result<Shape> parse_shape(const std::int64_t* shape, std::size_t rank);
Result<DType> parse_dtype(wgk_dtype dtype);
Result<std::optional<DType>> parse_optional_dtype(wgk_dtype dtype);
wgk_dtype dtype_of(DType dtype);
Result<TensorForm> parse_form(const wgk_tensor_form* form);
Result<UploadOptions> parse_upload(const wgk_upload_options* options);
Result<LoadOptions> parse_load(const wgk_load_options* options);
Result<Limits> parse_limits(const char* json);
Result<HostTensor> parse_host(const wgk_host_tensor* tensor);
Result<Inputs> parse_inputs(const wgk_input* inputs, std::size_t count);
Result<CallOptions> parse_call(const wgk_call_options* options);
Result<Signature> parse_signature(const wgk_signature* signature);
Result<DeviceCaps> parse_caps(const char* caps);
// Adds attrs, args, tunables and the variant of a sized struct.
template <class To, class From>
Status parse_values_of(const From& from, To& to) {
  for (const auto& [text, values, what] :
       {std::tuple{from.attrs, &to.attrs, "attrs"}, std::tuple{from.args, &to.args, "args"},
        std::tuple{from.tunables, &to.tunables, "tunables"}}) {
    auto parsed = parse_values(text, what);
    if (!parsed) return std::unexpected(std::move(parsed.error()));
    *values = std::move(*parsed);
  }
  if (from.variant != nullptr) to.variant = from.variant;
  return {};
}
std::optional<std::chrono::nanoseconds> parse_timeout(std::uint64_t nanoseconds);
Status give_needs(const MemoryNeeds& needs, wgk_memory_needs* to);
Json info_of(const Package& package);

// How every sized struct begins.
struct SizedHead {
  std::size_t struct_size = 0;
  std::uint32_t version = 0;
};
// Its size in the release that brought it: one that grows keeps the old number here.
template <class T>
constexpr std::size_t kFirstSize = sizeof(T);

// The head of a caller's struct, which has at least `least` bytes.
Result<SizedHead> parse_head(const void* given, std::size_t least);
// Nothing but zeros beyond the `known` bytes of a struct.
Status check_rest(const void* given, std::size_t known, std::size_t size);

// What the caller set of a sized struct; what an older caller does not know stays at its default.
template <class T>
Result<T> sized(const T* given, T defaults) {
  if (given == nullptr) return defaults;
  auto head = parse_head(given, kFirstSize<T>);
  if (!head) return std::unexpected(std::move(head.error()));
  if (auto status = check_rest(given, sizeof(T), head->struct_size); !status)
    return std::unexpected(std::move(status.error()));
  std::memcpy(&defaults, given, std::min(head->struct_size, sizeof(T)));
  return defaults;
}

// Gives out as much of a sized struct as the caller has room for, its head aside; what only the
// caller knows becomes zero.
template <class T>
Status give_sized(const T& value, T* to) {
  constexpr std::size_t kHead = offsetof(T, version) + sizeof(std::uint32_t);
  auto head = parse_head(to, kHead);
  if (!head) return std::unexpected(std::move(head.error()));
  const std::size_t length = std::min(head->struct_size, sizeof(T));
  std::memcpy(reinterpret_cast<char*>(to) + kHead, reinterpret_cast<const char*>(&value) + kHead,
              length - kHead);
  std::memset(reinterpret_cast<char*>(to) + length, 0, head->struct_size - length);
  return {};
}

// Moves a result into a new handle.
template <class H, class T>
Status give_handle(Result<T> result, H** to) {
  if (!result) return std::unexpected(std::move(result.error()));
  *to = new H{std::move(*result)};
  return {};
}

}  // namespace wgk::capi
