// SPDX-License-Identifier: Apache-2.0
#include "verify/compare.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

namespace wgk::verify {
namespace {

std::vector<std::byte> bytes_of(const std::vector<float>& values) {
  std::vector<std::byte> bytes(4 * values.size());
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

Difference differ(const std::vector<float>& got, const std::vector<float>& wanted,
                  const package::Expectation& expectation = {}) {
  return compare(DType::f32, bytes_of(got), bytes_of(wanted), expectation);
}

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinite = std::numeric_limits<float>::infinity();

TEST(Compare, EqualElementsHaveNoError) {
  EXPECT_EQ(differ({1, kInfinite, kNan, 0.0F}, {1, kInfinite, kNan, -0.0F}).multiple, 0);
}

TEST(Compare, FindsTheLargestErrorInTolerances) {
  package::Expectation expectation;
  expectation.tolerance = {0.5, 0.5};
  const Difference worst = differ({1, 2.5F, 4.5F, 7}, {1, 2, 3, 7}, expectation);
  EXPECT_EQ(worst.index, 2U);
  EXPECT_DOUBLE_EQ(worst.multiple, 1.5 / 2);
  EXPECT_TRUE(worst.passes());
  EXPECT_FALSE(differ({1, kInfinite}, {1, 2}, expectation).passes());
}

// Also where both are the same bit by bit.
TEST(Compare, ANanThatIsForbiddenIsRefused) {
  package::Expectation expectation;
  expectation.allow_nan = false;
  const Difference worst = differ({1, kNan}, {1, kNan}, expectation);
  EXPECT_TRUE(worst.nan_refused);
  EXPECT_EQ(worst.index, 1U);
  EXPECT_FALSE(worst.passes());
}

TEST(Compare, LeavesOutWhatIsIgnored) {
  package::Expectation expectation;
  expectation.ignore = {{1, 2}};
  EXPECT_TRUE(differ({1, 9, 3}, {1, 2, 3}, expectation).passes());
  EXPECT_FALSE(differ({1, 9, 9}, {1, 2, 3}, expectation).passes());
}

TEST(Compare, ElementsOfEachWidth) {
  for (const DType dtype : {DType::u8, DType::f16, DType::i32, DType::i64}) {
    std::vector<std::byte> got(4 * host_bytes(dtype)), wanted = got;
    EXPECT_TRUE(compare(dtype, got, wanted, {}).passes());
    wanted[3 * host_bytes(dtype)] = std::byte{1};
    EXPECT_EQ(compare(dtype, got, wanted, {}).index, 3U);
  }
}

}  // namespace
}  // namespace wgk::verify
