// SPDX-License-Identifier: Apache-2.0
#include "wgk/limits.h"

#include <algorithm>
#include <string>
#include <vector>

#include "base/limit_names.h"
#include "base/suggest.h"

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

Result<std::size_t Limits::*> limit_named(std::string_view name) {
  const auto found = std::ranges::find(kLimitNames, name, &LimitName::name);
  if (found != kLimitNames.end()) return found->value;
  std::vector<std::string> known;
  std::string list;
  for (const LimitName& limit : kLimitNames) {
    list += (list.empty() ? "" : ", ") + std::string(limit.name);
    known.emplace_back(limit.name);
  }
  return failure("usage/arguments",
                 "there is no limit '" + std::string(name) + "'; the limits are " + list,
                 suggestion(name, known));
}

}  // namespace wgk
