// SPDX-License-Identifier: Apache-2.0
#include "plan/infer.h"

#include <algorithm>
#include <cmath>

#include "base/number.h"
#include "base/try.h"
#include "json/json.h"

namespace wgk::planning {
namespace {

using expr::Value;
using package::Port;

constexpr double kMaxDimension = 9007199254740991.0;  // the largest integer that a double counts to

constexpr int kLastOnnxCode = 12;

std::optional<DType> dtype_of_onnx_code(double code) {
  switch (static_cast<int>(code)) {
    case 1: return DType::f32;
    case 2: return DType::u8;
    case 3: return DType::i8;
    case 5: return DType::i16;
    case 6: return DType::i32;
    case 7: return DType::i64;
    case 9: return DType::boolean;
    case 10: return DType::f16;
    case 12: return DType::u32;
    default: return std::nullopt;
  }
}

// "1 (float32)"
std::string onnx_text(DType dtype) {
  for (int code = 1; code <= kLastOnnxCode; ++code) {
    if (dtype_of_onnx_code(code) == dtype)
      return std::to_string(code) + " (" + std::string(name(dtype)) + ")";
  }
  return std::string(name(dtype));
}

class Inference {
 public:
  Inference(const PackageIndex& index, BoundRequest& bound, RequestScope& scope,
            const expr::Limits& limits)
      : index_(index),
        bound_(bound),
        scope_(scope),
        limits_(limits),
        level_(scope.scope(), nullptr, index.uses_derive_object) {
    default_device().add_to(level_.scope());
    for (const std::size_t i : index.inference_derives) {
      const auto& [name, rule] = index.manifest().derive[i];
      if (auto value = rule.evaluate(level_.scope(), limits)) level_.set(name, std::move(*value));
    }
  }

  Status output(std::size_t slot) {
    const Port& port = *index_.ports[slot].output;
    const OutputDesc* wanted = bound_.wanted[slot];
    BoundTensor* input = bound_.tensor(slot);
    if (port.optional && wanted == nullptr) return {};
    if (input != nullptr) {
      if (port.shape) WGK_TRY(shape_of(port, wanted));
      input->is_output = true;
      return resolve_type(index_, bound_, slot, true);
    }
    BoundTensor tensor;
    tensor.port = slot;
    tensor.is_output = true;
    WGK_ASSIGN(tensor.shape, shape_of(port, wanted));
    if (wanted != nullptr && wanted->destination && is_tensor(*wanted->destination)) {
      WGK_TRY(take_destination(port, *wanted->destination, tensor));
    } else {
      WGK_TRY(choose_type(port, wanted, tensor));
    }
    WGK_TRY(measure(tensor, port));
    bound_.of_port[slot] = bound_.tensors.size();
    bound_.tensors.push_back(tensor);
    scope_.add_tensor(index_, tensor);
    return resolve_type(index_, bound_, slot, true);
  }

 private:
  static bool is_tensor(const TensorDesc& given) {
    return given.on_device || given.range.has_value();
  }

  Result<Shape> shape_of(const Port& port, const OutputDesc* wanted) const {
    if (port.shape) {
      auto value = port.shape->evaluate(level_.scope(), limits_);
      if (!value) {
        return std::unexpected(
            Error{value.error().code.starts_with("limit/") ? value.error().code : "request/infer",
                  "the shape of output " + quoted(port) +
                      " cannot be inferred: " + value.error().message});
      }
      if (auto shape = dims_of(*value)) return *std::move(shape);
      return failure("request/infer", "the shape rule of output " + quoted(port) + " gives " +
                                          shown(*value) +
                                          "; expected a list of non-negative integers");
    }
    if (wanted != nullptr && wanted->destination) return wanted->destination->shape;
    if (wanted != nullptr && wanted->shape) return *wanted->shape;
    return failure("request/infer", "output " + quoted(port) +
                                        " has no shape rule; give its shape or a destination");
  }

  Status take_destination(const Port& port, const TensorDesc& given, BoundTensor& tensor) const {
    tensor.shape = given.shape;
    tensor.on_device = true;
    tensor.range = given.range;
    tensor.packed = given.packed;
    if (given.packed)
      return failure(
          "request/dtype",
          "output " + quoted(port) + " must not be packed; the destination holds packed uint8");
    if (!given.dtype && !given.storage) {
      WGK_TRY(choose_type(port, nullptr, tensor));
      return {};
    }
    tensor.dtype = given.dtype.value_or(given.storage.value_or(DType::f32));
    tensor.storage = given.storage.value_or(tensor.dtype);
    return {};
  }

