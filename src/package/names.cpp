// SPDX-License-Identifier: Apache-2.0
#include "package/names.h"

#include <algorithm>
#include <array>

namespace wgk::package {
namespace {

constexpr auto kPrototypeNames = std::to_array<std::string_view>({
    "constructor",
    "__defineGetter__",
    "__defineSetter__",
    "hasOwnProperty",
    "__lookupGetter__",
    "__lookupSetter__",
    "isPrototypeOf",
    "propertyIsEnumerable",
    "toString",
    "valueOf",
    "__proto__",
    "toLocaleString",
});

constexpr auto kScopeNames = std::to_array<std::string_view>({
    // namespaces and constants
    "repeat",
    "tunables",
    "dtypes",
    "logicalDtypes",
    "tensorDtypes",
    "ranks",
    "shapes",
    "present",
    "args",
    "attrs",
    "device",
    "env",
    "constants",
    "derive",
    "source",
    "DISPATCH_FOLD_WIDTH",
    "f16Ok",
    // helpers
    "ceil",
    "floor",
    "min",
    "max",
    "pow",
    "ceilDiv",
    "pow2ceil",
    "log2ceil",
    "numel",
    "dim",
    "rows",
    "outer",
    "inner",
    "prefix",
    "suffix",
    "fill",
    "moveAxis",
    "permuteShape",
    "reversedAxes",
    "broadcastShape",
    "matmulShape",
    "broadcastable",
    "sameShape",
    "hasAxis",
    "axisValue",
    "isUniqueIntList",
    "has",
    "dtypeBytes",
    "onnxDtypeCode",
    "pick",
    // the template language
    "true",
    "false",
    "none",
    "True",
    "False",
    "None",
    "range",
    "loop",
    "namespace",
    "dict",
});

constexpr bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
constexpr bool is_letter(char c) { return is_lower(c) || (c >= 'A' && c <= 'Z'); }
constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_word(char c) { return is_letter(c) || is_digit(c) || c == '_'; }

bool is_domain_part(std::string_view part, bool first) {
  if (part.empty() || !(first ? is_lower(part[0]) : is_letter(part[0]))) return false;
  return std::ranges::all_of(
      part, [first](char c) { return first ? is_lower(c) || is_digit(c) : is_word(c); });
}

}  // namespace

bool is_identifier(std::string_view text) {
  return !text.empty() && !is_digit(text[0]) && std::ranges::all_of(text, is_word);
}

bool is_stable_id(std::string_view text) {
  return !text.empty() && text[0] != '_' && std::ranges::all_of(text, is_word);
}

bool is_domain(std::string_view text) {
  for (bool first = true;; first = false) {
    const std::size_t dot = text.find('.');
    if (!is_domain_part(text.substr(0, dot), first)) return false;
    if (dot == std::string_view::npos) return true;
    text.remove_prefix(dot + 1);
  }
}

bool is_prototype_name(std::string_view text) {
  return std::ranges::contains(kPrototypeNames, text);
}

bool is_scope_name(std::string_view text) { return std::ranges::contains(kScopeNames, text); }

bool is_package_path(std::string_view text) {
  if (text.contains("..")) return false;
  for (;;) {
    const std::size_t slash = text.find('/');
    const std::string_view part = text.substr(0, slash);
    if (part.empty() || is_prototype_name(part)) return false;
    if (!std::ranges::all_of(part, [](char c) { return is_word(c) || c == '.' || c == '-'; }))
      return false;
    if (slash == std::string_view::npos) return true;
    text.remove_prefix(slash + 1);
  }
}

bool is_template_path(std::string_view text) {
  return text.ends_with(".wgsl") || text.ends_with(".wgsl.jinja");
}

}  // namespace wgk::package
