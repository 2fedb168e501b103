// SPDX-License-Identifier: Apache-2.0
// Recorded expressions and templates.
#include <cmath>

#include "base/number.h"
#include "base/try.h"
#include "corpus.h"
#include "jinja/template.h"
#include "json/json.h"
#include "plan/scope.h"
#include "plan/wgsl_text.h"

namespace wgk::interop {
namespace {

using expr::Value;

// A named scope of the corpus. Maps that it does not list are empty.
expr::Scope make_scope(const Json& source, const Corpus& corpus) {
  expr::Scope scope(&expr::helpers());
  if (const auto profile = corpus.profiles.find(text_of(member(source, "profile")));
      profile != corpus.profiles.end()) {
    const planning::DeviceNames device(profile->second);
    device.add_to(scope);
    const std::string declarations = text_of(member(source, "resourceDeclarations"));
    scope.set(
        "env",
        Value::object({{"device", device.device},
                       {"wgsl", Value::object({{"resourceDeclarations", Value(declarations)}})}}));
  }
  const auto map = [&source](std::string_view key) {
    const Json& listed = member(source, key);
    return Value::from_json(listed.is_null() ? Json(Json::Object{}) : listed);
  };
  for (const std::string_view key : {"tunables", "dtypes", "logicalDtypes", "tensorDtypes", "ranks",
                                     "shapes", "present", "args", "attrs", "repeat"}) {
    scope.set(key, map(key));
  }
  scope.set("derive", map("derived"));
  if (const auto* derived = member(source, "derived").if_object()) {
    for (const auto& [name, value] : *derived) scope.set(name, Value::from_json(value));
  }
  return scope;
}

// A value in the corpus's notation: {"$": ...} for what JSON cannot say.
Json notation(const Value& value) {
  const auto special = [](std::string_view text) { return Json::object({{"$", text}}); };
  if (value.is_undefined()) return special("undefined");
  if (value.if_function() != nullptr) return special("function");
  if (const expr::Number* number = value.if_number()) {
    if (!std::isfinite(number->value)) return special(number_text(number->value));
    if (number->value == 0 && std::signbit(number->value)) return special("-0");
    return Json(number->value);
  }
  if (const expr::Array* array = value.if_array()) {
    Json::Array items;
    for (const Value& item : array->items) items.push_back(notation(item));
    return Json(std::move(items));
  }
  if (const expr::Object* object = value.if_object()) {
    Json json{Json::Object{}};
    for (const auto& [name, item] : object->members) json.set(name, notation(item));
    return json;
  }
  return value.to_json();
}

struct Cases {
  std::map<std::string, expr::Scope, std::less<>> scopes;
  Json file;
};

Result<Cases> read_cases(const Corpus& corpus, const char* name) {
  Cases cases;
  WGK_ASSIGN(cases.file, read_json(corpus.folder / name));
  const auto* scopes = member(cases.file, "scopes").if_object();
  if (scopes == nullptr || member(cases.file, "cases").if_array() == nullptr) {
    return failure("io/format", std::string(name) + " has no scopes or no cases");
  }
  for (const auto& [key, source] : *scopes) cases.scopes.emplace(key, make_scope(source, corpus));
  return cases;
}

void score_expression(const Json& entry, const expr::Scope& scope, Record& record) {
  const auto value = expr::Expression(text_of(member(entry, "expr"))).evaluate(scope);
  if (entry.find("error") != nullptr) {
    if (value) record.differ("value", "an error", json::write(notation(*value)));
  } else if (!value) {
    record.differ("value", json::write(member(entry, "value")), value.error().to_string());
  } else {
    record.expect("value", member(entry, "value"), notation(*value));
  }
}

Result<std::string> render(const std::string& source, const expr::Scope& scope) {
  const auto loader = [&source](std::string_view path) {
    return path == "case" ? &source : nullptr;
  };
  WGK_ASSIGN(const std::string text, jinja::expand_includes("case", loader));
  WGK_ASSIGN(const jinja::Template parsed, jinja::Template::parse(text, "case"));
  return parsed.render(scope);
}

void score_template(const Json& entry, const expr::Scope& scope, Record& record) {
  const auto output = render(text_of(member(entry, "source")), scope);
  if (entry.find("error") != nullptr) {
    if (output) record.differ("output", "an error", json::write(Json(*output)));
  } else if (!output) {
    record.differ("output", json::write(member(entry, "output")), output.error().to_string());
  } else {
    record.expect_text("output", text_of(member(entry, "output")), *output);
    if (const Json* complete = entry.find("with_enables"))
      record.expect_text("with_enables", text_of(*complete), planning::with_enables(*output));
  }
}

template <class Score>
Status score_all(const Corpus& corpus, const char* file, std::string_view what,
                 std::string_view text_key, Score score, Report& report) {
  WGK_ASSIGN(const Cases cases, read_cases(corpus, file));
  std::size_t number = 0;
  for (const Json& entry : *member(cases.file, "cases").if_array()) {
    Record record(std::string(what) + " " + std::to_string(number++) + " " +
                  json::write(member(entry, text_key)));
    const auto scope = cases.scopes.find(text_of(member(entry, "scope")));
    if (scope == cases.scopes.end())
      return failure("io/format", record.name() + " names an unknown scope");
    score(entry, scope->second, record);
    if (is_true(member(entry, "js_artefact")) && !record.differences().empty()) {
      report.skip(record.name(), "it only mirrors objects of the host language");
    } else {
      report.add(record);
    }
  }
  return {};
}

}  // namespace

Status score_expressions(const Corpus& corpus, Report& report) {
  return score_all(corpus, "expressions.json", "expression", "expr", score_expression, report);
}

Status score_templates(const Corpus& corpus, Report& report) {
  return score_all(corpus, "templates.json", "template", "source", score_template, report);
}

}  // namespace wgk::interop
