// SPDX-License-Identifier: Apache-2.0
#include "json/cursor.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/number.h"
#include "base/suggest.h"
#include "base/text.h"

namespace wgk::json {
namespace {

// What a message says about a value that was found: its type, and itself where that is short.
std::string describe(const Value& value) {
  if (value.is_null()) return "null";
  if (const bool* flag = value.if_bool()) return *flag ? "true" : "false";
  if (const double* number = value.if_number()) return number_text(*number);
  if (const std::string* text = value.if_string()) {
    constexpr std::size_t kShown = 40;
    return "'" + shortened(*text, kShown) + "'";
  }
  return value.is_array() ? "an array" : "an object";
}

std::string member_path(const std::string& path, std::string_view key) {
  const bool plain = !key.empty() && std::all_of(key.begin(), key.end(), [](unsigned char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  });
  // Paths are copied into every value below: a name of any length must not come along.
  constexpr std::size_t kShown = 200;
  std::string text;
  text.reserve(path.size() + std::min(key.size(), kShown) + 7);
  text += path;
  if (key.size() > kShown) {
    text.append("['").append(shortened(key, kShown)).append("']");
  } else if (!plain) {
    text.append("['").append(key).append("']");
  } else {
    if (!path.empty()) text += '.';
    text += key;
  }
  return text;
}

}  // namespace

std::unexpected<Error> Cursor::fail(std::string message) const {
  return failure(code_, path_.empty() ? std::move(message) : path_ + ": " + message);
}

std::unexpected<Error> Cursor::fail_value(std::string expected) const {
  return fail(std::move(expected) + ", got " + describe(*value_));
}

std::unexpected<Error> Cursor::fail_unknown(std::string message, std::string_view name,
                                            std::span<const std::string_view> known) const {
  constexpr std::size_t kFew = 12;
  std::string hint = suggestion(name, known);
  if (known.size() <= kFew || hint.empty()) {
    message += known.empty() ? "; none is known" : "; known are ";
    for (std::size_t i = 0; i < known.size(); ++i)
      message.append(i == 0 ? "" : ", ").append(known[i]);
  }
  std::unexpected<Error> error = fail(std::move(message));
  error.error().hint = std::move(hint);
  return error;
}

std::unexpected<Error> Cursor::fail_unknown(std::string message, std::string_view name,
                                            std::span<const std::string> known) const {
  return fail_unknown(std::move(message), name,
                      std::vector<std::string_view>(known.begin(), known.end()));
}

Result<std::string> Cursor::string() const {
  if (const std::string* text = value_->if_string()) return *text;
  return fail("expected a string, got " + describe(*value_));
}

Result<double> Cursor::number() const {
  const double* number = value_->if_number();
  if (number == nullptr) return fail("expected a number, got " + describe(*value_));
  if (!std::isfinite(*number)) return fail("expected a finite number, got " + describe(*value_));
  return *number;
}

Result<std::int64_t> Cursor::integer(std::int64_t min, std::int64_t max) const {
  constexpr double kExact = 9007199254740992.0;
  const double* number = value_->if_number();
  if (number == nullptr || *number != std::trunc(*number) || std::fabs(*number) > kExact) {
    return fail("expected an integer, got " + describe(*value_));
  }
  const auto value = static_cast<std::int64_t>(*number);
  if (value < min || value > max) {
    return fail("expected an integer from " + std::to_string(min) + " to " + std::to_string(max) +
                ", got " + std::to_string(value));
  }
  return value;
}

Result<bool> Cursor::boolean() const {
  if (const bool* flag = value_->if_bool()) return *flag;
  return fail("expected true or false, got " + describe(*value_));
}

Result<std::vector<Cursor>> Cursor::items() const {
  const Value::Array* array = value_->if_array();
  if (array == nullptr) return fail("expected an array, got " + describe(*value_));
  std::vector<Cursor> cursors;
  cursors.reserve(array->size());
  for (std::size_t i = 0; i < array->size(); ++i) {
    cursors.emplace_back((*array)[i], path_ + "[" + std::to_string(i) + "]", code_);
  }
  return cursors;
}

Result<std::vector<std::pair<std::string, Cursor>>> Cursor::members() const {
  const Value::Object* object = value_->if_object();
  if (object == nullptr) return fail("expected an object, got " + describe(*value_));
  std::vector<std::pair<std::string, Cursor>> cursors;
  cursors.reserve(object->size());
  for (const Value::Member& member : *object) {
    cursors.emplace_back(member.first,
                         Cursor(member.second, member_path(path_, member.first), code_));
  }
  return cursors;
}

std::optional<Cursor> Cursor::find(std::string_view key) const {
  const Value* found = value_->find(key);
  if (found == nullptr) return std::nullopt;
  return Cursor(*found, member_path(path_, key), code_);
}

Result<Cursor> Cursor::require(std::string_view key) const {
  if (!value_->is_object()) return fail("expected an object, got " + describe(*value_));
  if (const std::optional<Cursor> found = find(key)) return *found;
  return fail("'" + std::string(key) + "' is missing");
}

Status Cursor::only(std::initializer_list<std::string_view> known) const {
  const Value::Object* object = value_->if_object();
  if (object == nullptr) return fail("expected an object, got " + describe(*value_));
  constexpr std::size_t kMostNamed = 12;
  std::string unknown;
  std::string hint;
  std::size_t count = 0;
  const std::span<const std::string_view> names(known.begin(), known.size());
  for (const Value::Member& member : *object) {
    if (std::find(names.begin(), names.end(), member.first) != names.end()) continue;
    ++count;
    if (count > kMostNamed) continue;
    unknown += (unknown.empty() ? "" : ", ") + describe(Value(member.first));
    if (hint.empty()) hint = suggestion(member.first, names);
  }
  if (count == 0) return {};
  if (count > kMostNamed) unknown += " and " + std::to_string(count - kMostNamed) + " more";
  std::unexpected<Error> error = fail((count == 1 ? "unknown key " : "unknown keys ") + unknown);
  error.error().hint = std::move(hint);
  return error;
}

}  // namespace wgk::json
