// SPDX-License-Identifier: Apache-2.0
// The engine's own view of values: what kind one is, and the shared parts behind it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "expr/value.h"

namespace wgk::expr {

// The engine alone changes values: those it made, and namespaces.
struct ValueAccess {
  // How many values share the list, object or text.
  static long owners(const Value& value) { return value.shared_.use_count(); }
  static Array* array(const Value& value) { return const_cast<Array*>(value.if_array()); }
  static Object* object(const Value& value) { return const_cast<Object*>(value.if_object()); }
  static std::shared_ptr<Object> shared_object(const Value& value) {
    return std::const_pointer_cast<Object>(std::static_pointer_cast<const Object>(value.shared_));
  }
  // Address of the shared part of a list, object or function: its identity; null for other kinds.
  static const void* identity(const Value& value) {
    const bool shares = value.kind() == Kind::kArray || value.kind() == Kind::kObject ||
                        value.kind() == Kind::kFunction;
    return shares ? value.shared_.get() : nullptr;
  }
};

inline Kind kind_of(const Value& value) { return value.kind(); }

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
