// SPDX-License-Identifier: Apache-2.0
// For tests: the name scopes of tests/interop/expressions.json and templates.json.
#pragma once

#include <fstream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "expr/expression.h"
#include "json/json.h"

namespace wgk::expr::interop {

inline Json read_json(std::string_view file) {
  std::ifstream stream(std::string(WGK_SOURCE_DIR) + "/tests/interop/" + std::string(file));
  std::stringstream text;
  text << stream.rdbuf();
  return json::parse(text.str()).value();
}

// A device profile as expressions see it.
inline Value device_value(const Json& device) {
  std::vector<std::pair<std::string, Value>> members;
  for (const Json::Member& member : *device.if_object()) {
    const bool is_set = member.first == "features" || member.first == "wgslLanguageFeatures";
    if (!is_set) {
      members.emplace_back(member.first, Value::from_json(member.second));
      continue;
    }
    std::vector<std::string> names;
    for (const Json& name : *member.second.if_array()) names.push_back(*name.if_string());
    members.emplace_back(member.first, feature_set(names));
  }
  return Value::object(std::move(members));
}

struct Corpus {
  explicit Corpus(std::string_view file) : json(read_json(file)) {
    const Json profiles = read_json("profiles.json");
    for (const auto& [name, source] : *json.find("scopes")->if_object()) {
      auto scope = std::make_unique<Scope>(&helpers());
      const Json empty{Json::Object{}};
      const auto map = [&](std::string_view key) -> const Json& {
        const Json* found = source.find(key);
        return found == nullptr ? empty : *found;
      };
      for (const auto& [key, value] : *map("derived").if_object())
        scope->set(key, Value::from_json(value));
      for (const std::string_view key : {"tunables", "dtypes", "logicalDtypes", "tensorDtypes",
                                         "ranks", "shapes", "present", "args", "attrs", "repeat"}) {
        scope->set(key, Value::from_json(map(key)));
      }
      scope->set("derive", Value::from_json(map("derived")));
      const Json* list = profiles.find("profiles");
      const Json& all = list == nullptr ? profiles : *list;
      const Json& device = *all.find(*source.find("profile")->if_string())->find("device");
      bool halves = false;
      for (const Json& feature : *device.find("features")->if_array()) {
        halves = halves || *feature.if_string() == "shader-f16";
      }
      const Value value = device_value(device);
      scope->set("device", value);
      scope->set("f16Ok", f16_ok(halves));
      if (const Json* declarations = source.find("resourceDeclarations")) {
        const Value wgsl =
            Value::object({{"resourceDeclarations", Value::from_json(*declarations)}});
        scope->set("env", Value::object({{"device", value}, {"wgsl", wgsl}}));
      }
      scopes.emplace(name, std::move(scope));
    }
  }

  const Scope& scope(const std::string& name) const { return *scopes.at(name); }

  Json json;
  std::map<std::string, std::unique_ptr<Scope>> scopes;
};

}  // namespace wgk::expr::interop
