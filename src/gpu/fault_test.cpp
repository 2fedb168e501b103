// SPDX-License-Identifier: Apache-2.0
// Every call that can fail is made to fail once: each time an error comes back, nothing crashes,
// and the next try works.
#include <gtest/gtest.h>

#include <set>

#include "gpu/fault_support.h"
#include "gpu/test_support.h"
#include "gpu/timing.h"

namespace wgk::gpu {
namespace {

using testing::faults;
using testing::PlanBuilder;

std::shared_ptr<const Plan> two_pass_plan() {
  PlanBuilder builder;
  builder.tensor("x", 64, true, false).tensor("y", 64, false, true).scratch("s", 64, true);
  builder
      .pass("first", R"(@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> s: array<f32>;
@compute @workgroup_size(64) fn main(@builtin(local_invocation_index) i: u32) { s[i] += x[i]; })",
            {1, 1, 1})
      .bind_tensor(0, BindingType::kReadOnlyStorage)
      .bind_scratch(0, BindingType::kStorage)
      .submit_after();
  builder
      .pass("second", R"(struct P { factor: f32, a: f32, b: f32, c: f32 }
@group(0) @binding(0) var<storage, read> s: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
@group(0) @binding(2) var<uniform> p: P;
@compute @workgroup_size(64) fn main(@builtin(local_invocation_index) i: u32) { y[i] = s[i] * p.factor; })",
            {1, 1, 1})
      .bind_scratch(0, BindingType::kReadOnlyStorage)
      .bind_tensor(1, BindingType::kStorage)
      .uniform<float>({2, 0, 0, 0});
  return builder.done();
}

// Everything from the instance to the result, a partial word and timestamps included.
Result<std::vector<float>> whole_way(const Procs& procs, const AdapterChoice& choice) {
  auto device = testing::open_device(procs, {}, {}, choice);
  if (!device) return std::unexpected(std::move(device.error()));
  const Context context = Context::make(std::move(*device));
  auto prepared = Prepared::make(context, two_pass_plan());
  if (!prepared) return std::unexpected(std::move(prepared.error()));
  const auto x = testing::numbers(64);
  auto in = testing::upload<float>(context, x);
  if (!in) return std::unexpected(std::move(in.error()));
  auto out = testing::make_slice(context, 256);
  if (!out) return std::unexpected(std::move(out.error()));
  if (auto status = clear(context, *out); !status)
    return std::unexpected(std::move(status.error()));
  const std::byte byte = std::byte{0};
  if (auto status = write(context, {out->buffer, 5, 1}, {&byte, 1}); !status)
    return std::unexpected(std::move(status.error()));
  auto bound = Bound::make(std::move(*prepared), {*in, *out});
  if (!bound) return std::unexpected(std::move(bound.error()));
  if (auto status = (*bound)->submit({.clear = {&*out, 1}}); !status)
    return std::unexpected(std::move(status.error()));
  auto scale = Prepared::make(context, testing::scale_plan(64, 1.0F));
  if (!scale) return std::unexpected(std::move(scale.error()));
  auto copy = testing::make_slice(context, 256);
  if (!copy) return std::unexpected(std::move(copy.error()));
  auto second = Bound::make(std::move(*scale), {*out, *copy});
  if (!second) return std::unexpected(std::move(second.error()));
  if (context.device->caps().has_feature("timestamp-query")) {
    const std::vector<std::shared_ptr<Bound>> calls = {*second};
    if (auto time = time_repetitions(calls, 2); !time)
      return std::unexpected(std::move(time.error()));
    if (auto times = time_dispatches(**second); !times)
      return std::unexpected(std::move(times.error()));
  } else if (auto status = (*second)->submit(); !status) {
    return std::unexpected(std::move(status.error()));
  }
  return testing::download<float>(context, *copy);
}

// Fails every `step`-th call, one per run.
void fail_each(const AdapterChoice& choice, std::uint64_t first, std::uint64_t step,
               std::set<std::string>& failed) {
  const Procs procs = testing::faulty_procs();
  faults().arm(0);
  const auto right = whole_way(procs, choice);
  ASSERT_TRUE(right) << right.error().to_string();
  const std::uint64_t count = faults().calls;
  ASSERT_GT(count, 50);
  for (std::uint64_t index = first; index <= count; index += step) {
    faults().arm(index);
    const auto result = whole_way(procs, choice);
    if (faults().failed.empty()) break;  // fewer calls than last time
    failed.insert(faults().failed);
    // An adapter that cannot say what it is is passed over; a buffer is tried again once the pool
    // has been emptied.
    const bool survivable =
        faults().failed == "adapter_get_info" || faults().failed == "device_create_buffer";
    if (result && survivable) {
      if (choice.backend != "null") {  // that one computes nothing
        EXPECT_EQ(*result, *right);
      }
      continue;
    }
    ASSERT_FALSE(result) << "call " << index << " (" << faults().failed
                         << ") failed and nobody noticed";
    EXPECT_TRUE(result.error().code.starts_with("device/"))
        << faults().failed << ": " << result.error().to_string();
  }
  faults().arm(0);
  EXPECT_TRUE(whole_way(procs, choice));
}

// The null back end obeys the same calls and takes no time, so every single one has its turn.
TEST(Faults, EveryCallMayFail) {
  std::set<std::string> failed;
  fail_each({.backend = "null"}, 1, 1, failed);
  EXPECT_GT(failed.size(), 25)
      << "the sequence must pass through nearly every function that can fail";
}

TEST(Faults, CallsOfARealDeviceMayFail) {
  if (testing::no_device()) GTEST_SKIP() << "WGK_TEST_DEVICE=none";
  std::set<std::string> failed;
  fail_each({}, 3, 7, failed);
  EXPECT_GT(failed.size(), 8);
}

}  // namespace
}  // namespace wgk::gpu
