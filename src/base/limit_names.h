// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

#include "wgk/error.h"
#include "wgk/limits.h"

namespace wgk {

// The limit that people write as `name`. Error: "usage/arguments", with all names and a near one.
Result<std::size_t Limits::*> limit_named(std::string_view name);

}  // namespace wgk
