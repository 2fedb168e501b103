// SPDX-License-Identifier: Apache-2.0
#include "expr/text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace wgk::expr {
namespace {

constexpr double kNotANumber = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinite = std::numeric_limits<double>::infinity();

bool is_decimal_digit(char c) { return c >= '0' && c <= '9'; }
bool is_word_character(char c) {
  return is_decimal_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
char upper(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; }
char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }

std::uint32_t byte(std::string_view text, std::size_t at) {
  return static_cast<unsigned char>(text[at]);
}

// Code point that starts at `at`; surrogates that stand alone come as they are.
std::uint32_t code_point(std::string_view text, std::size_t at) {
  const std::uint32_t first = byte(text, at);
  switch (code_point_length(text, at)) {
    case 2: return ((first & 31U) << 6) | (byte(text, at + 1) & 63U);
    case 3:
      return ((first & 15U) << 12) | ((byte(text, at + 1) & 63U) << 6) | (byte(text, at + 2) & 63U);
    case 4:
      return ((first & 7U) << 18) | ((byte(text, at + 1) & 63U) << 12) |
             ((byte(text, at + 2) & 63U) << 6) | (byte(text, at + 3) & 63U);
    default: return first;
  }
}

void append_unit(std::string& out, std::uint32_t unit) {
  out += static_cast<char>(0xe0U | (unit >> 12));
  out += static_cast<char>(0x80U | ((unit >> 6) & 63U));
  out += static_cast<char>(0x80U | (unit & 63U));
}

// End of the longest prefix [sign] digits [. digits] [exponent] that is a number, or 0; `.5` and
// `5.` count.
std::size_t decimal_prefix(std::string_view text) {
  std::size_t at = !text.empty() && (text[0] == '-' || text[0] == '+') ? 1 : 0;
  const std::size_t whole = at;
  while (at < text.size() && is_decimal_digit(text[at])) ++at;
  std::size_t digits = at - whole;
  if (at < text.size() && text[at] == '.') {
    const std::size_t fraction = at + 1;
    std::size_t end = fraction;
    while (end < text.size() && is_decimal_digit(text[end])) ++end;
    digits += end - fraction;
    if (digits > 0) at = end;
  }
  if (digits == 0) return 0;
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    std::size_t end = at + 1;
    if (end < text.size() && (text[end] == '-' || text[end] == '+')) ++end;
    const std::size_t first = end;
    while (end < text.size() && is_decimal_digit(text[end])) ++end;
    if (end > first) at = end;
  }
  return at;
}

double decimal_value(std::string_view text) {
  bool negative = false;
  if (text[0] == '-' || text[0] == '+') {
    negative = text[0] == '-';
    text.remove_prefix(1);
  }
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::result_out_of_range) {
    // Too large or too small; the sign of the exponent tells, and without one the digits do.
    const std::size_t exponent = text.find_first_of("eE");
    const bool small = exponent == std::string_view::npos
                           ? text.find_first_of("123456789") > text.find('.')
                           : text.substr(exponent + 1).starts_with('-');
    value = small ? 0 : kInfinite;
  }
  return negative ? -value : value;
}

double radix_value(std::string_view digits, int radix) {
  if (digits.empty()) return kNotANumber;
  double value = 0;
  for (const char c : digits) {
    const char low = lower(c);
    const int digit =
        is_decimal_digit(low) ? low - '0' : (low >= 'a' && low <= 'f' ? low - 'a' + 10 : radix);
    if (digit >= radix) return kNotANumber;
    value = value * radix + digit;
  }
  return value;
}

std::vector<std::string> split_at_space(std::string_view text, double limit) {
  std::vector<std::string> parts;
  text = trim_start(text);
  while (!text.empty()) {
    if (limit != -1 && static_cast<double>(parts.size()) >= limit) {
      parts.emplace_back(text);
      break;
    }
    std::size_t end = 0;
    while (end < text.size() && space_length(text, end) == 0) ++end;
    parts.emplace_back(text.substr(0, end));
    text = trim_start(text.substr(end));
  }
  return parts;
}

// Primary weights of ASCII in the root collation; 0 is ignored.
constexpr std::string_view kCollation = "\t\n\v\f\r _-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$0123456789";

int collation_weight(char c) {
  if (const std::size_t at = kCollation.find(c); at != std::string_view::npos)
    return static_cast<int>(at) + 1;
  if (lower(c) >= 'a' && lower(c) <= 'z') return 100 + lower(c);
  return 0;
}

}  // namespace

std::size_t code_point_length(std::string_view text, std::size_t at) {
  const std::uint32_t first = byte(text, at);
  const std::size_t length = first < 0xc0 ? 1 : (first < 0xe0 ? 2 : (first < 0xf0 ? 3 : 4));
  return at + length <= text.size() ? length : 1;
}

