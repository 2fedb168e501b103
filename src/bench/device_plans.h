// SPDX-License-Identifier: Apache-2.0
// Plans that measure the device itself: what it copies, what an empty and a dependent dispatch
// cost, and a steady load.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "wgk/error.h"
#include "wgk/plan.h"

namespace wgk::bench {

// How a kernel of streams is cut up: `lanes` lanes of a workgroup take `items` vectors of 16 bytes
// each. With 2 to 8 items the vectors of a buffer must be a multiple of lanes * items; more of them
// are a loop.
struct StreamShape {
  std::uint32_t lanes = 256, items = 1;
};
// Reads `reads` and writes `writes` buffers of `bytes` each (a multiple of 16). reads and writes
// are 1 to 4.
Result<std::shared_ptr<const Plan>> streams_plan(int reads, int writes, std::uint64_t bytes,
                                                 const StreamShape& shape = {});
// What a dispatch of two reads and writes: buffers counted from the first that is read to the last
// that is written; one behind them belongs to neither and takes values from one to the other.
struct StepStreams {
  std::vector<std::size_t> reads, writes;
};
struct TwoSteps {
  StepStreams first, second;
  bool merged = false;  // a small dispatch stands between them and hands the word on
};
// Such streams in two dispatches, of which the second waits for a word of the first: the floor of
// what needs a reduction over many workgroups before its last write.
Result<std::shared_ptr<const Plan>> twice_plan(int reads, int writes, const TwoSteps& steps,
                                               std::uint64_t bytes, const StreamShape& shape = {});
// Reads and writes as streams_plan, in `groups` workgroups of `lanes` lanes (a multiple of
// `subgroup`, the device's only subgroup size) with `items` vectors of 16 bytes each; the last
// write of a workgroup waits for a sum over what it read, or all of them (`late`): the floor of a
// norm with a workgroup a row. Or `slices` workgroups read the same each and write a slice, which
// is all that they read of the last `parted` buffers.
struct SumShape {
  std::uint32_t groups = 1, lanes = 1, items = 1, subgroup = 1;
  std::uint32_t slices = 1, parted = 0;
  bool late = false;
  std::uint64_t bytes() const { return std::uint64_t{16} * groups * lanes * items; }
};
Result<std::shared_ptr<const Plan>> sums_plan(int reads, int writes, const SumShape& shape);
inline constexpr std::uint32_t kLineBytes = 128;  // of a memory line: accesses begin on their grid

// Reads and writes as streams_plan, in `groups` workgroups that take `row_bytes` bytes each, one
// after the other in memory, by `unit` bytes (4, 8 or 16) at a time: tensors whose rows no vector
// of 16 bytes divides. Each workgroup also reads `shared` more buffers of `shared_bytes` (a
// multiple of 4). Where `subgroup` is the device's only subgroup size, not 0, the writes of a
// workgroup wait for a sum over what it read.
struct RowShape {
  std::uint32_t groups = 1, row_bytes = 4, unit = 4, lanes = 1;
  std::uint32_t shared = 0, shared_bytes = 0, subgroup = 0;
  std::uint64_t bytes() const { return std::uint64_t{groups} * row_bytes; }
};
Result<std::shared_ptr<const Plan>> rows_plan(int reads, int writes, const RowShape& shape);
// Reads and writes as sums_plan, but in rows of `slices` workgroups, and the last write of a
// workgroup waits for the sums of all of its row: the floor of a norm in one dispatch whose rows
// are shared by workgroups that run at once.
struct ExchangeShape {
  std::uint32_t rows = 1, slices = 1, lanes = 1, items = 1, subgroup = 1;
  std::uint64_t bytes() const { return std::uint64_t{16} * rows * slices * lanes * items; }
};
Result<std::shared_ptr<const Plan>> exchange_plan(int reads, int writes,
                                                  const ExchangeShape& shape);
// Fills a buffer of `bytes` (a multiple of 16) with bits without a pattern.
Result<std::shared_ptr<const Plan>> noise_plan(std::uint64_t bytes);
Result<std::shared_ptr<const Plan>> empty_plan();
Result<std::shared_ptr<const Plan>> dependent_plan();
// A float32 matrix product of `size` (a multiple of 64): 2 size^3 FLOP.
Result<std::shared_ptr<const Plan>> load_plan(std::uint32_t size);

}  // namespace wgk::bench
