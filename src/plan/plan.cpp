// SPDX-License-Identifier: Apache-2.0
#include "wgk/plan.h"

#include <utility>

#include "base/try.h"
#include "plan/planner.h"
#include "plan/session.h"

namespace wgk {
namespace planning {

Result<Plan> plan_on(const Site& site, const Request& request) {
  const Session session(site, request);
  if (!session.violations().empty()) return std::unexpected(merged(session.violations()));
  WGK_ASSIGN(const package::Variant* variant, session.choose());
  return session.make(*variant);
}

Explanation explain_on(const Site& site, const Request& request) {
  Explanation explanation;
  const Session session(site, request);
  Result<const package::Variant*> chosen = nullptr;
  if (session.violations().empty()) chosen = session.choose();
  session.renew_allowance();
  const Selection selection = session.judge_all(true, true);
  const auto& variants = site.index.manifest().variants;
  for (std::size_t i = 0; i < variants.size(); ++i) {
    const Decision decision = selection.decisions[i].value_or(Decision{});
    explanation.decisions.push_back({variants[i].id, variants[i].priority,
                                     std::string(text(decision.verdict)), decision.reason});
  }
  explanation.notes = session.notes();
  if (!session.violations().empty()) {
    explanation.error = merged(session.violations());
    return explanation;
  }
  if (!chosen) {
    explanation.error = chosen.error();
    return explanation;
  }
  explanation.selected = (*chosen)->id;
  explanation.decisions[static_cast<std::size_t>(*chosen - variants.data())].verdict = "selected";
  return explanation;
}

}  // namespace planning

Result<Plan> plan(const package::Package& package, const Request& request, const DeviceCaps& caps,
                  const PlanOptions& options) {
  planning::RenderCache texts;
  return planning::plan_on(planning::Site(package, caps, options, texts), request);
}

Explanation explain(const package::Package& package, const Request& request, const DeviceCaps& caps,
                    const PlanOptions& options) {
  planning::RenderCache texts;
  return planning::explain_on(planning::Site(package, caps, options, texts), request);
}

}  // namespace wgk
