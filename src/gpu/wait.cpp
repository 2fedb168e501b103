// SPDX-License-Identifier: Apache-2.0
#include "gpu/wait.h"

#include <algorithm>
#include <cstdint>
#include <thread>
#include <utility>

#include "gpu/instance.h"

namespace wgk::gpu {
namespace {

WaitOutcome outcome_of(WGPUWaitStatus status) {
  switch (status) {
    case WGPUWaitStatus_Success: return WaitOutcome::kReady;
    case WGPUWaitStatus_TimedOut: return WaitOutcome::kTimedOut;
    default: return WaitOutcome::kFailed;
  }
}

WaitOutcome look(const Instance& instance, WGPUFutureWaitInfo& info) {
  const auto lock = instance.serial().lock();
  return outcome_of(instance.procs().instance_wait_any(instance.handle(), 1, &info, 0));
}

// An instance without timed waits can only be asked again: often at first, then ever less. So is
// one whose device others must be able to call meanwhile.
WaitOutcome poll(const Instance& instance, WGPUFutureWaitInfo& info,
                 std::chrono::nanoseconds timeout) {
  const auto start = std::chrono::steady_clock::now();
  auto pause = std::chrono::nanoseconds(0);
  while (true) {
    const WaitOutcome outcome = look(instance, info);
    if (outcome != WaitOutcome::kTimedOut) return outcome;
    const auto spent = std::chrono::steady_clock::now() - start;
    if (spent >= timeout) return WaitOutcome::kTimedOut;
    if (spent > std::chrono::microseconds(100)) {
      pause = std::min<std::chrono::nanoseconds>(pause + std::chrono::microseconds(10),
                                                 std::chrono::milliseconds(1));
      std::this_thread::sleep_for(pause);
    }
  }
}

}  // namespace

Deadline::Deadline(std::optional<std::chrono::nanoseconds> timeout) {
  constexpr std::chrono::nanoseconds kLongest = std::chrono::hours(24 * 365);
  if (timeout) end_ = std::chrono::steady_clock::now() + std::min(*timeout, kLongest);
}

std::optional<std::chrono::nanoseconds> Deadline::left() const {
  if (!end_) return std::nullopt;
  return std::max<std::chrono::nanoseconds>(*end_ - std::chrono::steady_clock::now(),
                                            std::chrono::nanoseconds(0));
}

std::unique_lock<std::mutex> Deadline::lock(std::mutex& mutex) const {
  if (!end_) return std::unique_lock(mutex);
  std::unique_lock lock(mutex, std::try_to_lock);
  while (!lock.owns_lock() && left()->count() > 0) {
    std::this_thread::sleep_for(
        std::min<std::chrono::nanoseconds>(*left(), std::chrono::microseconds(100)));
    static_cast<void>(lock.try_lock());
  }
  return lock;
}

void abandon_future(const Instance& instance, WGPUFuture future) { instance.abandon(future); }

WaitOutcome wait_for(const Instance& instance, WGPUFuture future,
                     std::chrono::nanoseconds timeout) {
  WGPUFutureWaitInfo info = WGPU_FUTURE_WAIT_INFO_INIT;
  info.future = future;
  if (timeout.count() <= 0) return look(instance, info);
  if (!instance.timed_wait() || instance.serial().mutex) return poll(instance, info, timeout);
  const auto nanoseconds = static_cast<std::uint64_t>(timeout.count());
  return outcome_of(instance.procs().instance_wait_any(instance.handle(), 1, &info, nanoseconds));
}

}  // namespace wgk::gpu
