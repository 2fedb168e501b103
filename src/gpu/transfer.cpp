// SPDX-License-Identifier: Apache-2.0
#include "gpu/transfer.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <format>
#include <mutex>

#include "gpu/names.h"
#include "gpu/shaders.h"

namespace wgk::gpu {
namespace {

constexpr std::uint64_t kMinStaging = 4096;

std::uint64_t staging_size(std::uint64_t bytes) {
  constexpr std::uint64_t kMebibyte = std::uint64_t{1} << 20;
  if (bytes <= kMinStaging) return kMinStaging;
  return bytes < kMebibyte ? std::bit_ceil(bytes) : (bytes + kMebibyte - 1) / kMebibyte * kMebibyte;
}

// Replaces the bytes [from, to) of one word of the buffer, on the device: nothing else may see the
// word half written.
Status merge_word(const Context& context, const BufferRef& buffer, std::uint64_t word_offset,
                  std::uint64_t from, std::uint64_t to, std::span<const std::byte> bytes) {
  const Device& device = *context.device;
  std::array<std::byte, 4> value = {}, mask = {};
  for (std::uint64_t i = from; i < to; ++i) {
    value[i] = bytes[i - from];
    mask[i] = std::byte{0xff};
  }
  const std::uint64_t step = device.limits().minStorageBufferOffsetAlignment;
  const std::uint64_t base = word_offset / step * step;
  const std::array<std::uint32_t, 4> params = {static_cast<std::uint32_t>((word_offset - base) / 4),
                                               std::bit_cast<std::uint32_t>(mask),
                                               std::bit_cast<std::uint32_t>(value), 0};
  auto plan = std::make_shared<Plan>();
  plan->op_id = "wgkernels";
  plan->variant = "merge";
  PlanTensor target;
  target.port = "words";
  target.byte_length = target.buffer_size = word_offset + 4 - base;
  target.is_input = target.is_output = true;
  plan->tensors.push_back(target);
  PlanPass pass = merge_pass();
  pass.bindings[0].resource = PlanBinding::Resource::kTensor;
  pass.bindings[0].size = target.byte_length;
  pass.bindings[1].resource = PlanBinding::Resource::kUniform;
  PlanUniform uniform;
  const auto raw = std::as_bytes(std::span(params));
  uniform.bytes.assign(raw.begin(), raw.end());
  pass.uniforms.push_back(std::move(uniform));
  plan->passes.push_back(std::move(pass));
  auto prepared = Prepared::make(context, std::move(plan));
  if (!prepared) return std::unexpected(std::move(prepared.error()));
  auto bound = Bound::make(std::move(*prepared), {Slice{buffer, base, target.byte_length}});
  if (!bound) return std::unexpected(std::move(bound.error()));
  return (*bound)->submit();
}

Status write_words(const Context& context, const BufferRef& buffer, std::uint64_t offset,
                   std::span<const std::byte> bytes) {
  if (bytes.empty()) return {};
  const Device& device = *context.device;
  const auto lock = device.lock();
  ErrorScope scope(device,
                   device.owned() ? ErrorScope::Catch::kValidation : ErrorScope::Catch::kAll);
  device.procs().queue_write_buffer(device.queue(), buffer->handle(), offset, bytes.data(),
                                    bytes.size());
  if (auto status = scope.finish(); !status) {
    return std::unexpected(
        std::move(status.error()).during(std::format("writing {} bytes", bytes.size())));
  }
  return {};
}

}  // namespace

Status write(const Context& context, const Slice& slice, std::span<const std::byte> bytes) {
  if (auto status = context.device->check(); !status) return status;
  if (bytes.size() > slice.size || slice.offset > slice.buffer->size() ||
      bytes.size() > slice.buffer->size() - slice.offset) {
    return failure("usage/range", std::format("{} bytes do not fit the {} bytes of the tensor",
                                              bytes.size(), slice.size));
  }
  std::uint64_t offset = slice.offset;
  std::uint64_t end = offset + bytes.size();
  const std::uint64_t first_word = (offset + 3) / 4 * 4;
  if (offset % 4 != 0) {  // the head shares its word with somebody
    const std::uint64_t stop = std::min(first_word, end);
    if (auto status = merge_word(context, slice.buffer, offset / 4 * 4, offset % 4,
                                 offset % 4 + (stop - offset), bytes.first(stop - offset));
        !status) {
      return status;
    }
    bytes = bytes.subspan(stop - offset);
    offset = stop;
    if (offset == end) return {};
  }
  const std::uint64_t whole = (end - offset) / 4 * 4;
  if (auto status = write_words(context, slice.buffer, offset, bytes.first(whole)); !status)
    return status;
  if (offset + whole == end) return {};
  return merge_word(context, slice.buffer, offset + whole, 0, end - offset - whole,
                    bytes.subspan(whole));
}

static Status submit_copies(const Device& device, std::span<const Copy> copies) {
  if (auto status = device.check(); !status) return status;
  if (copies.empty()) return {};
  return submit_commands(device, [&](WGPUCommandEncoder encoder) -> Status {
    record_copies(device.procs(), encoder, copies);
    return {};
  });
}

Status copy(const Context& context, std::span<const Copy> copies) {
  return submit_copies(*context.device, copies);
}

Status clear(const Context& context, const Slice& slice) {
  const Device& device = *context.device;
  if (auto status = device.check(); !status) return status;
  return submit_commands(device, [&](WGPUCommandEncoder encoder) -> Status {
    device.procs().command_encoder_clear_buffer(encoder, slice.buffer->handle(), slice.offset,
                                                slice.size);
    return {};
  });
}

std::uint64_t read_back_bytes(std::span<const Extent> extents) {
  std::uint64_t bytes = 0;
  for (const Extent& extent : extents) {
    if (extent.size > 0) bytes += (extent.offset + extent.size + 3) / 4 * 4 - extent.offset / 4 * 4;
  }
  return staging_size(bytes);
}

Result<std::unique_ptr<ReadBack>> ReadBack::make(const Context& context,
                                                 std::span<const Slice> slices) {
  std::unique_ptr<ReadBack> read(new ReadBack(context.device));
  read->places_.reserve(slices.size());
  read->copies_.reserve(slices.size());
  std::uint64_t at = 0;
  for (const Slice& slice : slices) {
    const std::uint64_t from = slice.offset / 4 * 4;
    const std::uint64_t to =
        std::min((slice.offset + slice.size + 3) / 4 * 4, slice.buffer->size() / 4 * 4);
    if (slice.size > 0 && slice.offset + slice.size > to) {
      return failure("usage/range", std::format("the range ends at byte {} of a buffer of {}",
                                                slice.offset + slice.size, slice.buffer->size()));
    }
    read->places_.push_back({at + (slice.offset - from), slice.size});
    if (slice.size > 0) read->copies_.push_back({slice.buffer, {}, from, at, to - from});
    at += slice.size > 0 ? to - from : 0;
  }
  read->bytes_ = std::max<std::uint64_t>(at, 4);
  auto staging = context.memory->allocate(
      staging_size(read->bytes_), WGPUBufferUsage_MapRead | WGPUBufferUsage_CopyDst, "read-back");
  if (!staging) return std::unexpected(std::move(staging.error()));
  read->staging_ = std::move(staging->buffer);
  for (Copy& copy : read->copies_) copy.to = read->staging_;
  return read;
}

ReadBack::~ReadBack() {
  if (!staging_ || (!started_ && !mapped_)) return;
  // Unmapping also ends a map that is still on its way; its callback then runs into the place that
  // is kept for it.
  if (!mapped_) {
    reply_.abandon(device_->instance(), future_);
    staging_->never_reuse();
  }
  if (!device_->hung()) {
    const auto lock = device_->lock();
    device_->procs().buffer_unmap(staging_->handle());
  }
}

void ReadBack::on_map(WGPUMapAsyncStatus status, WGPUStringView message, void* reply, void*) {
  *Pending<MapReply>::arrived(reply) = {status, text_or_nothing(message)};
}

Status ReadBack::submit() const { return submit_copies(*device_, copies_); }

Status ReadBack::start() {
  const Device& device = *device_;
  if (auto status = device.check(); !status) return status;
  const auto lock = device.lock();
  device.counters().maps.fetch_add(1, std::memory_order_relaxed);
  future_ = device.procs().buffer_map_async(
      staging_->handle(), WGPUMapMode_Read, 0, bytes_,
      {nullptr, WGPUCallbackMode_WaitAnyOnly, on_map, reply_.user(), nullptr});
  started_ = true;
  return {};
}

Result<bool> ReadBack::ready() {
  if (mapped_) return true;
  auto result = device_->ready(future_);
  if (!result || !*result) return result;
  if (auto status = finish(); !status) return std::unexpected(std::move(status.error()));
  return true;
}

Status ReadBack::wait(std::optional<std::chrono::nanoseconds> timeout) {
  if (mapped_) return {};
  if (auto status = device_->wait(future_, timeout); !status) return status;
  return finish();
}

Status ReadBack::finish() {
  const Device& device = *device_;
  started_ = false;
  if (reply_->status != WGPUMapAsyncStatus_Success) {
    staging_->never_reuse();
    if (auto status = device.check(); !status) return status;
    if (auto status = device.take_uncaptured(); !status) return status;
    return failure("device/validation",
                   std::format("mapping the result failed: {}", reply_->message));
  }
  mapped_ = true;
  if (auto status = device.check(); !status) return status;
  if (auto status = device.take_uncaptured(); !status) return status;
  const auto lock = device.lock();
  data_ = static_cast<const std::byte*>(
      device.procs().buffer_get_const_mapped_range(staging_->handle(), 0, bytes_));
  if (data_ == nullptr) return failure("device/memory", "the mapped result has no address");
  return {};
}

std::span<const std::byte> ReadBack::data(std::size_t slice) const {
  const Place& place = places_[slice];
  return data_ == nullptr ? std::span<const std::byte>()
                          : std::span(data_ + place.start, place.size);
}

Status check_kept_zero(const Bound& bound) {
  const Plan& plan = bound.prepared().plan();
  const Context& context = bound.prepared().context();
  std::vector<std::size_t> kept;
  std::vector<Slice> slices;
  for (std::size_t i = 0; i < plan.scratch.size(); ++i) {
    const BufferRef& buffer = bound.scratch()[i];
    if (!buffer || !plan.scratch[i].kept_zero) continue;
    kept.push_back(i);
    slices.push_back({buffer, 0, plan.scratch[i].buffer_size});
  }
  if (slices.empty()) return {};
  auto read = ReadBack::make(context, slices);
  if (!read) return std::unexpected(std::move(read.error()));
  // Not between the parts of another thread's call.
  std::unique_lock lock(*context.submit);
  auto status = (*read)->submit();
  lock.unlock();
  if (status) status = (*read)->start();
  if (status) status = (*read)->wait();
  if (!status) return status;
  for (std::size_t i = 0; i < kept.size(); ++i) {
    const auto data = (*read)->data(i);
    const auto bad = std::ranges::find_if(data, [](std::byte byte) { return byte != std::byte{}; });
    if (bad == data.end()) continue;
    const std::size_t word = static_cast<std::size_t>(bad - data.begin()) / 4;
    std::uint32_t value = 0;
    std::memcpy(&value, data.data() + 4 * word, 4);
    lock.lock();
    for (const Slice& slice : slices) {
      if (status = clear(context, slice); !status) return status;
    }
    return failure(
        "device/kept-zero",
        std::format("variant '{}' left scratch '{}' with 0x{:08x} in word {} of {}", plan.variant,
                    plan.scratch[kept[i]].id, value, word, data.size() / 4),
        "the manifest says keptZero: the kernel must leave it zero");
  }
  return {};
}

}  // namespace wgk::gpu
