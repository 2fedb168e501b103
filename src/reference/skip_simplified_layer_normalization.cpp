// SPDX-License-Identifier: Apache-2.0
// com.microsoft.SkipSimplifiedLayerNormalization: S = input + skip + bias; output = S /
// sqrt(mean(S^2) + epsilon) * gamma.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "reference/operators.h"

namespace wgk::reference {
namespace {

// The attribute's default as the manifest states it: 1e-12 rounded to float32.
constexpr double kDefaultEpsilon = 9.999999960041972e-13;

struct Rows {
  std::vector<double> output, mean, inverse, sum;
};

Status check(const Tensor* input, const Tensor* skip, const Tensor* gamma, const Tensor* bias) {
  if (input == nullptr || skip == nullptr || gamma == nullptr) {
    return failure("request/missing", "inputT, skipT and gammaT must be given");
  }
  const std::size_t rank = input->shape.size();
  if (rank != 2 && rank != 3) return failure("request/rank", "inputT must have rank 2 or 3");
  if (skip->shape != input->shape)
    return failure("request/shape", "skipT must have the shape of inputT");
  const Shape row = {input->shape.back()};
  if (row[0] < 1) return failure("request/shape", "the hidden size must be positive");
  if (gamma->shape != row || (bias != nullptr && bias->shape != row)) {
    return failure("request/shape", "gammaT and biasT must have the length of a row");
  }
  return {};
}

Rows normalize(const Tensor& input, const Tensor& skip, const Tensor& gamma, const Tensor* bias,
               double epsilon) {
  const std::size_t hidden = gamma.values.size();
  const std::size_t count = input.values.size();
  Rows rows{std::vector<double>(count), std::vector<double>(count / hidden),
            std::vector<double>(count / hidden), std::vector<double>(count)};
  for (std::size_t row = 0; row < count / hidden; ++row) {
    double squares = 0;
    for (std::size_t column = 0; column < hidden; ++column) {
      const std::size_t at = row * hidden + column;
      const double sum =
          input.values[at] + skip.values[at] + (bias != nullptr ? bias->values[column] : 0.0);
      rows.sum[at] = sum;
      squares += sum * sum;
    }
    const double inverse = 1.0 / std::sqrt(squares / static_cast<double>(hidden) + epsilon);
    rows.inverse[row] = inverse;
    for (std::size_t column = 0; column < hidden; ++column) {
      const std::size_t at = row * hidden + column;
      rows.output[at] = rows.sum[at] * inverse * gamma.values[column];
    }
  }
  return rows;
}

}  // namespace

// The sum is not rounded to T before the statistics, nor before the normalization (the rounding of
// the stores is the caller's).
Result<Outputs> skip_simplified_layer_normalization(const Call& call) {
  const Tensor* input = call.input("inputT");
  const Tensor* skip = call.input("skipT");
  const Tensor* gamma = call.input("gammaT");
  const Tensor* bias = call.input("biasT");
  if (Status ok = check(input, skip, gamma, bias); !ok)
    return std::unexpected(std::move(ok).error());

  Rows rows = normalize(*input, *skip, *gamma, bias, call.number("epsilon", kDefaultEpsilon));
  Shape statistics = input->shape;
  statistics.back() = 1;
  Outputs outputs;
  outputs.emplace_back("outputT", Tensor{input->dtype, input->shape, std::move(rows.output)});
  outputs.emplace_back("meanT", Tensor{DType::f32, statistics, std::move(rows.mean)});
  outputs.emplace_back("invStdT", Tensor{DType::f32, statistics, std::move(rows.inverse)});
  outputs.emplace_back("residualT", Tensor{input->dtype, input->shape, std::move(rows.sum)});
  return outputs;
}

// Whole rows.
std::optional<Sample> sample_skip_simplified_layer_normalization(
    const std::vector<std::pair<std::string, Shape>>& inputs, std::size_t max_elements) {
  const auto input = std::ranges::find(inputs, "inputT", &std::pair<std::string, Shape>::first);
  if (input == inputs.end() || input->second.empty() || input->second.back() < 1) return {};
  const Shape& shape = input->second;
  std::size_t rows = 1;
  for (std::size_t i = 0; i + 1 < shape.size(); ++i) rows *= static_cast<std::size_t>(shape[i]);
  const auto hidden = static_cast<std::size_t>(shape.back());
  if (rows * hidden <= max_elements || rows <= 1) return {};

  const std::vector<std::size_t> picked =
      spread_rows(rows, std::max<std::size_t>(2, max_elements / hidden));
  const auto count = static_cast<std::int64_t>(picked.size());
  const auto part = [&](std::string port, std::size_t width) {
    Part result{std::move(port), {count, static_cast<std::int64_t>(width)}, {}};
    for (const std::size_t row : picked) {
      result.ranges.emplace_back(row * width, (row + 1) * width);
    }
    return result;
  };
  return Sample{
      {part("inputT", hidden), part("skipT", hidden)},
      {part("outputT", hidden), part("meanT", 1), part("invStdT", 1), part("residualT", hidden)}};
}

}  // namespace wgk::reference
