// SPDX-License-Identifier: Apache-2.0
#include "gpu/executor.h"

#include <algorithm>
#include <format>

#include "gpu/names.h"
#include "gpu/shaders.h"
#include "gpu/transfer.h"
#include "gpu/wait.h"

namespace wgk::gpu {
namespace {

constexpr std::uint64_t round_up(std::uint64_t value, std::uint64_t step) {
  return (value + step - 1) / step * step;
}

std::uint64_t uniform_step(const WGPULimits& limits) {
  return std::max<std::uint64_t>(16, limits.minUniformBufferOffsetAlignment);
}

}  // namespace

std::uint64_t uniform_bytes(const Plan& plan, const WGPULimits& limits) {
  std::uint64_t bytes = 0;
  for (const PlanPass& pass : plan.passes) {
    for (const PlanUniform& uniform : pass.uniforms) {
      bytes = round_up(bytes, uniform_step(limits)) + uniform.bytes.size();
    }
  }
  return round_up(bytes, 16);
}

bool stays_zero(const Plan& plan, const PlanScratch& scratch) {
  return scratch.kept_zero && std::ranges::none_of(plan.passes, &PlanPass::submit_after);
}

bool cleared_each_run(const Plan& plan, const PlanScratch& scratch) {
  return scratch.allocated && scratch.zero_init && !stays_zero(plan, scratch);
}

bool needs_clear(const Plan& plan) {
  return std::ranges::any_of(
      plan.scratch, [&](const PlanScratch& scratch) { return cleared_each_run(plan, scratch); });
}

std::string label_of(const Plan& plan, const PlanPass& pass) {
  const std::string where = std::format("{}.{}.", plan.op_id, plan.variant);
  const bool has_name = !pass.label.empty() && !pass.label.starts_with(where);
  return where + pass.id + (has_name ? std::format(" ({})", pass.label) : std::string());
}

Context Context::make(std::shared_ptr<Device> device, Memory::Limits limits) {
  Context context;
  context.memory = std::make_shared<Memory>(device, limits);
  context.pipelines = std::make_shared<Pipelines>(device);
  context.device = std::move(device);
  return context;
}

Result<std::shared_ptr<const Prepared>> Prepared::make(const Context& context,
                                                       std::shared_ptr<const Plan> plan) {
  const std::shared_ptr<Prepared> prepared(new Prepared(context, plan));
  std::vector<const PlanPass*> passes;
  for (const PlanPass& pass : plan->passes) passes.push_back(&pass);
  const bool clears = needs_clear(*plan);
  if (clears) passes.push_back(&clear_pass());
  const auto where = [&] {
    return std::format("preparing {} (variant {})", plan->op_id, plan->variant);
  };
  auto pipelines = context.pipelines->get(passes);
  if (!pipelines) return std::unexpected(std::move(pipelines.error()).during(where()));
  if (clears) {
    prepared->clear_pipeline_ = std::move(pipelines->back());
    pipelines->pop_back();
  }
  prepared->pipelines_ = std::move(*pipelines);
  for (const PlanPass& pass : plan->passes) prepared->labels_.push_back(label_of(*plan, pass));
  for (const PlanScratch& scratch : plan->scratch) {
    prepared->clear_labels_.push_back(
        std::format("{}.{}.clear {}", plan->op_id, plan->variant, scratch.id));
  }

  const Device& device = *context.device;
  const std::uint64_t step = uniform_step(device.limits());
  std::vector<std::byte> bytes;
  for (const PlanPass& pass : plan->passes) {
    std::vector<std::uint64_t>& offsets = prepared->uniform_offsets_.emplace_back();
    for (const PlanUniform& uniform : pass.uniforms) {
      bytes.resize(round_up(bytes.size(), step));
      offsets.push_back(bytes.size());
      bytes.insert(bytes.end(), uniform.bytes.begin(), uniform.bytes.end());
    }
  }
  if (bytes.empty()) return prepared;
  bytes.resize(round_up(bytes.size(), 16));
  auto buffer = context.memory->allocate(
      bytes.size(), WGPUBufferUsage_Uniform | WGPUBufferUsage_CopyDst, "uniforms");
  if (!buffer) return std::unexpected(std::move(buffer.error()).during(where()));
  prepared->uniforms_ = std::move(buffer->buffer);
  const auto lock = device.lock();
  ErrorScope scope(device);
  device.procs().queue_write_buffer(device.queue(), prepared->uniforms_->handle(), 0, bytes.data(),
                                    bytes.size());
  if (auto status = scope.finish(); !status)
    return std::unexpected(std::move(status.error()).during(where()));
  return prepared;
}

Result<std::vector<BufferRef>> Prepared::make_scratch(std::vector<BufferRef> given) const {
  std::vector<BufferRef> buffers = std::move(given);
  buffers.resize(plan_->scratch.size());
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    const PlanScratch& scratch = plan_->scratch[i];
    if (buffers[i] || !scratch.allocated) continue;
    auto buffer = context_.memory->allocate(scratch.buffer_size, kTensorUsage, scratch.id);
    if (!buffer) return std::unexpected(std::move(buffer.error()));
    buffers[i] = std::move(buffer->buffer);
    // What an earlier owner left is not for this kernel. It is queued before anybody can record.
    if (!buffer->dirty || cleared_each_run(*plan_, scratch)) continue;
    if (auto status = clear(context_, {buffers[i], 0, buffers[i]->size()}); !status)
      return std::unexpected(std::move(status.error()));
  }
  return buffers;
}

