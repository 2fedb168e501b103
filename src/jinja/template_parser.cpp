// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "expr/parser.h"
#include "jinja/statements.h"

namespace wgk::jinja {
namespace {

using expr::kNothing;
using expr::NodeKind;
using expr::Parser;
using expr::TokenKind;

class TemplateParser {
 public:
  TemplateParser(std::string_view source, const expr::Tokens& tokens, std::size_t max_depth)
      : parser_(source, tokens, tree_.ast, max_depth) {}

  std::expected<Tree, expr::SyntaxError> run() {
    std::vector<StatementId> list;
    while (!parser_.at_end()) {
      if (!any(list)) return std::unexpected(*parser_.error());
    }
    tree_.root = block(list);
    for (Statement& statement : tree_.statements) {
      if (statement.kind != StatementKind::kMacro && statement.kind != StatementKind::kCall)
        continue;
      std::tie(statement.takes_keywords, statement.takes_rest) =
          special_arguments(tree_, statement);
    }
    return std::move(tree_);
  }

 private:
  Block block(const std::vector<StatementId>& list) {
    const Block made{static_cast<std::uint32_t>(tree_.order.size()),
                     static_cast<std::uint32_t>(list.size())};
    tree_.order.insert(tree_.order.end(), list.begin(), list.end());
    return made;
  }

  void add(Statement statement, std::vector<StatementId>& list) {
    list.push_back(static_cast<StatementId>(tree_.statements.size()));
    tree_.statements.push_back(statement);
  }

  // One text, comment, statement or expression.
  bool any(std::vector<StatementId>& list) {
    if (parser_.at_end()) return parser_.fail("unexpected end of the template");
    Statement statement{StatementKind::kText, static_cast<std::uint32_t>(parser_.place())};
    switch (parser_.token().kind) {
      case TokenKind::kComment: parser_.advance(); return true;
      case TokenKind::kText:
        statement.end = parser_.token().end;
        parser_.advance();
        break;
      case TokenKind::kOpenExpression:
        parser_.advance();
        statement.kind = StatementKind::kPrint;
        statement.node = parser_.expression();
        if (statement.node == kNothing || !parser_.expect(TokenKind::kCloseExpression))
          return false;
        break;
      case TokenKind::kOpenStatement: {
        if (!parser_.enter()) return false;
        const bool parsed = tag(statement);
        parser_.leave();
        if (!parsed) return false;
        break;
      }
      default:
        return parser_.fail("unexpected " + std::string(expr::token_name(parser_.token().kind)));
    }
    add(statement, list);
    return true;
  }

  bool tag(Statement& statement) {
    parser_.advance();
    if (!parser_.is(TokenKind::kIdentifier))
      return parser_.fail("expected the name of a statement after '{%'");
    const std::string_view name = parser_.text(parser_.token());
    if (name != "set" && name != "if" && name != "for" && name != "macro" && name != "call" &&
        name != "filter" && name != "break" && name != "continue") {
      return parser_.fail("unknown statement '" + std::string(name) + "'");
    }
    parser_.advance();
    if (name == "set") return set(statement);
    if (name == "if") return conditional(statement);
    if (name == "for") return loop(statement);
    if (name == "macro") return macro(statement);
    if (name == "call") return call(statement);
    if (name == "filter") return filter(statement);
    statement.kind = name == "break" ? StatementKind::kBreak : StatementKind::kContinue;
    return parser_.expect(TokenKind::kCloseStatement);
  }

  // Statements up to one of the closing words, which is left in place.
  bool body(std::initializer_list<std::string_view> closing, Block& out) {
    std::vector<StatementId> list;
    const auto closed = [&] {
      for (const std::string_view word : closing) {
        if (parser_.is_statement(word)) return true;
      }
      return false;
    };
    while (!closed()) {
      if (!any(list)) return false;
    }
    out = block(list);
    return true;
  }

  bool close(std::string_view word) {
    return parser_.expect(TokenKind::kOpenStatement) && parser_.expect_identifier(word) &&
           parser_.expect(TokenKind::kCloseStatement);
  }

  bool set(Statement& statement) {
    statement.kind = StatementKind::kSet;
    statement.target = parser_.sequence();
    if (statement.target == kNothing) return false;
    find_owner(statement);
    if (parser_.is(TokenKind::kEquals)) {
      parser_.advance();
      statement.node = parser_.sequence();
      return statement.node != kNothing && parser_.expect(TokenKind::kCloseStatement);
    }
    return parser_.expect(TokenKind::kCloseStatement) && body({"endset"}, statement.body) &&
           close("endset");
  }

