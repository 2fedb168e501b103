// SPDX-License-Identifier: Apache-2.0
#include "expr/parser.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "expr/text.h"

namespace wgk::expr {

// Counts one level of nesting for a scope; `entered` is false when the limit is reached.
class Parser::Nested {
 public:
  explicit Nested(Parser& parser) : parser_(parser), entered_(parser.enter()) {}
  Nested(const Nested&) = delete;
  Nested& operator=(const Nested&) = delete;
  ~Nested() {
    if (entered_) parser_.leave();
  }
  bool entered() const { return entered_; }

 private:
  Parser& parser_;
  bool entered_;
};

bool Parser::enter() {
  if (depth_ < max_depth_) {
    deepest_ = std::max(deepest_, ++depth_);
    return true;
  }
  fail("nested deeper than " + std::to_string(max_depth_) + " levels");
  error_->is_limit = true;
  return false;
}

bool Parser::fail(std::string message) {
  if (!error_) error_ = SyntaxError{std::move(message), place()};
  return false;
}

std::size_t Parser::place() const { return at_end() ? source_.size() : tokens_.list[at_].begin; }

bool Parser::is_identifier(std::string_view name, std::size_t ahead) const {
  if (at_ + ahead >= tokens_.list.size()) return false;
  const Token& token = tokens_.list[at_ + ahead];
  return token.kind == TokenKind::kIdentifier && text(token) == name;
}

bool Parser::is_statement(std::string_view name) const {
  return is(TokenKind::kOpenStatement) && is_identifier(name, 1);
}

std::string_view Parser::text(const Token& token) const {
  return source_.substr(token.begin, token.end - token.begin);
}

std::string_view Parser::string_text(const Token& token) const {
  if (token.unescaped != Token::kPlain) return tokens_.strings[token.unescaped];
  const std::string_view quoted = text(token);
  return quoted.substr(1, quoted.size() - 2);
}

bool Parser::expect(TokenKind kind) {
  if (is(kind)) {
    ++at_;
    return true;
  }
  const std::string_view found = at_end() ? "the end" : token_name(token().kind);
  return fail("expected " + std::string(token_name(kind)) + ", got " + std::string(found));
}

bool Parser::expect_identifier(std::string_view name) {
  if (!is_identifier(name)) return fail("expected '" + std::string(name) + "'");
  ++at_;
  return true;
}

NodeId Parser::unexpected() {
  fail("unexpected " + std::string(at_end() ? "end" : token_name(token().kind)));
  return kNothing;
}

std::optional<NameId> Parser::as_name(NodeId node) const {
  if (node == kNothing || ast_.nodes[node].kind != NodeKind::kName) return std::nullopt;
  return ast_.nodes[node].first;
}

NodeId Parser::add(NodeKind kind, std::uint32_t first, std::size_t begin) {
  ast_.nodes.push_back({kind, PostfixForm::kGeneral, first, 0, static_cast<std::uint32_t>(begin),
                        static_cast<std::uint32_t>(end_of_last())});
  return static_cast<NodeId>(ast_.nodes.size() - 1);
}

NodeId Parser::add_links(NodeKind kind, const std::vector<std::uint32_t>& links,
                         std::size_t begin) {
  const auto first = static_cast<std::uint32_t>(ast_.links.size());
  ast_.links.insert(ast_.links.end(), links.begin(), links.end());
  const NodeId node = add(kind, first, begin);
  ast_.nodes[node].count = static_cast<std::uint32_t>(links.size());
  return node;
}

NodeId Parser::add_postfix(const std::vector<std::uint32_t>& links, std::size_t begin) {
  const NodeId id = add_links(NodeKind::kPostfix, links, begin);
  if (ast_.nodes[links[0]].kind != NodeKind::kName) return id;
  const auto is_lookup = [&](std::uint32_t link) {
    const Step& step = ast_.steps[link];
    if (step.kind == StepKind::kMember || step.kind == StepKind::kPosition) return true;
    return step.kind == StepKind::kIndex && ast_.nodes[step.a].kind == NodeKind::kConstant;
  };
  const auto is_few = [&](const Step& step) {
    if (step.kind != StepKind::kCall || step.b > kFewArguments) return false;
    const auto first = ast_.arguments.begin() + step.a;
    return std::all_of(first, first + step.b, [](const Argument& argument) {
      return argument.kind == ArgumentKind::kPositional;
    });
  };
  if (!std::all_of(links.begin() + 1, links.end() - 1, is_lookup)) return id;
  if (is_lookup(links.back())) ast_.nodes[id].form = PostfixForm::kPath;
  if (is_few(ast_.steps[links.back()])) ast_.nodes[id].form = PostfixForm::kCall;
  return id;
}

NodeId Parser::add_constant(Value value, std::size_t begin) {
  ast_.constants.push_back(std::move(value));
  return add(NodeKind::kConstant, static_cast<std::uint32_t>(ast_.constants.size() - 1), begin);
}

NodeId Parser::expression() {
  const Nested nested(*this);
  return nested.entered() ? conditional() : kNothing;
}

NodeId Parser::sequence() {
  const std::size_t begin = place();
  std::vector<std::uint32_t> items = {expression()};
  if (items[0] == kNothing || !is(TokenKind::kComma)) return items[0];
  while (is(TokenKind::kComma)) {
    ++at_;
    items.push_back(expression());
    if (items.back() == kNothing) return kNothing;
  }
  return add_links(NodeKind::kTuple, items, begin);
}

NodeId Parser::primary_sequence() {
  const std::size_t begin = place();
  std::vector<std::uint32_t> items = {primary()};
  if (items[0] == kNothing || !is(TokenKind::kComma)) return items[0];
  while (is(TokenKind::kComma)) {
    ++at_;
    items.push_back(primary());
    if (items.back() == kNothing) return kNothing;
  }
  return add_links(NodeKind::kTuple, items, begin);
}

// a if b else c; without `else` the result is undefined when b is false.
NodeId Parser::conditional() {
  const std::size_t begin = place();
  const NodeId value = logical_or();
  if (value == kNothing || !is_identifier("if")) return value;
  ++at_;
  const NodeId condition = logical_or();
  if (condition == kNothing) return kNothing;
  if (!is_identifier("else")) return add_links(NodeKind::kSelect, {condition, value}, begin);
  ++at_;
  const NodeId otherwise = expression();
  if (otherwise == kNothing) return kNothing;
  return add_links(NodeKind::kTernary, {condition, value, otherwise}, begin);
}

template <class Next>
NodeId Parser::logical_chain(NodeKind kind, std::string_view word, Next next) {
  const std::size_t begin = place();
  std::vector<std::uint32_t> operands = {next()};
  if (operands[0] == kNothing || !is_identifier(word)) return operands[0];
  while (is_identifier(word)) {
    ++at_;
    operands.push_back(next());
    if (operands.back() == kNothing) return kNothing;
  }
  return add_links(kind, operands, begin);
}

NodeId Parser::logical_or() {
  return logical_chain(NodeKind::kOr, "or", [this] { return logical_and(); });
}

NodeId Parser::logical_and() {
  return logical_chain(NodeKind::kAnd, "and", [this] { return negation(); });
}

// As in the reference, `not a not b` is `not b`: the last one wins.
NodeId Parser::negation() {
  if (!is_identifier("not")) return comparison();
  const Nested nested(*this);
  if (!nested.entered()) return kNothing;
  NodeId result = kNothing;
  while (is_identifier("not")) {
    const std::size_t begin = place();
    ++at_;
    const NodeId operand = negation();
    if (operand == kNothing) return kNothing;
    result = add(NodeKind::kNot, operand, begin);
  }
  return result;
}

template <class Next, class Op>
NodeId Parser::binary_chain(Next next, Op op) {
  const std::size_t begin = place();
  const NodeId first = next();
  if (first == kNothing) return kNothing;
  std::optional<Operator> found = op();
  if (!found) return first;
  std::vector<std::uint32_t> links = {first};
  for (; found; found = op()) {
    links.push_back(static_cast<std::uint32_t>(*found));
    links.push_back(next());
    if (links.back() == kNothing) return kNothing;
  }
  return add_links(NodeKind::kBinary, links, begin);
}

std::optional<Operator> Parser::comparison_operator() {
  if (is_identifier("not") && is_identifier("in", 1)) {
    at_ += 2;
    return Operator::kNotIn;
  }
  if (is_identifier("in")) {
    ++at_;
    return Operator::kIn;
  }
  if (!is(TokenKind::kComparison)) return std::nullopt;
  const std::string_view sign = text(tokens_.list[at_++]);
  if (sign == "==") return Operator::kEqual;
  if (sign == "!=") return Operator::kNotEqual;
  if (sign == "<") return Operator::kLess;
  if (sign == "<=") return Operator::kLessEqual;
  return sign == ">" ? Operator::kGreater : Operator::kGreaterEqual;
}

NodeId Parser::comparison() {
  return binary_chain([this] { return additive(); }, [this] { return comparison_operator(); });
}

NodeId Parser::additive() {
  return binary_chain([this] { return multiplicative(); },
                      [this]() -> std::optional<Operator> {
                        if (!is(TokenKind::kAdditive)) return std::nullopt;
                        const char sign = source_[tokens_.list[at_++].begin];
                        return sign == '+'
                                   ? Operator::kAdd
                                   : (sign == '-' ? Operator::kSubtract : Operator::kConcat);
                      });
}

NodeId Parser::multiplicative() {
  return binary_chain([this] { return power(); },
                      [this]() -> std::optional<Operator> {
                        if (!is(TokenKind::kMultiplicative)) return std::nullopt;
                        const std::string_view sign = text(tokens_.list[at_++]);
                        if (sign == "//") return Operator::kFloorDivide;
                        return sign == "*"
                                   ? Operator::kMultiply
                                   : (sign == "/" ? Operator::kDivide : Operator::kRemainder);
                      });
}

NodeId Parser::power() {
  return binary_chain([this] { return tested(); },
                      [this]() -> std::optional<Operator> {
                        if (!is(TokenKind::kPower)) return std::nullopt;
                        ++at_;
                        return Operator::kPower;
                      });
}

NodeId Parser::tested() {
  const std::size_t begin = place();
  const NodeId operand = filtered();
  if (operand == kNothing || !is_identifier("is")) return operand;
  std::vector<std::uint32_t> links = {operand};
  while (is_identifier("is")) {
    ++at_;
    const bool negated = is_identifier("not");
    if (negated) ++at_;
    const auto at = static_cast<std::uint32_t>(place());
    const NodeId node = primary();
    if (node == kNothing) return kNothing;
    const std::optional<NameId> name = as_name(node);
    if (!name) {
      fail("expected the name of a test after 'is'");
      return kNothing;
    }
    links.push_back(static_cast<std::uint32_t>(ast_.tests.size()));
    ast_.tests.push_back({test_from_name(ast_.names[*name].text), negated, *name, at});
  }
  return add_links(NodeKind::kTested, links, begin);
}

NodeId Parser::filtered() {
  const std::size_t begin = place();
  const NodeId operand = signed_operand();
  if (operand == kNothing || !is(TokenKind::kPipe)) return operand;
  std::vector<std::uint32_t> links = {operand};
  while (is(TokenKind::kPipe)) {
    ++at_;
    links.push_back(filter());
    if (links.back() == kNothing) return kNothing;
  }
  return add_links(NodeKind::kFiltered, links, begin);
}

std::uint32_t Parser::filter(bool any_operand) {
  const std::size_t begin = place();
  const NodeId node = primary();
  if (node == kNothing) return kNothing;
  const std::optional<NameId> found = as_name(node);
  if (!found && !any_operand) {
    fail("expected the name of a filter");
    return kNothing;
  }
  const NameId name = found ? *found : ast_.intern("");
  FilterUse use{
      filter_from_name(ast_.names[name].text), false, found.has_value(), name, 0, 0, kNothing,
      static_cast<std::uint32_t>(begin)};
  if (found && is(TokenKind::kOpenParen)) {
    // Anything may follow the call; more than the call itself is an error only when it is
    // evaluated.
    std::vector<std::uint32_t> links = {node};
    if (!steps(links, true)) return kNothing;
    const Step& call = ast_.steps[links[1]];
    use.has_arguments = true;
    use.is_valid = links.size() == 2;
    use.first = call.a;
    use.count = call.b;
    use.whole = add_postfix(links, begin);
  }
  ast_.filters.push_back(use);
  return static_cast<std::uint32_t>(ast_.filters.size() - 1);
}

NodeId Parser::signed_operand() {
  const bool additive_sign = is(TokenKind::kAdditive) && source_[token().begin] != '~';
  if (!is(TokenKind::kSign) && !additive_sign) return call_member();
  const Nested nested(*this);
  if (!nested.entered()) return kNothing;
  const std::size_t begin = place();
  const NodeKind kind = source_[token().begin] == '-' ? NodeKind::kMinus : NodeKind::kPlus;
  ++at_;
  const NodeId operand = signed_operand();
  return operand == kNothing ? kNothing : add(kind, operand, begin);
}

NodeId Parser::call_member() {
  const std::size_t begin = place();
  const NodeId base = primary();
  if (base == kNothing) return kNothing;
  std::vector<std::uint32_t> links = {base};
  if (!steps(links, true)) return kNothing;
  return links.size() == 1 ? base : add_postfix(links, begin);
}

bool Parser::steps(std::vector<std::uint32_t>& links, bool calls) {
  while (true) {
    Step step{StepKind::kMember, 0, 0, 0, static_cast<std::uint32_t>(place())};
    if (is(TokenKind::kDot)) {
      ++at_;
      if (!member_step(step)) return false;
    } else if (is(TokenKind::kOpenBracket)) {
      ++at_;
      if (!index_step(step)) return false;
    } else if (calls && is(TokenKind::kOpenParen)) {
      const std::optional<Arguments> list = arguments(ArgumentMode::kCall);
      if (!list) return false;
      step.kind = StepKind::kCall;
      step.a = list->first;
      step.b = list->count;
    } else {
      return true;
    }
    links.push_back(static_cast<std::uint32_t>(ast_.steps.size()));
    ast_.steps.push_back(step);
  }
}

// .name or .0
bool Parser::member_step(Step& step) {
  const NodeId node = primary();
  if (node == kNothing) return false;
  const Node& property = ast_.nodes[node];
  step.a = property.first;
  if (property.kind == NodeKind::kName) return true;
  const Number* number =
      property.kind == NodeKind::kConstant ? ast_.constants[property.first].if_number() : nullptr;
  if (number == nullptr || number->is_float) return fail("expected a name or an integer after '.'");
  step.kind = StepKind::kPosition;
  return true;
}

// [index] or [start:stop:step]; as in the reference, [a b] is [a].
bool Parser::index_step(Step& step) {
  std::vector<NodeId> parts;
  bool is_slice = false;
  while (!is(TokenKind::kCloseBracket)) {
    if (is(TokenKind::kColon)) {
      parts.push_back(kNothing);
      ++at_;
      is_slice = true;
      continue;
    }
    parts.push_back(expression());
    if (parts.back() == kNothing) return false;
    if (is(TokenKind::kColon)) {
      ++at_;
      is_slice = true;
    }
  }
  ++at_;
  if (parts.empty()) return fail("expected an index between '[' and ']'");
  if (!is_slice) {
    step.kind = StepKind::kIndex;
    step.a = parts[0];
    return true;
  }
  if (parts.size() > 3) return fail("a slice has at most three parts");
  parts.resize(3, kNothing);
  step.kind = StepKind::kSlice;
  step.a = parts[0];
  step.b = parts[1];
  step.c = parts[2];
  return true;
}

std::optional<Parser::Arguments> Parser::arguments(ArgumentMode mode) {
  if (!expect(TokenKind::kOpenParen)) return std::nullopt;
  std::vector<Argument> list;
  std::set<NameId> names;  // of parameters
  bool keyword_seen = false;
  bool spread_seen = false;
  while (!is(TokenKind::kCloseParen)) {
    const std::optional<Argument> next = argument(mode);
    if (!next) return std::nullopt;
    bool valid = true;
    if (mode == ArgumentMode::kParameters && !names.insert(next->name).second) {
      valid = fail("parameter '" + ast_.names[next->name].text + "' is declared twice");
    } else if (next->kind == ArgumentKind::kSpread) {
      valid = !spread_seen || fail("only one '*' argument is allowed");
      spread_seen = true;
    } else if (next->kind == ArgumentKind::kKeyword) {
      keyword_seen = true;
    } else if (next->kind == ArgumentKind::kPositional && keyword_seen) {
      valid = fail(mode == ArgumentMode::kCall
                       ? "a positional argument follows a keyword argument"
                       : "a parameter without default follows one with default");
    } else if (next->kind == ArgumentKind::kPositional && spread_seen) {
      valid = fail("a positional argument follows a '*' argument");
    }
    if (!valid) return std::nullopt;
    list.push_back(*next);
    if (is(TokenKind::kComma)) ++at_;
    if (next->kind == ArgumentKind::kKeywordSpread && !is(TokenKind::kCloseParen)) {
      fail("a '**' argument must be the last one");
      return std::nullopt;
    }
  }
  ++at_;
  const auto first = static_cast<std::uint32_t>(ast_.arguments.size());
  ast_.arguments.insert(ast_.arguments.end(), list.begin(), list.end());
  return Arguments{first, static_cast<std::uint32_t>(list.size())};
}

std::optional<Argument> Parser::argument(ArgumentMode mode) {
  const bool keyword_spread = is(TokenKind::kPower);
  const bool spread = is(TokenKind::kMultiplicative) && text(token()) == "*";
  if (keyword_spread || spread) {
    if (mode == ArgumentMode::kParameters) {
      fail("'*' and '**' are not allowed in a declaration of parameters");
      return std::nullopt;
    }
    ++at_;
    const NodeId value = expression();
    if (value == kNothing) return std::nullopt;
    return Argument{keyword_spread ? ArgumentKind::kKeywordSpread : ArgumentKind::kSpread, kNothing,
                    value};
  }
  const NodeId node = expression();
  if (node == kNothing) return std::nullopt;
  const std::optional<NameId> name = as_name(node);
  const bool is_keyword = is(TokenKind::kEquals);
  if (!name && (is_keyword || mode == ArgumentMode::kParameters)) {
    fail(mode == ArgumentMode::kCall ? "expected a name before '='"
                                     : "expected the name of a parameter");
    return std::nullopt;
  }
  if (!is_keyword) return Argument{ArgumentKind::kPositional, name.value_or(kNothing), node};
  ++at_;
  const NodeId value = expression();
  if (value == kNothing) return std::nullopt;
  return Argument{ArgumentKind::kKeyword, *name, value};
}

NodeId Parser::primary() {
  if (at_end()) return unexpected();
  const std::size_t begin = place();
  switch (token().kind) {
    case TokenKind::kNumber: return number_literal();
    case TokenKind::kString: return string_literal();
    case TokenKind::kIdentifier: {
      const NameId name = ast_.intern(text(token()));
      ++at_;
      return add(NodeKind::kName, name, begin);
    }
    case TokenKind::kOpenParen: return parenthesized();
    case TokenKind::kOpenBracket: return list_literal();
    case TokenKind::kOpenBrace: return object_literal();
    default: return unexpected();
  }
}

NodeId Parser::number_literal() {
  const std::size_t begin = place();
  const std::string_view digits = text(tokens_.list[at_++]);
  const bool is_float = digits.find('.') != std::string_view::npos;
  return add_constant(Value(Number{parse_literal(digits), is_float}), begin);
}

// Adjacent strings are one.
NodeId Parser::string_literal() {
  const std::size_t begin = place();
  std::string value;
  while (is(TokenKind::kString)) value += string_text(tokens_.list[at_++]);
  return add_constant(Value(std::move(value)), begin);
}

NodeId Parser::parenthesized() {
  ++at_;
  const NodeId inside = sequence();
  if (inside == kNothing || !expect(TokenKind::kCloseParen)) return kNothing;
  return inside;
}

// As in the reference, commas may be left out.
NodeId Parser::list_literal() {
  const std::size_t begin = place();
  ++at_;
  std::vector<std::uint32_t> items;
  while (!is(TokenKind::kCloseBracket)) {
    items.push_back(expression());
    if (items.back() == kNothing) return kNothing;
    if (is(TokenKind::kComma)) ++at_;
  }
  ++at_;
  return add_links(NodeKind::kList, items, begin);
}

NodeId Parser::object_literal() {
  const std::size_t begin = place();
  ++at_;
  std::vector<std::uint32_t> links;
  while (!is(TokenKind::kCloseBrace)) {
    links.push_back(expression());
    if (links.back() == kNothing || !expect(TokenKind::kColon)) return kNothing;
    links.push_back(expression());
    if (links.back() == kNothing) return kNothing;
    if (is(TokenKind::kComma)) ++at_;
  }
  ++at_;
  return add_links(NodeKind::kObject, links, begin);
}

}  // namespace wgk::expr
