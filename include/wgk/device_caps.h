// SPDX-License-Identifier: Apache-2.0
// What planning knows of a device: plain data, readable from JSON (tests/devices), so no device is
// needed to plan.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "wgk/error.h"
#include "wgk/json.h"

namespace wgk {

struct SubgroupMatrixConfig {
  std::string component_type, result_component_type;  // f32 f16 u32 i32 u8 i8
  int m = 0, n = 0, k = 0;
  bool operator==(const SubgroupMatrixConfig&) const = default;
};

// A variant that must not run on this device; a trailing "*" in op and variant stands for anything.
struct VariantOff {
  std::string op_id, variant, reason;
  bool operator==(const VariantOff&) const = default;
};

struct DeviceCaps {
  std::string name;                                 // for people only
  std::vector<std::string> features;                // WebGPU feature names, sorted
  std::vector<std::string> wgsl_language_features;  // sorted
  std::vector<std::pair<std::string, double>>
      limits;  // canonical WebGPU names, sorted; a missing one has WebGPU's default
  std::string vendor, architecture;  // lower-case
  bool is_fallback_adapter = false;
  std::optional<int> subgroup_min_size, subgroup_max_size;
  std::optional<std::vector<SubgroupMatrixConfig>> subgroup_matrix_configs;
  std::vector<std::string>
      wgsl_compile_failures;  // known broken constructs, e.g. "atomicCompareExchangeWeak"
  std::vector<VariantOff> variants_off;  // known driver bugs

  bool has_feature(std::string_view feature) const;
  // Reported value, else the WebGPU default; nothing for an unknown limit.
  // maxComputeWorkgroupsPerDimension is capped at 65535.
  std::optional<double> limit(std::string_view name) const;

  // The default device: no features, default limits.
  static DeviceCaps defaults();
  static Result<DeviceCaps> from_json(const Json& json);
  Json to_json() const;
};

}  // namespace wgk
