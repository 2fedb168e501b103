// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>

#include "base/number.h"
#include "json/json.h"

namespace wgk::json {
namespace {

bool is_scalar(const Value& value) { return !value.is_array() && !value.is_object(); }

class Writer {
 public:
  explicit Writer(Style style) : pretty_(style == Style::kPretty) {}

  void value(const Value& value, std::size_t depth) {
    if (const bool* flag = value.if_bool()) {
      out_ += *flag ? "true" : "false";
    } else if (const double* number = value.if_number()) {
      if (std::isfinite(*number)) {
        append_number(out_, *number);
      } else {
        out_ += "null";
      }
    } else if (const std::string* text = value.if_string()) {
      append_quoted(out_, *text);
    } else if (const Value::Array* items = value.if_array()) {
      array(*items, depth);
    } else if (const Value::Object* members = value.if_object()) {
      object(*members, depth);
    } else {
      out_ += "null";
    }
  }

  std::string take() {
    if (pretty_) out_ += '\n';
    return std::move(out_);
  }

 private:
  void line(std::size_t depth) {
    out_ += '\n';
    out_.append(2 * depth, ' ');
  }

  void array(const Value::Array& items, std::size_t depth) {
    const bool spread = pretty_ && !std::all_of(items.begin(), items.end(), is_scalar);
    out_ += '[';
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (i != 0) out_ += pretty_ && !spread ? ", " : ",";
      if (spread) line(depth + 1);
      value(items[i], depth + 1);
    }
    if (spread) line(depth);
    out_ += ']';
  }

  void object(const Value::Object& members, std::size_t depth) {
    const bool spread = pretty_ && !members.empty();
    out_ += '{';
    for (std::size_t i = 0; i < members.size(); ++i) {
      if (i != 0) out_ += ',';
      if (spread) line(depth + 1);
      append_quoted(out_, members[i].first);
      out_ += pretty_ ? ": " : ":";
      value(members[i].second, depth + 1);
    }
    if (spread) line(depth);
    out_ += '}';
  }

  bool pretty_;
  std::string out_;
};

}  // namespace

void append_quoted(std::string& out, std::string_view text) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  out += '"';
  for (const char c : text) {
    switch (c) {
      case '"': out += "\\\""; break;
      case '\\': out += "\\\\"; break;
      case '\b': out += "\\b"; break;
      case '\f': out += "\\f"; break;
      case '\n': out += "\\n"; break;
      case '\r': out += "\\r"; break;
      case '\t': out += "\\t"; break;
      default:
        if (static_cast<unsigned char>(c) < 0x20) {
          out += "\\u00";
          out += kDigits[static_cast<unsigned char>(c) >> 4];
          out += kDigits[static_cast<unsigned char>(c) & 15];
        } else {
          out += c;
        }
    }
  }
  out += '"';
}

std::string write(const Value& value, Style style) {
  Writer writer(style);
  writer.value(value, 0);
  return writer.take();
}

}  // namespace wgk::json
