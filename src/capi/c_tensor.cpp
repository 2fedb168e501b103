// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "capi/handles.h"

using namespace wgk;        // NOLINT(google-build-using-namespace)
using namespace wgk::capi;  // NOLINT(google-build-using-namespace)

extern "C" {

wgk_status wgk_tensor_upload(const wgk_runtime* runtime, const wgk_host_tensor* data,
                             const wgk_upload_options* options, wgk_tensor** tensor,
                             wgk_error** error) {
  return guarded(error, [&]() -> Status {
    if (auto status = check(runtime, tensor); !status) return status;
    auto host = parse_host(data);
    if (!host) return std::unexpected(std::move(host.error()));
    auto wanted = parse_upload(options);
    if (!wanted) return std::unexpected(std::move(wanted.error()));
    return give_handle(runtime->value.upload(*host, *wanted), tensor);
  });
}

wgk_status wgk_tensor_empty(const wgk_runtime* runtime, wgk_dtype dtype, const int64_t* shape,
                            size_t rank, wgk_tensor** tensor, wgk_error** error) {
  return guarded(error, [&]() -> Status {
    if (auto status = check(runtime, tensor); !status) return status;
    auto type = parse_dtype(dtype);
    if (!type) return std::unexpected(std::move(type.error()));
    auto dims = parse_shape(shape, rank);
    if (!dims) return std::unexpected(std::move(dims.error()));
    return give_handle(runtime->value.empty(*type, std::move(*dims)), tensor);
  });
}

wgk_status wgk_tensor_zeros(const wgk_runtime* runtime, wgk_dtype dtype, const int64_t* shape,
                            size_t rank, wgk_tensor** tensor, wgk_error** error) {
  return wgk_tensor_empty(runtime, dtype, shape, rank, tensor, error);
}

wgk_status wgk_tensor_wrap(const wgk_runtime* runtime, struct WGPUBufferImpl* buffer,
                           uint64_t offset, uint64_t size, const int64_t* shape, size_t rank,
                           wgk_dtype dtype, const wgk_tensor_form* form, wgk_tensor** tensor,
                           wgk_error** error) {
  return guarded(error, [&]() -> Status {
    if (auto status = check(runtime, tensor); !status) return status;
    auto type = parse_dtype(dtype);
    if (!type) return std::unexpected(std::move(type.error()));
    auto dims = parse_shape(shape, rank);
    if (!dims) return std::unexpected(std::move(dims.error()));
    auto wanted = parse_form(form);
    if (!wanted) return std::unexpected(std::move(wanted.error()));
    return give_handle(
        Tensor::wrap(runtime->value, buffer, offset, size, std::move(*dims), *type, *wanted),
        tensor);
  });
}

wgk_tensor* wgk_tensor_share(const wgk_tensor* tensor) {
  return tensor == nullptr ? nullptr : new (std::nothrow) wgk_tensor{tensor->value};
}
void wgk_tensor_free(wgk_tensor* tensor) { delete tensor; }
wgk_dtype wgk_tensor_dtype(const wgk_tensor* tensor) {
  return tensor == nullptr ? WGK_DTYPE_DEFAULT : dtype_of(tensor->value.dtype());
}
wgk_dtype wgk_tensor_storage(const wgk_tensor* tensor) {
  return tensor == nullptr ? WGK_DTYPE_DEFAULT : dtype_of(tensor->value.storage());
}
bool wgk_tensor_packed(const wgk_tensor* tensor) {
  return tensor != nullptr && tensor->value.packed();
}
bool wgk_tensor_borrowed(const wgk_tensor* tensor) {
  return tensor != nullptr && tensor->value.borrowed();
}
size_t wgk_tensor_rank(const wgk_tensor* tensor) {
  return tensor == nullptr ? 0 : tensor->value.shape().size();
}
const int64_t* wgk_tensor_shape(const wgk_tensor* tensor) {
  return tensor == nullptr ? nullptr : tensor->value.shape().data();
}
int64_t wgk_tensor_elements(const wgk_tensor* tensor) {
  return tensor == nullptr ? 0 : tensor->value.elements();
}
uint64_t wgk_tensor_byte_length(const wgk_tensor* tensor) {
  return tensor == nullptr ? 0 : tensor->value.byte_length();
}
uint64_t wgk_tensor_byte_offset(const wgk_tensor* tensor) {
  return tensor == nullptr ? 0 : tensor->value.byte_offset();
}
struct WGPUBufferImpl* wgk_tensor_buffer(const wgk_tensor* tensor) {
  return guarded_or<WGPUBufferImpl*>(
      nullptr, [&] { return tensor == nullptr ? nullptr : tensor->value.buffer(); });
}
uint64_t wgk_tensor_host_size(const wgk_tensor* tensor) {
  if (tensor == nullptr) return 0;
  return static_cast<uint64_t>(tensor->value.elements()) * host_bytes(tensor->value.dtype());
}

wgk_status wgk_tensor_download(const wgk_tensor* tensor, int64_t first, int64_t count, void* data,
                               size_t size, wgk_error** error) {
  return guarded(error, [&]() -> Status {
    if (auto status = check(tensor); !status) return status;
    if (size > 0 && data == nullptr) return failure("usage/arguments", "data is null");
    auto array = tensor->value.download(first, count);
    if (!array) return std::unexpected(std::move(array.error()));
    if (array->data.size() != size) {
      return failure("request/length", "data has " + std::to_string(size) +
                                           " bytes; the elements have " +
                                           std::to_string(array->data.size()));
    }
    std::ranges::copy(array->data, static_cast<std::byte*>(data));
    return {};
  });
}

wgk_status wgk_tensor_write(const wgk_tensor* tensor, const wgk_host_tensor* data, int64_t first,
                            wgk_error** error) {
  return guarded(error, [&]() -> Status {
    if (auto status = check(tensor); !status) return status;
    auto host = parse_host(data);
    if (!host) return std::unexpected(std::move(host.error()));
    return tensor->value.upload(*host, first);
  });
}

wgk_status wgk_tensor_reshape(const wgk_tensor* tensor, const int64_t* shape, size_t rank,
                              wgk_tensor** reshaped, wgk_error** error) {
  return guarded(error, [&]() -> Status {
    if (auto status = check(tensor, reshaped); !status) return status;
    auto dims = parse_shape(shape, rank);
    if (!dims) return std::unexpected(std::move(dims.error()));
    return give_handle(tensor->value.reshaped(std::move(*dims)), reshaped);
  });
}

}  // extern "C"
