// SPDX-License-Identifier: Apache-2.0
// Type variables and element types of tensors (format.md b.2).
#include <algorithm>

#include "base/checked.h"
#include "base/try.h"
#include "plan/bound.h"
#include "plan/encode.h"

namespace wgk::planning {
namespace {

using package::Port;

std::string text(DType dtype) { return std::string(name(dtype)); }

std::string list_of(const std::vector<DType>& dtypes) {
  std::string names;
  for (const DType dtype : dtypes) names += (names.empty() ? "" : ", ") + text(dtype);
  return names;
}

std::string subject(const Port& port, bool as_output) {
  return (as_output ? "output " : "") + quoted(port);
}

Status agree(BoundRequest& bound, const Port& port, TypeBinding type) {
  const auto known = std::ranges::find(bound.types, type.name, &TypeBinding::name);
  if (known == bound.types.end()) {
    bound.types.push_back(std::move(type));
    return {};
  }
  if (known->logical != type.logical) {
    return failure("request/dtype", quoted(port) + " is " + text(type.logical) + ", but " +
                                        quoted(known->source) + " is " + text(known->logical) +
                                        " and both have type " + type.name);
  }
  if (known->storage != type.storage) {
    return failure("request/dtype", quoted(port) + " is held as " + text(type.storage) + ", but " +
                                        quoted(known->source) + " as " + text(known->storage) +
                                        " and both have type " + type.name);
  }
  return {};
}

// Without a list of admitted types nothing is compared, and the last port wins.
void overwrite(BoundRequest& bound, const Port& port, DType storage) {
  TypeBinding type{port.dtype, storage, storage, port.key};
  const auto known = std::ranges::find(bound.types, port.dtype, &TypeBinding::name);
  if (known == bound.types.end()) {
    bound.types.push_back(std::move(type));
  } else {
    *known = std::move(type);
  }
}

Status resolve_concrete(BoundRequest& bound, const Port& port, BoundTensor& tensor,
                        bool as_output) {
  const DType expected = port.storage.value_or(*port.concrete);
  if (tensor.storage != expected) {
    const std::string held = expected == *port.concrete ? "" : " (held as " + text(expected) + ")";
    return failure("request/dtype",
                   subject(port, as_output) + " has dtype " +
                       text(tensor.dtype == *port.concrete ? tensor.storage : tensor.dtype) +
                       "; expected " + text(*port.concrete) + held);
  }
  tensor.dtype = *port.concrete;
  return agree(bound, port, {port.dtype, *port.concrete, tensor.storage, port.key});
}

}  // namespace

const TypeBinding* BoundRequest::type(std::string_view variable) const {
  const auto known = std::ranges::find(types, variable, &TypeBinding::name);
  return known == types.end() ? nullptr : &*known;
}

Status resolve_type(const PackageIndex& index, BoundRequest& bound, std::size_t slot,
                    bool as_output) {
  BoundTensor& tensor = *bound.tensor(slot);
  const PortIndex& entry = index.ports[slot];
  const Port& port = as_output ? *entry.output : *entry.input;
  if (port.dtype.empty()) return {};
  if (port.concrete) return resolve_concrete(bound, port, tensor, as_output);
  const std::vector<DType>* admitted = index.constraint(port.dtype);
  if (admitted == nullptr) {
    overwrite(bound, port, tensor.storage);
    return {};
  }
  // A tensor that only carries the projected type of a single-type variable is taken for that type.
  if (port.storage && *port.storage == tensor.storage && admitted->size() == 1)
    tensor.dtype = admitted->front();
  if (std::ranges::find(*admitted, tensor.dtype) == admitted->end()) {
    return failure("request/dtype", subject(port, as_output) + " has dtype " + text(tensor.dtype) +
                                        "; expected " + (admitted->size() > 1 ? "one of " : "") +
                                        list_of(*admitted));
  }
  return agree(bound, port, {port.dtype, tensor.dtype, tensor.storage, port.key});
}

Status measure(BoundTensor& tensor, const Port& port) {
  auto elements = element_count(tensor.shape);
  if (!elements)
    return std::unexpected(std::move(elements.error()).during("measuring " + quoted(port)));
  auto bytes = device_byte_length(tensor.storage, tensor.packed, *elements);
  if (!bytes) return std::unexpected(std::move(bytes.error()).during("measuring " + quoted(port)));
  tensor.elements = *elements;
  tensor.byte_length = *bytes;
  tensor.buffer_size = padded_size(*bytes);
  return {};
}

Error merged(std::vector<Error> violations) {
  Error first = std::move(violations.front());
  for (std::size_t i = 1; i < violations.size(); ++i)
    first.others.push_back(std::move(violations[i]));
  return first;
}

std::vector<Error> check_host_data(const PackageIndex& index, const BoundRequest& bound) {
  std::vector<Error> violations;
  for (const BoundTensor& tensor : bound.tensors) {
    if (tensor.host_data.data() == nullptr || !tensor.host_type || !tensor.is_input) continue;
    const Port& port = *index.ports[tensor.port].input;
    const std::size_t width = host_bytes(*tensor.host_type);
    const std::uint64_t needed = static_cast<std::uint64_t>(tensor.elements) * width;
    if (tensor.host_data.size() != needed) {
      violations.push_back(Error{
          "request/length", "the data of " + quoted(port) + " has " +
                                std::to_string(tensor.host_data.size() / width) + " elements (" +
                                std::to_string(tensor.host_data.size()) +
                                " bytes); its shape needs " + std::to_string(tensor.elements) +
                                " (" + std::to_string(needed) + " bytes)"});
      continue;
    }
    const bool narrowed = *tensor.host_type == DType::i64 && tensor.storage != DType::i64;
    if (!narrowed || port.narrowing == package::Narrowing::kSaturating) continue;
    if (auto fits = check_narrowing(tensor.host_data, tensor.storage, port.key); !fits)
      violations.push_back(std::move(fits.error()));
  }
  return violations;
}

}  // namespace wgk::planning
