// SPDX-License-Identifier: Apache-2.0
#include "plan/wgsl_text.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "base/try.h"

namespace wgk::planning {
namespace {

constexpr std::size_t kNone = std::string_view::npos;

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }
constexpr auto kIsWord = [] {
  std::array<bool, 256> table{};
  for (std::size_t i = 0; i < table.size(); ++i) {
    const char c = static_cast<char>(i);
    table[i] = is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  }
  return table;
}();
bool is_word(char c) { return kIsWord[static_cast<unsigned char>(c)]; }
bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\v' || c == '\f';
}

std::size_t skip_blanks(std::string_view code, std::size_t at) {
  while (at < code.size() && is_blank(code[at])) ++at;
  return at;
}

std::string_view word_at(std::string_view code, std::size_t at) {
  std::size_t end = at;
  while (end < code.size() && is_word(code[end])) ++end;
  return code.substr(at, end - at);
}

std::size_t skip_digits(std::string_view code, std::size_t at) {
  while (at < code.size() && is_digit(code[at])) ++at;
  return at;
}

// Behind a sign and digits that may follow an exponent letter; kNone when there are no digits.
std::size_t skip_exponent(std::string_view code, std::size_t at) {
  if (at < code.size() && (code[at] == '+' || code[at] == '-')) ++at;
  const std::size_t end = skip_digits(code, at);
  return end == at ? kNone : end;
}

// Whether a number literal with suffix h starts at `at`; the character before it is neither a word
// character nor a dot.
bool is_half_literal(std::string_view code, std::size_t at) {
  const auto ends_in_h = [code](std::size_t end) {
    return end != kNone && end < code.size() && code[end] == 'h' &&
           (end + 1 == code.size() || !is_word(code[end + 1]));
  };
  if (code[at] == '0' && at + 1 < code.size() && (code[at + 1] == 'x' || code[at + 1] == 'X')) {
    std::size_t end = at + 2;
    while (end < code.size() && (is_hex(code[end]) || code[end] == '.')) ++end;
    return end < code.size() && (code[end] == 'p' || code[end] == 'P') &&
           ends_in_h(skip_exponent(code, end + 1));
  }
  std::size_t end = skip_digits(code, at);
  if (end < code.size() && code[end] == '.') {
    const std::size_t fraction = skip_digits(code, end + 1);
    if (end == at && fraction == end + 1) return false;
    end = fraction;
  }
  if (end == at) return false;
  if (end < code.size() && (code[end] == 'e' || code[end] == 'E'))
    end = skip_exponent(code, end + 1);
  return ends_in_h(end);
}

constexpr auto kSubgroupCalls = std::to_array<std::string_view>({
    "quadBroadcast",
    "quadSwapDiagonal",
    "quadSwapX",
    "quadSwapY",
    "subgroupAdd",
    "subgroupAll",
    "subgroupAnd",
    "subgroupAny",
    "subgroupBallot",
    "subgroupBroadcast",
    "subgroupBroadcastFirst",
    "subgroupElect",
    "subgroupExclusiveAdd",
    "subgroupExclusiveMul",
    "subgroupInclusiveAdd",
    "subgroupInclusiveMul",
    "subgroupMax",
    "subgroupMin",
    "subgroupMul",
    "subgroupOr",
    "subgroupShuffle",
    "subgroupShuffleDown",
    "subgroupShuffleUp",
    "subgroupShuffleXor",
    "subgroupXor",
});
constexpr auto kSubgroupValues = std::to_array<std::string_view>(
    {"num_subgroups", "subgroup_id", "subgroup_invocation_id", "subgroup_size"});

struct Uses {
  bool halves = false;
  bool subgroups = false;
  bool size_control = false;
};

// Calls `visit` with every place of `wanted` until it returns true. Texts are long and what is
// looked for is rare, so everything here goes from one rare character to the next.
template <class Visit>
bool any_at(std::string_view code, char wanted, Visit visit) {
  for (std::size_t at = code.find(wanted); at != kNone; at = code.find(wanted, at + 1)) {
    if (visit(at)) return true;
  }
  return false;
}

