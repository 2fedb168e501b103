// SPDX-License-Identifier: Apache-2.0
// The table of stable error codes (docs/errors.md is generated from it).
#pragma once

#include <span>
#include <string_view>

namespace wgk {

struct ErrorCode {
  std::string_view code;
  std::string_view cause;
  std::string_view fix;
};

// In the order of the table.
std::span<const ErrorCode> error_codes();

// Null when `code` is not in the table.
const ErrorCode* find_error_code(std::string_view code);

}  // namespace wgk
