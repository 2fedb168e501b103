// SPDX-License-Identifier: Apache-2.0
#include "wgk/needs.h"

#include <webgpu/webgpu.h>

#include <algorithm>
#include <array>
#include <format>
#include <span>
#include <string_view>
#include <utility>

#include "gpu/device.h"
#include "gpu/names.h"
#include "gpu/procs.h"
#include "package/package.h"
#include "runtime/disk_cache.h"

namespace wgk {

struct DeviceNeeds::Storage {
  std::vector<WGPUFeatureName> features;
  WGPULimits limits = {};
  std::vector<const char*> on, off;
  WGPUDawnTogglesDescriptor toggles = {};
  WGPUDawnCacheDeviceDescriptor cache = {};
  std::shared_ptr<DiskCache> disk;

  // What the caller and the list ask for and the adapter offers; the text names what is required
  // and missing.
  std::string add_features(const gpu::Procs& table, WGPUAdapter adapter,
                           const WGPUDeviceDescriptor& descriptor,
                           std::span<const DeviceNeed> items);
  Result<std::string> add_limits(const gpu::Procs& table, WGPUAdapter adapter,
                                 const WGPUDeviceDescriptor& descriptor,
                                 std::span<const DeviceNeed> items);
  void chain_toggles(WGPUDeviceDescriptor& descriptor, std::span<const DeviceNeed> items);
  Status chain_cache(const gpu::Procs& table, WGPUAdapter adapter, WGPUDeviceDescriptor& descriptor,
                     const std::string& folder);
};

namespace {

// Limits that let the planner take larger work groups and larger tensors.
constexpr std::array<std::pair<std::string_view, std::string_view>, 11> kUsefulLimits = {{
    {"maxBufferSize", "larger tensors"},
    {"maxStorageBufferBindingSize", "larger tensors"},
    {"maxStorageBuffersPerShaderStage", "calls with every optional tensor"},
    {"maxComputeWorkgroupStorageSize", "larger tiles"},
    {"maxComputeInvocationsPerWorkgroup", "wider work groups"},
    {"maxComputeWorkgroupSizeX", "wider work groups"},
    {"maxComputeWorkgroupSizeY", "wider work groups"},
    {"maxComputeWorkgroupSizeZ", "wider work groups"},
    {"maxUniformBufferBindingSize", "calls with many parameters"},
    {"minStorageBufferOffsetAlignment", "tensors at more offsets"},
    {"minUniformBufferOffsetAlignment", "smaller uniform buffers"},
}};

std::string_view toggle_reason(std::string_view toggle) {
  if (toggle == "vulkan_enable_f16_on_nvidia")
    return "shader-f16 on NVIDIA's Vulkan driver; set it on the adapter too";
  if (toggle == "allow_unsafe_apis")
    return "subgroup matrices, which WebGPU calls experimental; set it on instance and adapter too";
  if (toggle == "timestamp_quantization") return "timestamps finer than 65 us";
  return "trusted mode: no checks at run time";
}

void merge_requirements(const package::Manifest& manifest, std::vector<DeviceNeed>& needs) {
  struct Found {
    std::string first;  // variant
    std::size_t count = 0;
    double least = 0;
  };
  std::vector<std::pair<std::string, Found>> features, limits;
  const auto note = [](auto& list, const std::string& name, const std::string& variant,
                       double least) {
    auto place = std::ranges::find(list, name, [](const auto& item) { return item.first; });
    if (place == list.end()) place = list.insert(list.end(), {name, {variant, 0, least}});
    ++place->second.count;
    place->second.least = std::max(place->second.least, least);
  };
  for (const package::Variant& variant : manifest.variants) {
    for (const std::string& feature : variant.requirements.features)
      note(features, feature, variant.id, 0);
    for (const auto& [name, least] : variant.requirements.limits)
      note(limits, name, variant.id, least);
  }
  const auto reason = [&](const Found& found) {
    return std::format(
        "{}: variant '{}'{}", manifest.op_id(), found.first,
        found.count > 1 ? std::format(" and {} more", found.count - 1) : std::string());
  };
  const auto add = [&](DeviceNeed::Kind kind, const std::string& name, const Found& found) {
    const auto old = std::ranges::find_if(
        needs, [&](const DeviceNeed& need) { return need.kind == kind && need.name == name; });
    const bool required = found.count == manifest.variants.size();
    if (old == needs.end()) {
      needs.push_back({kind, name, found.least, required, reason(found)});
    } else {
      old->least = std::max(old->least, found.least);
      old->required |= required;
      old->reason += "; " + reason(found);
    }
  };
  for (const auto& [name, found] : features) add(DeviceNeed::Kind::kFeature, name, found);
  for (const auto& [name, found] : limits) add(DeviceNeed::Kind::kLimit, name, found);
}

void add_general(const DeviceNeedsOptions& options, std::vector<DeviceNeed>& needs) {
  const auto has = [&](DeviceNeed::Kind kind, std::string_view name) {
    return std::ranges::any_of(
        needs, [&](const DeviceNeed& need) { return need.kind == kind && need.name == name; });
  };
  for (const char* feature : {"shader-f16", "subgroups"}) {
    if (has(DeviceNeed::Kind::kFeature, feature)) continue;
    needs.push_back({DeviceNeed::Kind::kFeature, feature, 0, false, "faster variants test for it"});
  }
  for (const auto& [limit, purpose] : kUsefulLimits) {
    if (has(DeviceNeed::Kind::kLimit, limit)) continue;
    needs.push_back({DeviceNeed::Kind::kLimit, std::string(limit), 0, false, std::string(purpose)});
  }
  const bool unsafe = has(DeviceNeed::Kind::kFeature, "chromium-experimental-subgroup-matrix");
  const gpu::Toggles toggles = gpu::device_toggles(options.mode, unsafe);
  for (const char* toggle : toggles.enabled) {
    needs.push_back(
        {DeviceNeed::Kind::kToggleOn, toggle, 0, false, std::string(toggle_reason(toggle))});
  }
  for (const char* toggle : toggles.disabled) {
    needs.push_back(
        {DeviceNeed::Kind::kToggleOff, toggle, 0, false, std::string(toggle_reason(toggle))});
  }
  needs.push_back({DeviceNeed::Kind::kFeature, "implicit-device-synchronization", 0, false,
                   "any thread may use the device; without it one thread at a time, and only while "
                   "no other member runs"});
  if (!options.cache_folder.empty()) {
    needs.push_back(
        {DeviceNeed::Kind::kCache, options.cache_folder, 0, false,
         "compiled pipelines survive the process; without the hooks only their texts are kept"});
  }
}

bool chained(const WGPUChainedStruct* chain, WGPUSType type) {
  for (; chain != nullptr; chain = chain->next) {
    if (chain->sType == type) return true;
  }
  return false;
}

}  // namespace

std::string DeviceNeeds::Storage::add_features(const gpu::Procs& table, WGPUAdapter adapter,
                                               const WGPUDeviceDescriptor& descriptor,
                                               std::span<const DeviceNeed> items) {
  WGPUSupportedFeatures offered = WGPU_SUPPORTED_FEATURES_INIT;
  table.adapter_get_features(adapter, &offered);
  const std::span list(offered.features, offered.featureCount);
  features.assign(descriptor.requiredFeatures,
                  descriptor.requiredFeatures + descriptor.requiredFeatureCount);
  std::string missing;
  for (const DeviceNeed& need : items) {
    if (need.kind != DeviceNeed::Kind::kFeature) continue;
    const auto value = need.name == "implicit-device-synchronization"
                           ? std::optional(WGPUFeatureName_ImplicitDeviceSynchronization)
                           : gpu::feature_from_name(need.name);
    const bool there = value && std::ranges::find(list, *value) != list.end();
    if (there && std::ranges::find(features, *value) == features.end()) features.push_back(*value);
    if (!there && need.required)
      missing += std::format("{}{} ({})", missing.empty() ? "" : ", ", need.name, need.reason);
  }
  table.supported_features_free_members(offered);
  return missing;
}

Result<std::string> DeviceNeeds::Storage::add_limits(const gpu::Procs& table, WGPUAdapter adapter,
                                                     const WGPUDeviceDescriptor& descriptor,
                                                     std::span<const DeviceNeed> items) {
  WGPULimits offered = WGPU_LIMITS_INIT;
  if (table.adapter_get_limits(adapter, &offered) != WGPUStatus_Success)
    return failure("device/none", "the adapter does not tell its limits");
  limits = WGPU_LIMITS_INIT;
  if (descriptor.requiredLimits != nullptr) limits = *descriptor.requiredLimits;
  std::string missing;
  for (const DeviceNeed& need : items) {
    if (need.kind != DeviceNeed::Kind::kLimit) continue;
    const auto entry = std::ranges::find(gpu::known_limits(), need.name, &gpu::LimitEntry::name);
    if (entry == gpu::known_limits().end()) continue;
    const double most = gpu::read_limit(offered, *entry);
    if (need.required && most < need.least)
      missing += std::format("{}{} of {}", missing.empty() ? "" : ", ", need.name, need.least);
    // What the caller asks for is never made less: of the alignments, the smaller one is more.
    const double asked = gpu::read_limit(limits, *entry);
    const bool unset = entry->small != nullptr ? limits.*(entry->small) == WGPU_LIMIT_U32_UNDEFINED
                                               : limits.*(entry->large) == WGPU_LIMIT_U64_UNDEFINED;
    if (unset || (need.name.starts_with("min") ? most < asked : most > asked))
      gpu::write_limit(limits, *entry, most);
  }
  return missing;
}

void DeviceNeeds::Storage::chain_toggles(WGPUDeviceDescriptor& descriptor,
                                         std::span<const DeviceNeed> items) {
  on.clear();
  off.clear();
  for (const DeviceNeed& need : items) {
    if (need.kind == DeviceNeed::Kind::kToggleOn) on.push_back(need.name.c_str());
    if (need.kind == DeviceNeed::Kind::kToggleOff) off.push_back(need.name.c_str());
  }
  toggles = WGPU_DAWN_TOGGLES_DESCRIPTOR_INIT;
  toggles.enabledToggles = on.data();
  toggles.enabledToggleCount = on.size();
  toggles.disabledToggles = off.data();
  toggles.disabledToggleCount = off.size();
  toggles.chain.next = descriptor.nextInChain;
  descriptor.nextInChain = &toggles.chain;
}

Status DeviceNeeds::Storage::chain_cache(const gpu::Procs& table, WGPUAdapter adapter,
                                         WGPUDeviceDescriptor& descriptor,
                                         const std::string& folder) {
  WGPUAdapterInfo info = WGPU_ADAPTER_INFO_INIT;
  if (table.adapter_get_info(adapter, &info) != WGPUStatus_Success)
    return failure("device/none", "the adapter does not tell what it is");
  disk = std::make_shared<DiskCache>(folder, gpu::describe(info));
  table.adapter_info_free_members(info);
  cache = gpu::cache_descriptor(*disk);
  cache.chain.next = descriptor.nextInChain;
  descriptor.nextInChain = &cache.chain;
  return {};
}

Result<DeviceNeeds> device_needs(std::span<const Package> packages,
                                 const DeviceNeedsOptions& options) {
  DeviceNeeds needs;
  needs.options_ = options;
  needs.storage_ = std::make_shared<DeviceNeeds::Storage>();
  for (const Package& package : packages)
    merge_requirements(package.shared()->manifest, needs.items_);
  add_general(options, needs.items_);
  return needs;
}

bool DeviceNeeds::wants_unsafe_apis() const {
  return std::ranges::any_of(
      items_, [](const DeviceNeed& need) { return need.name == "allow_unsafe_apis"; });
}

Status DeviceNeeds::add_to(WGPUAdapter adapter, WGPUDeviceDescriptor& descriptor) {
  auto table = options_.procs == nullptr ? Result<gpu::Procs>(gpu::linked_procs())
                                         : gpu::procs_from(options_.procs);
  if (!table) return std::unexpected(std::move(table.error()));
  if (table->adapter_get_features == nullptr || table->adapter_get_limits == nullptr ||
      table->adapter_get_info == nullptr) {
    return failure("device/function",
                   "the given WebGPU library cannot tell what an adapter offers");
  }
  if (chained(descriptor.nextInChain, WGPUSType_DawnTogglesDescriptor) ||
      chained(descriptor.nextInChain, WGPUSType_DawnCacheDeviceDescriptor)) {
    return failure("usage/device", "the descriptor already chains toggles or cache hooks",
                   "add the listed toggles there");
  }
  std::string missing = storage_->add_features(*table, adapter, descriptor, items_);
  auto lacking = storage_->add_limits(*table, adapter, descriptor, items_);
  if (!lacking) return std::unexpected(std::move(lacking.error()));
  if (!lacking->empty()) missing += (missing.empty() ? "" : ", ") + *lacking;
  if (!missing.empty()) return failure("device/feature", "the adapter lacks " + missing);
  descriptor.requiredFeatures = storage_->features.data();
  descriptor.requiredFeatureCount = storage_->features.size();
  descriptor.requiredLimits = &storage_->limits;
  if (table->enumerate_adapters == nullptr && table->device_get_adapter == nullptr)
    return {};  // not Dawn
  storage_->chain_toggles(descriptor, items_);
  if (options_.cache_folder.empty()) return {};
  return storage_->chain_cache(*table, adapter, descriptor, options_.cache_folder);
}

}  // namespace wgk
