// SPDX-License-Identifier: Apache-2.0
#include "gpu/memory.h"

#include <algorithm>
#include <format>
#include <new>
#include <optional>

#include "gpu/names.h"

namespace wgk::gpu {

Buffer::~Buffer() { memory_->recycle(*this); }

Result<Handle<WGPUBuffer>> Memory::create(std::uint64_t size, WGPUBufferUsage usage,
                                          std::string_view label) {
  const auto lock = device_->lock();
  ErrorScope scope(*device_);
  WGPUBufferDescriptor descriptor = WGPU_BUFFER_DESCRIPTOR_INIT;
  descriptor.label = view(label);
  descriptor.size = size;
  descriptor.usage = usage;
  const Procs& procs = device_->procs();
  Handle<WGPUBuffer> buffer = device_->own(
      procs.device_create_buffer(device_->handle(), &descriptor), procs.buffer_release);
  if (auto status = scope.finish(); !status) {
    return std::unexpected(std::move(status.error())
                               .during(std::format("making buffer '{}' of {} bytes", label, size)));
  }
  if (!buffer)
    return failure("device/memory",
                   std::format("no buffer '{}' of {} bytes could be made", label, size));
  return buffer;
}

Status Memory::reserve(std::uint64_t size, std::string_view label) {
  std::vector<Handle<WGPUBuffer>> released;
  {
    const std::lock_guard lock(mutex_);
    if (size > limits_.cap || stats_.live_bytes > limits_.cap - size) {
      return failure("limit/memory",
                     std::format("'{}' needs {} bytes; {} of at most {} are in use", label, size,
                                 stats_.live_bytes, limits_.cap),
                     "drop tensors, raise the cap or use smaller shapes");
    }
    evict(limits_.cap - size - stats_.live_bytes, released);
    // Counted before it exists, so that two threads cannot pass the cap together.
    stats_.live_bytes += size;
  }
  release(std::move(released));
  return {};
}

Result<Allocation> Memory::allocate(std::uint64_t size, WGPUBufferUsage usage,
                                    std::string_view label) {
  if (auto status = device_->check(); !status) return std::unexpected(std::move(status.error()));
  if (size > device_->limits().maxBufferSize) {
    return failure("limit/buffer",
                   std::format("'{}' needs a buffer of {} bytes; the device allows {}", label, size,
                               device_->limits().maxBufferSize));
  }
  {
    const std::lock_guard lock(mutex_);
    const auto found = pool_.find(Key(size, usage));
    if (found != pool_.end() && !found->second.empty()) {
      Pooled pooled = std::move(found->second.back());
      found->second.pop_back();
      stats_.pooled_bytes -= size;
      --stats_.pooled_buffers;
      stats_.live_bytes += size;
      ++stats_.live_buffers;
      ++stats_.reused;
      return Allocation{std::make_shared<Buffer>(shared_from_this(), std::move(pooled.handle), size,
                                                 usage, true, pooled.id),
                        true};
    }
  }
  auto reserved = reserve(size, label);
  if (!reserved && reclaim_) {
    reclaim_();
    reserved = reserve(size, label);
  }
  if (!reserved) return std::unexpected(std::move(reserved.error()));
  auto handle = create(size, usage, label);
  if (!handle && handle.error().code == "device/memory") {
    if (reclaim_) reclaim_();
    trim();
    handle = create(size, usage, label);
  }
  const std::lock_guard lock(mutex_);
  if (!handle) {
    stats_.live_bytes -= size;
    return std::unexpected(std::move(handle.error()));
  }
  ++stats_.live_buffers;
  ++stats_.created;
  stats_.peak_bytes = std::max(stats_.peak_bytes, stats_.live_bytes + stats_.pooled_bytes);
  return Allocation{std::make_shared<Buffer>(shared_from_this(), std::move(*handle), size, usage,
                                             true, next_id_++),
                    false};
}

Result<BufferRef> Memory::borrow(WGPUBuffer buffer) {
  if (buffer == nullptr) return failure("usage/range", "no buffer was given");
  const Procs& procs = device_->procs();
  auto one = device_->lock();
  procs.buffer_add_ref(buffer);
  Handle<WGPUBuffer> handle = device_->own(buffer, procs.buffer_release);
  const std::uint64_t size = procs.buffer_get_size(buffer);
  const WGPUBufferUsage usage = procs.buffer_get_usage(buffer);
  if (one.owns_lock()) one.unlock();
  const std::lock_guard lock(mutex_);
  const auto [place, fresh] = borrowed_.try_emplace(buffer, next_id_);
  if (fresh) ++next_id_;
  ++borrow_counts_[buffer];
  return std::make_shared<Buffer>(shared_from_this(), std::move(handle), size, usage, false,
                                  place->second);
}

// Releasing a buffer is a call on the device too.
void Memory::release(std::vector<Handle<WGPUBuffer>> handles) const {
  if (handles.empty()) return;
  const auto lock = device_->lock();
  handles.clear();
}

void Memory::recycle(Buffer& buffer) {
  std::vector<Handle<WGPUBuffer>> released;
  try {
    recycle_or(buffer, released);
  } catch (const std::bad_alloc&) {  // no host memory to pool it: the handle went with the stack
  }
  release(std::move(released));
}

void Memory::recycle_or(Buffer& buffer, std::vector<Handle<WGPUBuffer>>& released) {
  Handle<WGPUBuffer> handle = std::move(buffer.handle_);
  const std::lock_guard lock(mutex_);
  if (!buffer.owned_) {
    if (--borrow_counts_[handle.get()] == 0) {
      borrow_counts_.erase(handle.get());
      borrowed_.erase(handle.get());
    }
    released.push_back(std::move(handle));
    return;
  }
  stats_.live_bytes -= buffer.size_;
  --stats_.live_buffers;
  if (!buffer.reusable_.load(std::memory_order_relaxed) || closed_ || buffer.size_ > limits_.pool) {
    released.push_back(std::move(handle));
    return;
  }
  if (stats_.pooled_bytes > limits_.pool - buffer.size_)
    evict(limits_.pool - buffer.size_, released);
  pool_[Key(buffer.size_, buffer.usage_)].push_back({std::move(handle), buffer.id_, clock_++});
  stats_.pooled_bytes += buffer.size_;
  ++stats_.pooled_buffers;
}

void Memory::evict(std::uint64_t keep, std::vector<Handle<WGPUBuffer>>& released) {
  while (stats_.pooled_bytes > keep) {
    auto oldest = pool_.end();
    for (auto entry = pool_.begin(); entry != pool_.end();) {
      if (entry->second.empty()) {
        entry = pool_.erase(entry);
        continue;
      }
      if (oldest == pool_.end() || entry->second.front().age < oldest->second.front().age)
        oldest = entry;
      ++entry;
    }
    if (oldest == pool_.end()) return;
    released.push_back(std::move(oldest->second.front().handle));
    oldest->second.erase(oldest->second.begin());
    stats_.pooled_bytes -= oldest->first.first;
    --stats_.pooled_buffers;
  }
}

std::uint64_t Memory::trim() {
  std::vector<Handle<WGPUBuffer>> released;
  std::uint64_t freed = 0;
  {
    const std::lock_guard lock(mutex_);
    freed = stats_.pooled_bytes;
    evict(0, released);
    freed -= stats_.pooled_bytes;
  }
  release(std::move(released));
  return freed;
}

void Memory::close() {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  trim();
}

MemoryStats Memory::stats() const {
  const std::lock_guard lock(mutex_);
  return stats_;
}

}  // namespace wgk::gpu
