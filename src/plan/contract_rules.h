// SPDX-License-Identifier: Apache-2.0
// The rules of contract.json: what the manifest cannot say.
#pragma once

#include <string>
#include <vector>

#include "package/contract.h"
#include "plan/bound.h"
#include "plan/scope.h"

namespace wgk::planning {

struct RuleReport {
  std::vector<Error> violations;   // in the order of the file
  std::vector<std::string> notes;  // value rules that could not be checked, and why
};

// Rules on shapes, types and attributes, then rules on values of host tensors.
RuleReport apply_contract(const package::Contract& contract, const PackageIndex& index,
                          const BoundRequest& bound, const expr::Scope& scope,
                          const expr::Limits& limits);

// Only the value rules: what has to be looked at on every call.
RuleReport apply_value_rules(const package::Contract& contract, const PackageIndex& index,
                             const BoundRequest& bound, const expr::Scope& scope,
                             const expr::Limits& limits);

}  // namespace wgk::planning
