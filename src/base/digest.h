// SPDX-License-Identifier: Apache-2.0
// A fast 128-bit digest for cache keys (XXH3). Not a cryptographic hash: package integrity uses
// SHA-256.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace wgk {

struct Digest128 {
  std::uint64_t high = 0;
  std::uint64_t low = 0;

  auto operator<=>(const Digest128&) const = default;
  // 32 lower-case hexadecimal digits.
  std::string hex() const;
};

Digest128 digest128(std::string_view bytes);

// For unordered containers keyed by a digest.
struct DigestHash {
  std::size_t operator()(const Digest128& digest) const {
    return static_cast<std::size_t>(digest.low);
  }
};

}  // namespace wgk
