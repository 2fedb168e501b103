// SPDX-License-Identifier: Apache-2.0
// Near names for messages about unknown ones.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace wgk {

// Insertions, deletions, replacements and swaps of neighbours; nothing when more than `bound` are
// needed.
std::optional<std::size_t> edit_distance(std::string_view a, std::string_view b, std::size_t bound);

// The nearest candidate at distance 2 or less (1 for names of up to three characters), the first
// one on a tie; empty when there is none.
std::string_view nearest_name(std::string_view name, std::span<const std::string_view> candidates);
std::string_view nearest_name(std::string_view name, std::span<const std::string> candidates);

// "did you mean 'x'?", or empty: made for Error::hint.
std::string suggestion(std::string_view name, std::span<const std::string_view> candidates);
std::string suggestion(std::string_view name, std::span<const std::string> candidates);

}  // namespace wgk
