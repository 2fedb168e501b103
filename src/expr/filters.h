// SPDX-License-Identifier: Apache-2.0
// The filters of format.md c.2. Each replaces the operand by the result.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "expr/ast.h"
#include "expr/function.h"
#include "expr/value.h"

namespace wgk::expr {

struct Arguments {
  std::vector<Value> positional;
  std::vector<std::pair<std::string, Value>> keywords;

  // The argument, or null; an empty place counts as not given.
  const Value* find(std::size_t position, std::string_view keyword) const;
  const Value* find_keyword(std::string_view keyword) const;
};

// `x | name`
bool apply_bare_filter(CallContext& call, Filter filter, std::string_view name, Value& operand);
// `x | name(...)`. `all_literal` tells that each argument is a string literal.
bool apply_call_filter(CallContext& call, Filter filter, std::string_view name,
                       Arguments& arguments, bool all_literal, Value& operand);

// `x is test`; `argument` is null but for the filters selectattr and rejectattr.
bool apply_test(CallContext& call, Test test, std::string_view name, const Value& operand,
                const Value* argument, bool& result);

}  // namespace wgk::expr
