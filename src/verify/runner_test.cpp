// SPDX-License-Identifier: Apache-2.0
#include "verify/runner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "base/contains_test.h"
#include "json/json.h"
#include "package/case_data.h"
#include "store/open.h"
#include "verify/compare.h"
#include "verify/expected.h"
#include "verify/plan_list.h"

namespace wgk::verify {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// Gives y = 2 x, or whatever `answer` makes of it.
class FakeEngine final : public Engine {
 public:
  std::string adapter() const override { return "fake"; }
  const DeviceCaps& caps() const override { return caps_; }
  std::expected<CallResult, CallFailure> call(const std::shared_ptr<const package::Package>&,
                                              const Call& call) override {
    ++calls;
    if (failure) return std::unexpected(*failure);
    const Array& x = call.inputs[0].second;
    Array y = x;
    for (std::size_t i = 0; i < x.data.size() / host_bytes(x.dtype); ++i) {
      const double doubled = 2 * package::host_value(x.dtype, x.data, i);
      EXPECT_TRUE(package::store_host_value(y.dtype, answer(doubled, i), y.data, i).has_value());
    }
    return CallResult{call.variant.empty() ? "a" : call.variant, {{"y", y}}};
  }

  int calls = 0;
  std::optional<CallFailure> failure;
  std::function<double(double, std::size_t)> answer = [](double value, std::size_t) {
    return value;
  };

 private:
  DeviceCaps caps_ = DeviceCaps::defaults();
};

class Runner : public testing::Test {
 protected:
  void SetUp() override {
    const auto package =
        store::open(std::string(WGK_SOURCE_DIR) + "/tests/interop/packages/test.interop.Base");
    ASSERT_TRUE(package.has_value()) << package.error().to_string();
    package_ = *package;
    options_.place = "the package";
  }

  // One case with x = [1, 2, 3, 4]; `rest` are its other members.
  std::vector<CaseResult> run(std::string_view rest) {
    const auto json = json::parse(
        R"({"cases": [{"name": "c", "inputs": {"X": {"dtype": "float32", "shape": [2, 2],
            "data": {"kind": "linear", "start": 1, "step": 1}}}, )" +
        std::string(rest) + "}]}");
    EXPECT_TRUE(json.has_value()) << json.error().to_string();
    const auto cases = package::read_tests(*json);
    EXPECT_TRUE(cases.has_value()) << cases.error().to_string();
    std::vector<CaseResult> results;
    if (cases) {
      totals_ = run_cases(package_, *cases, engine_, options_,
                          [&](const CaseResult& result) { results.push_back(result); });
    }
    return results;
  }
  // The verdict and the message of the only result.
  std::string outcome(std::string_view rest) {
    const auto results = run(rest);
    if (results.size() != 1) return std::to_string(results.size()) + " results";
    return std::string(name(results[0].verdict)) + ": " + results[0].message;
  }

  std::shared_ptr<const package::Package> package_;
  FakeEngine engine_;
  RunOptions options_;
  Totals totals_;
};

constexpr std::string_view kDoubled =
    R"("outputs": {"Y": {"shape": [2, 2], "data": {"kind": "linear", "start": 2, "step": 2}}})";

TEST_F(Runner, PassesWhatIsRight) {
  EXPECT_EQ(outcome(kDoubled), "passed: ");
  EXPECT_EQ(engine_.calls, 2);  // the second one for its bits
  EXPECT_EQ(summary(totals_), "1 passed, 0 failed, 0 skipped");
  options_.repeat = false;
  EXPECT_EQ(outcome(kDoubled), "passed: ");
  EXPECT_EQ(engine_.calls, 3);
}

