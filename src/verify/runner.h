// SPDX-License-Identifier: Apache-2.0
// Runs the cases of test.json and says what came out.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "package/cases.h"
#include "package/package.h"
#include "verify/engine.h"
#include "wgk/error.h"
#include "wgk/json.h"
#include "wgk/plan.h"

namespace wgk::verify {

enum class Verdict { kPassed, kFailed, kSkipped };
std::string_view name(Verdict verdict);

// One case on one variant.
struct CaseResult {
  std::string package, name, variant, adapter;
  Verdict verdict = Verdict::kPassed;
  std::string message;  // why it failed or was skipped
  // The largest error over all outputs, as a multiple of the tolerance; nothing when there was
  // nothing to compare.
  std::optional<double> error;
  std::string output;  // where it is
  std::size_t index = 0;
  double wanted = 0, got = 0;
  std::string command;  // runs just this case again
};

struct Totals {
  std::size_t passed = 0, failed = 0, skipped = 0;
};

struct RunOptions {
  std::string case_pattern;   // a glob with '*' and '?'; empty: all
  std::string variant;        // only this one; cases it does not fit are skipped
  bool all_variants = false;  // each case on every variant that accepts it
  bool repeat = true;         // run twice and compare the bits
  std::string place;          // the package as the user wrote it, for `command`
  std::string cases_file;     // --cases, for `command`
  std::string device;         // --device, for `command`
};

// Calls `done` after each case and variant, in order.
Totals run_cases(const std::shared_ptr<const package::Package>& package,
                 const std::vector<package::TestCase>& cases, Engine& engine,
                 const RunOptions& options, const std::function<void(const CaseResult&)>& done);

Json to_json(const CaseResult& result);
// "3 passed, 1 failed, 0 skipped"
std::string summary(const Totals& totals);

// Whether a variant can run: selected, or behind the selected one.
bool is_accepted(const VariantDecision& decision);
bool matches_glob(std::string_view pattern, std::string_view text);

}  // namespace wgk::verify
