// SPDX-License-Identifier: Apache-2.0
#include "bench/baseline.h"

#include <gtest/gtest.h>

namespace wgk::bench {
namespace {

Report run(double copy, double seconds) {
  Report report;
  report.context.copy_bytes_per_second = copy;
  report.measurements.push_back(
      {.package = "a.B", .name = "case", .variant = "v", .seconds = summarize({seconds})});
  return report;
}

TEST(Baseline, FindsASlowDownOnlyWhenAllRepeatsAgree) {
  const Report baseline = run(100, 1.0);
  EXPECT_EQ(check_against(baseline, {run(100, 1.2), run(100, 1.15), run(100, 1.3)}).slower.size(),
            1u);
  EXPECT_TRUE(
      check_against(baseline, {run(100, 1.2), run(100, 1.05), run(100, 1.3)}).slower.empty());
  EXPECT_TRUE(
      check_against(baseline, {run(100, 1.0), run(100, 1.0), run(100, 1.0)}).slower.empty());
}

TEST(Baseline, IsRelativeToTheCopySpeedOfTheSameRun) {
  const Report baseline = run(100, 1.0);
  // The machine is half as fast in everything: no kernel got slower.
  EXPECT_TRUE(check_against(baseline, {run(50, 2.0)}).slower.empty());
  // Equal times on a machine that copies twice as fast are a slow-down.
  EXPECT_EQ(check_against(baseline, {run(200, 1.0)}).slower.size(), 1u);
}

TEST(Baseline, SaysWhatCouldNotBeCompared) {
  const Report baseline = run(100, 1.0);
  Report other = run(100, 1.0);
  other.measurements.front().name = "new";
  const CheckResult result = check_against(baseline, {other});
  EXPECT_EQ(result.compared, 0u);
  EXPECT_EQ(result.missing, std::vector<std::string>{"a.B/case/v/cold"});
  EXPECT_EQ(result.unknown, std::vector<std::string>{"a.B/new/v/cold"});
}

TEST(Baseline, KindOfADevice) {
  EXPECT_EQ(device_kind({.adapter = "NVIDIA H200"}), "nvidia-h200");
  EXPECT_EQ(device_kind({.adapter = "llvmpipe (LLVM 21.1.8, 256 bits)"}), "llvmpipe");
  EXPECT_EQ(device_kind({}), "unknown");
}

}  // namespace
}  // namespace wgk::bench
