// SPDX-License-Identifier: Apache-2.0
#include "plan/session.h"

#include <utility>

#include "base/try.h"
#include "plan/allowance.h"
#include "plan/infer.h"

namespace wgk::planning {
void Site::find_fixed() {
  expr::Allowance allowance = allowance_of(limits);
  const expr::Limits within = sharing(limits, allowance);
  expr::Scope tunables(&expr::helpers());
  tunables.lend("tunables", index.tunables);
  DeriveLevel level(tunables, nullptr, false);
  device.add_to(level.scope());
  const auto& derives = index.manifest().derive;
  fixed_derives.resize(derives.size());
  for (std::size_t i = 0; i < derives.size(); ++i) {
    if (!index.fixed_derives[i]) continue;
    auto value = derives[i].second.evaluate(level.scope(), within);
    if (!value) continue;
    level.set(derives[i].first, *value);
    // Lists and objects are told apart by identity, so each plan has its own.
    if (value->if_array() == nullptr && value->if_object() == nullptr)
      fixed_derives[i] = std::move(*value);
  }
  ClauseValues clauses(index, level.scope(), within, within, {});
  fixed_clauses.resize(index.clauses.size());
  for (std::size_t i = 0; i < fixed_clauses.size(); ++i) {
    if (!index.fixed_clauses[i]) continue;
    const ClauseValues::Outcome outcome = clauses[i];
    if (allowance.used_up()) break;  // the rest is not an error, but not known
    fixed_clauses[i] = outcome;
  }
}

Session::Session(const Site& site, const Request& request)
    : site_(site),
      allowance_(allowance_of(site.limits)),
      reason_allowance_(allowance_),
      limits_(sharing(site.limits, allowance_)),
      reason_limits_(sharing(site.limits, reason_allowance_)),
      checked_(check(site.index, request)),
      scope_(site.index, checked_.bound),
      level_(scope_.scope(), nullptr, site.index.uses_derive_object),
      clauses_(
          site.index, level_.scope(), limits_, reason_limits_,
          request.tunables.empty() ? site.fixed_clauses : std::vector<ClauseValues::Outcome>()) {
  append(std::move(checked_.violations));
  append(check_host_data(site.index, checked_.bound));
  std::vector<Error> not_inferred = infer(site.index, checked_.bound, scope_, limits_);
  scope_.enter_run(site.index, checked_.bound);
  site.device.add_to(level_.scope());
  const bool tuned = !checked_.bound.tunables.empty();
  Status derived = level_.evaluate(site.index.manifest().derive, limits_, true,
                                   tuned ? nullptr : &site.fixed_derives);
  // On an unsound request everything below would only repeat what is known.
  if (!checked_.sound) return;
  const std::size_t before = violations_.size();
  if (const auto& contract = site.index.package->contract) {
    RuleReport report =
        apply_contract(*contract, site.index, checked_.bound, level_.scope(), limits_);
    append(std::move(report.violations));
    notes_ = std::move(report.notes);
  }
  // Where the contract has said what is wrong, failures of shape rules and derives are only its
  // echo.
  if (violations_.size() > before) return;
  append(std::move(not_inferred));
  append(check_tensor_sizes(make_context()));
  if (!derived && violations_.empty()) violations_.push_back(std::move(derived.error()));
}

void Session::append(std::vector<Error> errors) {
  for (Error& error : errors) violations_.push_back(std::move(error));
}

MakeContext Session::make_context() const {
  return {site_.index, checked_.bound, site_.sizes, site_.device,       level_,
          limits_,     site_.options,  site_.cache, site_.cost().passes};
}

SelectContext Session::select_context() const {
  return {site_.index,
          site_.caps,
          site_.matrix_configs,
          site_.max_storage_buffers,
          site_.max_uniform_buffers,
          clauses_,
          [this](const package::Variant& variant, std::string_view construct) {
            return rendered_has(make_context(), variant, construct);
          }};
}

Selection Session::judge_all(bool all, bool reasons) const {
  return select(select_context(), all, reasons);
}

Result<const package::Variant*> Session::choose() const {
  const auto& variants = site_.index.manifest().variants;
  if (const package::Variant* forced = checked_.bound.forced) {
    const Decision decision =
        judge(select_context(), static_cast<std::size_t>(forced - variants.data()));
    if (allowance_.used_up()) return used_up(allowance_);
    if (decision.verdict == Verdict::kEligible || decision.verdict == Verdict::kDemoted)
      return forced;
    return failure("request/variant",
                   "variant " + quoted(forced->id) + " does not fit: " + decision.reason);
  }
  const Selection selection = judge_all(false, false);
  // A clause that could not be paid for counts as failed: nothing may follow from that.
  if (allowance_.used_up()) return used_up(allowance_);
  if (selection.selected) return &variants[*selection.selected];
  return std::unexpected(no_variant(site_.index, judge_all(true, true)));
}

void Session::renew_allowance() const {
  allowance_ = reason_allowance_ = allowance_of(site_.limits);
}

Result<Plan> Session::make(const package::Variant& variant) const {
  return planning::make(make_context(), variant);
}

std::vector<Error> check_contents(const Site& site, const Request& request) {
  const auto& contract = site.index.package->contract;
  if (contract && !contract->values.empty()) {
    const Session session(site, request);
    return session.violations();
  }
  Checked checked = check(site.index, request);
  return check_host_data(site.index, checked.bound);
}

}  // namespace wgk::planning
