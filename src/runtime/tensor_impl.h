// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>

#include "runtime/state.h"
#include "wgk/tensor.h"

namespace wgk {

struct Tensor::Impl {
  Impl() = default;
  ~Impl();
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  RuntimeRef runtime;  // null: in host memory only
  DType dtype = DType::f32, storage = DType::f32;
  bool packed = false;
  wgk::Shape shape;
  std::uint64_t byte_length = 0;
  std::shared_ptr<const HostArray> host;  // a host copy, where there is one
  std::shared_ptr<void> lease;  // the buffers of a call count as busy while somebody holds this

  std::mutex mutex;  // guards the two below, which a rebuild replaces
  std::uint64_t generation = 0;
  gpu::Slice slice;
};

// The tensor's elements as a plan describes them, for encoding and decoding.
PlanTensor plan_tensor(std::string port, DType dtype, DType storage, bool packed,
                       const Shape& shape, std::uint64_t byte_length);

// Where the tensor lies on this session's device. One with a host copy moves to a new device by
// itself.
Result<gpu::Slice> slice_of(const Tensor& tensor, const SessionRef& session);

// A new buffer of zeros.
Result<Tensor> make_tensor(const RuntimeRef& runtime, const SessionRef& session, DType dtype,
                           Shape shape, const TensorForm& form);
Tensor host_tensor(std::shared_ptr<const HostArray> array);
// Device bytes that were read back, as a tensor in host memory.
Result<Tensor> read_tensor(std::span<const std::byte> bytes, const PlanTensor& tensor);
// A tensor over a buffer that a call has placed.
Tensor placed_tensor(const RuntimeRef& runtime, const SessionRef& session, const PlanTensor& tensor,
                     gpu::Slice slice, std::shared_ptr<void> lease);

}  // namespace wgk
