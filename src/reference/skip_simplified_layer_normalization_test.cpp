// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include "reference/oracle.h"
#include "reference/sample.h"

namespace wgk::reference {
namespace {

constexpr std::string_view kOp = "com.microsoft.SkipSimplifiedLayerNormalization";

Call two_rows() {
  Call call;
  call.inputs.emplace_back("inputT", Tensor{DType::f32, {2, 2}, {1, 2, 0, 3}});
  call.inputs.emplace_back("skipT", Tensor{DType::f32, {2, 2}, {2, 2, 0, 0}});
  call.inputs.emplace_back("gammaT", Tensor{DType::f32, {2}, {1, 10}});
  call.attrs.emplace_back("epsilon", 0.0);
  return call;
}

const Tensor& port(const Outputs& outputs, std::string_view name) {
  for (const auto& [key, tensor] : outputs) {
    if (key == name) return tensor;
  }
  ADD_FAILURE() << "no output " << name;
  return outputs.front().second;
}

TEST(SkipSimplifiedLayerNormalization, NormalizesEachRowByItsRootMeanSquare) {
  const auto outputs = find_oracle(kOp)(two_rows());
  ASSERT_TRUE(outputs.has_value());
  EXPECT_EQ(port(*outputs, "residualT").values, (std::vector<double>{3, 4, 0, 3}));
  EXPECT_EQ(port(*outputs, "meanT").values, (std::vector<double>{0, 0}));
  const double inverse = 1 / std::sqrt(12.5);
  EXPECT_DOUBLE_EQ(port(*outputs, "invStdT").values[0], inverse);
  EXPECT_DOUBLE_EQ(port(*outputs, "invStdT").values[1], 1 / std::sqrt(4.5));
  EXPECT_DOUBLE_EQ(port(*outputs, "outputT").values[0], 3 * inverse);
  EXPECT_DOUBLE_EQ(port(*outputs, "outputT").values[1], 40 * inverse);
  EXPECT_EQ(port(*outputs, "invStdT").shape, (Shape{2, 1}));
}

TEST(SkipSimplifiedLayerNormalization, BiasIsPartOfTheSum) {
  Call call = two_rows();
  call.inputs.emplace_back("biasT", Tensor{DType::f32, {2}, {-3, 0}});
  const auto outputs = find_oracle(kOp)(call);
  ASSERT_TRUE(outputs.has_value());
  EXPECT_EQ(port(*outputs, "residualT").values, (std::vector<double>{0, 4, -3, 3}));
  EXPECT_DOUBLE_EQ(port(*outputs, "outputT").values[1], 10 * 4 / std::sqrt(8.0));
}

TEST(SkipSimplifiedLayerNormalization, EpsilonHasTheManifestsDefault) {
  Call call = two_rows();
  call.attrs.clear();
  call.inputs[0].second.values = {0, 0, 0, 0};
  call.inputs[1].second.values = {0, 0, 0, 0};
  const auto outputs = find_oracle(kOp)(call);
  ASSERT_TRUE(outputs.has_value());
  EXPECT_NEAR(port(*outputs, "invStdT").values[0], 1e6, 0.01);
}

TEST(SkipSimplifiedLayerNormalization, AcceptsNoRows) {
  Call call = two_rows();
  for (auto& [name, tensor] : call.inputs) {
    if (name != "gammaT") tensor = Tensor{DType::f32, {2, 0, 2}, {}};
  }
  const auto outputs = find_oracle(kOp)(call);
  ASSERT_TRUE(outputs.has_value());
  EXPECT_TRUE(port(*outputs, "outputT").values.empty());
  EXPECT_EQ(port(*outputs, "meanT").shape, (Shape{2, 0, 1}));
}

TEST(SkipSimplifiedLayerNormalization, RefusesShapesThatDoNotFit) {
  Call call = two_rows();
  call.inputs[1].second = Tensor{DType::f32, {1, 2}, {1, 2}};
  EXPECT_EQ(find_oracle(kOp)(call).error().code, "request/shape");
  call.inputs.pop_back();
  EXPECT_EQ(find_oracle(kOp)(call).error().code, "request/missing");
  EXPECT_EQ(find_oracle("ai.onnx.Add"), nullptr);
}

TEST(SkipSimplifiedLayerNormalization, SamplesWholeRowsOfLargeCalls) {
  const auto sampler = find_sampler(kOp);
  const std::vector<std::pair<std::string, Shape>> inputs = {
      {"inputT", {10, 100, 8}}, {"skipT", {10, 100, 8}}, {"gammaT", {8}}};
  EXPECT_FALSE(sampler(inputs, 8000).has_value());
  const auto sample = sampler(inputs, 80);
  ASSERT_TRUE(sample.has_value());
  ASSERT_EQ(sample->inputs.size(), 2U);
  EXPECT_EQ(sample->inputs[1].shape, (Shape{10, 8}));
  EXPECT_EQ(sample->inputs[1].ranges.front(), (std::pair<std::size_t, std::size_t>{0, 8}));
  EXPECT_EQ(sample->inputs[1].ranges.back(), (std::pair<std::size_t, std::size_t>{7992, 8000}));
  EXPECT_EQ(sample->outputs[2].shape, (Shape{10, 1}));
}

TEST(SpreadRows, PicksDistinctRowsFromFirstToLast) {
  EXPECT_EQ(spread_rows(3, 5), (std::vector<std::size_t>{0, 1, 2}));
  const auto rows = spread_rows(1000, 7);
  ASSERT_EQ(rows.size(), 7U);
  EXPECT_EQ(rows.front(), 0U);
  EXPECT_EQ(rows.back(), 999U);
  EXPECT_TRUE(std::ranges::is_sorted(rows));
  EXPECT_EQ(std::ranges::adjacent_find(rows), rows.end());
}

}  // namespace
}  // namespace wgk::reference
