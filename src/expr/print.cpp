// SPDX-License-Identifier: Apache-2.0
// Values as text: printing, JavaScript's toString, and JSON.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/number.h"
#include "expr/operators.h"
#include "expr/text.h"
#include "expr/value_access.h"
#include "json/json.h"

namespace wgk::expr {
namespace {

constexpr std::size_t kDeepest = 200;  // lists inside lists that are walked

void append_escaped_ascii(std::string& out, std::string_view text) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string json;
  json::append_quoted(json, text);
  for (const std::string_view point : code_points(json)) {
    if (point.size() == 1 && static_cast<unsigned char>(point[0]) < 0x7f) {
      out += point;
      continue;
    }
    for (std::size_t unit = 0; unit < utf16_length(point); ++unit) {
      const std::string half = utf16_at(point, unit).value_or(std::string(point));
      std::uint32_t value = static_cast<unsigned char>(half[0]);
      if (half.size() == 2)
        value = ((value & 31U) << 6) | (static_cast<unsigned char>(half[1]) & 63U);
      if (half.size() == 3) {
        value = ((value & 15U) << 12) | ((static_cast<unsigned char>(half[1]) & 63U) << 6) |
                (static_cast<unsigned char>(half[2]) & 63U);
      }
      out += "\\u";
      for (int shift = 12; shift >= 0; shift -= 4) out += kDigits[(value >> shift) & 15U];
    }
  }
}

// JSON.stringify of a text: lone surrogates are escaped.
void append_json_text(std::string& out, std::string_view text, bool ascii) {
  if (ascii) {
    append_escaped_ascii(out, text);
    return;
  }
  if (text.find('\xed') == std::string_view::npos) {
    json::append_quoted(out, text);
    return;
  }
  std::string quoted;
  json::append_quoted(quoted, well_formed(std::string(text)));
  out += quoted;
}

class JsonPrinter {
 public:
  JsonPrinter(CallContext& call, const JsonFormat& format, std::string& out)
      : call_(call), format_(format), out_(out) {
    if (format.has_separators) {
      item_ = format.item_separator;
      key_ = format.key_separator;
    } else {
      item_ = format.indent == 0 ? ", " : ",";
      key_ = ": ";
    }
  }

  // False after an error. `textless` tells that the reference has no text for the value at all.
  bool print(const Value& value, std::size_t depth, bool& textless) {
    textless = false;
    switch (kind_of(value)) {
      case Kind::kUndefined: out_ += format_.undefined_is_null ? "null" : "undefined"; return true;
      case Kind::kNull: out_ += "null"; return true;
      case Kind::kBool: out_ += *value.if_bool() ? "true" : "false"; return true;
      case Kind::kNumber:
        if (std::isfinite(value.if_number()->value)) {
          append_number(out_, value.if_number()->value);
        } else {
          out_ += "null";
        }
        return true;
      case Kind::kString:
        textless = value.if_string() == nullptr;
        if (textless && format_.ascii)
          return call_.fail("a string without text cannot be printed as JSON");
        if (textless) return true;
        append_json_text(out_, *value.if_string(), format_.ascii);
        return call_.charge_text(value.if_string()->size());
      default: break;
    }
    if (!call_.charge(1)) return false;
    if (depth >= kDeepest) return call_.fail_depth();
    const Array* array = value.if_array();
    if (array != nullptr && !array->is_tuple) return print_list(*array, depth);
    const Object* object = value.if_object();
    if (object != nullptr && object->kind != Object::Kind::kKeywords)
      return print_object(*object, depth);
    return call_.fail(std::string(kind_name(value)) + " cannot be printed");
  }

 private:
  bool new_line(std::size_t depth) {
    const double blanks = format_.indent * static_cast<double>(depth);
    if (!(blanks >= 0 && blanks < 1e9))
      return call_.fail("an indentation must be an int from 0 on");
    if (!call_.charge_text(static_cast<std::size_t>(blanks))) return false;
    out_ += '\n';
    out_.append(static_cast<std::size_t>(blanks), ' ');
    return true;
  }

  bool print_list(const Array& array, std::size_t depth) {
    const bool spread = format_.indent != 0;
    bool textless = false;
    out_ += format_.open;
    if (spread && !new_line(depth + 1)) return false;
    for (std::size_t i = 0; i < array.items.size(); ++i) {
      if (i != 0) {
        out_ += item_;
        if (spread && !new_line(depth + 1)) return false;
      }
      if (!print(array.items[i], depth + 1, textless)) return false;
    }
    if (spread && !new_line(depth)) return false;
    out_ += format_.close;
    return true;
  }

  bool print_object(const Object& object, std::size_t depth) {
    std::vector<const std::pair<std::string, Value>*> members;
    for (const auto& member : object.members) members.push_back(&member);
    if (format_.sort_keys) {
      std::size_t bytes = 0;
      for (const auto& member : object.members) bytes += member.first.size();
      if (!call_.charge(bytes)) return false;
      std::stable_sort(members.begin(), members.end(), [](const auto* a, const auto* b) {
        return locale_compare(a->first, b->first) < 0;
      });
    }
    const bool spread = format_.indent != 0;
    bool textless = false;
    out_ += '{';
    for (std::size_t i = 0; i < members.size(); ++i) {
      if (i != 0) out_ += item_;
      if (spread && !new_line(depth + 1)) return false;
      append_json_text(out_, members[i]->first, format_.ascii);
      out_ += key_;
      if (!print(members[i]->second, depth + 1, textless)) return false;
      if (textless) out_ += "undefined";
    }
    if (spread && !new_line(depth)) return false;
    out_ += '}';
    return true;
  }

  CallContext& call_;
  const JsonFormat& format_;
  std::string& out_;
  std::string item_;
  std::string key_;
};

}  // namespace

bool append_json(CallContext& call, const Value& value, const JsonFormat& format, std::string& out,
                 bool& textless) {
  return JsonPrinter(call, format, out).print(value, 0, textless);
}

bool append_printed(CallContext& call, const Value& value, std::string& out) {
  switch (kind_of(value)) {
    case Kind::kUndefined:
    case Kind::kNull: out += "undefined"; return true;
    case Kind::kBool: out += *value.if_bool() ? "true" : "false"; return true;
    case Kind::kNumber:
      append_tagged_number(out, value.if_number()->value, value.if_number()->is_float);
      return true;
    case Kind::kString:
      out += value.if_string() == nullptr ? std::string_view("undefined") : *value.if_string();
      return true;
    case Kind::kArray:
    case Kind::kObject: {
      JsonFormat format;
      format.undefined_is_null = false;
      bool textless = false;
      return append_json(call, value, format, out, textless);
    }
    case Kind::kFunction: return call.fail("a function cannot be printed");
    case Kind::kHole: return call.fail("an empty place cannot be printed");
  }
  return false;
}

bool append_raw(CallContext& call, const Value& value, std::string& out) {
  switch (kind_of(value)) {
    case Kind::kNumber: append_number(out, value.if_number()->value); return true;
    case Kind::kArray: break;
    case Kind::kObject: out += "[object Map]"; return true;
    case Kind::kString:
      if (value.if_string() == nullptr) return call.fail("a string without text cannot be joined");
      [[fallthrough]];
    default: return append_printed(call, value, out);
  }
  const std::vector<Value>& items = value.if_array()->items;
  if (!call.charge(items.size())) return false;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (i != 0) out += ',';
    if (items[i].is_hole()) continue;
    const std::size_t before = out.size();
    if (!append_printed(call, items[i], out) || !call.charge_text(out.size() - before))
      return false;
  }
  return true;
}

}  // namespace wgk::expr
