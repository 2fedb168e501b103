// SPDX-License-Identifier: Apache-2.0
#include "bench/report.h"

#include <gtest/gtest.h>

#include "json/json.h"

namespace wgk::bench {
namespace {

bool contains(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

Report example() {
  Report report;
  report.context = {.date = "2026-01-02T03:04:05Z",
                    .library_version = "0.1.0",
                    .adapter = "A <GPU>",
                    .driver = "1.2",
                    .backend = "Vulkan",
                    .device_type = "discrete GPU",
                    .mode = "safe",
                    .clock = "timestamp query",
                    .cache_bytes = 6e7,
                    .speed = {.copy_bytes_per_second = 4e12,
                              .empty_dispatch_seconds = 2e-7,
                              .dependent_dispatch_seconds = 1.8e-6},
                    .packages = {{"a.B", "abc="}}};
  Measurement timed{.package = "a.B",
                    .name = "big",
                    .variant = "plain",
                    .tags = {"h200"},
                    .plan_digest = "0123456789abcdef0123456789abcdef",
                    .cold = true,
                    .seconds = summarize({10e-6, 11e-6, 12e-6}),
                    .calls = 200,
                    .dispatches = 1,
                    .bytes = 22e6,
                    .flops = 11e6,
                    .largest_error = 0.25};
  timed.host = HostCosts{.plan = 4e-5, .record = 1e-6};
  report.measurements.push_back(timed);
  report.measurements.push_back(
      {.package = "a.B", .name = "bad", .variant = "plain", .error = "wrong result"});
  report.comparisons.push_back({"a.B", "big", "peer", "plain", true, summarize({1.5, 1.6, 1.4})});
  return report;
}

TEST(Report, JsonRoundTrip) {
  const Report report = example();
  const Json json = to_json(report);
  auto parsed = json::parse(json::write(json));
  ASSERT_TRUE(parsed);
  auto back = report_from_json(*parsed);
  ASSERT_TRUE(back) << back.error().to_string();
  EXPECT_EQ(json::write(to_json(*back)), json::write(json));
}

TEST(Report, JsonHasTheFormOfGoogleBenchmark) {
  const Json json = to_json(example());
  const Json& first = json.find("benchmarks")->if_array()->front();
  EXPECT_EQ(*first.find("name")->if_string(), "a.B/big/plain/cold");
  EXPECT_DOUBLE_EQ(*first.find("real_time")->if_number(), 11);
  EXPECT_EQ(*first.find("time_unit")->if_string(), "us");
  for (const char* name : {"run_name", "run_type", "repetitions", "repetition_index", "threads",
                           "iterations", "cpu_time"}) {
    EXPECT_NE(first.find(name), nullptr) << name;
  }
  EXPECT_DOUBLE_EQ(*first.find("fraction_of_copy")->if_number(), 0.5);
  EXPECT_EQ(*json.find("benchmarks")->if_array()->at(1).find("error_message")->if_string(),
            "wrong result");
}

// Reports of older versions do not, and what has no plan cannot.
TEST(Report, SaysOfWhichPlanAFigureIs) {
  const Json json = to_json(example());
  const Json::Array& benchmarks = *json.find("benchmarks")->if_array();
  EXPECT_EQ(*benchmarks[0].find("plan_digest")->if_string(), "0123456789abcdef0123456789abcdef");
  EXPECT_EQ(benchmarks[1].find("plan_digest"), nullptr);
  const auto back = report_from_json(json);
  ASSERT_TRUE(back);
  EXPECT_EQ(back->measurements[0].plan_digest, "0123456789abcdef0123456789abcdef");
  EXPECT_EQ(back->measurements[1].plan_digest, "");
}

TEST(Report, MissingPartsAreErrors) {
  EXPECT_FALSE(report_from_json(Json::object({{"context", Json::object({})}})));
  EXPECT_FALSE(report_from_json(Json::array({})));
}

TEST(Report, TableNamesCasesAndLosses) {
  const std::string table = to_table(example(), true);
  EXPECT_TRUE(contains(table, "big [plain]"));
  EXPECT_TRUE(contains(table, "11.0 us"));
  EXPECT_TRUE(contains(table, "50 %"));
  EXPECT_TRUE(contains(table, "not timed"));
  EXPECT_TRUE(contains(to_table(example(), false), "big [plain]\tcold\t11.0 us"));
}

TEST(Report, PageIsSelfContainedAndEscaped) {
  const std::string html = to_html(example());
  EXPECT_TRUE(contains(html, "A &lt;GPU&gt;"));
  EXPECT_TRUE(contains(html, "<svg"));
  EXPECT_FALSE(contains(html, "<script"));
  EXPECT_FALSE(contains(html, "http"));
  EXPECT_FALSE(contains(html, "software adapter"));
  Report software = example();
  software.context.software = true;
  EXPECT_TRUE(contains(to_html(software), "software adapter"));
  EXPECT_TRUE(contains(html, "not timed: wrong result"));
}

// A figure that the clock guard gave up on must not look like any other.
TEST(Report, SaysWhereTheClocksDidNotHold) {
  Report report = example();
  EXPECT_TRUE(clocks_held(report));
  EXPECT_FALSE(contains(to_table(report, false), "unsteady"));
  EXPECT_FALSE(contains(to_html(report), "unsteady"));
  report.measurements[0].clock_retries = 3;
  report.measurements[0].clock_held = false;
  const std::string table = to_table(report, false);
  EXPECT_TRUE(contains(table, "\t3\t0\tclock unsteady\n")) << table;
  EXPECT_TRUE(contains(table, kUnsteady.data()));
  EXPECT_TRUE(contains(to_html(report), "11.0 us, clock unsteady"));
  EXPECT_TRUE(contains(to_html(report), kUnsteady.data()));
  const Json json = to_json(report);
  EXPECT_FALSE(*json.find("benchmarks")->if_array()->front().find("clock_held")->if_bool());
  EXPECT_TRUE(*json.find("context")->find("clock_held")->if_bool());
  const auto back = report_from_json(json);
  ASSERT_TRUE(back);
  EXPECT_FALSE(back->measurements[0].clock_held);
  EXPECT_TRUE(back->measurements[1].clock_held);
  report.context.speed.clock_held = false;
  EXPECT_TRUE(contains(to_table(report, false), "dependent dispatch 1.80 us; clock unsteady\n"));
  EXPECT_FALSE(report_from_json(to_json(report))->context.speed.clock_held);
}

TEST(Report, SaysThatTheCoresWereKeptAwake) {
  Report report = example();
  EXPECT_FALSE(contains(to_table(report, false), "awake"));
  EXPECT_FALSE(contains(to_html(report), "awake"));
  EXPECT_FALSE(report_from_json(to_json(report))->context.kept_awake);
  report.context.kept_awake = true;
  EXPECT_TRUE(contains(to_table(report, false), "clock: timestamp query; cores kept awake\n"));
  EXPECT_TRUE(contains(to_html(report), "<td>kept awake</td>"));
  EXPECT_TRUE(report_from_json(to_json(report))->context.kept_awake);
}

// A mean over cold and hot figures would say nothing.
TEST(Report, PageKeepsColdAndHotApart) {
  Report report = example();
  report.comparisons.push_back({"a.B", "big", "peer", "plain", false, summarize({3, 3, 3})});
  const std::string html = to_html(report);
  EXPECT_TRUE(contains(html, "Geometric mean 1.500 over 1 pair."));
  EXPECT_TRUE(contains(html, "Geometric mean 3.000 over 1 pair."));
}

TEST(Report, Units) {
  EXPECT_EQ(format_seconds(1.234e-6), "1.23 us");
  EXPECT_EQ(format_seconds(0.0123), "12.3 ms");
  EXPECT_EQ(format_seconds(1.5e-7), "150 ns");
  EXPECT_EQ(format_rate(4.24e12, "B/s"), "4.24 TB/s");
  EXPECT_EQ(format_rate(12, "B/s"), "12.0 B/s");
}

}  // namespace
}  // namespace wgk::bench
