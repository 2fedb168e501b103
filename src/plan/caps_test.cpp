// SPDX-License-Identifier: Apache-2.0
#include "plan/caps.h"

#include <gtest/gtest.h>

#include "json/json.h"

namespace wgk {
namespace {

DeviceCaps read(std::string_view text) {
  auto caps = DeviceCaps::from_json(*json::parse(text));
  EXPECT_TRUE(caps) << caps.error().to_string();
  return *caps;
}

TEST(DeviceCaps, DefaultsStandInForUnreportedLimits) {
  const DeviceCaps caps = DeviceCaps::defaults();
  EXPECT_EQ(caps.limit("maxStorageBuffersPerShaderStage"), 10);
  EXPECT_EQ(caps.limit("maxBufferSize"), 268435456);
  EXPECT_EQ(caps.limit("maxStorageBuffersInVertexStage"), std::nullopt);
  EXPECT_EQ(caps.limit("nonsense"), std::nullopt);
  EXPECT_FALSE(caps.has_feature("shader-f16"));
}

TEST(DeviceCaps, DispatchDimensionsAreCapped) {
  const DeviceCaps caps = read(
      R"({"limits": {"maxComputeWorkgroupsPerDimension": 2147483647, "maxStorageBuffersInVertexStage": 4}})");
  EXPECT_EQ(caps.limit("maxComputeWorkgroupsPerDimension"), 65535);
  EXPECT_EQ(caps.limit("maxStorageBuffersInVertexStage"), 4);
  const auto limits = planning::all_limits(caps);
  EXPECT_EQ(limits.front(), (std::pair<std::string, double>("maxTextureDimension1D", 8192)));
  EXPECT_EQ(limits.back(), (std::pair<std::string, double>("maxStorageBuffersInVertexStage", 4)));
  EXPECT_EQ(limits.size(), 33U);
}

TEST(DeviceCaps, JsonRoundTrip) {
  constexpr std::string_view kText =
      R"({"name":"x","features":["shader-f16","subgroups"],"wgslLanguageFeatures":["a"],"wgslCompileFailures":["b"],)"
      R"("limits":{"maxBindGroups":4,"maxBufferSize":1000},"adapterInfo":{"vendor":"nvidia","architecture":"ampere","isFallbackAdapter":true,)"
      R"("subgroupMinSize":32,"subgroupMaxSize":64,"subgroupMatrixConfigs":[{"componentType":"f16","resultComponentType":"f32","M":16,"N":8,"K":4}]}})";
  EXPECT_EQ(json::write(read(kText).to_json()), kText);
}

TEST(DeviceCaps, NamesAreSortedAndVendorsLowerCase) {
  const DeviceCaps caps = read(
      R"({"features": ["b", "a", "b"], "adapterInfo": {"vendor": "NVIDIA", "architecture": "AmPere"}})");
  EXPECT_EQ(caps.features, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(caps.vendor, "nvidia");
  EXPECT_EQ(caps.architecture, "ampere");
  EXPECT_FALSE(caps.subgroup_matrix_configs);
}

TEST(DeviceCaps, BadJsonIsRefused) {
  for (const std::string_view text :
       {R"({"feature": []})", R"({"features": "x"})", R"({"limits": {"maxBufferSize": "1"}})",
        R"([])", R"({"adapterInfo": {"subgroupMinSize": -1}})",
        R"({"adapterInfo": {"subgroupMatrixConfigs": [{}]}})"}) {
    const auto caps = DeviceCaps::from_json(*json::parse(text));
    ASSERT_FALSE(caps) << text;
    EXPECT_EQ(caps.error().code, "io/format");
  }
}

TEST(DeviceCaps, MatrixConfigurationsAreFilteredAndSorted) {
  const DeviceCaps caps = read(R"({"adapterInfo": {"subgroupMatrixConfigs": [
    {"componentType": "u8", "resultComponentType": "u32", "M": 16, "N": 16, "K": 32},
    {"componentType": "bf16", "resultComponentType": "f32", "M": 16, "N": 16, "K": 16},
    {"componentType": "f16", "resultComponentType": "f32", "M": 0, "N": 16, "K": 16},
    {"componentType": "f16", "resultComponentType": "f32", "M": 16, "N": 16, "K": 16},
    {"componentType": "f16", "resultComponentType": "f16", "M": 16, "N": 16, "K": 16}]}})");
  const auto configs = planning::usable_matrix_configs(caps);
  ASSERT_EQ(configs.size(), 3U);
  EXPECT_EQ(configs[0].result_component_type, "f16");
  EXPECT_EQ(configs[1].result_component_type, "f32");
  EXPECT_EQ(configs[2].component_type, "u8");
}

}  // namespace
}  // namespace wgk
