// SPDX-License-Identifier: Apache-2.0
#include "base/number.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace wgk {
namespace {

// Shortest digits without point or trailing zeros, and the place of the point: value = 0.DIGITS *
// 10^point.
struct Digits {
  std::array<char, 24> text{};
  std::size_t count = 0;
  int point = 0;
};

Digits shortest_digits(double magnitude) {
  std::array<char, 40> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), magnitude,
                                 std::chars_format::scientific)
                       .ptr;
  Digits digits;
  const char* at = buffer.data();
  for (; at != end && *at != 'e'; ++at) {
    if (*at != '.') digits.text[digits.count++] = *at;
  }
  int exponent = 0;
  ++at;  // the 'e'
  if (*at == '+') ++at;
  std::from_chars(at, end, exponent);
  while (digits.count > 1 && digits.text[digits.count - 1] == '0') --digits.count;
  digits.point = exponent + 1;
  return digits;
}

void append_integer(std::string& out, std::int64_t value) {
  std::array<char, 24> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr;
  out.append(buffer.data(), end);
}

}  // namespace

void append_number(std::string& out, double value) {
  constexpr double kExact = 9007199254740992.0;  // integers up to here need no search for digits
  if (std::fabs(value) <= kExact && value == std::trunc(value)) {
    append_integer(out, static_cast<std::int64_t>(value));
    return;
  }
  if (std::isnan(value)) {
    out += "NaN";
    return;
  }
  if (value < 0) out += '-';
  if (std::isinf(value)) {
    out += "Infinity";
    return;
  }
  const Digits digits = shortest_digits(std::fabs(value));
  const std::string_view text(digits.text.data(), digits.count);
  const int count = static_cast<int>(digits.count);
  if (count <= digits.point && digits.point <= 21) {
    out += text;
    out.append(static_cast<std::size_t>(digits.point - count), '0');
  } else if (0 < digits.point && digits.point <= 21) {
    out += text.substr(0, static_cast<std::size_t>(digits.point));
    out += '.';
    out += text.substr(static_cast<std::size_t>(digits.point));
  } else if (-6 < digits.point && digits.point <= 0) {
    out += "0.";
    out.append(static_cast<std::size_t>(-digits.point), '0');
    out += text;
  } else {
    out += text[0];
    if (count > 1) {
      out += '.';
      out += text.substr(1);
    }
    out += digits.point > 0 ? "e+" : "e-";
    append_integer(out, std::abs(digits.point - 1));
  }
}

std::string number_text(double value) {
  std::string out;
  append_number(out, value);
  return out;
}

void append_tagged_number(std::string& out, double value, bool is_float) {
  const bool integral = value == std::trunc(value) && std::fabs(value) < 1e21;
  if (!is_float || !integral) {
    append_number(out, value);
    return;
  }
  // All digits, not the shortest ones.
  std::array<char, 40> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                                 std::chars_format::fixed, 1)
                       .ptr;
  out.append(buffer.data(), end);
}

std::string tagged_number_text(double value, bool is_float) {
  std::string out;
  append_tagged_number(out, value, is_float);
  return out;
}

}  // namespace wgk
