// SPDX-License-Identifier: Apache-2.0
// Scratch that the kernel leaves zero is cleared when it is made and never again: it must start as
// zero wherever it comes from, and stay so whatever fails.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "gpu/fault_support.h"
#include "gpu/test_support.h"
#include "gpu/timing.h"

namespace wgk::gpu {
namespace {

using testing::contains;
using testing::download;
using testing::faults;
using testing::make_slice;
using testing::PlanBuilder;
using testing::shared_context;
using testing::upload;

constexpr std::int64_t kWords = 7000;
using Words = std::vector<std::uint32_t>;

// Five workgroups count in the last word of `count`, then it goes to y, and back to zero. `other`
// is left with values.
std::shared_ptr<const Plan> kept_plan(bool split = false, std::int64_t words = kWords) {
  PlanBuilder builder;
  builder.tensor("y", 1, false, true, DType::u32)
      .scratch("other", words, false)
      .scratch("count", words, true, true);
  builder
      .pass("count", R"(@group(0) @binding(0) var<storage, read_write> count: array<atomic<u32>>;
@compute @workgroup_size(1) fn main() { atomicAdd(&count[arrayLength(&count) - 1], 1u); })",
            {5, 1, 1})
      .bind_scratch(1, BindingType::kStorage);
  if (split) builder.submit_after();
  builder
      .pass("copy", R"(@group(0) @binding(0) var<storage, read_write> count: array<u32>;
@group(0) @binding(1) var<storage, read_write> other: array<u32>;
@group(0) @binding(2) var<storage, read_write> y: array<u32>;
@compute @workgroup_size(64) fn main(@builtin(local_invocation_index) i: u32) {
  let last = arrayLength(&count) - 1;
  if (i == 0) { y[0] = count[last]; count[last] = 0; }
  for (var k = i; k <= last; k += 64) { other[k] = 7; }
})",
            {1, 1, 1})
      .bind_scratch(1, BindingType::kStorage)
      .bind_scratch(0, BindingType::kStorage)
      .bind_tensor(0, BindingType::kStorage);
  return builder.done();
}

class KeptZero : public testing::DeviceTest {
 protected:
  const Context& context = shared_context();
  std::shared_ptr<const Prepared> prepared(bool split = false) const {
    return *Prepared::make(context, kept_plan(split));
  }
  Words run(const Bound& bound) const {
    if (auto status = bound.submit(); !status) ADD_FAILURE() << status.error().to_string();
    return *download<std::uint32_t>(context, bound.tensors()[0]);
  }
  // Values where a run must find zeros.
  void spoil(const BufferRef& buffer) const {
    const Words values(buffer->size() / 4, 0x2a);
    ASSERT_TRUE(write(context, {buffer, 0, buffer->size()}, std::as_bytes(std::span(values))));
  }
};

TEST_F(KeptZero, RunsWithoutAClear) {
  auto y = *make_slice(context, 4);
  const auto bound = *Bound::make(prepared(), {y});
  EXPECT_EQ(bound->step_count(), 2);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(run(*bound), Words{5}) << i;
  EXPECT_TRUE(check_kept_zero(*bound));
  // What was left is what the next run finds: nothing clears in between.
  spoil(bound->scratch()[1]);
  EXPECT_EQ(run(*bound), Words{0x2a + 5});
}

TEST_F(KeptZero, IsClearedOfWhatAnEarlierOwnerLeft) {
  context.memory->trim();
  auto y = *make_slice(context, 4);
  for (const bool own : {false, true}) {
    {
      const auto before = *Bound::make(prepared(), {y}, {.own_scratch = own});
      EXPECT_EQ(run(*before), Words{5});
      spoil(before->scratch()[1]);
    }
    const auto reused = context.memory->stats().reused;
    const auto bound = *Bound::make(prepared(), {y}, {.own_scratch = own});
    EXPECT_EQ(context.memory->stats().reused - reused, 2) << "both have other plans' old values";
    EXPECT_EQ(run(*bound), Words{5}) << own;
    for (const BufferRef& buffer : bound->scratch()) {
      const auto words = *download<std::uint32_t>(context, {buffer, 0, buffer->size()});
      EXPECT_TRUE(std::ranges::all_of(words, [&](std::uint32_t word) {
        return word == (buffer == bound->scratch()[0] ? 7 : 0);
      }));
    }
  }
}

