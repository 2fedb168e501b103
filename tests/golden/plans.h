// SPDX-License-Identifier: Apache-2.0
// Every case of a package's test.json, planned on every device profile.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "package/package.h"
#include "wgk/device_caps.h"
#include "wgk/plan.h"

namespace wgk::golden {

using Requests = std::vector<std::pair<std::string, Request>>;  // by case name

// The package of kernels/<op id> as it lies there: digests do not matter.
Result<std::shared_ptr<const package::Package>> load_source(const std::filesystem::path& folder);

// The calls of test.json: shapes, types, attributes and wishes, no values.
Result<Requests> read_requests(const std::filesystem::path& folder);

// All profiles of a folder, by file name.
Result<std::vector<DeviceCaps>> read_profiles(const std::filesystem::path& folder);

// Folders below kernels/ that hold a manifest and cases, by name.
std::vector<std::filesystem::path> find_packages(const std::filesystem::path& kernels);

// "<variant>.<pass>": what a rendered text is an example of. Instances of a repeated pass share it.
std::string template_use(const Plan& plan, const PlanPass& pass);

// Sixteen digits that name a text.
std::string short_digest(std::string_view text);

// What planning gave, in short: variant, scratch, passes with the digests of their texts and a
// digest of the whole plan; or the errors.
Json summary(const Result<Plan>& plan);

}  // namespace wgk::golden
