// SPDX-License-Identifier: Apache-2.0
// Reading and writing JSON text. The only module that includes the JSON library.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "wgk/error.h"
#include "wgk/json.h"

namespace wgk::json {

using Value = wgk::Json;

struct ParseLimits {
  std::size_t max_bytes = std::size_t{64} << 20;
  std::size_t max_depth = 128;
};

// Strict JSON (RFC 8259). Duplicate keys, invalid UTF-8, excess depth or size are errors with line
// and column ("package/json").
Result<Value> parse(std::string_view text, const ParseLimits& limits = {});

enum class Style { kCompact, kPretty };

// Canonical text: keys in stored order, numbers as JavaScript prints them, NaN and infinities as
// null, "\n"-terminated when pretty (two blanks of indentation, arrays of scalars on one line).
std::string write(const Value& value, Style style = Style::kCompact);

// A string as JSON.stringify quotes it.
void append_quoted(std::string& out, std::string_view text);

}  // namespace wgk::json
