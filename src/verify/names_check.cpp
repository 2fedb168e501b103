// SPDX-License-Identifier: Apache-2.0
#include "verify/names_check.h"

#include <algorithm>
#include <set>

#include "base/suggest.h"
#include "package/names.h"

namespace wgk::verify {
namespace {

using Names = std::set<std::string, std::less<>>;

// What every expression sees: namespaces and helpers. What only templates have is left out.
bool is_global(std::string_view name) {
  constexpr std::string_view kElsewhere[] = {"env",  "constants", "source", "range",
                                             "loop", "namespace", "dict"};
  return package::is_scope_name(name) && !std::ranges::contains(kElsewhere, name);
}

bool is_template_global(std::string_view name) {
  constexpr std::string_view kTemplates[] = {"env", "range", "namespace", "raise_exception",
                                             "loop"};
  return is_global(name) || std::ranges::contains(kTemplates, name);
}

// Type variables, and the dtypes that ports name directly.
void add_types(const package::Manifest& manifest, Names& names) {
  for (const auto& [variable, dtypes] : manifest.type_constraints) names.insert(variable);
  for (const package::Port& port : manifest.inputs) names.insert(port.dtype);
  for (const package::Port& port : manifest.outputs) names.insert(port.dtype);
}

class ExpressionCheck {
 public:
  std::vector<Error> run(const package::Manifest& manifest) {
    Names names;
    check_derive(manifest.derive, names, "derive");
    for (const package::Port& port : manifest.outputs) {
      if (port.shape) check_rule(*port.shape, names, "outputs." + port.key + ".shape");
    }
    for (const package::Variant& variant : manifest.variants)
      check_variant(manifest, variant, names);
    return std::move(errors_);
  }

 private:
  void check_variant(const package::Manifest& manifest, const package::Variant& variant,
                     const Names& manifest_names) {
    const std::string place = "variant '" + variant.id + "' ";
    for (const auto& clause : variant.when)
      check(clause.syntax(), clause.free_names(), manifest_names, place + "when");
    for (const auto& clause : variant.demote_when)
      check(clause.syntax(), clause.free_names(), manifest_names, place + "demoteWhen");
    Names names = manifest_names;
    check_derive(variant.derive, names, place + "derive");
    for (const auto& scratch : variant.intermediates)
      check_rule(scratch.shape, names, place + "intermediate '" + scratch.id + "'");
    add_types(manifest, names);
    for (const package::Pass* pass : package::passes_of(variant))
      check_pass(*pass, names, place + "pass '" + pass->id + "' ");
  }

  void check_pass(const package::Pass& pass, Names names, const std::string& place) {
    check_derive(pass.derive, names, place + "derive");
    for (const auto* axis : {&pass.dispatch.x, &pass.dispatch.y, &pass.dispatch.z})
      check_rule(*axis, names, place + "dispatch");
    for (const auto& [key, rule] : pass.profile) check_rule(rule, names, place + "profile." + key);
    for (const auto& binding : pass.bindings) {
      for (const auto& field : binding.fields) {
        if (field.value) check_rule(*field.value, names, place + "field '" + field.name + "'");
        if (field.default_value)
          check_rule(*field.default_value, names, place + "field '" + field.name + "'");
      }
    }
  }

  void check_derive(const package::Named<package::Rule>& derive, Names& names,
                    const std::string& place) {
    for (const auto& [name, rule] : derive) {
      check_rule(rule, names, place + "." + name);
      names.insert(name);
    }
  }

  void check_rule(const package::Rule& rule, const Names& names, const std::string& place) {
    check(rule.syntax(), rule.free_names(), names, place);
  }

