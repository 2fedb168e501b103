// SPDX-License-Identifier: Apache-2.0
// Tensors in files: NumPy's .npy and safetensors. Strict: what a header says must be what the file
// holds ("io/format").
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "wgk/dtype.h"
#include "wgk/error.h"

namespace wgk::io {

// A dense row-major host array: little-endian elements of host_bytes(dtype) each.
struct HostArray {
  DType dtype = DType::f32;
  Shape shape;
  std::string data;
};

// Of a tensor in a file that is read.
inline constexpr std::size_t kMostDims = 64;

Result<HostArray> parse_npy(std::string_view file);
std::string format_npy(DType dtype, const Shape& shape, std::span<const std::byte> data);

// Where one tensor of a safetensors file lies: offsets into the data that follows the header.
struct SafetensorsEntry {
  DType dtype = DType::f32;
  Shape shape;
  std::uint64_t begin = 0, end = 0;
};
// `data_bytes`: how many bytes follow the header in the file.
Result<SafetensorsEntry> find_safetensors_entry(std::string_view header, std::string_view key,
                                                std::uint64_t data_bytes);

// "x.npy", or "file.safetensors:key".
Result<HostArray> read_array(std::string_view place);

}  // namespace wgk::io
