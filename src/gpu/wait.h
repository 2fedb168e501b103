// SPDX-License-Identifier: Apache-2.0
// Waiting for one WebGPU future.
#pragma once

#include <webgpu/webgpu.h>

#include <chrono>
#include <memory>
#include <mutex>
#include <optional>

#include "wgk/error.h"

namespace wgk::gpu {

class Instance;

// For requests that never depend on running shaders.
inline constexpr std::chrono::nanoseconds kNoHang = std::chrono::seconds(120);

enum class WaitOutcome { kReady, kTimedOut, kFailed };

// Waits for `future`; a timeout of zero only looks. Never lets any other callback run.
WaitOutcome wait_for(const Instance& instance, WGPUFuture future, std::chrono::nanoseconds timeout);

// A wait that the caller cut short: nothing is wrong, and the same wait can be tried again.
inline bool not_ready(const Error& error) { return error.code == "usage/not-ready"; }

// One timeout for several waits, one after the other. Without one, each has the device's limit.
class Deadline {
 public:
  explicit Deadline(std::optional<std::chrono::nanoseconds> timeout);
  std::optional<std::chrono::nanoseconds> left() const;
  // Not held if the time runs out first.
  std::unique_lock<std::mutex> lock(std::mutex& mutex) const;

 private:
  std::optional<std::chrono::steady_clock::time_point> end_;
};

void keep_for_late_callback(const Instance& instance, std::shared_ptr<void> place);

// The place a callback writes to. If the wait ends without the callback having run, the place is
// handed to the instance, because the callback may still come for as long as that lives.
template <class R>
class Pending {
 public:
  Pending() : place_(std::make_shared<R>()) {}
  R* get() { return place_.get(); }
  R* operator->() { return place_.get(); }
  bool wait(const Instance& instance, WGPUFuture future, std::chrono::nanoseconds timeout) {
    return outcome(instance, future, timeout) == WaitOutcome::kReady;
  }
  WaitOutcome outcome(const Instance& instance, WGPUFuture future,
                      std::chrono::nanoseconds timeout) {
    const WaitOutcome result = wait_for(instance, future, timeout);
    if (result != WaitOutcome::kReady) abandon(instance);
    return result;
  }
  void abandon(const Instance& instance) {
    keep_for_late_callback(instance, place_);
    place_ = std::make_shared<R>();
  }

 private:
  std::shared_ptr<R> place_;
};

}  // namespace wgk::gpu
