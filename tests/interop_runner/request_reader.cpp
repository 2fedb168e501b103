// SPDX-License-Identifier: Apache-2.0
#include "request_reader.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <map>

#include "base/checked.h"
#include "base/try.h"
#include "corpus.h"
#include "json/json.h"

namespace wgk::interop {
namespace {

// An element of a host array, exact for 64-bit integers.
struct Element {
  double number = 0;
  std::int64_t integer = 0;
};

template <class T>
void append(std::vector<std::byte>& bytes, T value) {
  const std::size_t at = bytes.size();
  bytes.resize(at + sizeof(T));
  std::memcpy(bytes.data() + at, &value, sizeof(T));
}

void append_element(std::vector<std::byte>& bytes, DType type, const Element& element) {
  switch (type) {
    case DType::f32: return append(bytes, static_cast<float>(element.number));
    case DType::f16: return append(bytes, static_cast<std::uint16_t>(element.integer));
    case DType::i64: return append(bytes, element.integer);
    case DType::i32: return append(bytes, static_cast<std::int32_t>(element.integer));
    case DType::u32: return append(bytes, static_cast<std::uint32_t>(element.integer));
    case DType::i16: return append(bytes, static_cast<std::int16_t>(element.integer));
    case DType::i8: return append(bytes, static_cast<std::int8_t>(element.integer));
    case DType::u8:
    case DType::boolean: return append(bytes, static_cast<std::uint8_t>(element.integer));
  }
}

// The corpus's fill: element `i` where a record has no data.
Element fill(DType type, std::int64_t i) {
  const auto whole = [](std::int64_t value) { return Element{static_cast<double>(value), value}; };
  switch (type) {
    case DType::f32: return {static_cast<double>(i % 17) / 4, 0};
    case DType::f16: return whole(0x3c00 + i % 9);
    case DType::boolean: return whole(i % 2);
    case DType::u8:
    case DType::u32: return whole(i % 251);
    case DType::i64: return whole(i % 100 - 7);
    default: return whole(i % 100 - 50);
  }
}

Result<Element> read_element(const Json& value) {
  if (const double* number = value.if_number())
    return Element{*number, static_cast<std::int64_t>(*number)};
  if (const bool* flag = value.if_bool()) return Element{*flag ? 1.0 : 0.0, *flag ? 1 : 0};
  const std::string text = text_of(value);
  std::int64_t integer = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), integer);
  if (error == std::errc() && end == text.data() + text.size() && !text.empty())
    return Element{static_cast<double>(integer), integer};
  if (text == "NaN" || text == "Infinity" || text == "-Infinity") {
    return Element{text == "NaN" ? std::nan("") : text == "Infinity" ? HUGE_VAL : -HUGE_VAL, 0};
  }
  return failure("io/format", "a tensor holds " + json::write(value) + ", which is no number");
}

// Element type of a host array class, by the names that records use.
Result<DType> array_type(const std::string& name) {
  if (const auto dtype = dtype_from_name(name))
    return *dtype == DType::boolean ? DType::u8 : *dtype;
  if (name == "uint8clamped") return DType::u8;
  if (name == "uint16") return DType::f16;
  return failure("request/dtype", "an array of " + name + " has no element type in WebGPU");
}

class Reader {
 public:
  Reader(const package::Manifest& manifest, const Json& source)
      : manifest_(manifest), source_(source) {}

  Result<RecordedRequest> read() {
    if (const auto* inputs = member(source_, "inputs").if_object()) {
      for (const auto& [name, value] : *inputs) WGK_TRY(read_input(name, value));
    }
    if (const auto* outputs = member(source_, "outputs").if_object()) {
      for (const auto& [name, value] : *outputs) {
        WGK_ASSIGN(OutputDesc output, read_output(name, value));
        result_.request.outputs.emplace_back(name, std::move(output));
      }
    }
    for (const auto& [key, target] :
         {std::pair{"attrs", &result_.request.attrs}, std::pair{"args", &result_.request.args}}) {
      if (const auto* members = member(source_, key).if_object())
        target->insert(target->end(), members->begin(), members->end());
    }
    return std::move(result_);
  }

 private:
  Status read_input(const std::string& name, const Json& value) {
    if (value.is_null()) return failure("request/value", "input '" + name + "' is null");
    if (value.is_object()) {
      WGK_ASSIGN(TensorDesc tensor, read_tensor(name, value));
      result_.request.inputs.emplace_back(name, std::move(tensor));
      return {};
    }
    if (manifest_.input(name) != nullptr)
      return failure("request/dtype", "input '" + name + "' is a scalar, not a tensor");
    result_.request.args.emplace_back(name, value);
    return {};
  }

