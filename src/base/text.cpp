// SPDX-License-Identifier: Apache-2.0
#include "base/text.h"

#include <cstddef>
#include <string>
#include <string_view>

namespace wgk {
namespace {

unsigned byte_at(std::string_view text, std::size_t at) {
  return static_cast<unsigned char>(text[at]);
}

void append_digits(std::string& out, unsigned byte) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  out.append("\\x").append(1, kDigits[byte >> 4U]).append(1, kDigits[byte & 15U]);
}

// U+0080 to U+009F have two bytes.
bool starts_high_control(std::string_view text, std::size_t at) {
  return byte_at(text, at) == 0xc2 && at + 1 < text.size() && byte_at(text, at + 1) >= 0x80 &&
         byte_at(text, at + 1) < 0xa0;
}

}  // namespace

std::string cut_text(std::string_view text, std::size_t most) {
  if (text.size() <= most) return std::string(text);
  // What has a longer run of such bytes is not UTF-8.
  constexpr std::size_t kMostBack = 3;
  std::size_t end = most;
  while (end > 0 && most - end < kMostBack && (byte_at(text, end) & 0xc0U) == 0x80) --end;
  return std::string(text.substr(0, end));
}

std::string shortened(std::string_view text, std::size_t most) {
  return text.size() <= most ? std::string(text) : cut_text(text, most) + "...";
}

std::string harmless_text(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const unsigned byte = byte_at(text, i);
    if (starts_high_control(text, i)) {
      append_digits(out, byte);
      append_digits(out, byte_at(text, ++i));
    } else if ((byte < ' ' && byte != '\t' && byte != '\n') || byte == 0x7f) {
      append_digits(out, byte);
    } else {
      out += text[i];
    }
  }
  return out;
}

}  // namespace wgk
