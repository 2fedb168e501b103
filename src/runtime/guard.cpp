// SPDX-License-Identifier: Apache-2.0
#include "runtime/guard.h"

#include <algorithm>
#include <format>

#include "gpu/transfer.h"

namespace wgk {
namespace {

constexpr auto kGuard = std::byte{0xa5};

}  // namespace

Result<std::unique_ptr<GuardBands>> GuardBands::place(
    const std::shared_ptr<const gpu::Prepared>& prepared, const std::vector<gpu::Slice>& given,
    std::uint32_t width, bool staging) {
  if (width % 256 != 0)
    return failure("usage/alignment",
                   std::format("guard bands of {} bytes; expected a multiple of 256", width));
  auto guards = std::make_unique<GuardBands>();
  guards->width_ = width;
  std::vector<gpu::Slice> tensors = given;
  const gpu::Context& context = prepared->context();
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i].buffer) continue;
    const std::uint64_t size = prepared->plan().tensors[i].buffer_size;
    auto made = context.memory->allocate(size + std::uint64_t{2} * width, gpu::kTensorUsage,
                                         prepared->plan().tensors[i].port);
    if (!made) return std::unexpected(std::move(made.error()));
    const std::vector<std::byte> band(width, kGuard);
    for (const std::uint64_t at : {std::uint64_t{0}, width + size}) {
      if (auto status = gpu::write(context, {made->buffer, at, width}, band); !status)
        return std::unexpected(std::move(status.error()));
    }
    tensors[i] = {made->buffer, width, size};
    guards->guarded_.emplace_back(i, tensors[i]);
  }
  auto bound = gpu::Bound::make(prepared, std::move(tensors), {.staging = staging});
  if (!bound) return std::unexpected(std::move(bound.error()));
  guards->bound_ = std::move(*bound);
  return guards;
}

Status GuardBands::check() const {
  std::vector<gpu::Slice> bands;
  for (const auto& [index, slice] : guarded_) {
    bands.push_back({slice.buffer, 0, width_});
    bands.push_back({slice.buffer, slice.offset + slice.size, width_});
  }
  if (bands.empty()) return gpu::check_kept_zero(*bound_);
  auto read = gpu::ReadBack::make(bound_->prepared().context(), bands);
  if (!read) return std::unexpected(std::move(read.error()));
  auto status = (*read)->submit();
  if (status) status = (*read)->start();
  if (status) status = (*read)->wait();
  if (!status) return status;
  for (std::size_t i = 0; i < bands.size(); ++i) {
    const auto data = (*read)->data(i);
    const auto bad = std::ranges::find_if(data, [](std::byte byte) { return byte != kGuard; });
    if (bad == data.end()) continue;
    const std::size_t at = static_cast<std::size_t>(bad - data.begin());
    const bool before = i % 2 == 0;
    return failure("device/guard",
                   std::format("a byte {} tensor '{}' was overwritten, {} bytes away",
                               before ? "before" : "behind",
                               bound_->prepared().plan().tensors[guarded_[i / 2].first].port,
                               before ? width_ - at : at + 1));
  }
  return gpu::check_kept_zero(*bound_);
}

}  // namespace wgk
