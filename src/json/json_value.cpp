// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <string_view>
#include <utility>

#include "wgk/json.h"

namespace wgk {

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
