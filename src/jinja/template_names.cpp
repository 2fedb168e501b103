// SPDX-License-Identifier: Apache-2.0
// Static analysis of templates: which names they read and set.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "expr/names.h"
#include "jinja/statements.h"

namespace wgk::jinja {
namespace {

using expr::NameId;
using expr::NodeId;
using expr::NodeKind;

// Names that an assignment or loop binds.
void target_names(const expr::Ast& ast, NodeId target, std::vector<NameId>& names) {
  const expr::Node& node = ast.nodes[target];
  if (node.kind == NodeKind::kName) names.push_back(node.first);
  if (node.kind != NodeKind::kTuple) return;
  for (std::uint32_t i = 0; i < node.count; ++i)
    target_names(ast, ast.links[node.first + i], names);
}

// The order of the reference's search for `kwargs` and `varargs`: what is declared first hides
// later uses.
class SpecialSearch {
 public:
  explicit SpecialSearch(const Tree& tree) : tree_(tree) {}

  std::pair<bool, bool> run(const Statement& macro) {
    declare_parameters(macro);
    visit(macro.body);
    return {keywords_.used, rest_.used};
  }

 private:
  struct State {
    bool declared = false;
    bool used = false;
  };

  State* state(NameId name) {
    const std::string_view text = tree_.ast.names[name].text;
    if (text == "kwargs") return &keywords_;
    return text == "varargs" ? &rest_ : nullptr;
  }

  void declare(NameId name) {
    if (State* known = state(name)) known->declared = true;
  }
  void declare_target(NodeId target) {
    std::vector<NameId> names;
    target_names(tree_.ast, target, names);
    for (const NameId name : names) declare(name);
  }
  void declare_parameters(const Statement& statement) {
    for (std::uint32_t i = 0; i < statement.parameter_count; ++i) {
      declare(tree_.ast.arguments[statement.first_parameter + i].name);
    }
  }

  template <class Part>  // a node or a filter
  void visit_node(const Part& node) {
    std::vector<expr::NameUse> uses;
    expr::collect_names(tree_.ast, node, uses);
    for (const expr::NameUse& use : uses) {
      State* known = state(use.name);
      if (known != nullptr && !known->declared) known->used = true;
    }
  }

  void visit_defaults(const Statement& statement) {
    for (std::uint32_t i = 0; i < statement.parameter_count; ++i) {
      const expr::Argument& parameter = tree_.ast.arguments[statement.first_parameter + i];
      if (parameter.kind == expr::ArgumentKind::kKeyword) visit_node(parameter.value);
    }
  }

  void visit(Block block) {
    for (std::uint32_t i = 0; i < block.count; ++i)
      visit(tree_.statements[tree_.order[block.first + i]]);
  }

  void visit(const Statement& statement) {
    switch (statement.kind) {
      case StatementKind::kPrint: visit_node(statement.node); break;
      case StatementKind::kSet:
        declare_target(statement.target);
        visit_node(statement.node);
        visit(statement.body);
        break;
      case StatementKind::kIf:
        for (std::uint32_t i = 0; i < statement.branch_count; ++i) {
          visit_node(tree_.branches[statement.first_branch + i].condition);
          visit(tree_.branches[statement.first_branch + i].body);
        }
        visit(statement.otherwise);
        break;
      case StatementKind::kFor: visit_loop(statement); break;
      case StatementKind::kMacro:
        declare_parameters(statement);
        visit_defaults(statement);
        visit(statement.body);
        break;
      case StatementKind::kCall:
        visit_node(statement.node);
        for (std::uint32_t i = 0; i < statement.argument_count; ++i) {
          visit_node(tree_.ast.arguments[statement.first_argument + i].value);
        }
        declare_parameters(statement);
        visit_defaults(statement);
        visit(statement.body);
        break;
      case StatementKind::kFilter:
        visit(statement.body);
        visit_node(tree_.ast.filters[statement.filter]);
        break;
      default: break;
    }
  }

