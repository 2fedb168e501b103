// SPDX-License-Identifier: Apache-2.0
#include "expr/filters.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "expr/members.h"
#include "expr/operators.h"
#include "expr/sorting.h"
#include "expr/text.h"
#include "expr/value_access.h"

namespace wgk::expr {
namespace {

bool unknown(CallContext& call, std::string_view name, const Value& operand) {
  return call.fail("no filter '" + std::string(name) + "' for " + std::string(kind_name(operand)));
}

bool is_int(const Value& value) {
  const Number* number = value.if_number();
  return number != nullptr && !number->is_float;
}

// Set semantics of JavaScript: NaN equals itself, null and undefined are the same.
std::string unique_key(const Value& value) {
  if (is_nullish(value)) return "u";
  switch (kind_of(value)) {
    case Kind::kBool: return *value.if_bool() ? "t" : "f";
    case Kind::kNumber: {
      const double number = value.if_number()->value == 0 ? 0 : value.if_number()->value;
      return "n" + (std::isnan(number)
                        ? std::string("an")
                        : std::string(reinterpret_cast<const char*>(&number), sizeof number));
    }
    case Kind::kString: return "s" + *value.if_string();
    default:
      return "p" + std::to_string(reinterpret_cast<std::uintptr_t>(ValueAccess::identity(value)));
  }
}

bool unique(CallContext& call, const Array& array, Value& operand) {
  std::unordered_set<std::string> seen;  // membership only
  std::vector<Value> items;
  for (const Value& item : array.items) {
    if (item.is_hole()) return call.fail("a list with an empty place has no unique items");
    std::string key = unique_key(item);
    if (!call.charge_text(key.size())) return false;
    if (seen.insert(std::move(key)).second) items.push_back(item);
  }
  operand = Value::list(std::move(items));
  return true;
}

bool join(CallContext& call, const Array& array, std::string_view separator, Value& operand) {
  std::string text;
  for (std::size_t i = 0; i < array.items.size(); ++i) {
    const Value& item = array.items[i];
    const std::size_t before = text.size();
    if (i != 0) text += separator;
    if (item.is_hole()) return call.fail("a list with an empty place cannot be joined");
    if (!is_nullish(item) && !append_raw(call, item, text)) return false;
    if (!call.charge_text(text.size() - before)) return false;
  }
  if (!call.charge_text(text.size())) return false;
  operand = Value(std::move(text));
  return true;
}

bool sort(CallContext& call, const Array& array, bool reverse, bool case_sensitive,
          const std::string* path, Value& operand) {
  std::vector<SortItem> items;
  for (const Value& item : array.items) {
    Value key;
    if (path != nullptr && !value_at_path(call, item, *path, key)) return false;
    items.push_back({path == nullptr ? item : std::move(key), item});
  }
  if (!sort_values(call, items, case_sensitive, reverse)) return false;
  std::vector<Value> sorted;
  for (SortItem& item : items) sorted.push_back(std::move(item.item));
  operand = Value::list(std::move(sorted));
  return true;
}

bool list_filter(CallContext& call, Filter filter, std::string_view name, Value& operand) {
  const Value keep = operand;
  const Array& array = *keep.if_array();
  if (!call.charge(array.items.size())) return false;
  const auto place = [&](bool last) {
    return array.items.empty() ? Value(Hole{}) : (last ? array.items.back() : array.items.front());
  };
  switch (filter) {
    case Filter::kList: return true;
    case Filter::kFirst: operand = place(false); return true;
    case Filter::kLast: operand = place(true); return true;
    case Filter::kLength:
      operand = Value::integer(static_cast<double>(array.items.size()));
      return true;
    case Filter::kReverse:
      operand = Value::list(std::vector<Value>(array.items.rbegin(), array.items.rend()));
      return true;
    case Filter::kSort: return sort(call, array, false, false, nullptr, operand);
    case Filter::kJoin: return join(call, array, "", operand);
    case Filter::kUnique: return unique(call, array, operand);
    case Filter::kString: {
      std::string text;
      if (!append_printed(call, keep, text) || !call.charge_text(text.size())) return false;
      operand = Value(std::move(text));
      return true;
    }
    default: return unknown(call, name, operand);
  }
}

bool indent(CallContext& call, double width, bool first, bool blank, Value& operand) {
  const std::string& text = *operand.if_string();
  if (!(width >= 0 && width < 1e9) && !std::isnan(width))
    return call.fail("indent needs a width from 0 on");
  const std::string padding(
      std::isnan(width)
          ? 0
          : std::min<std::size_t>(static_cast<std::size_t>(width), std::size_t{1} << 26),
      ' ');
  const auto lines = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')) + 1;
  if (!call.charge(lines) || !call.charge_text(text.size() + lines * padding.size())) return false;
  std::string out;
  std::size_t at = 0;
  for (std::size_t i = 0; i < lines; ++i) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    if (i != 0) out += '\n';
    const bool plain = (i == 0 && !first) || (end == at && !blank);
    if (!plain) out += padding;
    out.append(text, at, end - at);
    at = end + 1;
  }
  operand = Value(std::move(out));
  return true;
}

bool text_filter(CallContext& call, Filter filter, std::string_view name, Value& operand) {
  const std::string* text = operand.if_string();
  if (filter == Filter::kJoin || filter == Filter::kString) return true;
  if (filter == Filter::kInt || filter == Filter::kFloat) {
    const std::string_view digits = text == nullptr ? std::string_view() : std::string_view(*text);
    const double number = filter == Filter::kInt ? parse_int(digits) : parse_float(digits);
    operand = Number{std::isnan(number) ? 0 : number, filter == Filter::kFloat};
    return true;
  }
  if (text == nullptr) return unknown(call, name, operand);
  if (!call.charge_text(text->size())) return false;
  switch (filter) {
    case Filter::kLength:
      operand = Value::integer(static_cast<double>(utf16_length(*text)));
      return true;
    case Filter::kUpper: operand = Value(to_upper(*text)); return true;
    case Filter::kLower: operand = Value(to_lower(*text)); return true;
    case Filter::kTitle: operand = Value(to_title(*text)); return true;
    case Filter::kCapitalize: operand = Value(capitalized(*text)); return true;
    case Filter::kTrim: operand = Value(std::string(trim_end(trim_start(*text)))); return true;
    case Filter::kIndent: return indent(call, 4, false, false, operand);
    default: return unknown(call, name, operand);
  }
}

bool number_filter(CallContext& call, Filter filter, std::string_view name, Value& operand) {
  const Number number = *operand.if_number();
  switch (filter) {
    case Filter::kAbs: operand = Number{std::fabs(number.value), number.is_float}; return true;
    case Filter::kInt: operand = Number{std::floor(number.value), false}; return true;
    case Filter::kFloat: operand = Number{number.value, true}; return true;
    case Filter::kString: {
      std::string text;
      if (!append_printed(call, operand, text)) return false;
      operand = Value(std::move(text));
      return true;
    }
    default: return unknown(call, name, operand);
  }
}

bool bool_filter(CallContext& call, Filter filter, std::string_view name, Value& operand) {
  const bool flag = *operand.if_bool();
  switch (filter) {
    case Filter::kBool: return true;
    case Filter::kInt: operand = Number{flag ? 1.0 : 0.0, false}; return true;
    case Filter::kFloat: operand = Number{flag ? 1.0 : 0.0, true}; return true;
    case Filter::kString: operand = Value(flag ? "true" : "false"); return true;
    default: return unknown(call, name, operand);
  }
}

// Filters of objects are their methods.
bool object_filter(CallContext& call, Filter filter, std::string_view name, Arguments* arguments,
                   Value& operand) {
  if (filter == Filter::kLength && arguments == nullptr) {
    operand = Value::integer(static_cast<double>(operand.if_object()->members.size()));
    return true;
  }
  const Native method = find_method(operand, name);
  if (method == nullptr) return unknown(call, name, operand);
  const Value object = operand;
  std::vector<Value> positional;
  if (arguments != nullptr) {
    positional = std::move(arguments->positional);
    if (!arguments->keywords.empty()) {
      positional.emplace_back(
          std::make_shared<Object>(std::move(arguments->keywords), Object::Kind::kKeywords));
    }
  }
  return method(call, object, positional, operand);
}

bool json_filter(CallContext& call, const JsonFormat& format, Value& operand) {
  std::string text;
  bool textless = false;
  if (!append_json(call, operand, format, text, textless) || !call.charge_text(text.size()))
    return false;
  operand = textless ? Value::textless_string() : Value(std::move(text));
  return true;
}

bool tojson_with(CallContext& call, const Arguments& arguments, Value& operand) {
  JsonFormat format;
  const Value* indentation = arguments.find_keyword("indent");
  if (indentation != nullptr && !indentation->is_null()) {
    if (!is_int(*indentation)) return call.fail("indent of tojson must be an int");
    format.indent =
        std::isnan(indentation->if_number()->value) ? 0 : indentation->if_number()->value;
  }
  for (const auto& [keyword, flag] :
       {std::pair{"ensure_ascii", &format.ascii}, {"sort_keys", &format.sort_keys}}) {
    const Value* given = arguments.find_keyword(keyword);
    if (given == nullptr) continue;
    if (given->if_bool() == nullptr)
      return call.fail(std::string(keyword) + " of tojson must be a bool");
    *flag = *given->if_bool();
  }
  const Value* separators = arguments.find_keyword("separators");
  if (separators != nullptr && !separators->is_null()) {
    const Array* pair = separators->if_array();
    const bool texts = pair != nullptr && pair->items.size() == 2 &&
                       pair->items[0].if_string() != nullptr &&
                       pair->items[1].if_string() != nullptr;
    if (!texts) return call.fail("separators of tojson must be two strings");
    format.has_separators = true;
    format.item_separator = *pair->items[0].if_string();
    format.key_separator = *pair->items[1].if_string();
  }
  return json_filter(call, format, operand);
}

bool join_with(CallContext& call, std::string_view name, const Arguments& arguments,
               Value& operand) {
  const Value* separator = arguments.find(0, "separator");
  if (separator != nullptr && separator->if_string() == nullptr)
    return call.fail("join needs a string as separator");
  const std::string between = separator == nullptr ? std::string() : *separator->if_string();
  const Value keep = operand;
  if (const Array* array = keep.if_array()) return join(call, *array, between, operand);
  const std::string* text = keep.if_string();
  if (text == nullptr) return unknown(call, name, operand);
  const std::vector<std::string_view> points = code_points(*text);
  if (!call.charge(points.size()) ||
      !call.charge_text(text->size() + points.size() * between.size()))
    return false;
  std::string joined;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (i != 0) joined += between;
    joined += points[i];
  }
  operand = Value(std::move(joined));
  return true;
}

