// SPDX-License-Identifier: Apache-2.0
// Names visible to an expression or template.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <forward_list>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "expr/name.h"
#include "expr/value.h"

namespace wgk::expr {

// Scopes chain to a parent; the innermost definition wins. A parent must outlive its children and
// may be shared by threads once it is filled.
class Scope {
 public:
  explicit Scope(const Scope* parent = nullptr) : parent_(parent) {}
  Scope(Scope&&) = default;
  Scope& operator=(Scope&&) = default;

  void set(std::string_view name, Value value);
  // The same without a copy of the name, which must outlive the scope.
  void lend(std::string_view name, Value value) { lend(name, name_hash(name), std::move(value)); }
  void lend(std::string_view name, std::uint64_t hash, Value value);
  // Makes room for that many names.
  void reserve(std::size_t count) { entries_.reserve(count); }

  const Value* find(std::string_view name) const { return find(name, name_hash(name)); }
  // `hash` is name_hash(name), computed once by who asks often.
  const Value* find(std::string_view name, std::uint64_t hash) const {
    for (const Scope* scope = this; scope != nullptr; scope = scope->parent_) {
      if (const Value* value = scope->find_here(name, hash)) return value;
    }
    return nullptr;
  }
  // In this scope alone.
  const Value* find_here(std::string_view name, std::uint64_t hash) const {
    for (std::size_t slot = hash % kSlots; slots_[slot] != 0; slot = (slot + 1) % kSlots) {
      const Entry& entry = entries_[slots_[slot] - 1U];
      if (entry.hash == hash && entry.name == name) return &entry.value;
    }
    return entries_.size() > kMostIndexed ? find_beyond(name) : nullptr;
  }

  // All names, innermost first, for messages about unknown ones.
  std::vector<std::string_view> names() const;

 private:
  struct Entry {
    std::uint64_t hash;
    std::string_view name;
    Value value;
  };

  static constexpr std::size_t kSlots = 128;
  static constexpr std::size_t kMostIndexed = 96;  // names beyond are found through beyond_

  const Value* find_beyond(std::string_view name) const;
  Value* place_of(std::string_view name, std::uint64_t hash) {
    return const_cast<Value*>(find_here(name, hash));
  }
  void append(std::string_view name, std::uint64_t hash, Value value);

  const Scope* parent_;
  std::array<std::uint8_t, kSlots> slots_{};  // by hash, linear probing: place in entries_ plus one
  std::vector<Entry> entries_;
  std::map<std::string_view, std::size_t> beyond_;  // places of the names beyond
  std::forward_list<std::string> names_;            // those that are not lent
};

}  // namespace wgk::expr
