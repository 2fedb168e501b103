// SPDX-License-Identifier: Apache-2.0
#include "wgk/limits.h"

#include <string>

namespace wgk {
namespace {

Status at_most(std::string_view name, std::size_t value, std::size_t most) {
  if (value <= most) return {};
  return failure("usage/range", "the limit '" + std::string(name) + "' is " +
                                    std::to_string(value) + "; at most " + std::to_string(most) +
                                    " can be honoured");
}

}  // namespace

Status Limits::check() const {
  if (auto fits = at_most("json-depth", json_depth, kMostJsonDepth); !fits) return fits;
  return at_most("depth", depth, kMostDepth);
}

}  // namespace wgk
