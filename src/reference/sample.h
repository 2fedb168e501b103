// SPDX-License-Identifier: Apache-2.0
// A part of a call that can be checked alone: large calls are compared with the oracle on such a
// part only.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "wgk/dtype.h"

namespace wgk::reference {

// The flat ranges [begin, end) of a tensor that, one after the other, are the tensor of the smaller
// call.
struct Part {
  std::string port;
  Shape shape;
  std::vector<std::pair<std::size_t, std::size_t>> ranges;
};

// Inputs that are not listed belong to the smaller call as they are. With `same_call` no smaller
// call exists: the oracle gets all inputs, and the ranges of the only listed output as
// Call::wanted.
struct Sample {
  std::vector<Part> inputs, outputs;
  bool same_call = false;
};

// Nothing when the call has at most `max_elements` elements per tensor anyway, or shapes that the
// oracle refuses. The parts depend on the shapes only.
using Sampler = std::optional<Sample> (*)(const std::vector<std::pair<std::string, Shape>>& inputs,
                                          std::size_t max_elements);

// Null when the operator has none.
Sampler find_sampler(std::string_view op_id);

// `count` rows of 0 ... rows - 1: the first, the last, and others spread between them; all when
// there are no more.
std::vector<std::size_t> spread_rows(std::size_t rows, std::size_t count);

}  // namespace wgk::reference
