// SPDX-License-Identifier: Apache-2.0
// Values of the expression language: JavaScript values, numbers tagged int or float (format.md b.4).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
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
// An IEEE double with the engine's tag: floats that are integral print with ".0".
struct Number {
  double value;
  bool is_float;
};

class Value {
 public:
  Value() = default;  // undefined
  Value(Null) : data_(Null{}) {}
  Value(bool value) : data_(value) {}
  Value(Number value) : data_(value) {}
  Value(std::string value) : data_(std::make_shared<const std::string>(std::move(value))) {}
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
  const bool* if_bool() const { return std::get_if<bool>(&data_); }
  const Number* if_number() const { return std::get_if<Number>(&data_); }
  const std::string* if_string() const;
  const Array* if_array() const;
  const Object* if_object() const;
  const Function* if_function() const;

  // The value as it leaves the engine ("plain"): tags gone (integral floats become ints), deep.
  Value untagged() const;
  // JSON text model: undefined and functions become null.
  Json to_json() const;

 private:
  friend struct ValueAccess;
  std::variant<Undefined, Null, bool, Number, std::shared_ptr<const std::string>, std::shared_ptr<Array>, std::shared_ptr<Object>,
               std::shared_ptr<const Function>>
      data_;
};

struct Array {
  std::vector<Value> items;
  bool is_tuple = false;
};

struct Object {
  std::vector<std::pair<std::string, Value>> members;
  const Value* find(std::string_view key) const;
};

}  // namespace wgk::expr
