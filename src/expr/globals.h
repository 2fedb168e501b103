// SPDX-License-Identifier: Apache-2.0
// The reference engine's own global functions, which templates have and manifest expressions do
// not.
#pragma once

#include <string_view>

#include "expr/scope.h"
#include "expr/value.h"
#include "wgk/error.h"

namespace wgk::expr {

// range, namespace or raise_exception; null for other names.
const Value* engine_global(std::string_view name);

// The members of an object as names. As in the reference, a name of the engine cannot be given
// again.
Status add_context(Scope& scope, const Json& context);

}  // namespace wgk::expr
