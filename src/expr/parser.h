// SPDX-License-Identifier: Apache-2.0
// The expression half of the grammar. Module jinja drives it for statements: both walk the same
// tokens.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "expr/ast.h"
#include "expr/lexer.h"

namespace wgk::expr {

class Parser {
 public:
  enum class ArgumentMode : std::uint8_t { kCall, kParameters };
  struct Arguments {
    std::uint32_t first;
    std::uint32_t count;
  };

  // `source`, `tokens` and `ast` outlive the parser.
  Parser(std::string_view source, const Tokens& tokens, Ast& ast, std::size_t max_depth)
      : source_(source), tokens_(tokens), ast_(ast), max_depth_(max_depth) {}

  // Each gives kNothing (or nothing) after an error.
  NodeId expression();
  NodeId sequence();          // a, b, c is a tuple
  NodeId primary_sequence();  // the same of primary expressions: loop variables
  NodeId primary();
  std::optional<Arguments> arguments(ArgumentMode mode);
  // What follows a bar: a name or a call. The index into Ast::filters. A filter block takes any
  // operand and fails when it runs.
  std::uint32_t filter(bool any_operand = false);

  // The tokens.
  bool at_end() const { return at_ >= tokens_.list.size(); }
  bool is(TokenKind kind) const { return !at_end() && tokens_.list[at_].kind == kind; }
  bool is_identifier(std::string_view name, std::size_t ahead = 0) const;
  // At "{%" followed by this name.
  bool is_statement(std::string_view name) const;
  const Token& token() const { return tokens_.list[at_]; }
  std::string_view text(const Token& token) const;
  void advance(std::size_t count = 1) { at_ += count; }
  bool expect(TokenKind kind);
  bool expect_identifier(std::string_view name);
  std::size_t place() const;  // byte of the source where the next token begins

  Ast& ast() { return ast_; }
  std::optional<NameId> as_name(NodeId node) const;

  // Nested source; leave() after each successful enter().
  bool enter();
  void leave() { --depth_; }
  std::size_t deepest() const { return deepest_; }

  bool fail(std::string message);
  const std::optional<SyntaxError>& error() const { return error_; }

 private:
  class Nested;

  NodeId unexpected();
  NodeId add(NodeKind kind, std::uint32_t first, std::size_t begin);
  NodeId add_links(NodeKind kind, const std::vector<std::uint32_t>& links, std::size_t begin);
  NodeId add_postfix(const std::vector<std::uint32_t>& links, std::size_t begin);
  NodeId add_constant(Value value, std::size_t begin);
  std::size_t end_of_last() const { return at_ == 0 ? 0 : tokens_.list[at_ - 1].end; }

  NodeId conditional();
  NodeId logical_or();
  NodeId logical_and();
  NodeId negation();
  NodeId comparison();
  NodeId additive();
  NodeId multiplicative();
  NodeId power();
  NodeId tested();
  NodeId filtered();
  NodeId signed_operand();
  NodeId call_member();
  template <class Next, class Op>
  NodeId binary_chain(Next next, Op op);
  template <class Next>
  NodeId logical_chain(NodeKind kind, std::string_view word, Next next);
  std::optional<Operator> comparison_operator();

  // Appends steps that follow an operand: members and, with calls, calls.
  bool steps(std::vector<std::uint32_t>& links, bool calls);
  bool member_step(Step& step);
  bool index_step(Step& step);
  std::optional<Argument> argument(ArgumentMode mode);
  NodeId string_literal();
  NodeId number_literal();
  NodeId parenthesized();
  NodeId list_literal();
  NodeId object_literal();
  std::string_view string_text(const Token& token) const;

  std::string_view source_;
  const Tokens& tokens_;
  Ast& ast_;
  std::size_t max_depth_;
  std::size_t depth_ = 0;
  std::size_t deepest_ = 0;
  std::size_t at_ = 0;
  std::optional<SyntaxError> error_;
};

}  // namespace wgk::expr
