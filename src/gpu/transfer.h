// SPDX-License-Identifier: Apache-2.0
// Bytes between host and device, in the form that buffers hold.
#pragma once

#include <webgpu/webgpu.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "gpu/executor.h"
#include "gpu/memory.h"
#include "wgk/error.h"

namespace wgk::gpu {

// Queued, not waited for: `bytes` may go away at once. Any byte offset; bytes beside the range stay
// as they are.
Status write(const Context& context, const Slice& slice, std::span<const std::byte> bytes);

// Sets a slice of whole words to zero.
Status clear(const Context& context, const Slice& slice);

// Copies of whole words from buffers to other buffers, in order, in one submit.
Status copy(const Context& context, std::span<const Copy> copies);

// Bytes of the staging buffer that reading these slices takes; only places and sizes matter.
struct Extent {
  std::uint64_t offset = 0, size = 0;
};
std::uint64_t read_back_bytes(std::span<const Extent> extents);

// Copies slices of one or several buffers to the host.
class ReadBack {
 public:
  // Makes the staging buffer. Slices may start and end at any byte.
  static Result<std::unique_ptr<ReadBack>> make(const Context& context,
                                                std::span<const Slice> slices);
  ~ReadBack();
  ReadBack(const ReadBack&) = delete;
  ReadBack& operator=(const ReadBack&) = delete;

  // To be recorded after the commands that write the slices.
  std::span<const Copy> copies() const { return copies_; }
  // Submits the copies on their own.
  Status submit() const;
  // Starts mapping; everything submitted before is waited for by it.
  Status start();
  Result<bool> ready();
  // Waits for the map; data() is valid afterwards, for as long as this lives.
  Status wait(std::optional<std::chrono::nanoseconds> timeout = {});
  std::span<const std::byte> data(std::size_t slice) const;

 private:
  struct MapReply {
    WGPUMapAsyncStatus status = WGPUMapAsyncStatus_Error;
    std::string message;
  };
  struct Place {
    std::uint64_t start = 0, size = 0;  // in the staging buffer
  };
  explicit ReadBack(std::shared_ptr<Device> device) : device_(std::move(device)) {}
  Status finish();
  static void on_map(WGPUMapAsyncStatus status, WGPUStringView message, void* reply, void*);

  std::shared_ptr<Device> device_;
  BufferRef staging_;
  std::vector<Copy> copies_;  // keeps the sources
  std::vector<Place> places_;
  std::uint64_t bytes_ = 0;
  Pending<MapReply> reply_;
  WGPUFuture future_ = {};
  bool started_ = false, mapped_ = false;
  const std::byte* data_ = nullptr;
};

// Whether the scratch that the package says its kernel leaves zero is so after the runs submitted
// up to now. Waits. Error: "device/kept-zero"; the scratch is cleared then, for the next run.
Status check_kept_zero(const Bound& bound);

}  // namespace wgk::gpu
