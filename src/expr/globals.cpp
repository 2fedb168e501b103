// SPDX-License-Identifier: Apache-2.0
#include "expr/globals.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "expr/function.h"
#include "expr/names.h"
#include "expr/operators.h"
#include "expr/text.h"
#include "expr/value_access.h"

namespace wgk::expr {
namespace {

using Args = std::span<const Value>;

// range(stop), range(start, stop), range(start, stop, step), with JavaScript's comparisons and
// additions.
bool range_function(CallContext& call, const Value&, Args args, Value& result) {
  const auto given = [&](std::size_t i) { return i < args.size() && !args[i].is_undefined(); };
  const Value zero = Value::integer(0);
  const Value& first = given(1) ? (args.empty() ? zero : args[0]) : zero;
  const Value missing;
  const Value& last = given(1) ? args[1] : (args.empty() ? missing : args[0]);
  double start = 0;
  double stop = 0;
  double step = 1;
  if (!number_of(call, first, start) || !number_of(call, last, stop)) return false;
  if (given(2) && !number_of(call, args[2], step)) return false;
  if (given(2) && args[2].if_number() != nullptr && step == 0)
    return call.fail("the step of range() must not be 0");
  std::vector<Value> items;
  const auto inside = [&](double at) { return step > 0 ? at < stop : at > stop; };
  constexpr double kUsual = 64;
  if (const double count = std::ceil((stop - start) / step); count > 0)
    items.reserve(static_cast<std::size_t>(std::min(count, kUsual)));
  const auto adds = [](const Value& value) {
    return value.if_number() != nullptr || value.if_bool() != nullptr;
  };
  if (inside(start) && (!adds(first) || (given(2) && args[2].is_string())))
    return call.fail("range() needs numbers");
  for (double at = start; inside(at); at += step) {
    if (!call.charge(1)) return false;
    if (items.size() % 4096 == 4095 && !call.charge(items.size() + 1))
      return false;  // also bounds the length
    // A bool is pushed before it is added to.
    items.push_back(items.empty() && first.if_bool() != nullptr ? first : Value::plain(at));
  }
  result = Value::list(std::move(items));
  return true;
}

bool raise_function(CallContext& call, const Value&, Args args, Value&) {
  std::string message;
  if (!args.empty() && !append_printed(call, args[0], message)) return false;
  return call.raise(std::move(message));
}

// namespace(object or list of pairs, key=value, ...)
bool namespace_function(CallContext& call, const Value&, Args args, Value& result) {
  const Object* keywords =
      !args.empty() && is_keywords(args.back()) ? args.back().if_object() : nullptr;
  const Args positional = keywords == nullptr ? args : args.first(args.size() - 1);
  auto space = std::make_shared<Object>();
  space->kind = Object::Kind::kNamespace;
  if (positional.size() > 1) return call.fail("namespace() takes at most one positional argument");
  if (positional.size() == 1) {
    if (is_map(positional[0])) {
      for (const auto& [key, value] : positional[0].if_object()->members) space->set(key, value);
    } else if (const Array* list = positional[0].if_array()) {
      if (!call.charge(list->items.size() * 2)) return false;
      for (const Value& pair : list->items) {
        std::vector<Value> both;
        if (pair.if_array() != nullptr) both = pair.if_array()->items;
        if (pair.if_string() != nullptr) {
          for (const std::string_view point : code_points(*pair.if_string()))
            both.emplace_back(point);
        }
        if (both.size() != 2) return call.fail("namespace() needs an object or a list of pairs");
        if (!both[0].is_string()) return call.fail("the keys of namespace() must be strings");
        space->set(
            both[0].if_string() == nullptr ? std::string_view("undefined") : *both[0].if_string(),
            both[1]);
      }
    } else {
      return call.fail("namespace() needs an object or a list of pairs, got " +
                       std::string(kind_name(positional[0])));
    }
  }
  if (keywords != nullptr) {
    for (const auto& [key, value] : keywords->members) space->set(key, value);
  }
  result = Value(std::move(space));
  return true;
}

Value engine_function(std::string_view name, Native native, bool plain) {
  auto function = std::make_shared<Function>();
  function->name = std::string(name);
  function->native = native;
  function->plain = plain;
  return Value(std::shared_ptr<const Function>(std::move(function)));
}

}  // namespace

const Value* engine_global(std::string_view name) {
  static const Value kRange = engine_function("range", range_function, true);
  static const Value kNamespace = engine_function("namespace", namespace_function, false);
  static const Value kRaise = engine_function("raise_exception", raise_function, true);
  if (name == "range") return &kRange;
  if (name == "namespace") return &kNamespace;
  if (name == "raise_exception") return &kRaise;
  return nullptr;
}

Status add_context(Scope& scope, const Json& context) {
  if (context.is_null()) return {};
  const Json::Object* members = context.if_object();
  if (members == nullptr) return failure("expression/type", "the context must be an object");
  const Value values = Value::from_json(context);
  for (const auto& [name, value] : values.if_object()->members) {
    if (literal_name(name) != nullptr || engine_global(name) != nullptr) {
      return failure("expression/type",
                     "the context gives '" + name + "', which is a name of the engine");
    }
    scope.set(name, value);
  }
  return {};
}

}  // namespace wgk::expr
