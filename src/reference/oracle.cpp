// SPDX-License-Identifier: Apache-2.0
#include "reference/oracle.h"

#include <array>
#include <string_view>
#include <utility>

#include "reference/operators.h"

namespace wgk::reference {

const Tensor* Call::input(std::string_view port) const {
  for (const auto& [name, tensor] : inputs) {
    if (name == port) return &tensor;
  }
  return nullptr;
}

double Call::number(std::string_view attr, double otherwise) const {
  for (const auto& [name, value] : attrs) {
    if (name == attr && value.is_number()) return *value.if_number();
  }
  return otherwise;
}

Oracle find_oracle(std::string_view op_id) {
  static constexpr std::array kOracles = {
      std::pair<std::string_view, Oracle>{"com.microsoft.SkipGroupNorm", &skip_group_norm},
      std::pair<std::string_view, Oracle>{"com.microsoft.SkipSimplifiedLayerNormalization",
                                          &skip_simplified_layer_normalization},
      std::pair<std::string_view, Oracle>{"com.microsoft.SparseAttention", &sparse_attention},
  };
  for (const auto& [name, oracle] : kOracles) {
    if (name == op_id) return oracle;
  }
  return nullptr;
}

}  // namespace wgk::reference
