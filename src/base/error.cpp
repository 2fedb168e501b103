// SPDX-License-Identifier: Apache-2.0
#include "wgk/error.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "base/text.h"

namespace wgk {
namespace {

// A part of an error as a terminal may show it. It may quote names and texts of any length and
// content: the middle of a very long one is left out, control characters are written in digits, and
// its further lines are indented, so that none looks like an error of its own.
std::string shown(std::string_view part) {
  constexpr std::size_t kMost = 32 * 1024;
  constexpr std::size_t kEnd = 1024;
  std::string whole;
  if (part.size() > kMost) {
    const std::string head = cut_text(part, kMost - kEnd);
    // The end starts where a cut would fall too.
    const std::size_t end = cut_text(part, part.size() - kEnd).size();
    whole = head + "... (" + std::to_string(end - head.size()) + " bytes left out) ...";
    part.remove_prefix(end);
  }
  whole += part;
  std::string text;
  for (const char c : harmless_text(whole)) {
    text += c;
    if (c == '\n') text += "    ";
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
