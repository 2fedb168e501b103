// SPDX-License-Identifier: Apache-2.0
#include "bench/run.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstdlib>
#include <cstring>
#include <format>
#include <set>
#include <string>

#include "bench/baseline.h"
#include "bench/test_support.h"
#include "bench/timer.h"
#include "bench/workload.h"
#include "gpu/transfer.h"
#include "json/json.h"
#include "runtime/test_support.h"
#include "verify/plan_list.h"

namespace wgk::bench {
namespace {

using testing::device;
using testing::quick;
using testing::row_norm;

TEST(Run, TimesACaseBesideItsFloor) {
  if (device() == nullptr) return;
  RunOptions options = quick();
  options.floors = true;
  options.hot = true;
  const auto report = run(*device(), row_norm(), nullptr, options, {});
  ASSERT_TRUE(report.has_value()) << report.error().to_string();
  const std::size_t floors = report->measurements.size() / 2 - 1;  // cold and hot, each with them
  ASSERT_GE(floors, 1U);
  const Measurement& m = report->measurements[0];
  EXPECT_EQ(m.error, "");
  EXPECT_EQ(m.bytes, 4 * 16 * 64 * 4);
  EXPECT_GT(m.seconds.median, 0);
  EXPECT_EQ(m.seconds.samples, 3U);
  EXPECT_GT(m.calls, 0U);
  EXPECT_LE(m.largest_error, 1);
  EXPECT_TRUE(report->measurements[1].variant.starts_with("floor 2r2w"));
  EXPECT_TRUE(report->measurements[floors].cold);
  EXPECT_TRUE(report->measurements[floors].variant.starts_with("floor 2r2w"));
  EXPECT_FALSE(report->measurements[1 + floors].cold);
  EXPECT_TRUE(report->measurements[2 + floors].variant.starts_with("floor 2r2w"));
  EXPECT_FALSE(report->measurements[2 + floors].cold);
  ASSERT_EQ(report->comparisons.size(), 2 * floors);
  EXPECT_TRUE(report->comparisons[0].cold);
  EXPECT_FALSE(report->comparisons[floors].cold);
  EXPECT_GT(report->comparisons[0].ratio.median, 0);
  EXPECT_GT(report->context.speed.copy_bytes_per_second, 0);
}

// Also where one cannot be made: the case is a measurement with an error, the next one is timed.
TEST(Run, DataThatIsMadeAheadIsThatOfItsCase) {
  if (device() == nullptr) return;
  Subject subject = row_norm();
  const auto add = [&](const std::string& name, auto change) {
    subject.benches.push_back(subject.benches.front());
    subject.benches.back().name = name;
    change(subject.benches.back().inputs);
  };
  add("impossible", [](auto& inputs) {
    inputs.front().second.data = package::CsrBlockMask{.num_layout = 1, .max_blocks = 1};
  });
  add("wider", [](auto& inputs) {
    for (auto& [port, tensor] : inputs) tensor.shape.back() = 128;
  });
  RunOptions options = quick();
  options.ahead = true;
  const auto report = run(*device(), subject, nullptr, options, {});
  ASSERT_TRUE(report.has_value()) << report.error().to_string();
  ASSERT_EQ(report->measurements.size(), 3U);
  EXPECT_EQ(report->measurements[0].error, "");
  EXPECT_TRUE(report->measurements[1].error.starts_with("package/cases"))
      << report->measurements[1].error;
  EXPECT_EQ(report->measurements[2].error, "");
  EXPECT_EQ(report->measurements[2].name, "wider");
  EXPECT_EQ(report->measurements[2].bytes, 4 * 16 * 128 * 4);
  EXPECT_LE(report->measurements[2].largest_error, 1);
}

TEST(Run, AnEmptyDispatchStandsBesideACaseAndEachOfItsFloors) {
  if (device() == nullptr) return;
  RunOptions options = quick();
  options.floors = true;
  options.empty = true;
  const auto report = run(*device(), row_norm(), nullptr, options, {});
  ASSERT_TRUE(report.has_value()) << report.error().to_string();
  ASSERT_GE(report->measurements.size(), 3U);
  const Measurement& empty = report->measurements.back();
  EXPECT_EQ(empty.variant, kEmptyDispatch);
  EXPECT_GT(empty.seconds.median, 0);
  std::size_t with_empty = 0;
  for (const Comparison& c : report->comparisons) {
    if (c.b != kEmptyDispatch) continue;
    EXPECT_EQ(c.a, report->measurements[with_empty++].variant);
    EXPECT_GT(c.ratio.median, 0);
  }
  EXPECT_EQ(with_empty, report->measurements.size() - 1);
  EXPECT_EQ(report->comparisons.size(), 2 * with_empty - 1);
}

// Sets of buffers in turns share the scratch that the kernel must leave zero.
TEST(Run, RefusesAKernelThatLeavesValuesInKeptScratch) {
  if (device() == nullptr) return;
  const auto cases = json::parse(R"({"cases": [{"name": "sum", "args": {"factor": 2}, "inputs": {
    "x": {"dtype": "float32", "shape": [64]}, "y": {"dtype": "float32", "shape": [64]}}, "bytes": 1024}]})");
  for (const bool keeps : {true, false}) {
    const Subject subject{wgk::testing::kept_package(keeps).shared(),
                          *package::read_benches(*cases)};
    const auto report = run(*device(), subject, nullptr, quick(), {});
    ASSERT_TRUE(report.has_value()) << report.error().to_string();
    ASSERT_EQ(report->measurements.size(), 1U);
    const Measurement& m = report->measurements[0];
    if (keeps) {
      EXPECT_EQ(m.error, "");
      EXPECT_EQ(m.dispatches, 2U);
      EXPECT_GT(m.seconds.median, 0);
    } else {
      EXPECT_TRUE(m.error.starts_with("device/kept-zero: variant 'only' left scratch 'board'"))
          << m.error;
    }
  }
}

