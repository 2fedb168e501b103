// SPDX-License-Identifier: Apache-2.0
#include "bench/statistics.h"

#include <gtest/gtest.h>

namespace wgk::bench {
namespace {

TEST(Statistics, SummaryOfKnownValues) {
  const Summary s = summarize({5, 1, 3, 2, 4});
  EXPECT_DOUBLE_EQ(s.median, 3);
  EXPECT_DOUBLE_EQ(s.p10, 1.4);
  EXPECT_DOUBLE_EQ(s.p90, 4.6);
  EXPECT_DOUBLE_EQ(s.min, 1);
  EXPECT_DOUBLE_EQ(s.max, 5);
  EXPECT_EQ(s.samples, 5u);
  EXPECT_EQ(s.outliers, 0u);
}

TEST(Statistics, OutliersAreCountedNotDropped) {
  const Summary s = summarize({10, 10.1, 9.9, 10.05, 9.95, 50});
  EXPECT_EQ(s.outliers, 1u);
  EXPECT_DOUBLE_EQ(s.max, 50);
}

TEST(Statistics, EmptyAndConstant) {
  EXPECT_EQ(summarize({}).samples, 0u);
  const Summary s = summarize({2, 2, 2});
  EXPECT_DOUBLE_EQ(s.median, 2);
  EXPECT_EQ(s.outliers, 0u);
}

TEST(Statistics, GeometricMeanAndRatio) {
  EXPECT_NEAR(geometric_mean({1, 4}), 2, 1e-12);
  EXPECT_EQ(geometric_mean({}), 0);
  EXPECT_DOUBLE_EQ(paired_ratio({2, 4, 6}, {1, 2, 3}).median, 2);
}

}  // namespace
}  // namespace wgk::bench