bool convert_with(CallContext& call, Filter filter, std::string_view name,
                  const Arguments& arguments, Value& operand) {
  const bool to_int = filter == Filter::kInt;
  if (operand.is_string()) {
    const std::string* text = operand.if_string();
    const std::string_view digits = text == nullptr ? std::string_view() : std::string_view(*text);
    const double number = to_int ? parse_int(digits) : parse_float(digits);
    const Value* otherwise = arguments.find(0, "default");
    if (!std::isnan(number)) {
      operand = Number{number, !to_int};
    } else {
      operand = otherwise == nullptr ? Value(Number{0, !to_int}) : Value(*otherwise);
    }
    return true;
  }
  if (operand.if_number() != nullptr) return true;
  if (const bool* flag = operand.if_bool()) {
    operand = Number{*flag ? 1.0 : 0.0, !to_int};
    return true;
  }
  return unknown(call, name, operand);
}

bool default_with(CallContext& call, const Arguments& arguments, Value& operand) {
  const Value* otherwise = arguments.find(0, "");
  const Value* flag = arguments.find(1, "boolean");
  if (flag != nullptr && flag->if_bool() == nullptr)
    return call.fail("the flag of default must be a bool");
  const bool by_truth = flag != nullptr && *flag->if_bool();
  if (by_truth && operand.is_hole()) return call.fail("an empty place has no truth");
  if (operand.is_undefined() || (by_truth && !is_true(operand))) {
    operand = otherwise == nullptr ? Value("") : Value(*otherwise);
  }
  return true;
}

