// SPDX-License-Identifier: Apache-2.0
#include "jinja/template.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "expr/globals.h"
#include "expr/names.h"
#include "expr/source.h"
#include "expr/text.h"
#include "jinja/renderer.h"
#include "jinja/statements.h"

namespace wgk::jinja {

struct Template::Parsed {
  explicit Parsed(Expanded text) : expanded(std::move(text)), source(expanded.text) {}

  std::string place(std::size_t offset) const {
    return expanded.place(source.original_offset(offset));
  }

  void find_meanings() {
    for (expr::NameId id = 0; id < tree.ast.names.size(); ++id) {
      const std::string& name = tree.ast.names[id].text;
      const expr::Value* global = expr::engine_global(name);
      engine.push_back(global != nullptr ? global : expr::literal_name(name));
      const bool is_read = std::ranges::find(free_names, name) != free_names.end();
      // A macro may be called without a caller of its own.
      if (is_read || engine.back() != nullptr || id == tree.special.caller) read.push_back(id);
    }
  }

  Expanded expanded;
  expr::Source source;
  Tree tree;
  std::vector<std::string> free_names;
  std::vector<std::string> assigned_names;
  std::vector<expr::NameId> read;          // those that may be read from outside
  std::vector<const expr::Value*> engine;  // what each name means where the scope has none
};

Result<Template> Template::from_expanded(Expanded expanded, const expr::Limits& limits) {
  auto parsed = std::make_shared<Parsed>(std::move(expanded));
  auto tree = parse_template(parsed->source.text(), limits.max_depth);
  if (!tree) {
    return failure(tree.error().is_limit ? "limit/depth" : "template/syntax",
                   tree.error().message + " in " + parsed->place(tree.error().at));
  }
  parsed->tree = std::move(*tree);
  find_own_names(parsed->tree);
  for (const std::string_view name : outer_names(parsed->tree))
    parsed->free_names.emplace_back(name);
  for (const std::string_view name : jinja::assigned_names(parsed->tree))
    parsed->assigned_names.emplace_back(name);
  parsed->find_meanings();
  Template result;
  result.parsed_ = std::move(parsed);
  return result;
}

Result<Template> Template::parse(std::string_view text, std::string name,
                                 const expr::Limits& limits) {
  return from_expanded({std::string(text), {std::move(name)}, {{0, 0, 1}}}, limits);
}

Result<Template> Template::load(std::string_view path, const Loader& loader,
                                const expr::Limits& limits) {
  Result<Expanded> expanded = expand(path, loader, limits);
  if (!expanded) return std::unexpected(std::move(expanded.error()));
  return from_expanded(std::move(*expanded), limits);
}

const std::vector<std::string>& Template::free_names() const { return parsed_->free_names; }
const std::vector<std::string>& Template::assigned_names() const { return parsed_->assigned_names; }

Result<std::string> Template::render(const expr::Scope& scope, const expr::Limits& limits,
                                     ListStyle lists) const {
  const Tree& tree = parsed_->tree;
  std::vector<const expr::Value*> names = parsed_->engine;
  for (const expr::NameId id : parsed_->read) {
    const expr::Name& name = tree.ast.names[id];
    if (const expr::Value* value = scope.find(name.text, name.hash)) names[id] = value;
  }
  Renderer renderer(tree, parsed_->source.text(), names, limits, lists);
  if (renderer.run()) return expr::well_formed(renderer.take());
  Error error = renderer.error();
  if (error.code.empty()) error.code = "template/type";
  return std::unexpected(
      std::move(error).during("rendering " + parsed_->place(renderer.error_place())));
}

Result<std::string> render_text(std::string_view text, const Json& context,
                                const expr::Limits& limits) {
  Result<Template> parsed = Template::parse(text, "template", limits);
  if (!parsed) return std::unexpected(std::move(parsed.error()));
  expr::Scope scope;
  if (const Status status = expr::add_context(scope, context); !status)
    return std::unexpected(status.error());
  return parsed->render(scope, limits);
}

}  // namespace wgk::jinja
