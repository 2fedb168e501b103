// SPDX-License-Identifier: Apache-2.0
#include "wgk/error.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace wgk {
namespace {

// A part of an error as a terminal may show it. It may quote names and texts of any length and
// content: the middle of a very long one is left out, control characters are written in digits, and
// its further lines are indented, so that none looks like an error of its own.
std::string shown(std::string_view part) {
  constexpr std::size_t kMost = 32 * 1024;
  constexpr std::size_t kEnd = 1024;
  constexpr std::string_view kDigits = "0123456789abcdef";
  const std::size_t left_out = part.size() <= kMost ? 0 : part.size() - kMost;
  std::string text;
  for (std::size_t i = 0; i < part.size(); ++i) {
    if (left_out != 0 && i == kMost - kEnd) {
      text += "... (" + std::to_string(left_out) + " bytes left out) ...";
      i += left_out;
    }
    const auto byte = static_cast<unsigned char>(part[i]);
    if (byte == '\n') {
      text += "\n    ";
    } else if ((byte < ' ' && byte != '\t') || byte == 0x7f) {
      text.append("\\x").append(1, kDigits[byte >> 4U]).append(1, kDigits[byte & 15U]);
    } else {
      text += part[i];
    }
  }
  return text;
}

}  // namespace

std::string Error::to_string() const {
  std::string text = "error[" + code + "]: " + shown(message);
  for (const std::string& line : context) text += "\n  while " + shown(line);
  if (!hint.empty()) text += "\nhint: " + shown(hint);
  for (const Error& other : others) text += "\n" + other.to_string();
  return text;
}

Error&& Error::during(std::string what) && {
  for (Error& other : others) other.context.push_back(what);
  context.push_back(std::move(what));
  return std::move(*this);
}

}  // namespace wgk
