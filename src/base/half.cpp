// SPDX-License-Identifier: Apache-2.0
#include "base/half.h"

#include <bit>
#include <cstdint>

namespace wgk {
namespace {

// Drops `shift` low bits of `value`, rounding to nearest, ties to even.
std::uint64_t shift_rounded(std::uint64_t value, int shift) {
  const std::uint64_t half = std::uint64_t{1} << (shift - 1);
  const std::uint64_t rest = value & ((half << 1) - 1);
  const std::uint64_t kept = value >> shift;
  const bool up = rest > half || (rest == half && (kept & 1) != 0);
  return kept + (up ? 1 : 0);
}

}  // namespace

std::uint16_t f16_from_f64(double value) {
  const auto bits = std::bit_cast<std::uint64_t>(value);
  const auto sign = static_cast<std::uint16_t>((bits >> 48) & 0x8000U);
  const int biased = static_cast<int>((bits >> 52) & 0x7ff);
  const std::uint64_t fraction = bits & 0xfffffffffffffULL;
  if (biased == 0x7ff) {
    if (fraction == 0) return static_cast<std::uint16_t>(sign | 0x7c00U);
    return static_cast<std::uint16_t>(sign | 0x7e00U | (fraction >> 42));
  }
  const int exponent = biased - 1023;
  if (exponent > 15) return static_cast<std::uint16_t>(sign | 0x7c00U);
  std::uint64_t magnitude = 0;
  if (exponent >= -14) {
    // A carry out of the fraction runs into the exponent, up to infinity: just what rounding asks
    // for.
    const std::uint64_t kept = (static_cast<std::uint64_t>(exponent + 15) << 52) | fraction;
    magnitude = shift_rounded(kept, 42);
  } else if (exponent >= -25) {
    magnitude = shift_rounded(fraction | (std::uint64_t{1} << 52), 28 - exponent);
  }
  return static_cast<std::uint16_t>(sign | magnitude);
}

float f32_from_f16(std::uint16_t bits) {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000U) << 16;
  const std::uint32_t exponent = (bits >> 10) & 0x1fU;
  const std::uint32_t fraction = bits & 0x3ffU;
  if (exponent == 0x1f) return std::bit_cast<float>(sign | 0x7f800000U | (fraction << 13));
  if (exponent != 0)
    return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (fraction << 13));
  const float magnitude = static_cast<float>(fraction) * 0x1p-24F;
  return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(magnitude));
}

}  // namespace wgk