// Of a call in several submissions the first may run alone.
TEST_F(KeptZero, IsClearedAtEveryRunOfASplitCall) {
  auto y = *make_slice(context, 4);
  const auto bound = *Bound::make(prepared(true), {y});
  EXPECT_EQ(bound->step_count(), 3);
  spoil(bound->scratch()[1]);
  EXPECT_EQ(run(*bound), Words{5});
}

TEST_F(KeptZero, FillsThePlacesThatNobodyGave) {
  auto y = *make_slice(context, 4);
  const auto plan = prepared();
  const auto given = make_slice(context, kWords * 4)->buffer;
  const auto shared = *Bound::make(plan, {y});
  const auto first = *Bound::make(plan, {y}, {.scratch = {given, nullptr}});
  EXPECT_EQ(first->scratch(), (std::vector<BufferRef>{given, shared->scratch()[1]}));
  const auto own = *Bound::make(plan, {y}, {.own_scratch = true, .scratch = {given, nullptr}});
  EXPECT_EQ(own->scratch()[0], given);
  EXPECT_NE(own->scratch()[1], shared->scratch()[1]);
  EXPECT_EQ(own->own_bytes(), kWords * 4);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(run(*first), Words{5});
    EXPECT_EQ(run(*own), Words{5});
    EXPECT_EQ(run(*shared), Words{5});
  }
}

// One part of the shared scratch may be in use while the other is idle.
TEST_F(KeptZero, OnlyIdleScratchIsGivenUp) {
  auto y = *make_slice(context, 4);
  const auto plan = prepared();
  const auto given = make_slice(context, kWords * 4)->buffer;
  const auto bound = *Bound::make(plan, {y}, {.scratch = {given, nullptr}});
  const auto kept = bound->scratch()[1];
  const auto live = [&] { return context.memory->stats().live_buffers; };
  const auto before = live();
  static_cast<void>(*Bound::make(plan, {y}));
  EXPECT_EQ(live(), before + 1);
  plan->drop_scratch();
  EXPECT_EQ(live(), before);
  const auto again = *Bound::make(plan, {y});
  EXPECT_EQ(again->scratch()[1], kept);
  EXPECT_EQ(run(*again), Words{5});
}

TEST_F(KeptZero, ThreadsThatBindAtOnceShareOneClearedBuffer) {
  auto y = *make_slice(context, 4);
  {
    const auto before = *Bound::make(prepared(), {y});
    spoil(before->scratch()[1]);
  }
  const auto plan = prepared();
  std::vector<std::shared_ptr<Bound>> bound(8);
  std::vector<std::thread> threads;
  for (auto& mine : bound) {
    threads.emplace_back([&, to = &mine] {
      *to = *Bound::make(plan, {*make_slice(context, 4)});
      EXPECT_TRUE((*to)->submit());
    });
  }
  for (auto& thread : threads) thread.join();
  for (const auto& one : bound) {
    EXPECT_EQ(one->scratch(), bound[0]->scratch());
    EXPECT_EQ(*download<std::uint32_t>(context, one->tensors()[0]), Words{5});
  }
}

TEST_F(KeptZero, ManyRunsInOnePassAndTimings) {
  const auto plan = prepared();
  std::vector<std::shared_ptr<Bound>> calls;
  for (int i = 0; i < 3; ++i) calls.push_back(*Bound::make(plan, {*make_slice(context, 4)}));
  ASSERT_TRUE(time_repetitions_on_host(calls, 30));
  if (context.device->caps().has_feature("timestamp-query")) {
    EXPECT_EQ(time_dispatches(*calls[0])->size(), 2);
  }
  for (const auto& call : calls)
    EXPECT_EQ(*download<std::uint32_t>(context, call->tensors()[0]), Words{5});
  EXPECT_TRUE(check_kept_zero(*calls[1]));
}