// As many workgroups as the case's kernel, each with as much of every tensor.
TEST(Run, TimesACaseBesideKernelsThatAlsoSumUp) {
  if (device() == nullptr) return;
  RunOptions options = quick();
  options.sum_floors = true;
  const auto report = run(*device(), row_norm(), nullptr, options, {});
  ASSERT_TRUE(report.has_value()) << report.error().to_string();
  if (!device()->device->caps().has_feature("subgroups")) GTEST_SKIP() << "no subgroups";
  ASSERT_GE(report->measurements.size(), 2U);
  const Measurement& floor = report->measurements[1];
  EXPECT_TRUE(floor.variant.starts_with("floor 2r2w with sums, ")) << floor.variant;
  EXPECT_NEAR(floor.bytes, report->measurements[0].bytes, 0.02 * floor.bytes);
  EXPECT_EQ(report->comparisons.size(), report->measurements.size() - 1);
}

// The words of each tensor of `plan` after a run on random ones; none if it fails.
std::vector<std::vector<std::uint32_t>> words_after(const Timer& timer,
                                                    const std::shared_ptr<const Plan>& plan) {
  const auto rotation = timer.rotation_of(plan, 1e4);
  if (!rotation || !rotation->front()->submit()) return {};
  const gpu::Bound& call = *rotation->front();
  const auto back = gpu::ReadBack::make(*device(), call.tensors());
  if (!back || !(*back)->submit() || !(*back)->start() || !(*back)->wait()) return {};
  std::vector<std::vector<std::uint32_t>> words;
  for (std::size_t i = 0; i < plan->tensors.size(); ++i) {
    const auto data = (*back)->data(i);
    words.emplace_back(data.size() / 4);
    std::memcpy(words.back().data(), data.data(), data.size());
  }
  return words;
}

// Rows begin anywhere in a memory line, and lanes lie on its grid: each word moves all the same,
// and what belongs to each row is read by each workgroup.
TEST(Run, AFloorByRowsMovesEachWord) {
  if (device() == nullptr) return;
  const auto timer = Timer::make(*device(), true, quick().timer);
  ASSERT_TRUE(timer.has_value());
  for (const RowShape shape :
       {RowShape{.groups = 36, .row_bytes = 1036, .lanes = 64},
        RowShape{.groups = 33, .row_bytes = 1028, .lanes = 128},
        RowShape{.groups = 33, .row_bytes = 1028, .lanes = 64, .shared = 2, .shared_bytes = 516},
        RowShape{.groups = 24, .row_bytes = 1030, .unit = 16, .lanes = 32},
        RowShape{.groups = 24,
                 .row_bytes = 1030,
                 .unit = 16,
                 .lanes = 32,
                 .shared = 1,
                 .shared_bytes = 1032}}) {
    const auto words = words_after(**timer, *rows_plan(1, 2, shape));
    ASSERT_EQ(words.size(), 3U + shape.shared);
    ASSERT_EQ(words[0].size(), shape.bytes() / 4);
    const std::size_t unit = shape.unit / 4, line = 32 / unit;
    const std::size_t shared = shape.shared_bytes / shape.unit;
    for (std::size_t i = 0; i < words[0].size(); ++i) {
      const std::size_t row = i / unit * shape.unit / shape.row_bytes;
      const std::size_t start = (row * shape.row_bytes + shape.unit - 1) / shape.unit;
      const std::size_t place = i / unit - start + start % line;
      std::uint32_t wanted = words[0][i];
      for (std::size_t s = 0; s < shape.shared; ++s) {
        if (place / shape.lanes * shape.lanes >= shared) continue;
        wanted ^= words[3 + s][std::min(place, shared - 1) * unit + i % unit];
      }
      ASSERT_EQ(words[1][i], wanted) << i;
      ASSERT_EQ(words[2][i], wanted + 1) << i;
    }
  }
}

