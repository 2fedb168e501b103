// SPDX-License-Identifier: Apache-2.0
// Names visible to an expression or template.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "expr/value.h"

namespace wgk::expr {

// Scopes chain to a parent; the innermost definition wins. A parent must outlive its children and
// may be shared by threads once it is filled.
class Scope {
 public:
  explicit Scope(const Scope* parent = nullptr) : parent_(parent) {}

  void set(std::string_view name, Value value);
  // Makes room for that many names.
  void reserve(std::size_t count) {
    hashes_.reserve(count);
    names_.reserve(count);
  }
  const Value* find(std::string_view name) const;
  // `hash` is name_hash(name), computed once by who asks often.
  const Value* find(std::string_view name, std::uint64_t hash) const;

  // All names, innermost first, for messages about unknown ones.
  std::vector<std::string_view> names() const;

 private:
  static constexpr std::size_t kSlots = 128;
  static constexpr std::size_t kMostIndexed = 96;  // names beyond are found one by one

  static constexpr std::size_t kNowhere = static_cast<std::size_t>(-1);
  // In this scope alone.
  std::size_t place_of(std::string_view name, std::uint64_t hash) const;

  const Scope* parent_;
  std::array<std::uint8_t, kSlots> slots_{};  // by hash, linear probing: place in names_ plus one
  std::vector<std::uint64_t> hashes_;
  std::vector<std::pair<std::string, Value>> names_;
};

}  // namespace wgk::expr
