// SPDX-License-Identifier: Apache-2.0
// Waiting for one WebGPU future.
#pragma once

#include <webgpu/webgpu.h>

#include <chrono>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <utility>

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

// Nobody waits for `future` any more: the instance looks at it now and then, so that its callback
// runs and lets go of what it holds.
void abandon_future(const Instance& instance, WGPUFuture future);

// The place a callback writes to. Until its callback has run, a place that a call was given holds
// itself: WebGPU runs every callback once, at the latest when the instance goes.
template <class R>
class Pending {
 public:
  Pending() : place_(std::make_shared<Place>()) {}
  R& get() { return place_->reply; }
  R* operator->() { return &place_->reply; }
  // For the call that makes the future, as the callback's first user data. Not after abandon(): the
  // place may still be the earlier call's where there was no host memory for another.
  void* user() {
    place_->self = place_;
    return place_.get();
  }
  // For the callback, once: the place, also if nobody waits any more.
  static std::shared_ptr<R> arrived(void* user) {
    std::shared_ptr<Place> place = std::exchange(static_cast<Place*>(user)->self, nullptr);
    R* const reply = &place->reply;
    return std::shared_ptr<R>(std::move(place), reply);
  }
  bool wait(const Instance& instance, WGPUFuture future, std::chrono::nanoseconds timeout) {
    return outcome(instance, future, timeout) == WaitOutcome::kReady;
  }
  WaitOutcome outcome(const Instance& instance, WGPUFuture future,
                      std::chrono::nanoseconds timeout) {
    const WaitOutcome result = wait_for(instance, future, timeout);
    if (result != WaitOutcome::kReady) abandon(instance, future);
    return result;
  }
  // Destructors do this too. Without host memory nobody looks at the future: its callback comes
  // when the instance goes.
  void abandon(const Instance& instance, WGPUFuture future) noexcept {
    try {
      abandon_future(instance, future);
      place_ = std::make_shared<Place>();
    } catch (const std::bad_alloc&) {
    }
  }

 private:
  struct Place {
    R reply;
    std::shared_ptr<Place> self;
  };
  std::shared_ptr<Place> place_;
};

}  // namespace wgk::gpu
