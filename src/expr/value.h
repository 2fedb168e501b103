// SPDX-License-Identifier: Apache-2.0
// Values of the expression language: JavaScript values, numbers tagged int or float (format.md
// b.4).
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "wgk/error.h"
#include "wgk/json.h"

namespace wgk::expr {

class Value;
struct Array;   // list or tuple; copied by reference, compared by identity
struct Object;  // ordered map with string keys; copied by reference, compared by identity
struct Function;

struct Undefined {
  bool operator==(const Undefined&) const = default;
};
struct Null {
  bool operator==(const Null&) const = default;
};
// An empty place of the reference's host language (`[] | first`): inside the engine almost every
// use is an error, outside it is undefined.
struct Hole {
  bool operator==(const Hole&) const = default;
};
// An IEEE double with the engine's tag: floats that are integral print with ".0".
struct Number {
  double value;
  bool is_float;
};

class Value {
 public:
  Value() = default;  // undefined
  Value(Null) : data_(Null{}) {}
  Value(Hole) : data_(Hole{}) {}
  template <std::same_as<bool> B>
  Value(B value) : data_(value) {}
  // As `plain`.
  template <class N>
    requires(std::is_arithmetic_v<N> && !std::same_as<N, bool>)
  Value(N value) : Value(plain(static_cast<double>(value))) {}
  Value(Number value) : data_(value) {}
  Value(std::string value) : data_(std::make_shared<const std::string>(std::move(value))) {}
  Value(std::string_view value) : Value(std::string(value)) {}
  Value(const char* value) : Value(std::string(value)) {}
  Value(std::shared_ptr<Array> value) : data_(std::move(value)) {}
  Value(std::shared_ptr<Object> value) : data_(std::move(value)) {}
  Value(std::shared_ptr<const Function> value) : data_(std::move(value)) {}

  static Value integer(double value) { return Value(Number{value, false}); }
  // As plain numbers are tagged when they enter the engine: integral ones are ints.
  static Value plain(double value);
  static Value list(std::vector<Value> items);
  static Value dims(std::span<const std::int64_t> shape);
  static Value object(std::vector<std::pair<std::string, Value>> members);
  static Value from_json(const Json& json);

  bool is_undefined() const { return std::holds_alternative<Undefined>(data_); }
  bool is_null() const { return std::holds_alternative<Null>(data_); }
  bool is_hole() const { return std::holds_alternative<Hole>(data_); }
  // Strings, the text-less one included (an index beyond a string: it prints "undefined" and is
  // undefined outside the engine).
  bool is_string() const {
    return std::holds_alternative<std::shared_ptr<const std::string>>(data_);
  }
  static Value textless_string() {
    Value value;
    value.data_ = std::shared_ptr<const std::string>();
    return value;
  }
  const bool* if_bool() const { return std::get_if<bool>(&data_); }
  const Number* if_number() const { return std::get_if<Number>(&data_); }
  const std::string* if_string() const { return target<const std::string>(); }
  const Array* if_array() const { return target<Array>(); }
  const Object* if_object() const { return target<Object>(); }
  const Function* if_function() const { return target<const Function>(); }

  // The value as it leaves the engine ("plain"): tags gone (integral floats become ints), tuples
  // are lists, deep. Lists and objects are always copies, so they equal no other list.
  Value untagged() const;
  // JSON text model: undefined and functions become null.
  Json to_json() const;

 private:
  friend struct ValueAccess;
  template <class T>
  T* target() const {
    const std::shared_ptr<T>* pointer = std::get_if<std::shared_ptr<T>>(&data_);
    return pointer == nullptr ? nullptr : pointer->get();
  }

  std::variant<Undefined, Null, bool, Number, std::shared_ptr<const std::string>,
               std::shared_ptr<Array>, std::shared_ptr<Object>, std::shared_ptr<const Function>,
               Hole>
      data_;
};

// Destruction of lists and objects is not recursive: a template can nest them as deep as it likes.
struct Array {
  explicit Array(std::vector<Value> list = {}, bool tuple = false)
      : items(std::move(list)), is_tuple(tuple) {}
  Array(const Array&) = default;
  Array& operator=(const Array&) = default;
  ~Array();

  std::vector<Value> items;
  bool is_tuple;
};

struct Object {
  enum class Kind : std::uint8_t { kMap, kNamespace, kKeywords };

  explicit Object(std::vector<std::pair<std::string, Value>> list = {}, Kind sort = Kind::kMap)
      : members(std::move(list)), kind(sort) {}
  Object(const Object&) = default;
  Object& operator=(const Object&) = default;
  ~Object();

  const Value* find(std::string_view key) const;
  // Replaces in place or appends.
  void set(std::string_view key, Value value);

  std::vector<std::pair<std::string, Value>> members;
  Kind kind;
};

}  // namespace wgk::expr
