// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/half.h"
#include "reference/oracle.h"

namespace wgk::reference {
namespace {

constexpr std::string_view kOp = "com.microsoft.SkipGroupNorm";

struct Sample {
  std::size_t index;
  double s, y;
};

// One line of skip_group_norm_pytorch.inc.
struct TorchCase {
  std::int64_t batch, height, width, channels;
  int groups, channels_last, activation, half, affine_half, skip, bias;
  double offset, epsilon;
  std::uint64_t seed;
  double s_sum, y_sum;
  std::vector<Sample> samples;
};

const std::vector<TorchCase>& torch_cases() {
  static const std::vector<TorchCase> cases = {
#include "reference/skip_group_norm_pytorch.inc"
  };
  return cases;
}

double rounded(DType dtype, double value) {
  return dtype == DType::f16 ? f64_from_f16(f16_from_f64(value))
                             : static_cast<double>(static_cast<float>(value));
}

// The generator `grid` of test files, rounded to the dtype.
Tensor grid(DType dtype, Shape shape, std::uint64_t seed, std::uint64_t reach, double step,
            double offset = 0) {
  std::size_t count = 1;
  for (const std::int64_t dim : shape) count *= static_cast<std::size_t>(dim);
  Tensor tensor{dtype, std::move(shape), std::vector<double>(count)};
  for (std::size_t i = 0; i < count; ++i) {
    std::uint64_t z = seed + (i + 1) * 0x9E3779B97F4A7C15U;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
    z ^= z >> 31;
    const double steps = static_cast<double>(z % (2 * reach + 1)) - static_cast<double>(reach);
    tensor.values[i] = rounded(dtype, steps * step + offset);
  }
  return tensor;
}

Call call_of(const TorchCase& c) {
  const DType t = c.half ? DType::f16 : DType::f32;
  const DType m = c.affine_half ? DType::f16 : DType::f32;
  const Shape shape = c.channels_last ? Shape{c.batch, c.height, c.width, c.channels}
                                      : Shape{c.batch, c.channels, c.height, c.width};
  const Shape skip = c.skip == 0   ? shape
                     : c.skip == 1 ? Shape{c.batch, c.channels}
                                   : Shape{c.batch, 1, 1, c.channels};
  Call call;
  call.inputs.emplace_back("X", grid(t, shape, c.seed + 1, 255, 0.0078125, c.offset));
  call.inputs.emplace_back("skip", grid(t, skip, c.seed + 2, 255, 0.01));
  call.inputs.emplace_back("gamma", grid(m, {c.channels}, c.seed + 3, 64, 0.015625, 1));
  call.inputs.emplace_back("beta", grid(m, {c.channels}, c.seed + 4, 64, 0.015625));
  if (c.bias) call.inputs.emplace_back("bias", grid(t, {c.channels}, c.seed + 5, 100, 0.03));
  call.attrs.emplace_back("groups", c.groups);
  call.attrs.emplace_back("activation", c.activation);
  call.attrs.emplace_back("channels_last", c.channels_last);
  call.attrs.emplace_back("epsilon", c.epsilon);
  return call;
}

const Tensor& port(const Outputs& outputs, std::string_view name) {
  for (const auto& [key, tensor] : outputs) {
    if (key == name) return tensor;
  }
  ADD_FAILURE() << "no output " << name;
  return outputs.front().second;
}

double weighted_sum(const std::vector<double>& values) {
  double sum = 0;
  for (std::size_t i = 0; i < values.size(); ++i) sum += static_cast<double>(1 + i % 7) * values[i];
  return sum;
}

TEST(SkipGroupNorm, AgreesWithPyTorchInFloat64) {
  ASSERT_GE(torch_cases().size(), 300U);
  for (std::size_t k = 0; k < torch_cases().size(); ++k) {
    SCOPED_TRACE("case " + std::to_string(k));
    const TorchCase& c = torch_cases()[k];
    const auto outputs = find_oracle(kOp)(call_of(c));
    ASSERT_TRUE(outputs.has_value());
    const std::vector<double>& s = port(*outputs, "S").values;
    const std::vector<double>& y = port(*outputs, "Y").values;
    EXPECT_EQ(weighted_sum(s), c.s_sum);
    EXPECT_NEAR(weighted_sum(y), c.y_sum, 1e-9 * std::max(1.0, std::abs(c.y_sum)));
    for (const Sample& sample : c.samples) {
      EXPECT_EQ(s.at(sample.index), sample.s);
      EXPECT_NEAR(y.at(sample.index), sample.y, 1e-11 * std::max(1.0, std::abs(sample.y)));
    }
  }
}

Call small() {
  Call call;
  call.inputs.emplace_back("X", Tensor{DType::f32, {1, 1, 2, 2}, {1, 5, 3, 5}});
  call.inputs.emplace_back("skip", Tensor{DType::f32, {1, 2}, {0, 1}});
  call.inputs.emplace_back("gamma", Tensor{DType::f32, {2}, {2, 4}});
  call.inputs.emplace_back("beta", Tensor{DType::f32, {2}, {10, -20}});
  call.attrs.emplace_back("groups", 2);
  call.attrs.emplace_back("epsilon", 0.0);
  return call;
}

TEST(SkipGroupNorm, NormalizesEachGroupAndKeepsConstantGroupsAtBeta) {
  Call call = small();
  call.attrs.back().second = 1e-5;
  const auto outputs = find_oracle(kOp)(call);
  ASSERT_TRUE(outputs.has_value());
  EXPECT_EQ(port(*outputs, "S").values, (std::vector<double>{1, 6, 3, 6}));
  const std::vector<double>& y = port(*outputs, "Y").values;
  EXPECT_NEAR(y[0], 10 - 2 / std::sqrt(1 + 1e-5), 1e-12);
  EXPECT_EQ(y[1], -20);
  EXPECT_NEAR(y[2], 10 + 2 / std::sqrt(1 + 1e-5), 1e-12);
  EXPECT_EQ(y[3], -20);
}

TEST(SkipGroupNorm, RoundsTheSumOnceToHalf) {
  Call call = small();
  for (auto& [name, tensor] : call.inputs) tensor.dtype = DType::f16;
  // 2048 + 1 is not a half; 1 + 1 + 2048 is, once both ones are added first in float32.
  call.inputs[0].second.values = {2048, 1, 2048, 1};
  call.inputs[1].second.values = {1, 1};
  call.inputs.emplace_back("bias", Tensor{DType::f16, {2}, {1, 1}});
  const auto outputs = find_oracle(kOp)(call);
  ASSERT_TRUE(outputs.has_value());
  EXPECT_EQ(port(*outputs, "S").values, (std::vector<double>{2050, 3, 2050, 3}));
}

TEST(SkipGroupNorm, SiluOfLargeNegativeValuesIsZero) {
  Call call = small();
  call.inputs[3].second.values = {-1e4, -1e38};
  call.attrs.emplace_back("activation", 1);
  call.attrs[1].second = 1e-5;
  const auto outputs = find_oracle(kOp)(call);
  ASSERT_TRUE(outputs.has_value());
  for (const double y : port(*outputs, "Y").values) EXPECT_EQ(y, 0);
}

TEST(SkipGroupNorm, AcceptsNoPixelsAndNoItems) {
  Call call = small();
  call.inputs[0].second = Tensor{DType::f32, {1, 0, 2, 2}, {}};
  auto outputs = find_oracle(kOp)(call);
  ASSERT_TRUE(outputs.has_value());
  EXPECT_EQ(port(*outputs, "Y").shape, (Shape{1, 0, 2, 2}));
  call.inputs[0].second = Tensor{DType::f32, {0, 2, 2, 2}, {}};
  call.inputs[1].second = Tensor{DType::f32, {0, 2}, {}};
  outputs = find_oracle(kOp)(call);
  ASSERT_TRUE(outputs.has_value());
  EXPECT_TRUE(port(*outputs, "S").values.empty());
}

TEST(SkipGroupNorm, RefusesWhatDoesNotFit) {
  const auto code = [](const Call& call) { return find_oracle(kOp)(call).error().code; };
  Call call = small();
  call.inputs[1].second.shape = {2};
  EXPECT_EQ(code(call), "request/shape");
  call = small();
  call.attrs[0].second = 3;
  EXPECT_EQ(code(call), "request/attribute");
  call = small();
  call.inputs[0].second.shape = {2, 2};
  EXPECT_EQ(code(call), "request/rank");
  call = small();
  call.inputs.pop_back();
  EXPECT_EQ(code(call), "request/missing");
}

}  // namespace
}  // namespace wgk::reference
