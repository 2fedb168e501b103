// SPDX-License-Identifier: Apache-2.0
// Errors are values: a stable code, one line of facts, and the chain of what was being done.
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace wgk {

// What went wrong. `code` is stable text "area/reason" (docs/errors.md lists all); `message` is one
// lower-case sentence with given and expected values; `context` holds "while ..." lines from the
// inside out; `hint` is empty or one certain advice. A check that finds several violations returns
// the first and keeps the rest, in order, in `others`.
struct Error {
  std::string code;
  std::string message;
  std::vector<std::string> context = {};
  std::string hint = {};
  std::vector<Error> others = {};

  // All of it as text: "error[area/reason]: message", then "  while ..." lines, then "hint: ...",
  // then the others.
  std::string to_string() const;

  // Adds an outer "while ..." line (given without the word "while") to this error and to the
  // others.
  Error&& during(std::string what) &&;
};

template <class T>
using Result = std::expected<T, Error>;

// Returned by functions that only succeed or fail.
using Status = std::expected<void, Error>;

// `return wgk::failure("request/shape", "...")` from any function that returns a Result.
inline std::unexpected<Error> failure(std::string_view code, std::string message,
                                      std::string hint = {}) {
  return std::unexpected(Error{std::string(code), std::move(message), {}, std::move(hint), {}});
}

}  // namespace wgk
