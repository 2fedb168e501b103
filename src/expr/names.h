// SPDX-License-Identifier: Apache-2.0
// Static analysis: the names that an expression reads.
#pragma once

#include <string_view>
#include <vector>

#include "expr/ast.h"

namespace wgk::expr {

struct NameUse {
  NameId name;
  bool only_tested;  // the bare operand of `is defined` or `is undefined`
};

// In the order of the source. Names of members, filters, tests and keywords are none.
void collect_names(const Ast& ast, NodeId node, std::vector<NameUse>& uses);
// The same of the arguments of a filter.
void collect_names(const Ast& ast, const FilterUse& filter, std::vector<NameUse>& uses);

// The value of true, false, none and their capitalised forms; null for other names.
const Value* literal_name(std::string_view name);

}  // namespace wgk::expr
