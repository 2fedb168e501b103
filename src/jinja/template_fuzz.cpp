// SPDX-License-Identifier: Apache-2.0
// Any text as a template that may include itself and two small files: it renders or errs, the same
// way each time, within limits.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "expr/fuzz_scope_test.h"
#include "jinja/template.h"

namespace wgk::jinja {
namespace {

void run(std::string_view text) {
  const std::string main(text);
  const std::string macro = "{% macro twice(x) %}{{ x }}{{ x }}{% endmacro %}\n";
  const std::string nested = "{% include \"m\" %}\n{{ twice(i) }}";
  const Loader loader = [&](std::string_view path) -> const std::string* {
    if (path == "t") return &main;
    if (path == "m") return &macro;
    return path == "n" ? &nested : nullptr;
  };
  if (const Result<Template> parsed = Template::load("t", loader, expr::kFuzzLimits)) {
    const Result<std::string> once = parsed->render(expr::fuzz_scope(), expr::kFuzzLimits);
    const Result<std::string> again = parsed->render(expr::fuzz_scope(), expr::kFuzzLimits);
    if (once.has_value() != again.has_value() || (once && *once != *again)) std::abort();
    if (once && once->size() > expr::kFuzzLimits.max_output) std::abort();
  }
  (void)render_text(text, expr::fuzz_context(), expr::kFuzzLimits);
}

}  // namespace
}  // namespace wgk::jinja

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  wgk::jinja::run({reinterpret_cast<const char*>(data), size});
  return 0;
}
