// SPDX-License-Identifier: Apache-2.0
// What one plan may cost as a whole. A limit for one evaluation is none for a plan that has very
// many of them.
#pragma once

#include <cstddef>

#include "expr/limits.h"
#include "wgk/error.h"

namespace wgk::planning {

// For all expressions and templates of one plan together, each of which keeps to `limits`.
expr::Allowance allowance_of(const expr::Limits& limits);
expr::Limits sharing(expr::Limits limits, expr::Allowance& allowance);

// Counts what is no evaluation: names, bindings, keys. No allowance: nothing is counted.
Status spend(const expr::Limits& limits, std::size_t steps);

// "limit/steps" or "limit/output" of a plan as a whole.
std::unexpected<Error> used_up(const expr::Allowance& allowance);

}  // namespace wgk::planning