TEST_F(KeptZero, TheCheckNamesTheFirstWord) {
  auto y = *make_slice(context, 4);
  for (const bool split : {false, true}) {
    const auto bound = *Bound::make(prepared(split), {y});
    EXPECT_EQ(run(*bound), Words{5});
    EXPECT_TRUE(check_kept_zero(*bound));
    const std::byte byte{0x80};
    for (const std::uint64_t at : {4 * 21 + 3, 4 * 300})
      ASSERT_TRUE(write(context, {bound->scratch()[1], at, 1}, {&byte, 1}));
    const auto status = check_kept_zero(*bound);
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code, "device/kept-zero");
    EXPECT_TRUE(contains(status.error().message,
                         "variant 'only' left scratch 'count' with 0x80000000 in word 21 of 7000"));
    EXPECT_TRUE(check_kept_zero(*bound)) << "it is cleared for the next run";
    EXPECT_EQ(run(*bound), Words{5});
  }
}

// Between two submissions of a split call its scratch holds values.
TEST_F(KeptZero, TheCheckLooksBetweenCallsOnly) {
  const auto bound = *Bound::make(prepared(true), {*make_slice(context, 4)});
  EXPECT_EQ(run(*bound), Words{5}) << "which clears it";
  std::atomic<bool> over = false;
  std::thread runner([&] {
    for (int i = 0; i < 100; ++i) EXPECT_EQ(run(*bound), Words{5});
    over = true;
  });
  while (!over) {
    const auto status = check_kept_zero(*bound);
    EXPECT_TRUE(status) << status.error().to_string();
  }
  runner.join();
}

// Every call that can fail fails once, with scratch that is there already and with scratch that is
// made of an old buffer; the next run on the same objects is right.
TEST_F(KeptZero, StaysZeroWhateverFails) {
  const Procs procs = testing::faulty_procs();
  for (const bool split : {false, true}) {
    faults().arm(0);
    auto opened = testing::open_device(procs);
    ASSERT_TRUE(opened) << opened.error().to_string();
    Context own = Context::make(std::move(*opened));
    const WGPUDevice device = own.device->handle();
    auto plan = *Prepared::make(own, kept_plan(split, 64));
    auto y = *make_slice(own, 4);
    std::shared_ptr<Bound> bound;
    const auto attempt = [&](bool fresh) -> Result<Words> {
      if (fresh || !bound) {
        bound.reset();
        plan->drop_scratch();
        auto made = Bound::make(plan, {y});
        if (!made) return std::unexpected(std::move(made.error()));
        bound = std::move(*made);
      }
      if (auto status = bound->submit(); !status) return std::unexpected(std::move(status.error()));
      return download<std::uint32_t>(own, y);
    };
    ASSERT_TRUE(attempt(true));
    for (const bool fresh : {false, true}) {
      std::size_t failures = 0;
      for (std::uint64_t index = 1;; ++index) {
        faults().arm(index);
        faults().device = device;
        const auto result = attempt(fresh);
        const std::string failed = faults().failed;
        if (failed.empty()) break;
        failures += result ? 0 : 1;
        faults().arm(0);
        if (own.device->lost()) {
          GTEST_LOG_(INFO) << failed << " lost the device";
          return;
        }
        static_cast<void>(own.device->take_uncaptured());
        const auto right = attempt(false);
        ASSERT_TRUE(right) << failed << ": " << right.error().to_string();
        ASSERT_EQ(*right, Words{5}) << "after call " << index << " (" << failed << ") failed";
        if (fresh) {
          const Words values(64, 3);
          ASSERT_TRUE(write(own, {bound->scratch()[1], 0, 256}, std::as_bytes(std::span(values))));
        }
      }
      EXPECT_GT(failures, 10);
      bound.reset();
    }
  }
}

}  // namespace
}  // namespace wgk::gpu
