// SPDX-License-Identifier: Apache-2.0
// A kernel's caches: the planner and, per plan, pipelines and the buffers of finished calls.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "gpu/executor.h"
#include "gpu/pipelines.h"
#include "runtime/state.h"
#include "wgk/kernel.h"

namespace wgk {

// The buffers and bind groups of one call, kept for the next equal one. Busy while anybody holds
// the lease.
struct CallSlot {
  std::shared_ptr<gpu::Bound> bound;
  bool staging = false;
  std::vector<bool> ours;  // per tensor: made by the call
  std::weak_ptr<void> lease;
  bool busy() const { return !lease.expired(); }
  bool stale() const;
  bool fits(const std::vector<gpu::Slice>& given, bool with_staging) const;
};

// One plan on one device.
class PlanEntry : public std::enable_shared_from_this<PlanEntry> {
 public:
  PlanEntry(SessionRef session, std::shared_ptr<const Plan> plan)
      : session_(std::move(session)), plan_(std::move(plan)) {}

  const SessionRef& session() const { return session_; }
  const std::shared_ptr<const Plan>& plan() const { return plan_; }

  // The pipelines, started or asked again. Whoever needs them first finishes them.
  Status start();
  Result<bool> ready();
  // Waits for the pipelines alone: nothing that only a call needs is made.
  Status build(std::optional<std::chrono::nanoseconds> timeout);
  Result<std::shared_ptr<const gpu::Prepared>> finish(
      std::optional<std::chrono::nanoseconds> timeout = {});

  // A call's buffers: `given` has the caller's tensors, the other places are filled. `fresh` tells
  // which of those are new or hold old results. The slot counts as busy until the lease goes.
  struct Placed {
    std::shared_ptr<gpu::Bound> bound;
    std::shared_ptr<void> lease;
    std::vector<bool> dirty;  // per tensor: a buffer of ours with somebody's old bytes
  };
  Result<Placed> place(const std::vector<gpu::Slice>& given, bool staging);
  // Gives up what no call uses; or only what none can ever use again, because a tensor of the
  // caller's is gone.
  void drop(bool stale_only);

 private:
  using Slots = std::list<CallSlot>;
  struct Lease;
  Status start_locked();
  void remember();
  std::shared_ptr<void> make_lease();
  Result<Placed> place_new(const std::shared_ptr<const gpu::Prepared>& prepared,
                           const std::vector<gpu::Slice>& given, bool staging, CallSlot& slot);

  SessionRef session_;
  std::shared_ptr<const Plan> plan_;
  // One thread makes what the plan needs. Making it may ask for idle buffers, so for drop().
  std::mutex making_;
  std::mutex mutex_;
  std::optional<gpu::Pipelines::Pending> pending_;
  std::shared_ptr<const gpu::Prepared> prepared_;
  bool remembered_ = false;
  Slots slots_;  // most recently used first
};
using PlanEntryRef = std::shared_ptr<PlanEntry>;

// A kernel on one session.
struct KernelSession {
  SessionRef session;
  Planner planner;
};

struct Kernel::Impl : IdleHolder {
  Impl(RuntimeRef on, Package of) : runtime(std::move(on)), package(std::move(of)) {}

  RuntimeRef runtime;
  Package package;

  // For the runtime's device of now; made on demand.
  std::shared_ptr<const KernelSession> at(const SessionRef& session) const;
  Result<PlanEntryRef> entry(const KernelSession& kernel, const Request& request) const;
  PlanEntryRef entry(const KernelSession& kernel, const std::shared_ptr<const Plan>& plan) const;
  void drop(bool stale_only) override;

  mutable std::mutex mutex;
  mutable std::shared_ptr<const KernelSession> current;
  // By identity: the planner gives the same object for equal requests.
  mutable std::map<const Plan*, PlanEntryRef> entries;
};
using KernelRef = std::shared_ptr<const Kernel::Impl>;

// What a call looks like to the planner. Errors: "usage/foreign", "device/lost".
struct CallRequest {
  Request request;
  // Device tensors and destinations by the name the caller used.
  std::vector<std::pair<std::string, gpu::Slice>> placed;
};
Result<CallRequest> make_request(const Inputs& inputs, const CallOptions& options,
                                 const SessionRef& session);
// The plan; with staging, inputs that share a buffer with what is written count as copies.
Result<std::shared_ptr<const Plan>> plan_call(const KernelSession& kernel, CallRequest& call,
                                              bool staging);
// The place of a port in the plan, by bind key or upstream name.
std::optional<std::size_t> find_tensor(const Plan& plan, const Package& package,
                                       std::string_view name);

// Everything of a call that needs no device; errors name the kernel.
Result<Future<CallResult>> start_call(const KernelRef& kernel, const Inputs& inputs,
                                      const CallOptions& options);

MemoryNeeds memory_of(const Plan& plan, const Session& session);
Result<Prepared> make_prepared(const KernelRef& kernel, const PlanEntryRef& entry,
                               const Request& request);

struct Arena::Impl {
  SessionRef session;
  std::vector<gpu::BufferRef> buffers;  // largest first
};

// The arena's buffers in the places of the plan's scratch; what stays zero between runs is never
// one of them. Errors: "usage/range", "usage/foreign".
Result<std::vector<gpu::BufferRef>> scratch_from(const Arena::Impl& arena, const Plan& plan,
                                                 const SessionRef& session);

struct Prepared::Impl {
  KernelRef kernel;
  PlanEntryRef entry;
  std::shared_ptr<const gpu::Prepared> prepared;
  Request request;
};

struct Bound::Impl {
  std::shared_ptr<const Prepared::Impl> prepared;
  std::shared_ptr<gpu::Bound> bound;
  BindOptions options;
  std::vector<Tensor> tensors;  // in the order of the plan; kept alive
};

}  // namespace wgk
