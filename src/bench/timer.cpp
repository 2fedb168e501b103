// SPDX-License-Identifier: Apache-2.0
#include "bench/timer.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>

#include "base/try.h"
#include "bench/device_plans.h"
#include "bench/statistics.h"
#include "gpu/transfer.h"

namespace wgk::bench {
namespace {

constexpr double kGuardPassSeconds = 5e-3;
constexpr std::uint32_t kLoadSize = 2048;
constexpr std::uint64_t kCopyBytes = std::uint64_t{256} << 20;
constexpr double kArenaBytes = 6.0 * (1 << 30);

double elapsed_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

std::uint64_t round_up(std::uint64_t value, std::uint64_t step) {
  return (value + step - 1) / step * step;
}

// `plan` bound to `sets` sets of zeroed buffers.
Result<Rotation> bind_sets(const gpu::Context& context, const std::shared_ptr<const Plan>& plan,
                           std::size_t sets) {
  auto prepared = gpu::Prepared::make(context, plan);
  if (!prepared) return std::unexpected(std::move(prepared.error()));
  auto slices = make_arenas(context, *plan, sets);
  if (!slices) return std::unexpected(std::move(slices.error()));
  Rotation rotation;
  for (auto& set : *slices) {
    auto bound = gpu::Bound::make(*prepared, std::move(set));
    if (!bound) return std::unexpected(std::move(bound.error()));
    rotation.push_back(std::move(*bound));
  }
  return rotation;
}

// Fills what the plans of `rotation` read with noise; sets share arenas, which are filled as a
// whole, in pieces that can be bound.
Status fill_inputs(const gpu::Context& context, const Rotation& rotation) {
  std::vector<gpu::Slice> arenas;
  for (const auto& bound : rotation) {
    const std::vector<PlanTensor>& tensors = bound->prepared().plan().tensors;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      const gpu::Slice& slice = bound->tensors()[i];
      if (!tensors[i].is_input) continue;
      auto arena = std::ranges::find(arenas, slice.buffer, &gpu::Slice::buffer);
      if (arena == arenas.end()) arena = arenas.insert(arena, {slice.buffer, 0, 0});
      arena->size = std::max(arena->size, (slice.offset + slice.size) / 16 * 16);
    }
  }
  const std::uint64_t most =
      std::min(kCopyBytes, context.device->limits().maxStorageBufferBindingSize / 256 * 256);
  for (gpu::Slice& arena : arenas) {
    for (const std::uint64_t end = arena.size; arena.offset < end; arena.offset += arena.size) {
      arena.size = std::min(most, end - arena.offset);
      WGK_ASSIGN(const auto plan, noise_plan(arena.size));
      WGK_ASSIGN(auto prepared, gpu::Prepared::make(context, plan));
      WGK_ASSIGN(const auto bound, gpu::Bound::make(std::move(prepared), {arena}));
      WGK_TRY(bound->submit());
    }
  }
  return gpu::wait_for_queue(*context.device);
}

}  // namespace

Result<std::vector<std::vector<gpu::Slice>>> make_arenas(const gpu::Context& context,
                                                         const Plan& plan, std::size_t sets) {
  std::vector<std::vector<gpu::Slice>> slices(sets);
  const std::uint64_t align =
      std::max<std::uint64_t>(256, context.device->limits().minStorageBufferOffsetAlignment);
  for (const PlanTensor& tensor : plan.tensors) {
    const std::uint64_t stride = round_up(tensor.buffer_size, align);
    // One arena may not be larger than a buffer can be; the sets then take turns in it.
    const std::uint64_t most = context.device->limits().maxBufferSize / stride;
    const std::uint64_t places =
        std::clamp<std::uint64_t>(sets, 1, std::max<std::uint64_t>(most, 1));
    auto arena =
        context.memory->allocate(stride * places, gpu::kTensorUsage, "bench " + tensor.port);
    if (!arena) return std::unexpected(std::move(arena.error()));
    if (arena->dirty) {
      if (auto status = gpu::clear(context, {arena->buffer, 0, stride * places}); !status)
        return std::unexpected(std::move(status.error()));
    }
    for (std::size_t i = 0; i < sets; ++i)
      slices[i].push_back({arena->buffer, stride * (i % places), tensor.buffer_size});
  }
  return slices;
}

double set_bytes(const Plan& plan) {
  double bytes = 0;
  for (const PlanTensor& tensor : plan.tensors)
    bytes += static_cast<double>(round_up(tensor.buffer_size, 256));
  return bytes;
}

std::size_t hot_places(const Plan& plan, double memory_bytes) {
  constexpr double kPlaces = 6;
  return static_cast<std::size_t>(
      std::clamp(std::floor(memory_bytes / std::max(set_bytes(plan), 1.0)), 1.0, kPlaces));
}

