// SPDX-License-Identifier: Apache-2.0
// Replays a corpus of the reference template engine: usage jinja_differential CORPUS.jsonl...
// The first line of a corpus holds the contexts, every further one a template or expression and
// what the reference made of it.
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/number.h"
#include "expr/evaluator.h"
#include "expr/expression.h"
#include "expr/globals.h"
#include "expr/parsed.h"
#include "expr/value_access.h"
#include "jinja/template.h"
#include "json/json.h"

namespace wgk::differential {
namespace {

using expr::Kind;
using expr::Value;

std::string dump(const Value& value);

std::string dump_list(const std::vector<Value>& items) {
  std::string text;
  for (const Value& item : items) text += (text.empty() ? "" : ", ") + dump(item);
  return text;
}

// The value with its tags, in the notation of generate.mjs.
std::string dump(const Value& value) {
  switch (expr::kind_of(value)) {
    case Kind::kUndefined: return "undefined";
    case Kind::kNull: return "null";
    case Kind::kHole: return "hole";
    case Kind::kFunction: return "function";
    case Kind::kBool: return *value.if_bool() ? "true" : "false";
    case Kind::kNumber: {
      const auto [number, is_float] = *value.if_number();
      const bool minus_zero = number == 0 && std::signbit(number);
      return (is_float ? "float " : "int ") +
             (minus_zero ? std::string("-0") : number_text(number));
    }
    case Kind::kString: {
      if (value.if_string() == nullptr) return "textless";
      std::string quoted;
      json::append_quoted(quoted, *value.if_string());
      return quoted;
    }
    case Kind::kArray: {
      const std::string items = dump_list(value.if_array()->items);
      return value.if_array()->is_tuple ? "(" + items + ")" : "[" + items + "]";
    }
    case Kind::kObject: break;
  }
  std::string members;
  for (const auto& [key, member] : value.if_object()->members) {
    if (!members.empty()) members += ", ";
    json::append_quoted(members, key);
    members += ": " + dump(member);
  }
  switch (value.if_object()->kind) {
    case expr::Object::Kind::kNamespace: return "namespace {" + members + "}";
    case expr::Object::Kind::kKeywords: return "keywords {" + members + "}";
    default: return "{" + members + "}";
  }
}

Result<std::string> evaluate(const std::string& text, const expr::Scope& scope) {
  const expr::Limits limits;
  const expr::ParsedExpression parsed(text, limits.max_depth);
  if (!parsed.syntax) return std::unexpected(parsed.syntax.error());
  expr::NameValues names;
  parsed.look_up(scope, names);
  for (const auto& [id, required] : parsed.used) {
    if (names.values()[id] == nullptr)
      names.values()[id] = expr::engine_global(parsed.ast.names[id].text);
  }
  expr::Evaluator evaluator(parsed.ast, names.values(), limits);
  Value value;
  if (!evaluator.evaluate(parsed.root, value)) return std::unexpected(parsed.error_of(evaluator));
  return dump(value);
}

struct Counts {
  std::size_t passed = 0;
  std::size_t failed = 0;
};

void print_difference(const Json& record, const Result<std::string>& got, std::size_t line) {
  const Json* expected =
      record.find("output") != nullptr ? record.find("output") : record.find("value");
  const Json* source =
      record.find("template") != nullptr ? record.find("template") : record.find("expression");
  std::printf("line %zu: %s\n", line, json::write(*source).c_str());
  std::printf("  expected %s\n", expected != nullptr
                                     ? json::write(*expected).c_str()
                                     : ("error: " + json::write(*record.find("error"))).c_str());
  std::printf("  got      %s\n",
              got ? json::write(Json(*got)).c_str() : got.error().to_string().c_str());
}

bool replay(const std::string& path, Counts& counts) {
  std::ifstream stream(path);
  std::string text;
  std::vector<std::unique_ptr<expr::Scope>> scopes;
  for (std::size_t line = 1; std::getline(stream, text); ++line) {
    const Result<Json> record = json::parse(text);
    if (!record) {
      std::printf("%s, line %zu: %s\n", path.c_str(), line, record.error().to_string().c_str());
      return false;
    }
    if (const Json* contexts = record->find("contexts")) {
      for (const Json& context : *contexts->if_array()) {
        scopes.push_back(std::make_unique<expr::Scope>());
        if (const Status status = expr::add_context(*scopes.back(), context); !status) return false;
      }
      continue;
    }
    const auto context = static_cast<std::size_t>(*record->find("context")->if_number());
    const Json* source = record->find("template");
    Result<std::string> got =
        source != nullptr ? jinja::Template::parse(*source->if_string(), "template")
                                .and_then([&](const jinja::Template& parsed) {
                                  return parsed.render(*scopes.at(context));
                                })
                          : evaluate(*record->find("expression")->if_string(), *scopes.at(context));
    const Json* expected = source != nullptr ? record->find("output") : record->find("value");
    const bool same = expected == nullptr ? !got : got && *got == *expected->if_string();
    ++(same ? counts.passed : counts.failed);
    if (!same) print_difference(*record, got, line);
  }
  return !scopes.empty();
}

}  // namespace
}  // namespace wgk::differential

int main(int argc, char** argv) {
  wgk::differential::Counts counts;
  for (int i = 1; i < argc; ++i) {
    if (!wgk::differential::replay(argv[i], counts)) {
      std::printf("%s: not a corpus\n", argv[i]);
      return 2;
    }
  }
  std::printf("%zu passed, %zu failed\n", counts.passed, counts.failed);
  return counts.failed == 0 && counts.passed > 0 ? 0 : 1;
}
