// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "json/cursor.h"
#include "plan/caps.h"
#include "wgk/device_caps.h"

namespace wgk {
namespace {

constexpr std::string_view kCode = "io/format";
constexpr std::string_view kWorkgroupsPerDimension = "maxComputeWorkgroupsPerDimension";

// In WebGPU's order, in which expressions see them. The limits ...InVertexStage and
// ...InFragmentStage have no default on purpose (format.md b.9).
constexpr auto kDefaultLimits = std::to_array<std::pair<std::string_view, double>>({
    {"maxTextureDimension1D", 8192},
    {"maxTextureDimension2D", 8192},
    {"maxTextureDimension3D", 2048},
    {"maxTextureArrayLayers", 256},
    {"maxBindGroups", 4},
    {"maxBindGroupsPlusVertexBuffers", 24},
    {"maxBindingsPerBindGroup", 1000},
    {"maxDynamicUniformBuffersPerPipelineLayout", 8},
    {"maxDynamicStorageBuffersPerPipelineLayout", 4},
    {"maxSampledTexturesPerShaderStage", 16},
    {"maxSamplersPerShaderStage", 16},
    {"maxStorageBuffersPerShaderStage", 10},
    {"maxStorageTexturesPerShaderStage", 4},
    {"maxUniformBuffersPerShaderStage", 12},
    {"maxUniformBufferBindingSize", 65536},
    {"maxStorageBufferBindingSize", 134217728},
    {"minUniformBufferOffsetAlignment", 256},
    {"minStorageBufferOffsetAlignment", 256},
    {"maxVertexBuffers", 8},
    {"maxBufferSize", 268435456},
    {"maxVertexAttributes", 16},
    {"maxVertexBufferArrayStride", 2048},
    {"maxInterStageShaderVariables", 16},
    {"maxColorAttachments", 8},
    {"maxColorAttachmentBytesPerSample", 32},
    {"maxComputeInvocationsPerWorkgroup", 256},
    {"maxComputeWorkgroupSizeX", 256},
    {"maxComputeWorkgroupSizeY", 256},
    {"maxComputeWorkgroupSizeZ", 64},
    {"maxComputeWorkgroupStorageSize", 16384},
    {"maxComputeWorkgroupsPerDimension", 65535},
    {"maxImmediateSize", 0},
});

Result<std::vector<std::string>> read_names(const json::Cursor& owner, std::string_view key) {
  std::vector<std::string> names;
  const auto list = owner.find(key);
  if (!list) return names;
  auto items = list->items();
  if (!items) return std::unexpected(std::move(items.error()));
  for (const json::Cursor& item : *items) {
    auto text = item.string();
    if (!text) return std::unexpected(std::move(text.error()));
    names.push_back(std::move(*text));
  }
  std::ranges::sort(names);
  const auto rest = std::ranges::unique(names);
  names.erase(rest.begin(), rest.end());
  return names;
}

Result<std::optional<int>> read_size(const json::Cursor& owner, std::string_view key) {
  const auto member = owner.find(key);
  if (!member || member->value().is_null()) return std::nullopt;
  auto number = member->integer(0, 1 << 20);
  if (!number) return std::unexpected(std::move(number.error()));
  return static_cast<int>(*number);
}

Result<SubgroupMatrixConfig> read_matrix(const json::Cursor& item) {
  SubgroupMatrixConfig config;
  for (const auto& [key, text] :
       {std::pair{"componentType", &config.component_type},
        std::pair{"resultComponentType", &config.result_component_type}}) {
    auto member =
        item.require(key).and_then([](const json::Cursor& value) { return value.string(); });
    if (!member) return std::unexpected(std::move(member.error()));
    *text = std::move(*member);
  }
  for (const auto& [key, size] :
       {std::pair{"M", &config.m}, std::pair{"N", &config.n}, std::pair{"K", &config.k}}) {
    auto member = item.require(key).and_then(
        [](const json::Cursor& value) { return value.integer(-1, 1 << 20); });
    if (!member) return std::unexpected(std::move(member.error()));
    *size = static_cast<int>(*member);
  }
  return config;
}

Status read_adapter_info(const json::Cursor& info, DeviceCaps& caps) {
  if (auto known = info.only({"vendor", "architecture", "isFallbackAdapter", "subgroupMinSize",
                              "subgroupMaxSize", "subgroupMatrixConfigs", "device", "description"});
      !known) {
    return known;
  }
  for (const auto& [key, text] :
       {std::pair{"vendor", &caps.vendor}, std::pair{"architecture", &caps.architecture}}) {
    const auto member = info.find(key);
    if (!member) continue;
    auto value = member->string();
    if (!value) return std::unexpected(std::move(value.error()));
    *text = std::move(*value);
    for (char& c : *text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  if (const auto member = info.find("isFallbackAdapter")) {
    auto value = member->boolean();
    if (!value) return std::unexpected(std::move(value.error()));
    caps.is_fallback_adapter = *value;
  }
  for (const auto& [key, size] : {std::pair{"subgroupMinSize", &caps.subgroup_min_size},
                                  std::pair{"subgroupMaxSize", &caps.subgroup_max_size}}) {
    auto value = read_size(info, key);
    if (!value) return std::unexpected(std::move(value.error()));
    *size = *value;
  }
  if (const auto list = info.find("subgroupMatrixConfigs"); list && !list->value().is_null()) {
    auto items = list->items();
    if (!items) return std::unexpected(std::move(items.error()));
    caps.subgroup_matrix_configs.emplace();
    for (const json::Cursor& item : *items) {
      auto config = read_matrix(item);
      if (!config) return std::unexpected(std::move(config.error()));
      caps.subgroup_matrix_configs->push_back(std::move(*config));
    }
  }
  return {};
}

Status read_limits(const json::Cursor& limits, DeviceCaps& caps) {
  auto members = limits.members();
  if (!members) return std::unexpected(std::move(members.error()));
  for (const auto& [key, value] : *members) {
    auto number = value.number();
    if (!number) return std::unexpected(std::move(number.error()));
    caps.limits.emplace_back(key, *number);
  }
  std::ranges::sort(caps.limits);
  return {};
}

Json names_json(std::span<const std::string> names) {
  Json::Array items;
  for (const std::string& name : names) items.emplace_back(name);
  return Json(std::move(items));
}

Json matrix_json(const SubgroupMatrixConfig& config) {
  return Json::object({{"componentType", config.component_type},
                       {"resultComponentType", config.result_component_type},
                       {"M", config.m},
                       {"N", config.n},
                       {"K", config.k}});
}

}  // namespace

bool DeviceCaps::has_feature(std::string_view feature) const {
  return std::ranges::find(features, feature) != features.end();
}

std::optional<double> DeviceCaps::limit(std::string_view limit_name) const {
  std::optional<double> value;
  if (const auto reported =
          std::ranges::find(limits, limit_name, &std::pair<std::string, double>::first);
      reported != limits.end()) {
    value = reported->second;
  } else {
    const auto known =
        std::ranges::find(kDefaultLimits, limit_name, &std::pair<std::string_view, double>::first);
    if (known != kDefaultLimits.end()) value = known->second;
  }
  if (value && limit_name == kWorkgroupsPerDimension)
    value = std::min(*value, planning::kFoldWidth);
  return value;
}

DeviceCaps DeviceCaps::defaults() {
  DeviceCaps caps;
  caps.name = "default";
  return caps;
}

Result<DeviceCaps> DeviceCaps::from_json(const Json& json) {
  const json::Cursor root(json, "", kCode);
  if (auto known = root.only({"name", "note", "features", "wgslLanguageFeatures",
                              "wgslCompileFailures", "limits", "adapterInfo"});
      !known) {
    return std::unexpected(std::move(known.error()));
  }
  DeviceCaps caps;
  if (const auto member = root.find("name")) {
    auto text = member->string();
    if (!text) return std::unexpected(std::move(text.error()));
    caps.name = std::move(*text);
  }
  for (const auto& [key, names] : {std::pair{"features", &caps.features},
                                   std::pair{"wgslLanguageFeatures", &caps.wgsl_language_features},
                                   std::pair{"wgslCompileFailures", &caps.wgsl_compile_failures}}) {
    auto value = read_names(root, key);
    if (!value) return std::unexpected(std::move(value.error()));
    *names = std::move(*value);
  }
  if (const auto limits = root.find("limits")) {
    if (auto done = read_limits(*limits, caps); !done)
      return std::unexpected(std::move(done.error()));
  }
  if (const auto info = root.find("adapterInfo")) {
    if (auto done = read_adapter_info(*info, caps); !done)
      return std::unexpected(std::move(done.error()));
  }
  return caps;
}

Json DeviceCaps::to_json() const {
  Json json;
  json.set("name", name);
  json.set("features", names_json(features));
  json.set("wgslLanguageFeatures", names_json(wgsl_language_features));
  json.set("wgslCompileFailures", names_json(wgsl_compile_failures));
  Json all_limits{Json::Object{}};
  for (const auto& [key, value] : limits) all_limits.set(key, value);
  json.set("limits", std::move(all_limits));
  Json info = Json::object({{"vendor", vendor},
                            {"architecture", architecture},
                            {"isFallbackAdapter", is_fallback_adapter}});
  if (subgroup_min_size) info.set("subgroupMinSize", *subgroup_min_size);
  if (subgroup_max_size) info.set("subgroupMaxSize", *subgroup_max_size);
  if (subgroup_matrix_configs) {
    Json::Array configs;
    for (const SubgroupMatrixConfig& config : *subgroup_matrix_configs)
      configs.push_back(matrix_json(config));
    info.set("subgroupMatrixConfigs", Json(std::move(configs)));
  }
  json.set("adapterInfo", std::move(info));
  return json;
}

namespace planning {

std::vector<std::pair<std::string, double>> all_limits(const DeviceCaps& caps) {
  std::vector<std::pair<std::string, double>> all;
  for (const auto& [name, value] : kDefaultLimits) all.emplace_back(name, *caps.limit(name));
  for (const auto& [name, value] : caps.limits) {
    if (std::ranges::find(kDefaultLimits, name, &std::pair<std::string_view, double>::first) ==
        kDefaultLimits.end()) {
      all.emplace_back(name, value);
    }
  }
  return all;
}

std::vector<SubgroupMatrixConfig> usable_matrix_configs(const DeviceCaps& caps) {
  constexpr std::array<std::string_view, 6> kComponents = {"f32", "f16", "u32", "i32", "u8", "i8"};
  std::vector<std::pair<std::string, SubgroupMatrixConfig>> named;
  if (!caps.subgroup_matrix_configs) return {};
  for (const SubgroupMatrixConfig& config : *caps.subgroup_matrix_configs) {
    const bool known =
        std::ranges::find(kComponents, config.component_type) != kComponents.end() &&
        std::ranges::find(kComponents, config.result_component_type) != kComponents.end();
    if (!known || config.m <= 0 || config.n <= 0 || config.k <= 0) continue;
    named.emplace_back(config.component_type + "-" + config.result_component_type + "-" +
                           std::to_string(config.m) + "x" + std::to_string(config.n) + "x" +
                           std::to_string(config.k),
                       config);
  }
  std::ranges::stable_sort(named, {}, &std::pair<std::string, SubgroupMatrixConfig>::first);
  std::vector<SubgroupMatrixConfig> configs;
  for (auto& [text, config] : named) configs.push_back(std::move(config));
  return configs;
}

}  // namespace planning
}  // namespace wgk