bool sort_with(CallContext& call, const Arguments& arguments, Value& operand) {
  const Value* reverse = arguments.find(0, "reverse");
  const Value* case_sensitive = arguments.find(1, "case_sensitive");
  const Value* attribute = arguments.find(2, "attribute");
  if (reverse != nullptr && reverse->if_bool() == nullptr)
    return call.fail("reverse of sort must be a bool");
  if (case_sensitive != nullptr && case_sensitive->if_bool() == nullptr) {
    return call.fail("case_sensitive of sort must be a bool");
  }
  std::string path;
  const bool by_path = attribute != nullptr && !attribute->is_null();
  if (by_path) {
    if (!is_int(*attribute) && attribute->if_string() == nullptr) {
      return call.fail("attribute of sort must be a string, an int or null");
    }
    if (!append_raw(call, *attribute, path)) return false;
  }
  const auto flag = [](const Value* value) { return value != nullptr && *value->if_bool(); };
  const Value keep = operand;
  if (!call.charge(keep.if_array()->items.size())) return false;
  return sort(call, *keep.if_array(), flag(reverse), flag(case_sensitive),
              by_path ? &path : nullptr, operand);
}

bool select_with(CallContext& call, Filter filter, std::string_view name,
                 const Arguments& arguments, bool all_literal, Value& operand) {
  const Value keep = operand;
  const std::vector<Value>& items = keep.if_array()->items;
  if (!call.charge(items.size())) return false;
  const auto is_object = [](const Value& item) { return item.if_object() != nullptr; };
  if (!std::all_of(items.begin(), items.end(), is_object)) {
    return call.fail(std::string(name) + " needs a list of objects");
  }
  if (!all_literal)
    return call.fail("the arguments of " + std::string(name) + " must be string literals");
  const std::vector<Value>& given = arguments.positional;
  Test test = Test::kUnknown;
  if (given.size() > 1) {
    test = test_from_name(*given[1].if_string());
    if (test == Test::kUnknown) return call.fail("unknown test '" + *given[1].if_string() + "'");
  }
  std::vector<Value> kept;
  for (const Value& item : items) {
    if (given.empty()) return call.fail(std::string(name) + " needs the name of a member");
    if (!charge_search(call, *item.if_object(), *given[0].if_string())) return false;
    const Value* member = item.if_object()->find(*given[0].if_string());
    bool passes = false;
    if (member != nullptr && !member->is_hole()) {
      const Value* argument = given.size() > 2 ? &given[2] : nullptr;
      if (given.size() < 2) {
        passes = is_true(*member);
      } else if (!apply_test(call, test, *given[1].if_string(), *member, argument, passes)) {
        return false;
      }
    }
    if (passes == (filter == Filter::kSelectattr)) kept.push_back(item);
  }
  operand = Value::list(std::move(kept));
  return true;
}