std::size_t cold_sets(const Plan& plan, double cache_bytes, double memory_bytes) {
  const double bytes = set_bytes(plan);
  if (bytes <= 0) return 1;
  const double wanted = std::ceil(3 * cache_bytes / bytes) + 1;
  const double most = std::max(1.0, std::floor(memory_bytes / bytes));
  return static_cast<std::size_t>(std::clamp(wanted, 2.0, std::max(2.0, std::min(most, 16384.0))));
}

Result<std::unique_ptr<Timer>> Timer::make(gpu::Context context, bool software,
                                           const TimerOptions& options) {
  std::unique_ptr<Timer> timer(new Timer(std::move(context), software, options));
  timer->device_clock_ =
      !options.host_clock && timer->context_.device->caps().has_feature("timestamp-query");
  if (auto status = timer->prepare_guard(); !status)
    return std::unexpected(std::move(status.error()));
  return timer;
}

Result<double> Timer::time(const Rotation& rotation, std::uint32_t repetitions,
                           std::size_t* position) const {
  Rotation turned;
  if (position != nullptr && rotation.size() > 1) {
    const std::size_t count = std::min<std::size_t>(rotation.size(), repetitions);
    for (std::size_t i = 0; i < count; ++i)
      turned.push_back(rotation[(*position + i) % rotation.size()]);
    *position = (*position + repetitions) % rotation.size();
  }
  const Rotation& calls = turned.empty() ? rotation : turned;
  auto nanoseconds = device_clock_ ? gpu::time_repetitions(calls, repetitions)
                                   : gpu::time_repetitions_on_host(calls, repetitions);
  if (!nanoseconds) return std::unexpected(std::move(nanoseconds.error()));
  return *nanoseconds * 1e-9;
}

Result<std::uint32_t> Timer::calibrate(const Rotation& rotation) const {
  const double target = options_.pass_seconds.value_or(software_ ? 20e-3 : 2e-3);
  // Fresh buffers are cleared at their first use: that call says nothing of the others.
  WGK_TRY(time(rotation, 1));
  std::uint32_t repetitions = 1;
  for (;;) {
    auto seconds = time(rotation, repetitions);
    if (!seconds) return std::unexpected(std::move(seconds.error()));
    // Something else may have had the processor meanwhile; too few calls would tell more of a pass
    // than of the calls.
    if (*seconds >= 0.9 * target) {
      WGK_ASSIGN(const double again, time(rotation, repetitions));
      *seconds = std::min(*seconds, again);
    }
    if (*seconds >= 0.9 * target || repetitions >= options_.max_repetitions) return repetitions;
    const double factor = *seconds > 0 ? std::clamp(1.05 * target / *seconds, 1.2, 20.0) : 20.0;
    repetitions = static_cast<std::uint32_t>(
        std::min<double>(std::ceil(repetitions * factor), options_.max_repetitions));
  }
}

std::vector<std::size_t> memory_groups(std::span<const Rotation> rotations) {
  std::vector<std::size_t> groups;
  const auto share = [](const Rotation& a, const Rotation& b) {
    return a.size() == b.size() &&
           std::ranges::any_of(a.front()->tensors(), [&](const gpu::Slice& mine) {
             return std::ranges::contains(b.front()->tensors(), mine.buffer, &gpu::Slice::buffer);
           });
  };
  for (std::size_t i = 0; i < rotations.size(); ++i) {
    const auto known = std::ranges::find_if(
        rotations.first(i), [&](const Rotation& other) { return share(rotations[i], other); });
    const auto at = static_cast<std::size_t>(known - rotations.begin());
    groups.push_back(at < i ? groups[at] : i);
  }
  return groups;
}

