// SPDX-License-Identifier: Apache-2.0
#include "reference/sample.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "reference/operators.h"

namespace wgk::reference {

Sampler find_sampler(std::string_view op_id) {
  static constexpr std::array kSamplers = {
      std::pair<std::string_view, Sampler>{"com.microsoft.SkipSimplifiedLayerNormalization",
                                           &sample_skip_simplified_layer_normalization},
      std::pair<std::string_view, Sampler>{"com.microsoft.SparseAttention",
                                           &sample_sparse_attention},
  };
  for (const auto& [name, sampler] : kSamplers) {
    if (name == op_id) return sampler;
  }
  return nullptr;
}

std::vector<std::size_t> spread_rows(std::size_t rows, std::size_t count) {
  std::vector<std::size_t> picked;
  if (rows <= count) {
    for (std::size_t row = 0; row < rows; ++row) picked.push_back(row);
    return picked;
  }
  // One row from each of `count` equal stretches, at a place that moves, so that no stride of a
  // kernel is followed.
  std::uint64_t state = 1;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t begin = rows / count * i,
                      end = i + 1 == count ? rows : rows / count * (i + 1);
    state = state * 6364136223846793005U + 1442695040888963407U;
    picked.push_back(begin + static_cast<std::size_t>((state >> 33) % (end - begin)));
  }
  picked.front() = 0;
  picked.back() = rows - 1;
  return picked;
}

}  // namespace wgk::reference