  void check(const Status& syntax, const std::vector<std::string>& used, const Names& names,
             const std::string& place) {
    if (!syntax) {
      add(Error{syntax.error().code, place + ": " + syntax.error().message});
      return;
    }
    for (const std::string& name : used) {
      if (names.contains(name) || is_global(name)) continue;
      const std::vector<std::string> known(names.begin(), names.end());
      add(Error{"expression/unknown-name",
                place + ": the name '" + name + "' is not defined",
                {},
                suggestion(name, known)});
    }
  }

  // Families repeat their members: one report of each message is enough.
  void add(Error error) {
    if (seen_.insert(error.message).second) errors_.push_back(std::move(error));
  }

  std::vector<Error> errors_;
  std::set<std::string> seen_;
};

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// Whether the text asks somewhere if the name is there: `name is defined`, `name is not defined`,
// `name | default(…)`.
bool asks_for(std::string_view text, std::string_view name) {
  for (std::size_t at = text.find(name); at != std::string_view::npos;
       at = text.find(name, at + 1)) {
    if (at > 0 && is_word(text[at - 1])) continue;
    std::string_view rest = text.substr(at + name.size());
    rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
    for (const std::string_view test :
         {"is defined", "is not defined", "is undefined", "| default", "|default"}) {
      if (rest.starts_with(test)) return true;
    }
  }
  return false;
}

}  // namespace

std::vector<Error> check_expressions(const package::Manifest& manifest) {
  return ExpressionCheck().run(manifest);
}

std::vector<Error> check_contract_names(const package::Package& package) {
  std::vector<Error> errors;
  if (!package.contract) return errors;
  Names names;
  for (const auto& [name, rule] : package.manifest.derive) names.insert(name);
  const auto check = [&](const std::vector<std::string>& used, const std::string& id,
                         const Names& extra) {
    for (const std::string& name : used) {
      if (names.contains(name) || extra.contains(name) || is_global(name)) continue;
      errors.push_back(Error{"package/contract", "rule '" + id + "' uses the name '" + name +
                                                     "', which is not defined"});
    }
  };
  for (const package::ContractRule& rule : package.contract->rules) {
    if (rule.when) check(rule.when->free_names(), rule.id, {});
    check(rule.require.free_names(), rule.id, {});
    check(rule.message.free_names(), rule.id, {});
  }
  for (const package::ValueRule& rule : package.contract->values) {
    const Names value = {"value"};
    if (rule.when) check(rule.when->free_names(), rule.id, value);
    for (const auto& bound : {rule.min, rule.max, rule.below}) {
      if (bound) check(bound->free_names(), rule.id, value);
    }
    check(rule.message.free_names(), rule.id, {"value", "at", "got", "min", "max"});
  }
  return errors;
}

std::vector<Error> check_template_names(const package::Package& package,
                                        const std::vector<TemplateText>& texts) {
  std::vector<Error> errors;
  std::set<std::string> seen;
  Names shared;
  for (const auto& [name, rule] : package.manifest.derive) shared.insert(name);
  add_types(package.manifest, shared);
  for (const package::Variant& variant : package.manifest.variants) {
    Names names = shared;
    for (const auto& [name, rule] : variant.derive) names.insert(name);
    for (const package::Pass* pass : package::passes_of(variant)) {
      const auto parsed = package.find_template(pass->shader);
      const auto text = std::ranges::find(texts, pass->shader, &TemplateText::path);
      if (!parsed || text == texts.end()) continue;
      for (const std::string& name : (*parsed)->free_names()) {
        if (names.contains(name) || is_template_global(name)) continue;
        if (std::ranges::contains(pass->derive, name,
                                  &std::pair<std::string, package::Rule>::first))
          continue;
        if (asks_for(text->text, name) || !seen.insert(pass->shader + " " + name).second) continue;
        errors.push_back(
            Error{"expression/unknown-name", "template '" + pass->shader + "' reads the name '" +
                                                 name + "', which neither variant '" + variant.id +
                                                 "' nor its pass '" + pass->id + "' defines"});
      }
    }
  }
  return errors;
}

}  // namespace wgk::verify
