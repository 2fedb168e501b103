// SPDX-License-Identifier: Apache-2.0
// What loading and planning may cost.
#pragma once

#include "cli/session.h"
#include "expr/limits.h"
#include "package/package.h"

namespace wgk::cli {

// --limit NAME=VALUE of every command that loads a package or evaluates something: into
// Session::limits.
void add_limit_option(CLI::App& command, Session& session);

// Of one expression or template.
expr::Limits source_limits(const Session& session);
package::LoadOptions load_options(const Session& session);

}  // namespace wgk::cli
