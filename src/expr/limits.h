// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "wgk/limits.h"

namespace wgk::expr {

struct Limits {
  std::size_t max_steps = 10'000'000;  // evaluation steps, loops of templates included
  std::size_t max_depth = 100;         // nesting of source and of macro calls
  std::size_t max_output = std::size_t{4}
                           << 20;  // bytes of rendered text; also of any string built on the way
};

}  // namespace wgk::expr
