// SPDX-License-Identifier: Apache-2.0
#include "expr/lexer.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <utility>

#include "expr/text.h"

namespace wgk::expr {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_word(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

struct Fixed {
  std::string_view text;
  TokenKind kind;
};

// In the order in which they are tried.
constexpr std::array<Fixed, 29> kFixed = {{
    {"{%", TokenKind::kOpenStatement},  {"%}", TokenKind::kCloseStatement},
    {"{{", TokenKind::kOpenExpression}, {"}}", TokenKind::kCloseExpression},
    {"(", TokenKind::kOpenParen},       {")", TokenKind::kCloseParen},
    {"{", TokenKind::kOpenBrace},       {"}", TokenKind::kCloseBrace},
    {"[", TokenKind::kOpenBracket},     {"]", TokenKind::kCloseBracket},
    {",", TokenKind::kComma},           {".", TokenKind::kDot},
    {":", TokenKind::kColon},           {"|", TokenKind::kPipe},
    {"<=", TokenKind::kComparison},     {">=", TokenKind::kComparison},
    {"==", TokenKind::kComparison},     {"!=", TokenKind::kComparison},
    {"<", TokenKind::kComparison},      {">", TokenKind::kComparison},
    {"+", TokenKind::kAdditive},        {"-", TokenKind::kAdditive},
    {"~", TokenKind::kAdditive},        {"**", TokenKind::kPower},
    {"*", TokenKind::kMultiplicative},  {"//", TokenKind::kMultiplicative},
    {"/", TokenKind::kMultiplicative},  {"%", TokenKind::kMultiplicative},
    {"=", TokenKind::kEquals},
}};

// The escaped character, or 0 for an unknown one.
char unescape(char c) {
  switch (c) {
    case 'n': return '\n';
    case 't': return '\t';
    case 'r': return '\r';
    case 'b': return '\b';
    case 'f': return '\f';
    case 'v': return '\v';
    case '\'':
    case '"':
    case '\\': return c;
    default: return 0;
  }
}

class Lexer {
 public:
  explicit Lexer(std::string_view source) : source_(source) {}

  std::expected<Tokens, SyntaxError> run() {
    while (at_ < source_.size()) {
      if (!step()) return std::unexpected(std::move(error_));
    }
    return std::move(tokens_);
  }

 private:
  bool fail(std::string message, std::size_t at) {
    error_ = {std::move(message), at};
    return false;
  }
  bool fail_at_end() { return fail("unexpected end of the source", source_.size()); }

  std::string_view rest() const { return source_.substr(at_); }
  char peek(std::size_t ahead) const {
    return at_ + ahead < source_.size() ? source_[at_ + ahead] : '\0';
  }

  void push(TokenKind kind, std::size_t begin, std::size_t end) {
    tokens_.list.push_back(
        {kind, static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end), Token::kPlain});
  }
  // Pushes the token and moves behind it.
  void take(TokenKind kind, std::size_t length) {
    push(kind, at_, at_ + length);
    at_ += length;
  }

  bool step() {
    if (reads_text() && read_text()) return true;
    if (peek(0) == '{' && peek(1) == '#') return read_comment();
    if (peek(0) == '{' && peek(1) == '%' && peek(2) == '-') {
      strip_last_text();
      take(TokenKind::kOpenStatement, 3);
      return true;
    }
    if (peek(0) == '{' && peek(1) == '{' && peek(2) == '-') {
      strip_last_text();
      take(TokenKind::kOpenExpression, 3);
      braces_ = 0;
      return true;
    }
    skip_space();
    if (at_ >= source_.size()) return fail_at_end();
    if (peek(0) == '-' && (peek(1) == '%' || peek(1) == '}') && peek(2) == '}') {
      take(source_[at_ + 1] == '%' ? TokenKind::kCloseStatement : TokenKind::kCloseExpression, 3);
      skip_space();
      return true;
    }
    const char c = source_[at_];
    if ((c == '-' || c == '+') && !follows_operand()) return read_sign();
    if (read_fixed()) return true;
    if (c == '\'' || c == '"') return read_string(c);
    if (is_digit(c)) return read_number();
    if (is_word(c)) return read_word();
    const std::size_t length = code_point_length(source_, at_);
    return fail("unexpected character '" + std::string(source_.substr(at_, length)) + "'", at_);
  }

  bool reads_text() const {
    if (tokens_.list.empty()) return true;
    const TokenKind last = tokens_.list.back().kind;
    return last == TokenKind::kCloseStatement || last == TokenKind::kCloseExpression ||
           last == TokenKind::kComment;
  }

  // False when a block begins at once.
  bool read_text() {
    const std::size_t begin = at_;
    while (at_ < source_.size()) {
      const std::size_t brace = source_.find('{', at_);
      if (brace == std::string_view::npos) {
        at_ = source_.size();
        break;
      }
      at_ = brace;
      const char next = peek(1);
      if (next == '%' || next == '{' || next == '#') break;
      ++at_;
    }
    if (at_ == begin) return false;
    push(TokenKind::kText, begin, at_);
    return true;
  }

  bool read_comment() {
    const std::size_t open = at_;
    at_ += 2;
    const bool strip_before = peek(0) == '-';
    if (strip_before) ++at_;
    const std::size_t close = source_.find("#}", at_);
    if (close == std::string_view::npos) return fail("missing end of the comment", open);
    const bool strip_after = close > at_ && source_[close - 1] == '-';
    if (strip_before) strip_last_text();
    push(TokenKind::kComment, open, close + 2);
    at_ = close + 2;
    if (strip_after) skip_space();
    return true;
  }

  void strip_last_text() {
    if (tokens_.list.empty() || tokens_.list.back().kind != TokenKind::kText) return;
    Token& text = tokens_.list.back();
    const std::string_view kept = trim_end(source_.substr(text.begin, text.end - text.begin));
    text.end = text.begin + static_cast<std::uint32_t>(kept.size());
    if (kept.empty()) tokens_.list.pop_back();
  }

  void skip_space() {
    while (at_ < source_.size()) {
      const std::size_t space = space_length(source_, at_);
      if (space == 0) break;
      at_ += space;
    }
  }

  bool follows_operand() const {
    if (tokens_.list.empty()) return false;
    switch (tokens_.list.back().kind) {
      case TokenKind::kIdentifier:
      case TokenKind::kNumber:
      case TokenKind::kString:
      case TokenKind::kCloseParen:
      case TokenKind::kCloseBracket: return true;
      default: return false;
    }
  }

  // A sign where no operand precedes it: part of the digits that follow at once, else an operator
  // of its own.
  bool read_sign() {
    const bool misplaced = tokens_.list.empty() || tokens_.list.back().kind == TokenKind::kText;
    if (misplaced) return fail(std::string("unexpected character '") + source_[at_] + "'", at_);
    const std::size_t begin = at_++;
    if (!is_digit(peek(0))) {
      push(TokenKind::kSign, begin, at_);
      return true;
    }
    return read_digits(begin, true);
  }

  bool read_number() {
    const bool member = !tokens_.list.empty() && tokens_.list.back().kind == TokenKind::kDot;
    return read_digits(at_, !member);
  }

  bool read_digits(std::size_t begin, bool allow_fraction) {
    while (is_digit(peek(0))) ++at_;
    if (allow_fraction && peek(0) == '.' && is_digit(peek(1))) {
      ++at_;
      while (is_digit(peek(0))) ++at_;
    }
    if (at_ >= source_.size()) return fail_at_end();
    push(TokenKind::kNumber, begin, at_);
    return true;
  }

  bool read_word() {
    const std::size_t begin = at_;
    while (at_ < source_.size() && is_word(source_[at_])) ++at_;
    if (at_ >= source_.size()) return fail_at_end();
    push(TokenKind::kIdentifier, begin, at_);
    return true;
  }

  bool read_fixed() {
    for (const Fixed& fixed : kFixed) {
      if (fixed.text.front() != source_[at_] || !rest().starts_with(fixed.text)) continue;
      // Inside an object literal "}}" is two braces.
      if (fixed.kind == TokenKind::kCloseExpression && braces_ > 0) continue;
      if (fixed.kind == TokenKind::kOpenExpression) braces_ = 0;
      if (fixed.kind == TokenKind::kOpenBrace) ++braces_;
      if (fixed.kind == TokenKind::kCloseBrace) --braces_;
      take(fixed.kind, fixed.text.size());
      return true;
    }
    return false;
  }

  bool read_string(char quote) {
    const std::size_t begin = ++at_;
    std::string unescaped;
    bool has_escape = false;
    while (true) {
      if (at_ >= source_.size()) return fail_at_end();
      const char c = source_[at_];
      if (c == quote) break;
      if (c != '\\') {
        if (has_escape) unescaped += c;
        ++at_;
        continue;
      }
      if (!has_escape) unescaped = source_.substr(begin, at_ - begin);
      has_escape = true;
      ++at_;
      if (at_ >= source_.size()) return fail_at_end();
      const char real = unescape(source_[at_]);
      if (real == 0) {
        const std::size_t length = code_point_length(source_, at_);
        return fail(
            "unknown escape '\\" + std::string(source_.substr(at_, length)) + "' in a string",
            at_ - 1);
      }
      unescaped += real;
      ++at_;
    }
    push(TokenKind::kString, begin - 1, at_ + 1);
    if (has_escape) {
      tokens_.list.back().unescaped = static_cast<std::uint32_t>(tokens_.strings.size());
      tokens_.strings.push_back(std::move(unescaped));
    }
    ++at_;
    return true;
  }

  std::string_view source_;
  std::size_t at_ = 0;
  int braces_ = 0;
  Tokens tokens_;
  SyntaxError error_{};
};

}  // namespace

std::string_view token_name(TokenKind kind) {
  constexpr std::array<std::string_view, 25> kNames = {"text",
                                                       "a comment",
                                                       "a number",
                                                       "a string",
                                                       "a name",
                                                       "'='",
                                                       "'('",
                                                       "')'",
                                                       "'{%'",
                                                       "'%}'",
                                                       "'{{'",
                                                       "'}}'",
                                                       "'['",
                                                       "']'",
                                                       "'{'",
                                                       "'}'",
                                                       "','",
                                                       "'.'",
                                                       "':'",
                                                       "'|'",
                                                       "'+', '-' or '~'",
                                                       "'*', '/', '//' or '%'",
                                                       "'**'",
                                                       "a comparison",
                                                       "a sign"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::expected<Tokens, SyntaxError> tokenize(std::string_view source) {
  constexpr std::size_t kLargest = std::size_t{1} << 30;
  if (source.size() > kLargest)
    return std::unexpected(SyntaxError{"the source is larger than 1 GiB", 0, true});
  return Lexer(source).run();
}

}  // namespace wgk::expr
