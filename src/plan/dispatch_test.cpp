// SPDX-License-Identifier: Apache-2.0
#include "plan/dispatch.h"

#include <gtest/gtest.h>

#include <string>

#include "plan/test_package.h"

namespace wgk::planning {
namespace {

package::Dispatch dispatch_of(const std::string& text) {
  const auto package = make_package(
      R"({"domain": "test", "name": "D", "inputs": {"x": {"dtype": "float32"}}, "outputs": {},
          "variants": [{"passes": [{"shader": "s.wgsl.jinja", "bindings": ["x"], "dispatch": )" +
      text + "}]}]}");
  return std::get<package::Pass>(package->manifest.variants.at(0).steps.at(0)).dispatch;
}

std::string outcome(const package::Dispatch& dispatch, const expr::Scope& scope, double most) {
  const auto size = dispatch_size(dispatch, scope, {}, most, "p");
  if (!size) return size.error().code;
  return std::to_string((*size)[0]) + " " + std::to_string((*size)[1]) + " " +
         std::to_string((*size)[2]);
}

// The short-hands are computed where their count is a number; the expressions that they stand for
// must agree everywhere.
TEST(Dispatch, ShortHandsAreTheirExpressions) {
  const char* const kCounts[] = {"0",          "1",
                                 "2",          "63",
                                 "64",         "65",
                                 "65534",      "65535",
                                 "65536",      "70000",
                                 "131070",     "131071",
                                 "1e6",        "1e9",
                                 "4294836225", "1e12",
                                 "1e300",      "0 - 1",
                                 "0.5",        "1.5",
                                 "65535.5",    "0 / 0",
                                 "1 / 0",      "true",
                                 "false",      "none",
                                 "'12'",       "'x'",
                                 "''",         "[3]",
                                 "[]",         "{}",
                                 "n",          "n if n > 2 else 1"};
  expr::Scope scope(&expr::helpers());
  scope.set("n", expr::Value(12345));
  std::size_t sizes = 0;
  for (const double most : {65535.0, 1000.0}) {
    for (const std::string count : kCounts) {
      SCOPED_TRACE(count);
      package::Dispatch workgroups = dispatch_of(R"({"workgroups": ")" + count + R"("})");
      EXPECT_EQ(workgroups.form, package::Dispatch::Form::kWorkgroups);
      const std::string computed = outcome(workgroups, scope, most);
      workgroups.form = package::Dispatch::Form::kGrid;
      EXPECT_EQ(computed, outcome(workgroups, scope, most));
      for (const std::string size : {"64", "1", "0", "256.5", "'32'", "none", "true", "[2]", "n"}) {
        SCOPED_TRACE(size);
        package::Dispatch threads =
            dispatch_of(R"({"threads": ")" + count + R"(", "workgroupSize": ")" + size + R"("})");
        EXPECT_EQ(threads.form, package::Dispatch::Form::kThreads);
        const std::string of_threads = outcome(threads, scope, most);
        threads.form = package::Dispatch::Form::kGrid;
        EXPECT_EQ(of_threads, outcome(threads, scope, most));
        sizes += of_threads.ends_with(" 1") ? 1U : 0U;
      }
    }
  }
  EXPECT_GT(sizes, 100U);
  EXPECT_EQ(outcome(dispatch_of(R"({"workgroups": "65536"})"), scope, 65535), "65535 2 1");
  EXPECT_EQ(outcome(dispatch_of(R"({"threads": 130, "workgroupSize": 64})"), scope, 65535),
            "3 1 1");
}

}  // namespace
}  // namespace wgk::planning
