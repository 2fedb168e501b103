// SPDX-License-Identifier: Apache-2.0
// One oracle per operator of the project; oracle.cpp names them.
#pragma once

#include "reference/oracle.h"
#include "reference/sample.h"

namespace wgk::reference {

Result<Outputs> skip_group_norm(const Call& call);
Result<Outputs> skip_simplified_layer_normalization(const Call& call);
std::optional<Sample> sample_skip_simplified_layer_normalization(
    const std::vector<std::pair<std::string, Shape>>& inputs, std::size_t max_elements);
Result<Outputs> sparse_attention(const Call& call);
std::optional<Sample> sample_sparse_attention(
    const std::vector<std::pair<std::string, Shape>>& inputs, std::size_t max_elements);

}  // namespace wgk::reference
