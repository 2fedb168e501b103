// SPDX-License-Identifier: Apache-2.0
#include "bench/baseline.h"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <format>
#include <string_view>
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
    bool beyond = before > 0, steady = true;
    std::string error;
    for (const Report& now : repeats) {
      const Measurement* m = find(now, old);
      if (m == nullptr) continue;
      if (!m->error.empty()) {
        error = m->error;
        continue;
      }
      candidate.ratios.push_back(copied_bytes(*m, now.context) / before);
      beyond = beyond && candidate.ratios.back() > 1 + tolerance;
      // Low clocks slow what computes, and copying hardly at all: slow is not slower then.
      steady = steady && m->clock_held;
    }
    if (!error.empty()) {
      result.failed.push_back(candidate.name + ": " + error);
    } else if (candidate.ratios.size() != repeats.size() || repeats.empty()) {
      result.missing.push_back(candidate.name);
    } else if (beyond && !steady) {
      result.unsteady.push_back(candidate.name);
    } else {
      ++result.compared;
      if (beyond) result.slower.push_back(std::move(candidate));
    }
  }
  if (!repeats.empty()) {
    for (const Measurement& m : repeats.front().measurements) {
      if (find(baseline, m) == nullptr) result.unknown.push_back(m.full_name());
    }
  }
  return result;
}

CheckResult confirmed(CheckResult first, CheckResult again) {
  first.compared -= first.slower.size();
  first.compared += again.compared;
  first.slower = std::move(again.slower);
  first.failed.append_range(std::move(again.failed));
  first.missing.append_range(std::move(again.missing));
  first.unsteady.append_range(std::move(again.unsteady));
  return first;
}

std::string to_text(const CheckResult& result) {
  std::string text;
  for (const SlowDown& slow : result.slower) {
    text += "slower: " + slow.name + "  ";
    for (const double ratio : slow.ratios) text += std::format(" {:.2f}", ratio);
    text += " times the baseline\n";
  }
  const auto list = [&](std::string_view what, const std::vector<std::string>& names) {
    for (const std::string& name : names) text += std::format("{}: {}\n", what, name);
  };
  list("not timed", result.failed);
  list("missing", result.missing);
  list("unsteady clocks, undecided", result.unsteady);
  list("not in the baseline", result.unknown);
  return text + std::format("{} cases compared, {} slower, {} not timed, {} missing, {} unsteady\n",
                            result.compared, result.slower.size(), result.failed.size(),
                            result.missing.size(), result.unsteady.size());
}

Json to_json(const CheckResult& result) {
  const auto names = [](const std::vector<std::string>& list) {
    return Json::Array(list.begin(), list.end());
  };
  Json::Array slower;
  for (const SlowDown& slow : result.slower) {
    slower.push_back(Json::object(
        {{"name", slow.name}, {"ratios", Json::Array(slow.ratios.begin(), slow.ratios.end())}}));
  }
  return Json::object({{"passes", result.passes()},
                       {"compared", static_cast<std::int64_t>(result.compared)},
                       {"slower", std::move(slower)},
                       {"not_timed", names(result.failed)},
                       {"missing", names(result.missing)},
                       {"unsteady", names(result.unsteady)},
                       {"unknown", names(result.unknown)}});
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
    if (!costs.empty()) {
      baseline.measurements.push_back(*std::ranges::max(costs).second);
    } else if (const Measurement* kept = find(old, first); kept != nullptr) {
      baseline.measurements.push_back(*kept);
    }
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
