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
#include "wgk/plan.h"

namespace wgk::verify {

// Of all that a device runs, the texts of the shaders included.
std::string plan_digest(const Plan& plan);

// A line for each result that run_cases would give: the case, the variant, whether it is the
// selected one, and the digest of its plan; or why there is no plan.
// Equal lines mean that a device with these capabilities would run the same.
void list_plans(const std::shared_ptr<const package::Package>& package,
                const std::vector<package::TestCase>& cases, const DeviceCaps& caps,
                const RunOptions& options, const std::function<void(const std::string&)>& line);

}  // namespace wgk::verify