std::size_t space_length(std::string_view text, std::size_t at) {
  const char c = text[at];
  if (c == ' ' || (c >= '\t' && c <= '\r')) return 1;
  if (static_cast<unsigned char>(c) < 0xc2) return 0;
  switch (code_point(text, at)) {
    case 0xa0: return 2;
    case 0x1680:
    case 0x2028:
    case 0x2029:
    case 0x202f:
    case 0x205f:
    case 0x3000:
    case 0xfeff: return 3;
    default: break;
  }
  const std::uint32_t point = code_point(text, at);
  return point >= 0x2000 && point <= 0x200a ? 3 : 0;
}

std::string_view trim_start(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t space = space_length(text, at);
    if (space == 0) break;
    at += space;
  }
  return text.substr(at);
}

std::string_view trim_end(std::string_view text) {
  std::size_t end = text.size();
  while (end > 0) {
    std::size_t start = end - 1;
    while (start > 0 && end - start < 3 && (byte(text, start) & 0xc0U) == 0x80U) --start;
    if (space_length(text, start) != end - start) break;
    end = start;
  }
  return text.substr(0, end);
}

bool is_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

std::size_t utf16_length(std::string_view text) {
  std::size_t length = 0;
  for (const char c : text) {
    const auto value = static_cast<unsigned char>(c);
    if ((value & 0xc0U) != 0x80U) length += value >= 0xf0 ? 2 : 1;
  }
  return length;
}

std::optional<std::string> utf16_at(std::string_view text, std::size_t index) {
  if (is_ascii(text)) {
    if (index >= text.size()) return std::nullopt;
    return std::string(1, text[index]);
  }
  std::size_t unit = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = code_point_length(text, at);
    const std::size_t units = length == 4 ? 2 : 1;
    if (index < unit + units) {
      if (units == 1) return std::string(text.substr(at, length));
      const std::uint32_t offset = code_point(text, at) - 0x10000U;
      std::string half;
      append_unit(half, index == unit ? 0xd800U + (offset >> 10) : 0xdc00U + (offset & 0x3ffU));
      return half;
    }
    unit += units;
    at += length;
  }
  return std::nullopt;
}

int utf16_compare(std::string_view a, std::string_view b) {
  std::size_t at = 0;
  while (at < a.size() && at < b.size() && a[at] == b[at]) ++at;
  if (at == a.size() || at == b.size())
    return static_cast<int>(a.size() > b.size()) - static_cast<int>(a.size() < b.size());
  // Byte order is code point order; in UTF-16 the characters beyond U+FFFF come before U+E000 to
  // U+FFFF.
  const auto rank = [](std::uint32_t value) {
    return value >= 0xf0 ? 0xedU : (value >= 0xee ? value + 2 : value);
  };
  const std::uint32_t left = rank(byte(a, at));
  const std::uint32_t right = rank(byte(b, at));
  if (left == right) return byte(a, at) < byte(b, at) ? -1 : 1;
  return left < right ? -1 : 1;
}

std::vector<std::string_view> code_points(std::string_view text) {
  std::vector<std::string_view> points;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = code_point_length(text, at);
    points.push_back(text.substr(at, length));
    at += length;
  }
  return points;
}

std::string to_upper(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), upper);
  return out;
}

std::string to_lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), lower);
  return out;
}

std::string to_title(std::string_view text) {
  std::string out(text);
  bool inside = false;
  for (char& c : out) {
    if (!inside) c = upper(c);
    inside = is_word_character(c);
  }
  return out;
}

std::string capitalized(std::string_view text) {
  std::string out(text);
  if (!out.empty()) out[0] = upper(out[0]);
  return out;
}

double to_number(std::string_view text) {
  text = trim_end(trim_start(text));
  if (text.empty()) return 0;
  if (text.size() > 2 && text[0] == '0') {
    const char base = lower(text[1]);
    if (base == 'x') return radix_value(text.substr(2), 16);
    if (base == 'o') return radix_value(text.substr(2), 8);
    if (base == 'b') return radix_value(text.substr(2), 2);
  }
  if (text == "Infinity" || text == "+Infinity") return kInfinite;
  if (text == "-Infinity") return -kInfinite;
  return decimal_prefix(text) == text.size() ? decimal_value(text) : kNotANumber;
}

double parse_int(std::string_view text) {
  text = trim_start(text);
  std::size_t end = !text.empty() && (text[0] == '-' || text[0] == '+') ? 1 : 0;
  const std::size_t first = end;
  while (end < text.size() && is_decimal_digit(text[end])) ++end;
  return end == first ? kNotANumber : decimal_value(text.substr(0, end));
}

double parse_float(std::string_view text) {
  text = trim_start(text);
  if (text.starts_with("Infinity") || text.starts_with("+Infinity")) return kInfinite;
  if (text.starts_with("-Infinity")) return -kInfinite;
  const std::size_t end = decimal_prefix(text);
  return end == 0 ? kNotANumber : decimal_value(text.substr(0, end));
}

double parse_literal(std::string_view digits) { return decimal_value(digits); }

