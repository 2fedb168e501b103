// SPDX-License-Identifier: Apache-2.0
// The expression engine alone, for authors.
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "expr/evaluator.h"
#include "expr/expression.h"
#include "expr/globals.h"
#include "expr/operators.h"
#include "expr/parsed.h"
#include "expr/text.h"

namespace wgk::expr {

Result<std::string> evaluate_text(std::string_view text, const Json& context,
                                  const Limits& limits) {
  const ParsedExpression parsed(std::string(text), limits.max_depth);
  if (!parsed.syntax) return std::unexpected(parsed.syntax.error());
  Scope scope;
  if (const Status status = add_context(scope, context); !status)
    return std::unexpected(status.error());
  NameValues names;
  parsed.look_up(scope, names);
  for (const NameId id : parsed.used) {
    if (names.values()[id] == nullptr)
      names.values()[id] = engine_global(parsed.ast.names[id].text);
  }
  Evaluator evaluator(parsed.ast, names.values(), limits);
  Value value;
  std::string out;
  if (!evaluator.evaluate(parsed.root, value)) return std::unexpected(parsed.error_of(evaluator));
  if (value.is_null()) return "null";
  if (!append_printed(evaluator, value, out)) return std::unexpected(parsed.error_of(evaluator));
  return well_formed(std::move(out));
}

}  // namespace wgk::expr
