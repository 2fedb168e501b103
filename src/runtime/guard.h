// SPDX-License-Identifier: Apache-2.0
// For tests: tensors inside larger buffers whose other bytes must not change.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "gpu/executor.h"
#include "wgk/error.h"

namespace wgk {

class GuardBands {
 public:
  // Places every tensor that is not given between `width` guard bytes on either side (a multiple of
  // 256).
  static Result<std::unique_ptr<GuardBands>> place(
      const std::shared_ptr<const gpu::Prepared>& prepared, const std::vector<gpu::Slice>& given,
      std::uint32_t width, bool staging);
  const std::shared_ptr<gpu::Bound>& bound() const { return bound_; }
  // Waits for the run. Errors: "device/guard" with tensor, side and distance; "device/kept-zero".
  Status check() const;

 private:
  std::uint32_t width_ = 0;
  std::vector<std::pair<std::size_t, gpu::Slice>> guarded_;  // index, tensor
  std::shared_ptr<gpu::Bound> bound_;
};

}  // namespace wgk
