// SPDX-License-Identifier: Apache-2.0
#include "bench/statistics.h"

#include <algorithm>
#include <cmath>

namespace wgk::bench {

double quantile(const std::vector<double>& sorted, double q) {
  const double rank = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(std::floor(rank));
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  const double weight = rank - static_cast<double>(below);
  return sorted[below] + (sorted[above] - sorted[below]) * weight;
}

Summary summarize(std::vector<double> values) {
  if (values.empty()) return {};
  std::ranges::sort(values);
  Summary s{.median = quantile(values, 0.5),
            .p10 = quantile(values, 0.1),
            .p90 = quantile(values, 0.9),
            .min = values.front(),
            .max = values.back(),
            .samples = values.size()};
  std::vector<double> deviations;
  deviations.reserve(values.size());
  for (double v : values) deviations.push_back(std::abs(v - s.median));
  std::ranges::sort(deviations);
  // 1.4826 makes the deviation of a normal distribution its standard deviation.
  const double limit = 3 * 1.4826 * quantile(deviations, 0.5);
  if (limit > 0)
    s.outliers = static_cast<std::size_t>(
        std::ranges::count_if(deviations, [&](double d) { return d > limit; }));
  return s;
}

double geometric_mean(const std::vector<double>& values) {
  if (values.empty()) return 0;
  double sum = 0;
  for (double v : values) sum += std::log(v);
  return std::exp(sum / static_cast<double>(values.size()));
}

Summary paired_ratio(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> ratios;
  ratios.reserve(a.size());
  for (std::size_t i = 0; i < a.size() && i < b.size(); ++i) {
    if (b[i] > 0) ratios.push_back(a[i] / b[i]);
  }
  return summarize(std::move(ratios));
}

}  // namespace wgk::bench
