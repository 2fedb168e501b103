// SPDX-License-Identifier: Apache-2.0
// The engine's own view of values: what kind one is, and the shared parts behind it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>

#include "expr/value.h"

namespace wgk::expr {

// In the order of the alternatives of Value.
enum class Kind : std::uint8_t {
  kUndefined,
  kNull,
  kBool,
  kNumber,
  kString,
  kArray,
  kObject,
  kFunction,
  kHole
};

struct ValueAccess {
  static Kind kind(const Value& value) { return static_cast<Kind>(value.data_.index()); }
  static const std::shared_ptr<Array>* array(const Value& value) {
    return std::get_if<std::shared_ptr<Array>>(&value.data_);
  }
  static const std::shared_ptr<Object>* object(const Value& value) {
    return std::get_if<std::shared_ptr<Object>>(&value.data_);
  }
  // Address of the shared part of a list, object or function: its identity.
  static const void* identity(const Value& value) {
    if (const auto* array = ValueAccess::array(value)) return array->get();
    if (const auto* object = ValueAccess::object(value)) return object->get();
    return value.if_function();
  }
};

inline Kind kind_of(const Value& value) {
  return ValueAccess::kind(value);
}

// The raw value behind it is JavaScript's undefined: null, undefined, and the string without text.
inline bool is_nullish(const Value& value) {
  const Kind kind = kind_of(value);
  return kind == Kind::kUndefined || kind == Kind::kNull ||
         (kind == Kind::kString && value.if_string() == nullptr);
}

inline bool is_map(const Value& value) {
  const Object* object = value.if_object();
  return object != nullptr && object->kind != Object::Kind::kNamespace;
}

inline bool is_keywords(const Value& value) {
  const Object* object = value.if_object();
  return object != nullptr && object->kind == Object::Kind::kKeywords;
}

// For messages: "int", "float", "string", "list", ...
std::string_view kind_name(const Value& value);

}  // namespace wgk::expr
