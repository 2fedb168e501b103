// SPDX-License-Identifier: Apache-2.0
// Got against wanted, element by element.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "package/cases.h"
#include "wgk/dtype.h"

namespace wgk::verify {

// The largest error of one output as a multiple of its tolerance: up to 1 it passes. With tolerance
// 0 every difference is infinite.
struct Difference {
  double multiple = 0;
  std::size_t index = 0;  // flat, where the largest error is
  double wanted = 0, got = 0;
  bool nan_refused = false;  // the element is NaN although the expectation forbids it

  bool passes() const { return multiple <= 1; }
};

// |got - wanted| / (abs + rel * |wanted|). NaN equals NaN, an infinity equals itself only;
// everything else non-finite differs infinitely.
double error_multiple(double got, double wanted, const package::Tolerance& tolerance);

// Both are host arrays of the dtype. Elements in `ignore` are left out.
Difference compare(DType dtype, std::span<const std::byte> got, std::span<const std::byte> wanted,
                   const package::Expectation& expectation);

// The samples of the expectation only, each rounded to the dtype first.
Result<Difference> compare_samples(DType dtype, std::span<const std::byte> got,
                                   const package::Expectation& expectation);

// Bit by bit: the first element that differs, if any.
std::optional<std::size_t> first_difference(DType dtype, std::span<const std::byte> a,
                                            std::span<const std::byte> b);

// "(2, 0, 5)" for a flat index of a row-major tensor.
std::string index_text(std::size_t index, const Shape& shape);
// "(2, 3, 8)"; "()" for rank 0.
std::string shape_text(const Shape& shape);

}  // namespace wgk::verify
