// SPDX-License-Identifier: Apache-2.0
// A JSON file as the names that an expression or template sees.
#pragma once

#include <string>

#include "expr/expression.h"
#include "wgk/error.h"

namespace wgk::cli {

// Each member of the file is a name. `device`, where given, is a capability profile (as in
// tests/devices); the default device otherwise. An empty path: only the device. Adds to `scope`,
// whose parent should be the helpers.
Status read_context(const std::string& path, expr::Scope& scope);

}  // namespace wgk::cli
