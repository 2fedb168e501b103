// SPDX-License-Identifier: Apache-2.0
// What operators mean, and how values become text.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "expr/ast.h"
#include "expr/function.h"
#include "expr/value.h"

namespace wgk::expr {

// Truth for `and`, `or`, `if`: as JavaScript's, but empty lists and objects are false.
bool is_true(const Value& value);
// Truth for `not`: of the raw value, so every list and object is true.
bool is_raw_true(const Value& value);

// JavaScript's == and === of the raw values (never of holes).
bool loosely_equal(CallContext& call, const Value& left, const Value& right, bool& result);
bool strictly_equal(const Value& left, const Value& right);

// All operators but `and` and `or`.
bool apply_operator(CallContext& call, Operator op, const Value& left, const Value& right,
                    Value& result);

// What `{{ value }}` prints; null and undefined print as their names (a block leaves them out
// before).
bool append_printed(CallContext& call, const Value& value, std::string& out);
// The raw value as JavaScript's toString gives it: `~`, `+` with a string, and inside of joined
// lists.
bool append_raw(CallContext& call, const Value& value, std::string& out);

struct JsonFormat {
  double indent = 0;  // 0: on one line
  bool ascii = false;
  bool sort_keys = false;
  bool undefined_is_null = true;
  bool has_separators = false;
  std::string item_separator = {};
  std::string key_separator = {};
  char open = '[', close = ']';  // of lists
};
// As the filter `tojson`. `textless` is set when the result is a string without text.
bool append_json(CallContext& call, const Value& value, const JsonFormat& format, std::string& out,
                 bool& textless);

// Number(value) of a raw value; lists go through their text.
bool number_of(CallContext& call, const Value& value, double& result);

// Math.pow: unlike C, a base of 1 or -1 with an infinite exponent is NaN.
double javascript_pow(double base, double exponent);

// Order for sorting: below 0, 0, above 0.
bool compare_values(CallContext& call, const Value& left, const Value& right, bool case_sensitive,
                    int& order);

}  // namespace wgk::expr
