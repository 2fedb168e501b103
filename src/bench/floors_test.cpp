// SPDX-License-Identifier: Apache-2.0
#include "bench/floors.h"

#include <gtest/gtest.h>

#include <format>

#include "bench/device_plans.h"

namespace wgk::bench {
namespace {

PlanTensor tensor(const char* port, bool is_output) {
  return {.port = port,
          .shape = {1024},
          .byte_length = 4096,
          .buffer_size = 4096,
          .is_input = !is_output,
          .is_output = is_output};
}

PlanPass pass(const std::vector<std::size_t>& slots) {
  PlanPass made;
  for (const std::size_t slot : slots) {
    PlanBinding binding;
    binding.slot = slot;
    made.bindings.push_back(binding);
  }
  PlanBinding scratch;
  scratch.resource = PlanBinding::Resource::kScratch;
  made.bindings.push_back(scratch);
  return made;
}

// x, skip and gamma; y and the sum of x and skip.
Plan row_norm(const std::vector<std::size_t>& first, const std::vector<std::size_t>& second) {
  Plan plan;
  for (const char* port : {"x", "skip", "gamma"}) plan.tensors.push_back(tensor(port, false));
  for (const char* port : {"y", "sum"}) plan.tensors.push_back(tensor(port, true));
  plan.passes = {pass(first), pass(second)};
  return plan;
}

using Slots = std::vector<std::size_t>;

void expect(const TwoSteps& steps, const TwoSteps& wanted) {
  EXPECT_EQ(steps.first.reads, wanted.first.reads);
  EXPECT_EQ(steps.first.writes, wanted.first.writes);
  EXPECT_EQ(steps.second.reads, wanted.second.reads);
  EXPECT_EQ(steps.second.writes, wanted.second.writes);
}

// One workgroup with a long loop is best for many of them, not for what it could take alone.
TEST(Floors, ShortStreamsAreSharedOnSoftwareAdapters) {
  DeviceCaps caps;
  caps.is_fallback_adapter = true;
  caps.subgroup_min_size = caps.subgroup_max_size = 8;
  const auto labels = [&](std::uint64_t bytes) {
    Plan plan = row_norm({0, 1, 2, 3, 4}, {});
    plan.passes.pop_back();
    for (PlanTensor& one : plan.tensors) one.byte_length = one.buffer_size = bytes;
    const auto floors =
        floors_of(plan, streams_of(plan, 5 * static_cast<double>(bytes)), caps, {.streams = true});
    std::string text;
    for (const Floor& floor : *floors) text += floor.label.substr(10) + ";";
    return text;
  };
  EXPECT_EQ(labels(16 * 8 * 256), ", 8 lanes x 512;, 8 lanes x 64;;");
  EXPECT_EQ(labels(16 * 8 * 64), ", 8 lanes x 512;, 8 lanes x 64;;, 8 lanes x 32;, 8 lanes x 16;");
  EXPECT_EQ(labels(16 * 8 * 32), ", 8 lanes x 512;, 8 lanes x 64;;, 8 lanes x 16;");
}

TEST(Floors, StreamsAreTheLargeTensors) {
  Plan plan = row_norm({0, 1, 4}, {0, 1, 2, 3, 4});
  plan.tensors.push_back({.port = "scale", .byte_length = 4, .buffer_size = 4, .is_input = true});
  const Streams streams = streams_of(plan, 5 * 4096);
  EXPECT_EQ(streams.slots(), (Slots{0, 1, 2, 3, 4}));
  EXPECT_EQ(streams.reads(), 3);
  EXPECT_EQ(streams.writes(), 2);
  EXPECT_EQ(streams.bytes, 4096U);
  EXPECT_TRUE(streams.own);
  EXPECT_FALSE(streams_of(plan, 3 * 4096).own);
}

// The tried ways in which two dispatches can move these streams.
TEST(Floors, TwoDispatchesReadAgainOrKeepOrReadAhead) {
  const Plan plan = row_norm({0, 1, 4}, {0, 1, 2, 3, 4});
  const auto forms = two_steps(plan, streams_of(plan, 5 * 4096));
  ASSERT_EQ(forms.size(), 3U);
  expect(forms[0], {{{0, 1}, {}}, {{0, 1, 2}, {3, 4}}});
  expect(forms[1], {{{0, 1}, {4}}, {{2, 4}, {3}}});
  expect(forms[2], {{{0, 1, 2}, {}}, {{0, 1, 2}, {3, 4}}});
}

TEST(Floors, NothingIsKeptWhereTheFirstDispatchWritesNothing) {
  const Plan plan = row_norm({0, 1, 2}, {0, 1, 2, 3, 4});
  const auto forms = two_steps(plan, streams_of(plan, 5 * 4096));
  ASSERT_EQ(forms.size(), 1U);
  expect(forms[0], {{{0, 1, 2}, {}}, {{0, 1, 2}, {3, 4}}});
}

// A sum that the call does not return may be kept in a buffer of the plan's own.
TEST(Floors, WhatIsKeptApartIsWrittenAndReadBack) {
  Plan plan;
  for (const char* port : {"x", "skip", "y"}) {
    plan.tensors.push_back(tensor(port, plan.tensors.size() > 1));
  }
  plan.passes = {pass({0, 1}), pass({2})};  // each binds the first scratch
  plan.scratch = {{.id = "moments", .byte_length = 512, .buffer_size = 512}};
  auto forms = two_steps(plan, streams_of(plan, 3 * 4096));
  ASSERT_EQ(forms.size(), 1U);
  expect(forms[0], {{{0, 1}, {}}, {{}, {2}}});

  plan.scratch = {{.id = "sums", .byte_length = 4096, .buffer_size = 4096}};
  forms = two_steps(plan, streams_of(plan, 3 * 4096));
  ASSERT_EQ(forms.size(), 2U);
  expect(forms[1], {{{0, 1}, {3}}, {{3}, {2}}});
  DeviceCaps caps;
  caps.is_fallback_adapter = true;
  const auto floors = floors_of(plan, streams_of(plan, 3 * 4096), caps, {.streams = true});
  ASSERT_TRUE(floors) << floors.error().to_string();
  EXPECT_TRUE(floors->at(1).label.starts_with("floor 2r1w + 1r1w in two dispatches"));
  const Plan& kept = *floors->at(1).plan;
  ASSERT_EQ(kept.tensors.size(), 5U);  // with the buffer between and the word
  EXPECT_EQ(kept.tensors[3].byte_length, 4096U);
  EXPECT_EQ(kept.passes[0].bindings[2].slot, 3U);
  EXPECT_EQ(kept.passes[1].bindings[0].slot, 3U);
}

// A plan with a dispatch between the two also has a floor with one there, of its own form.
TEST(Floors, AMergeBetweenTheTwoIsADispatchOfItsOwn) {
  Plan plan = row_norm({0, 1, 4}, {4, 2, 3});
  DeviceCaps caps;
  caps.is_fallback_adapter = true;
  const Streams streams = streams_of(plan, 5 * 4096);
  const auto two = floors_of(plan, streams, caps, {.streams = true, .shapes = 1});
  ASSERT_TRUE(two);
  plan.passes.insert(plan.passes.begin() + 1, pass({}));
  const auto three = floors_of(plan, streams, caps, {.streams = true, .shapes = 1});
  ASSERT_TRUE(three) << three.error().to_string();
  ASSERT_EQ(three->size(), two->size() + 1);
  const Floor& merged = three->back();
  EXPECT_TRUE(merged.label.starts_with("floor 2r1w + 2r1w in three dispatches")) << merged.label;
  ASSERT_EQ(merged.plan->passes.size(), 3U);
  EXPECT_EQ(merged.plan->passes[1].dispatch, (std::array<std::uint32_t, 3>{1, 1, 1}));
  EXPECT_EQ(merged.plan->passes[1].bindings[0].slot, merged.plan->passes[2].bindings.back().slot);
  EXPECT_DOUBLE_EQ(merged.bytes, two->back().bytes);
}

// A merge of partial results reads no input: the second dispatch only writes.
TEST(Floors, TheSecondDispatchMayReadNothing) {
  const Plan plan = row_norm({0, 1, 2}, {3, 4});
  const auto forms = two_steps(plan, streams_of(plan, 5 * 4096));
  ASSERT_EQ(forms.size(), 1U);
  expect(forms[0], {{{0, 1, 2}, {}}, {{}, {3, 4}}});
}

TEST(Floors, LabelsSayWhatIsMovedAndHow) {
  const Plan plan = row_norm({0, 1, 4}, {0, 1, 2, 3, 4});
  DeviceCaps caps;
  caps.is_fallback_adapter = true;
  caps.subgroup_min_size = 8;
  const auto floors =
      floors_of(plan, streams_of(plan, 5 * 4096), caps, {.streams = true, .sums = false});
  ASSERT_TRUE(floors) << floors.error().to_string();
  ASSERT_EQ(floors->size(), 12U);
  EXPECT_EQ(floors->at(0).label, "floor 2r + 3r2w in two dispatches, 8 lanes x 512");
  EXPECT_EQ(floors->at(1).label, "floor 2r1w + 2r1w in two dispatches, 8 lanes x 512");
  EXPECT_EQ(floors->at(8).label, "floor 3r + 3r2w in two dispatches");
  EXPECT_EQ(floors->at(0).plan->passes.size(), 2U);
  EXPECT_FALSE(floors->at(0).on_buffers_of_case);
  EXPECT_DOUBLE_EQ(floors->at(0).bytes, 5 * 4096);
  const auto few =
      floors_of(plan, streams_of(plan, 5 * 4096), caps, {.streams = true, .shapes = 1});
  ASSERT_TRUE(few);
  EXPECT_EQ(few->size(), 3U);
}

// Where workgroups of one dispatch wait for each other, so do those of the floor that sums up.
TEST(Floors, WorkgroupsThatShareARowWaitForEachOther) {
  Plan plan;
  for (const char* port : {"x", "skip", "y", "sum"}) {
    plan.tensors.push_back(tensor(port, plan.tensors.size() > 1));
    plan.tensors.back().byte_length = plan.tensors.back().buffer_size = 1 << 17;
  }
  plan.passes = {pass({0, 1, 2, 3})};
  plan.passes[0].dispatch = {4, 8, 1};
  plan.scratch = {{.id = "board", .zero_init = true, .kept_zero = true}};
  DeviceCaps caps;
  caps.features = {"subgroups"};
  caps.limits = {{"maxComputeInvocationsPerWorkgroup", 1024}};
  caps.subgroup_min_size = caps.subgroup_max_size = 32;
  const auto floors = floors_of(plan, streams_of(plan, 4 << 17), caps, {.sums = true});
  ASSERT_TRUE(floors) << floors.error().to_string();
  ASSERT_EQ(floors->size(), 4U);
  EXPECT_EQ(floors->front().label, "floor 2r2w with sums of 4 workgroups, 256 lanes x 1");
  EXPECT_FALSE(floors->front().on_buffers_of_case);
  EXPECT_EQ(floors->front().plan->passes[0].dispatch, (std::array<std::uint32_t, 3>{4, 8, 1}));
}

// Few rows are also summed up by several workgroups each, whether the plan does so or not.
TEST(Floors, FewRowsAreAlsoSharedByWorkgroupsThatReadThemWhole) {
  const auto floors = [](std::int64_t rows, std::array<std::uint32_t, 3> dispatch) {
    Plan plan;
    for (const char* port : {"x", "gamma", "y"}) {
      plan.tensors.push_back(tensor(port, plan.tensors.size() > 1));
      plan.tensors.back().shape = {rows, 512};
      plan.tensors.back().byte_length = plan.tensors.back().buffer_size =
          static_cast<std::uint64_t>(rows) * 2048;
    }
    plan.tensors[1].shape = {rows * 512};
    plan.passes = {pass({0, 1, 2})};
    plan.passes[0].dispatch = dispatch;
    DeviceCaps caps;
    caps.features = {"subgroups"};
    caps.limits = {{"maxComputeInvocationsPerWorkgroup", 1024}};
    caps.subgroup_min_size = caps.subgroup_max_size = 32;
    std::vector<Floor> found = *floors_of(
        plan, streams_of(plan, 3.0 * static_cast<double>(rows) * 2048), caps, {.sums = true});
    std::string text;
    for (const Floor& floor : found) {
      text += floor.label.substr(22) + ";";
      EXPECT_TRUE(floor.on_buffers_of_case) << floor.label;
    }
    return std::pair{text, found};
  };
  const auto [labels, shared] = floors(4, {4, 1, 1});
  EXPECT_EQ(labels,
            "128 lanes x 1;64 lanes x 2;32 lanes x 4;"
            "2 workgroups a row, 128 lanes x 1;2 workgroups a row, 64 lanes x 2;"
            "2 workgroups a row, 32 lanes x 4;4 workgroups a row, 128 lanes x 1;"
            "4 workgroups a row, 64 lanes x 2;4 workgroups a row, 32 lanes x 4;");
  ASSERT_EQ(shared.size(), 9U);
  EXPECT_EQ(shared[3].plan->passes[0].dispatch, (std::array<std::uint32_t, 3>{2, 4, 1}));
  EXPECT_EQ(floors(4, {2, 4, 1}).first, labels);
  EXPECT_EQ(floors(128, {128, 1, 1}).first, "128 lanes x 1;64 lanes x 2;32 lanes x 4;");
}

// Many rows are also cut up as the plan does, and summed up before anything is written.
TEST(Floors, ManyRowsAreAlsoCutUpAsThePlanDoes) {
  Plan plan;
  for (const char* port : {"x", "skip", "y", "sum"}) {
    plan.tensors.push_back(tensor(port, plan.tensors.size() > 1));
    plan.tensors.back().shape = {128, 2560};
    plan.tensors.back().byte_length = plan.tensors.back().buffer_size = 128 * 5120;
  }
  plan.passes = {pass({0, 1, 2, 3})};
  plan.passes[0].dispatch = {128, 1, 1};
  DeviceCaps caps;
  caps.features = {"subgroups"};
  caps.limits = {{"maxComputeInvocationsPerWorkgroup", 1024}};
  caps.subgroup_min_size = caps.subgroup_max_size = 32;
  const auto labels = [&](const FloorKinds& kinds) {
    std::string text;
    for (const Floor& floor : *floors_of(plan, streams_of(plan, 4.0 * 128 * 5120), caps, kinds)) {
      EXPECT_TRUE(floor.on_buffers_of_case) << floor.label;
      text += floor.label.substr(10) + ";";
    }
    return text;
  };
  EXPECT_EQ(labels({.streams = true}),
            ";, 256 lanes x 2;, 256 lanes x 4;, 512 lanes x 1;, 128 lanes x 1;"
            ", 320 lanes x 1;, 160 lanes x 2;");
  EXPECT_EQ(labels({.sums = true}),
            " with sums, 320 lanes x 1; with sums, 160 lanes x 2;"
            " with sums before all writes, 320 lanes x 1;"
            " with sums before all writes, 160 lanes x 2;");
}

// A floor that writes all it writes after the sum has the other writes behind it, in one subgroup
// and in several.
TEST(Floors, WritesAfterTheSumStandBehindIt) {
  for (const std::uint32_t lanes : {32U, 64U}) {
    for (const bool late : {false, true}) {
      SCOPED_TRACE(std::format("{} lanes{}", lanes, late ? ", late" : ""));
      const auto plan =
          sums_plan(2, 2, {.groups = 3, .lanes = lanes, .items = 2, .subgroup = 32, .late = late});
      ASSERT_TRUE(plan.has_value()) << plan.error().to_string();
      const std::string& text = *(*plan)->passes.front().wgsl;
      const std::size_t sum = text.rfind("subgroupAdd("), other = text.find("w1[");
      ASSERT_TRUE(sum != std::string::npos && other != std::string::npos) << text;
      EXPECT_EQ(other > sum, late) << text;
    }
  }
}

// Rows that no vector of 16 bytes divides are also moved as a kernel takes them that cuts by rows.
TEST(Floors, OddRowsAreAlsoMovedRowByRow) {
  const auto labels = [](std::vector<std::int64_t> shape, std::uint64_t bytes) {
    Plan plan;
    for (const char* port : {"x", "skip", "y", "sum"}) {
      plan.tensors.push_back(tensor(port, plan.tensors.size() > 1));
      plan.tensors.back().shape = shape;
      plan.tensors.back().byte_length = plan.tensors.back().buffer_size = bytes;
    }
    plan.passes = {pass({0, 1, 2, 3})};
    DeviceCaps caps;
    caps.limits = {{"maxComputeInvocationsPerWorkgroup", 1024}};
    const Streams streams = streams_of(plan, 4 * static_cast<double>(bytes));
    std::vector<std::string> found;
    const auto floors = floors_of(plan, streams, caps, {.streams = true});
    EXPECT_TRUE(floors);
    if (!floors) return found;
    for (const Floor& floor : *floors) {
      if (floor.label.contains(" by ")) found.push_back(floor.label);
      EXPECT_TRUE(floor.on_buffers_of_case) << floor.label;
    }
    return found;
  };
  using Labels = std::vector<std::string>;
  EXPECT_EQ(labels({8, 4099}, 8ULL * 4099 * 4),
            (Labels{"floor 2r2w by 4099 words, 256 lanes", "floor 2r2w by 4099 words, 480 lanes",
                    "floor 2r2w by 4099 words, 832 lanes",
                    "floor 2r2w by 16396 bytes in vectors, 224 lanes",
                    "floor 2r2w by 16396 bytes in vectors, 352 lanes",
                    "floor 2r2w by 16396 bytes in vectors, 544 lanes"}));
  // Odd rows of float16 in pairs, which are whole words.
  EXPECT_EQ(labels({8, 4099}, 8ULL * 4099 * 2).size(), 6U);
  EXPECT_EQ(labels({8, 4100}, 8ULL * 4100 * 4), Labels{});
  EXPECT_EQ(labels({8, 101}, 8ULL * 101 * 4), Labels{});
}

// What belongs to each row is read by each workgroup, from the case's own tensors.
TEST(Floors, RowByRowAlsoWithTheInputsOfARow) {
  Plan plan;
  for (const char* port : {"x", "gamma", "skip", "bias", "y", "sum"}) {
    plan.tensors.push_back(tensor(port, plan.tensors.size() > 3));
    PlanTensor& made = plan.tensors.back();
    const bool large = made.port != "gamma" && made.port != "bias";
    made.shape = large ? std::vector<std::int64_t>{16, 4099} : std::vector<std::int64_t>{4099};
    made.byte_length = (large ? 16ULL : 1ULL) * 4099 * 2;
    made.buffer_size = (made.byte_length + 3) / 4 * 4;
  }
  plan.passes = {pass({0, 1, 2, 3, 4, 5})};
  DeviceCaps caps;
  caps.limits = {{"maxComputeInvocationsPerWorkgroup", 256}};
  const auto floors =
      floors_of(plan, streams_of(plan, 4.0 * 16 * 4099 * 2), caps, {.streams = true});
  ASSERT_TRUE(floors) << floors.error().to_string();
  std::vector<std::string> labels;
  for (const Floor& floor : *floors) {
    EXPECT_TRUE(floor.on_buffers_of_case) << floor.label;
    if (!floor.label.contains("of a row")) continue;
    labels.push_back(floor.label);
    EXPECT_EQ(floor.slots, (Slots{0, 2, 4, 5, 1, 3}));
    ASSERT_EQ(floor.plan->tensors.size(), 6U);
    EXPECT_EQ(floor.plan->tensors[5].byte_length, 8200U);
  }
  EXPECT_EQ(labels, (std::vector<std::string>{
                        "floor 2r2w by 4099 words with 2 inputs of a row, 256 lanes",
                        "floor 2r2w by 8198 bytes in vectors with 2 inputs of a row, 192 lanes"}));

  // With a sum, only as many rows as share nothing with others.
  caps.features = {"subgroups"};
  caps.limits = {{"maxComputeInvocationsPerWorkgroup", 600}};
  caps.subgroup_min_size = caps.subgroup_max_size = 32;
  const auto sums = floors_of(plan, streams_of(plan, 4.0 * 16 * 4099 * 2), caps, {.sums = true});
  ASSERT_TRUE(sums) << sums.error().to_string();
  std::vector<std::string> with_sums;
  for (const Floor& floor : *sums) {
    if (!floor.label.contains("of a row")) continue;
    with_sums.push_back(floor.label.substr(21));
    EXPECT_EQ(floor.plan->tensors[0].byte_length, 16U * 4099 * 2);
  }
  EXPECT_EQ(with_sums, (std::vector<std::string>{
                           "by 4099 words with 2 inputs of a row, 480 lanes",
                           "by 32792 bytes in vectors of 8 with 2 inputs of a row, 480 lanes",
                           "by 65584 bytes in vectors with 2 inputs of a row, 480 lanes"}));
}

}  // namespace
}  // namespace wgk::bench
