// SPDX-License-Identifier: Apache-2.0
#include "bench/baseline.h"

#include <algorithm>
#include <cctype>
#include <utility>

namespace wgk::bench {
namespace {

bool same_case(const Measurement& a, const Measurement& b) {
  return a.package == b.package && a.name == b.name && a.cold == b.cold;
}

// The measurement of the same case, of the same variant where there are several.
const Measurement* find(const Report& report, const Measurement& wanted) {
  const Measurement* found = nullptr;
  for (const Measurement& m : report.measurements) {
    if (!same_case(m, wanted)) continue;
    if (m.variant == wanted.variant) return &m;
    if (found == nullptr) found = &m;
  }
  return found;
}

}  // namespace

double copied_bytes(const Measurement& measurement, const Context& context) {
  const double copy = measurement.copy_bytes_per_second > 0 ? measurement.copy_bytes_per_second
                                                            : context.copy_bytes_per_second;
  return measurement.seconds.p10 * copy;
}

CheckResult check_against(const Report& baseline, const std::vector<Report>& repeats,
                          double tolerance) {
  CheckResult result;
  for (const Measurement& old : baseline.measurements) {
    SlowDown candidate{.name = old.full_name(), .ratios = {}};
    const double before = copied_bytes(old, baseline.context);
    bool always_slower = before > 0;
    std::string error;
    for (const Report& now : repeats) {
      const Measurement* m = find(now, old);
      if (m == nullptr) continue;
      if (!m->error.empty()) {
        error = m->error;
        continue;
      }
      candidate.ratios.push_back(copied_bytes(*m, now.context) / before);
      // Low clocks slow what computes, and copying hardly at all.
      always_slower = always_slower && m->clock_held && candidate.ratios.back() > 1 + tolerance;
    }
    if (!error.empty()) {
      result.failed.push_back(candidate.name + ": " + error);
    } else if (candidate.ratios.size() != repeats.size() || repeats.empty()) {
      result.missing.push_back(candidate.name);
    } else {
      ++result.compared;
      if (always_slower) result.slower.push_back(std::move(candidate));
    }
  }
  if (!repeats.empty()) {
    for (const Measurement& m : repeats.front().measurements) {
      if (find(baseline, m) == nullptr) result.unknown.push_back(m.full_name());
    }
  }
  return result;
}

Report make_baseline(const std::vector<Report>& repeats, const Report& old) {
  Report baseline;
  if (repeats.empty()) return old;
  baseline.context = repeats.front().context;
  const auto& packages = baseline.context.packages;
  for (const Measurement& m : old.measurements) {
    if (find(repeats.front(), m) == nullptr) baseline.measurements.push_back(m);
  }
  for (const auto& kept : old.context.packages) {
    if (!std::ranges::contains(packages, kept.first, &std::pair<std::string, std::string>::first))
      baseline.context.packages.push_back(kept);
  }
  for (const Measurement& first : repeats.front().measurements) {
    std::vector<std::pair<double, const Measurement*>> costs;
    for (const Report& report : repeats) {
      const Measurement* m = find(report, first);
      if (m != nullptr && m->error.empty() && m->clock_held)
        costs.emplace_back(copied_bytes(*m, report.context), m);
    }
    if (costs.empty()) continue;
    baseline.measurements.push_back(*std::ranges::max(costs).second);
  }
  return baseline;
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
