// SPDX-License-Identifier: Apache-2.0
// The template engine: output byte for byte as @huggingface/jinja 0.5.10 with lstrip_blocks and trim_blocks (format.md c).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "expr/expression.h"

namespace wgk::jinja {

// Reads a template by its path inside the package; nothing when there is none.
using Loader = std::function<const std::string*(std::string_view path)>;

// Expands `{% include "path" %}` (format.md c.1). Errors: "template/include" for a missing file, a cycle or a path above the root.
Result<std::string> expand_includes(std::string_view path, const Loader& loader, const expr::Limits& limits = {});

// A parsed template, immutable, used by many renderings.
class Template {
 public:
  // `name` is used in messages only: "error in norm.wgsl.jinja, line 12". Code "template/syntax".
  static Result<Template> parse(std::string_view text, std::string name, const expr::Limits& limits = {});

  // The rendered text. Unknown names print nothing, as in the reference.
  Result<std::string> render(const expr::Scope& scope, const expr::Limits& limits = {}) const;

  // Names read from the scope (static analysis), for memoising renderings and for `wgk check`.
  const std::vector<std::string>& free_names() const;

 private:
  struct Parsed;
  std::shared_ptr<const Parsed> parsed_;
};

}  // namespace wgk::jinja
