// SPDX-License-Identifier: Apache-2.0
// Rendered shader texts, remembered by the values that their template reads.
#pragma once

#include <memory>
#include <mutex>
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
  std::vector<std::string> features;  // that its enable directives ask for
};

// A text that identifies the values behind `names` in `scope`: equal keys, equal renderings on one
// device.
std::string value_key(const std::vector<std::string>& names, const expr::Scope& scope,
                      std::string_view declarations);

class RenderCache {
 public:
  std::shared_ptr<const Rendered> find(const jinja::Template* source, const std::string& key) const;
  // Keeps the first of two equal ones and gives back the one that is kept. Starts anew when full.
  std::shared_ptr<const Rendered> insert(const jinja::Template* source, std::string key,
                                         std::shared_ptr<const Rendered> rendered);

 private:
  struct Key {
    const jinja::Template* source;
    std::string values;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    std::size_t operator()(const Key& key) const;
  };
  mutable std::mutex mutex_;
  std::unordered_map<Key, std::shared_ptr<const Rendered>, Hash> texts_;
  std::size_t bytes_ = 0;
};

// Renders `source` with `declarations` as env.wgsl.resourceDeclarations over the pass scope.
Result<std::shared_ptr<const Rendered>> render(const jinja::Template& source,
                                               const expr::Scope& pass,
                                               std::string_view declarations,
                                               const expr::Value& device,
                                               const expr::Limits& limits, RenderCache& cache);

}  // namespace wgk::planning
