// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "gpu/shaders.h"
#include "gpu/wait.h"
#include "runtime/kernel_impl.h"

namespace wgk {
namespace {

constexpr std::size_t kMaxSlots = 8;

bool same(const gpu::Slice& a, const gpu::Slice& b) {
  return a.buffer->id() == b.buffer->id() && a.offset == b.offset && a.size == b.size;
}

}  // namespace

// A buffer of the caller's that only this slot still knows can never be passed again.
bool CallSlot::stale() const {
  const std::vector<gpu::Slice>& tensors = bound->tensors();
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (!ours[i] && tensors[i].buffer.use_count() == bound->references(tensors[i].buffer.get()))
      return true;
    if (ours[i] && !tensors[i].buffer->reusable()) return true;
  }
  return false;
}

bool CallSlot::fits(const std::vector<gpu::Slice>& given, bool with_staging) const {
  if (staging != with_staging) return false;
  const std::vector<gpu::Slice>& tensors = bound->tensors();
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (ours[i] != (given[i].buffer == nullptr)) return false;
    if (ours[i] ? !tensors[i].buffer->reusable() : !same(tensors[i], given[i])) return false;
  }
  return true;
}

// The end of a call may be the end of its slot: the caller's tensors can be gone by now.
struct PlanEntry::Lease {
  std::weak_ptr<PlanEntry> entry;
  explicit Lease(std::weak_ptr<PlanEntry> of) : entry(std::move(of)) {}
  ~Lease() {
    if (const auto on = entry.lock()) on->drop(true);
  }
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;
};

std::shared_ptr<void> PlanEntry::make_lease() { return std::make_shared<Lease>(weak_from_this()); }

Status PlanEntry::start() {
  const std::lock_guard lock(mutex_);
  return start_locked();
}

Status PlanEntry::start_locked() {
  if (prepared_ || pending_) return {};
  std::vector<const PlanPass*> passes;
  for (const PlanPass& pass : plan_->passes) passes.push_back(&pass);
  if (gpu::needs_clear(*plan_)) passes.push_back(&gpu::clear_pass());
  auto pending = session_->context.pipelines->start(passes);
  if (!pending) return std::unexpected(std::move(pending.error()));
  pending_ = std::move(*pending);
  return {};
}

Result<bool> PlanEntry::ready() {
  std::optional<gpu::Pipelines::Pending> pending;
  {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock.owns_lock()) return false;
    if (prepared_) return true;
    pending = pending_;
  }
  return pending ? pending->ready() : Result<bool>(true);
}

// Waits without the lock: start() and ready() never wait, whatever other threads do.
Status PlanEntry::build(std::optional<std::chrono::nanoseconds> timeout) {
  std::optional<gpu::Pipelines::Pending> pending;
  {
    const std::lock_guard lock(mutex_);
    if (auto status = start_locked(); !status) return status;
    pending = pending_;
  }
  if (!pending) return {};
  auto pipelines = pending->get(timeout);
  if (!pipelines && gpu::not_ready(pipelines.error()))
    return std::unexpected(std::move(pipelines.error()));
  {
    const std::lock_guard lock(mutex_);
    pending_.reset();
  }
  if (!pipelines) return std::unexpected(std::move(pipelines.error()));
  remember();
  return {};
}

// Writes files: without the lock.
void PlanEntry::remember() {
  if (!session_->cache) return;
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(remembered_, true)) return;
  }
  for (const PlanPass& pass : plan_->passes) session_->cache->remember(pass);
}

Result<std::shared_ptr<const gpu::Prepared>> PlanEntry::finish(
    std::optional<std::chrono::nanoseconds> timeout) {
  bool started = false;
  {
    const std::lock_guard lock(mutex_);
    if (prepared_) return prepared_;
    started = pending_.has_value();
  }
  if (started) {
    if (auto status = build(timeout); !status) return std::unexpected(std::move(status.error()));
  }
  const std::lock_guard making(making_);
  {
    const std::lock_guard lock(mutex_);
    if (prepared_) return prepared_;
  }
  auto prepared = gpu::Prepared::make(session_->context, plan_);
  {
    const std::lock_guard lock(mutex_);
    pending_.reset();
    if (!prepared) return std::unexpected(std::move(prepared.error()));
    prepared_ = *prepared;
  }
  remember();
  return std::move(*prepared);
}

