// SPDX-License-Identifier: Apache-2.0
#include "expr/members.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "expr/text.h"
#include "expr/value_access.h"

namespace wgk::expr {
namespace {

Value bound_method(std::string_view name, Native native, const Value& object) {
  auto function = std::make_shared<Function>();
  function->name = std::string(name);
  function->native = native;
  function->bound = object;
  function->plain = false;
  return Value(std::shared_ptr<const Function>(std::move(function)));
}

// Position of an index that may be negative; nothing when out of range. As Array.at: NaN is 0.
std::optional<std::size_t> position(double index, std::size_t size) {
  double at = std::isnan(index) ? 0 : std::trunc(index);
  if (at < 0) at += static_cast<double>(size);
  if (!(at >= 0 && at < static_cast<double>(size))) return std::nullopt;
  return static_cast<std::size_t>(at);
}

bool text_member(CallContext& call, const Value& object, std::string_view name, Value& result) {
  const std::string* text = object.if_string();
  if (text == nullptr) return call.fail("a string without text has no members");
  if (name == "length") {
    if (!call.charge(text->size() / 64)) return false;
    result = Value::integer(static_cast<double>(utf16_length(*text)));
  } else if (const Native native = find_method(object, name)) {
    result = bound_method(name, native, object);
  } else {
    result = Value();
  }
  return true;
}

// The places that a slice takes, in order.
std::vector<std::size_t> slice_places(std::size_t size, const Slice& slice) {
  const auto count = static_cast<double>(size);
  const double step = slice.step.value_or(1);
  double start = 0;
  double stop = 0;
  if (step >= 0) {
    start = slice.start.value_or(0);
    start = start < 0 ? std::max(count + start, 0.0) : (start > count ? count : start);
    stop = slice.stop.value_or(count);
    stop = stop < 0 ? std::max(count + stop, 0.0) : (stop > count ? count : stop);
  } else {
    start = slice.start.value_or(count - 1);
    start = start < 0 ? std::max(count + start, -1.0) : (start > count - 1 ? count - 1 : start);
    stop = slice.stop.value_or(-1);
    stop = stop < -1 ? std::max(count + stop, -1.0) : (stop > count - 1 ? count - 1 : stop);
  }
  std::vector<std::size_t> places;
  if (step > 0) {
    for (double i = start; i < stop; i += step) places.push_back(static_cast<std::size_t>(i));
  } else if (step < 0) {
    for (double i = start; i > stop; i += step) places.push_back(static_cast<std::size_t>(i));
  }
  return places;
}

}  // namespace

bool get_member(CallContext& call, const Value& object, std::string_view name, Value& result) {
  switch (kind_of(object)) {
    case Kind::kObject: {
      if (!charge_search(call, *object.if_object(), name)) return false;
      const Value* found = object.if_object()->find(name);
      if (found != nullptr && !found->is_hole()) {
        Value copy = *found;  // `result` may be the object itself
        result = std::move(copy);
      } else if (const Native native = find_method(object, name)) {
        result = bound_method(name, native, Value(object));
      } else {
        result = Value();
      }
      return true;
    }
    case Kind::kArray:
      result = name == "length"
                   ? Value::integer(static_cast<double>(object.if_array()->items.size()))
                   : Value();
      return true;
    case Kind::kString: return text_member(call, object, name, result);
    case Kind::kHole: return call.fail("an empty place has no members");
    default: result = Value(); return true;
  }
}

bool get_element(CallContext& call, const Value& object, const Value& index, Value& result) {
  if (const std::string* name = index.if_string()) {
    const std::string copy = *name;
    return get_member(call, object, copy, result);
  }
  const Kind kind = kind_of(object);
  const Number* number = index.if_number();
  const bool indexed =
      (kind == Kind::kArray || kind == Kind::kString) && number != nullptr && !number->is_float;
  if (!indexed) {
    if (index.is_string() &&
        kind != Kind::kHole) {  // the string without text is no key of anything
      if (kind == Kind::kString && object.if_string() == nullptr)
        return call.fail("a string without text has no members");
      result = Value();
      return true;
    }
    return call.fail(std::string(kind_name(object)) + " cannot be indexed with " +
                     std::string(kind_name(index)));
  }
  if (const Array* array = object.if_array()) {
    const std::optional<std::size_t> at = position(number->value, array->items.size());
    Value item = at && !array->items[*at].is_hole() ? array->items[*at] : Value();
    result = std::move(item);
    return true;
  }
  const std::string* text = object.if_string();
  if (text == nullptr) return call.fail("a string without text cannot be indexed");
  if (!call.charge(text->size() / 64)) return false;
  const std::optional<std::size_t> at = position(number->value, utf16_length(*text));
  std::optional<std::string> unit = at ? utf16_at(*text, *at) : std::nullopt;
  result = unit ? Value(std::move(*unit)) : Value::textless_string();
  return true;
}

bool get_slice(CallContext& call, const Value& object, const Slice& slice, Value& result) {
  if (const Array* array = object.if_array()) {
    if (!call.charge(array->items.size())) return false;
    std::vector<Value> items;
    for (const std::size_t place : slice_places(array->items.size(), slice))
      items.push_back(array->items[place]);
    result = Value::list(std::move(items));
    return true;
  }
  const std::string* text = object.if_string();
  if (text == nullptr) return call.fail(std::string(kind_name(object)) + " cannot be sliced");
  if (!call.charge_text(text->size())) return false;
  const std::vector<std::string_view> points = code_points(*text);
  std::string part;
  for (const std::size_t place : slice_places(points.size(), slice)) part += points[place];
  result = Value(std::move(part));
  return true;
}

bool value_at_path(CallContext& call, const Value& item, std::string_view path, Value& result) {
  const Value* value = &item;
  result = Value();
  while (true) {
    const std::size_t dot = path.find('.');
    const std::string_view part = path.substr(0, dot);
    const Value* next = nullptr;
    if (!call.charge(1 + part.size() / 64)) return false;
    if (const Object* object = value->if_object()) {
      if (!charge_search(call, *object, part)) return false;
      next = object->find(part);
    } else if (const Array* array = value->if_array()) {
      const double index = parse_int(part);
      if (index >= 0 && index < static_cast<double>(array->items.size())) {
        next = &array->items[static_cast<std::size_t>(index)];
      }
    }
    if (next == nullptr || next->is_hole()) return true;
    if (dot == std::string_view::npos) {
      result = *next;
      return true;
    }
    value = next;
    path.remove_prefix(dot + 1);
  }
}

Value items_of(const Object& object) {
  std::vector<Value> items;
  items.reserve(object.members.size());
  for (const auto& [key, value] : object.members) items.push_back(Value::list({Value(key), value}));
  return Value::list(std::move(items));
}

Value keys_of(const Object& object) {
  std::vector<Value> keys;
  keys.reserve(object.members.size());
  for (const auto& member : object.members) keys.emplace_back(member.first);
  return Value::list(std::move(keys));
}

Value values_of(const Object& object) {
  std::vector<Value> values;
  values.reserve(object.members.size());
  for (const auto& member : object.members) values.push_back(member.second);
  return Value::list(std::move(values));
}

}  // namespace wgk::expr
