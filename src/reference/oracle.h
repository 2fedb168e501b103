// SPDX-License-Identifier: Apache-2.0
// Float64 oracles: what an operator must compute, in straight formulas, with the roundings that
// operators state. Used by verify and tests only.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "wgk/dtype.h"
#include "wgk/error.h"
#include "wgk/json.h"

namespace wgk::reference {

// A tensor in double. Inputs hold values that are exact in `dtype`; results are not rounded by
// their final store.
struct Tensor {
  DType dtype = DType::f32;
  Shape shape;
  std::vector<double> values;
};

// Ports by bind key; an absent optional input is not listed. Attributes have their defaults filled
// in.
struct Call {
  std::vector<std::pair<std::string, Tensor>> inputs;
  std::vector<std::pair<std::string, Json>> attrs;
  // Flat ranges of the first output that are asked for, in order; none: all of it. An oracle may
  // leave the rest of it zero.
  std::vector<std::pair<std::size_t, std::size_t>> wanted = {};
  const Tensor* input(std::string_view port) const;
  double number(std::string_view attr, double otherwise) const;
};

// All outputs the operator has, optional ones included (verify compares those that were requested),
// by bind key.
using Outputs = std::vector<std::pair<std::string, Tensor>>;
using Oracle = Result<Outputs> (*)(const Call&);

// Null when the project owns no oracle for this operator.
Oracle find_oracle(std::string_view op_id);

}  // namespace wgk::reference
