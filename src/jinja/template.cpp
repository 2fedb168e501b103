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
    std::vector<bool> is_free(tree.ast.names.size(), false);
    for (const std::string& name : free_names) {
      read.push_back(tree.ast.intern(name));
      is_free[read.back()] = true;
    }
    meanings.assign(tree.ast.names.size(), nullptr);
    for (expr::NameId id = 0; id < tree.ast.names.size(); ++id) {
      const std::string& name = tree.ast.names[id].text;
      const expr::Value* global = expr::engine_global(name);
      meanings[id] = global != nullptr ? global : expr::literal_name(name);
      // A macro may be called without a caller of its own.
      if (!is_free[id] && (meanings[id] != nullptr || id == tree.special.caller))
        read.push_back(id);
    }
  }

  Expanded expanded;
  expr::Source source;
  Tree tree;
  std::vector<std::string> free_names;
  std::vector<std::string> assigned_names;
  std::vector<expr::NameId> read;            // may be read from outside; the free ones first
  std::vector<const expr::Value*> meanings;  // of each name, where the scope has none
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

std::vector<const expr::Value*> Template::look_up(const expr::Scope& scope) const {
  std::vector<const expr::Value*> values;
  values.reserve(parsed_->read.size());
  for (const expr::NameId id : parsed_->read) {
    const expr::Name& name = parsed_->tree.ast.names[id];
    const expr::Value* value = scope.find(name.text, name.hash);
    values.push_back(value != nullptr ? value : parsed_->meanings[id]);
  }
  return values;
}

Result<std::string> Template::render(std::span<const expr::Value* const> values,
                                     const expr::Limits& limits, ListStyle lists) const {
  std::vector<const expr::Value*> names(parsed_->tree.ast.names.size());
  for (std::size_t i = 0; i < values.size(); ++i) names[parsed_->read[i]] = values[i];
  Renderer renderer(parsed_->tree, parsed_->source.text(), names, limits, lists);
  if (renderer.run()) return expr::well_formed(renderer.take());
  Error error = renderer.error();
  if (error.code.empty()) error.code = "template/type";
  return std::unexpected(
      std::move(error).during("rendering " + parsed_->place(renderer.error_place())));
}

Result<std::string> Template::render(const expr::Scope& scope, const expr::Limits& limits,
                                     ListStyle lists) const {
  return render(look_up(scope), limits, lists);
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