std::size_t find_part(std::string_view text, std::string_view part, std::size_t from) {
  constexpr std::size_t kShort = 8;
  if (part.size() <= kShort) return text.find(part, from);
  // Knuth, Morris and Pratt: how much of the part is matched still when its i-th byte does not fit.
  std::vector<std::size_t> matched(part.size() + 1, 0);
  for (std::size_t i = 1, length = 0; i < part.size(); ++i) {
    while (length > 0 && part[i] != part[length]) length = matched[length];
    if (part[i] == part[length]) ++length;
    matched[i + 1] = length;
  }
  std::size_t length = 0;
  for (std::size_t at = from; at < text.size(); ++at) {
    while (length > 0 && text[at] != part[length]) length = matched[length];
    if (text[at] == part[length]) ++length;
    if (length == part.size()) return at + 1 - length;
  }
  return std::string_view::npos;
}

std::string replaced(std::string_view text, std::string_view from, std::string_view to,
                     double count) {
  std::string out;
  double left = count;
  std::size_t at = 0;
  if (from.empty()) {
    while (true) {
      if (left > 0) {
        out += to;
        --left;
      }
      if (at >= text.size()) return out;
      const std::size_t length = code_point_length(text, at);
      out += text.substr(at, length);
      at += length;
    }
  }
  while (left > 0) {
    const std::size_t found = find_part(text, from, at);
    if (found == std::string_view::npos) break;
    out += text.substr(at, found - at);
    out += to;
    at = found + from.size();
    --left;
  }
  out += text.substr(at);
  return out;
}

std::size_t replaced_size(std::string_view text, std::string_view from, std::string_view to,
                          double count) {
  double places = 0;
  if (from.empty()) {
    places = static_cast<double>(text.size() + 1);
  } else {
    for (std::size_t at = find_part(text, from); at != std::string_view::npos;
         at = find_part(text, from, at + from.size()))
      ++places;
  }
  const double most = static_cast<double>(text.size()) +
                      static_cast<double>(to.size()) * (count < places ? count : places);
  return static_cast<std::size_t>(std::min(most, 1e15));
}

std::vector<std::string> split(std::string_view text,
                               const std::optional<std::string_view>& separator, double limit) {
  if (!separator) return split_at_space(text, limit);
  std::vector<std::string> parts;
  std::vector<std::size_t> starts;
  for (std::size_t at = 0;;) {
    const std::size_t found = find_part(text, *separator, at);
    starts.push_back(at);
    parts.emplace_back(text.substr(at, found - at));
    if (found == std::string_view::npos) break;
    at = found + separator->size();
  }
  const auto count = static_cast<double>(parts.size());
  if (limit == -1 || !(count > limit)) return parts;
  // As Array.splice: a negative limit counts from the end.
  const double kept = limit < 0 ? std::max(0.0, count + limit) : limit;
  const auto first = static_cast<std::size_t>(kept);
  std::string rest(text.substr(starts[first]));
  parts.resize(first);
  parts.push_back(std::move(rest));
  return parts;
}

int locale_compare(std::string_view a, std::string_view b) {
  std::size_t i = 0;
  std::size_t j = 0;
  int tie = 0;
  while (true) {
    while (i < a.size() && byte(a, i) < 0x80 && collation_weight(a[i]) == 0) ++i;
    while (j < b.size() && byte(b, j) < 0x80 && collation_weight(b[j]) == 0) ++j;
    if (i == a.size() || j == b.size()) break;
    const bool ascii = byte(a, i) < 0x80 && byte(b, j) < 0x80;
    const int left =
        byte(a, i) < 0x80 ? collation_weight(a[i]) : 1000 + static_cast<int>(byte(a, i));
    const int right =
        byte(b, j) < 0x80 ? collation_weight(b[j]) : 1000 + static_cast<int>(byte(b, j));
    if (left != right) return left < right ? -1 : 1;
    if (tie == 0 && ascii && a[i] != b[j]) tie = a[i] > b[j] ? -1 : 1;  // lower case first
    ++i;
    ++j;
  }
  if (i < a.size() || j < b.size()) return i < a.size() ? 1 : -1;
  return tie;
}

std::string well_formed(std::string text) {
  if (text.find('\xed') == std::string::npos) return text;
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = code_point_length(text, at);
    const std::uint32_t point = code_point(text, at);
    if (length == 3 && point >= 0xd800 && point < 0xe000) {
      const bool pair = point < 0xdc00 && at + 6 <= text.size() && byte(text, at + 3) == 0xed &&
                        (byte(text, at + 4) & 0xf0U) == 0xb0U;
      if (pair) {
        const std::uint32_t whole =
            0x10000U + ((point - 0xd800U) << 10) + (code_point(text, at + 3) - 0xdc00U);
        out += static_cast<char>(0xf0U | (whole >> 18));
        out += static_cast<char>(0x80U | ((whole >> 12) & 63U));
        out += static_cast<char>(0x80U | ((whole >> 6) & 63U));
        out += static_cast<char>(0x80U | (whole & 63U));
        at += 6;
        continue;
      }
      out += "\xef\xbf\xbd";
    } else {
      out += std::string_view(text).substr(at, length);
    }
    at += length;
  }
  return out;
}

}  // namespace wgk::expr