// The lines change with what would run, and with nothing else.
TEST_F(Runner, ListsWhatWouldRun) {
  const auto lines = [&](std::string_view shape) {
    const auto json =
        json::parse(R"({"cases": [{"name": "c", "outputs": {"y": {"compare": false}}, "inputs":
        {"X": {"dtype": "float32", "data": {"kind": "const", "value": 1}, "shape": )" +
                    std::string(shape) + "}}}]}");
    const auto cases = package::read_tests(*json);
    std::vector<std::string> found;
    if (!cases) return found;
    list_plans(package_, *cases, DeviceCaps::defaults(), options_,
               [&](const std::string& line) { found.push_back(line); });
    return found;
  };
  const auto selected = lines("[2, 2]");
  ASSERT_EQ(selected.size(), 1u);
  EXPECT_EQ(selected[0].size(), std::string("c ").size() + 32);
  EXPECT_EQ(lines("[2, 2]"), selected);
  EXPECT_NE(lines("[2, 3]"), selected);
  options_.all_variants = true;
  const auto all = lines("[2, 2]");
  ASSERT_FALSE(all.empty());
  EXPECT_EQ(std::ranges::count_if(
                all, [](const std::string& line) { return contains(line, " selected "); }),
            1);
  options_.case_pattern = "d*";
  EXPECT_TRUE(lines("[2, 2]").empty());
  EXPECT_EQ(engine_.calls, 0);
}

TEST_F(Runner, NamesTheLargestError) {
  engine_.answer = [](double value, std::size_t i) { return i == 2 ? value + 0.5 : value; };
  const auto results =
      run(R"("outputs": {"y": {"shape": [2, 2], "tolerance": {"abs": 0.125, "rel": 0},
      "data": {"kind": "linear", "start": 2, "step": 2}}})");
  ASSERT_EQ(results.size(), 1u);
  EXPECT_EQ(results[0].verdict, Verdict::kFailed);
  EXPECT_EQ(results[0].error, 4);
  EXPECT_EQ(results[0].index, 2u);
  EXPECT_EQ(results[0].wanted, 6);
  EXPECT_EQ(results[0].got, 6.5);
  EXPECT_TRUE(contains(results[0].message, "output 'y' at (1, 0): wanted 6, got 6.5 (4 times"));
  EXPECT_EQ(results[0].command, "wgk test 'the package' --case c");
  const Json json = to_json(results[0]);
  EXPECT_EQ(*json.find("status"), Json("failed"));
  EXPECT_EQ(*json.find("error"), Json(4));
}

TEST_F(Runner, HonoursPartsAndBits) {
  engine_.answer = [](double value, std::size_t i) { return i == 3 ? kNan : value; };
  EXPECT_EQ(outcome(R"("outputs": {"y": {"shape": [2, 2], "samples": [[0, 2], [2, 6]]}})"),
            "passed: ");
  EXPECT_EQ(outcome(R"("outputs": {"y": {"shape": [2, 2], "ignore": [[3, 4]],
      "data": {"kind": "linear", "start": 2, "step": 2}}})"),
            "passed: ");
  EXPECT_EQ(outcome(R"("outputs": {"y": {"shape": [2, 2], "poke": [[3, "nan"]],
      "data": {"kind": "linear", "start": 2, "step": 2}}})"),
            "passed: ");
  EXPECT_TRUE(contains(outcome(R"("outputs": {"y": {"shape": [2, 2], "allowNaN": false,
      "poke": [[3, "nan"]], "data": {"kind": "linear", "start": 2, "step": 2}}})"),
                       "failed: output 'y' at (1, 1)"));
  EXPECT_EQ(outcome(R"("outputs": {"y": {"compare": false}})"), "passed: ");
  engine_.answer = [](double value, std::size_t) { return value / 2; };
  EXPECT_EQ(
      outcome(R"("outputs": {"y": {"shape": [2, 2], "data": {"kind": "input", "port": "x"}}})"),
      "passed: ");
  engine_.answer = [](double value, std::size_t i) { return i == 1 ? 9 : value / 2; };
  EXPECT_EQ(outcome(R"("outputs": {"y": {"shape": [2, 2], "data": {"kind": "input", "port": "X"},
      "poke": [[1, 9]]}})"),
            "passed: ");
}

TEST_F(Runner, ComparesInputsBitByBit) {
  engine_.answer = [](double value, std::size_t i) { return i == 0 ? -0.0 : value / 2; };
  EXPECT_TRUE(contains(outcome(R"("outputs": {"y": {"shape": [2, 2],
      "data": {"kind": "input", "port": "x"}, "poke": [[0, 0]]}})"),
                       "does not have the bits"));
  EXPECT_EQ(outcome(R"("outputs": {"y": {"shape": [2, 2], "poke": [[0, 0]],
      "data": {"kind": "linear", "start": 1, "step": 1}}})"),
            "passed: ");
}