// Of the device; 0: it has none, or several.
std::uint32_t one_subgroup_size() {
  const DeviceCaps& caps = device()->device->caps();
  const bool one =
      caps.has_feature("subgroups") && caps.subgroup_min_size == caps.subgroup_max_size;
  return one ? static_cast<std::uint32_t>(*caps.subgroup_min_size) : 0;
}

// Whoever shares a row writes the same sum, and nothing is left on the board: two runs agree.
TEST(Run, AFloorWithAnExchangeWritesOneSumInEachRow) {
  if (device() == nullptr) return;
  const std::uint32_t subgroup = one_subgroup_size();
  if (subgroup == 0) GTEST_SKIP() << "no subgroups of one size";
  const auto timer = Timer::make(*device(), true, quick().timer);
  ASSERT_TRUE(timer.has_value());
  // One workgroup a row where others may not run at once.
  const ExchangeShape shape{
      .rows = 3, .slices = 1, .lanes = 2 * subgroup, .items = 2, .subgroup = subgroup};
  const auto words = words_after(**timer, *exchange_plan(1, 2, shape));
  ASSERT_EQ(words.size(), 3U);
  const std::size_t part = std::size_t{4} * shape.lanes * shape.items;
  ASSERT_EQ(words[0].size(), shape.rows * part);
  for (std::size_t at = 0; at < words[0].size(); ++at) {
    const std::uint32_t bits = words[0][at / part * part] ^ words[1][at / part * part];
    EXPECT_NE(bits & 0x80000000U, 0U);
    EXPECT_EQ(words[1][at], words[0][at] ^ bits);
    EXPECT_EQ(words[2][at], words[0][at] + 1);
  }
}

// The last of what a floor writes holds the sum over its part of what it reads.
void expect_sums(const Timer& timer, const SumShape& shape) {
  const auto tensors = words_after(timer, *sums_plan(1, 2, shape));
  ASSERT_EQ(tensors.size(), 3U);
  const auto word = [&](std::size_t tensor, std::size_t at) { return tensors[tensor][at]; };
  for (std::size_t group = 0; group < shape.groups; ++group) {
    double sum = 0;
    const std::size_t part = std::size_t{4} * shape.lanes * shape.items, begin = group * part;
    for (std::size_t lane = 0; lane < shape.lanes; ++lane) {
      std::uint32_t own = 0;
      for (std::size_t k = 0; k < shape.items; ++k) {
        for (std::size_t i = 0; i < 4; ++i)
          own ^= word(0, begin + 4 * (lane + k * shape.lanes) + i);
      }
      sum += own;
    }
    const std::uint32_t bits = word(0, begin) ^ word(1, begin);
    EXPECT_NEAR(std::bit_cast<float>(bits), sum, 1e-5 * sum);
    for (std::size_t at = 0; at < part; ++at) {
      EXPECT_EQ(word(1, begin + at), word(0, begin + at) ^ bits);
      EXPECT_EQ(word(2, begin + at), word(0, begin + at) + 1);
    }
  }
}