  // A stated dtype, else the inferred one.
  Status choose_type(const Port& port, const OutputDesc* wanted, BoundTensor& tensor) const {
    std::optional<DType> stated;
    if (wanted != nullptr) stated = wanted->dtype;
    if (wanted != nullptr && !stated && wanted->destination) stated = wanted->destination->dtype;
    if (stated) {
      tensor.dtype = *stated;
      tensor.storage = port.storage && *stated == port.concrete ? *port.storage : *stated;
      return {};
    }
    WGK_ASSIGN(tensor.dtype, infer_dtype(port));
    const TypeBinding* type = bound_.type(port.dtype);
    tensor.storage = port.storage                                       ? *port.storage
                     : type != nullptr && type->logical == tensor.dtype ? type->storage
                                                                        : tensor.dtype;
    return {};
  }

  Result<DType> infer_dtype(const Port& port) const {
    if (port.dtype.empty()) return DType::f32;
    if (port.concrete) return *port.concrete;
    if (const TypeBinding* type = bound_.type(port.dtype)) return type->logical;
    const std::vector<DType>* admitted = index_.constraint(port.dtype);
    if (admitted != nullptr) {
      WGK_ASSIGN(const std::optional<DType> cast, dtype_of_cast(port, *admitted));
      if (cast) return *cast;
      if (admitted->size() == 1) return admitted->front();
      for (const BoundTensor& tensor : bound_.tensors) {
        if (tensor.is_input && std::ranges::find(*admitted, tensor.storage) != admitted->end())
          return tensor.storage;
      }
    }
    return failure("request/infer", "the dtype of output " + quoted(port) +
                                        " cannot be inferred; give its dtype or a destination");
  }

  // ONNX's Cast and its kin name the output type in the required attribute `to`.
  Result<std::optional<DType>> dtype_of_cast(const Port& port,
                                             const std::vector<DType>& admitted) const {
    const package::Manifest& manifest = index_.manifest();
    const auto to = std::ranges::find(
        manifest.attributes, "to", [](const auto& entry) { return std::string_view(entry.first); });
    if (manifest.domain != "ai.onnx" || to == manifest.attributes.end() || !to->second.required)
      return std::nullopt;
    const auto given = std::ranges::find(
        bound_.attrs, "to", [](const auto& entry) { return std::string_view(entry.first); });
    const double* code = given == bound_.attrs.end() ? nullptr : given->second.if_number();
    const auto dtype = code == nullptr || *code != std::trunc(*code) || std::abs(*code) > 100
                           ? std::nullopt
                           : dtype_of_onnx_code(*code);
    if (dtype && std::ranges::find(admitted, *dtype) != admitted.end()) return dtype;
    std::string known;
    for (const DType one : admitted) known.append(known.empty() ? "" : ", ").append(onnx_text(one));
    return failure("request/attribute",
                   "attribute 'to' is " +
                       (given == bound_.attrs.end() ? "not given" : json::write(given->second)) +
                       "; output " + quoted(port) + " admits " + known);
  }

  const PackageIndex& index_;
  BoundRequest& bound_;
  RequestScope& scope_;
  const expr::Limits& limits_;
  DeriveLevel level_;
};

}  // namespace

std::string shown(const Value& value) {
  if (value.is_undefined()) return "undefined";
  if (value.if_function() != nullptr) return "a function";
  if (const expr::Number* number = value.if_number()) return number_text(number->value);
  if (const expr::Array* array = value.if_array()) {
    std::string text;
    for (const Value& item : array->items) text += (text.empty() ? "" : ", ") + shown(item);
    return "(" + text + ")";
  }
  return json::write(value.to_json());
}

std::optional<Shape> dims_of(const Value& value) {
  const expr::Array* list = value.if_array();
  if (list == nullptr) return std::nullopt;
  Shape shape;
  shape.reserve(list->items.size());
  for (const Value& item : list->items) {
    const expr::Number* number = item.if_number();
    if (number == nullptr || !(number->value >= 0) || number->value > kMaxDimension ||
        number->value != std::trunc(number->value)) {
      return std::nullopt;
    }
    shape.push_back(static_cast<std::int64_t>(number->value));
  }
  return shape;
}

std::vector<Error> infer(const PackageIndex& index, BoundRequest& bound, RequestScope& scope,
                         const expr::Limits& limits) {
  std::vector<Error> errors;
  Inference inference(index, bound, scope, limits);
  for (const std::size_t slot : index.outputs) {
    if (auto done = inference.output(slot); !done) errors.push_back(std::move(done.error()));
  }
  return errors;
}

}  // namespace wgk::planning
