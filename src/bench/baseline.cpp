// SPDX-License-Identifier: Apache-2.0
#include "bench/baseline.h"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <format>
#include <string_view>
#include <utility>

#include "base/try.h"

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

CaseNames names_of(const Report& report) {
  CaseNames names;
  for (const Measurement& m : report.measurements) names.emplace_back(m.package, m.name);
  return names;
}

Report with_names(Report report, const std::vector<std::string>& names) {
  std::erase_if(report.measurements,
                [&](const Measurement& m) { return !std::ranges::contains(names, m.full_name()); });
  return report;
}

std::vector<std::string> names_of(const std::vector<Compared>& list) {
  std::vector<std::string> names;
  for (const Compared& one : list) names.push_back(one.name);
  return names;
}

// Adds what `more` says of other cases.
void append(CheckResult& result, CheckResult more) {
  result.within.append_range(std::move(more.within));
  result.slower.append_range(std::move(more.slower));
  result.failed.append_range(std::move(more.failed));
  result.missing.append_range(std::move(more.missing));
  result.unsteady.append_range(std::move(more.unsteady));
}

Result<CheckResult> check_rounds(Report baseline, const MeasureCases& measure, double tolerance) {
  CheckResult result;
  std::vector<Report> repeats;
  for (int round = 1;; ++round) {
    WGK_ASSIGN(Report report, measure(names_of(baseline)));
    repeats.push_back(std::move(report));
    CheckResult now = check_against(baseline, repeats, tolerance);
    if (round == 1) result.unknown = std::move(now.unknown);
    std::vector<std::string> open = names_of(now.slower);
    open.append_range(now.unsteady);
    if (open.empty() || round == kCheckRounds) {
      append(result, std::move(now));
      return result;
    }
    now.slower.clear();
    now.unsteady.clear();
    append(result, std::move(now));
    baseline = with_names(std::move(baseline), open);
  }
}

}  // namespace

double copied_bytes(const Measurement& measurement, const Context& context) {
  const double copy = measurement.copy_bytes_per_second > 0 ? measurement.copy_bytes_per_second
                                                            : context.speed.copy_bytes_per_second;
  return measurement.seconds.p10 * copy;
}

CheckResult check_against(const Report& baseline, const std::vector<Report>& repeats,
                          double tolerance) {
  CheckResult result;
  for (const Measurement& old : baseline.measurements) {
    Compared candidate{.name = old.full_name(), .ratios = {}};
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
      (beyond ? result.slower : result.within).push_back(std::move(candidate));
    }
  }
  if (!repeats.empty()) {
    for (const Measurement& m : repeats.front().measurements) {
      if (find(baseline, m) == nullptr) result.unknown.push_back(m.full_name());
    }
  }
  return result;
}

Result<CheckResult> check_in_rounds(const Report& baseline, const MeasureCases& measure,
                                    double tolerance) {
  WGK_ASSIGN(CheckResult result, check_rounds(baseline, measure, tolerance));
  if (result.slower.empty()) return result;
  const Report slower = with_names(baseline, names_of(std::exchange(result.slower, {})));
  WGK_ASSIGN(CheckResult again, check_rounds(slower, measure, tolerance));
  append(result, std::move(again));
  return result;
}

std::string to_text(const CheckResult& result) {
  std::string text;
  for (const Compared& slow : result.slower) {
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
                            result.compared(), result.slower.size(), result.failed.size(),
                            result.missing.size(), result.unsteady.size());
}

Json to_json(const CheckResult& result) {
  const auto names = [](const std::vector<std::string>& list) {
    return Json::Array(list.begin(), list.end());
  };
  const auto ratios = [](const std::vector<Compared>& list) {
    Json::Array array;
    for (const Compared& one : list) {
      array.push_back(Json::object(
          {{"name", one.name}, {"ratios", Json::Array(one.ratios.begin(), one.ratios.end())}}));
    }
    return array;
  };
  return Json::object({{"passes", result.passes()},
                       {"compared", static_cast<std::int64_t>(result.compared())},
                       {"slower", ratios(result.slower)},
                       {"within", ratios(result.within)},
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
