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
// Fills a buffer of `bytes` (a multiple of 16) with bits without a pattern.
Result<std::shared_ptr<const Plan>> noise_plan(std::uint64_t bytes);
Result<std::shared_ptr<const Plan>> empty_plan();
Result<std::shared_ptr<const Plan>> dependent_plan();
// A float32 matrix product of `size` (a multiple of 64): 2 size^3 FLOP.
Result<std::shared_ptr<const Plan>> load_plan(std::uint32_t size);

}  // namespace wgk::bench