// What the kernel writes must wait for the sum, also where a workgroup writes a slice of its part.
TEST(Run, TheSumOfAFloorIsThatOfItsWorkgroup) {
  if (device() == nullptr) return;
  const std::uint32_t subgroup = one_subgroup_size();
  if (subgroup == 0) GTEST_SKIP() << "no subgroups of one size";
  const auto timer = Timer::make(*device(), true, quick().timer);
  ASSERT_TRUE(timer.has_value());
  for (const auto& [items, slices, late] :
       {std::tuple{2U, 1U, false}, {2U, 1U, true}, {2U, 2U, false}, {1U, 2U, false}}) {
    SCOPED_TRACE(std::format("{} items, {} slices{}", items, slices, late ? ", late" : ""));
    expect_sums(**timer, {.groups = 3,
                          .lanes = 2 * subgroup,
                          .items = items,
                          .subgroup = subgroup,
                          .slices = slices,
                          .late = late});
  }
}

// Where a buffer lies is worth more than what a floor is asked about.
TEST(Run, AFloorCanUseTheBuffersOfTheCase) {
  if (device() == nullptr) return;
  const auto timer = Timer::make(*device(), true, quick().timer);
  ASSERT_TRUE(timer.has_value());
  const auto calls = (*timer)->rotation_of(*streams_plan(1, 2, 4096), 1e4);
  ASSERT_TRUE(calls.has_value()) << calls.error().to_string();
  const std::vector<std::size_t> slots = {0, 2};
  const auto floor = (*timer)->rotation_on(*streams_plan(1, 1, 4096), *calls, slots);
  ASSERT_TRUE(floor.has_value()) << floor.error().to_string();
  ASSERT_EQ(floor->size(), calls->size());
  for (std::size_t i = 0; i < calls->size(); ++i) {
    EXPECT_EQ((*floor)[i]->tensors()[1].buffer, (*calls)[i]->tensors()[2].buffer);
    EXPECT_EQ((*floor)[i]->tensors()[1].offset, (*calls)[i]->tensors()[2].offset);
  }
}

// Else the second of two kernels would find in the cache what the first has just read.
TEST(Run, KernelsOnTheSameBuffersGoThroughTheSetsTogether) {
  if (device() == nullptr) return;
  const auto timer = Timer::make(*device(), true, quick().timer);
  ASSERT_TRUE(timer.has_value());
  const std::vector<std::size_t> slots = {0, 2};
  auto calls = (*timer)->rotation_of(*streams_plan(1, 2, 4096), 1e4);
  auto alone = (*timer)->rotation_of(*streams_plan(1, 2, 4096), 1e4);
  ASSERT_TRUE(calls.has_value() && alone.has_value());
  auto floor = (*timer)->rotation_on(*streams_plan(1, 1, 4096), *calls, slots);
  ASSERT_TRUE(floor.has_value()) << floor.error().to_string();
  const std::vector<Rotation> rotations = {*calls, *alone, *floor, *floor};
  EXPECT_EQ(memory_groups(rotations), (std::vector<std::size_t>{0, 1, 0, 0}));
}

TEST(Run, ComparesBothModes) {
  if (device() == nullptr) return;
  auto instance = gpu::Instance::create(gpu::linked_procs(), std::make_shared<gpu::Log>());
  ASSERT_TRUE(instance.has_value());
  auto adapter = (*instance)->choose({});
  ASSERT_TRUE(adapter.has_value());
  auto opened = gpu::Device::open(*instance, *std::move(adapter), {.mode = Mode::kTrusted});
  ASSERT_TRUE(opened.has_value()) << opened.error().to_string();
  RunOptions options = quick();
  options.trusted = gpu::Context::make(*opened);
  const auto report = run(*device(), row_norm(), nullptr, options, {});
  ASSERT_TRUE(report.has_value()) << report.error().to_string();
  ASSERT_EQ(report->measurements.size(), 2U);
  EXPECT_EQ(report->measurements[1].error, "");
  EXPECT_EQ(report->measurements[1].variant, report->measurements[0].variant + " (trusted)");
  ASSERT_EQ(report->comparisons.size(), 1U);
  EXPECT_EQ(report->comparisons[0].ratio.samples, 3U);
  options.cold = false;
  options.hot = true;
  const auto hot = run(*device(), row_norm(), nullptr, options, {});
  ASSERT_TRUE(hot.has_value()) << hot.error().to_string();
  ASSERT_EQ(hot->comparisons.size(), 1U);
  EXPECT_FALSE(hot->comparisons[0].cold);
  EXPECT_EQ(hot->comparisons[0].ratio.samples, 3U);
}

