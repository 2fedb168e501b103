// SPDX-License-Identifier: Apache-2.0
#include "plan/allowance.h"

#include <algorithm>
#include <cstddef>
#include <string>

#include "base/saturate.h"

namespace wgk::planning {
namespace {

// In evaluations and texts of full length.
constexpr std::size_t kEvaluations = 4;
constexpr std::size_t kFullTexts = 32;
// So that a small limit for one evaluation leaves room for many small ones.
constexpr std::size_t kLeastSteps = 1'000'000;

}  // namespace

expr::Allowance allowance_of(const expr::Limits& limits) {
  return {std::max(saturated_mul(limits.max_steps, kEvaluations), kLeastSteps),
          saturated_mul(limits.max_output, kFullTexts)};
}

expr::Limits sharing(expr::Limits limits, expr::Allowance& allowance) {
  limits.shared = &allowance;
  return limits;
}

Status spend(const expr::Limits& limits, std::size_t steps) {
  if (limits.shared == nullptr || limits.shared->spend(steps)) return {};
  return used_up(*limits.shared);
}

std::unexpected<Error> used_up(const expr::Allowance& allowance) {
  if (allowance.steps == 0)
    return failure("limit/steps", "planning took more than " + std::to_string(allowance.most) +
                                      " steps for all passes together");
  return failure("limit/output", "the texts that planning made on the way are too long together");
}

}  // namespace wgk::planning
