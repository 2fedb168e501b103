// SPDX-License-Identifier: Apache-2.0
// What every object of a manifest has in common: comments, forbidden keys, members read with
// JavaScript's eyes.
#include <optional>
#include <string>
#include <string_view>

#include "package/manifest_reader.h"
#include "package/names.h"

namespace wgk::package {
namespace {

// Where a value stands: becomes text only when something is wrong there.
struct Place {
  const Place* above = nullptr;  // null: the whole text
  std::string_view key = {};
  std::optional<std::size_t> index = {};  // in a list; else `key` in an object

  std::string path() const {
    if (above == nullptr) return {};
    const std::string outer = above->path();
    if (index) return outer + "[" + std::to_string(*index) + "]";
    return outer.empty() ? std::string(key) : outer + "." + std::string(key);
  }
};

Result<Json> without_comments(const Json& json, const Place& place) {
  if (const Json::Array* items = json.if_array()) {
    Json::Array kept;
    kept.reserve(items->size());
    for (const Json& item : *items) {
      WGK_ASSIGN(Json clean, without_comments(item, {.above = &place, .index = kept.size()}));
      kept.push_back(std::move(clean));
    }
    return Json(std::move(kept));
  }
  const Json::Object* members = json.if_object();
  if (members == nullptr) return json;
  Json::Object kept;
  kept.reserve(members->size());
  for (const auto& [key, value] : *members) {
    const Place inner{.above = &place, .key = key};
    if (key == "$comment") {
      if (!value.is_string())
        return failure(kManifestError, inner.path() + ": a comment must be a string");
      continue;
    }
    WGK_ASSIGN(Json clean, without_comments(value, inner));
    kept.emplace_back(key, std::move(clean));
  }
  return Json(std::move(kept));
}

Status refuse_prototype_names(const Json& json, std::string_view code, const Place& place) {
  if (const Json::Array* items = json.if_array()) {
    for (std::size_t i = 0; i < items->size(); ++i)
      WGK_TRY(refuse_prototype_names((*items)[i], code, {.above = &place, .index = i}));
  }
  if (const Json::Object* members = json.if_object()) {
    for (const auto& [key, value] : *members) {
      const Place inner{.above = &place, .key = key};
      if (is_prototype_name(key)) {
        return failure(code, inner.path() + ": the key '" + key +
                                 "' is the name of a member of JavaScript's Object.prototype");
      }
      WGK_TRY(refuse_prototype_names(value, code, inner));
    }
  }
  return {};
}

}  // namespace

Result<Json> without_comments(const Json& json) { return without_comments(json, Place()); }

Status refuse_prototype_names(const Json& json, std::string_view code) {
  return refuse_prototype_names(json, code, Place());
}

std::vector<std::pair<std::string, Cursor>> loose_entries(const Cursor& value) {
  std::vector<std::pair<std::string, Cursor>> entries;
  if (auto members = value.value().is_object()
                         ? value.members()
                         : Result<std::vector<std::pair<std::string, Cursor>>>{}) {
    entries = *std::move(members);
  }
  if (!value.value().is_array()) return entries;
  if (auto items = value.items()) {
    for (std::size_t i = 0; i < items->size(); ++i)
      entries.emplace_back(std::to_string(i), (*items)[i]);
  }
  return entries;
}

Result<std::string> text_member(const Cursor& object, std::string_view key, bool non_empty) {
  const std::optional<Cursor> member = object.find(key);
  if (!member) return std::string();
  WGK_ASSIGN(std::string text, member->string());
  if (non_empty && text.empty()) return member->fail("must not be empty");
  return text;
}

Result<bool> flag_member(const Cursor& object, std::string_view key, bool otherwise) {
  const std::optional<Cursor> member = object.find(key);
  if (!member) return otherwise;
  return member->boolean();
}

Status expect_object(const Cursor& value) {
  if (value.value().is_object()) return {};
  return value.fail_value("must be an object");
}

Status expect_few(const Cursor& entries) {
  constexpr std::size_t kMost = 4096;
  const Json::Object* object = entries.value().if_object();
  const Json::Array* list = entries.value().if_array();
  const std::size_t count = object != nullptr ? object->size() : list != nullptr ? list->size() : 0;
  if (count <= kMost) return {};
  return failure("limit/count", entries.path() + ": has " + std::to_string(count) +
                                    " entries; the limit is " + std::to_string(kMost));
}

Status expect_few(const Cursor& owner, std::initializer_list<std::string_view> keys) {
  for (const std::string_view key : keys) {
    if (const std::optional<Cursor> member = owner.find(key)) WGK_TRY(expect_few(*member));
  }
  return {};
}

}  // namespace wgk::package
