// SPDX-License-Identifier: Apache-2.0
#include "base/suggest.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace wgk {
namespace {

constexpr std::size_t kFarthest = 2;

template <class Text>
std::string_view nearest(std::string_view name, std::span<const Text> candidates) {
  std::size_t bound = name.size() <= 3 ? 1 : kFarthest;
  if (name.size() <= 1) return {};
  std::string_view best;
  for (const Text& candidate : candidates) {
    const std::optional<std::size_t> distance = edit_distance(name, candidate, bound);
    if (!distance) continue;
    best = candidate;
    if (*distance == 0) break;
    bound = *distance - 1;
  }
  return best;
}

std::string sentence(std::string_view near) {
  return near.empty() ? std::string() : "did you mean '" + std::string(near) + "'?";
}

}  // namespace

std::optional<std::size_t> edit_distance(std::string_view a, std::string_view b,
                                         std::size_t bound) {
  if (std::max(a.size(), b.size()) - std::min(a.size(), b.size()) > bound) return std::nullopt;
  std::vector<std::size_t> before(b.size() + 1);
  std::vector<std::size_t> last(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    std::size_t smallest = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] =
          std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0U : 1U)});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
      smallest = std::min(smallest, row[j]);
    }
    if (smallest > bound + 1) return std::nullopt;
    std::swap(before, last);
    std::swap(last, row);
  }
  if (last[b.size()] > bound) return std::nullopt;
  return last[b.size()];
}

std::string_view nearest_name(std::string_view name, std::span<const std::string_view> candidates) {
  return nearest(name, candidates);
}
std::string_view nearest_name(std::string_view name, std::span<const std::string> candidates) {
  return nearest(name, candidates);
}
std::string suggestion(std::string_view name, std::span<const std::string_view> candidates) {
  return sentence(nearest(name, candidates));
}
std::string suggestion(std::string_view name, std::span<const std::string> candidates) {
  return sentence(nearest(name, candidates));
}

}  // namespace wgk
