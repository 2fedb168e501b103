// SPDX-License-Identifier: Apache-2.0
// Obeys plans: pipelines and uniforms once per plan, bind groups once per set of buffers, then
// commands without any allocation.
#pragma once

#include <webgpu/webgpu.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "gpu/device.h"
#include "gpu/memory.h"
#include "gpu/pipelines.h"
#include "wgk/error.h"
#include "wgk/plan.h"

namespace wgk::gpu {

// Bytes of the one buffer that holds the uniforms of all passes.
std::uint64_t uniform_bytes(const Plan& plan, const WGPULimits& limits);

// Whether the scratch is zero between runs, so that it is cleared only when it is made: the kernel
// says so, and a run is one submission. Of a split one the first part may have run alone.
bool stays_zero(const Plan& plan, const PlanScratch& scratch);

// Whether the scratch is set to zero at every run.
bool cleared_each_run(const Plan& plan, const PlanScratch& scratch);

// Whether the plan has such scratch: then it also needs the pipeline of clear_pass().
bool needs_clear(const Plan& plan);

// "<opId>.<variant>.<instance id>", and the name that the package gave the pass, if it did. The
// plan's own label has one of the two, and the same for every round of a repeat group.
std::string label_of(const Plan& plan, const PlanPass& pass);

// Everything of a device that plans run on.
struct Context {
  std::shared_ptr<Device> device;
  std::shared_ptr<Memory> memory;
  std::shared_ptr<Pipelines> pipelines;
  std::shared_ptr<std::mutex> submit =
      std::make_shared<std::mutex>();  // keeps the parts of a split call together
  std::shared_ptr<std::atomic<std::uint64_t>> bind_groups =
      std::make_shared<std::atomic<std::uint64_t>>(0);  // made so far
  bool debug_groups = true;                             // name each dispatch in passes of our own

  static Context make(std::shared_ptr<Device> device, Memory::Limits limits = {});
};

// What a call must be recorded into.
enum class Needs : std::uint8_t {
  kPass,     // any compute pass, ours or the caller's
  kEncoder,  // staging copies before or after the pass
  kSubmit,   // more than one submission (submitAfter)
};

// A plan on a device: its pipelines and its uniform values.
class Prepared {
 public:
  static Result<std::shared_ptr<const Prepared>> make(const Context& context,
                                                      std::shared_ptr<const Plan> plan);

  const Plan& plan() const { return *plan_; }
  const Context& context() const { return context_; }
  // Scratch buffers as the plan lists them: those given, and others in the empty places. The shared
  // ones serve every bound call of this object that asks for no own ones.
  Result<std::vector<BufferRef>> shared_scratch(std::vector<BufferRef> given = {}) const;
  Result<std::vector<BufferRef>> make_scratch(std::vector<BufferRef> given = {}) const;
  // Gives up the shared scratch that nothing bound uses; the next to ask gets another one.
  void drop_scratch() const;

 private:
  friend class Bound;
  Prepared(Context context, std::shared_ptr<const Plan> plan)
      : context_(std::move(context)), plan_(std::move(plan)) {}

  Context context_;
  std::shared_ptr<const Plan> plan_;
  std::vector<PipelineRef> pipelines_;
  std::vector<std::string> labels_;        // of each pass's bind group and debug group
  std::vector<std::string> clear_labels_;  // the same of each scratch buffer that must be zero
  PipelineRef clear_pipeline_;             // only where scratch must be zero
  BufferRef uniforms_;                     // every pass's, one after the other
  std::vector<std::vector<std::uint64_t>> uniform_offsets_;
  // One thread makes the scratch. Making it may ask for idle buffers, so for drop_scratch().
  mutable std::mutex making_;
  mutable std::mutex mutex_;
  mutable std::vector<BufferRef> scratch_;  // the shared ones; empty: not made
};

// Why a tensor cannot be bound as it is.
struct Obstacle {
  std::size_t tensor = 0;     // into Plan::tensors
  std::string code, reason;   // "usage/alignment", "usage/buffer-usage" or "request/alias"
  bool staging_helps = true;  // a copy through a buffer of ours removes it
};
std::vector<Obstacle> find_obstacles(const Plan& plan, std::span<const Slice> tensors,
                                     const WGPULimits& limits);

struct BindOptions {
  bool own_scratch = false;
  // Scratch buffers to use, one per Plan::scratch entry, in place of the shared or own ones. Where
  // one is empty, it is as without this. What stays_zero() must be zero and nobody else's.
  std::vector<BufferRef> scratch = {};
  // Copy through a buffer of ours where alignment, usage flags or aliasing forbid a direct binding;
  // else that is an error.
  bool staging = false;
};

struct Copy {
  BufferRef from, to;
  std::uint64_t from_offset = 0, to_offset = 0, size = 0;
};
void record_copies(const Procs& procs, WGPUCommandEncoder encoder, std::span<const Copy> copies);

// Finishes the encoder and submits it. Errors of everything recorded in it come back here.
Status finish_and_submit(const Device& device, WGPUCommandEncoder encoder);

// Submits what `record(encoder)` records, under the device's lock and an error scope.
template <class Record>
Status submit_commands(const Device& device, const Record& record) {
  const auto lock = device.lock();
  ErrorScope scope(device,
                   device.owned() ? ErrorScope::Catch::kValidation : ErrorScope::Catch::kAll);
  const Handle<WGPUCommandEncoder> encoder =
      device.own(device.procs().device_create_command_encoder(device.handle(), nullptr),
                 device.procs().command_encoder_release);
  if (!encoder) return failure("device/validation", "no command encoder could be made");
  if (Status status = record(encoder.get()); !status) return status;
  if (Status status = finish_and_submit(device, encoder.get()); !status) return status;
  return scope.finish();
}

// Until all that was submitted before is done.
Status wait_for_queue(const Device& device, std::optional<std::chrono::nanoseconds> timeout = {});

// The end of all that was submitted before this was made.
class QueueDone {
 public:
  explicit QueueDone(std::shared_ptr<const Device> device);
  ~QueueDone();
  QueueDone(const QueueDone&) = delete;
  QueueDone& operator=(const QueueDone&) = delete;
  Result<bool> ready();
  Status wait(std::optional<std::chrono::nanoseconds> timeout = {});

