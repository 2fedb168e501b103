// SPDX-License-Identifier: Apache-2.0
// What the helper functions share.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "expr/function.h"
#include "expr/scope.h"
#include "expr/value.h"

namespace wgk::expr {

using Args = std::span<const Value>;

// The argument as JavaScript's Number(); NaN when it is missing.
bool number_at(CallContext& call, Args args, std::size_t index, double& number);
// The list at `index`, or null after an error in the name of `function`.
const Array* list_at(CallContext& call, Args args, std::size_t index, std::string_view function);

bool is_integer(double value);
// axis modulo rank (NaN for rank 0).
double wrapped(double axis, double rank);

void add_shape_helpers(Scope& scope);

}  // namespace wgk::expr