bool map_with(CallContext& call, const Arguments& arguments, Value& operand) {
  const auto has_attribute = [](const auto& keyword) { return keyword.first == "attribute"; };
  if (std::none_of(arguments.keywords.begin(), arguments.keywords.end(), has_attribute)) {
    return call.fail("map works with attribute= only");
  }
  const Value* attribute = arguments.find_keyword("attribute");
  if (attribute == nullptr || attribute->if_string() == nullptr)
    return call.fail("attribute of map must be a string");
  const Value* otherwise = arguments.find_keyword("default");
  const Value keep = operand;
  if (!call.charge(keep.if_array()->items.size())) return false;
  std::vector<Value> mapped;
  for (const Value& item : keep.if_array()->items) {
    if (item.if_object() == nullptr) return call.fail("map needs a list of objects");
    Value value;
    if (!value_at_path(call, item, *attribute->if_string(), value)) return false;
    mapped.push_back(value.is_undefined() && otherwise != nullptr ? Value(*otherwise)
                                                                  : std::move(value));
  }
  operand = Value::list(std::move(mapped));
  return true;
}

bool text_filter_with(CallContext& call, Filter filter, std::string_view name, Arguments& arguments,
                      Value& operand) {
  if (operand.if_string() == nullptr) return unknown(call, name, operand);
  if (filter == Filter::kReplace) {
    std::vector<Value> positional = std::move(arguments.positional);
    positional.emplace_back(
        std::make_shared<Object>(std::move(arguments.keywords), Object::Kind::kKeywords));
    const Value text = operand;
    return replace_method(call, text, positional, operand);
  }
  if (filter != Filter::kIndent) return unknown(call, name, operand);
  const Value* width = arguments.find(0, "width");
  const Value* first = arguments.find(1, "first");
  const Value* blank = arguments.find(2, "blank");
  if (width != nullptr && !is_int(*width)) return call.fail("the width of indent must be an int");
  const auto flag = [](const Value* value) { return value != nullptr && is_raw_true(*value); };
  return indent(call, width == nullptr ? 4 : width->if_number()->value, flag(first), flag(blank),
                operand);
}

}  // namespace

