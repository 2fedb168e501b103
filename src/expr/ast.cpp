// SPDX-License-Identifier: Apache-2.0
#include "expr/ast.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace wgk::expr {
namespace {

template <class T, std::size_t N>
T look_up(const std::array<std::pair<std::string_view, T>, N>& table, std::string_view name,
          T otherwise) {
  const auto at =
      std::lower_bound(table.begin(), table.end(), name,
                       [](const auto& entry, std::string_view key) { return entry.first < key; });
  return at != table.end() && at->first == name ? at->second : otherwise;
}

// Sorted by name.
constexpr std::array<std::pair<std::string_view, Filter>, 31> kFilters = {{
    {"abs", Filter::kAbs},
    {"bool", Filter::kBool},
    {"capitalize", Filter::kCapitalize},
    {"default", Filter::kDefault},
    {"dictsort", Filter::kDictsort},
    {"first", Filter::kFirst},
    {"float", Filter::kFloat},
    {"get", Filter::kGet},
    {"indent", Filter::kIndent},
    {"int", Filter::kInt},
    {"items", Filter::kItems},
    {"join", Filter::kJoin},
    {"keys", Filter::kKeys},
    {"last", Filter::kLast},
    {"length", Filter::kLength},
    {"list", Filter::kList},
    {"lower", Filter::kLower},
    {"map", Filter::kMap},
    {"rejectattr", Filter::kRejectattr},
    {"replace", Filter::kReplace},
    {"reverse", Filter::kReverse},
    {"safe", Filter::kSafe},
    {"selectattr", Filter::kSelectattr},
    {"sort", Filter::kSort},
    {"string", Filter::kString},
    {"title", Filter::kTitle},
    {"tojson", Filter::kTojson},
    {"trim", Filter::kTrim},
    {"unique", Filter::kUnique},
    {"upper", Filter::kUpper},
    {"values", Filter::kValues},
}};

constexpr std::array<std::pair<std::string_view, Test>, 19> kTests = {{
    {"boolean", Test::kBoolean}, {"callable", Test::kCallable}, {"defined", Test::kDefined},
    {"eq", Test::kEqual},        {"equalto", Test::kEqual},     {"even", Test::kEven},
    {"false", Test::kFalse},     {"integer", Test::kInteger},   {"iterable", Test::kIterable},
    {"lower", Test::kLower},     {"mapping", Test::kMapping},   {"none", Test::kNone},
    {"number", Test::kNumber},   {"odd", Test::kOdd},           {"sequence", Test::kSequence},
    {"string", Test::kString},   {"true", Test::kTrue},         {"undefined", Test::kUndefined},
    {"upper", Test::kUpper},
}};

}  // namespace

std::string_view spelling(Operator op) {
  constexpr std::array<std::string_view, 16> kSpellings = {
      "==", "!=", "<", "<=", ">", ">=", "in", "not in", "+", "-", "~", "*", "/", "//", "%", "**"};
  return kSpellings[static_cast<std::size_t>(op)];
}

Filter filter_from_name(std::string_view name) { return look_up(kFilters, name, Filter::kUnknown); }
Test test_from_name(std::string_view name) { return look_up(kTests, name, Test::kUnknown); }

NameId Ast::intern(std::string_view name) {
  const std::uint64_t hash = name_hash(name);
  if (names.size() * 2 >= buckets_.size()) {
    buckets_.assign(std::max<std::size_t>(16, buckets_.size() * 2), kNothing);
    for (NameId id = 0; id < names.size(); ++id) {
      std::size_t at = names[id].hash & (buckets_.size() - 1);
      while (buckets_[at] != kNothing) at = (at + 1) & (buckets_.size() - 1);
      buckets_[at] = id;
    }
  }
  std::size_t at = hash & (buckets_.size() - 1);
  for (; buckets_[at] != kNothing; at = (at + 1) & (buckets_.size() - 1)) {
    const Name& known = names[buckets_[at]];
    if (known.hash == hash && known.text == name) return buckets_[at];
  }
  buckets_[at] = static_cast<NameId>(names.size());
  names.push_back({std::string(name), hash});
  return buckets_[at];
}

}  // namespace wgk::expr
