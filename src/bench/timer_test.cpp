// SPDX-License-Identifier: Apache-2.0
#include "bench/timer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "bench/test_support.h"
#include "gpu/transfer.h"

namespace wgk::bench {
namespace {

using testing::device;
using testing::quick;

TEST(Timer, ColdCallsRotateAndHotOnesDoNot) {
  if (device() == nullptr) return;
  const auto timer = Timer::make(*device(), true, quick().timer);
  ASSERT_TRUE(timer.has_value());
  // Three times the cache, in sets of 2 x 4096 bytes.
  const auto cold = (*timer)->rotation_of(*streams_plan(1, 1, 4096), 1e5);
  ASSERT_TRUE(cold.has_value());
  EXPECT_EQ(cold->size(), 38U);
  EXPECT_NE(cold->at(0)->tensors()[0].offset, cold->at(1)->tensors()[0].offset);
}

// A fresh buffer is cleared at its first use, which takes longer than a pass of small calls. Other
// work may disturb one attempt, not all.
TEST(Timer, ClearingFreshBuffersDoesNotDecideHowManyCallsAPassTakes) {
  if (device() == nullptr) return;
  const auto timer = Timer::make(*device(), true, quick().timer);
  ASSERT_TRUE(timer.has_value());
  std::uint32_t fewest = 0;
  for (int attempt = 0; attempt < 8 && fewest <= 3; ++attempt) {
    std::vector<Rotation> both;
    for (int i = 0; i < 2; ++i) {
      auto rotation = (*timer)->rotation_of(*streams_plan(1, 1, 1U << 16), 3e7);
      ASSERT_TRUE(rotation.has_value()) << rotation.error().to_string();
      both.push_back(*std::move(rotation));
    }
    const auto timings = (*timer)->measure(both);
    ASSERT_TRUE(timings.has_value()) << timings.error().to_string();
    fewest = std::min(timings->front().repetitions, timings->back().repetitions);
  }
  EXPECT_GT(fewest, 3U);
}

// A pass that stays touches one set, after one call that brings it back into the cache; the next
// pass takes the next set.
TEST(Timer, HotCallsStayInOnePlaceForAPass) {
  if (device() == nullptr) return;
  const auto timer = Timer::make(*device(), true, quick().timer);
  ASSERT_TRUE(timer.has_value());
  Rotation places;
  for (int place = 0; place < 4; ++place) {
    const auto one = (*timer)->rotation_of(*dependent_plan(), 0);
    ASSERT_TRUE(one.has_value()) << one.error().to_string();
    places.push_back(one->front());
  }
  const auto count = [&](std::size_t place) {
    const auto back = gpu::ReadBack::make(*device(), {&places[place]->tensors()[0], 1});
    EXPECT_TRUE((*back)->submit().has_value() && (*back)->start().has_value() &&
                (*back)->wait().has_value());
    std::uint32_t word = 0;
    std::memcpy(&word, (*back)->data(0).data(), 4);
    return word;
  };
  std::vector<std::uint32_t> before, after;
  for (std::size_t place = 0; place < 4; ++place) before.push_back(count(place));
  const auto timings = (*timer)->measure({&places, 1}, 1);  // three samples
  ASSERT_TRUE(timings.has_value()) << timings.error().to_string();
  for (std::size_t place = 0; place < 4; ++place) after.push_back(count(place) - before[place]);
  const std::uint32_t pass = 1 + timings->front().repetitions;
  EXPECT_GT(after[0], pass);  // found out how many calls a pass takes, and warmed up
  EXPECT_EQ(after[1], pass);
  EXPECT_EQ(after[2], pass);
  EXPECT_EQ(after[3], 0U);
}

TEST(Timer, HotBuffersAreTriedInAsManyPlacesAsMemoryHolds) {
  const auto plan = streams_plan(1, 1, 1U << 20);
  ASSERT_TRUE(plan.has_value());
  EXPECT_EQ(hot_places(**plan, 1e5), 1U);
  EXPECT_EQ(hot_places(**plan, 7e6), 3U);
  EXPECT_EQ(hot_places(**plan, 1e9), 6U);
}

}  // namespace
}  // namespace wgk::bench
