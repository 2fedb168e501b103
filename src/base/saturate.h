// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <limits>

namespace wgk {

// The product, or the largest value where that is larger: for limits, of which a huge one means
// none. `factor` is above zero.
constexpr std::size_t saturated_mul(std::size_t count, std::size_t factor) {
  constexpr std::size_t kMost = std::numeric_limits<std::size_t>::max();
  return count > kMost / factor ? kMost : count * factor;
}

}  // namespace wgk
