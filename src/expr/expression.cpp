// SPDX-License-Identifier: Apache-2.0
#include "expr/expression.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/suggest.h"
#include "base/text.h"
#include "expr/evaluator.h"
#include "expr/globals.h"
#include "expr/lexer.h"
#include "expr/names.h"
#include "expr/operators.h"
#include "expr/parsed.h"
#include "expr/parser.h"
#include "expr/source.h"
#include "expr/text.h"

namespace wgk::expr {
namespace {

constexpr std::string_view kOpen = "{{ ";
constexpr std::string_view kClose = " }}";

std::string column(std::string_view text, std::size_t offset) {
  const std::string_view before = text.substr(0, std::min(offset, text.size()));
  return "column " + std::to_string(code_points(before).size() + 1);
}

// For messages: an expression of any length in a few words.
std::string quoted_source(std::string_view text) {
  constexpr std::size_t kShown = 200;
  if (text.size() <= kShown) return "'" + std::string(text) + "'";
  return "'" + cut_text(text, kShown) + "...' (" + std::to_string(text.size()) + " bytes)";
}

// After the first expression the reference allows more text and expressions, which it then ignores.
bool skip_rest(Parser& parser) {
  while (!parser.at_end()) {
    if (parser.is(TokenKind::kText) || parser.is(TokenKind::kComment)) {
      parser.advance();
      continue;
    }
    if (!parser.expect(TokenKind::kOpenExpression) || parser.expression() == kNothing ||
        !parser.expect(TokenKind::kCloseExpression)) {
      return false;
    }
  }
  return true;
}

}  // namespace

std::size_t ParsedExpression::offset_in_text(std::size_t offset) const {
  const std::size_t original = source.original_offset(offset);
  return original > kOpen.size() ? std::min(original - kOpen.size(), text.size()) : 0;
}

std::string_view ParsedExpression::text_of(NodeId node) const {
  const std::size_t begin = offset_in_text(ast.nodes[node].begin);
  const std::size_t end = offset_in_text(ast.nodes[node].end);
  return std::string_view(text).substr(begin, end - begin);
}

ParsedExpression::ParsedExpression(std::string expression, std::size_t max_depth)
    : text(std::move(expression)), source(std::string(kOpen) + text + std::string(kClose)) {
  const auto tokens = tokenize(source.text());
  std::optional<SyntaxError> error;
  if (tokens) {
    Parser parser(source.text(), *tokens, ast, max_depth);
    parser.advance();
    root = parser.expression();
    const bool whole =
        root != kNothing && parser.expect(TokenKind::kCloseExpression) && skip_rest(parser);
    if (!whole) error = parser.error();
    depth = parser.deepest();
  } else {
    error = tokens.error();
  }
  if (error) {
    const std::string at = column(text, offset_in_text(error->at));
    syntax = failure(error->is_limit ? "limit/depth" : "expression/syntax",
                     error->message + " in " + quoted_source(text) + ", " + at);
    root = kNothing;
    return;
  }
  collect_free_names();
}

void ParsedExpression::collect_free_names() {
  std::vector<NameUse> uses;
  collect_names(ast, root, uses);
  std::vector<std::size_t> counts(ast.names.size());
  for (const NameUse& use : uses) ++counts[use.name];
  std::vector<bool> seen(ast.names.size(), false);
  for (const NameUse& use : uses) {
    const std::string& name = ast.names[use.name].text;
    if (const Value* literal = literal_name(name)) {
      if (!seen[use.name]) literals.emplace_back(use.name, literal);
      seen[use.name] = true;
      continue;
    }
    if (seen[use.name]) continue;
    seen[use.name] = true;
    const bool required = !use.only_tested || counts[use.name] > 1;
    used.push_back({use.name, required});
    if (required) free_names.push_back(name);
  }
}

Status ParsedExpression::check(const Limits& limits) const {
  if (!syntax || depth <= limits.max_depth) return syntax;
  return failure("limit/depth", "nested deeper than " + std::to_string(limits.max_depth) +
                                    " levels in " + quoted_source(text));
}

Error ParsedExpression::error_of(const Evaluator& evaluator) const {
  Error error = evaluator.error();
  if (evaluator.signal() != Signal::kError)
    error.message = "break and continue work inside of loops only";
  if (error.code.empty()) error.code = "expression/type";
  const std::string at = column(text, offset_in_text(evaluator.error_place()));
  error.context.push_back("evaluating " + quoted_source(text) + ", " + at);
  return error;
}

std::optional<NameId> ParsedExpression::look_up(const Scope& scope, NameValues& target) const {
  const std::span<const Value*> names = target.reset(ast.names.size());
  for (const auto& [id, value] : literals) names[id] = value;
  std::optional<NameId> unknown;
  for (const Use& use : used) {
    const Name& name = ast.names[use.name];
    const Value* value = scope.find(name.text, name.hash);
    names[use.name] = value;
    if (value == nullptr && use.required && !unknown) unknown = use.name;
  }
  return unknown;
}

Error ParsedExpression::unknown_name(NameId id, const Scope& scope) const {
  const std::string& name = ast.names[id].text;
  return Error{"expression/unknown-name",
               "nothing defines " + quoted_source(name) + " in " + quoted_source(text),
               {},
               suggestion(name, scope.names()),
               {}};
}

Expression::Expression(std::string text)
    : parsed_(std::make_shared<Parsed>(std::move(text), kMostDepth)) {}

const std::string& Expression::text() const { return parsed_->text; }
Status Expression::syntax(const Limits& limits) const { return parsed_->check(limits); }
const std::vector<std::string>& Expression::free_names() const { return parsed_->free_names; }

bool Expression::reads_only(const std::function<bool(std::string_view)>& known) const {
  return std::ranges::all_of(parsed_->used, [&](const ParsedExpression::Use& use) {
    return known(parsed_->ast.names[use.name].text);
  });
}

// Evaluates and hands evaluator and result to `finish`.
template <class Finish>
auto Expression::run(const Scope& scope, const Limits& limits, Finish finish) const
    -> decltype(finish(std::declval<Evaluator&>(), std::declval<Value&>())) {
  const Parsed& parsed = *parsed_;
  if (!parsed.syntax || parsed.depth > limits.max_depth)
    return std::unexpected(parsed.check(limits).error());
  NameValues names;
  if (const std::optional<NameId> unknown = parsed.look_up(scope, names))
    return std::unexpected(parsed.unknown_name(*unknown, scope));
  Evaluator evaluator(parsed.ast, names.values(), limits);
  Value result;
  if (!evaluator.evaluate(parsed.root, result)) return std::unexpected(parsed.error_of(evaluator));
  return finish(evaluator, result);
}

Result<Value> Expression::evaluate(const Scope& scope, const Limits& limits) const {
  return run(scope, limits, [this](Evaluator& evaluator, Value& result) -> Result<Value> {
    if (!evaluator.untag(result)) return std::unexpected(parsed_->error_of(evaluator));
    return std::move(result);
  });
}

Result<std::string> Expression::print(const Scope& scope, const Limits& limits,
                                      Value* plain) const {
  return run(scope, limits, [&](Evaluator& evaluator, Value& result) -> Result<std::string> {
    std::string text = result.is_null() ? "null" : "";
    if (!result.is_null() && !append_printed(evaluator, result, text))
      return std::unexpected(parsed_->error_of(evaluator));
    if (plain != nullptr) {
      if (!evaluator.untag(result)) return std::unexpected(parsed_->error_of(evaluator));
      *plain = std::move(result);
    }
    return well_formed(std::move(text));
  });
}

struct Rule::Node {
  Json constant;                   // of numbers, bools and null
  std::optional<Expression> text;  // of strings
  std::vector<Node> items;         // of lists and objects
  std::vector<std::string> keys;   // of objects, one for each item
};

namespace {

template <class Node, class Make>
Node build(const Json& source, const Make& make) {
  Node node;
  node.constant = source;
  if (const std::string* text = source.if_string()) {
    node.text.emplace(make(*text));
  } else if (const Json::Array* array = source.if_array()) {
    for (const Json& item : *array) node.items.push_back(build<Node>(item, make));
  } else if (const Json::Object* object = source.if_object()) {
    for (const auto& [key, value] : *object) {
      node.keys.push_back(key);
      node.items.push_back(build<Node>(value, make));
    }
  }
  return node;
}

template <class Node, class Visit>
void each_expression(const Node& node, Visit visit) {
  if (node.text) visit(*node.text);
  for (const Node& item : node.items) each_expression(item, visit);
}

template <class Node>
Result<Value> evaluate_rule(const Node& node, const Scope& scope, const Limits& limits) {
  if (node.text) return node.text->evaluate(scope, limits);
  if (node.constant.is_array()) {
    std::vector<Value> items;
    for (const Node& item : node.items) {
      Result<Value> value = evaluate_rule(item, scope, limits);
      if (!value) return value;
      items.push_back(*std::move(value));
    }
    return Value::list(std::move(items));
  }
  if (node.constant.is_object()) {
    std::vector<std::pair<std::string, Value>> members;
    for (std::size_t i = 0; i < node.items.size(); ++i) {
      Result<Value> value = evaluate_rule(node.items[i], scope, limits);
      if (!value) return value;
      members.emplace_back(node.keys[i], *std::move(value));
    }
    return Value::object(std::move(members));
  }
  return Value::from_json(node.constant);
}

}  // namespace

Rule::Rule(const Json& source, std::shared_ptr<const Node> root)
    : source_(source), root_(std::move(root)) {}
Rule::Rule(const Json& source)
    : Rule(source, std::make_shared<const Node>(build<Node>(
                       source, [](const std::string& text) { return Expression(text); }))) {}

Result<Value> Rule::evaluate(const Scope& scope, const Limits& limits) const {
  if (root_ == nullptr) return Value(Null{});
  return evaluate_rule(*root_, scope, limits);
}

std::vector<std::string> Rule::free_names() const {
  std::vector<std::string> names;
  if (root_ == nullptr) return names;
  std::set<std::string_view> seen;
  each_expression(*root_, [&](const Expression& expression) {
    for (const std::string& name : expression.free_names()) {
      if (seen.insert(name).second) names.push_back(name);
    }
  });
  return names;
}

bool Rule::mentions(std::string_view name) const {
  bool found = false;
  if (root_ == nullptr) return found;
  each_expression(*root_, [&](const Expression& expression) {
    found =
        found || std::ranges::find(expression.free_names(), name) != expression.free_names().end();
  });
  return found;
}

bool Rule::reads_only(const std::function<bool(std::string_view)>& known) const {
  bool all = true;
  if (root_ == nullptr) return all;
  each_expression(*root_,
                  [&](const Expression& expression) { all = all && expression.reads_only(known); });
  return all;
}

Status Rule::syntax(const Limits& limits) const {
  Status status;
  if (root_ == nullptr) return status;
  each_expression(*root_, [&](const Expression& expression) {
    if (status) status = expression.syntax(limits);
  });
  return status;
}

Expression Parses::expression(std::string_view text) {
  auto found = by_text_.find(text);
  if (found == by_text_.end())
    found = by_text_.emplace(std::string(text), Expression(std::string(text))).first;
  return found->second;
}

Rule Parses::rule(const Json& source) {
  const auto make = [this](const std::string& text) { return expression(text); };
  return {source, std::make_shared<const Rule::Node>(build<Rule::Node>(source, make))};
}

}  // namespace wgk::expr
