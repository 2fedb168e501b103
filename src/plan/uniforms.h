// SPDX-License-Identifier: Apache-2.0
// Values and bytes of uniform structs (format.md b.6).
#pragma once

#include <optional>
#include <vector>

#include "plan/bindings.h"
#include "wgk/plan.h"

namespace wgk::planning {

// One number per field; nothing where a field has no value. Values that are no numbers, NaN, and
// infinities in integers are errors.
Result<std::vector<std::optional<double>>> uniform_values(const package::BindingEntry& entry,
                                                          const NamedJson& args,
                                                          const expr::Scope& scope,
                                                          const expr::Limits& limits);

// The bytes of a live pass's uniform: required fields and integer ranges are checked here.
Result<PlanUniform> pack_uniform(const package::BindingEntry& entry,
                                 const std::vector<std::optional<double>>& values);

}  // namespace wgk::planning