Status Timer::prepare_guard() {
  if (software_ || !device_clock_) return {};
  auto plan = load_plan(kLoadSize);
  if (!plan) return std::unexpected(std::move(plan.error()));
  auto rotation = bind_sets(context_, *plan, 1);
  if (!rotation) return std::unexpected(std::move(rotation.error()));
  auto once = time(*rotation, 1);
  if (!once) return std::unexpected(std::move(once.error()));
  const auto repetitions = static_cast<std::uint32_t>(
      std::clamp(kGuardPassSeconds / std::max(*once, 1e-6), 1.0, 10'000.0));
  guard_.emplace(
      [this, load = std::move(*rotation), repetitions] { return time(load, repetitions); },
      [] { return elapsed_since({}); });
  return guard_->bring_up();
}

Result<std::vector<Timing>> Timer::measure_once(std::span<const Rotation> rotations,
                                                std::size_t staying) {
  std::vector<Timing> timings(rotations.size());
  const std::vector<std::size_t> memory = memory_groups(rotations);
  std::vector<std::size_t> positions(rotations.size(), 0);
  for (std::size_t i = 0; i < rotations.size(); ++i) {
    auto repetitions = calibrate(i < staying ? Rotation{rotations[i].front()} : rotations[i]);
    if (!repetitions) return std::unexpected(std::move(repetitions.error()));
    timings[i].repetitions = *repetitions;
  }
  const auto pass = [&](std::size_t i, std::size_t round) -> Result<double> {
    if (i >= staying) return time(rotations[i], timings[i].repetitions, &positions[memory[i]]);
    const Rotation place{rotations[i][round % rotations[i].size()]};
    // The others have driven it out of the cache.
    if (rotations.size() > 1 || rotations[i].size() > 1) WGK_TRY(time(place, 1));
    return time(place, timings[i].repetitions);
  };
  const auto start = std::chrono::steady_clock::now();
  std::size_t round = 0;
  do {
    for (std::size_t i = 0; i < rotations.size(); ++i) WGK_TRY(pass(i, round));
    ++round;
  } while (elapsed_since(start) < options_.warm_up_seconds && !software_);
  for (std::size_t sample = 0; sample < options_.samples; ++sample) {
    for (std::size_t i = 0; i < rotations.size(); ++i) {
      auto seconds = pass(i, sample);
      if (!seconds) return std::unexpected(std::move(seconds.error()));
      timings[i].seconds.push_back(*seconds / timings[i].repetitions);
    }
  }
  return timings;
}

Result<std::optional<KeepAwake>> Timer::keep_awake() const {
  if (!options_.keep_awake) return std::nullopt;
  return KeepAwake::start();
}

Result<std::vector<Timing>> Timer::measure(std::span<const Rotation> rotations,
                                           std::size_t staying) {
  WGK_ASSIGN(const auto awake, keep_awake());
  if (!guard_) return measure_once(rotations, staying);
  std::vector<Timing> timings;
  const auto outcome = guard_->run(
      [&]() -> Status {
        auto once = measure_once(rotations, staying);
        if (!once) return std::unexpected(std::move(once.error()));
        timings = std::move(*once);
        return {};
      },
      options_.max_retries);
  if (!outcome) return std::unexpected(outcome.error());
  for (Timing& timing : timings) timing.clock = *outcome;
  return timings;
}

Result<Rotation> Timer::rotation_of(const std::shared_ptr<const Plan>& plan,
                                    double cache_bytes) const {
  const std::size_t sets = cache_bytes > 0 ? cold_sets(*plan, cache_bytes, kArenaBytes) : 1;
  WGK_ASSIGN(Rotation rotation, bind_sets(context_, plan, sets));
  WGK_TRY(fill_inputs(context_, rotation));
  return rotation;
}

Result<Rotation> Timer::rotation_on(const std::shared_ptr<const Plan>& plan, const Rotation& calls,
                                    std::span<const std::size_t> slots) const {
  WGK_ASSIGN(const auto prepared, gpu::Prepared::make(context_, plan));
  Rotation rotation;
  for (const auto& call : calls) {
    std::vector<gpu::Slice> slices;
    for (const std::size_t slot : slots) slices.push_back(call->tensors()[slot]);
    WGK_ASSIGN(auto bound, gpu::Bound::make(prepared, std::move(slices)));
    rotation.push_back(std::move(bound));
  }
  return rotation;
}

std::uint64_t Timer::copied_bytes() const {
  return 2 * std::min(software_ ? kCopyBytes / 4 : kCopyBytes,
                      context_.device->limits().maxStorageBufferBindingSize);
}

Result<Rotation> Timer::copy_rotation(double cache_bytes) const {
  WGK_ASSIGN(const auto plan, streams_plan(1, 1, copied_bytes() / 2));
  return rotation_of(plan, cache_bytes);
}

Result<DeviceSpeed> Timer::device_speed(double cache_bytes) {
  DeviceSpeed speed;
  auto copy = copy_rotation(cache_bytes);
  if (!copy) return std::unexpected(std::move(copy.error()));
  auto copied = measure({&*copy, 1});
  if (!copied) return std::unexpected(std::move(copied.error()));
  speed.copy_bytes_per_second =
      static_cast<double>(copied_bytes()) / summarize(copied->front().seconds).median;
  speed.clock_held = copied->front().clock.held;
  const auto one = [&](Result<std::shared_ptr<const Plan>> plan) -> Result<double> {
    if (!plan) return std::unexpected(std::move(plan.error()));
    auto rotation = bind_sets(context_, *plan, 1);
    if (!rotation) return std::unexpected(std::move(rotation.error()));
    auto timings = measure({&*rotation, 1});
    if (!timings) return std::unexpected(std::move(timings.error()));
    speed.clock_held = speed.clock_held && timings->front().clock.held;
    return summarize(timings->front().seconds).median;
  };
  auto empty = one(empty_plan());
  if (!empty) return std::unexpected(std::move(empty.error()));
  auto dependent = one(dependent_plan());
  if (!dependent) return std::unexpected(std::move(dependent.error()));
  speed.empty_dispatch_seconds = *empty;
  speed.dependent_dispatch_seconds = *dependent;
  return speed;
}

}  // namespace wgk::bench