TEST(Run, RefusesToTimeAWrongResult) {
  if (device() == nullptr) return;
  const auto report =
      run(*device(), row_norm("= inverseSqrt(", "= 2.0 * inverseSqrt("), nullptr, quick(), {});
  ASSERT_TRUE(report.has_value()) << report.error().to_string();
  ASSERT_EQ(report->measurements.size(), 1U);
  EXPECT_TRUE(report->measurements[0].error.starts_with("bench/wrong"))
      << report->measurements[0].error;
  EXPECT_EQ(report->measurements[0].seconds.samples, 0U);
}

// Also of a refused one, of floors and of empty dispatches.
TEST(Run, SaysOfWhichPlanAFigureIs) {
  if (device() == nullptr) return;
  const Subject subject = row_norm();
  RunOptions options = quick();
  options.floors = options.empty = true;
  const auto report = run(*device(), subject, nullptr, options, {});
  ASSERT_TRUE(report.has_value()) << report.error().to_string();
  const auto workload = Workload::make(*subject.package, subject.benches.front());
  ASSERT_TRUE(workload.has_value()) << workload.error().to_string();
  const auto plan = workload->plan(*subject.package, device()->device->caps(), "", {});
  ASSERT_TRUE(plan.has_value()) << plan.error().to_string();
  EXPECT_EQ(report->measurements[0].plan_digest, verify::plan_digest(**plan));
  const auto wrong =
      run(*device(), row_norm("= inverseSqrt(", "= 2.0 * inverseSqrt("), nullptr, quick(), {});
  ASSERT_TRUE(wrong.has_value()) << wrong.error().to_string();
  std::set<std::string> digests = {wrong->measurements[0].plan_digest};
  for (const Measurement& m : report->measurements) digests.insert(m.plan_digest);
  EXPECT_EQ(digests.size(), report->measurements.size() + 1);
  EXPECT_FALSE(digests.contains(""));
}

TEST(Run, TimesSettingsAndVariantsOnce) {
  if (device() == nullptr) return;
  RunOptions options = quick();
  options.variants = {"residual"};
  options.settings = {
      {{"MAX_WORKGROUP_SIZE", 8}}, {{"MAX_WORKGROUP_SIZE", 4}}, {{"MAX_WORKGROUP_SIZE", 8}}};
  const auto report = run(*device(), row_norm(), nullptr, options, {});
  ASSERT_TRUE(report.has_value()) << report.error().to_string();
  ASSERT_EQ(report->measurements.size(), 2U);
  EXPECT_EQ(report->measurements[1].variant, "residual MAX_WORKGROUP_SIZE=4");
}

// With equal passes: a clear per call is what there is to compare. A broken promise is not.
TEST(Run, TimesAVariantWithAClearBesideOneWithout) {
  if (device() == nullptr) return;
  const auto variant = [](std::string id, std::string key, std::string left) {
    return R"({"id": ")" + id + R"(", "intermediates": [
      {"id": "board", "dtype": "float32", "shape": "shapes.x", "zeroInit": true)" +
           key + R"(}], "passes": [{"derive": {"left": ")" + left +
           R"("}, "shader": "s.wgsl.jinja", "bindings": ["x", "board", "y"], "dispatch": {"workgroups": 1}}]})";
  };
  const std::string kept = R"(, "keptZero": true)";
  const Package package = wgk::testing::make_package(
      R"({"domain": "test", "name": "Board", "inputs": {"x": {"dtype": "float32"}},
        "outputs": {"y": {"dtype": "float32", "shape": "shapes.x"}}, "variants": [)" +
          variant("kept", kept, "0") + ", " + variant("cleared", "", "0") + ", " +
          variant("broken", kept, "1") + "]}",
      R"({{ env.wgsl.resourceDeclarations }}
@compute @workgroup_size(1) fn main() { y[0] = x[0] + board[0]; board[1] = f32({{ left }}); })");
  const auto cases = json::parse(
      R"({"cases": [{"name": "c", "inputs": {"x": {"dtype": "float32", "shape": [64]}}, "bytes": 512}]})");
  RunOptions options = quick();
  options.variants = {"kept", "cleared", "broken"};
  options.compare = true;
  const auto report =
      run(*device(), {package.shared(), *package::read_benches(*cases)}, nullptr, options, {});
  ASSERT_TRUE(report.has_value()) << report.error().to_string();
  ASSERT_EQ(report->measurements.size(), 3U);
  EXPECT_EQ(report->measurements[0].error, "");
  EXPECT_EQ(report->measurements[1].error, "");
  EXPECT_TRUE(report->measurements[2].error.starts_with("device/kept-zero"));
  ASSERT_EQ(report->comparisons.size(), 1U);
  EXPECT_EQ(report->comparisons[0].a, "cleared");
}

