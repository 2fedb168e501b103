// SPDX-License-Identifier: Apache-2.0
// Placing a plan's tensors, scratch and uniforms in buffers, with a named error for whatever WebGPU
// would refuse.
#include <algorithm>
#include <format>

#include "gpu/executor.h"
#include "gpu/names.h"
#include "gpu/shaders.h"

namespace wgk::gpu {
namespace {

bool overlap(const Slice& a, std::uint64_t a_size, const Slice& b, std::uint64_t b_size) {
  return a.offset < b.offset + b_size && b.offset < a.offset + a_size;
}

// The tensors that one pass binds, with what it does to them.
struct Use {
  std::size_t tensor = 0;
  bool writes = false;
  std::uint64_t size = 0;
};

std::vector<Use> uses_of(const PlanPass& pass) {
  std::vector<Use> uses;
  for (const PlanBinding& binding : pass.bindings) {
    if (binding.resource != PlanBinding::Resource::kTensor) continue;
    uses.push_back({binding.slot, binding.type == BindingType::kStorage, binding.size});
  }
  return uses;
}

// WebGPU's aliasing rules for one dispatch.
void find_aliases(const Plan& plan, const PlanPass& pass, std::span<const Slice> tensors,
                  std::vector<Obstacle>& obstacles) {
  const std::vector<Use> uses = uses_of(pass);
  for (std::size_t a = 0; a < uses.size(); ++a) {
    for (std::size_t b = a + 1; b < uses.size(); ++b) {
      if (uses[a].tensor == uses[b].tensor || (!uses[a].writes && !uses[b].writes)) continue;
      const Slice& first = tensors[uses[a].tensor];
      const Slice& second = tensors[uses[b].tensor];
      if (!first.buffer || !second.buffer || first.buffer->id() != second.buffer->id()) continue;
      const bool both_write = uses[a].writes && uses[b].writes;
      if (both_write && !overlap(first, uses[a].size, second, uses[b].size)) continue;
      const std::size_t reader = uses[a].writes ? uses[b].tensor : uses[a].tensor;
      const std::size_t other = reader == uses[a].tensor ? uses[b].tensor : uses[a].tensor;
      obstacles.push_back(
          {reader, "request/alias",
           std::format("pass '{}' {} and tensor '{}' lies in the same {}", pass.id,
                       both_write ? "writes it" : "reads it", plan.tensors[other].port,
                       both_write ? "bytes" : "buffer, which it writes"),
           !both_write});
    }
  }
}

}  // namespace

std::vector<Obstacle> find_obstacles(const Plan& plan, std::span<const Slice> tensors,
                                     const WGPULimits& limits) {
  std::vector<Obstacle> obstacles;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const Slice& slice = tensors[i];
    if (!slice.buffer) continue;  // one of ours, not made yet
    if (slice.offset % limits.minStorageBufferOffsetAlignment != 0) {
      obstacles.push_back({i, "usage/alignment",
                           std::format("it is at byte {}, which is no multiple of {}", slice.offset,
                                       limits.minStorageBufferOffsetAlignment)});
    } else if ((slice.buffer->usage() & WGPUBufferUsage_Storage) == 0) {
      obstacles.push_back({i, "usage/buffer-usage", "its buffer lacks the usage Storage"});
    }
  }
  for (const PlanPass& pass : plan.passes) find_aliases(plan, pass, tensors, obstacles);
  return obstacles;
}

Result<std::shared_ptr<Bound>> Bound::make(std::shared_ptr<const Prepared> prepared,
                                           std::vector<Slice> tensors, const BindOptions& options) {
  const Plan& plan = prepared->plan();
  const std::shared_ptr<Bound> bound(new Bound(std::move(prepared)));
  bound->tensors_ = std::move(tensors);
  const auto result = [&]() -> Status {
    if (auto status = bound->place_tensors(options); !status) return status;
    if (auto status = bound->place_scratch(options); !status) return status;
    return bound->make_groups();
  }();
  if (!result) {
    return std::unexpected(
        Error(result.error())
            .during(std::format("binding {} (variant {})", plan.op_id, plan.variant)));
  }
  return bound;
}

