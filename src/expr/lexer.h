// SPDX-License-Identifier: Apache-2.0
// Tokens of templates and expressions. One lexer for both: what counts as text depends on the token
// before.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "wgk/error.h"

namespace wgk::expr {

enum class TokenKind : std::uint8_t {
  kText,
  kComment,
  kNumber,
  kString,
  kIdentifier,
  kEquals,
  kOpenParen,
  kCloseParen,
  kOpenStatement,
  kCloseStatement,
  kOpenExpression,
  kCloseExpression,
  kOpenBracket,
  kCloseBracket,
  kOpenBrace,
  kCloseBrace,
  kComma,
  kDot,
  kColon,
  kPipe,
  kAdditive,
  kMultiplicative,
  kPower,
  kComparison,
  kSign,
};

std::string_view token_name(TokenKind kind);

struct Token {
  TokenKind kind;
  std::uint32_t begin;  // bytes of the source, with the quotes of strings
  std::uint32_t end;
  std::uint32_t unescaped;  // place in Tokens::strings of a string with escapes, else kPlain

  static constexpr std::uint32_t kPlain = 0xffffffffU;
};

struct Tokens {
  std::vector<Token> list;
  std::vector<std::string> strings;
};

// What is wrong, and where in the source.
struct SyntaxError {
  std::string message;
  std::size_t at;
  bool is_limit = false;  // limit/depth or the like instead of a mistake in the source
};

std::expected<Tokens, SyntaxError> tokenize(std::string_view source);

}  // namespace wgk::expr