TEST_F(Runner, ChecksShapesAndTypes) {
  EXPECT_TRUE(contains(outcome(R"("outputs": {"y": {"shape": [4], "tolerance": 9}})"),
                       "has shape (2, 2); expected (4)"));
  EXPECT_TRUE(contains(outcome(R"("outputs": {"y": {"shape": [2, 2], "dtype": "float16"}})"),
                       "is float32; expected float16"));
  EXPECT_TRUE(contains(outcome(R"("outputs": {"y": {"shape": [2, 2]}})"), "there is no oracle"));
  EXPECT_TRUE(contains(outcome(R"("outputs": {"q": {"shape": [2, 2]}})"), "no output 'q'"));
}

TEST_F(Runner, ComparesTheSecondRun) {
  engine_.answer = [this](double value, std::size_t) { return value + engine_.calls * 1e-3; };
  EXPECT_TRUE(contains(outcome(R"("outputs": {"y": {"shape": [2, 2], "tolerance": 1,
      "data": {"kind": "linear", "start": 2, "step": 2}}})"),
                       "the repeated call gave other bits in 'y' at (0, 0)"));
}

TEST_F(Runner, ComparesTwins) {
  constexpr std::string_view kOutputs =
      R"("outputs": {"Y": {"shape": [2, 2], "tolerance": 1, "ignore": [[0, 1]],
         "data": {"kind": "linear", "start": 2, "step": 2}}})";
  const auto last = [&](std::string_view more) {
    const auto results =
        run(std::string(kOutputs) + R"(}, {"name": "d", "inputs": {"X": {"dtype": "float32",
            "shape": [2, 2], "data": {"kind": "linear", "start": 1, "step": 1}}}, )" +
            std::string(more) + std::string(kOutputs));
    return results.empty() ? "" : results.back().message;
  };
  options_.repeat = false;
  EXPECT_EQ(last(R"("twin": "c", )"), "");
  engine_.answer = [this](double value, std::size_t i) {
    return i == 0 ? value + engine_.calls * 1e-3 : value;
  };
  EXPECT_EQ(last(R"("twin": "c", )"), "");  // ignored
  engine_.answer = [this](double value, std::size_t i) {
    return i == 3 ? value + engine_.calls * 1e-3 : value;
  };
  EXPECT_EQ(last(""), "");
  EXPECT_TRUE(contains(last(R"("twin": "c", )"), "other bits than that of 'c' at (1, 1)"));
  options_.variant = "b";  // not what is selected
  EXPECT_EQ(last(R"("twin": "c", )"), "");
}

TEST_F(Runner, JudgesCallsThatMustFail) {
  EXPECT_TRUE(
      contains(outcome(R"("error": "request/shape")"), "the call succeeded; expected error"));
  engine_.failure = CallFailure{{"request/shape", "no"}, {}};
  EXPECT_EQ(outcome(R"("error": "request/shape")"), "passed: ");
  EXPECT_EQ(outcome(R"("error": "request/")"), "passed: ");
  EXPECT_EQ(outcome(R"("error": true)"), "passed: ");
  EXPECT_TRUE(contains(outcome(R"("error": "request/rank")"), "expected error request/rank, got"));
  engine_.failure->error.others.push_back({"request/rank", "also"});
  EXPECT_EQ(outcome(R"("error": "request/rank")"), "passed: ");
  engine_.failure->changed = {"cache"};
  EXPECT_TRUE(contains(outcome(R"("error": true)"), "the failing call changed 'cache'"));
  EXPECT_TRUE(contains(outcome(kDoubled), "failed: error[request/shape]: no"));
}

TEST_F(Runner, SkipsWhatIsMarked) {
  EXPECT_EQ(
      outcome(R"("skipGpu": {"category": "permanent", "reason": "subnormals"}, "outputs": {})"),
      "skipped: permanent: subnormals");
  EXPECT_EQ(engine_.calls, 0);
  options_.case_pattern = "x*";
  EXPECT_TRUE(run(kDoubled).empty());
}

