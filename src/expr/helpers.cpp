// SPDX-License-Identifier: Apache-2.0
// The functions of manifest expressions (format.md b.4). They work on plain values, as in the
// reference: what is no number counts as NaN.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "expr/expression.h"
#include "expr/function.h"
#include "expr/helper_support.h"
#include "expr/operators.h"
#include "expr/text.h"
#include "expr/value_access.h"

namespace wgk::expr {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

bool product(CallContext& call, const std::vector<Value>& items, std::size_t begin, std::size_t end,
             double& result) {
  result = 1;
  for (std::size_t i = begin; i < end; ++i) {
    double factor = 0;
    if (!number_of(call, items[i], factor)) return false;
    result *= factor;
  }
  return true;
}

bool give(Value& result, double number) {
  result = Value::plain(number);
  return true;
}

bool ceil_helper(CallContext& call, const Value&, Args args, Value& result) {
  double x = 0;
  return number_at(call, args, 0, x) && give(result, std::ceil(x));
}

bool floor_helper(CallContext& call, const Value&, Args args, Value& result) {
  double x = 0;
  return number_at(call, args, 0, x) && give(result, std::floor(x));
}

bool extreme(CallContext& call, Args args, double sign, Value& result) {
  double best = sign * kInfinity;
  for (const Value& argument : args) {
    double x = 0;
    if (!number_of(call, argument, x)) return false;
    const bool better = sign > 0 ? x < best || (x == best && std::signbit(x))
                                 : x > best || (x == best && !std::signbit(x));
    if (std::isnan(best)) continue;
    if (std::isnan(x) || better) best = x;
  }
  return give(result, best);
}
bool min_helper(CallContext& call, const Value&, Args args, Value& result) {
  return extreme(call, args, 1, result);
}
bool max_helper(CallContext& call, const Value&, Args args, Value& result) {
  return extreme(call, args, -1, result);
}

bool pow_helper(CallContext& call, const Value&, Args args, Value& result) {
  double base = 0;
  double exponent = 0;
  return number_at(call, args, 0, base) && number_at(call, args, 1, exponent) &&
         give(result, javascript_pow(base, exponent));
}

bool ceil_div_helper(CallContext& call, const Value&, Args args, Value& result) {
  double a = 0;
  double b = 0;
  return number_at(call, args, 0, a) && number_at(call, args, 1, b) &&
         give(result, std::ceil(a / b));
}

bool pow2ceil_helper(CallContext& call, const Value&, Args args, Value& result) {
  double x = 0;
  return number_at(call, args, 0, x) &&
         give(result, x <= 1 ? 1 : javascript_pow(2, std::ceil(std::log2(x))));
}

bool log2ceil_helper(CallContext& call, const Value&, Args args, Value& result) {
  double x = 0;
  return number_at(call, args, 0, x) && give(result, x <= 1 ? 0 : std::ceil(std::log2(x)));
}

bool numel_helper(CallContext& call, const Value&, Args args, Value& result) {
  const Array* shape = list_at(call, args, 0, "numel");
  double count = 0;
  return shape != nullptr && product(call, shape->items, 0, shape->items.size(), count) &&
         give(result, count);
}

bool dim_helper(CallContext& call, const Value&, Args args, Value& result) {
  const Array* shape = list_at(call, args, 0, "dim");
  double axis = 0;
  if (shape == nullptr || !number_at(call, args, 1, axis)) return false;
  const double at = wrapped(axis, static_cast<double>(shape->items.size()));
  result = is_integer(at) ? Value(shape->items[static_cast<std::size_t>(at)]) : Value();
  return true;
}

// Products around one axis: `before` and `after` tell which sides count.
bool around(CallContext& call, Args args, std::string_view name, bool before, bool after,
            Value& result) {
  const Array* shape = list_at(call, args, 0, name);
  double axis = 0;
  if (shape == nullptr || !number_at(call, args, 1, axis)) return false;
  const std::size_t rank = shape->items.size();
  const double wanted = wrapped(axis, static_cast<double>(rank));
  if (rank == 0) return give(result, 1);
  if (!is_integer(wanted)) return call.fail(std::string(name) + "() needs an int as axis");
  const auto at = static_cast<std::size_t>(wanted);
  double left = 1;
  double right = 1;
  if (before && !product(call, shape->items, 0, at, left)) return false;
  if (after && !product(call, shape->items, at + 1, rank, right)) return false;
  return give(result, left * right);
}
bool rows_helper(CallContext& call, const Value&, Args args, Value& result) {
  return around(call, args, "rows", true, true, result);
}
bool outer_helper(CallContext& call, const Value&, Args args, Value& result) {
  return around(call, args, "outer", true, false, result);
}
bool inner_helper(CallContext& call, const Value&, Args args, Value& result) {
  return around(call, args, "inner", false, true, result);
}

bool part(CallContext& call, Args args, std::string_view name, bool head, Value& result) {
  const Array* shape = list_at(call, args, 0, name);
  double count = 0;
  if (shape == nullptr || !number_at(call, args, 1, count)) return false;
  const auto rank = static_cast<double>(shape->items.size());
  const auto at = static_cast<std::ptrdiff_t>(count > 0 ? std::min(std::trunc(count), rank) : 0);
  const auto middle = shape->items.begin() + at;
  result = Value::list(head ? std::vector<Value>(shape->items.begin(), middle)
                            : std::vector<Value>(middle, shape->items.end()));
  return true;
}
bool prefix_helper(CallContext& call, const Value&, Args args, Value& result) {
  return part(call, args, "prefix", true, result);
}
bool suffix_helper(CallContext& call, const Value&, Args args, Value& result) {
  return part(call, args, "suffix", false, result);
}

bool fill_helper(CallContext& call, const Value&, Args args, Value& result) {
  const Number* count = args.size() > 1 ? args[1].if_number() : nullptr;
  if (count == nullptr || !is_integer(count->value) || count->value < 0) {
    return call.fail("fill() needs a non-negative int as count");
  }
  if (!call.charge(static_cast<std::size_t>(std::min(count->value, 1e15)))) return false;
  result = Value::list(std::vector<Value>(static_cast<std::size_t>(count->value), args[0]));
  return true;
}

// Own members of a JavaScript value: lists and strings have their places and their length.
bool has_helper(CallContext& call, const Value&, Args args, Value& result) {
  std::string key;
  if (args.size() > 1 && !append_raw(call, args[1], key)) return false;
  const auto has_place = [&](std::size_t size) {
    double place = kNaN;
    if (!key.empty() && key.size() < 16 && key.find_first_not_of("0123456789") == std::string::npos)
      place = to_number(key);
    return key == "length" ||
           (place < static_cast<double>(size) && (key[0] != '0' || key.size() == 1));
  };
  bool found = false;
  if (!args.empty()) {
    if (const Object* object = args[0].if_object()) found = object->find(key) != nullptr;
    if (const Array* list = args[0].if_array()) found = has_place(list->items.size());
    if (const std::string* text = args[0].if_string()) found = has_place(text->size());
  }
  result = Value(found);
  return true;
}

bool pick_helper(CallContext& call, const Value&, Args args, Value& result) {
  const Array* pairs = args.empty() ? nullptr : args[0].if_array();
  if (pairs == nullptr) return call.fail("pick() needs a list of [condition, value] pairs");
  if (!call.charge(pairs->items.size())) return false;
  for (const Value& entry : pairs->items) {
    const Array* pair = entry.if_array();
    if (pair == nullptr) return call.fail("pick() needs a list of [condition, value] pairs");
    if (pair->items.empty() || !is_raw_true(pair->items[0])) continue;
    result = pair->items.size() > 1 ? Value(pair->items[1]) : Value();
    return true;
  }
  result = args.size() > 1 ? Value(args[1]) : Value();
  return true;
}

bool f16_ok_helper(CallContext&, const Value& bound, Args args, Value& result) {
  const std::string* name = args.empty() ? nullptr : args[0].if_string();
  const bool is_half = name != nullptr && (*name == "f16" || *name == "float16");
  result = Value(!is_half || *bound.if_bool());
  return true;
}

bool has_feature_helper(CallContext&, const Value& bound, Args args, Value& result) {
  const std::string* name = args.empty() ? nullptr : args[0].if_string();
  const std::vector<Value>& names = bound.if_array()->items;
  result =
      Value(name != nullptr && std::any_of(names.begin(), names.end(), [&](const Value& known) {
              return *known.if_string() == *name;
            }));
  return true;
}

}  // namespace