Result<PlanEntry::Placed> PlanEntry::place_new(const std::shared_ptr<const gpu::Prepared>& prepared,
                                               const std::vector<gpu::Slice>& given, bool staging,
                                               CallSlot& slot) {
  Placed placed;
  std::vector<gpu::Slice> tensors = given;
  slot.staging = staging;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    slot.ours.push_back(tensors[i].buffer == nullptr);
    placed.dirty.push_back(false);
    if (!slot.ours[i]) continue;
    const PlanTensor& tensor = plan_->tensors[i];
    auto made =
        session_->context.memory->allocate(tensor.buffer_size, gpu::kTensorUsage, tensor.port);
    if (!made) return std::unexpected(std::move(made.error()));
    placed.dirty[i] = made->dirty;
    tensors[i] = {std::move(made->buffer), 0, tensor.buffer_size};
  }
  auto bound = gpu::Bound::make(prepared, std::move(tensors), {.staging = staging});
  if (!bound) return std::unexpected(std::move(bound.error()));
  placed.bound = slot.bound = std::move(*bound);
  return placed;
}

Result<PlanEntry::Placed> PlanEntry::place(const std::vector<gpu::Slice>& given, bool staging) {
  auto prepared = finish();
  if (!prepared) return std::unexpected(std::move(prepared.error()));
  Slots dropped;  // goes after the lock, and so does the lease: its end takes the lock
  std::shared_ptr<void> lease = make_lease();
  {
    const std::lock_guard lock(mutex_);
    for (auto slot = slots_.begin(); slot != slots_.end(); ++slot) {
      if (slot->busy() || !slot->fits(given, staging)) continue;
      Placed placed{slot->bound, nullptr, slot->ours};
      slot->lease = lease;
      placed.lease = std::move(lease);
      slots_.splice(slots_.begin(), slots_, slot);
      return placed;
    }
    for (auto slot = slots_.begin(); slot != slots_.end();) {
      const auto next = std::next(slot);
      if (!slot->busy() && slot->stale()) dropped.splice(dropped.end(), slots_, slot);
      slot = next;
    }
  }
  dropped.clear();
  CallSlot slot;
  auto placed = place_new(*prepared, given, staging, slot);
  if (!placed) return placed;
  slot.lease = placed->lease = std::move(lease);
  const std::lock_guard lock(mutex_);
  slots_.push_front(std::move(slot));
  for (auto last = slots_.end(); slots_.size() > kMaxSlots && last != slots_.begin();) {
    --last;
    if (last->busy()) continue;
    const auto next = std::next(last);
    dropped.splice(dropped.end(), slots_, last);
    last = next;
  }
  return placed;
}

void PlanEntry::drop(bool stale_only) {
  Slots dropped;  // goes after the lock
  {
    const std::lock_guard lock(mutex_);
    for (auto slot = slots_.begin(); slot != slots_.end();) {
      const auto next = std::next(slot);
      if (!slot->busy() && (!stale_only || slot->stale()))
        dropped.splice(dropped.end(), slots_, slot);
      slot = next;
    }
  }
  dropped.clear();
  if (stale_only) return;
  // Scratch, and with nobody left who runs the plan its uniforms: the pipelines stay known.
  std::shared_ptr<const gpu::Prepared> prepared;
  {
    const std::lock_guard lock(mutex_);
    remembered_ = false;
    if (prepared_.use_count() == 1) {
      prepared = std::move(prepared_);
    } else {
      prepared = prepared_;
    }
  }
  if (prepared) prepared->drop_scratch();
}

}  // namespace wgk