 private:
  struct Reply {
    WGPUQueueWorkDoneStatus status = WGPUQueueWorkDoneStatus_Error;
  };
  Status finish();
  std::shared_ptr<const Device> device_;
  Pending<Reply> reply_;
  WGPUFuture future_ = {};
  std::optional<Status> result_;
};

// A plan with its buffers. Everything that can fail or allocate has been done.
class Bound {
 public:
  // One slice per Plan::tensors entry. Errors: "usage/range", "usage/alignment",
  // "usage/buffer-usage", "request/alias".
  static Result<std::shared_ptr<Bound>> make(std::shared_ptr<const Prepared> prepared,
                                             std::vector<Slice> tensors,
                                             const BindOptions& options = {});
  ~Bound();
  Bound(const Bound&) = delete;
  Bound& operator=(const Bound&) = delete;

  Needs needs() const { return needs_; }
  const Prepared& prepared() const { return *prepared_; }
  const std::vector<Slice>& tensors() const { return tensors_; }
  // One line per staging copy, for people.
  const std::vector<std::string>& staging_notes() const { return notes_; }
  std::uint64_t own_bytes() const { return own_bytes_; }  // staging and own scratch
  const std::vector<BufferRef>& scratch() const { return scratch_; }
  // Every place that the call uses, some more than once.
  struct Use {
    enum class As : std::uint8_t { kInput, kOutput, kStaging, kScratch, kUniform } as;
    const Buffer* buffer;
    std::uint64_t offset, size;
  };
  std::vector<Use> uses() const;
  // How many references to this buffer the object itself holds.
  long references(const Buffer* buffer) const;

  // Sets pipeline and bind group 0 and dispatches, for each step. Requires needs() == kPass.
  void record(WGPUComputePassEncoder pass) const;
  // With staging copies. Requires needs() != kSubmit. Begins and ends a pass of its own.
  Status record(WGPUCommandEncoder encoder,
                const WGPUPassTimestampWrites* timestamps = nullptr) const;
  // Each step in a pass of its own, with timestamps 2i and 2i + 1 at its ends.
  std::size_t step_count() const { return steps_.size(); }
  Status record_stepwise(WGPUCommandEncoder encoder, WGPUQuerySet stamps) const;
  // Commands that somebody else submits now use the buffers: they are not pooled when this goes.
  // Stored once only: threads that record the same object do not fight for its cache line.
  void used_outside() const {
    if (!outside_.load(std::memory_order_relaxed)) outside_.store(true, std::memory_order_relaxed);
  }

  // Submits everything in order; waits only between the parts of a split call.
  struct Around {
    std::span<const Slice> clear;  // set to zero before the first pass
    std::span<const Copy> copies;  // after the last pass
  };
  Status submit(const Around& around = {}) const;

 private:
  explicit Bound(std::shared_ptr<const Prepared> prepared) : prepared_(std::move(prepared)) {}
  struct Step {
    WGPUComputePipeline pipeline = nullptr;
    WGPUBindGroup group = nullptr;
    std::uint32_t x = 1, y = 1, z = 1;
    const std::string* label = nullptr;
    bool submit_after = false;
  };
  Status place_tensors(const BindOptions& options);
  Status check_ranges() const;
  Status stage(std::size_t index, std::string reason);
  Status place_scratch(const BindOptions& options);
  Status make_groups();
  Result<Handle<WGPUBindGroup>> make_group(const Pipeline& pipeline,
                                           std::span<const WGPUBindGroupEntry> entries,
                                           const std::string& label) const;
  Status add_clear(std::size_t scratch);
  Status record_pass(WGPUCommandEncoder encoder, std::span<const Step> steps,
                     const WGPUPassTimestampWrites* timestamps) const;
  void record_steps(WGPUComputePassEncoder pass, std::span<const Step> steps, bool groups) const;
  Status submit_part(std::span<const Step> steps, bool first, bool last,
                     const Around& around) const;
  void clear_kept() const;

  std::shared_ptr<const Prepared> prepared_;
  std::vector<Slice> tensors_;  // the caller's
  std::vector<Slice> bound_;    // what is bound in their place
  std::vector<BufferRef> scratch_;
  std::vector<Handle<WGPUBindGroup>> groups_;
  std::vector<Step> steps_;
  std::vector<Copy> before_, after_;
  std::vector<std::string> notes_;
  Needs needs_ = Needs::kPass;
  std::uint64_t own_bytes_ = 0;
  mutable std::atomic<bool> outside_ = false;
};

}  // namespace wgk::gpu
