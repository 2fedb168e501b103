// SPDX-License-Identifier: Apache-2.0
// What the cases of test.json would run, without running it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "package/cases.h"
#include "package/package.h"
#include "verify/runner.h"
#include "wgk/device_caps.h"

namespace wgk::verify {

// A line for each result that run_cases would give: the case, the variant, whether it is the
// selected one, and a digest of its plan with the texts of all shaders; or why there is no plan.
// Equal lines mean that a device with these capabilities would run the same.
void list_plans(const std::shared_ptr<const package::Package>& package,
                const std::vector<package::TestCase>& cases, const DeviceCaps& caps,
                const RunOptions& options, const std::function<void(const std::string&)>& line);

}  // namespace wgk::verify
