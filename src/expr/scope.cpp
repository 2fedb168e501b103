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

void Scope::set(std::string_view name, Value value) {
  const std::uint64_t hash = name_hash(name);
  const bool may_be_present = (present_[word_of(hash)] & bit_of(hash)) != 0;
  for (std::size_t i = 0; may_be_present && i < hashes_.size(); ++i) {
    if (hashes_[i] == hash && names_[i].first == name) {
      names_[i].second = std::move(value);
      return;
    }
  }
  present_[word_of(hash)] |= bit_of(hash);
  hashes_.push_back(hash);
  names_.emplace_back(std::string(name), std::move(value));
}

const Value* Scope::find(std::string_view name) const { return find(name, name_hash(name)); }

const Value* Scope::find(std::string_view name, std::uint64_t hash) const {
  for (const Scope* scope = this; scope != nullptr; scope = scope->parent_) {
    if ((scope->present_[word_of(hash)] & bit_of(hash)) == 0) continue;
    const std::uint64_t* hashes = scope->hashes_.data();
    const std::size_t count = scope->hashes_.size();
    for (std::size_t i = 0; i < count; ++i) {
      if (hashes[i] == hash && scope->names_[i].first == name) return &scope->names_[i].second;
    }
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
