// SPDX-License-Identifier: Apache-2.0
#include "plan/select.h"

#include <algorithm>
#include <utility>

#include "base/number.h"
#include "base/text.h"

namespace wgk::planning {
namespace {

using package::Variant;
using Outcome = ClauseValues::Outcome;

bool came_true(const expr::Value& value) { return value.if_bool() != nullptr && *value.if_bool(); }

bool matches(const package::MatrixPattern& pattern, const SubgroupMatrixConfig& config) {
  return (!pattern.component_type || *pattern.component_type == config.component_type) &&
         (!pattern.result_component_type ||
          *pattern.result_component_type == config.result_component_type) &&
         (!pattern.m || *pattern.m == config.m) && (!pattern.n || *pattern.n == config.n) &&
         (!pattern.k || *pattern.k == config.k);
}

std::string pattern_text(const package::MatrixPattern& pattern) {
  std::string text = pattern.component_type.value_or("any type");
  if (pattern.result_component_type) text += " to " + *pattern.result_component_type;
  if (!pattern.m && !pattern.n && !pattern.k) return text;
  const auto size = [](const std::optional<int>& value) {
    return value ? std::to_string(*value) : std::string("?");
  };
  return text + " " + size(pattern.m) + "x" + size(pattern.n) + "x" + size(pattern.k);
}

std::string quoted_clause(const std::string& clause) {
  constexpr std::size_t kShown = 400;
  return quoted(shortened(clause, kShown));
}

class Judge {
 public:
  Judge(const SelectContext& context, bool reasons) : context_(context), reasons_(reasons) {}

  Decision judge(std::size_t at, const Selection* earlier) const {
    const Variant& variant = context_.index.manifest().variants[at];
    Decision decision;
    const bool fits = check_off(variant, decision) && check_requires(variant, decision) &&
                      check_bindings(at, decision) && check_when(at, decision) &&
                      (earlier == nullptr || check_superseded(at, *earlier, decision)) &&
                      check_broken(variant, decision);
    if (fits) check_demotion(at, decision);
    return decision;
  }

 private:
  template <class Reason>
  bool refuse(Decision& decision, Verdict verdict, Reason reason) const {
    decision.verdict = verdict;
    if (reasons_) decision.reason = reason();
    return false;
  }

  // Variants that are known to go wrong on this driver.
  bool check_off(const Variant& variant, Decision& decision) const {
    const auto covers = [](std::string_view pattern, std::string_view name) {
      return pattern.ends_with('*') ? name.starts_with(pattern.substr(0, pattern.size() - 1))
                                    : pattern == name;
    };
    for (const VariantOff& off : context_.caps.variants_off) {
      if (!covers(off.variant, variant.id) || !covers(off.op_id, context_.index.manifest().op_id()))
        continue;
      return refuse(decision, Verdict::kBroken,
                    [&] { return "off on this device: " + off.reason; });
    }
    return true;
  }

  bool check_requires(const Variant& variant, Decision& decision) const {
    const package::Requires& needs = variant.requirements;
    for (const std::string& feature : needs.features) {
      if (context_.caps.has_feature(feature)) continue;
      return refuse(decision, Verdict::kRequires, [&] {
        return "needs feature " + quoted(feature) + ", which the device lacks";
      });
    }
    for (const auto& [name, needed] : needs.limits) {
      const auto given = context_.caps.limit(name);
      if (given && *given >= needed) continue;
      return refuse(decision, Verdict::kRequires, [&] {
        return "needs limit " + quoted(name) + " of " + number_text(needed) + "; the device " +
               (given ? "has " + number_text(*given) : "does not report it");
      });
    }
    if (needs.subgroup_min_size &&
        context_.caps.subgroup_min_size.value_or(0) < *needs.subgroup_min_size) {
      return refuse(decision, Verdict::kRequires, [&] {
        const auto& given = context_.caps.subgroup_min_size;
        return "needs subgroups of at least " + std::to_string(*needs.subgroup_min_size) +
               "; the device " +
               (given ? "has " + std::to_string(*given) : "reports no subgroup size");
      });
    }
    return check_matrices(needs, decision);
  }

  bool check_matrices(const package::Requires& needs, Decision& decision) const {
    if (needs.matrix_configs.empty() || !context_.caps.subgroup_matrix_configs) return true;
    for (const package::MatrixPattern& pattern : needs.matrix_configs) {
      for (const SubgroupMatrixConfig& config : context_.matrix_configs) {
        if (matches(pattern, config)) return true;
      }
    }
    return refuse(decision, Verdict::kRequires, [&] {
      std::string wanted;
      for (const auto& pattern : needs.matrix_configs)
        wanted += (wanted.empty() ? "" : ", or ") + pattern_text(pattern);
      return "needs subgroup matrices " + wanted + ", which the device does not offer";
    });
  }

  bool check_bindings(std::size_t at, Decision& decision) const {
    const VariantIndex& counts = context_.index.variants[at];
    const auto fits = [&](std::size_t needed, double given, std::string_view kind,
                          std::string_view limit) {
      if (static_cast<double>(needed) <= given) return true;
      return refuse(decision, Verdict::kBindings, [&] {
        return "a pass binds " + std::to_string(needed) + " " + std::string(kind) + " buffers; " +
               quoted(limit) + " is " + number_text(given);
      });
    };
    return fits(counts.storage_bindings, context_.max_storage_buffers, "storage",
                "maxStorageBuffersPerShaderStage") &&
           fits(counts.uniform_bindings, context_.max_uniform_buffers, "uniform",
                "maxUniformBuffersPerShaderStage");
  }

