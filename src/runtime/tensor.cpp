// SPDX-License-Identifier: Apache-2.0
#include "wgk/tensor.h"

#include <format>
#include <utility>

#include "base/checked.h"
#include "gpu/transfer.h"
#include "plan/encode.h"
#include "runtime/tensor_impl.h"

namespace wgk {
namespace {

std::unexpected<Error> empty_tensor() {
  return failure("usage/range", "the tensor is empty",
                 "look at the name: an output that was not asked for is an empty tensor");
}

Result<std::uint64_t> bytes_of(DType storage, bool packed, const Shape& shape) {
  auto count = element_count(shape);
  if (!count) return std::unexpected(std::move(count.error()));
  return planning::device_byte_length(storage, packed, *count);
}

// Bytes of one element where they are all alike in the buffer; packed uint8 has one.
std::uint64_t stride_of(const Tensor::Impl& tensor) {
  return tensor.packed ? 1 : device_bytes(tensor.storage);
}

std::shared_ptr<Tensor::Impl> clone(const Tensor::Impl& tensor) {
  auto copy = std::make_shared<Tensor::Impl>();
  copy->runtime = tensor.runtime;
  copy->dtype = tensor.dtype;
  copy->storage = tensor.storage;
  copy->packed = tensor.packed;
  copy->shape = tensor.shape;
  copy->byte_length = tensor.byte_length;
  copy->host = tensor.host;
  copy->lease = tensor.lease;
  copy->generation = tensor.generation;
  copy->slice = tensor.slice;
  return copy;
}

Status check_range(const Tensor& tensor, std::int64_t first, std::int64_t count) {
  const std::int64_t total = tensor.elements();
  if (first >= 0 && count >= 0 && first <= total && count <= total - first) return {};
  return failure("usage/range", std::format("{} elements from {} were asked for; the tensor has {}",
                                            count, first, total));
}

}  // namespace

// Bind groups that kernels keep for this buffer are of no more use.
Tensor::Impl::~Impl() {
  if (!runtime || lease || !slice.buffer) return;
  const bool shared = slice.buffer.use_count() > 1;
  slice = {};
  if (!shared) return;
  try {
    runtime->drop(true);
  } catch (...) {  // no host memory to look: the next trim or refused request does
  }
}

PlanTensor plan_tensor(std::string port, DType dtype, DType storage, bool packed,
                       const Shape& shape, std::uint64_t byte_length) {
  PlanTensor tensor;
  tensor.port = std::move(port);
  tensor.dtype = dtype;
  tensor.storage = storage;
  tensor.packed = packed;
  tensor.shape = shape;
  tensor.byte_length = byte_length;
  tensor.buffer_size = planning::padded_size(byte_length);
  if (dtype == DType::i64 && storage != DType::i64) tensor.narrowing = "checked";
  return tensor;
}

Tensor host_tensor(std::shared_ptr<const HostArray> array) {
  auto impl = std::make_shared<Tensor::Impl>();
  impl->dtype = impl->storage = array->dtype;
  impl->shape = array->shape;
  impl->byte_length = array->data.size();
  impl->host = std::move(array);
  return Tensor(std::move(impl));
}

Result<Tensor> read_tensor(std::span<const std::byte> bytes, const PlanTensor& tensor) {
  auto size = planning::host_byte_length(tensor);
  if (!size) return std::unexpected(std::move(size.error()));
  HostArray array{std::vector<std::byte>(*size), tensor.dtype, tensor.shape};
  if (auto status = planning::decode(bytes, tensor, array.data); !status) {
    return std::unexpected(std::move(status.error()));
  }
  return host_tensor(std::make_shared<const HostArray>(std::move(array)));
}

Tensor placed_tensor(const RuntimeRef& runtime, const SessionRef& session, const PlanTensor& tensor,
                     gpu::Slice slice, std::shared_ptr<void> lease) {
  auto impl = std::make_shared<Tensor::Impl>();
  impl->runtime = runtime;
  impl->dtype = tensor.dtype;
  impl->storage = tensor.storage;
  impl->packed = tensor.packed;
  impl->shape = tensor.shape;
  impl->byte_length = tensor.byte_length;
  impl->lease = std::move(lease);
  impl->generation = session->generation;
  impl->slice = std::move(slice);
  return Tensor(std::move(impl));
}

Result<Tensor> make_tensor(const RuntimeRef& runtime, const SessionRef& session, DType dtype,
                           Shape shape, const TensorForm& form) {
  const DType storage = form.storage.value_or(dtype);
  auto bytes = bytes_of(storage, form.packed, shape);
  if (!bytes) return std::unexpected(std::move(bytes.error()));
  const PlanTensor tensor = plan_tensor("tensor", dtype, storage, form.packed, shape, *bytes);
  auto made = session->context.memory->allocate(tensor.buffer_size, gpu::kTensorUsage, "tensor");
  if (!made) return std::unexpected(std::move(made.error()));
  const gpu::Slice slice{made->buffer, 0, tensor.buffer_size};
  if (made->dirty) {
    if (auto status = gpu::clear(session->context, slice); !status)
      return std::unexpected(std::move(status.error()));
  }
  return placed_tensor(runtime, session, tensor, slice, nullptr);
}

Result<gpu::Slice> slice_of(const Tensor& tensor, const SessionRef& session) {
  if (!tensor) return empty_tensor();
  Tensor::Impl& impl = *tensor.impl();
  if (!impl.runtime)
    return failure("usage/foreign", "the tensor is in host memory, where a device tensor is needed",
                   "upload it");
  const std::lock_guard lock(impl.mutex);
  if (impl.generation == session->generation) {
    if (impl.slice.buffer && &impl.slice.buffer->memory() == session->context.memory.get())
      return impl.slice;
    return failure("usage/foreign", "the tensor belongs to another runtime");
  }
  if (impl.runtime->session() != session)
    return failure("usage/foreign", "the tensor belongs to another runtime");
  if (!impl.host) {
    return failure("device/lost", "the tensor was on a device that is gone",
                   "upload it again, or keep a host copy");
  }
  const PlanTensor form =
      plan_tensor("tensor", impl.dtype, impl.storage, impl.packed, impl.shape, impl.byte_length);
  auto made = session->context.memory->allocate(form.buffer_size, gpu::kTensorUsage, "tensor");
  if (!made) return std::unexpected(std::move(made.error()));
  const gpu::Slice slice{made->buffer, 0, form.buffer_size};
  auto bytes = planning::encode(impl.host->data, impl.host->dtype, form);
  if (!bytes) return std::unexpected(std::move(bytes.error()));
  if (auto status = gpu::write(session->context, slice, *bytes); !status)
    return std::unexpected(std::move(status.error()));
  impl.slice = slice;
  impl.generation = session->generation;
  return slice;
}

Result<Tensor> Tensor::wrap(const Runtime& runtime, WGPUBuffer buffer, std::uint64_t offset,
                            std::uint64_t size, wgk::Shape shape, DType dtype,
                            const TensorForm& form) {
  auto session = runtime.impl()->live_session();
  if (!session) return std::unexpected(std::move(session.error()));
  const DType storage = form.storage.value_or(dtype);
  if (!planning::can_encode(dtype, dtype, storage)) {
    return failure("request/dtype",
                   std::format("{} cannot be held as {}", name(dtype), name(storage)));
  }
  auto bytes = bytes_of(storage, form.packed, shape);
  if (!bytes) return std::unexpected(std::move(bytes.error()));
  auto borrowed = (*session)->context.memory->borrow(buffer);
  if (!borrowed) return std::unexpected(std::move(borrowed.error()));
  const std::uint64_t padded = planning::padded_size(*bytes);
  if (size < *bytes || offset > (*borrowed)->size() || size > (*borrowed)->size() - offset ||
      padded > (*borrowed)->size() - offset) {
    return failure(
        "usage/range",
        std::format("a tensor of {} bytes does not fit {} bytes at byte {} of a buffer of {}",
                    padded, size, offset, (*borrowed)->size()),
        "kernels own whole 32-bit words: the range is rounded up to 4 bytes");
  }
  const PlanTensor tensor = plan_tensor("tensor", dtype, storage, form.packed, shape, *bytes);
  return placed_tensor(runtime.impl(), *session, tensor,
                       gpu::Slice{std::move(*borrowed), offset, size}, nullptr);
}

DType Tensor::dtype() const { return impl_ ? impl_->dtype : DType::f32; }
DType Tensor::storage() const { return impl_ ? impl_->storage : DType::f32; }
bool Tensor::packed() const { return impl_ && impl_->packed; }

const Shape& Tensor::shape() const {
  static const wgk::Shape kNone;
  return impl_ ? impl_->shape : kNone;
}

std::int64_t Tensor::elements() const {
  if (!impl_) return 0;
  return element_count(impl_->shape).value_or(0);
}

std::uint64_t Tensor::byte_length() const { return impl_ ? impl_->byte_length : 0; }

std::uint64_t Tensor::byte_offset() const {
  if (!impl_) return 0;
  const std::lock_guard lock(impl_->mutex);
  return impl_->slice.offset;
}

WGPUBuffer Tensor::buffer() const {
  if (!impl_) return nullptr;
  const std::lock_guard lock(impl_->mutex);
  return impl_->slice.buffer ? impl_->slice.buffer->handle() : nullptr;
}

bool Tensor::borrowed() const {
  if (!impl_) return false;
  const std::lock_guard lock(impl_->mutex);
  return impl_->slice.buffer && !impl_->slice.buffer->owned();
}

Result<HostArray> Tensor::download() const {
  if (!impl_) return empty_tensor();
  auto array = download(0, elements());
  if (array) array->shape = impl_->shape;
  return array;
}

Result<HostArray> Tensor::download(std::int64_t first, std::int64_t count) const {
  if (!impl_) return empty_tensor();
  if (auto status = check_range(*this, first, count); !status)
    return std::unexpected(std::move(status.error()));
  HostArray array;
  array.dtype = impl_->dtype;
  array.shape = {count};
  const std::size_t width = host_bytes(impl_->dtype);
  if (!impl_->runtime) {
    const auto part = std::span(impl_->host->data)
                          .subspan(static_cast<std::size_t>(first) * width,
                                   static_cast<std::size_t>(count) * width);
    array.data.assign(part.begin(), part.end());
    return array;
  }
  array.data.resize(static_cast<std::size_t>(count) * width);
  if (count == 0) return array;
  auto session = impl_->runtime->live_session();
  if (!session) return std::unexpected(std::move(session.error()));
  auto slice = slice_of(*this, *session);
  if (!slice) return std::unexpected(std::move(slice.error()));
  const std::uint64_t stride = stride_of(*impl_);
  const gpu::Slice part{slice->buffer, slice->offset + static_cast<std::uint64_t>(first) * stride,
                        static_cast<std::uint64_t>(count) * stride};
  auto back = gpu::ReadBack::make((*session)->context, {&part, 1});
  if (!back) return std::unexpected(std::move(back.error()));
  if (auto status = (*back)->submit(); !status) return std::unexpected(std::move(status.error()));
  if (auto status = (*back)->start(); !status) return std::unexpected(std::move(status.error()));
  if (auto status = (*back)->wait(); !status) return std::unexpected(std::move(status.error()));
  PlanTensor form =
      plan_tensor("tensor", impl_->dtype, impl_->storage, impl_->packed, array.shape, part.size);
  if (auto status = planning::decode((*back)->data(0), form, array.data); !status)
    return std::unexpected(std::move(status.error()));
  return array;
}

Status Tensor::upload(const HostTensor& data, std::int64_t first) const {
  if (!impl_) return empty_tensor();
  auto count = element_count(data.shape);
  if (!count) return std::unexpected(std::move(count.error()));
  if (auto status = check_range(*this, first, *count); !status) return status;
  if (!impl_->runtime)
    return failure("usage/foreign", "the tensor is in host memory and cannot be written");
  if (impl_->host)
    return failure("usage/range", "the tensor keeps a host copy and cannot be changed",
                   "upload a new one");
  auto session = impl_->runtime->live_session();
  if (!session) return std::unexpected(std::move(session.error()));
  auto slice = slice_of(*this, *session);
  if (!slice) return std::unexpected(std::move(slice.error()));
  const std::uint64_t stride = stride_of(*impl_);
  const std::uint64_t bytes = static_cast<std::uint64_t>(*count) * stride;
  // Packed elements share words; encoding rounds them up, writing must not.
  const PlanTensor form = plan_tensor("tensor", impl_->dtype, impl_->storage, impl_->packed,
                                      {*count}, impl_->packed ? (bytes + 3) / 4 * 4 : bytes);
  auto encoded = planning::encode(data.data, data.array.value_or(data.dtype), form);
  if (!encoded) return std::unexpected(std::move(encoded.error()));
  return gpu::write(
      (*session)->context,
      {slice->buffer, slice->offset + static_cast<std::uint64_t>(first) * stride, bytes},
      std::span(*encoded).first(bytes));
}

Result<Tensor> Tensor::reshaped(wgk::Shape shape) const {
  if (!impl_) return empty_tensor();
  auto count = element_count(shape);
  if (!count) return std::unexpected(std::move(count.error()));
  if (*count != elements()) {
    return failure(
        "request/shape",
        std::format("a tensor of {} elements cannot be viewed as one of {}", elements(), *count));
  }
  const std::lock_guard lock(impl_->mutex);
  auto copy = clone(*impl_);
  copy->shape = std::move(shape);
  return Tensor(std::move(copy));
}

}  // namespace wgk
