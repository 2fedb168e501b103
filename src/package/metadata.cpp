// SPDX-License-Identifier: Apache-2.0
// metadata.json: where it must be strict because everything else hangs on it (format.md a.3, a.4).
#include <algorithm>

#include "base/number.h"
#include "base/try.h"
#include "json/cursor.h"
#include "json/json.h"
#include "package/manifest_reader.h"
#include "package/names.h"
#include "package/package.h"

namespace wgk::package {
namespace {

using json::Cursor;

constexpr std::string_view kMetadataCode = "package/metadata";
constexpr std::string_view kSpec = "2.1";

bool is_spec_text(std::string_view text) {
  const std::size_t dot = text.find('.');
  if (dot == std::string_view::npos) return false;
  const auto digits = [](std::string_view part) {
    return !part.empty() && std::ranges::all_of(part, [](char c) { return c >= '0' && c <= '9'; });
  };
  return digits(text.substr(0, dot)) && digits(text.substr(dot + 1));
}

// A member that must be one text; anything else is named in the message.
Status expect_text(const Cursor& object, std::string_view key, std::string_view expected) {
  const std::optional<Cursor> member = object.find(key);
  const std::string given = member ? json::write(member->value()) : "nothing";
  if (member && member->value() == Json(expected)) return {};
  const std::string place = object.path() + "." + std::string(key);
  return failure(kMetadataCode,
                 place + ": expected \"" + std::string(expected) + "\", got " + given);
}

Result<Cursor> object_member(const Cursor& cursor, std::string_view key) {
  WGK_ASSIGN(Cursor member, cursor.require(key));
  if (!member.value().is_object()) return member.fail_value("must be an object");
  return member;
}

// The spec is compared as text, so the number 2.1 passes too.
Result<std::string> read_spec(const Cursor& webgpu) {
  std::string text;
  if (const auto member = webgpu.find("manifestSpec")) {
    if (const std::string* given = member->value().if_string()) text = *given;
    if (const double* number = member->value().if_number()) text = number_text(*number);
  }
  const std::string place = "webgpu.manifestSpec: ";
  if (!is_spec_text(text))
    return failure(kMetadataCode, place + "'" + text + "' is not of the form <major>.<minor>");
  if (text != kSpec)
    return failure(kMetadataCode,
                   place + "expected '" + std::string(kSpec) + "', got '" + text + "'");
  return text;
}

Status read_digests(const Cursor& digest, Metadata& metadata) {
  WGK_TRY(expect_text(digest, "algorithm", "sha256"));
  WGK_ASSIGN(const Cursor files, digest.require("files"));
  WGK_TRY(expect_few(files));
  WGK_ASSIGN(const auto members, files.members());
  for (const auto& [path, value] : members) {
    if (!is_package_path(path)) return value.fail("'" + path + "' is not a plain relative path");
    WGK_ASSIGN(std::string text, value.string());
    metadata.digests.emplace_back(path, std::move(text));
  }
  if (files.find("manifest.json")) return {};
  return files.fail("manifest.json is not listed");
}

Status read_variants(const Cursor& webgpu, Metadata& metadata) {
  WGK_ASSIGN(const Cursor variants, webgpu.require("variants"));
  WGK_TRY(expect_few(variants));
  WGK_ASSIGN(const auto members, variants.members());
  for (const auto& [id, list] : members) {
    if (!is_stable_id(id) || is_prototype_name(id))
      return list.fail("'" + id + "' is not a variant id");
    WGK_TRY(expect_few(list));
    WGK_ASSIGN(const std::vector<Cursor> items, list.items());
    if (items.empty()) return list.fail("must not be empty");
    std::vector<std::string> templates;
    for (const Cursor& item : items) {
      WGK_ASSIGN(std::string path, item.string());
      const bool listed = std::ranges::contains(metadata.digests, path,
                                                &std::pair<std::string, std::string>::first);
      if (!listed || !is_template_path(path))
        return item.fail("'" + path + "' is not a template listed under digest.files");
      if (!std::ranges::contains(templates, path)) templates.push_back(std::move(path));
    }
    metadata.variants.emplace_back(id, std::move(templates));
  }
  if (members.empty()) return variants.fail("lists no variant");
  return {};
}

Result<Metadata> read_object(const Json& json) {
  const Cursor cursor(json, "", kMetadataCode);
  if (!json.is_object()) return cursor.fail("metadata.json must hold an object");
  Metadata metadata;
  WGK_ASSIGN(const Cursor backend, object_member(cursor, "backend"));
  WGK_TRY(expect_text(backend, "type", "webgpu"));
  WGK_ASSIGN(const Cursor webgpu, object_member(cursor, "webgpu"));
  WGK_ASSIGN(metadata.manifest_spec, read_spec(webgpu));
  WGK_ASSIGN(const Cursor digest, object_member(cursor, "digest"));
  WGK_TRY(read_digests(digest, metadata));
  WGK_TRY(read_variants(webgpu, metadata));
  WGK_ASSIGN(const Cursor name, cursor.require("name"));
  WGK_ASSIGN(metadata.name, name.string());
  // The rest informs people: whatever stands there, the package loads.
  for (const auto& [key, target] :
       {std::pair{"id", &metadata.id}, std::pair{"license", &metadata.license}}) {
    const auto member = cursor.find(key);
    if (member && member->value().is_string()) *target = *member->value().if_string();
  }
  if (const auto version = cursor.find("version"); version && version->value().is_number()) {
    if (const auto number = version->integer(0, INT64_MAX)) metadata.version = *number;
  }
  return metadata;
}

}  // namespace

Result<Metadata> read_metadata(std::string_view text, const json::ParseLimits& limits) {
  auto json = json::parse(text, limits);
  if (!json) return std::unexpected(std::move(json).error().during("reading metadata.json"));
  auto metadata = read_object(*json);
  if (!metadata)
    return std::unexpected(std::move(metadata).error().during("reading metadata.json"));
  return metadata;
}

}  // namespace wgk::package
