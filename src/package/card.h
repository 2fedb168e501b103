// SPDX-License-Identifier: Apache-2.0
// The README of a package: what people read before they use it, made from what the package says of
// itself.
#pragma once

#include <string>
#include <vector>

#include "package/cases.h"
#include "package/package.h"

namespace wgk::package {

// `tests` give the example its shapes; `files` are those of build/webgpu, as listed.
std::string make_card(const Package& package, const std::vector<TestCase>& tests,
                      const std::vector<std::string>& files);

}  // namespace wgk::package
