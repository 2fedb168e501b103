// SPDX-License-Identifier: Apache-2.0
// Names, compared by hash first.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace wgk::expr {

// FNV-1a.
constexpr std::uint64_t name_hash(std::string_view name) {
  std::uint64_t hash = 14695981039346656037ULL;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  return hash;
}

struct Name {
  std::string text;
  std::uint64_t hash;
};

}  // namespace wgk::expr
