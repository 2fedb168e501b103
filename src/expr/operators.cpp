// SPDX-License-Identifier: Apache-2.0
#include "expr/operators.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/number.h"
#include "expr/text.h"
#include "expr/value_access.h"

namespace wgk::expr {
namespace {

bool is_container(Kind kind) {
  return kind == Kind::kArray || kind == Kind::kObject || kind == Kind::kFunction;
}

std::string quoted(Operator op) { return "'" + std::string(spelling(op)) + "'"; }

bool mismatch(CallContext& call, Operator op, const Value& left, const Value& right) {
  return call.fail(quoted(op) + " does not work between " + std::string(kind_name(left)) + " and " +
                   std::string(kind_name(right)));
}

// JavaScript's remainder; exact for integers without the cost of fmod.
double remainder(double a, double b) {
  constexpr double kExact = 9007199254740992.0;
  if (std::fabs(a) <= kExact && std::fabs(b) <= kExact && b != 0 && a == std::trunc(a) &&
      b == std::trunc(b)) {
    const auto rest =
        static_cast<double>(static_cast<std::int64_t>(a) % static_cast<std::int64_t>(b));
    return rest == 0 ? std::copysign(0.0, a) : rest;
  }
  return std::fmod(a, b);
}

bool numeric(CallContext& call, Operator op, Number left, Number right, Value& result) {
  const double a = left.value;
  const double b = right.value;
  const bool is_float = left.is_float || right.is_float;
  switch (op) {
    case Operator::kAdd: result = Number{a + b, is_float}; return true;
    case Operator::kSubtract: result = Number{a - b, is_float}; return true;
    case Operator::kMultiply: result = Number{a * b, is_float}; return true;
    case Operator::kDivide: result = Number{a / b, true}; return true;
    case Operator::kFloorDivide: result = Number{std::floor(a / b), is_float}; return true;
    case Operator::kRemainder: result = Number{remainder(a, b), is_float}; return true;
    case Operator::kLess: result = Value(a < b); return true;
    case Operator::kLessEqual: result = Value(a <= b); return true;
    case Operator::kGreater: result = Value(a > b); return true;
    case Operator::kGreaterEqual: result = Value(a >= b); return true;
    default: return mismatch(call, op, Value(left), Value(right));
  }
}

// The number behind a number or bool.
bool as_number(const Value& value, double& number) {
  if (const Number* tagged = value.if_number()) {
    number = tagged->value;
    return true;
  }
  if (const bool* flag = value.if_bool()) {
    number = *flag ? 1 : 0;
    return true;
  }
  return false;
}

bool power(CallContext& call, const Value& left, const Value& right, double a, double b,
           Value& result) {
  if (a == 0 && b < 0) return call.fail("0 cannot be raised to a negative power");
  const double value = javascript_pow(a, b);
  if (!std::isfinite(value)) return call.fail("the result of '**' is not a finite number");
  const auto is_float = [](const Value& operand) {
    const Number* number = operand.if_number();
    return number != nullptr && number->is_float;
  };
  result = Number{value, is_float(left) || is_float(right) || b < 0};
  return true;
}

bool concatenate(CallContext& call, const Value& left, const Value& right, Value& result) {
  std::string text;
  if (!append_raw(call, left, text) || !append_raw(call, right, text) ||
      !call.charge_text(text.size()))
    return false;
  result = Value(std::move(text));
  return true;
}

// `in` and `not in` where the right side is a list.
bool list_membership(CallContext& call, Operator op, const Value& left, const Array& list,
                     Value& result) {
  const std::string* text = left.if_string();
  if (!call.charge(list.items.size() * (1 + (text == nullptr ? 0 : text->size() / 64))))
    return false;
  bool found = false;
  for (const Value& item : list.items) {
    if (item.is_hole()) return call.fail("a list with an empty place cannot be searched");
    if (!strictly_equal(item, left)) continue;
    found = true;
    break;
  }
  result = Value(found == (op == Operator::kIn));
  return true;
}

bool text_operator(CallContext& call, Operator op, const Value& left, const Value& right,
                   Value& result) {
  if (op == Operator::kAdd && (left.is_string() || right.is_string()))
    return concatenate(call, left, right, result);
  const bool search = op == Operator::kIn || op == Operator::kNotIn;
  if (!search || !left.is_string()) return mismatch(call, op, left, right);
  const std::string* needle = left.if_string();
  if (right.is_string()) {
    const std::string* text = right.if_string();
    if (text == nullptr) return call.fail("a string without text cannot be searched");
    // The reference turns the missing text into the word.
    const std::string_view wanted =
        needle == nullptr ? std::string_view("undefined") : std::string_view(*needle);
    result = Value((find_part(*text, wanted) != std::string::npos) == (op == Operator::kIn));
    return true;
  }
  if (is_map(right)) {
    if (!call.charge(right.if_object()->members.size() / 8)) return false;
    const bool found = needle != nullptr && right.if_object()->find(*needle) != nullptr;
    result = Value(found == (op == Operator::kIn));
    return true;
  }
  return mismatch(call, op, left, right);
}

// Number or text of a primitive, for loose equality.
double primitive_number(const Value& value) {
  double number = 0;
  if (as_number(value, number)) return number;
  const std::string* text = value.if_string();
  return text == nullptr ? std::numeric_limits<double>::quiet_NaN() : to_number(*text);
}

}  // namespace

std::string_view kind_name(const Value& value) {
  switch (kind_of(value)) {
    case Kind::kUndefined: return "undefined";
    case Kind::kNull: return "null";
    case Kind::kBool: return "a bool";
    case Kind::kNumber: return value.if_number()->is_float ? "a float" : "an int";
    case Kind::kString: return "a string";
    case Kind::kArray: return value.if_array()->is_tuple ? "a tuple" : "a list";
    case Kind::kObject: break;
    case Kind::kFunction: return "a function";
    case Kind::kHole: return "an empty place";
  }
  switch (value.if_object()->kind) {
    case Object::Kind::kNamespace: return "a namespace";
    case Object::Kind::kKeywords: return "keyword arguments";
    default: return "an object";
  }
}

double javascript_pow(double base, double exponent) {
  if (std::isnan(exponent) || (std::fabs(base) == 1 && std::isinf(exponent))) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  return std::pow(base, exponent);
}

bool is_raw_true(const Value& value) {
  switch (kind_of(value)) {
    case Kind::kBool: return *value.if_bool();
    case Kind::kNumber:
      return value.if_number()->value != 0 && !std::isnan(value.if_number()->value);
    case Kind::kString: return value.if_string() != nullptr && !value.if_string()->empty();
    case Kind::kArray:
    case Kind::kObject:
    case Kind::kFunction: return true;
    default: return false;
  }
}

bool is_true(const Value& value) {
  if (const Array* array = value.if_array()) return !array->items.empty();
  if (is_map(value)) return !value.if_object()->members.empty();
  return is_raw_true(value);
}

bool strictly_equal(const Value& left, const Value& right) {
  if (is_nullish(left) || is_nullish(right)) return is_nullish(left) && is_nullish(right);
  const Kind kind = kind_of(left);
  if (kind != kind_of(right)) return false;
  switch (kind) {
    case Kind::kBool: return *left.if_bool() == *right.if_bool();
    case Kind::kNumber: return left.if_number()->value == right.if_number()->value;
    case Kind::kString: return *left.if_string() == *right.if_string();
    default: return ValueAccess::identity(left) == ValueAccess::identity(right);
  }
}

bool loosely_equal(CallContext& call, const Value& left, const Value& right, bool& result) {
  const Kind a = kind_of(left);
  const Kind b = kind_of(right);
  if (a == Kind::kHole || b == Kind::kHole) return call.fail("an empty place cannot be compared");
  if (a == b || is_nullish(left) || is_nullish(right)) {
    result = strictly_equal(left, right);
    return true;
  }
  if (is_container(a) && is_container(b)) {
    result = false;
    return true;
  }
  if (is_container(a) || is_container(b)) {
    // A list or object against a primitive goes through its text. Functions have no text that could
    // equal one.
    const Value& container = is_container(a) ? left : right;
    const Value& primitive = is_container(a) ? right : left;
    result = false;
    if (kind_of(container) == Kind::kFunction) return true;
    std::string text;
    if (!append_raw(call, container, text)) return false;
    result = primitive.is_string() ? text == *primitive.if_string()
                                   : to_number(text) == primitive_number(primitive);
    return true;
  }
  result = primitive_number(left) == primitive_number(right);
  return true;
}

bool apply_operator(CallContext& call, Operator op, const Value& left, const Value& right,
                    Value& result) {
  const Number* left_number = left.if_number();
  const Number* right_number = right.if_number();
  const bool numbers = left_number != nullptr && right_number != nullptr;
  const bool arithmetic = op != Operator::kPower && op != Operator::kConcat;
  if (op == Operator::kEqual || op == Operator::kNotEqual) {
    bool equal = false;
    if (!loosely_equal(call, left, right, equal)) return false;
    result = Value(equal == (op == Operator::kEqual));
    return true;
  }
  if (numbers && arithmetic) return numeric(call, op, *left_number, *right_number, result);
  if (left.is_undefined() || right.is_undefined()) {
    if (right.is_undefined() && (op == Operator::kIn || op == Operator::kNotIn)) {
      result = Value(op == Operator::kNotIn);
      return true;
    }
    return call.fail(quoted(op) + " does not work on undefined values");
  }
  if (left.is_null() || right.is_null())
    return call.fail(quoted(op) + " does not work on null values");
  if (left.is_hole() || right.is_hole())
    return call.fail(quoted(op) + " does not work on an empty place");
  if (op == Operator::kConcat) return concatenate(call, left, right, result);
  double a = 0;
  double b = 0;
  if (op == Operator::kPower && as_number(left, a) && as_number(right, b))
    return power(call, left, right, a, b, result);
  const Array* left_list = left.if_array();
  const Array* right_list = right.if_array();
  if (left_list != nullptr && right_list != nullptr) {
    if (op != Operator::kAdd) return mismatch(call, op, left, right);
    if (!call.charge(left_list->items.size() + right_list->items.size())) return false;
    std::vector<Value> items = left_list->items;
    items.insert(items.end(), right_list->items.begin(), right_list->items.end());
    result = Value::list(std::move(items));
    return true;
  }
  if (right_list != nullptr && (op == Operator::kIn || op == Operator::kNotIn)) {
    return list_membership(call, op, left, *right_list, result);
  }
  return text_operator(call, op, left, right, result);
}

bool number_of(CallContext& call, const Value& value, double& result) {
  switch (kind_of(value)) {
    case Kind::kNumber:
    case Kind::kBool: return as_number(value, result);
    case Kind::kArray: {
      std::string text;
      if (!append_raw(call, value, text)) return false;
      result = to_number(text);
      return true;
    }
    default: break;
  }
  const std::string* text = value.if_string();
  if (text != nullptr && !call.charge(text->size() / 64)) return false;
  result = primitive_number(value);
  return true;
}

bool compare_values(CallContext& call, const Value& left, const Value& right, bool case_sensitive,
                    int& order) {
  order = 0;
  double a = 0;
  double b = 0;
  if (as_number(left, a) && as_number(right, b)) {
    order = static_cast<int>(a > b) - static_cast<int>(a < b);
    return true;
  }
  const Kind kind = kind_of(left);
  const bool same = kind == kind_of(right);
  if (same && (kind == Kind::kNull || kind == Kind::kUndefined)) return true;
  const std::string* left_text = left.if_string();
  const std::string* right_text = right.if_string();
  if (left_text == nullptr || right_text == nullptr) {
    return call.fail("cannot order " + std::string(kind_name(left)) + " and " +
                     std::string(kind_name(right)));
  }
  if (!call.charge((left_text->size() + right_text->size()) / 64)) return false;
  order = case_sensitive ? utf16_compare(*left_text, *right_text)
                         : utf16_compare(to_lower(*left_text), to_lower(*right_text));
  return true;
}

}  // namespace wgk::expr