bool starts_word(std::string_view code, std::size_t at) {
  return at == 0 || !is_word(code[at - 1]);
}

bool opens_bracket(std::string_view code, std::size_t end_of_word) {
  const std::size_t open = skip_blanks(code, end_of_word);
  return open < code.size() && code[open] == '(';
}

// A number literal may start with a digit or with its dot.
bool starts_half_literal(std::string_view code, std::size_t at) {
  if (is_digit(code[at])) {
    return starts_word(code, at) && (at == 0 || code[at - 1] != '.') && is_half_literal(code, at);
  }
  return code[at] == '.' && starts_word(code, at) && (at == 0 || code[at - 1] != '.') &&
         is_half_literal(code, at);
}

bool has_half_literal(std::string_view code) {
  return any_at(code, 'h', [code](std::size_t at) {
    const bool ends = at > 0 && (is_digit(code[at - 1]) || code[at - 1] == '.') &&
                      (at + 1 == code.size() || !is_word(code[at + 1]));
    if (!ends) return false;
    // From its end back over what a literal may be made of: it has one dot and one sign at most.
    std::size_t first = at, dots = 0, signs = 0;
    for (; first > 0; --first) {
      const char c = code[first - 1];
      if (c == '.' ? ++dots > 1 : (c == '+' || c == '-') ? ++signs > 1 : !is_word(c)) break;
    }
    for (std::size_t start = first; start < at; ++start) {
      if (starts_half_literal(code, start)) return true;
    }
    return false;
  });
}

bool has_half_type(std::string_view code) {
  constexpr std::string_view kType = "f16";
  return any_at(code, '6', [code](std::size_t at) {
    return at >= 2 && starts_word(code, at - 2) && word_at(code, at - 2) == kType;
  });
}

void note_attribute(std::string_view code, std::size_t at, Uses& uses) {
  const std::string_view word = word_at(code, at);
  if (!opens_bracket(code, at + word.size())) return;
  if (word == "subgroup_size") uses.size_control = true;
  if (word != "builtin") return;
  const std::size_t open = skip_blanks(code, at + word.size());
  const std::string_view value = word_at(code, skip_blanks(code, open + 1));
  if (std::ranges::find(kSubgroupValues, value) != kSubgroupValues.end()) uses.subgroups = true;
}

bool has_subgroup_call(std::string_view code) {
  const auto calls_at = [code](std::size_t at) {
    if (!starts_word(code, at) || (at > 0 && code[at - 1] == '@')) return false;
    const std::string_view word = word_at(code, at);
    return std::ranges::binary_search(kSubgroupCalls, word) &&
           opens_bracket(code, at + word.size());
  };
  return any_at(code, 'q', calls_at) || any_at(code, 'b', [&calls_at](std::size_t at) {
           return at >= 2 && calls_at(at - 2);  // the b of "subgroup"
         });
}

Uses find_uses(std::string_view code) {
  Uses uses;
  uses.halves = has_half_type(code) || has_half_literal(code);
  uses.subgroups = has_subgroup_call(code);
  any_at(code, '@', [&](std::size_t at) {
    note_attribute(code, at + 1, uses);
    return false;
  });
  return uses;
}

// The lists of all `enable a, b;` directives that start a line.
std::vector<std::string_view> enable_lists(std::string_view code) {
  constexpr std::string_view kEnable = "enable";
  constexpr std::size_t kRare = 3;  // the b is what to look for
  std::vector<std::string_view> lists;
  std::size_t next = 0;
  for (std::size_t b = code.find('b'); b != kNone; b = code.find('b', b + 1)) {
    if (b < next + kRare || code.substr(b - kRare, kEnable.size()) != kEnable) continue;
    const std::size_t at = b - kRare;
    next = at + kEnable.size();
    if (word_at(code, at) != kEnable) continue;
    std::size_t line = at;
    while (line > 0 && code[line - 1] != '\n' && is_blank(code[line - 1])) --line;
    if (line > 0 && code[line - 1] != '\n') continue;
    const std::size_t end = code.find(';', next);
    if (end == kNone) break;
    lists.push_back(code.substr(next, end - next));
    next = end;
  }
  return lists;
}