Result<std::vector<BufferRef>> Prepared::shared_scratch(std::vector<BufferRef> given) const {
  const std::lock_guard making(making_);
  std::vector<BufferRef> buffers = given;
  buffers.resize(plan_->scratch.size());
  given.resize(buffers.size());
  {
    const std::lock_guard lock(mutex_);
    scratch_.resize(buffers.size());
    for (std::size_t i = 0; i < buffers.size(); ++i) {
      if (!buffers[i]) buffers[i] = scratch_[i];
    }
  }
  auto made = make_scratch(std::move(buffers));
  if (!made) return made;
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (!given[i]) scratch_[i] = (*made)[i];
  }
  return made;
}

void Prepared::drop_scratch() const {
  std::vector<BufferRef> dropped;  // goes after the lock
  const std::lock_guard lock(mutex_);
  for (BufferRef& buffer : scratch_) {
    if (buffer.use_count() == 1) dropped.push_back(std::move(buffer));
  }
}

void record_copies(const Procs& procs, WGPUCommandEncoder encoder, std::span<const Copy> copies) {
  for (const Copy& copy : copies) {
    procs.command_encoder_copy_buffer_to_buffer(encoder, copy.from->handle(), copy.from_offset,
                                                copy.to->handle(), copy.to_offset, copy.size);
  }
}

Status finish_and_submit(const Device& device, WGPUCommandEncoder encoder) {
  const Procs& procs = device.procs();
  const Handle<WGPUCommandBuffer> commands =
      device.own(procs.command_encoder_finish(encoder, nullptr), procs.command_buffer_release);
  if (!commands) return failure("device/validation", "no command buffer could be finished");
  const WGPUCommandBuffer list[] = {commands.get()};
  procs.queue_submit(device.queue(), 1, list);
  device.counters().submits.fetch_add(1, std::memory_order_relaxed);
  return {};
}

QueueDone::QueueDone(std::shared_ptr<const Device> device) : device_(std::move(device)) {
  const auto lock = device_->lock();
  const auto on_done = [](WGPUQueueWorkDoneStatus status, WGPUStringView, void* reply, void*) {
    Pending<Reply>::arrived(reply)->status = status;
  };
  future_ = device_->procs().queue_on_submitted_work_done(
      device_->queue(), {nullptr, WGPUCallbackMode_WaitAnyOnly, on_done, reply_.user(), nullptr});
}

QueueDone::~QueueDone() {
  if (!result_) reply_.abandon(device_->instance(), future_);
}

Result<bool> QueueDone::ready() {
  if (result_) return true;
  auto ready = device_->ready(future_);
  if (ready && *ready) result_ = finish();
  return ready;
}

