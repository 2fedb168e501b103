// SPDX-License-Identifier: Apache-2.0
// Plans that measure the device itself: what it copies, what an empty and a dependent dispatch
// cost, and a steady load.
#pragma once

#include <cstdint>
#include <memory>

#include "wgk/error.h"
#include "wgk/plan.h"

namespace wgk::bench {

// Reads `reads` and writes `writes` buffers of `bytes` each (a multiple of 16), 16 bytes per lane.
// reads and writes are 1 to 4.
Result<std::shared_ptr<const Plan>> streams_plan(int reads, int writes, std::uint64_t bytes);
// The same after a dispatch that reads everything once, on which the second one depends: the floor
// of what needs a reduction over all of it first.
Result<std::shared_ptr<const Plan>> twice_plan(int reads, int writes, std::uint64_t bytes);
// Reads and writes as streams_plan, in `groups` workgroups of `lanes` lanes (a multiple of
// `subgroup`, the device's only subgroup size) with `items` vectors of 16 bytes each; the last
// write of a workgroup waits for a sum over what it read: the floor of a norm with a workgroup a
// row.
struct SumShape {
  std::uint32_t groups = 1, lanes = 1, items = 1, subgroup = 1;
  std::uint64_t bytes() const { return std::uint64_t{16} * groups * lanes * items; }
};
Result<std::shared_ptr<const Plan>> sums_plan(int reads, int writes, const SumShape& shape);
// Fills a buffer of `bytes` (a multiple of 16) with bits without a pattern.
Result<std::shared_ptr<const Plan>> noise_plan(std::uint64_t bytes);
Result<std::shared_ptr<const Plan>> empty_plan();
Result<std::shared_ptr<const Plan>> dependent_plan();
// A float32 matrix product of `size` (a multiple of 64): 2 size^3 FLOP.
Result<std::shared_ptr<const Plan>> load_plan(std::uint32_t size);

}  // namespace wgk::bench
