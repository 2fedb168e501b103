// SPDX-License-Identifier: Apache-2.0
#include "gpu/compile_check.h"

#include <gtest/gtest.h>

#include "gpu/test_support.h"

namespace wgk::gpu {
namespace {

using testing::contains;
using testing::PlanBuilder;

DeviceCaps profile(std::vector<std::string> features,
                   std::vector<std::pair<std::string, double>> limits = {}) {
  DeviceCaps caps = DeviceCaps::defaults();
  caps.name = "made up";
  caps.features = std::move(features);
  caps.limits = std::move(limits);
  return caps;
}

std::shared_ptr<const Plan> one_pass(std::string wgsl) {
  return PlanBuilder()
      .tensor("y", 256, false, true)
      .pass("p", std::move(wgsl), {1, 1, 1})
      .bind_tensor(0, BindingType::kStorage)
      .done();
}

constexpr const char* kF16 = R"(enable f16;
@group(0) @binding(0) var<storage, read_write> y: array<f16>;
@compute @workgroup_size(32) fn main() { y[0] = 1.0h; })";

constexpr const char* kWide = R"(@group(0) @binding(0) var<storage, read_write> y: array<f32>;
@compute @workgroup_size(512) fn main(@builtin(local_invocation_index) i: u32) { y[i % 256u] = 1.0; })";

constexpr const char* kMatrix = R"(enable chromium_experimental_subgroup_matrix;
@group(0) @binding(0) var<storage, read_write> y: array<f32>;
@compute @workgroup_size(128) fn main() {
  let a = subgroupMatrixLoad<subgroup_matrix_left<f32, 8, 8>>(&y, 0u, false, 8u);
  let b = subgroupMatrixLoad<subgroup_matrix_right<f32, 8, 8>>(&y, 64u, false, 8u);
  var c: subgroup_matrix_result<f32, 8, 8>;
  c = subgroupMatrixMultiplyAccumulate(a, b, c);
  subgroupMatrixStore(&y, 128u, c, false, 8u);
})";

TEST(CompileCheck, FollowsTheProfile) {
  auto plain = CompileChecker::make(profile({}));
  auto half = CompileChecker::make(profile({"shader-f16"}));
  ASSERT_TRUE(plain && half) << plain.error().to_string();
  EXPECT_TRUE(half->check(*one_pass(kF16)));
  const auto refused = plain->check(*one_pass(kF16));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, "device/compile");
  EXPECT_TRUE(contains(refused.error().to_string(), "f16"));
  EXPECT_EQ(plain->check(*one_pass(kWide)).error().code, "device/compile");
}

TEST(CompileCheck, CompilesF32MatricesOnTheNullBackEnd) {
  auto checker =
      CompileChecker::make(profile({"subgroups", "chromium-experimental-subgroup-matrix"}));
  ASSERT_TRUE(checker) << checker.error().to_string();
  EXPECT_EQ(checker->stand_in().backend, "null");
  const auto status = checker->check(*one_pass(kMatrix));
  EXPECT_TRUE(status) << status.error().to_string();
}

TEST(CompileCheck, SaysWhyNothingCanStandIn) {
  const auto none =
      CompileChecker::make(profile({}, {{"maxComputeInvocationsPerWorkgroup", 1 << 20}}));
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, "device/none");
  EXPECT_TRUE(contains(none.error().message, "maxComputeInvocationsPerWorkgroup"));
}

TEST(CompileCheck, UsesARealAdapterForLargerLimits) {
  if (testing::no_device()) GTEST_SKIP() << "WGK_TEST_DEVICE=none";
  const double offered =
      *testing::shared_context().device->caps().limit("maxComputeInvocationsPerWorkgroup");
  if (offered <= 256) GTEST_SKIP() << "the device has no larger limits";
  auto checker = CompileChecker::make(
      profile({}, {{"maxComputeInvocationsPerWorkgroup", 512}, {"maxComputeWorkgroupSizeX", 512}}));
  ASSERT_TRUE(checker) << checker.error().to_string();
  EXPECT_NE(checker->stand_in().backend, "null");
  EXPECT_TRUE(checker->check(*one_pass(kWide)));
}

}  // namespace
}  // namespace wgk::gpu
