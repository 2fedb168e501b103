// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "wgk/limits.h"

namespace wgk::expr {

// What many evaluations may take together; each takes its part away.
struct Allowance {
  Allowance(std::size_t most_steps, std::size_t most_text_bytes)
      : most(most_steps), steps(most_steps), text_bytes(most_text_bytes) {}

  // Work that is no evaluation; false when that much is not left.
  bool spend(std::size_t count) {
    const bool enough = count <= steps;
    steps = enough ? steps - count : 0;
    return enough;
  }
  bool spend_text(std::size_t bytes) {
    const bool enough = bytes <= text_bytes;
    text_bytes = enough ? text_bytes - bytes : 0;
    return enough;
  }
  // What was asked for in vain leaves nothing.
  bool used_up() const { return steps == 0 || text_bytes == 0; }

  std::size_t most;               // steps at the beginning
  std::size_t steps, text_bytes;  // what is left
};

struct Limits {
  std::size_t max_steps = 10'000'000;  // evaluation steps, loops of templates included
  std::size_t max_depth = 100;         // nesting of source and of macro calls
  std::size_t max_output = std::size_t{4}
                           << 20;  // bytes of rendered text; also of any string built on the way
  Allowance* shared = nullptr;     // null: each evaluation stands alone
};

}  // namespace wgk::expr
