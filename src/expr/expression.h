// SPDX-License-Identifier: Apache-2.0
// Guards, shapes, derives and dispatch sizes of a manifest: the inside of one Jinja expression.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "expr/function.h"
#include "expr/limits.h"
#include "expr/scope.h"
#include "expr/value.h"

namespace wgk::expr {

class Evaluator;

// The global names of manifest expressions: helpers of format.md b.4 and DISPATCH_FOLD_WIDTH. f16Ok
// is not here: it depends on the device.
const Scope& helpers();
// f16Ok(dtype): false only for f16 and float16 on a device without halves.
Value f16_ok(bool has_f16);
// device.features and device.wgslLanguageFeatures: `has(name)` and `size`.
Value feature_set(std::span<const std::string> names);

// A parsed expression. Parsing never fails outright: as in the reference, a syntax error is raised
// by evaluation.
class Expression {
 public:
  explicit Expression(std::string text);

  const std::string& text() const;
  // The syntax error, if any ("expression/syntax", with the column), or "limit/depth".
  Status syntax(const Limits& limits = {}) const;
  // Names used free, in order of first use (a bare operand of "is defined" that occurs nowhere else
  // is not among them).
  const std::vector<std::string>& free_names() const;
  // Whether every name, tested ones included, is one that `known` accepts.
  bool reads_only(const std::function<bool(std::string_view)>& known) const;

  // The plain result. A free name that `scope` does not know is an error
  // ("expression/unknown-name", with a near name), also in a branch not taken; other errors are
  // "expression/type", "expression/syntax", "limit/steps", ...
  Result<Value> evaluate(const Scope& scope, const Limits& limits = {}) const;
  // The result as the reference engine prints it, for authors: before it becomes plain, so that 8/2
  // is 4.0. "undefined" and "null" where the engine prints nothing. `plain` gets the result of
  // evaluate(), of the same evaluation.
  Result<std::string> print(const Scope& scope, const Limits& limits = {},
                            Value* plain = nullptr) const;

  // Why the expression did not give exactly true: the failing operand of the outermost `and` chain
  // with its value, as
  // "'numel(shapes.x) % 4 == 0' is false (numel(shapes.x) % 4 is 2)". Used for selection reasons.
  std::string explain_not_true(const Scope& scope, const Limits& limits = {}) const;

 private:
  template <class Finish>
  auto run(const Scope& scope, const Limits& limits, Finish finish) const
      -> decltype(finish(std::declval<Evaluator&>(), std::declval<Value&>()));

  struct Parsed;
  std::shared_ptr<const Parsed> parsed_;
};

// Any JSON value in which each string is an expression (format.md b.3): numbers, bools and null are
// themselves, lists and objects are evaluated deeply.
class Rule {
 public:
  Rule() = default;  // null
  explicit Rule(const Json& source);

  const Json& source() const { return source_; }
  Result<Value> evaluate(const Scope& scope, const Limits& limits = {}) const;
  // Free names of all expressions inside.
  std::vector<std::string> free_names() const;
  // Whether `name` is one of them.
  bool mentions(std::string_view name) const;
  bool reads_only(const std::function<bool(std::string_view)>& known) const;
  Status syntax(const Limits& limits = {}) const;  // the first syntax error inside

 private:
  friend class Parses;
  struct Node;
  Rule(const Json& source, std::shared_ptr<const Node> root);

  Json source_;
  std::shared_ptr<const Node> root_;
};

// Makes expressions, those of equal text with one parse: a manifest repeats its expressions in
// variant after variant. For one thread.
class Parses {
 public:
  Expression expression(std::string_view text);
  Rule rule(const Json& source);

 private:
  std::map<std::string, Expression, std::less<>> by_text_;
};

}  // namespace wgk::expr
