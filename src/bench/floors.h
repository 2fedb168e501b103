// SPDX-License-Identifier: Apache-2.0
// Kernels that only move what a case must move: what its own kernel is measured against.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "bench/device_plans.h"
#include "wgk/device_caps.h"
#include "wgk/error.h"
#include "wgk/plan.h"

namespace wgk::bench {

// The large tensors of a case, as if all of its traffic were theirs.
struct Streams {
  std::vector<std::size_t> read, written;  // tensors of the plan
  std::uint64_t bytes = 0;                 // of each
  bool own = false;  // they are equal and as large as that: a floor can use them

  int reads() const { return std::clamp(static_cast<int>(read.size()), 1, 4); }
  int writes() const { return std::clamp(static_cast<int>(written.size()), 1, 4); }
  // The tensors in the order in which plans of streams bind theirs.
  std::vector<std::size_t> slots() const {
    std::vector<std::size_t> all = read;
    all.append_range(written);
    return all;
  }
};

// `least_bytes`: what the case must move.
Streams streams_of(const Plan& plan, double least_bytes);

// The tried ways in which two dispatches move the streams of a plan of several, of which the last
// one needs a result of those before it: what these read is read again; or kept where they write
// it, in an output or in a buffer of the plan's own (a stream behind the others), if they do; or
// all is read at first, so that it is near when it is needed.
std::vector<TwoSteps> two_steps(const Plan& plan, const Streams& streams);
// The one of them that a plan of more dispatches takes itself, with a dispatch between the two.
TwoSteps merged_steps(const std::vector<TwoSteps>& forms);

struct Floor {
  std::string label;  // begins with "floor "
  std::shared_ptr<const Plan> plan;
  double bytes = 0;                 // moved at least
  bool on_buffers_of_case = false;  // its tensors are those of the case in `slots`
  std::vector<std::size_t> slots;
};
struct FloorKinds {
  bool streams = false;    // only read and write
  bool sums = false;       // also sum up what a workgroup reads before they write
  std::size_t shapes = 8;  // of workgroups, at most, that only read and write
};
// Kernels that read and write as many large tensors as the case has, with as many bytes in all, and
// in the very buffers of the case where they can: where a buffer lies is worth up to 2 %. Of plans
// of several dispatches: two such kernels of which one waits for the other.
Result<std::vector<Floor>> floors_of(const Plan& plan, const Streams& streams,
                                     const DeviceCaps& caps, const FloorKinds& kinds);

}  // namespace wgk::bench