TEST_F(Runner, RunsVariants) {
  options_.all_variants = true;
  const auto results = run(kDoubled);
  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(results[0].variant, "a");
  EXPECT_EQ(results[1].variant, "b");
  options_.all_variants = false;
  options_.variant = "b";
  EXPECT_EQ(run(kDoubled).size(), 1u);
}

// An operator that must leave its state alone: `st` is in place.
class InPlaceEngine final : public Engine {
 public:
  std::string adapter() const override { return "fake"; }
  const DeviceCaps& caps() const override { return caps_; }
  std::expected<CallResult, CallFailure> call(const std::shared_ptr<const package::Package>&,
                                              const Call& call) override {
    const Array* state = find_array(call.inputs, "st");
    Array after = *state;
    if (touch) after.data[4] = std::byte{1};
    return CallResult{"v", {{"st", after}, {"y", *find_array(call.inputs, "x")}}};
  }

  bool touch = false;

 private:
  DeviceCaps caps_ = DeviceCaps::defaults();
};

TEST(InPlace, IsComparedAfterTheCall) {
  const auto package =
      store::open(std::string(WGK_SOURCE_DIR) + "/tests/interop/packages/test.interop.InPlace");
  ASSERT_TRUE(package.has_value());
  const auto json = json::parse(
      R"({"cases": [{"name": "c", "inputs": {"x": {"dtype": "float32", "shape": [1], "data": {"kind": "const", "value": 1}},
          "st": {"dtype": "float32", "shape": [2], "data": {"kind": "const", "value": 0}}}, "unchanged": ["st"],
          "outputs": {"y": {"shape": [1], "data": {"kind": "input", "port": "x"}}}}]})");
  const auto cases = package::read_tests(*json);
  ASSERT_TRUE(cases.has_value()) << cases.error().to_string();
  InPlaceEngine engine;
  std::string message;
  const auto note = [&](const CaseResult& result) { message = result.message; };
  EXPECT_EQ(run_cases(*package, *cases, engine, {}, note).passed, 1u);
  engine.touch = true;
  EXPECT_EQ(run_cases(*package, *cases, engine, {}, note).failed, 1u);
  EXPECT_TRUE(contains(message, "'st' must stay as it was, but changed at (1)"));
}

TEST(Compare, KnowsTheFormsOfTolerance) {
  EXPECT_EQ(error_multiple(1.5, 1, {.abs = 0.5, .rel = 0}), 1);
  EXPECT_EQ(error_multiple(-3, -4, {.abs = 0, .rel = 0.25}), 1);
  EXPECT_EQ(error_multiple(1, 1, {}), 0);
  EXPECT_EQ(error_multiple(1, 1 + 1e-12, {}), kInfinity);
  EXPECT_EQ(error_multiple(kNan, kNan, {}), 0);
  EXPECT_EQ(error_multiple(kNan, 1, {.abs = 1e9, .rel = 0}), kInfinity);
  EXPECT_EQ(error_multiple(kInfinity, kInfinity, {}), 0);
  EXPECT_EQ(error_multiple(kInfinity, -kInfinity, {.abs = 1, .rel = 1}), kInfinity);
  EXPECT_EQ(error_multiple(65504, kInfinity, {.abs = 1, .rel = 1}), kInfinity);
}

TEST(Glob, Matches) {
  EXPECT_TRUE(matches_glob("half_*", "half_8"));
  EXPECT_TRUE(matches_glob("*_8", "half_8"));
  EXPECT_TRUE(matches_glob("h?lf*8", "half_8"));
  EXPECT_TRUE(matches_glob("*", ""));
  EXPECT_FALSE(matches_glob("half", "half_8"));
  EXPECT_FALSE(matches_glob("h?lf", "hlf"));
  EXPECT_TRUE(matches_glob("a*b*c", "axxbyyc"));
  EXPECT_FALSE(matches_glob("a*b*c", "axxbyy"));
}

TEST(IndexText, CountsRowMajor) {
  EXPECT_EQ(index_text(7, {2, 2, 3}), "(1, 0, 1)");
  EXPECT_EQ(index_text(0, {}), "()");
}

}  // namespace
}  // namespace wgk::verify
