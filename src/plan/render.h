// SPDX-License-Identifier: Apache-2.0
// Rendered shader texts, remembered by the values that their template reads.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/digest.h"
#include "jinja/template.h"
#include "wgk/error.h"

namespace wgk::planning {

// A complete shader: enable directives included.
struct Rendered {
  std::shared_ptr<const std::string> wgsl;
  Digest128 digest;
  std::vector<std::string> features;      // that its enable directives ask for
  std::size_t steps = 0, text_bytes = 0;  // what making it took of an allowance
};

// A text that identifies the values (Template::look_up) behind `names`: equal keys, equal
// renderings on one device.
std::string value_key(const std::vector<std::string>& names,
                      std::span<const expr::Value* const> values, std::string_view declarations);

class RenderCache {
 public:
  // What a text is found by.
  struct Key {
    Key(const jinja::Template* owner, std::string text);
    bool operator==(const Key&) const = default;

    const jinja::Template* source;
    std::size_t hash;
    std::string values;  // value_key
  };

  std::shared_ptr<const Rendered> find(const Key& key) const;
  // Keeps the first of two equal ones and gives back the one that is kept. Starts anew when full.
  std::shared_ptr<const Rendered> insert(Key key, std::shared_ptr<const Rendered> rendered);

 private:
  struct Hash {
    std::size_t operator()(const Key& key) const { return key.hash; }
  };
  mutable std::mutex mutex_;
  std::unordered_map<Key, std::shared_ptr<const Rendered>, Hash> texts_;
  std::size_t bytes_ = 0;
};

// Renders `source` with `declarations` as env.wgsl.resourceDeclarations over the pass scope. What a
// text takes to make is noted with it and left to the caller to count.
Result<std::shared_ptr<const Rendered>> render(const jinja::Template& source,
                                               const expr::Scope& pass,
                                               std::string_view declarations,
                                               const expr::Value& device,
                                               const expr::Limits& limits, RenderCache& cache);

}  // namespace wgk::planning
