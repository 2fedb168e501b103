// SPDX-License-Identifier: Apache-2.0
#include "gpu/capabilities.h"

#include <algorithm>
#include <format>
#include <span>
#include <string>
#include <utility>

#include "gpu/names.h"

namespace wgk::gpu {
namespace {

// Features that packages do not know but the executor uses.
constexpr WGPUFeatureName kInternal[] = {
    WGPUFeatureName_ImplicitDeviceSynchronization,
    WGPUFeatureName_ChromiumExperimentalTimestampQueryInsidePasses};

// What the profile states must be offered; what it leaves to the default is at most the default.
Status take_limits(WGPULimits& wanted, const DeviceCaps& profile) {
  for (const LimitEntry& entry : known_limits()) {
    const auto value = profile.limit(entry.name);
    if (!value) continue;
    const double offered = read_limit(wanted, entry);
    const bool alignment = entry.name.starts_with("min");
    const bool stated =
        std::ranges::find(profile.limits, entry.name, &std::pair<std::string, double>::first) !=
        profile.limits.end();
    const bool enough = alignment ? *value >= offered : *value <= offered;
    if (!enough && !stated) continue;
    if (!enough) {
      return failure("device/none", std::format("the adapter offers {} {}, the profile has {}",
                                                entry.name, offered, *value));
    }
    write_limit(wanted, entry, *value);
  }
  return {};
}

Status read_matrices(const Procs& procs, WGPUDevice device, DeviceCaps& caps) {
  if (procs.matrix_configs_free_members == nullptr) return {};
  WGPUAdapterInfo info = WGPU_ADAPTER_INFO_INIT;
  WGPUAdapterPropertiesSubgroupMatrixConfigs list =
      WGPU_ADAPTER_PROPERTIES_SUBGROUP_MATRIX_CONFIGS_INIT;
  info.nextInChain = &list.chain;
  if (procs.device_get_adapter_info(device, &info) != WGPUStatus_Success) {
    return failure("device/lost", "the device does not tell its subgroup matrices");
  }
  std::vector<SubgroupMatrixConfig> configs;
  for (const WGPUSubgroupMatrixConfig& config : std::span(list.configs, list.configCount)) {
    const std::string_view component = component_name(config.componentType);
    const std::string_view result = component_name(config.resultComponentType);
    if (component.empty() || result.empty() || config.M == 0 || config.N == 0 || config.K == 0)
      continue;
    configs.push_back({std::string(component), std::string(result), static_cast<int>(config.M),
                       static_cast<int>(config.N), static_cast<int>(config.K)});
  }
  // The order that packages see: by this text.
  std::ranges::sort(configs, {}, [](const SubgroupMatrixConfig& c) {
    return std::format("{}-{}-{}x{}x{}", c.component_type, c.result_component_type, c.m, c.n, c.k);
  });
  caps.subgroup_matrix_configs = std::move(configs);
  procs.matrix_configs_free_members(list);
  procs.adapter_info_free_members(info);
  return {};
}

void read_language_features(const Instance& instance, DeviceCaps& caps) {
  const Procs& procs = instance.procs();
  if (procs.instance_get_wgsl_language_features == nullptr ||
      procs.supported_wgsl_language_features_free_members == nullptr) {
    return;
  }
  WGPUSupportedWGSLLanguageFeatures list = WGPU_SUPPORTED_WGSL_LANGUAGE_FEATURES_INIT;
  procs.instance_get_wgsl_language_features(instance.handle(), &list);
  for (const auto feature : std::span(list.features, list.featureCount)) {
    const std::string_view text = language_feature_name(feature);
    if (!text.empty()) caps.wgsl_language_features.emplace_back(text);
  }
  procs.supported_wgsl_language_features_free_members(list);
  std::ranges::sort(caps.wgsl_language_features);
}

}  // namespace

Result<WantedCapabilities> wanted_capabilities(const Procs& procs, WGPUAdapter adapter,
                                               const std::optional<DeviceCaps>& exactly) {
  WantedCapabilities wanted{{}, WGPU_LIMITS_INIT};
  if (procs.adapter_get_limits(adapter, &wanted.limits) != WGPUStatus_Success) {
    return failure("device/none", "the adapter does not tell its limits");
  }
  WGPUSupportedFeatures offered = WGPU_SUPPORTED_FEATURES_INIT;
  procs.adapter_get_features(adapter, &offered);
  const std::span list(offered.features, offered.featureCount);
  const auto offers = [&](WGPUFeatureName feature) {
    return std::ranges::find(list, feature) != list.end();
  };
  std::string missing;
  for (const FeatureEntry& entry : known_features()) {
    const bool core = entry.value == WGPUFeatureName_CoreFeaturesAndLimits;
    const bool wants = !exactly || core || exactly->has_feature(entry.name);
    if (wants && offers(entry.value)) wanted.features.push_back(entry.value);
    if (exactly && wants && !core && !offers(entry.value)) missing = entry.name;
  }
  for (const WGPUFeatureName feature : kInternal) {
    if (offers(feature)) wanted.features.push_back(feature);
  }
  procs.supported_features_free_members(offered);
  if (!missing.empty()) {
    return failure("device/none", std::format("the adapter lacks the feature '{}'", missing));
  }
  if (exactly) {
    if (auto status = take_limits(wanted.limits, *exactly); !status)
      return std::unexpected(std::move(status.error()));
  }
  return wanted;
}

Result<DeviceCapabilities> device_capabilities(const Instance& instance, WGPUDevice device,
                                               const WGPULimits& limits) {
  const Procs& procs = instance.procs();
  DeviceCapabilities result;
  WGPUSupportedFeatures features = WGPU_SUPPORTED_FEATURES_INIT;
  procs.device_get_features(device, &features);
  for (const WGPUFeatureName feature : std::span(features.features, features.featureCount)) {
    result.synchronized |= feature == WGPUFeatureName_ImplicitDeviceSynchronization;
    result.timestamps_inside_passes |=
        feature == WGPUFeatureName_ChromiumExperimentalTimestampQueryInsidePasses;
    for (const FeatureEntry& entry : known_features()) {
      if (entry.value == feature) result.caps.features.emplace_back(entry.name);
    }
  }
  procs.supported_features_free_members(features);
  std::ranges::sort(result.caps.features);
  for (const LimitEntry& entry : known_limits()) {
    result.caps.limits.emplace_back(entry.name, read_limit(limits, entry));
  }
  std::ranges::sort(result.caps.limits);
  read_language_features(instance, result.caps);
  if (procs.device_get_adapter_info == nullptr) return result;
  WGPUAdapterInfo info = WGPU_ADAPTER_INFO_INIT;
  if (procs.device_get_adapter_info(device, &info) != WGPUStatus_Success) {
    return failure("device/lost", "the device does not tell what it is");
  }
  const AdapterDescription adapter = describe(info);
  result.caps.name = adapter.name;
  result.caps.vendor = adapter.vendor;
  result.caps.architecture = adapter.architecture;
  result.caps.is_fallback_adapter = adapter.software;
  if (info.subgroupMaxSize > 0) {
    result.caps.subgroup_min_size = static_cast<int>(info.subgroupMinSize);
    result.caps.subgroup_max_size = static_cast<int>(info.subgroupMaxSize);
  }
  procs.adapter_info_free_members(info);
  if (result.caps.has_feature("chromium-experimental-subgroup-matrix")) {
    if (auto status = read_matrices(procs, device, result.caps); !status)
      return std::unexpected(std::move(status.error()));
  }
  return result;
}

}  // namespace wgk::gpu
