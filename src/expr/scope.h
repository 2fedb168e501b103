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
  // One bit for each hash, so that most scopes that lack a name are passed at once.
  static std::size_t word_of(std::uint64_t hash) { return (hash >> 6) & 3U; }
  static std::uint64_t bit_of(std::uint64_t hash) { return std::uint64_t{1} << (hash & 63U); }

  const Scope* parent_;
  std::array<std::uint64_t, 4> present_{};
  std::vector<std::uint64_t> hashes_;
  std::vector<std::pair<std::string, Value>> names_;
};

}  // namespace wgk::expr
