// SPDX-License-Identifier: Apache-2.0
// Values of the expression language: JavaScript values, numbers tagged int or float (format.md
// b.4).
#pragma once

#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
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
  double value = 0;
  bool is_float = false;
};

// What a value is.
enum class Kind : std::uint8_t {
  kUndefined,
  kNull,
  kBool,
  kNumber,
  kString,
  kArray,
  kObject,
  kFunction,
  kHole
};

class Value {
 public:
  Value() = default;  // undefined
  Value(Null) : kind_(Kind::kNull) {}
  Value(Hole) : kind_(Kind::kHole) {}
  template <std::same_as<bool> B>
  Value(B value) : kind_(Kind::kBool), flag_(value) {}
  // As `plain`.
  template <class N>
    requires(std::is_arithmetic_v<N> && !std::same_as<N, bool>)
  Value(N value) : Value(plain(static_cast<double>(value))) {}
  Value(Number value) : number_(value), kind_(Kind::kNumber) {}
  Value(std::string value)
      : kind_(Kind::kString), shared_(std::make_shared<const std::string>(std::move(value))) {}
  Value(std::string_view value) : Value(std::string(value)) {}
  Value(const char* value) : Value(std::string(value)) {}
  Value(std::shared_ptr<Array> value) : kind_(Kind::kArray), shared_(std::move(value)) {}
  Value(std::shared_ptr<Object> value) : kind_(Kind::kObject), shared_(std::move(value)) {}
  Value(std::shared_ptr<const Function> value)
      : kind_(Kind::kFunction), shared_(std::move(value)) {}

  Value(const Value&) = default;
  Value& operator=(const Value&) = default;
  // What was moved from is undefined.
  Value(Value&& other) noexcept
      : number_(other.number_),
        kind_(std::exchange(other.kind_, Kind::kUndefined)),
        flag_(other.flag_),
        shared_(std::move(other.shared_)) {}
  Value& operator=(Value&& other) noexcept {
    number_ = other.number_;
    kind_ = std::exchange(other.kind_, Kind::kUndefined);
    flag_ = other.flag_;
    // Most values share nothing.
    if (shared_ != nullptr || other.shared_ != nullptr) shared_ = std::move(other.shared_);
    return *this;
  }
  ~Value() = default;

  static Value integer(double value) { return Value(Number{value, false}); }
  // As plain numbers are tagged when they enter the engine: integral ones are ints.
  static Value plain(double value) {
    const bool integral = value - value == 0 && value == std::trunc(value);
    return Value(Number{value, !integral});
  }
  static Value list(std::vector<Value> items);
  static Value dims(std::span<const std::int64_t> shape);
  static Value object(std::vector<std::pair<std::string, Value>> members);
  static Value from_json(const Json& json);
  // A string without text (an index beyond a string gives it): it prints "undefined", and is
  // undefined outside of the engine.
  static Value textless_string() {
    Value value;
    value.kind_ = Kind::kString;
    return value;
  }

  Kind kind() const { return kind_; }
  bool is_undefined() const { return kind_ == Kind::kUndefined; }
  bool is_null() const { return kind_ == Kind::kNull; }
  bool is_hole() const { return kind_ == Kind::kHole; }
  // Strings, the one without text included.
  bool is_string() const { return kind_ == Kind::kString; }

  // Each is null when the value is of another kind.
  const bool* if_bool() const { return kind_ == Kind::kBool ? &flag_ : nullptr; }
  const Number* if_number() const { return kind_ == Kind::kNumber ? &number_ : nullptr; }
  const std::string* if_string() const { return target<const std::string>(Kind::kString); }
  const Array* if_array() const { return target<const Array>(Kind::kArray); }
  const Object* if_object() const { return target<const Object>(Kind::kObject); }
  const Function* if_function() const { return target<const Function>(Kind::kFunction); }

  // The value as it leaves the engine ("plain"): tags gone (integral floats become ints), tuples
  // are lists, deep. Lists and objects are always copies, so they equal no other list.
  Value untagged() const&;
  Value untagged() && {
    const bool is_plain = kind_ == Kind::kBool || kind_ == Kind::kNull ||
                          (kind_ == Kind::kNumber && !number_.is_float) ||
                          (kind_ == Kind::kString && shared_ != nullptr);
    return is_plain ? std::move(*this) : std::as_const(*this).untagged();
  }
  // JSON text model: undefined and functions become null.
  Json to_json() const;

 private:
  friend struct ValueAccess;
  template <class T>
  T* target(Kind kind) const {
    return kind_ == kind ? static_cast<T*>(shared_.get()) : nullptr;
  }

  [[no_unique_address]] Number number_{};  // what follows lies in its padding
  Kind kind_ = Kind::kUndefined;
  bool flag_ = false;
  std::shared_ptr<const void> shared_;  // of strings, lists, objects and functions
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
