// SPDX-License-Identifier: Apache-2.0
// Methods of strings and objects.
#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "expr/members.h"
#include "expr/operators.h"
#include "expr/sorting.h"
#include "expr/text.h"
#include "expr/value_access.h"

namespace wgk::expr {
namespace {

using Args = std::span<const Value>;

const std::string& text_of(const Value& bound) { return *bound.if_string(); }

// A missing argument and an empty place are the same.
const Value* argument(Args args, std::size_t index) {
  return index < args.size() && !args[index].is_hole() ? &args[index] : nullptr;
}

bool upper_method(CallContext&, const Value& bound, Args, Value& result) {
  result = Value(to_upper(text_of(bound)));
  return true;
}
bool lower_method(CallContext&, const Value& bound, Args, Value& result) {
  result = Value(to_lower(text_of(bound)));
  return true;
}
bool strip_method(CallContext&, const Value& bound, Args, Value& result) {
  result = Value(trim_end(trim_start(text_of(bound))));
  return true;
}
bool lstrip_method(CallContext&, const Value& bound, Args, Value& result) {
  result = Value(trim_start(text_of(bound)));
  return true;
}
bool rstrip_method(CallContext&, const Value& bound, Args, Value& result) {
  result = Value(trim_end(text_of(bound)));
  return true;
}
bool title_method(CallContext&, const Value& bound, Args, Value& result) {
  result = Value(to_title(text_of(bound)));
  return true;
}
bool capitalize_method(CallContext&, const Value& bound, Args, Value& result) {
  result = Value(capitalized(text_of(bound)));
  return true;
}

bool has_affix(CallContext& call, const Value& bound, Args args, bool at_end, Value& result) {
  const std::string& text = text_of(bound);
  const std::string name = at_end ? "endswith()" : "startswith()";
  const auto matches = [&](const std::string& affix) {
    return at_end ? text.ends_with(affix) : text.starts_with(affix);
  };
  if (args.empty()) return call.fail(name + " needs an argument");
  if (args[0].is_string()) {
    const std::string* affix = args[0].if_string();
    result = Value(matches(affix == nullptr ? "undefined" : *affix));
    return true;
  }
  const Array* list = args[0].if_array();
  if (list == nullptr) return call.fail(name + " needs a string or a list of strings");
  for (const Value& item : list->items) {
    if (!item.is_string()) return call.fail(name + " needs a list of strings");
    const std::string* affix = item.if_string();
    if (affix != nullptr && !call.charge(1 + affix->size() / 64)) return false;
    if (!matches(affix == nullptr ? "undefined" : *affix)) continue;
    result = Value(true);
    return true;
  }
  result = Value(false);
  return true;
}
bool startswith_method(CallContext& call, const Value& bound, Args args, Value& result) {
  return has_affix(call, bound, args, false, result);
}
bool endswith_method(CallContext& call, const Value& bound, Args args, Value& result) {
  return has_affix(call, bound, args, true, result);
}

bool split_method(CallContext& call, const Value& bound, Args args, Value& result) {
  const std::string& text = text_of(bound);
  const Value* separator = argument(args, 0);
  std::optional<std::string_view> between;
  if (separator != nullptr && !separator->is_null()) {
    const std::string* given = separator->if_string();
    if (given == nullptr) return call.fail("split() needs a string or null as separator");
    if (given->empty()) return call.fail("split() needs a separator that is not empty");
    between = *given;
  }
  double limit = -1;
  if (const Value* count = argument(args, 1)) {
    const Number* number = count->if_number();
    if (number == nullptr || number->is_float) return call.fail("split() needs an int as limit");
    limit = number->value;
  }
  if (!call.charge(text.size()) || !call.charge_text(text.size())) return false;
  std::vector<Value> parts;
  for (std::string& part : split(text, between, limit)) parts.emplace_back(std::move(part));
  result = Value::list(std::move(parts));
  return true;
}

bool get_method(CallContext& call, const Value& bound, Args args, Value& result) {
  if (args.empty() || !args[0].is_string()) return call.fail("get() needs a string as key");
  if (!call.charge(bound.if_object()->members.size() / 8)) return false;
  const std::string* key = args[0].if_string();
  const Value* found = key == nullptr ? nullptr : bound.if_object()->find(*key);
  const Value* otherwise = argument(args, 1);
  if (found != nullptr && !found->is_hole()) {
    result = Value(*found);
  } else {
    result = otherwise != nullptr ? *otherwise : Value(Null{});
  }
  return true;
}
bool items_method(CallContext& call, const Value& bound, Args, Value& result) {
  if (!call.charge(bound.if_object()->members.size())) return false;
  result = items_of(*bound.if_object());
  return true;
}
bool keys_method(CallContext& call, const Value& bound, Args, Value& result) {
  if (!call.charge(bound.if_object()->members.size())) return false;
  result = keys_of(*bound.if_object());
  return true;
}
bool values_method(CallContext& call, const Value& bound, Args, Value& result) {
  if (!call.charge(bound.if_object()->members.size())) return false;
  result = values_of(*bound.if_object());
  return true;
}

struct Method {
  std::string_view name;
  Native native;
};

constexpr std::array<Method, 11> kTextMethods = {{{"upper", upper_method},
                                                  {"lower", lower_method},
                                                  {"strip", strip_method},
                                                  {"lstrip", lstrip_method},
                                                  {"rstrip", rstrip_method},
                                                  {"title", title_method},
                                                  {"capitalize", capitalize_method},
                                                  {"startswith", startswith_method},
                                                  {"endswith", endswith_method},
                                                  {"split", split_method},
                                                  {"replace", replace_method}}};
constexpr std::array<Method, 5> kMapMethods = {{{"get", get_method},
                                                {"items", items_method},
                                                {"keys", keys_method},
                                                {"values", values_method},
                                                {"dictsort", dictsort_method}}};

}  // namespace

Native find_method(const Value& object, std::string_view name) {
  const auto look_up = [name](std::span<const Method> methods) -> Native {
    for (const Method& method : methods) {
      if (method.name == name) return method.native;
    }
    return nullptr;
  };
  if (object.if_string() != nullptr) return look_up(kTextMethods);
  if (is_map(object)) return look_up(kMapMethods);
  return nullptr;
}

bool replace_method(CallContext& call, const Value& bound, Args args, Value& result) {
  const std::string& text = text_of(bound);
  if (args.size() < 2) return call.fail("replace() needs two strings");
  const std::string* from = args[0].if_string();
  const std::string* to = args[1].if_string();
  if (from == nullptr || to == nullptr) return call.fail("replace() needs two strings");
  const Value* count = args.size() > 2 ? &args[2] : nullptr;
  if (count != nullptr && is_keywords(*count)) count = count->if_object()->find("count");
  double limit = std::numeric_limits<double>::infinity();
  if (count != nullptr && !count->is_null()) {
    const Number* number = count->if_number();
    if (number == nullptr || number->is_float)
      return call.fail("replace() needs an int or null as count");
    if (!(number->value < 0)) limit = number->value;
  }
  // The result can be much longer than the text: bound it before it is built.
  if (!call.charge(text.size() / 16 + 1)) return false;
  if (!call.charge_text(replaced_size(text, *from, *to, limit))) return false;
  std::string replacement = replaced(text, *from, *to, limit);
  result = Value(std::move(replacement));
  return true;
}

bool dictsort_method(CallContext& call, const Value& bound, Args args, Value& result) {
  const Object* keywords = nullptr;
  std::vector<const Value*> positional;
  for (const Value& value : args) {
    if (is_keywords(value)) {
      keywords = value.if_object();
    } else {
      positional.push_back(&value);
    }
  }
  const auto option = [&](std::size_t index, std::string_view name) -> const Value* {
    if (index < positional.size() && !positional[index]->is_hole()) return positional[index];
    return keywords == nullptr ? nullptr : keywords->find(name);
  };
  const Value* case_option = option(0, "case_sensitive");
  const Value* by_option = option(1, "by");
  const Value* reverse_option = option(2, "reverse");
  const auto flag = [](const Value* value) { return value != nullptr && *value->if_bool(); };
  if (case_option != nullptr && case_option->if_bool() == nullptr)
    return call.fail("case_sensitive must be a bool");
  std::string_view by = "key";
  if (by_option != nullptr) {
    if (by_option->if_string() == nullptr) return call.fail("by must be a string");
    by = *by_option->if_string();
  }
  if (by != "key" && by != "value") return call.fail("by must be 'key' or 'value'");
  if (reverse_option != nullptr && reverse_option->if_bool() == nullptr)
    return call.fail("reverse must be a bool");

  std::vector<SortItem> items;
  for (const auto& [key, value] : bound.if_object()->members) {
    items.push_back({by == "key" ? Value(key) : value, Value::list({Value(key), value})});
  }
  if (!sort_values(call, items, flag(case_option), flag(reverse_option))) return false;
  std::vector<Value> sorted;
  for (SortItem& item : items) sorted.push_back(std::move(item.item));
  result = Value::list(std::move(sorted));
  return true;
}

}  // namespace wgk::expr
