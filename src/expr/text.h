// SPDX-License-Identifier: Apache-2.0
// JavaScript's view of text: UTF-16 length and order, white space, number parsing. Our strings are
// UTF-8; a lone surrogate (half of a character, which only indexing can give) is kept as its
// three-byte form.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace wgk::expr {

// Bytes of the white-space character at `at` (JavaScript's \s), or 0.
std::size_t space_length(std::string_view text, std::size_t at);

std::string_view trim_start(std::string_view text);
std::string_view trim_end(std::string_view text);

bool is_ascii(std::string_view text);
std::size_t utf16_length(std::string_view text);
// The code unit at `index` as text; nothing when out of range.
std::optional<std::string> utf16_at(std::string_view text, std::size_t index);
// Order of UTF-16 code units: below 0, 0, above 0.
int utf16_compare(std::string_view a, std::string_view b);
std::vector<std::string_view> code_points(std::string_view text);

// Bytes of the character that starts at `at` (1 for a stray byte).
std::size_t code_point_length(std::string_view text, std::size_t at);

// Only ASCII letters change (docs/format-notes.md).
std::string to_upper(std::string_view text);
std::string to_lower(std::string_view text);
// First letter of each run of [A-Za-z0-9_].
std::string to_title(std::string_view text);
std::string capitalized(std::string_view text);

// Number(text), parseInt(text, 10), parseFloat(text); NaN when there is no number.
double to_number(std::string_view text);
double parse_int(std::string_view text);
double parse_float(std::string_view text);
// Digits with an optional sign and fraction, as the lexer read them.
double parse_literal(std::string_view digits);

// As text.find(part, from), in time linear in both, whatever they are.
std::size_t find_part(std::string_view text, std::string_view part, std::size_t from = 0);

// Each occurrence of `from` (of the empty text: each place between characters), the first `count`
// ones.
std::string replaced(std::string_view text, std::string_view from, std::string_view to,
                     double count);
// At least the bytes of that result.
std::size_t replaced_size(std::string_view text, std::string_view from, std::string_view to,
                          double count);

// Python's str.split as the reference has it; `separator` nothing: runs of white space.
std::vector<std::string> split(std::string_view text,
                               const std::optional<std::string_view>& separator, double limit);

// Order of String.prototype.localeCompare for ASCII text (root collation); other characters come
// after, by code point.
int locale_compare(std::string_view a, std::string_view b);

// Lone surrogates become U+FFFD, as when JavaScript text is encoded.
std::string well_formed(std::string text);

}  // namespace wgk::expr
