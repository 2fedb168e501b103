// SPDX-License-Identifier: Apache-2.0
// A request checked against the contract of its package: names resolved, defaults filled in, types
// agreed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "plan/index.h"
#include "wgk/dtype.h"
#include "wgk/error.h"
#include "wgk/request.h"

namespace wgk::planning {

struct BoundTensor {
  std::size_t port = 0;      // into PackageIndex::ports
  DType dtype = DType::f32;  // logical
  DType storage = DType::f32;
  bool packed = false;
  Shape shape;
  std::int64_t elements = 0;
  std::uint64_t byte_length = 0, buffer_size = 0;
  bool is_input = false, is_output = false;
  bool on_device = false;  // there is a buffer already
  std::optional<BufferRange> range;
  std::span<const std::byte> host_data;
  std::optional<DType> host_type;  // element type of host_data
};

// dtypes.<name> and logicalDtypes.<name>.
struct TypeBinding {
  std::string name;
  DType logical = DType::f32, storage = DType::f32;
  std::string source;  // the port it was taken from, for messages
};

using NamedJson = std::vector<std::pair<std::string, Json>>;

struct BoundRequest {
  std::vector<BoundTensor> tensors;  // inputs in manifest order, then outputs that are not in place
  std::vector<std::optional<std::size_t>> of_port;  // per PackageIndex::ports, into `tensors`
  std::vector<const OutputDesc*>
      wanted;  // per PackageIndex::ports: what the request says of this output, or null
  std::vector<TypeBinding> types;  // in order of first use
  NamedJson attrs;                 // request over defaults
  NamedJson args;                  // as given, null ones included
  NamedJson tunables;              // of the request
  const package::Variant* forced = nullptr;

  const BoundTensor* tensor(std::size_t port) const {
    return of_port[port] ? &tensors[*of_port[port]] : nullptr;
  }
  BoundTensor* tensor(std::size_t port) {
    return of_port[port] ? &tensors[*of_port[port]] : nullptr;
  }
  const TypeBinding* type(std::string_view name) const;
};

// The result of checking. `sound`: tensors and types are complete enough to evaluate guards,
// although there may be violations.
struct Checked {
  BoundRequest bound;
  std::vector<Error> violations;  // in a fixed order
  bool sound = true;
};

// Names, presence, shapes, dtypes, type variables, layouts, attributes, arguments, tunables and the
// forced variant: every violation at once. Inputs only; outputs get theirs in `infer`. Neither
// device nor values matter.
Checked check(const PackageIndex& index, const Request& request);

// Lengths of host arrays and checked narrowing of int64: what has to be looked at on every call.
std::vector<Error> check_host_data(const PackageIndex& index, const BoundRequest& bound);

// Walks one bound port (format.md b.2) and records or compares its type.
Status resolve_type(const PackageIndex& index, BoundRequest& bound, std::size_t port,
                    bool as_output);

// Fills elements, byte_length and buffer_size from shape, storage and packed.
Status measure(BoundTensor& tensor, const package::Port& port);

// One error that carries the others; `violations` must not be empty.
Error merged(std::vector<Error> violations);

}  // namespace wgk::planning
