// SPDX-License-Identifier: Apache-2.0
// wgk eval: the expression language alone.
#include "cli/context_file.h"
#include "cli/limit_flags.h"
#include "cli/session.h"
#include "expr/expression.h"
#include "json/json.h"

namespace wgk::cli {
namespace {

std::string_view kind(const expr::Value& value) {
  if (value.is_undefined()) return "undefined";
  if (value.is_null()) return "null";
  if (value.if_bool() != nullptr) return "bool";
  if (value.if_number() != nullptr) return "number";
  if (value.if_string() != nullptr) return "string";
  if (value.if_array() != nullptr) return "list";
  return value.if_object() != nullptr ? "object" : "function";
}

int run_eval(const Session& session, const std::string& text, const std::string& context) {
  expr::Scope scope(&expr::helpers());
  if (const Status status = read_context(context, scope); !status)
    return session.fail(status.error());
  const expr::Expression expression(text);
  expr::Value value;
  const auto printed =
      expression.print(scope, source_limits(session), session.json ? &value : nullptr);
  if (!printed) return session.fail(printed.error());
  if (!session.json) {
    session.print(*printed + "\n");
    return kSuccess;
  }
  session.print_json(
      Json::object({{"kind", kind(value)}, {"value", value.to_json()}, {"text", *printed}}));
  return kSuccess;
}

}  // namespace

void add_eval(CLI::App& app, Session& session) {
  struct EvalFlags {
    std::string expression, context;
  };
  auto flags = std::make_shared<EvalFlags>();
  CLI::App* command = add_command(
      app, session, "eval",
      "Print what an expression of the manifest language gives, as the engine prints it",
      {"wgk eval 'ceilDiv(10, 4) * 2'",
       "wgk eval 'numel(shapes.x) % 4 == 0' --context names.json"});
  command->add_option("EXPR", flags->expression, "The expression")->required();
  add_limit_option(*command, session);
  command->add_option("--context", flags->context,
                      "JSON file of the names that the expression sees");
  command->add_flag("--json", session.json,
                    "Print JSON: kind and plain value as a plan has them, and the text");
  command->callback([flags, &session] {
    session.command = [flags, &session] {
      return run_eval(session, flags->expression, flags->context);
    };
  });
}

}  // namespace wgk::cli
