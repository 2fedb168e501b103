// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <exception>
#include <new>

#include "cli/program.h"

int main(int argc, char** argv) {
  try {
    return wgk::cli::run_program(argc, argv);
  } catch (const std::bad_alloc&) {
    std::fputs("error[limit/host-memory]: the host is out of memory\n", stderr);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error[usage/internal]: %s\n", error.what());
  }
  return 3;
}
