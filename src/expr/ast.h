// SPDX-License-Identifier: Apache-2.0
// The tree of one parsed source, in flat arrays. Chains (a + b + c, x.y[0](z), v | f | g) are one
// node each, so that the depth of the tree is the nesting of the source.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "expr/name.h"
#include "expr/value.h"

namespace wgk::expr {

using NodeId = std::uint32_t;
using NameId = std::uint32_t;
inline constexpr std::uint32_t kNothing = 0xffffffffU;

enum class NodeKind : std::uint8_t {
  kConstant,  // first: index into constants
  kName,      // first: NameId
  kList,      // links: items
  kTuple,     // links: items
  kObject,    // links: key, value, key, value ...
  kNot,       // first: operand
  kPlus,      // first: operand
  kMinus,     // first: operand
  kAnd,       // links: operands
  kOr,        // links: operands
  kBinary,    // links: operand, (Operator, operand) ...
  kPostfix,   // links: base, index into steps ...
  kFiltered,  // links: base, index into filters ...
  kTested,    // links: base, index into tests ...
  kTernary,   // links: condition, value, other value
  kSelect,    // links: condition, value
};

enum class Operator : std::uint8_t {
  kEqual,
  kNotEqual,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kIn,
  kNotIn,
  kAdd,
  kSubtract,
  kConcat,
  kMultiply,
  kDivide,
  kFloorDivide,
  kRemainder,
  kPower,
};

std::string_view spelling(Operator op);

// Postfix chains that need no more than looking up and one call are evaluated without copies.
enum class PostfixForm : std::uint8_t {
  kGeneral,
  kPath,  // a name with members and constant indices: shapes.x[0]
  kCall,  // the call of a name or path with up to kFewArguments positional arguments: numel(s),
          // a.b.c(1)
};
inline constexpr std::uint32_t kFewArguments = 5;

struct Node {
  NodeKind kind;
  PostfixForm form;
  std::uint32_t first;  // see NodeKind; for links the place of the first one
  std::uint32_t count;  // number of links
  std::uint32_t begin;  // bytes of the source
  std::uint32_t end;
};

enum class StepKind : std::uint8_t {
  kMember,    // a: NameId
  kPosition,  // a: index into constants
  kIndex,     // a: NodeId
  kSlice,     // a, b, c: NodeId or kNothing
  kCall,      // a: first argument, b: count
};

struct Step {
  StepKind kind;
  std::uint32_t a;
  std::uint32_t b;
  std::uint32_t c;
  std::uint32_t at;  // byte of the source
};

enum class ArgumentKind : std::uint8_t { kPositional, kSpread, kKeyword, kKeywordSpread };

struct Argument {
  ArgumentKind kind;
  NameId name;  // of a keyword
  NodeId value;
};

enum class Filter : std::uint8_t {
  kUnknown,
  kAbs,
  kBool,
  kCapitalize,
  kDefault,
  kDictsort,
  kFirst,
  kFloat,
  kGet,
  kIndent,
  kInt,
  kItems,
  kJoin,
  kKeys,
  kLast,
  kLength,
  kList,
  kLower,
  kMap,
  kRejectattr,
  kReplace,
  kReverse,
  kSafe,
  kSelectattr,
  kSort,
  kString,
  kTitle,
  kTojson,
  kTrim,
  kUnique,
  kUpper,
  kValues,
};

Filter filter_from_name(std::string_view name);

struct FilterUse {
  Filter filter;
  bool has_arguments;  // f() instead of f
  bool is_valid;       // false for `x | f().y`: an error when it is evaluated
  NameId name;
  std::uint32_t first;  // arguments
  std::uint32_t count;
  NodeId whole;  // the parsed expression after the bar, for the analysis of names
  std::uint32_t at;
};

enum class Test : std::uint8_t {
  kUnknown,
  kBoolean,
  kCallable,
  kDefined,
  kEqual,
  kEven,
  kFalse,
  kInteger,
  kIterable,
  kLower,
  kMapping,
  kNone,
  kNumber,
  kOdd,
  kSequence,
  kString,
  kTrue,
  kUndefined,
  kUpper,
};

Test test_from_name(std::string_view name);

struct TestUse {
  Test test;
  bool negated;
  NameId name;
  std::uint32_t at;
};

struct Ast {
  std::vector<Node> nodes;
  std::vector<std::uint32_t> links;
  std::vector<Value> constants;
  std::vector<Name> names;
  std::vector<Step> steps;
  std::vector<Argument> arguments;
  std::vector<FilterUse> filters;
  std::vector<TestUse> tests;

  NameId intern(std::string_view name);

 private:
  std::vector<NameId> buckets_;  // hash index over names
};

}  // namespace wgk::expr
