// SPDX-License-Identifier: Apache-2.0
#include "plan/render.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <utility>

#include "base/try.h"
#include "plan/wgsl_text.h"

namespace wgk::planning {
namespace {

using expr::Value;

constexpr std::size_t kMaxTexts = 4096;
constexpr std::size_t kMaxBytes = std::size_t{256} << 20;

void append_raw(std::string& key, std::uint64_t value) {
  for (int shift = 0; shift < 64; shift += 8) key += static_cast<char>((value >> shift) & 0xff);
}

void append_text(std::string& key, std::string_view text) {
  append_raw(key, text.size());
  key += text;
}

void append_value(std::string& key, const Value& value) {
  if (const bool* flag = value.if_bool()) {
    key += *flag ? 't' : 'f';
  } else if (const expr::Number* number = value.if_number()) {
    key += number->is_float ? 'd' : 'i';
    append_raw(key, std::bit_cast<std::uint64_t>(number->value));
  } else if (const std::string* text = value.if_string()) {
    key += 's';
    append_text(key, *text);
  } else if (const expr::Array* array = value.if_array()) {
    key += '[';
    append_raw(key, array->items.size());
    for (const Value& item : array->items) append_value(key, item);
  } else if (const expr::Object* object = value.if_object()) {
    key += '{';
    append_raw(key, object->members.size());
    for (const auto& [name, member] : object->members) {
      append_text(key, name);
      append_value(key, member);
    }
  } else {
    key += value.is_undefined() ? 'u' : value.is_null() ? 'n' : 'x';
  }
}

}  // namespace

std::string value_key(const std::vector<std::string>& names, const expr::Scope& scope,
                      std::string_view declarations) {
  std::string key;
  key.reserve(256);
  for (const std::string& name : names) {
    // The device and the helpers are the same for all texts of one cache.
    if (name == "device" || name == "f16Ok") continue;
    if (name == "env") {
      append_text(key, declarations);
      continue;
    }
    const Value* value = scope.find(name);
    if (value == nullptr) {
      key += '-';
    } else {
      append_value(key, *value);
    }
  }
  return key;
}

std::size_t RenderCache::Hash::operator()(const Key& key) const {
  return static_cast<std::size_t>(digest128(key.values).low ^
                                  std::bit_cast<std::uintptr_t>(key.source));
}

std::shared_ptr<const Rendered> RenderCache::find(const jinja::Template* source,
                                                  const std::string& key) const {
  const std::scoped_lock lock(mutex_);
  const auto known = texts_.find(Key{source, key});
  return known == texts_.end() ? nullptr : known->second;
}

std::shared_ptr<const Rendered> RenderCache::insert(const jinja::Template* source, std::string key,
                                                    std::shared_ptr<const Rendered> rendered) {
  const std::scoped_lock lock(mutex_);
  if (texts_.size() >= kMaxTexts || bytes_ >= kMaxBytes) {
    texts_.clear();
    bytes_ = 0;
  }
  bytes_ += rendered->wgsl->size() + key.size();
  return texts_.try_emplace(Key{source, std::move(key)}, std::move(rendered)).first->second;
}

Result<std::shared_ptr<const Rendered>> render(const jinja::Template& source,
                                               const expr::Scope& pass,
                                               std::string_view declarations, const Value& device,
                                               const expr::Limits& limits, RenderCache& cache) {
  std::string key = value_key(source.free_names(), pass, declarations);
  if (auto known = cache.find(&source, key)) return known;
  expr::Scope scope(&pass);
  scope.set("env", Value::object(
                       {{"device", device},
                        {"wgsl", Value::object({{"resourceDeclarations", Value(declarations)}})}}));
  WGK_ASSIGN(const std::string text, source.render(scope, limits));
  auto rendered = std::make_shared<Rendered>();
  FinishedText finished = finish_text(text);
  rendered->features = std::move(finished.features);
  rendered->wgsl = std::make_shared<const std::string>(std::move(finished.wgsl));
  rendered->digest = digest128(*rendered->wgsl);
  return cache.insert(&source, std::move(key), std::move(rendered));
}

}  // namespace wgk::planning
