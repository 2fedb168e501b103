// SPDX-License-Identifier: Apache-2.0
// `wgk test` finds kernels that leave values where their package promises zeros, although their
// results are right.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "json/json.h"
#include "package/cases.h"
#include "runtime/test_support.h"
#include "verify/runner.h"
#include "verify/runtime_engine.h"

namespace wgk::verify {
namespace {

class KeptPromise : public wgk::testing::RuntimeTest {
 protected:
  std::vector<CaseResult> run(const Package& package, bool repeat) {
    const auto cases = package::read_tests(*json::parse(R"({"cases": [{"name": "c",
        "args": {"factor": 2},
        "inputs": {"x": {"dtype": "float32", "shape": [5], "data": {"kind": "const", "value": 3}},
                   "y": {"dtype": "float32", "shape": [5], "data": {"kind": "const", "value": 1}}},
        "outputs": {"y": {"shape": [5], "data": {"kind": "const", "value": 7}}}}]})"));
    EXPECT_TRUE(cases.has_value()) << cases.error().to_string();
    RuntimeEngine engine(wgk::testing::shared_runtime());
    RunOptions options;
    options.repeat = repeat;
    std::vector<CaseResult> results;
    run_cases(package.shared(), *cases, engine, options,
              [&](const CaseResult& result) { results.push_back(result); });
    return results;
  }
};

TEST_F(KeptPromise, IsLookedAtAfterEachCall) {
  for (const bool repeat : {true, false}) {
    const auto good = run(wgk::testing::kept_package(), repeat);
    ASSERT_EQ(good.size(), 1u);
    EXPECT_EQ(good[0].verdict, Verdict::kPassed) << good[0].message;
    const auto bad = run(wgk::testing::kept_package(false), repeat);
    ASSERT_EQ(bad.size(), 1u);
    EXPECT_EQ(bad[0].verdict, Verdict::kFailed);
    EXPECT_TRUE(wgk::testing::contains(
        bad[0].message,
        "device/kept-zero]: variant 'only' left scratch 'board' with 0x40400000 in word 0 of 5"))
        << bad[0].message;
  }
}

}  // namespace
}  // namespace wgk::verify
