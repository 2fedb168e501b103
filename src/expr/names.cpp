// SPDX-License-Identifier: Apache-2.0
#include "expr/names.h"

#include <cstdint>
#include <string_view>
#include <vector>

namespace wgk::expr {
namespace {

class Collector {
 public:
  Collector(const Ast& ast, std::vector<NameUse>& uses) : ast_(ast), uses_(uses) {}

  void visit(NodeId id) {
    if (id == kNothing) return;
    const Node& node = ast_.nodes[id];
    switch (node.kind) {
      case NodeKind::kConstant: return;
      case NodeKind::kName: uses_.push_back({node.first, false}); return;
      case NodeKind::kNot:
      case NodeKind::kPlus:
      case NodeKind::kMinus: visit(node.first); return;
      case NodeKind::kBinary:
        for (std::uint32_t i = 0; i < node.count; i += 2) visit(link(node, i));
        return;
      case NodeKind::kPostfix:
        visit(link(node, 0));
        for (std::uint32_t i = 1; i < node.count; ++i) visit_step(ast_.steps[link(node, i)]);
        return;
      case NodeKind::kFiltered:
        visit(link(node, 0));
        for (std::uint32_t i = 1; i < node.count; ++i) visit_filter(ast_.filters[link(node, i)]);
        return;
      case NodeKind::kTested: visit_tested(node); return;
      case NodeKind::kTernary:
      case NodeKind::kSelect:
        visit(link(node, 1));  // the value stands before the condition
        visit(link(node, 0));
        if (node.kind == NodeKind::kTernary) visit(link(node, 2));
        return;
      default:
        for (std::uint32_t i = 0; i < node.count; ++i) visit(link(node, i));
    }
  }

  void visit_filter(const FilterUse& use) {
    if (use.whole == kNothing) return;
    const Node& call = ast_.nodes[use.whole];
    for (std::uint32_t i = 1; i < call.count; ++i) visit_step(ast_.steps[link(call, i)]);
  }

 private:
  std::uint32_t link(const Node& node, std::uint32_t i) const { return ast_.links[node.first + i]; }

  void visit_step(const Step& step) {
    if (step.kind == StepKind::kIndex || step.kind == StepKind::kSlice) visit(step.a);
    if (step.kind == StepKind::kSlice) {
      visit(step.b);
      visit(step.c);
    }
    if (step.kind != StepKind::kCall) return;
    for (std::uint32_t i = step.a; i < step.a + step.b; ++i) visit(ast_.arguments[i].value);
  }

  void visit_tested(const Node& node) {
    const Node& operand = ast_.nodes[link(node, 0)];
    const Test test = ast_.tests[link(node, 1)].test;
    const bool about_definition = test == Test::kDefined || test == Test::kUndefined;
    if (operand.kind == NodeKind::kName && about_definition) {
      uses_.push_back({operand.first, true});
    } else {
      visit(link(node, 0));
    }
  }

  const Ast& ast_;
  std::vector<NameUse>& uses_;
};

}  // namespace

void collect_names(const Ast& ast, NodeId node, std::vector<NameUse>& uses) {
  Collector(ast, uses).visit(node);
}

void collect_names(const Ast& ast, const FilterUse& filter, std::vector<NameUse>& uses) {
  Collector(ast, uses).visit_filter(filter);
}

const Value* literal_name(std::string_view name) {
  static const Value kTrue(true);
  static const Value kFalse(false);
  static const Value kNull{Null{}};
  if (name == "true" || name == "True") return &kTrue;
  if (name == "false" || name == "False") return &kFalse;
  if (name == "none" || name == "None") return &kNull;
  return nullptr;
}

}  // namespace wgk::expr
