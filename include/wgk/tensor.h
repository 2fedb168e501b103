// SPDX-License-Identifier: Apache-2.0
// Tensors: views of host memory, owned host arrays, and ranges of device buffers.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "wgk/dtype.h"
#include "wgk/error.h"
#include "wgk/webgpu_handles.h"

namespace wgk {

class Runtime;

// The C++ type of a dtype's host elements. float16 is held as its 16 bits.
template <class T>
concept HostElement =
    std::same_as<T, float> || std::same_as<T, std::int8_t> || std::same_as<T, std::int16_t> ||
    std::same_as<T, std::int32_t> || std::same_as<T, std::int64_t> ||
    std::same_as<T, std::uint8_t> || std::same_as<T, std::uint16_t> ||
    std::same_as<T, std::uint32_t> || std::same_as<T, bool>;

template <HostElement T>
constexpr DType dtype_of() {
  if constexpr (std::same_as<T, float>) return DType::f32;
  if constexpr (std::same_as<T, std::int8_t>) return DType::i8;
  if constexpr (std::same_as<T, std::int16_t>) return DType::i16;
  if constexpr (std::same_as<T, std::int32_t>) return DType::i32;
  if constexpr (std::same_as<T, std::int64_t>) return DType::i64;
  if constexpr (std::same_as<T, std::uint8_t>) return DType::u8;
  if constexpr (std::same_as<T, std::uint16_t>) return DType::f16;
  if constexpr (std::same_as<T, std::uint32_t>) return DType::u32;
  return DType::boolean;
}

// A dense row-major array in host memory: a view, copied only on upload. Elements are
// host_bytes(dtype) wide.
struct HostTensor {
  std::span<const std::byte> data;
  DType dtype = DType::f32;
  Shape shape;
  // The dtype of the array that the data came from, where `dtype` was stated apart from it.
  std::optional<DType> array;

  HostTensor() = default;
  HostTensor(std::span<const std::byte> bytes, DType type, Shape dims)
      : data(bytes), dtype(type), shape(std::move(dims)) {}
  template <HostElement T>
  HostTensor(std::span<const T> values, Shape dims)
      : data(std::as_bytes(values)), dtype(dtype_of<T>()), shape(std::move(dims)) {}
  template <HostElement T>
  HostTensor(const std::vector<T>& values, Shape dims)
      : HostTensor(std::span<const T>(values), std::move(dims)) {}
};

// A host array that owns its elements.
struct HostArray {
  std::vector<std::byte> data;
  DType dtype = DType::f32;
  Shape shape;

  HostTensor view() const { return {std::span<const std::byte>(data), dtype, shape}; }
  // The elements, if T is this dtype's host type; else nothing.
  template <HostElement T>
  std::span<const T> as() const {
    if (dtype != dtype_of<T>()) return {};
    return {reinterpret_cast<const T*>(data.data()), data.size() / sizeof(T)};
  }
};

// How a device buffer holds the elements, where that is not the usual way.
struct TensorForm {
  std::optional<DType> storage = {};  // int64 held as int32 or uint32
  bool packed = false;                // uint8, four to a word
};

// A range of a device buffer with a shape and a dtype, or (results that were read back) the same in
// host memory. A cheap handle: copies share, the last one gives an owned buffer back. A
// default-made one is empty; every operation on it says so.
class Tensor {
 public:
  Tensor() = default;

  // Borrows a caller's buffer: it is never destroyed here. Kernels own whole 32-bit words, so the
  // range counts as rounded up to 4 bytes. `size` may be larger than the tensor. Errors:
  // "usage/range", "usage/buffer-usage".
  static Result<Tensor> wrap(const Runtime& runtime, WGPUBuffer buffer, std::uint64_t offset,
                             std::uint64_t size, Shape shape, DType dtype,
                             const TensorForm& form = {});

  explicit operator bool() const { return impl_ != nullptr; }
  DType dtype() const;
  DType storage() const;  // element type in the buffer
  bool packed() const;
  const Shape& shape() const;
  std::int64_t elements() const;
  std::uint64_t byte_length() const;  // in the buffer
  std::uint64_t byte_offset() const;
  WGPUBuffer buffer() const;  // null for a tensor in host memory
  bool borrowed() const;

  // Waits for everything submitted before, then copies to the host.
  Result<HostArray> download() const;
  // Elements [first, first + count) in row-major order; the result has rank 1.
  Result<HostArray> download(std::int64_t first, std::int64_t count) const;
  template <HostElement T>
  Result<std::vector<T>> download() const;

  // Queued at once, not waited for; the host data may go away. The elements beside the range keep
  // their values, also those that share a 32-bit word with it.
  Status upload(const HostTensor& data, std::int64_t first = 0) const;

  // The same elements in another shape of equal size.
  Result<Tensor> reshaped(Shape shape) const;

  // For the library's own use.
  struct Impl;
  explicit Tensor(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
  const std::shared_ptr<Impl>& impl() const { return impl_; }

 private:
  std::shared_ptr<Impl> impl_;
};

template <HostElement T>
Result<std::vector<T>> Tensor::download() const {
  auto array = download();
  if (!array) return std::unexpected(std::move(array.error()));
  if (array->dtype != dtype_of<T>()) {
    return failure("request/dtype", "the tensor holds " + std::string(name(array->dtype)) +
                                        ", asked for were elements of " +
                                        std::string(name(dtype_of<T>())));
  }
  std::vector<T> values(array->data.size() / sizeof(T));
  if constexpr (std::same_as<T, bool>) {
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = array->data[i] != std::byte{0};
  } else if (!values.empty()) {
    std::memcpy(values.data(), array->data.data(), array->data.size());
  }
  return values;
}

}  // namespace wgk
