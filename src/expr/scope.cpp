// SPDX-License-Identifier: Apache-2.0
#include "expr/scope.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "expr/ast.h"

namespace wgk::expr {

std::size_t Scope::place_of(std::string_view name, std::uint64_t hash) const {
  const auto is_it = [&](std::size_t place) {
    return hashes_[place] == hash && names_[place].first == name;
  };
  for (std::size_t slot = hash % kSlots; slots_[slot] != 0; slot = (slot + 1) % kSlots) {
    if (is_it(slots_[slot] - 1U)) return slots_[slot] - 1U;
  }
  for (std::size_t place = kMostIndexed; place < names_.size(); ++place) {
    if (is_it(place)) return place;
  }
  return kNowhere;
}

void Scope::set(std::string_view name, Value value) {
  const std::uint64_t hash = name_hash(name);
  if (const std::size_t place = place_of(name, hash); place != kNowhere) {
    names_[place].second = std::move(value);
    return;
  }
  if (names_.size() < kMostIndexed) {
    std::size_t slot = hash % kSlots;
    while (slots_[slot] != 0) slot = (slot + 1) % kSlots;
    slots_[slot] = static_cast<std::uint8_t>(names_.size() + 1);
  }
  hashes_.push_back(hash);
  names_.emplace_back(std::string(name), std::move(value));
}

const Value* Scope::find(std::string_view name) const { return find(name, name_hash(name)); }

const Value* Scope::find(std::string_view name, std::uint64_t hash) const {
  for (const Scope* scope = this; scope != nullptr; scope = scope->parent_) {
    const std::size_t place = scope->place_of(name, hash);
    if (place != kNowhere) return &scope->names_[place].second;
  }
  return nullptr;
}

std::vector<std::string_view> Scope::names() const {
  std::vector<std::string_view> all;
  for (const Scope* scope = this; scope != nullptr; scope = scope->parent_) {
    for (const auto& [name, value] : scope->names_) all.push_back(name);
  }
  return all;
}

}  // namespace wgk::expr
