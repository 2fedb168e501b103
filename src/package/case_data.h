// SPDX-License-Identifier: Apache-2.0
// The elements that test and bench files describe, as host arrays.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "package/cases.h"

namespace wgk::package {

// The i-th output of SplitMix64 started at `seed`, i from 0.
std::uint64_t split_mix64(std::uint64_t seed, std::uint64_t index);

struct DataLimits {
  std::uint64_t max_bytes = std::uint64_t{4} << 30;
};

// The tensor as a host array of its dtype, row-major. Errors: "package/cases" (a value that the
// dtype cannot hold, a mask whose shape is not the tensor's), "limit/buffer" (larger than the
// limit).
Result<std::vector<std::byte>> make_host_data(const CaseTensor& tensor,
                                              const DataLimits& limits = {});

// Writes pokes into a host array.
Status apply_pokes(std::span<const Poke> pokes, DType dtype, std::span<std::byte> data);

// One element of a host array. int64 values beyond 2^53 lose their last bits.
double host_value(DType dtype, std::span<const std::byte> data, std::size_t index);

// Rounds to the dtype (to nearest, ties to even) and stores. Errors: "package/cases" when an
// integer type cannot hold the value.
Status store_host_value(DType dtype, double value, std::span<std::byte> data, std::size_t index);

}  // namespace wgk::package
