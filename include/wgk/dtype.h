// SPDX-License-Identifier: Apache-2.0
// Element types as callers know them (logical) and as buffers hold them (storage).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace wgk {

// The nine element types of the package format. Host arrays hold them at their natural width
// (boolean: one byte).
enum class DType : std::uint8_t { f32, f16, i8, i16, i32, i64, u8, u32, boolean };

using Shape = std::vector<std::int64_t>;

// Name in packages, files and messages: "float32", "float16", "int8", ..., "bool".
std::string_view name(DType dtype);
std::optional<DType> dtype_from_name(std::string_view text);
std::span<const std::string_view> dtype_names();  // all nine

// Bytes of one element in a host array: 4, 2, 1, 2, 4, 8, 1, 4, 1.
std::size_t host_bytes(DType dtype);

// Bytes of one element in a device buffer: small integers and bool are widened to 4 (int64 is 8,
// float16 is 2).
std::size_t device_bytes(DType dtype);

// WGSL scalar of the device form: "f32", "f16", "i32", "u32" or "vec2<u32>".
std::string_view wgsl_scalar(DType dtype);

}  // namespace wgk