bool is_enabled(const std::vector<std::string_view>& lists, std::string_view extension) {
  return std::ranges::any_of(
      lists, [extension](std::string_view list) { return has_word(list, extension); });
}

char before(std::string_view code, std::size_t at) {
  while (at > 0 && is_blank(code[at - 1])) --at;
  return at > 0 ? code[at - 1] : '\0';
}

// Whether the whole element that spans [begin, end) stands where only a copy can happen: assigned,
// passed on, returned, or assigned to.
bool is_whole_use(std::string_view code, std::size_t begin, std::size_t end) {
  const std::size_t next = skip_blanks(code, end);
  const char after = next < code.size() ? code[next] : ';';
  const bool assigned_to = after == '=' && (next + 1 >= code.size() || code[next + 1] != '=');
  if (after != ';' && after != ',' && after != ')' && !assigned_to) return false;
  const char left = before(code, begin);
  if (left == '(' || left == ',' || left == ';' || left == '{' || left == '}' || left == '\0' ||
      is_word(left))
    return true;
  if (left != '=') return false;
  std::size_t equals = begin;
  while (code[equals - 1] != '=') --equals;
  const char operation = equals >= 2 ? code[equals - 2] : ' ';
  return std::string_view("=!<>+-*/%&|^").find(operation) == kNone;
}

// Where things stand in a text, found in one walk: texts come from packages and may be long.
class Places {
 public:
  explicit Places(std::string_view code) : code_(code), behind_(code.size()), start_(code.size()) {
    std::vector<std::size_t> open;
    std::size_t statement = 0;
    for (std::size_t at = 0; at < code.size(); ++at) {
      const char c = code[at];
      start_[at] = statement;
      if (c == ';' || c == '{' || c == '}') statement = at + 1;
      if (c == '[') open.push_back(at);
      if (c == ']' && !open.empty()) {
        behind_[open.back()] = at + 1;
        open.pop_back();
      }
      if (is_word(c) && starts_word(code, at)) words_[word_at(code, at)].push_back(at);
    }
    for (const std::size_t bracket : open) behind_[bracket] = code.size();
  }

  // In order.
  const std::vector<std::size_t>& of(std::string_view word) const {
    static const std::vector<std::size_t> kNowhere;
    const auto found = words_.find(word);
    return found == words_.end() ? kNowhere : found->second;
  }
  // Behind the bracket that closes the one at `open`; the end of the text when none does.
  std::size_t behind_bracket(std::size_t open) const { return behind_[open]; }

  // The local that a statement declares from the element at `begin`: `let v = name[i]` gives v.
  std::string_view receiver(std::size_t begin) const {
    if (before(code_, begin) != '=') return {};
    const std::size_t start = skip_blanks(code_, start_[begin]);
    const std::string_view keyword = word_at(code_, start);
    if (keyword != "let" && keyword != "var" && keyword != "const") return {};
    return word_at(code_, skip_blanks(code_, start + keyword.size()));
  }

 private:
  std::string_view code_;
  std::map<std::string_view, std::vector<std::size_t>> words_;
  std::vector<std::size_t> behind_;  // of opening brackets
  std::vector<std::size_t> start_;   // of the statement that a byte stands in
};

// Behind the block comment that starts at `at`; comments nest.
std::size_t behind_comment(std::string_view wgsl, std::size_t at) {
  int depth = 0;
  do {
    const std::string_view two = wgsl.substr(at, 2);
    if (two == "/*") ++depth;
    if (two == "*/") --depth;
    at += two == "/*" || two == "*/" ? 2 : 1;
  } while (depth > 0 && at < wgsl.size());
  return at;
}

constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kFeatures = {{
    {"chromium_experimental_subgroup_matrix", "chromium-experimental-subgroup-matrix"},
    {"f16", "shader-f16"},
    {"subgroup_size_control", "subgroup-size-control"},
    {"subgroups", "subgroups"},
}};

