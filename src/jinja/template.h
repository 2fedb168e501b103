// SPDX-License-Identifier: Apache-2.0
// The template engine: output byte for byte as @huggingface/jinja 0.5.10 with lstrip_blocks and
// trim_blocks (format.md c).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "expr/expression.h"

namespace wgk::jinja {

// Reads a template by its path inside the package; nothing when there is none.
using Loader = std::function<const std::string*(std::string_view path)>;

// Expands `{% include "path" %}` (format.md c.1). Errors: "template/include" for a missing file, a
// cycle or a path above the root.
Result<std::string> expand_includes(std::string_view path, const Loader& loader,
                                    const expr::Limits& limits = {});

// The expanded text, and where each part of it comes from.
struct Expanded {
  struct Piece {
    std::size_t begin;  // in text
    std::size_t file;   // in files
    std::size_t line;   // of its first byte in that file
  };

  std::string text;
  std::vector<std::string> files;
  std::vector<Piece> pieces;

  // "norm.wgsl.jinja, line 12" for a byte of text.
  std::string place(std::size_t offset) const;
};
Result<Expanded> expand(std::string_view path, const Loader& loader,
                        const expr::Limits& limits = {});

// How printed lists look: as in the reference, or as shapes stand in messages.
enum class ListStyle : std::uint8_t { kBrackets, kParentheses };

// A parsed template, immutable, used by many renderings.
class Template {
 public:
  // `name` is used in messages only: "error in norm.wgsl.jinja, line 12". Code "template/syntax".
  static Result<Template> parse(std::string_view text, std::string name,
                                const expr::Limits& limits = {});

  // Expands the includes of a file first; messages then name the file that a line stands in.
  static Result<Template> load(std::string_view path, const Loader& loader,
                               const expr::Limits& limits = {});

  // The rendered text. Unknown names print nothing, as in the reference.
  Result<std::string> render(const expr::Scope& scope, const expr::Limits& limits = {},
                             ListStyle lists = ListStyle::kBrackets) const;

  // The same in two steps, for memoising renderings: what the names mean that may be read from
  // outside (static analysis; a superset), the first of them those of free_names(), null where
  // nothing defines one; then the text.
  std::vector<const expr::Value*> look_up(const expr::Scope& scope) const;
  Result<std::string> render(std::span<const expr::Value* const> values,
                             const expr::Limits& limits = {},
                             ListStyle lists = ListStyle::kBrackets) const;

  // Names that may be read from the scope.
  const std::vector<std::string>& free_names() const;
  // Names that the template itself sets somewhere. For `wgk check`: a free name that neither the
  // scope nor this list has is unknown.
  const std::vector<std::string>& assigned_names() const;

 private:
  static Result<Template> from_expanded(Expanded expanded, const expr::Limits& limits);

  struct Parsed;
  std::shared_ptr<const Parsed> parsed_;
};

// For authors: the template engine alone over the members of a JSON object, as `new
// Template(text).render(context)` of the reference.
Result<std::string> render_text(std::string_view text, const Json& context,
                                const expr::Limits& limits = {});

}  // namespace wgk::jinja
