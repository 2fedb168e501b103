// SPDX-License-Identifier: Apache-2.0
// The recorded templates of the published loader (tests/interop/templates.json), byte for byte.
#include <gtest/gtest.h>

#include <string>

#include "expr/interop_scope_test.h"
#include "jinja/template.h"

namespace wgk::jinja {
namespace {

TEST(InteropTemplates, EachRecordHolds) {
  const expr::interop::Corpus corpus("templates.json");
  std::size_t checked = 0;
  for (const Json& record : *corpus.json.find("cases")->if_array()) {
    const Json* artefact = record.find("js_artefact");
    if (artefact != nullptr && *artefact->if_bool()) continue;
    const std::string& source = *record.find("source")->if_string();
    const expr::Scope& scope = corpus.scope(*record.find("scope")->if_string());
    Result<std::string> text =
        Template::parse(source, "case").and_then([&](const Template& parsed) {
          return parsed.render(scope);
        });
    ++checked;
    if (record.find("error") != nullptr) {
      EXPECT_FALSE(text) << source << "\n  expected an error, got " << text.value_or("");
      continue;
    }
    ASSERT_TRUE(text) << source << "\n  " << text.error().to_string();
    EXPECT_EQ(*text, *record.find("output")->if_string()) << source;
  }
  EXPECT_GT(checked, 150U);
}

}  // namespace
}  // namespace wgk::jinja
