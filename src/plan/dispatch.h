// SPDX-License-Identifier: Apache-2.0
// Workgroup counts of a pass (format.md b.7).
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "expr/expression.h"
#include "package/manifest.h"

namespace wgk::planning {

// Each axis a non-negative integer within `max_per_dimension` ("plan/rule", "limit/dispatch").
// `pass` is for messages.
Result<std::array<std::uint32_t, 3>> dispatch_size(const package::Dispatch& dispatch,
                                                   const expr::Scope& scope,
                                                   const expr::Limits& limits,
                                                   double max_per_dimension, std::string_view pass);

}  // namespace wgk::planning