  Result<OutputDesc> read_output(const std::string& name, const Json& value) {
    OutputDesc output;
    if (value.find("same_as") != nullptr || value.find("buffer") != nullptr ||
        is_true(member(value, "resident"))) {
      WGK_ASSIGN(output.destination, read_tensor(name, value));
      return output;
    }
    if (value.find("shape") != nullptr) {
      WGK_ASSIGN(output.shape, read_shape(member(value, "shape")));
    }
    if (value.find("dtype") != nullptr) {
      WGK_ASSIGN(output.dtype, read_dtype(member(value, "dtype")));
    }
    return output;
  }

  static Result<DType> read_dtype(const Json& value) {
    if (const auto dtype = dtype_from_name(text_of(value))) return *dtype;
    return failure("request/dtype", "unknown dtype " + json::write(value));
  }

  static Result<Shape> read_shape(const Json& value) {
    Shape shape;
    if (value.if_array() == nullptr) return failure("io/format", "a shape is no list");
    for (const Json& item : *value.if_array()) {
      if (item.if_number() == nullptr)
        return failure("io/format", "a shape holds " + json::write(item));
      shape.push_back(static_cast<std::int64_t>(*item.if_number()));
    }
    return shape;
  }

  Result<TensorDesc> read_tensor(const std::string& name, const Json& value) {
    if (const Json* other = value.find("same_as")) {
      const auto known = tensors_.find(text_of(*other));
      if (known == tensors_.end())
        return failure("io/format", "'" + name + "' is the same as an unknown tensor");
      return known->second;
    }
    TensorDesc tensor;
    WGK_ASSIGN(tensor.shape, read_shape(member(value, "shape")));
    const bool resident = value.find("buffer") != nullptr || is_true(member(value, "resident"));
    WGK_TRY(resident ? read_resident(value, tensor) : read_host(value, tensor));
    tensors_.emplace(name, tensor);
    return tensor;
  }

  Status read_resident(const Json& value, TensorDesc& tensor) {
    tensor.on_device = true;
    WGK_ASSIGN(const DType dtype, read_dtype(member(value, "dtype")));
    tensor.dtype = tensor.storage = dtype;
    if (const Json* logical = value.find("logical")) {
      WGK_ASSIGN(tensor.dtype, read_dtype(*logical));
    }
    if (const Json* storage = value.find("storage")) {
      WGK_ASSIGN(tensor.storage, read_dtype(*storage));
    }
    tensor.packed = text_of(member(value, "layout")) == "packed";
    tensor.range = BufferRange{.buffer = ++own_buffers_};
    if (const Json* buffer = value.find("buffer")) {
      const Json& id = member(*buffer, "id");
      const auto [known, fresh] = shared_buffers_.try_emplace(json::write(id), own_buffers_);
      const auto number = [buffer](std::string_view key) {
        const double* found = member(*buffer, key).if_number();
        return found == nullptr ? std::uint64_t{0} : static_cast<std::uint64_t>(*found);
      };
      tensor.range = BufferRange{known->second, number("offset"), number("size")};
    }
    return {};
  }

  Status read_host(const Json& value, TensorDesc& tensor) {
    const std::string dtype_name = text_of(member(value, "dtype"));
    const Json* array = value.find("array");
    WGK_ASSIGN(const DType array_dtype,
               array_type(array == nullptr ? dtype_name : text_of(*array)));
    if (!is_true(member(value, "noDtype"))) {
      WGK_ASSIGN(tensor.dtype, read_dtype(Json(dtype_name)));
    }
    tensor.host_array = array_dtype;
    std::vector<std::byte>& bytes = result_.arrays.emplace_back();
    if (const auto* data = member(value, "data").if_array()) {
      for (const Json& item : *data) {
        WGK_ASSIGN(const Element element, read_element(item));
        append_element(bytes, array_dtype, element);
      }
    } else {
      WGK_ASSIGN(std::int64_t count, element_count(tensor.shape));
      if (const double* length = member(value, "dataLength").if_number())
        count = static_cast<std::int64_t>(*length);
      const DType filled = dtype_from_name(dtype_name).value_or(array_dtype);
      for (std::int64_t i = 0; i < count; ++i) append_element(bytes, array_dtype, fill(filled, i));
    }
    bytes.reserve(1);  // an array without elements is still an array
    tensor.host_data = bytes;
    return {};
  }

  const package::Manifest& manifest_;
  const Json& source_;
  RecordedRequest result_;
  std::map<std::string, TensorDesc> tensors_;
  std::map<std::string, std::uint64_t> shared_buffers_;
  std::uint64_t own_buffers_ = 0;
};

}  // namespace

Result<RecordedRequest> read_request(const package::Manifest& manifest, const Json& source) {
  return Reader(manifest, source).read();
}

}  // namespace wgk::interop