bool number_at(CallContext& call, Args args, std::size_t index, double& number) {
  if (index < args.size()) return number_of(call, args[index], number);
  number = kNaN;
  return true;
}

const Array* list_at(CallContext& call, Args args, std::size_t index, std::string_view function) {
  const Array* list = index < args.size() ? args[index].if_array() : nullptr;
  if (list == nullptr) {
    const std::string got = index < args.size() ? std::string(kind_name(args[index])) : "nothing";
    call.fail(std::string(function) + "() needs a list as argument " + std::to_string(index + 1) +
              ", got " + got);
  } else if (!call.charge(list->items.size())) {
    return nullptr;
  }
  return list;
}

bool is_integer(double value) { return std::isfinite(value) && value == std::trunc(value); }

// axis modulo rank, or NaN.
double wrapped(double axis, double rank) {
  const double rest = std::fmod(axis, rank);
  return std::fmod(rest + rank, rank);
}

const Scope& helpers() {
  static const Scope kHelpers = [] {
    Scope scope;
    scope.set("DISPATCH_FOLD_WIDTH", Value::integer(65535));
    for (const auto& [name, native] :
         std::initializer_list<std::pair<std::string_view, Native>>{{"ceil", ceil_helper},
                                                                    {"floor", floor_helper},
                                                                    {"min", min_helper},
                                                                    {"max", max_helper},
                                                                    {"pow", pow_helper},
                                                                    {"ceilDiv", ceil_div_helper},
                                                                    {"pow2ceil", pow2ceil_helper},
                                                                    {"log2ceil", log2ceil_helper},
                                                                    {"numel", numel_helper},
                                                                    {"dim", dim_helper},
                                                                    {"rows", rows_helper},
                                                                    {"outer", outer_helper},
                                                                    {"inner", inner_helper},
                                                                    {"prefix", prefix_helper},
                                                                    {"suffix", suffix_helper},
                                                                    {"fill", fill_helper},
                                                                    {"has", has_helper},
                                                                    {"pick", pick_helper}}) {
      scope.set(name, native_function(std::string(name), native));
    }
    add_shape_helpers(scope);
    return scope;
  }();
  return kHelpers;
}

Value f16_ok(bool has_f16) { return native_function("f16Ok", f16_ok_helper, Value(has_f16)); }

Value feature_set(std::span<const std::string> names) {
  std::vector<Value> items;
  for (const std::string& name : names) items.emplace_back(name);
  const Value size = Value::integer(static_cast<double>(items.size()));
  return Value::object(
      {{"size", size},
       {"has", native_function("has", has_feature_helper, Value::list(std::move(items)))}});
}

}  // namespace wgk::expr
