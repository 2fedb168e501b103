// SPDX-License-Identifier: Apache-2.0
// WebGPU's enumerators and the names that packages use for them.
#pragma once

#include <webgpu/webgpu.h>

#include <cstdint>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace wgk::gpu {

struct FeatureEntry {
  WGPUFeatureName value;
  std::string_view name;
};
// The features that packages may require (format.md b.5) and the ones every core device has.
std::span<const FeatureEntry> known_features();
std::optional<WGPUFeatureName> feature_from_name(std::string_view name);

struct LimitEntry {
  std::string_view name;
  std::uint32_t WGPULimits::* small;  // exactly one of the two is set
  std::uint64_t WGPULimits::* large;
};
std::span<const LimitEntry> known_limits();
double read_limit(const WGPULimits& limits, const LimitEntry& entry);
void write_limit(WGPULimits& limits, const LimitEntry& entry, double value);

// Empty for a language feature without a public name.
std::string_view language_feature_name(WGPUWGSLLanguageFeatureName value);
std::string_view backend_name(WGPUBackendType value);
std::optional<WGPUBackendType> backend_from_name(std::string_view name);
std::string_view adapter_type_name(WGPUAdapterType value);
std::string_view component_name(WGPUSubgroupMatrixComponentType value);

inline std::string text(WGPUStringView view) {
  if (view.data == nullptr) return {};
  return view.length == WGPU_STRLEN ? std::string(view.data) : std::string(view.data, view.length);
}
// The same for callbacks, through which no exception may go: nothing where host memory runs out.
inline std::string text_or_nothing(WGPUStringView view) noexcept {
  try {
    return text(view);
  } catch (const std::bad_alloc&) {
    return {};
  }
}
inline WGPUStringView view(std::string_view text) { return {text.data(), text.size()}; }
std::string lower_case(std::string text);

}  // namespace wgk::gpu
