// SPDX-License-Identifier: Apache-2.0
// Times prepared calls on one device: warmed up, repeated to a target time, guarded against dropped
// clocks, interleaved on request.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "bench/clock_guard.h"
#include "bench/device_plans.h"
#include "bench/device_speed.h"
#include "bench/keep_awake.h"
#include "gpu/executor.h"
#include "gpu/timing.h"
#include "wgk/error.h"

namespace wgk::bench {

// The bound calls that one measurement takes in turn: several for cold figures; one for hot ones,
// or one for each place that the buffers are tried in.
using Rotation = std::vector<std::shared_ptr<gpu::Bound>>;

struct TimerOptions {
  std::size_t samples = 30;            // passes per measurement
  std::optional<double> pass_seconds;  // device time of one pass; default 2 ms, 20 ms on software
  double warm_up_seconds = 0.2;
  std::uint32_t max_repetitions = 20'000;  // of a call in one pass
  std::size_t max_retries = 3;             // of a measurement that the clock guard refuses
  bool host_clock = false;                 // although the device has timestamps
  bool keep_awake = false;                 // the cores, during measurements
};

struct Timing {
  std::vector<double> seconds;    // per call, one entry per pass
  std::uint32_t repetitions = 0;  // calls per pass
  ClockGuard::Outcome clock;
};

class Timer {
 public:
  // `software`: a CPU driver; it has no clocks to guard and is timed by the host when it has no
  // timestamps.
  static Result<std::unique_ptr<Timer>> make(gpu::Context context, bool software,
                                             const TimerOptions& options = {});

  // Times each rotation; with several, their passes alternate A, B, A, B, so that drifts hit all
  // alike. The passes of the first `staying` rotations stay on one set each, which was called just
  // before, and take the sets in turn; those of the others go through the sets.
  Result<std::vector<Timing>> measure(std::span<const Rotation> rotations, std::size_t staying = 0);

  // `cache_bytes`: buffers of the copy rotate past it.
  Result<DeviceSpeed> device_speed(double cache_bytes);

  // A plan on buffers of its own that hold bits without a pattern, in as many sets as go past
  // `cache_bytes`; in one with 0.
  Result<Rotation> rotation_of(const std::shared_ptr<const Plan>& plan, double cache_bytes) const;
  // A plan on the buffers of other calls: its tensors are theirs with the indices `slots`.
  Result<Rotation> rotation_on(const std::shared_ptr<const Plan>& plan, const Rotation& calls,
                               std::span<const std::size_t> slots) const;

  // Copies of large buffers: what the speed of other calls is measured against.
  Result<Rotation> copy_rotation(double cache_bytes) const;
  std::uint64_t copied_bytes() const;  // read and written by one call of it

  bool device_clock() const { return device_clock_; }
  // Lives as long as the cores are to be kept awake; nothing without that option.
  Result<std::optional<KeepAwake>> keep_awake() const;

 private:
  Timer(gpu::Context context, bool software, const TimerOptions& options)
      : context_(std::move(context)), software_(software), options_(options) {}
  // `position` is where in the rotation the calls begin; it moves on, so that the passes of a
  // measurement take every set in turn.
  Result<double> time(const Rotation& rotation, std::uint32_t repetitions,
                      std::size_t* position = nullptr) const;
  Result<std::uint32_t> calibrate(const Rotation& rotation) const;
  Status prepare_guard();
  Result<std::vector<Timing>> measure_once(std::span<const Rotation> rotations,
                                           std::size_t staying);

  gpu::Context context_;
  bool software_;
  TimerOptions options_;
  bool device_clock_ = false;
  std::optional<ClockGuard> guard_;
};

// For each rotation the first one whose buffers it uses, itself otherwise. Those that share buffers
// take turns in going through the sets: what one has just touched is in the cache for the next.
std::vector<std::size_t> memory_groups(std::span<const Rotation> rotations);

// A call's buffers cut out of one arena per port, so that `sets` sets differ in address and every
// set still waits for the one before. Slices are aligned for binding. Fresh arenas hold zeros.
Result<std::vector<std::vector<gpu::Slice>>> make_arenas(const gpu::Context& context,
                                                         const Plan& plan, std::size_t sets);

// How many sets keep every access out of a cache of `cache_bytes`: at least 2, at most what
// `memory_bytes` holds.
std::size_t cold_sets(const Plan& plan, double cache_bytes, double memory_bytes);

// In how many places hot buffers of calls that are compared are tried: at most what `memory_bytes`
// holds.
std::size_t hot_places(const Plan& plan, double memory_bytes);

}  // namespace wgk::bench
