// SPDX-License-Identifier: Apache-2.0
// The tests of `is`.
#include <cmath>
#include <string>
#include <string_view>

#include "expr/filters.h"
#include "expr/operators.h"
#include "expr/text.h"
#include "expr/value_access.h"

namespace wgk::expr {
namespace {

bool is_int_operand(const Value& value) {
  const Number* number = value.if_number();
  return number != nullptr && !number->is_float;
}

bool parity(CallContext& call, std::string_view name, const Value& operand, bool odd,
            bool& result) {
  if (!is_int_operand(operand)) {
    return call.fail("'is " + std::string(name) + "' needs an int, got " +
                     std::string(kind_name(operand)));
  }
  const double rest = std::fmod(operand.if_number()->value, 2);
  result = odd ? rest != 0 : rest == 0;
  return true;
}

bool equality(CallContext& call, std::string_view name, const Value& operand, const Value* argument,
              bool& result) {
  if (argument == nullptr || argument->is_hole()) {
    return call.fail("'is " + std::string(name) +
                     "' needs an argument, which the grammar cannot pass");
  }
  result = strictly_equal(operand, *argument);
  return true;
}

// A string whose letters are all of one case.
bool has_case(const Value& operand, bool upper) {
  const std::string* text = operand.if_string();
  return text != nullptr && *text == (upper ? to_upper(*text) : to_lower(*text));
}

}  // namespace

bool apply_test(CallContext& call, Test test, std::string_view name, const Value& operand,
                const Value* argument, bool& result) {
  const Kind kind = kind_of(operand);
  if (kind == Kind::kHole) {
    const bool answered = test == Test::kCallable || test == Test::kNumber ||
                          test == Test::kInteger || test == Test::kMapping ||
                          test == Test::kSequence;
    result = false;
    return answered || call.fail("an empty place cannot be tested");
  }
  const bool* flag = operand.if_bool();
  const Array* array = operand.if_array();
  if (operand.is_string() && operand.if_string() == nullptr &&
      (test == Test::kLower || test == Test::kUpper)) {
    return call.fail("a string without text has no case");
  }
  switch (test) {
    case Test::kUnknown: return call.fail("unknown test '" + std::string(name) + "'");
    case Test::kOdd: return parity(call, name, operand, true, result);
    case Test::kEven: return parity(call, name, operand, false, result);
    case Test::kEqual: return equality(call, name, operand, argument, result);
    case Test::kBoolean: result = flag != nullptr; break;
    case Test::kCallable: result = kind == Kind::kFunction; break;
    case Test::kDefined: result = kind != Kind::kUndefined; break;
    case Test::kUndefined: result = kind == Kind::kUndefined; break;
    case Test::kFalse: result = flag != nullptr && !*flag; break;
    case Test::kTrue: result = flag != nullptr && *flag; break;
    case Test::kInteger: result = is_int_operand(operand); break;
    case Test::kNumber: result = kind == Kind::kNumber; break;
    case Test::kIterable:
      result = kind == Kind::kString || (array != nullptr && !array->is_tuple);
      break;
    case Test::kSequence:
      result = kind == Kind::kString || kind == Kind::kArray || is_map(operand);
      break;
    case Test::kMapping: result = is_map(operand); break;
    case Test::kNone: result = kind == Kind::kNull; break;
    case Test::kString: result = kind == Kind::kString; break;
    case Test::kLower: result = has_case(operand, false); break;
    case Test::kUpper: result = has_case(operand, true); break;
  }
  return true;
}

}  // namespace wgk::expr
