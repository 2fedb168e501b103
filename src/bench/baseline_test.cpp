// SPDX-License-Identifier: Apache-2.0
#include "bench/baseline.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

namespace wgk::bench {
namespace {

Report run(double copy, double seconds) {
  Report report;
  report.context.speed.copy_bytes_per_second = copy;
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

// What a busy machine does: single repeats that are far off, in any direction.
TEST(Baseline, NoiseIsNoSlowDown) {
  const Report baseline = run(100, 1.0);
  EXPECT_TRUE(check_against(baseline, {run(100, 3.0), run(100, 0.9), run(100, 1.4)}).passes());
  EXPECT_TRUE(check_against(baseline, {run(100, 1.09), run(100, 1.09), run(100, 1.09)}).passes());
  // Slower throughout, as is everything else: the copy between the samples says so.
  Report busy = run(100, 2.0);
  busy.measurements.front().copy_bytes_per_second = 50;
  EXPECT_TRUE(check_against(baseline, {busy, busy, busy}).passes());
}

// A device whose clocks fell makes kernels slower that nobody changed.
TEST(Baseline, UnsteadyClocksProveNothing) {
  const Report baseline = run(100, 1.0);
  Report unsteady = run(100, 2.0);
  unsteady.measurements.front().clock_held = false;
  EXPECT_TRUE(check_against(baseline, {run(100, 1.5), unsteady, run(100, 1.5)}).passes());
  const Report made = make_baseline({run(100, 1.1), unsteady, run(100, 1.0)}, {});
  ASSERT_EQ(made.measurements.size(), 1u);
  EXPECT_DOUBLE_EQ(made.measurements[0].seconds.median, 1.1);
}

TEST(Baseline, WhatUnsteadyClocksLeaveUndecidedIsNamed) {
  const Report baseline = run(100, 1.0);
  Report unsteady = run(100, 2.0);
  unsteady.measurements.front().clock_held = false;
  const CheckResult result = check_against(baseline, {run(100, 1.5), unsteady, run(100, 1.5)});
  EXPECT_EQ(result.compared(), 0u);
  EXPECT_EQ(result.unsteady, std::vector<std::string>{"a.B/case/v/cold"});
  EXPECT_EQ(to_text(result),
            "unsteady clocks, undecided: a.B/case/v/cold\n"
            "0 cases compared, 0 slower, 0 not timed, 0 missing, 1 unsteady\n");
  const Json json = to_json(result);
  EXPECT_EQ(json.find("unsteady")->if_array()->size(), 1u);
  EXPECT_TRUE(*json.find("passes")->if_bool());
  // A steady round within the tolerance decides.
  const CheckResult decided = check_against(baseline, {run(100, 1.0), unsteady, unsteady});
  EXPECT_EQ(decided.compared(), 1u);
  EXPECT_TRUE(decided.unsteady.empty());
}

// Cases with the costs that each round finds, against a baseline of 1.
class Rounds {
 public:
  explicit Rounds(std::map<std::string, std::vector<double>> costs) : costs_(std::move(costs)) {}

  Result<CheckResult> check() {
    Report baseline;
    for (const auto& [name, costs] : costs_) baseline.measurements.push_back(of(name, 1));
    baseline.context.speed.copy_bytes_per_second = 100;
    return check_in_rounds(baseline, [this](const CaseNames& names) { return measure(names); });
  }

  std::vector<CaseNames> asked;

 private:
  static Measurement of(const std::string& name, double seconds) {
    return {.package = "a.B", .name = name, .variant = "v", .seconds = summarize({seconds})};
  }
  Result<Report> measure(const CaseNames& names) {
    const std::size_t round = asked.size();
    asked.push_back(names);
    Report report;
    report.context.speed.copy_bytes_per_second = 100;
    for (const auto& [package, name] : names) {
      const std::vector<double>& costs = costs_.at(name);
      Measurement m = of(name, round < costs.size() ? std::abs(costs[round]) : 1);
      m.clock_held = round >= costs.size() || costs[round] >= 0;
      if (m.seconds.median == 0) m.error = "bench/wrong: ...";
      report.measurements.push_back(std::move(m));
    }
    return report;
  }

  std::map<std::string, std::vector<double>> costs_;  // below 0: with unsteady clocks; 0: wrong
};

TEST(Baseline, OnlyWhatLooksSlowerIsMeasuredAgain) {
  Rounds rounds({{"fine", {1.05}},
                 {"noisy", {1.4, 1.3, 1.0}},
                 {"slow", {1.5, 1.5, 1.5, 1.5, 1.5, 1.5}},
                 {"unlucky", {1.5, 1.5, 1.5, 1.0}}});
  const auto result = rounds.check();
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->compared(), 4u);
  ASSERT_EQ(result->slower.size(), 1u);
  EXPECT_EQ(result->slower.front().name, "a.B/slow/v/cold");
  EXPECT_EQ(result->slower.front().ratios, (std::vector<double>{1.5, 1.5, 1.5}));
  std::vector<std::string> asked;
  for (const CaseNames& names : rounds.asked) {
    std::string& text = asked.emplace_back();
    for (const auto& [package, name] : names) text += name.front();
  }
  EXPECT_EQ(asked, (std::vector<std::string>{"fnsu", "nsu", "nsu", "su", "s", "s"}));
  const Json json = to_json(*result);
  EXPECT_EQ(json.find("slower")->if_array()->size(), 1u);
  EXPECT_EQ(json.find("within")->if_array()->size(), 3u);
}

TEST(Baseline, OneRoundIsEnoughWhereNothingLooksSlower) {
  Rounds rounds({{"one", {1.0}}, {"other", {0.5}}});
  const auto result = rounds.check();
  ASSERT_TRUE(result.has_value());
  EXPECT_TRUE(result->passes());
  EXPECT_EQ(result->compared(), 2u);
  EXPECT_EQ(rounds.asked.size(), 1u);
}

TEST(Baseline, WhatUnsteadyClocksMadeSlowIsMeasuredAgain) {
  Rounds rounds({{"saved", {-1.5, 1.0}}, {"undecided", {1.5, -1.5, 1.5}}});
  const auto result = rounds.check();
  ASSERT_TRUE(result.has_value());
  EXPECT_TRUE(result->passes());
  ASSERT_EQ(result->within.size(), 1u);
  EXPECT_EQ(result->within.front().name, "a.B/saved/v/cold");
  EXPECT_EQ(result->unsteady, std::vector<std::string>{"a.B/undecided/v/cold"});
  EXPECT_EQ(rounds.asked.size(), 3u);
}

TEST(Baseline, AWrongResultInAnyRoundFails) {
  Rounds rounds({{"at once", {0}}, {"later", {1.5, 0}}, {"in the second look", {2, 2, 2, 0}}});
  const auto result = rounds.check();
  ASSERT_TRUE(result.has_value());
  EXPECT_FALSE(result->passes());
  EXPECT_EQ(result->failed.size(), 3u);
  EXPECT_EQ(result->compared(), 0u);
}

TEST(Baseline, ACheckEndsWithTheDevice) {
  const Report baseline = run(100, 1.0);
  const auto result = check_in_rounds(
      baseline, [](const CaseNames&) -> Result<Report> { return failure("device/lost", ""); });
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code, "device/lost");
}

TEST(Baseline, ComparesTheCaseWhateverVariantIsChosen) {
  const Report baseline = run(100, 1.0);
  Report other = run(100, 1.3);
  other.measurements.front().variant = "w";
  EXPECT_EQ(check_against(baseline, {other, other, other}).slower.size(), 1u);
}

TEST(Baseline, AWrongResultFails) {
  Report wrong = run(100, 1.0);
  wrong.measurements.front().error = "bench/wrong: ...";
  const CheckResult result = check_against(run(100, 1.0), {run(100, 1.0), wrong, run(100, 1.0)});
  EXPECT_FALSE(result.passes());
  EXPECT_EQ(result.failed.size(), 1u);
}

TEST(Baseline, IsMadeOfTheSlowestRepeatAndKeepsOtherCases) {
  std::vector<Report> repeats = {run(100, 3.0), run(100, 1.0), run(100, 2.0)};
  for (Report& report : repeats) report.context.packages = {{"a.B", "new"}};
  Report old = run(100, 9.0);
  old.context.packages = {{"a.B", "old"}, {"c.D", "kept"}};
  old.measurements.push_back(old.measurements.front());
  old.measurements.back().package = "c.D";
  const Report made = make_baseline(repeats, old);
  ASSERT_EQ(made.measurements.size(), 2u);
  EXPECT_EQ(made.measurements[0].package, "c.D");
  EXPECT_DOUBLE_EQ(made.measurements[1].seconds.median, 3.0);
  EXPECT_EQ(made.context.packages.size(), 2u);
  EXPECT_EQ(made.context.packages[0].second, "new");
}

TEST(Baseline, KeepsTheOldFigureOfACaseThatWasNeverTimedWell) {
  Report unsteady = run(100, 2.0);
  unsteady.measurements.front().clock_held = false;
  Report wrong = run(100, 2.0);
  wrong.measurements.front().error = "bench/wrong: ...";
  const Report made = make_baseline({unsteady, wrong, unsteady}, run(100, 9.0));
  ASSERT_EQ(made.measurements.size(), 1u);
  EXPECT_DOUBLE_EQ(made.measurements[0].seconds.median, 9.0);
  EXPECT_TRUE(make_baseline({unsteady, wrong, unsteady}, {}).measurements.empty());
}

TEST(Baseline, SaysWhatCouldNotBeCompared) {
  const Report baseline = run(100, 1.0);
  Report other = run(100, 1.0);
  other.measurements.front().name = "new";
  const CheckResult result = check_against(baseline, {other});
  EXPECT_EQ(result.compared(), 0u);
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
