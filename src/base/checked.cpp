// SPDX-License-Identifier: Apache-2.0
#include "base/checked.h"

#include <cstdint>
#include <span>
#include <string>

namespace wgk {

Result<std::int64_t> element_count(std::span<const std::int64_t> shape) {
  // A zero makes the product zero, whatever the other dimensions are.
  bool has_zero = false;
  for (const std::int64_t dim : shape) {
    if (dim < 0) {
      return failure("request/shape",
                     "a dimension is " + std::to_string(dim) + ", expected at least 0");
    }
    has_zero = has_zero || dim == 0;
  }
  if (has_zero) return 0;
  std::int64_t count = 1;
  for (const std::int64_t dim : shape) {
    const Result<std::int64_t> next = checked_mul(count, dim);
    if (!next) return next;
    count = *next;
  }
  return count;
}

}  // namespace wgk
