// SPDX-License-Identifier: Apache-2.0
// The parts of `check` that look at attributes, scalar arguments and tunables.
#pragma once

#include <string>
#include <vector>

#include "plan/bound.h"

namespace wgk::planning {

// "a, b, c" for a message, or "none".
std::string join(const std::vector<std::string>& names);

void check_attributes(const package::Manifest& manifest, const Request& request,
                      BoundRequest& bound, std::vector<Error>& violations);
void check_arguments(const PackageIndex& index, const Request& request, BoundRequest& bound,
                     std::vector<Error>& violations);
void check_tunables(const package::Manifest& manifest, const Request& request, BoundRequest& bound,
                    std::vector<Error>& violations);

}  // namespace wgk::planning