const Value* Arguments::find_keyword(std::string_view keyword) const {
  for (const auto& [name, value] : keywords) {
    if (name == keyword) return value.is_hole() ? nullptr : &value;
  }
  return nullptr;
}

const Value* Arguments::find(std::size_t position, std::string_view keyword) const {
  if (position < positional.size() && !positional[position].is_hole()) return &positional[position];
  return keyword.empty() ? nullptr : find_keyword(keyword);
}

bool apply_bare_filter(CallContext& call, Filter filter, std::string_view name, Value& operand) {
  if (filter == Filter::kSafe) return true;
  if (operand.is_hole()) return call.fail("an empty place cannot be filtered");
  if (filter == Filter::kTojson) return json_filter(call, {}, operand);
  switch (kind_of(operand)) {
    case Kind::kArray: return list_filter(call, filter, name, operand);
    case Kind::kString: return text_filter(call, filter, name, operand);
    case Kind::kNumber: return number_filter(call, filter, name, operand);
    case Kind::kBool: return bool_filter(call, filter, name, operand);
    case Kind::kObject:
      if (is_map(operand)) return object_filter(call, filter, name, nullptr, operand);
      return unknown(call, name, operand);
    default: return unknown(call, name, operand);
  }
}

bool apply_call_filter(CallContext& call, Filter filter, std::string_view name,
                       Arguments& arguments, bool all_literal, Value& operand) {
  switch (filter) {
    case Filter::kTojson:
      if (operand.is_hole()) break;
      return tojson_with(call, arguments, operand);
    case Filter::kJoin: return join_with(call, name, arguments, operand);
    case Filter::kInt:
    case Filter::kFloat: return convert_with(call, filter, name, arguments, operand);
    case Filter::kDefault: return default_with(call, arguments, operand);
    default: break;
  }
  if (operand.if_array() != nullptr) {
    switch (filter) {
      case Filter::kSort: return sort_with(call, arguments, operand);
      case Filter::kSelectattr:
      case Filter::kRejectattr:
        return select_with(call, filter, name, arguments, all_literal, operand);
      case Filter::kMap: return map_with(call, arguments, operand);
      default: return unknown(call, name, operand);
    }
  }
  if (operand.is_string()) return text_filter_with(call, filter, name, arguments, operand);
  if (is_map(operand)) return object_filter(call, filter, name, &arguments, operand);
  return unknown(call, name, operand);
}

}  // namespace wgk::expr