  // For `set a.b.c = x`: a.b has the member c. As in the reference a.b[c] means the same.
  void find_owner(Statement& statement) {
    expr::Ast& ast = tree_.ast;
    const expr::Node target = ast.nodes[statement.target];
    if (target.kind != NodeKind::kPostfix) return;
    const expr::Step& last = ast.steps[ast.links[target.first + target.count - 1]];
    if (last.kind == expr::StepKind::kCall) return;
    if (last.kind == expr::StepKind::kMember) statement.name = last.a;
    if (last.kind == expr::StepKind::kIndex)
      statement.name = parser_.as_name(last.a).value_or(kNothing);
    if (target.count == 2) {
      statement.owner = ast.links[target.first];
      return;
    }
    expr::Node owner = target;
    --owner.count;
    owner.form = expr::PostfixForm::kGeneral;
    ast.nodes.push_back(owner);
    statement.owner = static_cast<expr::NodeId>(ast.nodes.size() - 1);
  }

  bool conditional(Statement& statement) {
    statement.kind = StatementKind::kIf;
    std::vector<Branch> branches;
    while (true) {
      Branch branch{parser_.expression(), {}};
      if (branch.condition == kNothing || !parser_.expect(TokenKind::kCloseStatement)) return false;
      if (!body({"elif", "else", "endif"}, branch.body)) return false;
      branches.push_back(branch);
      if (!parser_.is_statement("elif")) break;
      parser_.advance(2);
    }
    if (parser_.is_statement("else")) {
      parser_.advance(2);
      if (!parser_.expect(TokenKind::kCloseStatement) || !body({"endif"}, statement.otherwise))
        return false;
    }
    statement.first_branch = static_cast<std::uint32_t>(tree_.branches.size());
    statement.branch_count = static_cast<std::uint32_t>(branches.size());
    tree_.branches.insert(tree_.branches.end(), branches.begin(), branches.end());
    return close("endif");
  }

  bool loop(Statement& statement) {
    statement.kind = StatementKind::kFor;
    statement.target = parser_.primary_sequence();
    if (statement.target == kNothing) return false;
    const NodeKind kind = tree_.ast.nodes[statement.target].kind;
    if (kind != NodeKind::kName && kind != NodeKind::kTuple)
      return parser_.fail("expected the name of a loop variable");
    if (!parser_.expect_identifier("in")) return false;
    statement.node = parser_.expression();
    if (statement.node == kNothing || !parser_.expect(TokenKind::kCloseStatement)) return false;
    if (!body({"endfor", "else"}, statement.body)) return false;
    if (parser_.is_statement("else")) {
      parser_.advance(2);
      if (!parser_.expect(TokenKind::kCloseStatement) || !body({"endfor"}, statement.otherwise))
        return false;
    }
    return close("endfor");
  }

  bool parameters(Statement& statement) {
    const std::optional<Parser::Arguments> list =
        parser_.arguments(Parser::ArgumentMode::kParameters);
    if (!list) return false;
    statement.first_parameter = list->first;
    statement.parameter_count = list->count;
    return true;
  }

  bool macro(Statement& statement) {
    statement.kind = StatementKind::kMacro;
    const expr::NodeId name = parser_.primary();
    if (name == kNothing) return false;
    if (!parser_.as_name(name)) return parser_.fail("expected the name of a macro");
    statement.name = *parser_.as_name(name);
    return parameters(statement) && parser_.expect(TokenKind::kCloseStatement) &&
           body({"endmacro"}, statement.body) && close("endmacro");
  }

  bool call(Statement& statement) {
    statement.kind = StatementKind::kCall;
    if (parser_.is(TokenKind::kOpenParen) && !parameters(statement)) return false;
    statement.node = parser_.primary();
    if (statement.node == kNothing) return false;
    if (!parser_.as_name(statement.node))
      return parser_.fail("expected the name of a macro after 'call'");
    const std::optional<Parser::Arguments> list = parser_.arguments(Parser::ArgumentMode::kCall);
    if (!list) return false;
    statement.first_argument = list->first;
    statement.argument_count = list->count;
    return parser_.expect(TokenKind::kCloseStatement) && body({"endcall"}, statement.body) &&
           close("endcall");
  }

  bool filter(Statement& statement) {
    statement.kind = StatementKind::kFilter;
    statement.filter = parser_.filter(true);
    return statement.filter != kNothing && parser_.expect(TokenKind::kCloseStatement) &&
           body({"endfilter"}, statement.body) && close("endfilter");
  }

  Tree tree_;
  Parser parser_;
};

}  // namespace

std::expected<Tree, expr::SyntaxError> parse_template(std::string_view source,
                                                      std::size_t max_depth) {
  const auto tokens = expr::tokenize(source);
  if (!tokens) return std::unexpected(tokens.error());
  return TemplateParser(source, *tokens, max_depth).run();
}

}  // namespace wgk::jinja