// Binds a buffer of ours in place of a tensor, with copies before and after the passes.
Status Bound::stage(std::size_t index, std::string reason) {
  const Plan& plan = prepared_->plan();
  const PlanTensor& tensor = plan.tensors[index];
  const Slice& given = tensors_[index];
  if (bound_[index].buffer != given.buffer) return {};  // staged already
  const std::uint64_t size = tensor.buffer_size;
  if (given.offset % 4 != 0) {
    return failure(
        "usage/alignment",
        std::format(
            "tensor '{}' is at byte {}, which is no multiple of 4: it cannot be copied either",
            tensor.port, given.offset));
  }
  const bool writes = tensor.is_output;
  const WGPUBufferUsage wanted = WGPUBufferUsage_CopySrc | (writes ? WGPUBufferUsage_CopyDst : 0);
  if ((given.buffer->usage() & wanted) != wanted) {
    return failure("usage/buffer-usage",
                   std::format("tensor '{}' cannot be copied: its buffer lacks the usage {}",
                               tensor.port, writes ? "CopySrc or CopyDst" : "CopySrc"));
  }
  auto made = prepared_->context().memory->allocate(size, kTensorUsage, tensor.port);
  if (!made) return std::unexpected(std::move(made.error()));
  bound_[index] = {made->buffer, 0, size};
  own_bytes_ += size;
  // Outputs are copied in as well: what a kernel leaves alone must come back unchanged.
  before_.push_back({given.buffer, made->buffer, given.offset, 0, size});
  if (writes) after_.push_back({made->buffer, given.buffer, 0, given.offset, size});
  notes_.push_back(
      std::format("'{}' goes through a copy of {} bytes: {}", tensor.port, size, reason));
  needs_ = std::max(needs_, Needs::kEncoder);
  return {};
}

Status Bound::check_ranges() const {
  const Plan& plan = prepared_->plan();
  if (tensors_.size() != plan.tensors.size()) {
    return failure("usage/range", std::format("{} tensors were given, the plan has {}",
                                              tensors_.size(), plan.tensors.size()));
  }
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    const PlanTensor& tensor = plan.tensors[i];
    const Slice& slice = tensors_[i];
    if (!slice.buffer) {
      return failure("usage/range", std::format("tensor '{}' has no buffer", tensor.port));
    }
    if (&slice.buffer->memory() != prepared_->context().memory.get()) {
      return failure(
          "usage/foreign",
          std::format("tensor '{}' belongs to another runtime or to a device that is gone",
                      tensor.port));
    }
    if (slice.size < tensor.byte_length || slice.offset > slice.buffer->size() ||
        tensor.buffer_size > slice.buffer->size() - slice.offset) {
      return failure(
          "usage/range",
          std::format("tensor '{}' needs {} bytes; it has {} at byte {} of a buffer of {}",
                      tensor.port, tensor.buffer_size, slice.size, slice.offset,
                      slice.buffer->size()),
          "kernels own whole 32-bit words: the range is rounded up to 4 bytes");
    }
  }
  return {};
}

Status Bound::place_tensors(const BindOptions& options) {
  if (auto status = check_ranges(); !status) return status;
  bound_ = tensors_;
  const Plan& plan = prepared_->plan();
  for (Obstacle& obstacle : find_obstacles(plan, tensors_, prepared_->context().device->limits())) {
    if (!options.staging || !obstacle.staging_helps) {
      return failure(obstacle.code,
                     std::format("tensor '{}' cannot be bound: {}",
                                 plan.tensors[obstacle.tensor].port, obstacle.reason),
                     obstacle.staging_helps ? "allow staging copies" : "use separate buffers");
    }
    if (auto status = stage(obstacle.tensor, std::move(obstacle.reason)); !status) return status;
  }
  return {};
}

Status Bound::place_scratch(const BindOptions& options) {
  auto placed = options.own_scratch ? prepared_->make_scratch(options.scratch)
                                    : prepared_->shared_scratch(options.scratch);
  if (!placed) return std::unexpected(std::move(placed.error()));
  scratch_ = std::move(*placed);
  if (!options.own_scratch) return {};
  for (std::size_t i = 0; i < scratch_.size(); ++i) {
    const bool given = i < options.scratch.size() && options.scratch[i];
    if (scratch_[i] && !given) own_bytes_ += scratch_[i]->size();
  }
  return {};
}

