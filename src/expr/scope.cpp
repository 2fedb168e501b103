// SPDX-License-Identifier: Apache-2.0
#include "expr/scope.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace wgk::expr {

const Value* Scope::find_beyond(std::string_view name) const {
  const auto place = beyond_.find(name);
  return place == beyond_.end() ? nullptr : &entries_[place->second].value;
}

void Scope::append(std::string_view name, std::uint64_t hash, Value value) {
  entries_.push_back({hash, name, std::move(value)});
  if (entries_.size() > kMostIndexed) {
    beyond_.emplace(name, entries_.size() - 1);
    return;
  }
  std::size_t slot = hash % kSlots;
  while (slots_[slot] != 0) slot = (slot + 1) % kSlots;
  slots_[slot] = static_cast<std::uint8_t>(entries_.size());
}

void Scope::set(std::string_view name, Value value) {
  const std::uint64_t hash = name_hash(name);
  if (Value* known = place_of(name, hash)) {
    *known = std::move(value);
    return;
  }
  append(names_.emplace_front(name), hash, std::move(value));
}

void Scope::lend(std::string_view name, std::uint64_t hash, Value value) {
  if (Value* known = place_of(name, hash)) {
    *known = std::move(value);
    return;
  }
  append(name, hash, std::move(value));
}

std::vector<std::string_view> Scope::names() const {
  std::vector<std::string_view> all;
  for (const Scope* scope = this; scope != nullptr; scope = scope->parent_) {
    for (const Entry& entry : scope->entries_) all.push_back(entry.name);
  }
  return all;
}

}  // namespace wgk::expr