  // The condition of a loop is looked at last.
  void visit_loop(const Statement& statement) {
    declare_target(statement.target);
    const expr::Node& iterated = tree_.ast.nodes[statement.node];
    const bool filtered = iterated.kind == NodeKind::kSelect;
    visit_node(filtered ? tree_.ast.links[iterated.first + 1] : statement.node);
    visit(statement.body);
    visit(statement.otherwise);
    if (filtered) visit_node(tree_.ast.links[iterated.first]);
  }

  const Tree& tree_;
  State keywords_;
  State rest_;
};

// Follows which names are surely set at each place.
class OuterNames {
 public:
  explicit OuterNames(const Tree& tree)
      : tree_(tree),
        read_(tree.ast.names.size(), false),
        known_(tree.ast.names.size(), false),
        branches_(tree.ast.names.size(), 0) {}

  std::vector<std::string_view> run() {
    visit(tree_.root);
    return std::move(found_);
  }

 private:
  // What is learned while it lives is forgotten at its end.
  class Inside {
   public:
    explicit Inside(OuterNames& names) : names_(names), mark_(names.learned_.size()) {}
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;
    ~Inside() { names_.forget(mark_); }

   private:
    OuterNames& names_;
    std::size_t mark_;
  };

  template <class Part>  // a node or a filter
  void read(const Part& node) {
    std::vector<expr::NameUse> uses;
    expr::collect_names(tree_.ast, node, uses);
    for (const expr::NameUse& use : uses) {
      if (read_[use.name] || known_[use.name]) continue;
      const std::string_view name = tree_.ast.names[use.name].text;
      if (expr::literal_name(name) != nullptr || name == "range" || name == "namespace" ||
          name == "raise_exception")
        continue;
      read_[use.name] = true;
      found_.push_back(name);
    }
  }

  void learn(NameId name) {
    if (name == expr::kNothing || known_[name]) return;
    known_[name] = true;
    learned_.push_back(name);
  }
  void learn_target(NodeId target) {
    std::vector<NameId> names;
    target_names(tree_.ast, target, names);
    for (const NameId name : names) learn(name);
  }
  void forget(std::size_t mark) {
    for (; learned_.size() > mark; learned_.pop_back()) known_[learned_.back()] = false;
  }

  void visit(Block block) {
    for (std::uint32_t i = 0; i < block.count; ++i)
      visit(tree_.statements[tree_.order[block.first + i]]);
  }

  void visit_parameters(const Statement& statement) {
    for (std::uint32_t i = 0; i < statement.parameter_count; ++i)
      learn(tree_.ast.arguments[statement.first_parameter + i].name);
    if (statement.takes_keywords) learn(tree_.special.keywords);
    if (statement.takes_rest) learn(tree_.special.rest);
    for (std::uint32_t i = 0; i < statement.parameter_count; ++i) {
      const expr::Argument& parameter = tree_.ast.arguments[statement.first_parameter + i];
      if (parameter.kind == expr::ArgumentKind::kKeyword) read(parameter.value);
    }
  }

  void visit(const Statement& statement) {
    switch (statement.kind) {
      case StatementKind::kPrint: read(statement.node); break;
      case StatementKind::kSet:
        read(statement.node);
        visit(statement.body);
        read(statement.owner);
        learn_target(statement.target);
        break;
      case StatementKind::kIf: visit_if(statement); break;
      case StatementKind::kFor: visit_loop(statement); break;
      case StatementKind::kMacro: {
        {
          const Inside inside(*this);
          visit_parameters(statement);
          learn(tree_.special.caller);
          visit(statement.body);
        }
        learn(statement.name);
        break;
      }
      case StatementKind::kCall: {
        for (std::uint32_t i = 0; i < statement.argument_count; ++i)
          read(tree_.ast.arguments[statement.first_argument + i].value);
        read(statement.node);
        const Inside inside(*this);
        visit_parameters(statement);
        visit(statement.body);
        break;
      }
      case StatementKind::kFilter:
        visit(statement.body);
        read(tree_.ast.filters[statement.filter]);
        break;
      default: break;
    }
  }

