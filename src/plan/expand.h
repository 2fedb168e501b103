// SPDX-License-Identifier: Apache-2.0
// Repeat groups become pass instances (format.md b.7).
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "expr/expression.h"
#include "package/manifest.h"

namespace wgk::planning {

struct PassInstance {
  const package::Pass* pass = nullptr;
  std::string id;      // "group[2].pass"
  expr::Value repeat;  // the namespace `repeat`
};

// All instances in order, `max_passes` at most. Counts are evaluated in the scope of the variant.
Result<std::vector<PassInstance>> expand_passes(const package::Variant& variant,
                                                const expr::Scope& scope,
                                                const expr::Limits& limits, std::size_t max_passes);

}  // namespace wgk::planning
