// SPDX-License-Identifier: Apache-2.0
#include "wgk/error.h"

#include <string>
#include <utility>

namespace wgk {

std::string Error::to_string() const {
  std::string text = "error[" + code + "]: " + message;
  for (const std::string& line : context) text += "\n  while " + line;
  if (!hint.empty()) text += "\nhint: " + hint;
  for (const Error& other : others) text += "\n" + other.to_string();
  return text;
}

Error&& Error::during(std::string what) && {
  for (Error& other : others) other.context.push_back(what);
  context.push_back(std::move(what));
  return std::move(*this);
}

}  // namespace wgk
