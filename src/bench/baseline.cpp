// SPDX-License-Identifier: Apache-2.0
#include "bench/baseline.h"

#include <algorithm>
#include <cctype>

namespace wgk::bench {
namespace {

const Measurement* find(const Report& report, const std::string& name) {
  const auto it = std::ranges::find_if(report.measurements,
                                       [&](const Measurement& m) { return m.full_name() == name; });
  return it == report.measurements.end() ? nullptr : &*it;
}

}  // namespace

double copied_bytes(const Measurement& measurement, const Context& context) {
  return measurement.seconds.median * context.copy_bytes_per_second;
}

CheckResult check_against(const Report& baseline, const std::vector<Report>& repeats,
                          double tolerance) {
  CheckResult result;
  for (const Measurement& old : baseline.measurements) {
    SlowDown candidate{.name = old.full_name(), .ratios = {}};
    const double before = copied_bytes(old, baseline.context);
    bool always_slower = !repeats.empty() && before > 0;
    for (const Report& now : repeats) {
      const Measurement* m = find(now, candidate.name);
      if (!m || !m->error.empty()) continue;
      candidate.ratios.push_back(copied_bytes(*m, now.context) / before);
      always_slower = always_slower && candidate.ratios.back() > 1 + tolerance;
    }
    if (candidate.ratios.size() != repeats.size() || repeats.empty()) {
      result.missing.push_back(candidate.name);
      continue;
    }
    ++result.compared;
    if (always_slower) result.slower.push_back(std::move(candidate));
  }
  if (!repeats.empty()) {
    for (const Measurement& m : repeats.front().measurements) {
      if (!find(baseline, m.full_name())) result.unknown.push_back(m.full_name());
    }
  }
  return result;
}

std::string device_kind(const Context& context) {
  std::string kind;
  for (char c : context.adapter.substr(0, context.adapter.find('('))) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte)) {
      kind += static_cast<char>(std::tolower(byte));
    } else if (!kind.empty() && kind.back() != '-') {
      kind += '-';
    }
  }
  while (!kind.empty() && kind.back() == '-') kind.pop_back();
  return kind.empty() ? "unknown" : kind;
}

}  // namespace wgk::bench
