// SPDX-License-Identifier: Apache-2.0
// Any text as an expression: it evaluates or errs, the same way each time, within its limits.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "expr/expression.h"
#include "expr/fuzz_scope_test.h"

namespace wgk::expr {
namespace {

void run(std::string_view text) {
  const Expression expression{std::string(text)};
  const bool evaluates = expression.evaluate(fuzz_scope(), kFuzzLimits).has_value();
  if (!expression.syntax() && evaluates)
    std::abort();  // a syntax error must be raised by evaluation
  (void)expression.explain_not_true(fuzz_scope());
  const Result<std::string> once = expression.print(fuzz_scope(), kFuzzLimits);
  const Result<std::string> again = expression.print(fuzz_scope(), kFuzzLimits);
  if (once.has_value() != again.has_value() || (once && *once != *again)) std::abort();
}

}  // namespace
}  // namespace wgk::expr

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  wgk::expr::run({reinterpret_cast<const char*>(data), size});
  return 0;
}
