// SPDX-License-Identifier: Apache-2.0
#include "runtime/quirks.h"

#include <utility>

#include "gpu/names.h"
#include "json/cursor.h"
#include "json/json.h"

namespace wgk {
namespace {

constexpr std::string_view kBuiltin =
#include "runtime/quirks.json.inc"
    ;

constexpr std::string_view kCode = "usage/quirks";

Result<bool> matches(const json::Cursor& pattern, const AdapterDescription& adapter) {
  auto members = pattern.members();
  if (!members) return std::unexpected(std::move(members.error()));
  if (auto known = pattern.only({"vendor", "architecture", "backend", "type", "name", "driver"});
      !known) {
    return std::unexpected(std::move(known.error()));
  }
  for (const auto& [key, value] : *members) {
    auto text = value.string();
    if (!text) return std::unexpected(std::move(text.error()));
    const std::string wanted = gpu::lower_case(*text);
    const bool part = key == "name" || key == "driver";
    const std::string& given = key == "vendor"         ? adapter.vendor
                               : key == "architecture" ? adapter.architecture
                               : key == "backend"      ? adapter.backend
                               : key == "type"         ? adapter.type
                               : key == "name"         ? adapter.name
                                                       : adapter.driver;
    const std::string low = gpu::lower_case(given);
    if (part ? !low.contains(wanted) : low != wanted) return false;
  }
  return true;
}

Result<std::string> text_member(const json::Cursor& entry, std::string_view key) {
  auto member = entry.require(key);
  if (!member) return std::unexpected(std::move(member.error()));
  return member->string();
}

}  // namespace

std::string_view builtin_quirks() { return kBuiltin; }

Result<std::vector<VariantOff>> quirks_of(std::string_view table,
                                          const AdapterDescription& adapter) {
  auto json = json::parse(table);
  if (!json) return failure(kCode, "the table of quirks is no JSON: " + json.error().message);
  auto entries = json::Cursor(*json, "quirks", kCode).items();
  if (!entries) return std::unexpected(std::move(entries.error()));
  std::vector<VariantOff> off;
  for (const json::Cursor& entry : *entries) {
    if (auto known = entry.only({"adapter", "op", "variant", "reason"}); !known)
      return std::unexpected(std::move(known.error()));
    auto pattern = entry.require("adapter");
    if (!pattern) return std::unexpected(std::move(pattern.error()));
    VariantOff item;
    for (const auto& [key, to] :
         {std::pair{"op", &item.op_id}, {"variant", &item.variant}, {"reason", &item.reason}}) {
      auto text = text_member(entry, key);
      if (!text) return std::unexpected(std::move(text.error()));
      *to = std::move(*text);
    }
    auto hit = matches(*pattern, adapter);
    if (!hit) return std::unexpected(std::move(hit.error()));
    if (*hit) off.push_back(std::move(item));
  }
  return off;
}

}  // namespace wgk