Result<Handle<WGPUBindGroup>> Bound::make_group(const Pipeline& pipeline,
                                                std::span<const WGPUBindGroupEntry> entries,
                                                const std::string& label) const {
  const Device& device = *prepared_->context().device;
  WGPUBindGroupDescriptor descriptor = WGPU_BIND_GROUP_DESCRIPTOR_INIT;
  descriptor.label = view(label);
  descriptor.layout = pipeline.layout->group.get();
  descriptor.entryCount = entries.size();
  descriptor.entries = entries.data();
  const auto lock = device.lock();
  ErrorScope scope(device);
  Handle<WGPUBindGroup> group =
      device.own(device.procs().device_create_bind_group(device.handle(), &descriptor),
                 device.procs().bind_group_release);
  if (auto status = scope.finish(); !status) {
    return std::unexpected(
        std::move(status.error()).during(std::format("making the bind group of pass '{}'", label)));
  }
  if (!group)
    return failure("device/validation",
                   std::format("no bind group for pass '{}' could be made", label));
  prepared_->context().bind_groups->fetch_add(1, std::memory_order_relaxed);
  return group;
}

Status Bound::add_clear(std::size_t scratch) {
  const std::uint64_t size = prepared_->plan().scratch[scratch].buffer_size;
  const std::string& label = prepared_->clear_labels_[scratch];
  WGPUBindGroupEntry entry = WGPU_BIND_GROUP_ENTRY_INIT;
  entry.buffer = scratch_[scratch]->handle();
  entry.size = size;
  auto group = make_group(*prepared_->clear_pipeline_, {&entry, 1}, label);
  if (!group) return std::unexpected(std::move(group.error()));
  const auto [x, y, z] = clear_dispatch(size / 4);
  steps_.push_back(
      {prepared_->clear_pipeline_->handle.get(), group->get(), x, y, z, &label, false});
  groups_.push_back(std::move(*group));
  return {};
}

Status Bound::make_groups() {
  const Plan& plan = prepared_->plan();
  for (std::size_t i = 0; i < plan.scratch.size(); ++i) {
    if (!cleared_each_run(plan, plan.scratch[i])) continue;
    if (auto status = add_clear(i); !status) return status;
  }
  for (std::size_t p = 0; p < plan.passes.size(); ++p) {
    const PlanPass& pass = plan.passes[p];
    std::vector<WGPUBindGroupEntry> entries;
    for (const PlanBinding& binding : pass.bindings) {
      WGPUBindGroupEntry entry = WGPU_BIND_GROUP_ENTRY_INIT;
      entry.binding = binding.index;
      entry.size = binding.size;
      switch (binding.resource) {
        case PlanBinding::Resource::kTensor:
          entry.buffer = bound_[binding.slot].buffer->handle();
          entry.offset = bound_[binding.slot].offset;
          break;
        case PlanBinding::Resource::kScratch:
          entry.buffer = scratch_[binding.slot]->handle();
          break;
        case PlanBinding::Resource::kUniform:
          entry.buffer = prepared_->uniforms_->handle();
          entry.offset = prepared_->uniform_offsets_[p][binding.slot];
          entry.size = pass.uniforms[binding.slot].bytes.size();
          break;
      }
      entries.push_back(entry);
    }
    const Pipeline& pipeline = *prepared_->pipelines_[p];
    auto group = make_group(pipeline, entries, prepared_->labels_[p]);
    if (!group) return std::unexpected(std::move(group.error()));
    steps_.push_back({pipeline.handle.get(), group->get(), pass.dispatch[0], pass.dispatch[1],
                      pass.dispatch[2], &prepared_->labels_[p], pass.submit_after});
    groups_.push_back(std::move(*group));
  }
  // A split after the very last pass asks for a wait, not for another submission.
  if (std::ranges::any_of(steps_, &Step::submit_after)) needs_ = Needs::kSubmit;
  return {};
}

}  // namespace wgk::gpu