// The extensions that comment-free text uses without enabling them, in the order of their
// directives. `lists` are its directives.
std::vector<std::string_view> missing_extensions(std::string_view code,
                                                 const std::vector<std::string_view>& lists) {
  const Uses uses = find_uses(code);
  std::vector<std::string_view> missing;
  const auto add = [&](bool used, std::string_view extension) {
    if (used && !is_enabled(lists, extension)) missing.push_back(extension);
  };
  add(uses.halves, "f16");
  add(uses.subgroups, "subgroups");
  add(uses.size_control, "subgroup_size_control");
  return missing;
}

std::string directives(const std::vector<std::string_view>& extensions) {
  std::string text;
  for (const std::string_view extension : extensions)
    text.append("enable ").append(extension).append(";\n");
  return text;
}

}  // namespace

std::string without_comments(std::string_view wgsl) {
  std::string code;
  code.reserve(wgsl.size());
  for (std::size_t at = 0; at < wgsl.size();) {
    const std::size_t slash = std::min(wgsl.find('/', at), wgsl.size());
    code.append(wgsl, at, slash - at);
    const char next = slash + 1 < wgsl.size() ? wgsl[slash + 1] : '\0';
    if (next == '/') {
      code += ' ';
      at = std::min(wgsl.find('\n', slash), wgsl.size());
    } else if (next == '*') {
      code += ' ';
      at = behind_comment(wgsl, slash);
    } else {
      if (slash < wgsl.size()) code += '/';
      at = slash + 1;
    }
  }
  return code;
}

bool has_word(std::string_view code, std::string_view word) {
  for (std::size_t at = code.find(word); at != kNone; at = code.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    if ((at == 0 || !is_word(code[at - 1])) && (end == code.size() || !is_word(code[end])))
      return true;
  }
  return false;
}

std::string with_enables(std::string_view wgsl) {
  const std::string code = without_comments(wgsl);
  return directives(missing_extensions(code, enable_lists(code))).append(wgsl);
}

FinishedText finish_text(std::string rendered) {
  const std::string code = without_comments(rendered);
  const auto lists = enable_lists(code);
  const auto missing = missing_extensions(code, lists);
  FinishedText text{std::move(rendered), {}};
  if (!missing.empty()) text.wgsl.insert(0, directives(missing));
  text.wgsl.shrink_to_fit();
  for (const auto& [extension, feature] : kFeatures) {
    if (is_enabled(lists, extension) || std::ranges::find(missing, extension) != missing.end())
      text.features.emplace_back(feature);
  }
  return text;
}

std::vector<std::string> enabled_features(std::string_view code) {
  const auto lists = enable_lists(code);
  std::vector<std::string> features;
  for (const auto& [extension, feature] : kFeatures) {
    if (is_enabled(lists, extension)) features.emplace_back(feature);
  }
  return features;
}

Status check_opaque_int64(std::string_view code, std::string_view name) {
  const Places places(code);
  std::vector<std::string_view> names = {
      name};  // the variable, then locals that hold one of its elements
  std::set<std::string_view> known = {name};
  for (std::size_t i = 0; i < names.size(); ++i) {
    for (const std::size_t at : places.of(names[i])) {
      if (at > 0 && code[at - 1] == '.') continue;
      std::size_t end = at + names[i].size();
      const std::size_t next = skip_blanks(code, end);
      if (i == 0) {
        if (next >= code.size() || code[next] != '[')
          continue;  // its declaration, or `arrayLength(&name)`
        end = places.behind_bracket(next);
      } else if (next < code.size() && code[next] == ':') {
        continue;
      }
      if (!is_whole_use(code, at, end)) {
        return failure(
            "plan/rule",
            "the shader computes with '" + std::string(name) +
                "', a tensor of opaque int64; it may only copy or select whole elements");
      }
      const std::string_view local = places.receiver(at);
      if (!local.empty() && known.insert(local).second) names.push_back(local);
    }
  }
  return {};
}

}  // namespace wgk::planning
