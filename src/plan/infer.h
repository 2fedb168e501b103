// SPDX-License-Identifier: Apache-2.0
// Shapes and element types of outputs (format.md b.8).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "plan/bound.h"
#include "plan/scope.h"

namespace wgk::planning {

// Adds the outputs of the call to `bound` and to `scope`. Rules see the default device; derives
// that fail are left out. Every output that cannot be inferred is one error.
std::vector<Error> infer(const PackageIndex& index, BoundRequest& bound, RequestScope& scope,
                         const expr::Limits& limits);

// The dimensions in a value that a rule gave; nothing unless it is a list of non-negative integers.
std::optional<Shape> dims_of(const expr::Value& value);

// A value as messages show it.
std::string shown(const expr::Value& value);

}  // namespace wgk::planning
