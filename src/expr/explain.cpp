// SPDX-License-Identifier: Apache-2.0
// Why a guard was not true.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/saturate.h"
#include "base/text.h"
#include "expr/evaluator.h"
#include "expr/expression.h"
#include "expr/operators.h"
#include "expr/parsed.h"
#include "expr/value_access.h"

namespace wgk::expr {
namespace {

constexpr std::size_t kMostFacts = 6;
constexpr std::size_t kLongestFact = 80;
constexpr std::size_t kLongestSource = 400;

// Finds the values that a failed operand was computed from.
class Explainer {
 public:
  Explainer(const ParsedExpression& parsed, std::span<const Value* const> names,
            const Limits& limits)
      : parsed_(parsed), names_(names), limits_(limits) {}

  std::string explain() {
    std::vector<NodeId> operands = {parsed_.root};
    const Node& root = node(parsed_.root);
    if (root.kind == NodeKind::kAnd) {
      operands.assign(parsed_.ast.links.begin() + root.first,
                      parsed_.ast.links.begin() + root.first + root.count);
    }
    for (std::size_t i = 0; i < operands.size(); ++i) {
      Evaluator evaluator(parsed_.ast, names_, limits_);
      Value value;
      const std::string name = "'" + shortened(parsed_.text_of(operands[i]), kLongestSource) + "'";
      if (!evaluator.evaluate(operands[i], value))
        return name + " fails: " + parsed_.error_of(evaluator).message;
      const bool last = i + 1 == operands.size();
      const bool* flag = value.if_bool();
      const bool passes = last ? flag != nullptr && *flag : !value.is_hole() && is_true(value);
      if (passes) continue;
      gather(operands[i], true);
      return name + " is " + text_of(value) +
             (flag == nullptr && is_true(value) ? ", not true" : "") + facts();
    }
    return "'" + shortened(parsed_.text, kLongestSource) + "' is true";
  }

 private:
  const Node& node(NodeId id) const { return parsed_.ast.nodes[id]; }

  static std::string text_of(const Value& value) {
    struct Unlimited final : CallContext {
      bool fail(std::string) override { return false; }
      bool raise(std::string) override { return false; }
      bool charge(std::size_t) override { return true; }
      bool charge_text(std::size_t) override { return true; }
      bool fail_depth() override { return false; }
    };
    Unlimited unlimited;
    std::string text;
    if (value.is_undefined() || value.is_hole()) return "undefined";
    if (value.is_null()) return "null";
    if (value.is_string()) {
      text = "'" + (value.if_string() == nullptr ? std::string() : *value.if_string()) + "'";
    } else if (!append_printed(unlimited, value.untagged(), text)) {
      return std::string(kind_name(value));
    }
    return shortened(text, kLongestFact);
  }

  void note(NodeId id) {
    const std::string name(parsed_.text_of(id));
    const auto known = [&](const auto& fact) { return fact.first == name; };
    if (facts_.size() >= kMostFacts || std::any_of(facts_.begin(), facts_.end(), known)) return;
    Evaluator evaluator(parsed_.ast, names_, limits_);
    Value value;
    if (!evaluator.evaluate(id, value) || value.if_function() != nullptr ||
        value.if_object() != nullptr)
      return;
    facts_.emplace_back(shortened(name, kLongestSource), text_of(value));
  }

  // Outermost first. The operand itself is reported already.
  void gather(NodeId id, bool is_operand) {
    const Node& at = node(id);
    const auto link = [&](std::uint32_t i) { return parsed_.ast.links[at.first + i]; };
    switch (at.kind) {
      case NodeKind::kConstant: return;
      case NodeKind::kName:
        if (!is_operand) note(id);
        return;
      case NodeKind::kPostfix:
        if (!is_operand) note(id);
        for (std::uint32_t i = 1; i < at.count; ++i) gather_step(parsed_.ast.steps[link(i)]);
        return;
      case NodeKind::kBinary:
        if (!is_operand) note(id);
        for (std::uint32_t i = 0; i < at.count; i += 2) gather(link(i), false);
        return;
      case NodeKind::kNot:
      case NodeKind::kPlus:
      case NodeKind::kMinus: gather(at.first, false); return;
      case NodeKind::kFiltered:
        if (!is_operand) note(id);
        gather(link(0), false);
        return;
      case NodeKind::kTested: gather(link(0), false); return;
      default:
        for (std::uint32_t i = 0; i < at.count; ++i) gather(link(i), false);
    }
  }

  void gather_step(const Step& step) {
    if (step.kind == StepKind::kIndex) gather(step.a, false);
    if (step.kind != StepKind::kCall) return;
    for (std::uint32_t i = step.a; i < step.a + step.b; ++i)
      gather(parsed_.ast.arguments[i].value, false);
  }

  std::string facts() const {
    std::string text;
    for (const auto& [name, value] : facts_)
      text += (text.empty() ? " (" : ", ") + name + " is " + value;
    return text.empty() ? text : text + ")";
  }

  const ParsedExpression& parsed_;
  std::span<const Value* const> names_;
  const Limits limits_;
  std::vector<std::pair<std::string, std::string>> facts_;
};

}  // namespace

std::string Expression::explain_not_true(const Scope& scope, const Limits& limits) const {
  const Parsed& parsed = *parsed_;
  if (!parsed.syntax) return parsed.syntax.error().message;
  NameValues names;
  if (const std::optional<NameId> unknown = parsed.look_up(scope, names))
    return parsed.unknown_name(*unknown, scope).message;
  // What it costs to say why counts as one evaluation.
  Allowance own(limits.max_steps, saturated_mul(limits.max_output, 16));
  Limits within = limits;
  if (within.shared == nullptr) within.shared = &own;
  return Explainer(parsed, names.values(), within).explain();
}

}  // namespace wgk::expr
