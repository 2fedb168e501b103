// SPDX-License-Identifier: Apache-2.0
// com.microsoft.SkipGroupNorm: S = X + skip + bias, rounded to T; Y = act(gamma * (S - mean) /
// sqrt(variance + epsilon) + beta), moments per batch item and group of channels.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/half.h"
#include "base/try.h"
#include "reference/operators.h"

namespace wgk::reference {
namespace {

struct NormProblem {
  const Tensor* x = nullptr;
  const Tensor* gamma = nullptr;
  const Tensor* beta = nullptr;
  const Tensor* skip = nullptr;
  const Tensor* bias = nullptr;
  bool channels_last = true, silu = false, broadcast = false;
  double epsilon = 1e-5;
  std::size_t batch = 0, channels = 0, pixels = 0, groups = 0;
};

Status read_shapes(NormProblem& problem) {
  const Shape& shape = problem.x->shape;
  if (shape.size() != 4) return failure("request/rank", "X must have rank 4");
  const auto dim = [&](std::size_t axis) { return static_cast<std::size_t>(shape[axis]); };
  problem.batch = dim(0);
  problem.channels = problem.channels_last ? dim(3) : dim(1);
  problem.pixels = problem.channels_last ? dim(1) * dim(2) : dim(2) * dim(3);
  if (problem.channels == 0 || problem.groups == 0 || problem.channels % problem.groups != 0) {
    return failure("request/attribute", "groups must divide the channels of X");
  }
  const auto n = shape[0];
  const auto c = static_cast<std::int64_t>(problem.channels);
  for (const Tensor* tensor : {problem.gamma, problem.beta, problem.bias}) {
    if (tensor != nullptr && tensor->shape != Shape{c}) {
      return failure("request/shape", "gamma, beta and bias must have one value per channel");
    }
  }
  problem.broadcast = problem.skip->shape != shape;
  if (problem.broadcast && problem.skip->shape != Shape{n, c} &&
      problem.skip->shape != Shape{n, 1, 1, c}) {
    return failure("request/shape", "skip must have the shape of X, (N, C) or (N, 1, 1, C)");
  }
  return {};
}

Result<NormProblem> read_norm(const Call& call) {
  NormProblem problem{.x = call.input("X"),
                      .gamma = call.input("gamma"),
                      .beta = call.input("beta"),
                      .skip = call.input("skip"),
                      .bias = call.input("bias")};
  if (problem.x == nullptr || problem.gamma == nullptr || problem.beta == nullptr ||
      problem.skip == nullptr) {
    return failure("request/missing", "X, gamma, beta and skip must be given");
  }
  problem.channels_last = call.number("channels_last", 1) != 0;
  problem.silu = call.number("activation", 0) == 1;
  problem.epsilon = call.number("epsilon", 1e-5);
  problem.groups = static_cast<std::size_t>(call.number("groups", 0));
  WGK_TRY(read_shapes(problem));
  return problem;
}

// The float32 sum X + skip, then + bias, rounded once to T.
double rounded_sum(const NormProblem& problem, std::size_t item, std::size_t channel,
                   std::size_t index) {
  const std::size_t other = problem.broadcast ? item * problem.channels + channel : index;
  float sum = static_cast<float>(problem.x->values[index]) +
              static_cast<float>(problem.skip->values[other]);
  if (problem.bias != nullptr) sum += static_cast<float>(problem.bias->values[channel]);
  if (problem.x->dtype == DType::f16) return f64_from_f16(f16_from_f32(sum));
  return static_cast<double>(sum);
}

// Moments of each group of one batch item. Values are visited in the order of memory: images are
// large, and a walk along one group at a time would miss the cache at every value.
void normalize_item(const NormProblem& problem, std::size_t item, std::vector<double>& y,
                    std::vector<double>& s) {
  const std::size_t width = problem.channels / problem.groups;
  const double count = static_cast<double>(width * problem.pixels);
  const auto each = [&](auto&& visit) {
    const std::size_t outer = problem.channels_last ? problem.pixels : problem.channels;
    const std::size_t inner = problem.channels_last ? problem.channels : problem.pixels;
    for (std::size_t i = 0; i < outer; ++i) {
      for (std::size_t k = 0; k < inner; ++k) {
        const std::size_t channel = problem.channels_last ? k : i;
        visit(channel, channel / width, (item * outer + i) * inner + k);
      }
    }
  };
  std::vector<double> mean(problem.groups), squares(problem.groups), inverse(problem.groups);
  each([&](std::size_t channel, std::size_t group, std::size_t index) {
    s[index] = rounded_sum(problem, item, channel, index);
    mean[group] += s[index];
  });
  for (double& value : mean) value /= count;
  each([&](std::size_t, std::size_t group, std::size_t index) {
    squares[group] += (s[index] - mean[group]) * (s[index] - mean[group]);
  });
  for (std::size_t group = 0; group < problem.groups; ++group)
    inverse[group] = 1 / std::sqrt(squares[group] / count + problem.epsilon);
  each([&](std::size_t channel, std::size_t group, std::size_t index) {
    const double value =
        problem.gamma->values[channel] * (s[index] - mean[group]) * inverse[group] +
        problem.beta->values[channel];
    y[index] = problem.silu ? value / (1 + std::exp(-value)) : value;
  });
}

}  // namespace

Result<Outputs> skip_group_norm(const Call& call) {
  WGK_ASSIGN(const NormProblem problem, read_norm(call));
  std::vector<double> y(problem.x->values.size());
  std::vector<double> s(y.size());
  if (problem.pixels > 0) {
    for (std::size_t item = 0; item < problem.batch; ++item) normalize_item(problem, item, y, s);
  }
  Outputs outputs;
  outputs.emplace_back("Y", Tensor{problem.x->dtype, problem.x->shape, std::move(y)});
  outputs.emplace_back("S", Tensor{problem.x->dtype, problem.x->shape, std::move(s)});
  return outputs;
}

}  // namespace wgk::reference
