// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace wgk::cli {

// The whole program: parses the arguments, runs the command, gives the exit code.
int run_program(int argc, char** argv);

}  // namespace wgk::cli
