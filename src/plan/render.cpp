// SPDX-License-Identifier: Apache-2.0
#include "plan/render.h"

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <utility>

#include "base/try.h"
#include "plan/allowance.h"
#include "plan/wgsl_text.h"

namespace wgk::planning {
namespace {

using expr::Value;

constexpr std::size_t kMaxTexts = 4096;
constexpr std::size_t kMaxBytes = std::size_t{256} << 20;

void append_raw(std::string& key, std::uint64_t value) {
  std::array<char, sizeof(value)> bytes;
  std::memcpy(bytes.data(), &value, sizeof(value));
  key.append(bytes.data(), bytes.size());
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

std::string value_key(const std::vector<std::string>& names, std::span<const Value* const> values,
                      std::string_view declarations) {
  std::string key;
  key.reserve(512 + declarations.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    // The device and the helpers are the same for all texts of one cache.
    if (names[i] == "device" || names[i] == "f16Ok") continue;
    if (names[i] == "env") {
      append_text(key, declarations);
    } else if (values[i] == nullptr) {
      key += '-';
    } else {
      append_value(key, *values[i]);
    }
  }
  return key;
}

RenderCache::Key::Key(const jinja::Template* owner, std::string text)
    : source(owner),
      hash(static_cast<std::size_t>(digest128(text).low ^ std::bit_cast<std::uintptr_t>(owner))),
      values(std::move(text)) {}

std::shared_ptr<const Rendered> RenderCache::find(const Key& key) const {
  const std::scoped_lock lock(mutex_);
  const auto known = texts_.find(key);
  return known == texts_.end() ? nullptr : known->second;
}

std::shared_ptr<const Rendered> RenderCache::insert(Key key,
                                                    std::shared_ptr<const Rendered> rendered) {
  const std::scoped_lock lock(mutex_);
  if (texts_.size() >= kMaxTexts || bytes_ >= kMaxBytes) {
    texts_.clear();
    bytes_ = 0;
  }
  bytes_ += rendered->wgsl->size() + key.values.size();
  return texts_.try_emplace(std::move(key), std::move(rendered)).first->second;
}

Result<std::shared_ptr<const Rendered>> render(const jinja::Template& source,
                                               const expr::Scope& pass,
                                               std::string_view declarations, const Value& device,
                                               const expr::Limits& limits, RenderCache& cache) {
  const std::vector<std::string>& names = source.free_names();
  std::vector<const Value*> values = source.look_up(pass);
  std::string read = value_key(names, values, declarations);
  WGK_TRY(spend(limits, read.size() / 64));
  RenderCache::Key key(&source, std::move(read));
  if (auto known = cache.find(key)) return known;
  const Value env =
      Value::object({{"device", device},
                     {"wgsl", Value::object({{"resourceDeclarations", Value(declarations)}})}});
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == "env") values[i] = &env;
  }
  expr::Allowance left = limits.shared != nullptr ? *limits.shared : allowance_of(limits);
  const expr::Allowance before = left;
  auto text = source.render(values, sharing(limits, left));
  if (!text) {
    if (limits.shared != nullptr) *limits.shared = left;
    return std::unexpected(std::move(text.error()));
  }
  auto rendered = std::make_shared<Rendered>();
  rendered->steps = before.steps - left.steps;
  rendered->text_bytes = before.text_bytes - left.text_bytes;
  FinishedText finished = finish_text(*std::move(text));
  rendered->features = std::move(finished.features);
  rendered->wgsl = std::make_shared<const std::string>(std::move(finished.wgsl));
  rendered->digest = digest128(*rendered->wgsl);
  return cache.insert(std::move(key), std::move(rendered));
}

}  // namespace wgk::planning
