// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <exception>

#include "cli/program.h"

int main(int argc, char** argv) {
  try {
    return wgk::cli::run_program(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error[limit/buffer]: %s\n", error.what());
    return 3;
  }
}
