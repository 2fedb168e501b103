// SPDX-License-Identifier: Apache-2.0
// Compiling ahead: what a list of calls needs, or what the cache folder remembers.
#include <format>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "gpu/wait.h"
#include "runtime/kernel_impl.h"
#include "runtime/polled_state.h"
#include "wgk/runtime.h"

namespace wgk {
namespace {

class PrewarmState : public PolledState<void> {
 public:
  PrewarmState(RuntimeRef runtime, std::vector<PlanEntryRef> entries)
      : PolledState(std::move(runtime)), entries_(std::move(entries)) {}
  Result<bool> poll() override {
    for (const PlanEntryRef& entry : entries_) {
      auto ready = entry->ready();
      if (!ready || !*ready) return ready;
    }
    return true;
  }
  Result<void> finish(std::optional<std::chrono::nanoseconds> timeout) override {
    if (cancelled()) return failure("usage/cancelled", "prewarming was cancelled");
    const gpu::Deadline deadline(timeout);
    for (; next_ < entries_.size(); ++next_) {
      auto built = entries_[next_]->build(deadline.left());
      if (built) continue;
      if (gpu::not_ready(built.error())) return built;
      if (result_) {
        result_ = std::move(built);
      } else {
        result_.error().others.push_back(std::move(built.error()));
      }
    }
    return result_;
  }

 private:
  std::vector<PlanEntryRef> entries_;
  std::size_t next_ = 0;  // the first that nobody has waited for to the end
  Result<void> result_;
};

// Every remembered text on its own: one that no longer compiles does not spoil the others.
class RememberedState : public PolledState<std::size_t> {
 public:
  RememberedState(RuntimeRef runtime, std::vector<gpu::Pipelines::Pending> pending)
      : PolledState(std::move(runtime)), pending_(std::move(pending)) {}
  Result<bool> poll() override {
    for (gpu::Pipelines::Pending& pending : pending_) {
      auto ready = pending.ready();
      if (!ready || !*ready) return ready;
    }
    return true;
  }
  Result<std::size_t> finish(std::optional<std::chrono::nanoseconds> timeout) override {
    if (cancelled()) return failure("usage/cancelled", "prewarming was cancelled");
    const gpu::Deadline deadline(timeout);
    for (; next_ < pending_.size(); ++next_) {
      auto pipelines = pending_[next_].get(deadline.left());
      if (!pipelines && gpu::not_ready(pipelines.error()))
        return std::unexpected(std::move(pipelines.error()));
      built_ += pipelines ? 1 : 0;
    }
    return built_;
  }

 private:
  std::vector<gpu::Pipelines::Pending> pending_;
  std::size_t next_ = 0, built_ = 0;
};

}  // namespace

Result<Future<void>> Runtime::prewarm(std::span<const Prewarm> calls) const {
  auto session = impl_->live_session();
  if (!session) return std::unexpected(std::move(session.error()));
  std::vector<PlanEntryRef> entries;
  for (const Prewarm& call : calls) {
    const KernelRef& kernel = call.kernel.impl();
    if (!kernel || kernel->runtime != impl_)
      return failure("usage/foreign", "a kernel to prewarm belongs to another runtime");
    auto entry = kernel->entry(*kernel->at(*session), request_of(call.signature));
    if (!entry)
      return std::unexpected(
          std::move(entry.error()).during(std::format("prewarming {}", call.kernel.op_id())));
    if (auto status = (*entry)->start(); !status) return std::unexpected(std::move(status.error()));
    entries.push_back(std::move(*entry));
  }
  return Future<void>(std::make_shared<PrewarmState>(impl_, std::move(entries)));
}

Result<Future<std::size_t>> Runtime::prewarm_remembered() const {
  auto session = impl_->live_session();
  if (!session) return std::unexpected(std::move(session.error()));
  std::vector<gpu::Pipelines::Pending> pending;
  if ((*session)->cache) {
    for (const PlanPass& pass : (*session)->cache->remembered()) {
      const PlanPass* const one[] = {&pass};
      auto started = (*session)->context.pipelines->start(one);
      if (!started) return std::unexpected(std::move(started.error()));
      pending.push_back(std::move(*started));
    }
  }
  return Future<std::size_t>(std::make_shared<RememberedState>(impl_, std::move(pending)));
}

}  // namespace wgk
