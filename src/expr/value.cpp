// SPDX-License-Identifier: Apache-2.0
#include "expr/value.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "expr/function.h"
#include "expr/value_access.h"

namespace wgk::expr {
namespace {

// Keeps only what nobody else holds and what holds more values.
void keep_for_later(Value& value, std::vector<Value>& later) {
  if (ValueAccess::owners(value) != 1) return;
  const Array* array = value.if_array();
  const Object* object = value.if_object();
  const bool holds = (array != nullptr && !array->items.empty()) ||
                     (object != nullptr && !object->members.empty());
  if (!holds) return;
  try {
    later.push_back(std::move(value));
  } catch (const std::bad_alloc&) {  // in a destructor: then it goes by nested ones after all
  }
}

// Takes values apart level by level instead of by nested destructors.
void dismantle(std::vector<Value>& later) {
  while (!later.empty()) {
    const Value value = std::move(later.back());
    later.pop_back();
    if (Array* array = ValueAccess::array(value)) {
      for (Value& item : array->items) keep_for_later(item, later);
    } else if (Object* object = ValueAccess::object(value)) {
      for (auto& member : object->members) keep_for_later(member.second, later);
    }
  }
}

// JavaScript lists members whose key is an array index first, in numeric order.
bool is_index_key(std::string_view key) {
  if (key.empty() || key.size() > 10 || (key[0] == '0' && key.size() > 1)) return false;
  std::uint64_t value = 0;
  for (const char c : key) {
    if (c < '0' || c > '9') return false;
    value = value * 10 + static_cast<std::uint64_t>(c - '0');
  }
  return value < 4294967295ULL;
}

void order_like_javascript(std::vector<std::pair<std::string, Value>>& members) {
  const auto is_index = [](const auto& member) { return is_index_key(member.first); };
  if (std::none_of(members.begin(), members.end(), is_index)) return;
  const auto rest = std::stable_partition(members.begin(), members.end(), is_index);
  std::stable_sort(members.begin(), rest, [](const auto& a, const auto& b) {
    return a.first.size() != b.first.size() ? a.first.size() < b.first.size() : a.first < b.first;
  });
}

}  // namespace

Array::~Array() {
  std::vector<Value> later;
  for (Value& item : items) keep_for_later(item, later);
  dismantle(later);
}

Object::~Object() {
  std::vector<Value> later;
  for (auto& member : members) keep_for_later(member.second, later);
  dismantle(later);
}

const Value* Object::find(std::string_view key) const {
  for (const auto& member : members) {
    if (member.first == key) return &member.second;
  }
  return nullptr;
}

void Object::set(std::string_view key, Value value) {
  for (auto& member : members) {
    if (member.first == key) {
      member.second = std::move(value);
      return;
    }
  }
  members.emplace_back(std::string(key), std::move(value));
}

Value Value::list(std::vector<Value> items) {
  return Value(std::make_shared<Array>(std::move(items)));
}

Value Value::dims(std::span<const std::int64_t> shape) {
  std::vector<Value> items;
  items.reserve(shape.size());
  for (const std::int64_t dim : shape) items.push_back(integer(static_cast<double>(dim)));
  return list(std::move(items));
}

Value Value::object(std::vector<std::pair<std::string, Value>> members) {
  return Value(std::make_shared<Object>(std::move(members)));
}

Value Value::from_json(const Json& json) {
  if (const bool* flag = json.if_bool()) return Value(*flag);
  if (const double* number = json.if_number()) return plain(*number);
  if (const std::string* text = json.if_string()) return Value(*text);
  if (const Json::Array* array = json.if_array()) {
    std::vector<Value> items;
    items.reserve(array->size());
    for (const Json& item : *array) items.push_back(from_json(item));
    return list(std::move(items));
  }
  if (const Json::Object* members = json.if_object()) {
    std::vector<std::pair<std::string, Value>> values;
    values.reserve(members->size());
    for (const Json::Member& member : *members)
      values.emplace_back(member.first, from_json(member.second));
    order_like_javascript(values);
    return object(std::move(values));
  }
  return Value(Null{});
}

Value Value::untagged() const& {
  if (const Number* number = if_number()) return number->is_float ? plain(number->value) : *this;
  if (const Array* array = if_array()) {
    std::vector<Value> items;
    items.reserve(array->items.size());
    for (const Value& item : array->items) items.push_back(item.untagged());
    return list(std::move(items));
  }
  if (const Object* source = if_object()) {
    std::vector<std::pair<std::string, Value>> members;
    members.reserve(source->members.size());
    for (const auto& [key, value] : source->members) members.emplace_back(key, value.untagged());
    return object(std::move(members));
  }
  if (is_hole() || (is_string() && if_string() == nullptr)) return {};
  return *this;
}

Json Value::to_json() const {
  if (const bool* flag = if_bool()) return Json(*flag);
  if (const Number* number = if_number()) return Json(number->value);
  if (const std::string* text = if_string()) return Json(*text);
  if (const Array* array = if_array()) {
    Json::Array items;
    items.reserve(array->items.size());
    for (const Value& item : array->items) items.push_back(item.to_json());
    return Json(std::move(items));
  }
  if (const Object* source = if_object()) {
    Json::Object members;
    members.reserve(source->members.size());
    for (const auto& [key, value] : source->members) members.emplace_back(key, value.to_json());
    return Json(std::move(members));
  }
  return {};
}

Value native_function(std::string name, Native native, Value bound) {
  auto function = std::make_shared<Function>();
  function->name = std::move(name);
  function->native = native;
  function->bound = std::move(bound);
  return Value(std::shared_ptr<const Function>(std::move(function)));
}

}  // namespace wgk::expr