TEST(Run, HostCostsAreMeasured) {
  if (device() == nullptr) return;
  RunOptions options = quick();
  options.host = true;
  options.hot = true;
  const auto report = run(*device(), row_norm(), nullptr, options, {});
  ASSERT_TRUE(report.has_value()) << report.error().to_string();
  const auto& host = report->measurements.at(0).host;
  ASSERT_TRUE(host.has_value());
  for (const double seconds :
       {host->plan, host->known_plan, host->render, host->pipelines, host->record, host->submit,
        host->upload, host->read_back, host->whole_call}) {
    EXPECT_GT(seconds, 0);
  }
  EXPECT_FALSE(report->measurements.at(1).host.has_value());
}

// The guard must see a kernel that became slower.
TEST(Run, APlantedSlowDownIsFound) {
  if (device() == nullptr) return;
  RunOptions options = quick();
  options.variants = {"residual"};
  const auto baseline = run(*device(), row_norm(), nullptr, options, {});
  ASSERT_TRUE(baseline.has_value()) << baseline.error().to_string();
  const Subject slow =
      row_norm("  let square_sum = row_sum", R"(  for (var again = 0u; again < 1000u; again++) {
    for (var i = lane; i < width; i += 1u) {
      squares = max(squares, summed(start + i, i) * 0.0);
    }
  }
  let square_sum = row_sum)");
  std::vector<Report> repeats;
  for (int i = 0; i < 3; ++i) {
    const auto report = run(*device(), slow, nullptr, options, {});
    ASSERT_TRUE(report.has_value()) << report.error().to_string();
    ASSERT_EQ(report->measurements[0].error, "");
    repeats.push_back(*report);
  }
  const CheckResult result = check_against(*baseline, repeats);
  EXPECT_EQ(result.compared(), 1U);
  ASSERT_EQ(result.slower.size(), 1U);
  EXPECT_GT(result.slower[0].ratios[0], 1.1);
}

TEST(Run, SaysWhichClockTimed) {
  if (device() == nullptr) return;
  RunOptions options = quick();
  EXPECT_EQ(TimerOptions{}.samples, 30U);
  options.timer.host_clock = true;
  const auto report = run(*device(), row_norm(), nullptr, options, {});
  ASSERT_TRUE(report.has_value()) << report.error().to_string();
  EXPECT_EQ(report->context.clock, "wall time of a batch");
  EXPECT_GT(report->measurements.at(0).seconds.median, 0);
  EXPECT_GT(report->context.speed.empty_dispatch_seconds, 0);
  EXPECT_GT(report->context.speed.dependent_dispatch_seconds, 0);
}

TEST(Run, KeepsTheCoresAwakeWhenAskedTo) {
  if (device() == nullptr) return;
  RunOptions options = quick();
  for (const bool wanted : {false, true}) {
    options.timer.keep_awake = wanted;
    const auto timer = Timer::make(*device(), true, options.timer);
    ASSERT_TRUE(timer.has_value()) << timer.error().to_string();
    const auto awake = (*timer)->keep_awake();
    ASSERT_TRUE(awake.has_value()) << awake.error().to_string();
    ASSERT_EQ(awake->has_value(), wanted);
    EXPECT_TRUE(!wanted || (*awake)->cores() > 0);
  }
  const auto report = run(*device(), row_norm(), nullptr, options, {});
  ASSERT_TRUE(report.has_value()) << report.error().to_string();
  EXPECT_TRUE(report->context.kept_awake);
  EXPECT_EQ(report->measurements.at(0).error, "");
}

TEST(Run, ComparesWithAnotherPackage) {
  if (device() == nullptr) return;
  const Subject ours = row_norm(), other = row_norm();
  const auto report = run(*device(), ours, &other, quick(), {});
  ASSERT_TRUE(report.has_value()) << report.error().to_string();
  ASSERT_EQ(report->comparisons.size(), 1U);
  const Comparison& c = report->comparisons[0];
  EXPECT_TRUE(c.a.ends_with(" (against)")) << c.a;
  EXPECT_EQ(c.ratio.samples, 3U);
  EXPECT_LE(c.ratio.p10, c.ratio.median);
  EXPECT_LE(c.ratio.median, c.ratio.p90);
}

