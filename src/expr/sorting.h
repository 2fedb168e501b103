// SPDX-License-Identifier: Apache-2.0
// The one sort of the engine: stable, and an error as soon as two values have no order.
#pragma once

#include <vector>

#include "expr/function.h"
#include "expr/value.h"

namespace wgk::expr {

struct SortItem {
  Value key;
  Value item;
};

// With `reverse` equal items keep their order too.
bool sort_values(CallContext& call, std::vector<SortItem>& items, bool case_sensitive,
                 bool reverse);

}  // namespace wgk::expr