Status QueueDone::wait(std::optional<std::chrono::nanoseconds> timeout) {
  if (result_) return *result_;
  auto status = device_->wait(future_, timeout);
  if (!status && not_ready(status.error())) return status;
  if (!status) reply_.abandon(device_->instance(), future_);
  result_ = status ? finish() : std::move(status);
  return *result_;
}

Status QueueDone::finish() {
  if (auto status = device_->check(); !status) return status;
  if (reply_->status != WGPUQueueWorkDoneStatus_Success) {
    return failure("device/validation", "the queue did not finish its work");
  }
  return device_->take_uncaptured();
}

Status wait_for_queue(const Device& device, std::optional<std::chrono::nanoseconds> timeout) {
  return QueueDone(device.shared_from_this()).wait(timeout);
}

Bound::~Bound() {
  if (!outside_.load(std::memory_order_relaxed)) return;
  if (prepared_->uniforms_) prepared_->uniforms_->never_reuse();
  for (const Slice& slice : tensors_) slice.buffer->never_reuse();
  for (const Slice& slice : bound_) slice.buffer->never_reuse();
  for (const BufferRef& scratch : scratch_) {
    if (scratch) scratch->never_reuse();
  }
}

std::vector<Bound::Use> Bound::uses() const {
  std::vector<Use> uses;
  const auto add = [&](Use::As as, const Buffer* buffer, std::uint64_t offset, std::uint64_t size) {
    if (buffer != nullptr) uses.push_back({as, buffer, offset, size});
  };
  const Plan& plan = prepared_->plan();
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    add(plan.tensors[i].is_output ? Use::As::kOutput : Use::As::kInput, tensors_[i].buffer.get(),
        tensors_[i].offset, plan.tensors[i].buffer_size);
    const Buffer* const bound = bound_[i].buffer.get();
    if (bound != tensors_[i].buffer.get()) add(Use::As::kStaging, bound, 0, bound->size());
  }
  for (const BufferRef& buffer : scratch_) {
    if (buffer) add(Use::As::kScratch, buffer.get(), 0, buffer->size());
  }
  const BufferRef& uniforms = prepared_->uniforms_;
  if (uniforms) add(Use::As::kUniform, uniforms.get(), 0, uniforms->size());
  return uses;
}

long Bound::references(const Buffer* buffer) const {
  long count = 0;
  for (const auto* list : {&tensors_, &bound_}) {
    for (const Slice& slice : *list) count += slice.buffer.get() == buffer ? 1 : 0;
  }
  for (const auto* list : {&before_, &after_}) {
    for (const Copy& copy : *list) {
      count += (copy.from.get() == buffer ? 1 : 0) + (copy.to.get() == buffer ? 1 : 0);
    }
  }
  return count;
}

// A pass of ours with one dispatch has its name; where several share a pass, each is in a group of
// its name, which costs up to 3 us.
Status Bound::record_pass(WGPUCommandEncoder encoder, std::span<const Step> steps,
                          const WGPUPassTimestampWrites* timestamps) const {
  const Device& device = *prepared_->context_.device;
  const Procs& procs = device.procs();
  const bool named = prepared_->context_.debug_groups;
  WGPUComputePassDescriptor descriptor = WGPU_COMPUTE_PASS_DESCRIPTOR_INIT;
  descriptor.label = view(named && steps.size() == 1 ? *steps[0].label : prepared_->plan_->op_id);
  descriptor.timestampWrites = timestamps;
  const Handle<WGPUComputePassEncoder> pass = device.own(
      procs.command_encoder_begin_compute_pass(encoder, &descriptor), procs.compute_pass_release);
  if (!pass) return failure("device/validation", "no compute pass could be begun");
  record_steps(pass.get(), steps, named && steps.size() > 1);
  procs.compute_pass_end(pass.get());
  return {};
}

