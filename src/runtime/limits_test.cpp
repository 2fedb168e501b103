// SPDX-License-Identifier: Apache-2.0
// What loading and planning may cost, as callers set it.
#include "wgk/limits.h"

#include <gtest/gtest.h>

#include <string>

#include "wgk/package.h"

namespace wgk {
namespace {

const std::string kRowNorm =
    std::string(WGK_SOURCE_DIR) + "/kernels/com.microsoft.SkipSimplifiedLayerNormalization";

Request call() {
  TensorDesc tensor;
  tensor.dtype = DType::f32;
  tensor.shape = {2, 8};
  TensorDesc weights = tensor;
  weights.shape = {8};
  Request request;
  request.inputs = {{"input", tensor}, {"skip", tensor}, {"gamma", weights}};
  return request;
}

// Code of the error of opening, else of planning.
std::string outcome(const Limits& limits) {
  const auto package = Package::open(kRowNorm, limits);
  if (!package) return package.error().code;
  const auto plan = package->plan(call(), DeviceCaps::defaults());
  const Explanation why = package->explain(call(), DeviceCaps::defaults());
  EXPECT_TRUE(!why.error || !plan) << why.error->to_string();
  return plan ? "fits" : plan.error().code;
}

TEST(LimitsOfPackages, AreKept) {
  EXPECT_EQ(outcome({}), "fits");
  EXPECT_EQ(outcome({.file_bytes = 100}), "package/file");
  EXPECT_EQ(outcome({.json_bytes = 100}), "package/json");
  EXPECT_EQ(outcome({.json_depth = 3}), "package/json");
  EXPECT_EQ(outcome({.variants = 10}), "limit/count");
  EXPECT_EQ(outcome({.passes = 1}), "limit/count");
  EXPECT_EQ(outcome({.steps = 5}), "limit/steps");
  EXPECT_EQ(outcome({.depth = 1}), "limit/depth");
  EXPECT_EQ(outcome({.output_bytes = 100}), "limit/output");
}

// What is counted together is a multiple of these, which must not wrap.
TEST(LimitsOfPackages, MayBeHuge) {
  for (const int bit : {60, 61, 62, 63}) {
    const std::size_t huge = std::size_t{1} << bit;
    EXPECT_EQ(outcome({.file_bytes = huge, .steps = huge, .output_bytes = huge}), "fits") << bit;
  }
}

TEST(LimitsOfPackages, AreNamedByWhatPassesThem) {
  const auto package = Package::open(kRowNorm, {.variants = 10});
  ASSERT_FALSE(package);
  EXPECT_NE(package.error().message.find("more than 10 variants"), std::string::npos);
}

TEST(LimitsOfPackages, MustBeHonourable) {
  EXPECT_EQ(outcome({.json_depth = kMostJsonDepth, .depth = kMostDepth}), "fits");
  EXPECT_EQ(outcome({.depth = kMostDepth + 1}), "usage/range");
  const auto package = Package::open(kRowNorm, {.json_depth = kMostJsonDepth + 1});
  ASSERT_FALSE(package);
  EXPECT_EQ(package.error().code, "usage/range");
  EXPECT_EQ(package.error().message,
            "the limit 'json-depth' is 1001; at most 1000 can be honoured");
}

TEST(LimitsOfPackages, HaveOneNameEach) {
  Limits limits;
  std::size_t value = 0;
  for (const LimitName& limit : kLimitNames) limits.*limit.value = ++value;
  EXPECT_EQ(limits.file_bytes, 1U);
  EXPECT_EQ(limits.output_bytes, kLimitNames.size());
  EXPECT_EQ(sizeof(Limits), kLimitNames.size() * sizeof(std::size_t));
}

}  // namespace
}  // namespace wgk
