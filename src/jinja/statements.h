// SPDX-License-Identifier: Apache-2.0
// The tree of a template: statements over the expressions of one Ast.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <string_view>
#include <utility>
#include <vector>

#include "expr/ast.h"
#include "expr/lexer.h"

namespace wgk::jinja {

using StatementId = std::uint32_t;

// Statements in a row: places in Tree::order.
struct Block {
  std::uint32_t first = 0;
  std::uint32_t count = 0;
};

enum class StatementKind : std::uint8_t {
  kText,
  kPrint,
  kSet,
  kIf,
  kFor,
  kMacro,
  kCall,
  kFilter,
  kBreak,
  kContinue
};

struct Branch {
  expr::NodeId condition;
  Block body;
};

struct Statement {
  StatementKind kind;
  std::uint32_t begin;                   // bytes of the source; of kText the text itself
  std::uint32_t end = 0;                 // kText
  expr::NodeId node = expr::kNothing;    // kPrint: value. kSet: value or nothing. kFor: what is
                                         // iterated. kCall: the callee
  expr::NodeId target = expr::kNothing;  // kSet, kFor
  expr::NodeId owner = expr::kNothing;   // kSet of a member: what has the member
  expr::NameId name =
      expr::kNothing;        // kMacro. kSet of a member: its name, nothing if it is no plain name
  std::uint32_t filter = 0;  // kFilter
  std::uint32_t first_branch = 0;     // kIf
  std::uint32_t branch_count = 0;     // kIf
  std::uint32_t first_parameter = 0;  // kMacro, kCall
  std::uint32_t parameter_count = 0;  // kMacro, kCall
  std::uint32_t first_argument = 0;   // kCall
  std::uint32_t argument_count = 0;   // kCall
  bool takes_keywords = false;        // kMacro, kCall: the body reads `kwargs`
  bool takes_rest = false;            // kMacro, kCall: the body reads `varargs`
  Block body = {};
  Block otherwise = {};  // kIf, kFor
};

// Names with a meaning of their own; nothing: the template never says them.
struct SpecialNames {
  expr::NameId loop = expr::kNothing;
  expr::NameId caller = expr::kNothing;
  expr::NameId keywords = expr::kNothing;  // kwargs
  expr::NameId rest = expr::kNothing;      // varargs
  expr::NameId space = expr::kNothing;     // namespace
};

struct Tree {
  expr::Ast ast;
  std::vector<Statement> statements;
  std::vector<StatementId> order;
  std::vector<Branch> branches;
  Block root;
  SpecialNames special;
  std::vector<std::uint8_t> settable;  // by name: whether a scope of the template may hold it
};

std::expected<Tree, expr::SyntaxError> parse_template(std::string_view source,
                                                      std::size_t max_depth);

// Whether a macro or call block reads `kwargs` and `varargs` before it declares them, in the order
// in which the reference looks.
std::pair<bool, bool> special_arguments(const Tree& tree, const Statement& macro);

// Fills `special` and `settable`.
void find_own_names(Tree& tree);

// Names that may be read from outside, in the order of first use. A superset: a name counts as the
// template's own only where it is surely set.
std::vector<std::string_view> outer_names(const Tree& tree);
// Names that the template itself sets somewhere.
std::vector<std::string_view> assigned_names(const Tree& tree);

}  // namespace wgk::jinja
