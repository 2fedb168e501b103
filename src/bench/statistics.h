// SPDX-License-Identifier: Apache-2.0
// Robust summaries of repeated timings.
#pragma once

#include <cstddef>
#include <vector>

namespace wgk::bench {

// Median with the 10-90 % range. An outlier lies further than three (scaled) median absolute
// deviations from the median; outliers are counted, never dropped.
struct Summary {
  double median = 0, p10 = 0, p90 = 0, min = 0, max = 0;
  std::size_t samples = 0, outliers = 0;
};

// `values` in any unit and order; all zero when empty.
Summary summarize(std::vector<double> values);

// Linear interpolation between closest ranks; `sorted` ascending and not empty, `q` in [0, 1].
double quantile(const std::vector<double>& sorted, double q);

// exp of the mean logarithm; values must be positive. 0 when empty.
double geometric_mean(const std::vector<double>& values);

// Ratios a[i] / b[i] of interleaved samples, summarised. Both have the same length.
Summary paired_ratio(const std::vector<double>& a, const std::vector<double>& b);

}  // namespace wgk::bench
