// SPDX-License-Identifier: Apache-2.0
// Between host arrays (natural widths) and the form that device buffers hold: widened small
// integers, packed uint8, narrowed int64.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "wgk/dtype.h"
#include "wgk/error.h"
#include "wgk/plan.h"

namespace wgk::planning {

// Exact bytes of `elements` elements in device form; packed uint8 takes whole words.
Result<std::uint64_t> device_byte_length(DType storage, bool packed, std::int64_t elements);

// max(4, bytes rounded up to 4): what a buffer has and a binding covers.
std::uint64_t padded_size(std::uint64_t byte_length);

// Whether host arrays of element type `host` can be uploaded to a tensor of logical type `dtype`
// held as `storage`.
bool can_encode(DType host, DType dtype, DType storage);

// Whether a host array of `size` bytes already has the bytes that the buffer must hold.
bool has_device_form(DType host, const PlanTensor& tensor, std::size_t size);

// The first element that checked narrowing refuses ("request/value" with index, value and range);
// `port` is for the message.
Status check_narrowing(std::span<const std::byte> host, DType storage, std::string_view port);

// Writes `host` (elements of type `host_type`) in the tensor's device form to the front of `out`;
// the rest of `out` becomes zero. Errors: "request/length" when host or out has another size than
// the tensor needs, "request/dtype", "request/value" (checked narrowing).
Status encode(std::span<const std::byte> host, DType host_type, const PlanTensor& tensor,
              std::span<std::byte> out);

// The same into a fresh vector of `tensor.buffer_size` bytes.
Result<std::vector<std::byte>> encode(std::span<const std::byte> host, DType host_type,
                                      const PlanTensor& tensor);

// The inverse for read-back: device bytes to a host array of the tensor's logical type at its
// natural width. Small integers wrap, bool becomes 0 or 1, projected int64 is widened. `host` must
// have host_bytes(tensor.dtype) per element.
Status decode(std::span<const std::byte> device, const PlanTensor& tensor,
              std::span<std::byte> host);

// Bytes of the host array that holds the tensor.
Result<std::uint64_t> host_byte_length(const PlanTensor& tensor);

}  // namespace wgk::planning
