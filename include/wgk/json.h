// SPDX-License-Identifier: Apache-2.0
// A JSON value: attributes, arguments, plans and reports cross the library's edge as this type.
#pragma once

#include <concepts>
#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace wgk {

// Null, bool, number (an IEEE double, as in JavaScript), string, array or object. Objects keep the
// order of their keys.
class Json {
 public:
  using Array = std::vector<Json>;
  using Member = std::pair<std::string, Json>;
  using Object = std::vector<Member>;

  Json() = default;
  // Copies the value first and moves it in: where memory runs out in between, the copy of a
  // std::variant (libstdc++ 16) destroys an alternative that it never made.
  Json(const Json& other);
  Json& operator=(const Json& other) { return *this = Json(other); }
  Json(Json&&) noexcept = default;
  Json& operator=(Json&&) noexcept = default;
  ~Json() = default;
  Json(std::nullptr_t) {}
  Json(bool value) : data_(value) {}
  template <class N>
    requires(std::is_arithmetic_v<N> && !std::same_as<N, bool>)
  Json(N value) : data_(static_cast<double>(value)) {}
  Json(const char* value) : data_(std::string(value)) {}
  Json(std::string_view value) : data_(std::string(value)) {}
  Json(std::string value) : data_(std::move(value)) {}
  Json(Array value) : data_(std::move(value)) {}
  Json(Object value) : data_(std::move(value)) {}
  static Json array(std::initializer_list<Json> items) { return Json(Array(items)); }
  static Json object(std::initializer_list<Member> members) { return Json(Object(members)); }

  bool is_null() const { return std::holds_alternative<std::monostate>(data_); }
  bool is_bool() const { return std::holds_alternative<bool>(data_); }
  bool is_number() const { return std::holds_alternative<double>(data_); }
  bool is_string() const { return std::holds_alternative<std::string>(data_); }
  bool is_array() const { return std::holds_alternative<Array>(data_); }
  bool is_object() const { return std::holds_alternative<Object>(data_); }

  // Each is null when the value has another type.
  const bool* if_bool() const { return std::get_if<bool>(&data_); }
  const double* if_number() const { return std::get_if<double>(&data_); }
  const std::string* if_string() const { return std::get_if<std::string>(&data_); }
  const Array* if_array() const { return std::get_if<Array>(&data_); }
  Array* if_array() { return std::get_if<Array>(&data_); }
  const Object* if_object() const { return std::get_if<Object>(&data_); }
  Object* if_object() { return std::get_if<Object>(&data_); }

  // The member of an object; null when absent or when this is no object.
  const Json* find(std::string_view key) const;
  // Sets or appends a member; turns a null value into an object first.
  Json& set(std::string key, Json value);

  bool operator==(const Json&) const = default;

 private:
  std::variant<std::monostate, bool, double, std::string, Array, Object> data_;
};

}  // namespace wgk