// Where a buffer lies is worth a few per cent: what was given back before lies elsewhere than what
// comes after it.
TEST(Run, CallsThatAreComparedGetFreshBuffers) {
  if (device() == nullptr) return;
  Subject subject = row_norm();
  subject.benches.push_back(subject.benches.front());
  RunOptions options = quick();
  options.hot = true;
  options.cold = false;
  options.compare = true;
  options.variants = {"residual"};
  options.settings = {{{"MAX_WORKGROUP_SIZE", 8}}, {{"MAX_WORKGROUP_SIZE", 4}}};
  std::vector<std::uint64_t> created;
  const auto report = run(*device(), subject, nullptr, options, {}, [&](const Report&) {
    created.push_back(device()->memory->stats().created);
  });
  ASSERT_TRUE(report.has_value()) << report.error().to_string();
  ASSERT_EQ(report->comparisons.size(), 2U);
  ASSERT_EQ(created.size(), 2U);
  // Two contenders in six places, five tensors each: the first case has given back as many.
  EXPECT_GE(created[1] - created[0], 2U * 6 * 5);
}

TEST(Run, TheFloorOfTwoDispatchesHasTwo) {
  if (device() == nullptr) return;
  const auto timer = Timer::make(*device(), true, quick().timer);
  ASSERT_TRUE(timer.has_value());
  // A vector for each lane, several at once, a long loop.
  for (const StreamShape shape : {StreamShape{}, StreamShape{32, 4}, StreamShape{8, 512}}) {
    const auto rotation =
        (*timer)->rotation_of(*twice_plan(2, 2, {{{0, 1}, {2}}, {{2}, {3}}}, 4096, shape), 1e4);
    ASSERT_TRUE(rotation.has_value()) << rotation.error().to_string();
    EXPECT_EQ(rotation->front()->prepared().plan().passes.size(), 2U);
    const auto timings = (*timer)->measure({&*rotation, 1});
    ASSERT_TRUE(timings.has_value()) << timings.error().to_string();
    EXPECT_EQ(timings->front().seconds.size(), 3U);
    EXPECT_GT(timings->front().seconds.front(), 0);
  }
}

// Zeros may move faster than data do.
TEST(Run, FloorsMoveBitsWithoutAPattern) {
  if (device() == nullptr) return;
  const auto timer = Timer::make(*device(), true, quick().timer);
  ASSERT_TRUE(timer.has_value());
  const auto rotation = (*timer)->rotation_of(*streams_plan(1, 1, 4096), 1e4);
  ASSERT_TRUE(rotation.has_value()) << rotation.error().to_string();
  const gpu::Bound& last = *rotation->back();  // of each set, all of the arena is filled
  ASSERT_TRUE(last.submit().has_value());
  const auto back = gpu::ReadBack::make(*device(), {&last.tensors().back(), 1});
  ASSERT_TRUE(back.has_value());
  ASSERT_TRUE((*back)->submit().has_value());
  ASSERT_TRUE((*back)->start().has_value());
  ASSERT_TRUE((*back)->wait().has_value());
  std::set<std::uint32_t> words;
  for (std::size_t at = 0; at < 4096; at += 4) {
    std::uint32_t word = 0;
    std::memcpy(&word, (*back)->data(0).data() + at, 4);
    words.insert(word);
  }
  EXPECT_GT(words.size(), 1000U);
}

TEST(Run, TheSpeedOfTheDeviceMayBeKnown) {
  if (device() == nullptr) return;
  RunOptions options = quick();
  options.case_pattern = "none";
  options.speed = DeviceSpeed{.copy_bytes_per_second = 5, .empty_dispatch_seconds = 6};
  const auto report = run(*device(), row_norm(), nullptr, options, {});
  ASSERT_TRUE(report.has_value()) << report.error().to_string();
  EXPECT_EQ(report->context.speed.copy_bytes_per_second, 5);
  EXPECT_EQ(report->context.speed.empty_dispatch_seconds, 6);
}

TEST(Run, NoCaseSelectedIsAnEmptyReport) {
  if (device() == nullptr) return;
  RunOptions options = quick();
  options.tags = {"tiny", "huge"};
  const auto report = run(*device(), row_norm(), nullptr, options, {});
  ASSERT_TRUE(report.has_value());
  EXPECT_TRUE(report->measurements.empty());
}

}  // namespace
}  // namespace wgk::bench
