// SPDX-License-Identifier: Apache-2.0
// What an Expression holds.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "expr/ast.h"
#include "expr/evaluator.h"
#include "expr/expression.h"
#include "expr/source.h"

namespace wgk::expr {

// The values of the names of a tree, without memory of its own for small trees.
class NameValues {
 public:
  std::span<const Value*> reset(std::size_t count) {
    if (count > few_.size()) many_.resize(count);
    values_ = count > few_.size() ? std::span<const Value*>(many_)
                                  : std::span<const Value*>(few_).first(count);
    std::fill(values_.begin(), values_.end(), nullptr);
    return values_;
  }
  std::span<const Value*> values() const { return values_; }

 private:
  std::array<const Value*, 32> few_;
  std::vector<const Value*> many_;
  std::span<const Value*> values_;
};

struct ParsedExpression {
  ParsedExpression(std::string expression, std::size_t max_depth);

  std::size_t offset_in_text(std::size_t offset) const;
  std::string_view text_of(NodeId node) const;
  Error error_of(const Evaluator& evaluator) const;
  // The syntax error, or "limit/depth".
  Status check(const Limits& limits) const;
  // The value of each name of the tree, null where `scope` has none. Gives the first name that is
  // required and unknown.
  std::optional<NameId> look_up(const Scope& scope, NameValues& names) const;
  Error unknown_name(NameId name, const Scope& scope) const;

  std::string text;
  Source source;
  Ast ast;
  NodeId root = kNothing;
  Status syntax;
  std::size_t depth = 0;  // of nesting
  std::vector<std::string> free_names;
  struct Use {
    NameId name;
    bool required;  // must be known
  };
  std::vector<Use> used;  // all names but the literal ones
  std::vector<std::pair<NameId, const Value*>> literals;

 private:
  void collect_free_names();
};

struct Expression::Parsed : ParsedExpression {
  using ParsedExpression::ParsedExpression;
};

}  // namespace wgk::expr
