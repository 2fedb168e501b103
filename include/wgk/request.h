// SPDX-License-Identifier: Apache-2.0
// One call as planning sees it: shapes, types and scalars, no values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "wgk/dtype.h"
#include "wgk/json.h"

namespace wgk {

// Identity and range of a device buffer, so that in-place calls, view aliases and forbidden
// aliasing can be judged.
struct BufferRange {
  std::uint64_t buffer = 0;  // equal ids: the same buffer
  std::uint64_t offset = 0;  // bytes
  std::uint64_t size = 0;    // bytes of the buffer; 0: exactly the tensor
  bool operator==(const BufferRange&) const = default;
};

// A tensor of the call.
struct TensorDesc {
  Shape shape;
  std::optional<DType> dtype;  // logical dtype; nothing: taken from the port ("noDtype" host arrays
                               // have a host dtype)
  std::optional<DType>
      storage;             // device tensors only, where it differs from dtype (projected int64)
  bool packed = false;     // device tensors only: uint8, four per word
  bool on_device = false;  // contents are in a device buffer, not in host memory
  std::optional<BufferRange> range;  // device tensors only
  // Host tensors only: contents, for narrowing and the contract's value rules. Never decides what
  // is planned.
  std::span<const std::byte> host_data;
  // Host tensors only: element type of the array the data came from, when `dtype` was stated
  // apart from it.
  std::optional<DType> host_array;
};

// A requested output: a destination tensor, or only its shape and dtype, or nothing but the wish
// for it.
struct OutputDesc {
  std::optional<Shape> shape;
  std::optional<DType> dtype;
  std::optional<TensorDesc> destination;
};

// Names of ports are bind keys or upstream (ONNX) names.
struct Request {
  std::vector<std::pair<std::string, TensorDesc>> inputs;
  std::vector<std::pair<std::string, OutputDesc>>
      outputs;  // optional outputs exist only when listed; required ones always do
  std::vector<std::pair<std::string, Json>> attrs;
  std::vector<std::pair<std::string, Json>> args;
  std::vector<std::pair<std::string, Json>> tunables;
  std::string variant;  // forced variant id; empty: selected
};

}  // namespace wgk