  bool check_when(std::size_t at, Decision& decision) const {
    ClauseValues& clauses = context_.clauses;
    for (const std::size_t clause : context_.index.variants[at].when) {
      const Outcome outcome = clauses[clause];
      if (outcome == Outcome::kTrue) continue;
      if (outcome == Outcome::kError) {
        return refuse(decision, Verdict::kError, [&] {
          return "clause " + quoted_clause(clauses.text(clause)) +
                 " fails: " + clauses.failure_of(clause);
        });
      }
      return refuse(decision, Verdict::kWhen, [&] { return clauses.why_not_true(clause); });
    }
    return true;
  }

  bool check_superseded(std::size_t at, const Selection& earlier, Decision& decision) const {
    for (const std::size_t better : context_.index.variants[at].superseded_by) {
      const auto& known = earlier.decisions[better];
      if (!known || known->verdict != Verdict::kEligible) continue;
      return refuse(decision, Verdict::kSuperseded, [&] {
        return "superseded by " + quoted(context_.index.manifest().variants[better].id) +
               ", which fits";
      });
    }
    return true;
  }

  bool check_broken(const Variant& variant, Decision& decision) const {
    for (const std::string& construct : context_.caps.wgsl_compile_failures) {
      if (!context_.rendered_has || !context_.rendered_has(variant, construct)) continue;
      return refuse(decision, Verdict::kBroken, [&] {
        return "its shader uses " + quoted(construct) + ", which this device does not compile";
      });
    }
    return true;
  }

  void check_demotion(std::size_t at, Decision& decision) const {
    ClauseValues& clauses = context_.clauses;
    for (const std::size_t clause : context_.index.variants[at].demote_when) {
      const Outcome outcome = clauses[clause];
      if (outcome == Outcome::kError) {
        refuse(decision, Verdict::kDemoteError, [&] {
          return "demoting clause " + quoted_clause(clauses.text(clause)) +
                 " fails: " + clauses.failure_of(clause);
        });
        return;
      }
      if (outcome == Outcome::kTrue) {
        refuse(decision, Verdict::kDemoted, [&] {
          return "fall-back only: " + quoted_clause(clauses.text(clause)) + " is true";
        });
        return;
      }
    }
  }

  const SelectContext& context_;
  bool reasons_;
};

}  // namespace

ClauseValues::Outcome ClauseValues::operator[](std::size_t clause) {
  Outcome& outcome = known_[clause];
  if (outcome != Outcome::kUnknown) return outcome;
  const auto value = index_.clauses[clause]->evaluate(scope_, limits_);
  outcome = !value ? Outcome::kError : came_true(*value) ? Outcome::kTrue : Outcome::kOther;
  return outcome;
}

std::string ClauseValues::failure_of(std::size_t clause) const {
  const auto value = index_.clauses[clause]->evaluate(scope_, reason_limits_);
  return value ? std::string() : value.error().message;
}

std::string ClauseValues::why_not_true(std::size_t clause) const {
  return index_.clauses[clause]->explain_not_true(scope_, reason_limits_);
}

std::string_view text(Verdict verdict) {
  switch (verdict) {
    case Verdict::kEligible: return "eligible";
    case Verdict::kDemoted: return "demoted";
    case Verdict::kRequires: return "requires";
    case Verdict::kBindings: return "bindings";
    case Verdict::kWhen: return "when";
    case Verdict::kError: return "error";
    case Verdict::kSuperseded: return "superseded";
    case Verdict::kBroken: return "broken";
    case Verdict::kDemoteError: break;
  }
  return "demote-error";
}

Selection select(const SelectContext& context, bool all, bool reasons) {
  const Judge judge(context, reasons);
  Selection selection;
  selection.decisions.resize(context.index.variants.size());
  std::optional<std::size_t> fall_back;
  for (const std::size_t at : context.index.order) {
    const Decision& decision = selection.decisions[at].emplace(judge.judge(at, &selection));
    if (decision.verdict == Verdict::kDemoted && !fall_back) fall_back = at;
    if (decision.verdict != Verdict::kEligible || selection.selected) continue;
    selection.selected = at;
    if (!all) return selection;
  }
  if (!selection.selected) selection.selected = fall_back;
  return selection;
}

Decision judge(const SelectContext& context, std::size_t variant) {
  return Judge(context, true).judge(variant, nullptr);
}

Error no_variant(const PackageIndex& index, const Selection& selection) {
  std::string message = "no variant of " + index.manifest().op_id() + " fits: ";
  for (std::size_t i = 0; i < selection.decisions.size(); ++i) {
    const auto& decision = selection.decisions[i];
    message += (i == 0 ? "" : "; ") + index.manifest().variants[i].id + ": " +
               (decision ? decision->reason : "not judged");
  }
  return Error{"select/none", std::move(message)};
}

}  // namespace wgk::planning
