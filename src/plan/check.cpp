// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>

#include "base/suggest.h"
#include "base/try.h"
#include "plan/bound.h"
#include "plan/check_scalars.h"
#include "plan/encode.h"

namespace wgk::planning {
namespace {

using package::Manifest;
using package::Port;

Error make_error(std::string_view code, std::string message, std::string hint = {}) {
  return Error{std::string(code), std::move(message), {}, std::move(hint), {}};
}

// Bind keys and upstream names that a caller may use.
std::vector<std::string> port_names(const std::vector<Port>& ports) {
  std::vector<std::string> names;
  for (const Port& port : ports) names.push_back(port.key);
  for (const Port& port : ports) {
    if (!port.onnx.empty() && std::ranges::find(names, port.onnx) == names.end())
      names.push_back(port.onnx);
  }
  return names;
}

class Checker {
 public:
  Checker(const PackageIndex& index, const Request& request)
      : index_(index), request_(request), manifest_(index.manifest()) {
    bound_.of_port.resize(index.ports.size());
    bound_.wanted.resize(index.ports.size());
  }

  Checked run() {
    std::vector<const TensorDesc*> given(index_.ports.size());
    collect_inputs(given);
    collect_outputs();
    for (std::size_t slot = 0; slot < index_.ports.size(); ++slot) {
      if (index_.ports[slot].input != nullptr) bind_input(slot, given[slot]);
    }
    for (std::size_t slot = 0; slot < index_.ports.size(); ++slot) {
      if (index_.ports[slot].input == nullptr || !bound_.of_port[slot]) continue;
      if (auto agreed = resolve_type(index_, bound_, slot, false); !agreed)
        refuse(std::move(agreed.error()), true);
    }
    const std::size_t before = violations_.size();
    check_attributes(manifest_, request_, bound_, violations_);
    if (violations_.size() > before) sound_ = false;
    check_arguments(index_, request_, bound_, violations_);
    check_tunables(manifest_, request_, bound_, violations_);
    check_forced();
    return {std::move(bound_), std::move(violations_), sound_};
  }

 private:
  void refuse(Error error, bool unsound = false) {
    violations_.push_back(std::move(error));
    if (unsound) sound_ = false;
  }

  void refuse_name(std::string_view kind, const std::string& name,
                   const std::vector<std::string>& known, std::string_view kinds,
                   std::string_view instead = {}) {
    std::string message = "unknown " + std::string(kind) + " " + quoted(name) + "; ";
    if (!instead.empty()) {
      message += instead;
    } else {
      message += "the " + std::string(kinds) + " are " + join(known);
    }
    refuse(make_error("request/unknown", std::move(message),
                      instead.empty() ? suggestion(name, known) : ""),
           true);
  }

  void refuse_twice(const std::string& name, const Port& port) {
    refuse(make_error("request/duplicate",
                      quoted(port) + " is given twice, the second time as " + quoted(name)),
           true);
  }

  void collect_inputs(std::vector<const TensorDesc*>& given) {
    for (const auto& [name, tensor] : request_.inputs) {
      const auto slot = index_.find_input(name);
      if (!slot) {
        const bool argument = std::ranges::any_of(
            manifest_.args, [&name](const auto& arg) { return arg.first == name; });
        refuse_name("input", name, port_names(manifest_.inputs), "inputs",
                    argument ? "it is a scalar argument, not a tensor" : "");
      } else if (given[*slot] != nullptr) {
        refuse_twice(name, *index_.ports[*slot].input);
      } else {
        given[*slot] = &tensor;
      }
    }
  }

  void collect_outputs() {
    for (const auto& [name, output] : request_.outputs) {
      const auto slot = index_.find_output(name);
      if (!slot) {
        refuse_name("output", name, port_names(manifest_.outputs), "outputs");
      } else if (bound_.wanted[*slot] != nullptr) {
        refuse_twice(name, *index_.ports[*slot].output);
      } else {
        bound_.wanted[*slot] = &output;
      }
    }
  }

