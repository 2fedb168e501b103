// SPDX-License-Identifier: Apache-2.0
// Plans of known requests.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <shared_mutex>
#include <unordered_map>

#include "plan/session.h"
#include "wgk/plan.h"

namespace wgk::planning {

Result<Plan> plan_on(const Site& site, const Request& request);
Explanation explain_on(const Site& site, const Request& request);

// A hash of all that a plan depends on: values of tensors and identities of buffers are left out,
// equality of buffers is not.
std::uint64_t signature_hash(const Request& request);
// Whether two requests have the same signature.
bool same_signature(const Request& a, const Request& b);
// A copy that keeps no view of the caller's memory.
Request signature_of(const Request& request);

class PlanCache {
 public:
  std::shared_ptr<const Plan> find(const Request& request, std::uint64_t hash) const;
  // Gives back the plan that is kept: the first one of a signature.
  std::shared_ptr<const Plan> insert(const Request& request, std::uint64_t hash, Plan plan);

 private:
  struct Entry {
    Request request;
    std::shared_ptr<const Plan> plan;
  };
  mutable std::shared_mutex mutex_;
  std::unordered_multimap<std::uint64_t, Entry> entries_;
};

}  // namespace wgk::planning
