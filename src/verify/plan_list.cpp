// SPDX-License-Identifier: Apache-2.0
#include "verify/plan_list.h"

#include "base/digest.h"
#include "json/json.h"
#include "verify/expected.h"

namespace wgk::verify {
namespace {

// Errors have several lines.
std::string on_one_line(std::string text) {
  for (char& c : text) {
    if (c == '\n') c = ' ';
  }
  return text;
}

std::string digest_or_error(const Planner& planner, const Request& request) {
  const auto plan = planner.plan(request);
  if (!plan) return on_one_line(plan.error().to_string());
  return plan_digest(**plan);
}

}  // namespace

std::string plan_digest(const Plan& plan) {
  return digest128(json::write(plan.to_json(false))).hex();
}

void list_plans(const std::shared_ptr<const package::Package>& package,
                const std::vector<package::TestCase>& cases, const DeviceCaps& caps,
                const RunOptions& options, const std::function<void(const std::string&)>& line) {
  const Planner planner(package, caps);
  for (const package::TestCase& test : cases) {
    if (!options.case_pattern.empty() && !matches_glob(options.case_pattern, test.name)) continue;
    if (test.skip_gpu) {
      line(test.name + " skipped");
      continue;
    }
    const auto call = make_call(*package, test);
    if (!call) {
      line(test.name + " " + on_one_line(call.error().to_string()));
      continue;
    }
    Request request = make_request(*call);
    const bool each = options.all_variants || !options.variant.empty();
    if (test.error || !each) {
      line(test.name + " " + digest_or_error(planner, request));
      continue;
    }
    for (const VariantDecision& decision : planner.explain(request).decisions) {
      if (!options.variant.empty() && decision.id != options.variant) continue;
      if (!is_accepted(decision)) continue;
      request.variant = decision.id;
      line(test.name + " " + decision.id + (decision.verdict == "selected" ? " selected " : " ") +
           digest_or_error(planner, request));
    }
  }
}

}  // namespace wgk::verify