  void bind_input(std::size_t slot, const TensorDesc* given) {
    const Port& port = *index_.ports[slot].input;
    if (given == nullptr) {
      if (!port.optional)
        refuse(make_error("request/missing", "required input " + quoted(port) + " is not given"),
               true);
      return;
    }
    auto tensor = make_tensor(port, *given);
    if (!tensor) return refuse(std::move(tensor.error()), true);
    tensor->port = slot;
    tensor->is_input = true;
    bound_.of_port[slot] = bound_.tensors.size();
    bound_.tensors.push_back(std::move(*tensor));
  }

  Result<DType> dtype_of(const Port& port, const TensorDesc& given) const {
    if (given.dtype) return *given.dtype;
    if (given.host_array) return *given.host_array;
    if (port.concrete) return *port.concrete;
    if (given.storage) return *given.storage;
    const std::vector<DType>* admitted = index_.constraint(port.dtype);
    if (admitted != nullptr && admitted->size() == 1) return admitted->front();
    std::vector<std::string> names;
    if (admitted != nullptr) {
      for (const DType one : *admitted) names.emplace_back(name(one));
    } else {
      for (const std::string_view one : dtype_names()) names.emplace_back(one);
    }
    return failure("request/dtype",
                   quoted(port) + " is given without a dtype; it admits " + join(names));
  }

  Result<BoundTensor> make_tensor(const Port& port, const TensorDesc& given) const {
    BoundTensor tensor;
    WGK_ASSIGN(tensor.dtype, dtype_of(port, given));
    tensor.shape = given.shape;
    tensor.on_device = given.on_device || given.range.has_value();
    tensor.range = given.range;
    if (tensor.on_device) {
      tensor.storage = given.storage.value_or(tensor.dtype);
      tensor.packed = given.packed;
    } else {
      tensor.storage =
          tensor.dtype == DType::i64 ? port.storage.value_or(DType::i64) : tensor.dtype;
      tensor.packed = port.packed;
      tensor.host_data = given.host_data;
      tensor.host_type = given.host_array.value_or(tensor.dtype);
      WGK_TRY(check_array(port, tensor));
    }
    if (tensor.packed != port.packed) {
      return failure(
          "request/dtype",
          quoted(port) + (port.packed
                              ? " must hold uint8 packed, four in a word; the tensor is not packed"
                              : " must not be packed; the tensor holds packed uint8"));
    }
    WGK_TRY(measure(tensor, port));
    WGK_TRY(check_range(port, tensor));
    return tensor;
  }

  static Status check_array(const Port& port, const BoundTensor& tensor) {
    const bool wide = tensor.dtype == DType::i64 && *tensor.host_type != DType::i64;
    if (!wide && can_encode(*tensor.host_type, tensor.dtype, tensor.storage)) return {};
    if (*tensor.host_type == tensor.dtype) {
      return failure("request/dtype",
                     quoted(port) + " has dtype " + std::string(name(tensor.dtype)) +
                         ", which cannot be held as " + std::string(name(tensor.storage)));
    }
    return failure("request/dtype",
                   quoted(port) + " is said to be " + std::string(name(tensor.dtype)) +
                       ", but its data is an array of " + std::string(name(*tensor.host_type)));
  }

  static Status check_range(const Port& port, const BoundTensor& tensor) {
    if (!tensor.range || tensor.range->size == 0) return {};
    const BufferRange& range = *tensor.range;
    if (range.offset <= range.size && tensor.buffer_size <= range.size - range.offset) return {};
    return failure("request/length", quoted(port) + " needs " + std::to_string(tensor.buffer_size) +
                                         " bytes at offset " + std::to_string(range.offset) +
                                         " of a buffer that has " + std::to_string(range.size));
  }

  void check_forced() {
    if (request_.variant.empty()) return;
    bound_.forced = manifest_.variant(request_.variant);
    if (bound_.forced != nullptr) return;
    std::vector<std::string> ids;
    for (const package::Variant& variant : manifest_.variants) ids.push_back(variant.id);
    refuse(make_error(
        "request/variant",
        "unknown variant " + quoted(request_.variant) + "; the variants are " + join(ids),
        suggestion(request_.variant, ids)));
  }

  const PackageIndex& index_;
  const Request& request_;
  const Manifest& manifest_;
  BoundRequest bound_;
  std::vector<Error> violations_;
  bool sound_ = true;
};

}  // namespace

Checked check(const PackageIndex& index, const Request& request) {
  return Checker(index, request).run();
}

}  // namespace wgk::planning
