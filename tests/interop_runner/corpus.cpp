// SPDX-License-Identifier: Apache-2.0
#include "corpus.h"

#include "base/try.h"
#include "io/files.h"
#include "json/json.h"

namespace wgk::interop {

Result<std::string> read_text(const std::filesystem::path& path) { return io::read_file(path); }

Result<Json> read_json(const std::filesystem::path& path) {
  WGK_ASSIGN(const std::string text, read_text(path));
  auto json = json::parse(text);
  if (!json) return std::unexpected(std::move(json.error()).during("reading " + path.string()));
  return json;
}

Result<Profiles> read_profiles(const std::filesystem::path& folder) {
  WGK_ASSIGN(const Json json, read_json(folder / "profiles.json"));
  Profiles profiles;
  if (json.if_object() == nullptr) return failure("io/format", "profiles.json is not an object");
  for (const auto& [name, profile] : *json.if_object()) {
    auto caps = DeviceCaps::from_json(member(profile, "device"));
    if (!caps) return std::unexpected(std::move(caps.error()).during("reading profile " + name));
    profiles.emplace(name, std::move(*caps));
  }
  return profiles;
}

const Json& member(const Json& object, std::string_view key) {
  static const Json absent;
  const Json* found = object.find(key);
  return found == nullptr ? absent : *found;
}

std::string text_of(const Json& value) {
  return value.if_string() == nullptr ? std::string() : *value.if_string();
}

bool is_true(const Json& value) { return value.if_bool() != nullptr && *value.if_bool(); }

}  // namespace wgk::interop
