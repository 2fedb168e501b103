// SPDX-License-Identifier: Apache-2.0
// One call on its way through the steps of planning. Shared by plan(), explain() and the planner
// with its caches.
#pragma once

#include <memory>
#include <vector>

#include "plan/caps.h"
#include "plan/contract_rules.h"
#include "plan/make.h"
#include "plan/select.h"
#include "wgk/plan.h"

namespace wgk::planning {

// What depends on package and device only.
struct Site {
  Site(const package::Package& package, const DeviceCaps& device_caps,
       const PlanOptions& plan_options, RenderCache& texts)
      : index(package),
        caps(device_caps),
        sizes(device_caps),
        device(device_caps),
        matrix_configs(usable_matrix_configs(device_caps)),
        max_storage_buffers(device_caps.limit("maxStorageBuffersPerShaderStage").value_or(0)),
        max_uniform_buffers(device_caps.limit("maxUniformBuffersPerShaderStage").value_or(0)),
        options(plan_options),
        cache(texts),
        limits{.max_steps = cost().steps,
               .max_depth = cost().depth,
               .max_output = cost().output_bytes} {
    find_fixed();
  }

  // What a plan may cost.
  const Limits& cost() const { return options.limits ? *options.limits : index.package->limits; }

  PackageIndex index;
  const DeviceCaps& caps;
  SizeLimits sizes;
  DeviceNames device;
  std::vector<SubgroupMatrixConfig> matrix_configs;
  double max_storage_buffers, max_uniform_buffers;
  const PlanOptions& options;
  RenderCache& cache;
  expr::Limits limits;
  // What does not depend on the request, as long as it gives no tunables.
  KnownValues fixed_derives;
  std::vector<ClauseValues::Outcome> fixed_clauses;

 private:
  void find_fixed();
};

class Session {
 public:
  // Checks the request, infers outputs, evaluates the manifest's derives and the contract.
  Session(const Site& site, const Request& request);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // All that is wrong with the request, in a fixed order; empty when it can be planned.
  const std::vector<Error>& violations() const { return violations_; }
  const std::vector<std::string>& notes() const { return notes_; }

  // Judges variants; `all` and `reasons` as in select().
  Selection judge_all(bool all, bool reasons) const;
  // The variant to use, the forced one if there is one, or why there is none.
  Result<const package::Variant*> choose() const;
  // As at the beginning, for an explanation, which judges more than a plan.
  void renew_allowance() const;
  Result<Plan> make(const package::Variant& variant) const;
  // An expression of somebody else's (benchmark cases) in the scope of the manifest's derives.
  Result<expr::Value> evaluate(const expr::Rule& rule) const {
    return rule.evaluate(level_.scope(), limits_);
  }

 private:
  SelectContext select_context() const;
  MakeContext make_context() const;
  void append(std::vector<Error> errors);

  const Site& site_;
  // Of this call; a session belongs to one thread.
  mutable expr::Allowance allowance_, reason_allowance_;
  const expr::Limits limits_, reason_limits_;  // with those allowances
  Checked checked_;
  std::vector<Error> violations_;
  std::vector<std::string> notes_;
  RequestScope scope_;
  DeriveLevel level_;
  mutable ClauseValues clauses_;
};

// Violations that depend on the contents of host tensors.
std::vector<Error> check_contents(const Site& site, const Request& request);

}  // namespace wgk::planning