void Bound::record_steps(WGPUComputePassEncoder pass, std::span<const Step> steps,
                         bool groups) const {
  const Procs& procs = prepared_->context_.device->procs();
  for (const Step& step : steps) {
    if (groups) procs.compute_pass_push_debug_group(pass, view(*step.label));
    procs.compute_pass_set_pipeline(pass, step.pipeline);
    procs.compute_pass_set_bind_group(pass, 0, step.group, 0, nullptr);
    procs.compute_pass_dispatch(pass, step.x, step.y, step.z);
    if (groups) procs.compute_pass_pop_debug_group(pass);
  }
}

void Bound::record(WGPUComputePassEncoder pass) const { record_steps(pass, steps_, false); }

Status Bound::record(WGPUCommandEncoder encoder, const WGPUPassTimestampWrites* timestamps) const {
  const Procs& procs = prepared_->context_.device->procs();
  record_copies(procs, encoder, before_);
  if (auto status = record_pass(encoder, steps_, timestamps); !status) return status;
  record_copies(procs, encoder, after_);
  return {};
}

Status Bound::record_stepwise(WGPUCommandEncoder encoder, WGPUQuerySet stamps) const {
  const Procs& procs = prepared_->context_.device->procs();
  record_copies(procs, encoder, before_);
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    WGPUPassTimestampWrites writes = WGPU_PASS_TIMESTAMP_WRITES_INIT;
    writes.querySet = stamps;
    writes.beginningOfPassWriteIndex = static_cast<std::uint32_t>(2 * i);
    writes.endOfPassWriteIndex = static_cast<std::uint32_t>(2 * i + 1);
    const std::span step = std::span(steps_).subspan(i, 1);
    if (auto status = record_pass(encoder, step, &writes); !status) return status;
  }
  record_copies(procs, encoder, after_);
  return {};
}

Status Bound::submit_part(std::span<const Step> steps, bool first, bool last,
                          const Around& around) const {
  const Device& device = *prepared_->context_.device;
  const Procs& procs = device.procs();
  return submit_commands(device, [&](WGPUCommandEncoder encoder) -> Status {
    if (first) {
      for (const Slice& slice : around.clear) {
        procs.command_encoder_clear_buffer(encoder, slice.buffer->handle(), slice.offset,
                                           slice.size);
      }
      record_copies(procs, encoder, before_);
    }
    if (!steps.empty()) {
      if (auto status = record_pass(encoder, steps, nullptr); !status) return status;
    }
    if (last) {
      record_copies(procs, encoder, after_);
      record_copies(procs, encoder, around.copies);
    }
    return {};
  });
}

// WebGPU runs nothing of commands that it refuses. Were it otherwise, the next run would count on
// zeros that are not there. What fails here is a device that is lost.
void Bound::clear_kept() const {
  const Plan& plan = prepared_->plan();
  for (std::size_t i = 0; i < scratch_.size(); ++i) {
    if (scratch_[i] && stays_zero(plan, plan.scratch[i]))
      static_cast<void>(clear(prepared_->context_, {scratch_[i], 0, scratch_[i]->size()}));
  }
}

Status Bound::submit(const Around& around) const {
  const Context& context = prepared_->context_;
  if (auto status = context.device->check(); !status) return status;
  if (steps_.empty() && before_.empty() && after_.empty() && around.clear.empty() &&
      around.copies.empty())
    return {};
  const std::lock_guard lock(*context.submit);
  std::span<const Step> rest = steps_;
  bool first = true;
  while (true) {
    const auto split = std::ranges::find(rest, true, &Step::submit_after);
    const std::size_t count =
        split == rest.end() ? rest.size() : static_cast<std::size_t>(split - rest.begin()) + 1;
    const bool last = count == rest.size();
    auto status = submit_part(rest.first(count), first, last, around);
    if (status && split != rest.end()) status = wait_for_queue(*context.device);
    if (!status) {
      clear_kept();
      return std::unexpected(
          std::move(status.error())
              .during(std::format("running {} (variant {})", prepared_->plan_->op_id,
                                  prepared_->plan_->variant)));
    }
    if (last) return {};
    rest = rest.subspan(count);
    first = false;
  }
}

}  // namespace wgk::gpu
