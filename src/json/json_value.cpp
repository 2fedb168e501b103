// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <string_view>
#include <utility>

#include "wgk/json.h"

namespace wgk {

Json::Json(const Json& other) {
  if (const bool* flag = other.if_bool()) {
    data_ = *flag;
  } else if (const double* number = other.if_number()) {
    data_ = *number;
  } else if (const std::string* text = other.if_string()) {
    data_ = std::string(*text);
  } else if (const Array* array = other.if_array()) {
    data_ = Array(*array);
  } else if (const Object* object = other.if_object()) {
    data_ = Object(*object);
  }
}

const Json* Json::find(std::string_view key) const {
  const Object* object = if_object();
  if (object == nullptr) return nullptr;
  for (const Member& member : *object) {
    if (member.first == key) return &member.second;
  }
  return nullptr;
}

Json& Json::set(std::string key, Json value) {
  if (is_null()) data_ = Object{};
  Object* object = if_object();
  if (object == nullptr) return *this;
  for (Member& member : *object) {
    if (member.first == key) {
      member.second = std::move(value);
      return *this;
    }
  }
  object->emplace_back(std::move(key), std::move(value));
  return *this;
}

}  // namespace wgk
