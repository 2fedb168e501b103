// SPDX-License-Identifier: Apache-2.0
// The guard against slow-downs: times relative to the device's own copy speed, against a committed
// baseline per device kind.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "bench/report.h"
#include "wgk/error.h"

namespace wgk::bench {

// A case is worth guarding by its cost in "copied bytes": its time times the copy speed between its
// own samples (else that of its run), so that a slower machine of the same kind does not look like
// a slower kernel. Both are of the fastest tenth of the samples, which other work on the machine
// disturbs least.
double copied_bytes(const Measurement& measurement, const Context& context);

struct Compared {
  std::string name;            // full name of the measurement
  std::vector<double> ratios;  // cost now over cost in the baseline, one per repeat
};

struct CheckResult {
  std::vector<Compared> within;       // a repeat within the tolerance
  std::vector<Compared> slower;       // every repeat beyond it
  std::vector<std::string> failed;    // not timed now, with the reason
  std::vector<std::string> missing;   // in the baseline, not measured now
  std::vector<std::string> unknown;   // measured now, not in the baseline
  std::vector<std::string> unsteady;  // undecided: as slower, but not all with steady clocks

  std::size_t compared() const { return within.size() + slower.size(); }
  bool passes() const { return slower.empty() && failed.empty() && missing.empty(); }
};

// A case fails only when all `repeats` (interleaved runs of the same cases) agree that it costs
// more than 1 + `tolerance` times the baseline. Where they agree, but clocks fell in some, it is
// `unsteady`, not compared. Cases are compared by package, name and data: the variant that is
// chosen may change.
CheckResult check_against(const Report& baseline, const std::vector<Report>& repeats,
                          double tolerance = 0.10);

// Operator ids and cases.
using CaseNames = std::vector<std::pair<std::string, std::string>>;
using MeasureCases = std::function<Result<Report>(const CaseNames&)>;

// The same with up to `kCheckRounds` rounds of measurements of its own. A repeat within the
// tolerance decides for its case, so each round is only of the cases that all rounds before call
// slower. What all rounds call slower is measured in as many rounds once more, which decide: a
// busy minute can hit all rounds of one case.
inline constexpr int kCheckRounds = 3;
Result<CheckResult> check_in_rounds(const Report& baseline, const MeasureCases& measure,
                                    double tolerance = 0.10);

// "N cases compared, ..." after a line for each case that is not well.
std::string to_text(const CheckResult& result);
Json to_json(const CheckResult& result);

// A baseline of repeats: of each case the repeat that cost most, so that what varies from run to
// run is no slow-down, of those with steady clocks; `old` measurements of cases that were not
// measured now, or in no repeat with steady clocks, are kept.
Report make_baseline(const std::vector<Report>& repeats, const Report& old);

// File name of the baseline of a device kind: "nvidia-h200.json", "llvmpipe-llvm-21.json"; from the
// adapter's name, without versions in brackets.
std::string device_kind(const Context& context);

}  // namespace wgk::bench
