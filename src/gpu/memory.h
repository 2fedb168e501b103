// SPDX-License-Identifier: Apache-2.0
// Buffers: made under a hard cap, counted, and kept for reuse by exact size.
#pragma once

#include <webgpu/webgpu.h>

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

#include "gpu/device.h"
#include "wgk/error.h"

namespace wgk::gpu {

inline constexpr WGPUBufferUsage kTensorUsage =
    WGPUBufferUsage_Storage | WGPUBufferUsage_CopySrc | WGPUBufferUsage_CopyDst;

class Memory;

// A device buffer. Ours go back to the pool when the last reference goes; a caller's buffer is only
// borrowed.
class Buffer {
 public:
  Buffer(std::shared_ptr<Memory> memory, Handle<WGPUBuffer> handle, std::uint64_t size,
         WGPUBufferUsage usage, bool owned, std::uint64_t id)
      : memory_(std::move(memory)),
        handle_(std::move(handle)),
        size_(size),
        usage_(usage),
        owned_(owned),
        id_(id) {}
  ~Buffer();
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  WGPUBuffer handle() const { return handle_.get(); }
  std::uint64_t size() const { return size_; }
  WGPUBufferUsage usage() const { return usage_; }
  bool owned() const { return owned_; }
  // Equal for equal WebGPU buffers, never reused for another one.
  std::uint64_t id() const { return id_; }
  Memory& memory() const { return *memory_; }
  // Commands that nobody has submitted yet may use it: it is released, never handed to another
  // owner.
  void never_reuse() { reusable_.store(false, std::memory_order_relaxed); }
  bool reusable() const { return reusable_.load(std::memory_order_relaxed); }

 private:
  friend class Memory;
  std::shared_ptr<Memory> memory_;
  Handle<WGPUBuffer> handle_;
  std::uint64_t size_;
  WGPUBufferUsage usage_;
  bool owned_;
  std::atomic<bool> reusable_ = true;
  std::uint64_t id_;
};
using BufferRef = std::shared_ptr<Buffer>;

// Part of a buffer.
struct Slice {
  BufferRef buffer;
  std::uint64_t offset = 0, size = 0;  // bytes
};

struct Allocation {
  BufferRef buffer;
  bool dirty = false;  // holds an earlier owner's bytes: clear it, or overwrite all of it
};

struct MemoryStats {
  std::uint64_t live_bytes = 0, peak_bytes = 0, pooled_bytes = 0;
  std::uint64_t live_buffers = 0, pooled_buffers = 0;
  std::uint64_t created = 0, reused = 0;  // since the device was made
};

class Memory : public std::enable_shared_from_this<Memory> {
 public:
  struct Limits {
    std::uint64_t cap =
        std::numeric_limits<std::uint64_t>::max();  // live and pooled bytes together
    std::uint64_t pool = std::uint64_t{256} << 20;  // pooled bytes
  };
  Memory(std::shared_ptr<Device> device, Limits limits)
      : device_(std::move(device)), limits_(limits) {}

  // Errors: "limit/memory" (the cap), "limit/buffer" (the device's largest buffer),
  // "device/memory".
  Result<Allocation> allocate(std::uint64_t size, WGPUBufferUsage usage, std::string_view label);
  // A caller's buffer, with a reference of ours for as long as it is in use.
  Result<BufferRef> borrow(WGPUBuffer buffer);
  // Releases everything pooled; the bytes that this freed.
  std::uint64_t trim();
  // Called before a request is refused: gives up idle buffers that somebody keeps.
  void set_reclaim(std::function<void()> reclaim) { reclaim_ = std::move(reclaim); }
  // Nothing is pooled from now on (the device is lost).
  void close();
  MemoryStats stats() const;

  const std::shared_ptr<Device>& device() const { return device_; }

 private:
  friend class Buffer;
  using Key = std::pair<std::uint64_t, WGPUBufferUsage>;
  struct Pooled {
    Handle<WGPUBuffer> handle;
    std::uint64_t id = 0;
    std::uint64_t age = 0;
  };

  Result<Handle<WGPUBuffer>> create(std::uint64_t size, WGPUBufferUsage usage,
                                    std::string_view label);
  void recycle(Buffer& buffer);
  void recycle_or(Buffer& buffer, std::vector<Handle<WGPUBuffer>>& released);
  void release(std::vector<Handle<WGPUBuffer>> handles) const;
  // Drops pooled buffers, oldest first, until at most `keep` pooled bytes are left. The handles are
  // released by the caller outside of the lock.
  void evict(std::uint64_t keep, std::vector<Handle<WGPUBuffer>>& released);

  // Counts `size` bytes as in use, making room in the pool; "limit/memory" if the cap forbids it.
  Status reserve(std::uint64_t size, std::string_view label);

  std::shared_ptr<Device> device_;
  Limits limits_;
  std::function<void()> reclaim_;
  mutable std::mutex mutex_;
  std::map<Key, std::vector<Pooled>> pool_;
  std::map<WGPUBuffer, std::uint64_t>
      borrowed_;  // handle -> id, so that equal buffers have equal ids
  std::map<WGPUBuffer, std::uint64_t> borrow_counts_;
  MemoryStats stats_;
  std::uint64_t next_id_ = 1;
  std::uint64_t clock_ = 0;
  bool closed_ = false;
};

}  // namespace wgk::gpu
