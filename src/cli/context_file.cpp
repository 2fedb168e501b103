// SPDX-License-Identifier: Apache-2.0
#include "cli/context_file.h"

#include "base/try.h"
#include "expr/globals.h"
#include "io/files.h"
#include "json/json.h"
#include "plan/scope.h"
#include "wgk/device_caps.h"

namespace wgk::cli {
namespace {

Result<Json> read_object(const std::string& path) {
  if (path.empty()) return Json(Json::Object{});
  WGK_ASSIGN(const std::string text, io::read_file(path));
  WGK_ASSIGN(Json json, json::parse(text));
  if (!json.is_object()) return failure("io/format", "'" + path + "' must hold an object of names");
  return json;
}

}  // namespace

Status read_context(const std::string& path, expr::Scope& scope) {
  auto json = read_object(path);
  if (!json) return std::unexpected(std::move(json).error().during("reading the context " + path));
  DeviceCaps caps = DeviceCaps::defaults();
  if (const Json* device = json->find("device")) {
    auto read = DeviceCaps::from_json(*device);
    if (!read)
      return std::unexpected(
          std::move(read).error().during("reading 'device' of the context " + path));
    caps = *std::move(read);
  }
  planning::DeviceNames(caps).add_to(scope);
  Json names{Json::Object{}};
  for (const auto& [name, value] : *json->if_object()) {
    if (name != "device") names.if_object()->emplace_back(name, value);
  }
  if (Status added = expr::add_context(scope, names); !added)
    return std::unexpected(std::move(added).error().during("reading the context " + path));
  return {};
}

}  // namespace wgk::cli
