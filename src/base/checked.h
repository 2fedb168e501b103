// SPDX-License-Identifier: Apache-2.0
// Integer arithmetic for shapes and byte sizes that reports overflow ("limit/buffer") instead of
// wrapping.
#pragma once

#include <concepts>
#include <cstdint>
#include <span>
#include <string>

#include "wgk/error.h"

namespace wgk {

template <class T>
concept CheckedInteger = std::same_as<T, std::int64_t> || std::same_as<T, std::uint64_t>;

template <CheckedInteger T>
Result<T> checked_mul(T a, T b) {
  T result{};
  if (!__builtin_mul_overflow(a, b, &result)) return result;
  return failure("limit/buffer", "the product " + std::to_string(a) + " * " + std::to_string(b) +
                                     " does not fit 64 bits");
}

template <CheckedInteger T>
Result<T> checked_add(T a, T b) {
  T result{};
  if (!__builtin_add_overflow(a, b, &result)) return result;
  return failure("limit/buffer", "the sum " + std::to_string(a) + " + " + std::to_string(b) +
                                     " does not fit 64 bits");
}

// The smallest multiple of `step` (above zero) that is not below `value` (not below zero).
template <CheckedInteger T>
Result<T> checked_round_up(T value, T step) {
  const T rest = value % step;
  if (rest == 0) return value;
  return checked_add<T>(value, step - rest);
}

// Quotient rounded up; `value` not below zero, `step` above zero.
template <CheckedInteger T>
constexpr T ceil_div(T value, T step) {
  return value / step + (value % step != 0 ? 1 : 0);
}

// Product of the dimensions; 1 for rank 0. A dimension below zero is an error.
Result<std::int64_t> element_count(std::span<const std::int64_t> shape);

}  // namespace wgk
