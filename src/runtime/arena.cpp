// SPDX-License-Identifier: Apache-2.0
// Scratch that several prepared calls share.
#include <algorithm>
#include <format>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "gpu/transfer.h"
#include "runtime/kernel_impl.h"
#include "wgk/runtime.h"

namespace wgk {
namespace {

// The allocated scratch buffers of a plan that others may write, largest first. What a kernel keeps
// zero for its next run belongs to the prepared call, with an arena too.
std::vector<std::size_t> by_size(const Plan& plan) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < plan.scratch.size(); ++i) {
    if (plan.scratch[i].allocated && !gpu::stays_zero(plan, plan.scratch[i])) order.push_back(i);
  }
  std::ranges::stable_sort(order, std::greater<>(),
                           [&](std::size_t i) { return plan.scratch[i].buffer_size; });
  return order;
}

// The largest scratch that any of the calls has at each place of that order.
std::vector<std::uint64_t> arena_sizes(std::span<const Prepared> calls) {
  std::vector<std::uint64_t> sizes;
  for (const Prepared& call : calls) {
    if (!call.impl()) continue;
    const std::vector<std::size_t> order = by_size(call.plan());
    if (sizes.size() < order.size()) sizes.resize(order.size());
    for (std::size_t place = 0; place < order.size(); ++place) {
      sizes[place] = std::max(sizes[place], call.plan().scratch[order[place]].buffer_size);
    }
  }
  return sizes;
}

std::uint64_t kept_bytes(const Plan& plan) {
  std::uint64_t bytes = 0;
  for (const PlanScratch& scratch : plan.scratch) {
    if (scratch.allocated && gpu::stays_zero(plan, scratch)) bytes += scratch.buffer_size;
  }
  return bytes;
}

std::uint64_t& part_of(MemoryNeeds& needs, gpu::Bound::Use::As as) {
  using As = gpu::Bound::Use::As;
  switch (as) {
    case As::kInput: return needs.inputs;
    case As::kOutput: return needs.outputs;
    case As::kStaging: return needs.staging;
    case As::kScratch: return needs.scratch;
    default: return needs.uniforms;
  }
}

}  // namespace

Result<std::vector<gpu::BufferRef>> scratch_from(const Arena::Impl& arena, const Plan& plan,
                                                 const SessionRef& session) {
  if (arena.session != session) {
    return failure("usage/foreign",
                   "the arena belongs to another runtime or to a device that is gone");
  }
  std::vector<gpu::BufferRef> scratch(plan.scratch.size());
  const std::vector<std::size_t> order = by_size(plan);
  for (std::size_t place = 0; place < order.size(); ++place) {
    const PlanScratch& wanted = plan.scratch[order[place]];
    if (place >= arena.buffers.size() || arena.buffers[place]->size() < wanted.buffer_size) {
      return failure("usage/range",
                     std::format("the arena has no room for scratch '{}' of {} bytes", wanted.id,
                                 wanted.buffer_size),
                     "make the arena for every call that uses it");
    }
    scratch[order[place]] = arena.buffers[place];
  }
  return scratch;
}

Result<Arena> Runtime::make_arena(std::span<const Prepared> calls) const {
  auto session = impl_->live_session();
  if (!session) return std::unexpected(std::move(session.error()));
  if (std::ranges::any_of(calls, [](const Prepared& call) { return !call.impl(); }))
    return failure("usage/range", "a prepared call handle is empty");
  auto arena = std::make_shared<Arena::Impl>();
  arena->session = *session;
  for (const std::uint64_t size : arena_sizes(calls)) {
    auto made = (*session)->context.memory->allocate(size, gpu::kTensorUsage, "arena");
    if (!made) return std::unexpected(std::move(made.error()));
    if (made->dirty) {
      const gpu::Slice all{made->buffer, 0, made->buffer->size()};
      if (auto status = gpu::clear((*session)->context, all); !status)
        return std::unexpected(std::move(status.error()));
    }
    arena->buffers.push_back(std::move(made->buffer));
  }
  return Arena(std::move(arena));
}

std::uint64_t Arena::bytes() const {
  std::uint64_t bytes = 0;
  if (!impl_) return bytes;
  for (const gpu::BufferRef& buffer : impl_->buffers) bytes += buffer->size();
  return bytes;
}

// Each byte once: a buffer of ours is there as a whole, of a caller's only the ranges in use.
MemoryNeeds memory(std::span<const Bound> sequence) {
  using As = gpu::Bound::Use::As;
  struct Range {
    WGPUBuffer buffer;
    std::uint64_t begin, end;
    As as;
  };
  std::vector<Range> ranges;
  for (const Bound& call : sequence) {
    if (!call.impl()) continue;
    for (const gpu::Bound::Use& use : call.impl()->bound->uses()) {
      const bool whole = use.buffer->owned();
      ranges.push_back({use.buffer->handle(), whole ? 0 : use.offset,
                        whole ? use.buffer->size() : use.offset + use.size, use.as});
    }
  }
  std::ranges::stable_sort(ranges, [](const Range& a, const Range& b) {
    const std::less<WGPUBuffer> before;
    if (a.buffer != b.buffer) return before(a.buffer, b.buffer);
    if (a.begin != b.begin) return a.begin < b.begin;
    if (a.end != b.end) return a.end > b.end;
    return a.as == As::kOutput && b.as != As::kOutput;
  });
  MemoryNeeds needs;
  std::uint64_t counted = 0;  // up to here, of the buffer of the range before
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    const Range& range = ranges[i];
    if (i == 0 || ranges[i - 1].buffer != range.buffer) counted = 0;
    if (range.end <= counted) continue;
    part_of(needs, range.as) += range.end - std::max(counted, range.begin);
    counted = range.end;
  }
  return needs;
}

MemoryNeeds memory(std::span<const Prepared> sequence, bool with_arena) {
  MemoryNeeds needs;
  std::vector<const void*> seen;
  for (const Prepared& call : sequence) {
    if (!call.impl()) continue;
    const MemoryNeeds one = call.memory();
    needs.inputs += one.inputs;
    needs.outputs += one.outputs;
    const void* identity = call.impl()->prepared.get();
    if (std::ranges::find(seen, identity) != seen.end()) continue;
    seen.push_back(identity);
    needs.uniforms += one.uniforms;
    needs.scratch += with_arena ? kept_bytes(call.plan()) : one.scratch;
  }
  if (!with_arena) return needs;
  for (const std::uint64_t size : arena_sizes(sequence)) needs.scratch += size;
  return needs;
}

}  // namespace wgk
