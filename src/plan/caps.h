// SPDX-License-Identifier: Apache-2.0
// What expressions and `requires` see of a device, beyond the plain data of DeviceCaps.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "wgk/device_caps.h"

namespace wgk::planning {

// Workgroups of one row of a folded dispatch, whatever the device allows (format.md b.7).
inline constexpr double kFoldWidth = 65535;

// Every limit with its reported or default value, in WebGPU's order; others that are reported come
// last.
std::vector<std::pair<std::string, double>> all_limits(const DeviceCaps& caps);

// Matrix configurations whose types the format names, in the order that expressions see; empty also
// when there is no report.
std::vector<SubgroupMatrixConfig> usable_matrix_configs(const DeviceCaps& caps);

}  // namespace wgk::planning
