// SPDX-License-Identifier: Apache-2.0
// Members, elements, slices and methods of values.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "expr/function.h"
#include "expr/value.h"

namespace wgk::expr {

// For what looks through the names of an object; nothing for few and short ones.
inline bool charge_search(CallContext& call, const Object& object, std::string_view name) {
  const std::size_t steps = object.members.size() * (1 + name.size() / 64) / 8;
  return steps == 0 || call.charge(steps);
}

// object.name and object["name"].
bool get_member(CallContext& call, const Value& object, std::string_view name, Value& result);
// object[index] for any index.
bool get_element(CallContext& call, const Value& object, const Value& index, Value& result);

struct Slice {
  std::optional<double> start;
  std::optional<double> stop;
  std::optional<double> step;
};
bool get_slice(CallContext& call, const Value& object, const Slice& slice, Value& result);

// The method that object.name is, unless a member of that name hides it; null when there is none.
Native find_method(const Value& object, std::string_view name);

// Value at a path "a.0.b"; undefined when there is none.
bool value_at_path(CallContext& call, const Value& item, std::string_view path, Value& result);

// Methods that are filters too.
bool replace_method(CallContext& call, const Value& bound, std::span<const Value> args,
                    Value& result);
bool dictsort_method(CallContext& call, const Value& bound, std::span<const Value> args,
                     Value& result);
Value items_of(const Object& object);
Value keys_of(const Object& object);
Value values_of(const Object& object);

}  // namespace wgk::expr
