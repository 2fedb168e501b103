// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <format>

#include "base/limit_names.h"
#include "capi/handles.h"
#include "json/json.h"

namespace wgk::capi {
namespace {

constexpr std::array<std::pair<std::string_view, wgk_status>, 11> kAreas = {{
    {"package", WGK_ERROR_PACKAGE},
    {"template", WGK_ERROR_TEMPLATE},
    {"expression", WGK_ERROR_EXPRESSION},
    {"request", WGK_ERROR_REQUEST},
    {"select", WGK_ERROR_SELECT},
    {"plan", WGK_ERROR_PLAN},
    {"limit", WGK_ERROR_LIMIT},
    {"device", WGK_ERROR_DEVICE},
    {"store", WGK_ERROR_STORE},
    {"io", WGK_ERROR_IO},
    {"usage", WGK_ERROR_USAGE},
}};

// Frozen: see wgk.h.
static_assert(sizeof(void*) != 8 ||
              (sizeof(wgk_host_tensor) == 48 && sizeof(wgk_tensor_form) == 8 &&
               sizeof(wgk_input) == 24 && sizeof(wgk_output) == 40 &&
               sizeof(wgk_signature_input) == 48 && sizeof(wgk_named_tensor) == 16 &&
               sizeof(wgk_tensor_desc) == 80 && sizeof(wgk_output_desc) == 40));

constexpr std::array kDTypes = {DType::f32, DType::f16, DType::i8,  DType::i16,    DType::i32,
                                DType::i64, DType::u8,  DType::u32, DType::boolean};

Result<std::vector<Output>> parse_outputs(const wgk_output* outputs, std::size_t count) {
  std::vector<Output> list;
  if (count > 0 && outputs == nullptr) return failure("usage/arguments", "outputs is null");
  for (const wgk_output& given : std::span(outputs, count)) {
    if (given.name == nullptr) return failure("usage/arguments", "an output has no name");
    Output output(given.name);
    if (given.shape != nullptr) {
      auto shape = parse_shape(given.shape, given.rank);
      if (!shape) return std::unexpected(std::move(shape.error()));
      output.shape = std::move(*shape);
    }
    auto dtype = parse_optional_dtype(given.dtype);
    if (!dtype) return std::unexpected(std::move(dtype.error()));
    output.dtype = *dtype;
    if (given.destination != nullptr) output.destination = given.destination->value;
    list.push_back(std::move(output));
  }
  return list;
}

// The parts that calls and signatures have in common.
template <class To, class From>
Status parse_common(const From& from, To& to) {
  if (auto status = parse_values_of(from, to); !status) return status;
  auto outputs = parse_outputs(from.outputs, from.output_count);
  if (!outputs) return std::unexpected(std::move(outputs.error()));
  to.outputs = std::move(*outputs);
  return {};
}

}  // namespace

wgk_status status_of(std::string_view code) {
  const std::string_view area = code.substr(0, code.find('/'));
  for (const auto& [name, status] : kAreas) {
    if (name == area) return code == "usage/internal" ? WGK_ERROR_INTERNAL : status;
  }
  return WGK_ERROR_INTERNAL;
}

wgk_status report(const Error& error, wgk_error** to) noexcept {
  const wgk_status status = status_of(error.code);
  if (to == nullptr) return status;
  try {
    *to = new wgk_error{error.code, error.message, error.to_string()};
  } catch (...) {
    *to = nullptr;  // out of memory: the status has to do
  }
  return status;
}

wgk_status report(const char* code, const char* message, wgk_error** to) noexcept {
  try {
    return report(Error{code, message, {}, {}, {}}, to);
  } catch (...) {
    if (to != nullptr) *to = nullptr;
    return status_of(code);
  }
}

Status give(std::string_view text, char** to) {
  char* copy = static_cast<char*>(std::malloc(text.size() + 1));
  if (copy == nullptr) return failure("limit/host-memory", "the host is out of memory");
  std::memcpy(copy, text.data(), text.size());
  copy[text.size()] = '\0';
  *to = copy;
  return {};
}

Status give_json(const Json& json, char** to) { return give(json::write(json), to); }

Result<Values> parse_values(const char* json, std::string_view what) {
  if (json == nullptr || *json == '\0') return Values();
  auto parsed = json::parse(json);
  if (!parsed)
    return std::unexpected(std::move(parsed.error()).during("reading " + std::string(what)));
  Json::Object* object = nullptr;
  if (parsed->is_object()) object = const_cast<Json::Object*>(parsed->if_object());
  if (object == nullptr)
    return failure("usage/arguments", std::string(what) + " is no JSON object");
  return std::move(*object);
}

Result<Shape> parse_shape(const std::int64_t* shape, std::size_t rank) {
  if (rank > 0 && shape == nullptr) return failure("usage/arguments", "shape is null");
  if (rank > 64)
    return failure("usage/arguments",
                   "rank is " + std::to_string(rank) + "; at most 64 are allowed");
  return rank == 0 ? Shape() : Shape(shape, shape + rank);
}

Result<DType> parse_dtype(wgk_dtype dtype) {
  if (dtype < 0 || static_cast<std::size_t>(dtype) >= kDTypes.size()) {
    return failure("usage/arguments", "dtype is " + std::to_string(dtype) + "; expected 0 to 8");
  }
  return kDTypes[static_cast<std::size_t>(dtype)];
}

Result<std::optional<DType>> parse_optional_dtype(wgk_dtype dtype) {
  if (dtype == WGK_DTYPE_DEFAULT) return std::nullopt;
  return parse_dtype(dtype);
}

wgk_dtype dtype_of(DType dtype) {
  for (std::size_t i = 0; i < kDTypes.size(); ++i) {
    if (kDTypes[i] == dtype) return static_cast<wgk_dtype>(i);
  }
  return WGK_DTYPE_DEFAULT;
}

Result<TensorForm> parse_form(const wgk_tensor_form* form) {
  TensorForm parsed;
  if (form == nullptr) return parsed;
  auto storage = parse_optional_dtype(form->storage);
  if (!storage) return std::unexpected(std::move(storage.error()));
  parsed.storage = *storage;
  parsed.packed = form->packed;
  return parsed;
}

Result<UploadOptions> parse_upload(const wgk_upload_options* options) {
  auto given = sized<wgk_upload_options>(options, WGK_UPLOAD_OPTIONS_INIT);
  if (!given) return std::unexpected(std::move(given.error()));
  auto form = parse_form(given->form);
  if (!form) return std::unexpected(std::move(form.error()));
  return UploadOptions{.keep_host_copy = given->keep_host_copy, .form = *form};
}

Result<LoadOptions> parse_load(const wgk_load_options* options) {
  auto given = sized<wgk_load_options>(options, WGK_LOAD_OPTIONS_INIT);
  if (!given) return std::unexpected(std::move(given.error()));
  return LoadOptions{.trust = given->trust};
}

Result<Limits> parse_limits(const char* json) {
  auto values = parse_values(json, "limits");
  if (!values) return std::unexpected(std::move(values.error()));
  Limits limits;
  for (const auto& [name, value] : *values) {
    const auto limit = limit_named(name);
    if (!limit) return std::unexpected(limit.error());
    const double* number = value.if_number();
    if (number == nullptr || !(*number >= 0 && *number <= 0x1p53) ||
        *number != std::trunc(*number)) {
      return failure("usage/arguments", "the limit '" + name + "' is " + json::write(value) +
                                            "; expected a whole number");
    }
    limits.** limit = static_cast<std::size_t>(*number);
  }
  return limits;
}

Result<HostTensor> parse_host(const wgk_host_tensor* tensor) {
  if (tensor == nullptr) return failure("usage/arguments", "a host tensor is null");
  auto dtype = parse_dtype(tensor->dtype);
  if (!dtype) return std::unexpected(std::move(dtype.error()));
  auto array = parse_optional_dtype(tensor->array);
  if (!array) return std::unexpected(std::move(array.error()));
  auto shape = parse_shape(tensor->shape, tensor->rank);
  if (!shape) return std::unexpected(std::move(shape.error()));
  if (tensor->size > 0 && tensor->data == nullptr)
    return failure("usage/arguments", "a host tensor has no data");
  HostTensor host(std::span(static_cast<const std::byte*>(tensor->data), tensor->size), *dtype,
                  std::move(*shape));
  host.array = *array;
  return host;
}

Result<Inputs> parse_inputs(const wgk_input* inputs, std::size_t count) {
  Inputs list;
  if (count > 0 && inputs == nullptr) return failure("usage/arguments", "inputs is null");
  for (const wgk_input& input : std::span(inputs, count)) {
    if (input.name == nullptr) return failure("usage/arguments", "an input has no name");
    if ((input.host == nullptr) == (input.tensor == nullptr)) {
      return failure("usage/arguments",
                     "input '" + std::string(input.name) + "' must have a host tensor or a tensor");
    }
    if (input.tensor != nullptr) {
      list.emplace_back(input.name, input.tensor->value);
      continue;
    }
    auto host = parse_host(input.host);
    if (!host) return std::unexpected(std::move(host.error()));
    list.emplace_back(input.name, std::move(*host));
  }
  return list;
}

Result<CallOptions> parse_call(const wgk_call_options* options) {
  auto given = sized<wgk_call_options>(options, WGK_CALL_OPTIONS_INIT);
  if (!given) return std::unexpected(std::move(given.error()));
  CallOptions parsed;
  if (auto status = parse_common(*given, parsed); !status)
    return std::unexpected(std::move(status.error()));
  parsed.read_back = given->read_back;
  parsed.staging = given->staging;
  parsed.poison_outputs = given->poison_outputs;
  parsed.guard_bytes = given->guard_bytes;
  return parsed;
}

Result<Signature> parse_signature(const wgk_signature* signature) {
  if (signature == nullptr) return failure("usage/arguments", "signature is null");
  auto given = sized<wgk_signature>(signature, WGK_SIGNATURE_INIT);
  if (!given) return std::unexpected(std::move(given.error()));
  Signature parsed;
  if (auto status = parse_common(*given, parsed); !status)
    return std::unexpected(std::move(status.error()));
  if (given->input_count > 0 && given->inputs == nullptr)
    return failure("usage/arguments", "inputs is null");
  for (const wgk_signature_input& input : std::span(given->inputs, given->input_count)) {
    if (input.name == nullptr) return failure("usage/arguments", "an input has no name");
    auto dtype = parse_dtype(input.dtype);
    if (!dtype) return std::unexpected(std::move(dtype.error()));
    auto storage = parse_optional_dtype(input.storage);
    if (!storage) return std::unexpected(std::move(storage.error()));
    auto shape = parse_shape(input.shape, input.rank);
    if (!shape) return std::unexpected(std::move(shape.error()));
    parsed.inputs.push_back(
        {input.name, *dtype, std::move(*shape), input.packed, *storage, input.buffer});
  }
  return parsed;
}

Result<DeviceCaps> parse_caps(const char* caps) {
  if (caps == nullptr) return DeviceCaps::defaults();
  auto values = parse_values(caps, "caps");
  if (!values) return std::unexpected(std::move(values.error()));
  return DeviceCaps::from_json(Json(Json::Object(std::move(*values))));
}

std::optional<std::chrono::nanoseconds> parse_timeout(std::uint64_t nanoseconds) {
  if (nanoseconds == WGK_TIMEOUT_DEFAULT) return std::nullopt;
  constexpr std::uint64_t kMost = std::uint64_t{1} << 62;
  return std::chrono::nanoseconds(
      static_cast<std::int64_t>(nanoseconds < kMost ? nanoseconds : kMost));
}

Status give_needs(const MemoryNeeds& needs, wgk_memory_needs* to) {
  wgk_memory_needs all = WGK_MEMORY_NEEDS_INIT;
  all.inputs = needs.inputs;
  all.outputs = needs.outputs;
  all.scratch = needs.scratch;
  all.uniforms = needs.uniforms;
  all.staging = needs.staging;
  all.read_back = needs.read_back;
  return give_sized(all, to);
}

Result<SizedHead> parse_head(const void* given, std::size_t least) {
  constexpr std::size_t kMost = 4096;
  SizedHead head;
  if (given != nullptr) std::memcpy(&head.struct_size, given, sizeof head.struct_size);
  if (head.struct_size < least || head.struct_size > kMost) {
    return failure(
        "usage/struct",
        std::format("struct_size is {}; expected {} to {}", head.struct_size, least, kMost),
        "initialise the struct with its _INIT macro");
  }
  std::memcpy(&head.version, static_cast<const char*>(given) + sizeof head.struct_size,
              sizeof head.version);
  if (head.version != 1) {
    return failure("usage/struct",
                   std::format("the struct has version {}; this library knows 1", head.version),
                   "initialise the struct with its _INIT macro");
  }
  return head;
}

Status check_rest(const void* given, std::size_t known, std::size_t size) {
  const auto* bytes = static_cast<const unsigned char*>(given);
  for (std::size_t i = known; i < size; ++i) {
    if (bytes[i] != 0) {
      return failure(
          "usage/struct",
          std::format("byte {} of the struct is set; this library knows {} bytes of it", i, known));
    }
  }
  return {};
}

}  // namespace wgk::capi

extern "C" {

uint32_t wgk_version(void) {
  return WGK_VERSION_MAJOR * 1000000 + WGK_VERSION_MINOR * 1000 + WGK_VERSION_PATCH;
}

const char* wgk_error_code(const wgk_error* error) {
  return error == nullptr ? "" : error->code.c_str();
}
const char* wgk_error_message(const wgk_error* error) {
  return error == nullptr ? "" : error->message.c_str();
}
const char* wgk_error_text(const wgk_error* error) {
  return error == nullptr ? "" : error->text.c_str();
}
void wgk_error_free(wgk_error* error) { delete error; }
void wgk_string_free(char* text) { std::free(text); }

}  // extern "C"