  // Afterwards known: what every branch sets.
  void visit_if(const Statement& statement) {
    const std::size_t mark = learned_.size();
    std::vector<NameId> set_somewhere;
    for (std::uint32_t i = 0; i <= statement.branch_count; ++i) {
      if (i < statement.branch_count) {
        const Branch& branch = tree_.branches[statement.first_branch + i];
        read(branch.condition);
        visit(branch.body);
      } else {
        visit(statement.otherwise);
      }
      set_somewhere.insert(set_somewhere.end(),
                           learned_.begin() + static_cast<std::ptrdiff_t>(mark), learned_.end());
      forget(mark);
    }
    for (const NameId name : set_somewhere) ++branches_[name];
    for (const NameId name : set_somewhere) {
      if (branches_[name] > statement.branch_count) learn(name);
    }
    for (const NameId name : set_somewhere) branches_[name] = 0;
  }

  // A loop has a scope of its own.
  void visit_loop(const Statement& statement) {
    const expr::Node& iterated = tree_.ast.nodes[statement.node];
    const bool filtered = iterated.kind == NodeKind::kSelect;
    {
      const Inside inside(*this);
      read(filtered ? tree_.ast.links[iterated.first + 1] : statement.node);
      learn_target(statement.target);
      if (filtered) read(tree_.ast.links[iterated.first]);
      learn(tree_.special.loop);
      visit(statement.body);
    }
    // The other block runs when nothing, or nothing whole, went before.
    const Inside inside(*this);
    visit(statement.otherwise);
  }

  const Tree& tree_;
  std::vector<bool> read_;
  std::vector<bool> known_;
  std::vector<NameId> learned_;          // those that are known, in the order of learning
  std::vector<std::uint32_t> branches_;  // of one `if`: how many set a name
  std::vector<std::string_view> found_;
};

}  // namespace

std::pair<bool, bool> special_arguments(const Tree& tree, const Statement& macro) {
  return SpecialSearch(tree).run(macro);
}

void find_own_names(Tree& tree) {
  for (NameId id = 0; id < tree.ast.names.size(); ++id) {
    const std::string& name = tree.ast.names[id].text;
    if (name == "loop") tree.special.loop = id;
    if (name == "caller") tree.special.caller = id;
    if (name == "kwargs") tree.special.keywords = id;
    if (name == "varargs") tree.special.rest = id;
    if (name == "namespace") tree.special.space = id;
  }
  std::vector<NameId> ids;
  for (const NameId id :
       {tree.special.loop, tree.special.caller, tree.special.keywords, tree.special.rest}) {
    if (id != expr::kNothing) ids.push_back(id);
  }
  for (const Statement& statement : tree.statements) {
    if (statement.kind == StatementKind::kSet || statement.kind == StatementKind::kFor)
      target_names(tree.ast, statement.target, ids);
    if (statement.kind == StatementKind::kMacro) ids.push_back(statement.name);
    for (std::uint32_t i = 0; i < statement.parameter_count; ++i)
      ids.push_back(tree.ast.arguments[statement.first_parameter + i].name);
  }
  tree.settable.assign(tree.ast.names.size(), 0);
  for (const NameId id : ids) tree.settable[id] = 1;
}

std::vector<std::string_view> outer_names(const Tree& tree) { return OuterNames(tree).run(); }

std::vector<std::string_view> assigned_names(const Tree& tree) {
  std::vector<NameId> ids;
  for (const Statement& statement : tree.statements) {
    if (statement.kind == StatementKind::kSet || statement.kind == StatementKind::kFor) {
      target_names(tree.ast, statement.target, ids);
    }
    if (statement.kind == StatementKind::kMacro) ids.push_back(statement.name);
  }
  std::vector<std::string_view> names;
  std::vector<bool> seen(tree.ast.names.size(), false);
  for (const NameId id : ids) {
    if (!seen[id]) names.push_back(tree.ast.names[id].text);
    seen[id] = true;
  }
  return names;
}

}  // namespace wgk::jinja
