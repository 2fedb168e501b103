// SPDX-License-Identifier: Apache-2.0
// Guards, shapes, derives and dispatch sizes of a manifest: the inside of one Jinja expression.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "expr/value.h"

namespace wgk::expr {

// Names visible to an expression. Scopes chain to a parent; the innermost definition wins.
class Scope {
 public:
  explicit Scope(const Scope* parent = nullptr) : parent_(parent) {}
  void set(std::string_view name, Value value);
  const Value* find(std::string_view name) const;

 private:
  const Scope* parent_;
  std::vector<std::pair<std::string, Value>> names_;
};

struct Limits {
  std::size_t max_steps = 10'000'000;       // evaluation steps, loops of templates included
  std::size_t max_depth = 100;              // nesting of source and of macro calls
  std::size_t max_output = std::size_t{4} << 20;  // bytes of rendered text; also of any string built on the way
};

// The global names of manifest expressions: helpers of format.md b.4 and DISPATCH_FOLD_WIDTH. f16Ok is not here: it depends on the device.
const Scope& helpers();

// A parsed expression. Parsing never fails outright: as in the reference, a syntax error is raised by evaluation.
class Expression {
 public:
  explicit Expression(std::string text);

  const std::string& text() const;
  // The syntax error, if any ("expression/syntax", with the column).
  Status syntax() const;
  // Names used free, in order of first use (a bare operand of "is defined" that occurs nowhere else is not among them).
  const std::vector<std::string>& free_names() const;

  // The plain result. A free name that `scope` does not know is an error ("expression/unknown-name", with a near name), also in a branch not taken;
  // other errors are "expression/type", "expression/syntax", "limit/steps", ...
  Result<Value> evaluate(const Scope& scope, const Limits& limits = {}) const;

  // Why the expression did not give exactly true: the failing operand of the outermost `and` chain with its value, as
  // "'numel(shapes.x) % 4 == 0' is false (numel(shapes.x) % 4 is 2)". Used for selection reasons.
  std::string explain_not_true(const Scope& scope) const;

 private:
  struct Parsed;
  std::shared_ptr<const Parsed> parsed_;
};

// Any JSON value in which each string is an expression (format.md b.3): numbers, bools and null are themselves, lists and objects are evaluated deeply.
class Rule {
 public:
  Rule() = default;  // null
  explicit Rule(const Json& source);

  const Json& source() const { return source_; }
  Result<Value> evaluate(const Scope& scope, const Limits& limits = {}) const;
  // Free names of all expressions inside.
  std::vector<std::string> free_names() const;
  Status syntax() const;  // the first syntax error inside

 private:
  Json source_;
  struct Node;
  std::shared_ptr<const Node> root_;
};

}  // namespace wgk::expr
