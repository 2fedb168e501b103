// SPDX-License-Identifier: Apache-2.0
// Something that is not done yet. Nothing is waited for behind the caller's back: ready(), wait()
// and Runtime::poll() are where progress is seen and where callbacks run.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "wgk/error.h"

namespace wgk {

// One result, to be taken once: by wait(), or by the callback. Not for use from two threads at a
// time.
template <class T>
class Future {
 public:
  Future() = default;

  // Whether wait() would return at once. Never waits.
  Result<bool> ready() { return state_ ? state_->poll() : Result<bool>(true); }
  // Waits for the device's time limit, or for `timeout`. A shorter timeout that runs out is
  // "usage/not-ready": nothing is lost, and the result can be waited for again. Zero only looks.
  Result<T> wait(std::optional<std::chrono::nanoseconds> timeout = {}) {
    if (!state_) return failure("usage/future", "the future has no result, or it was taken");
    const auto state = state_;
    auto result = state->finish(timeout);
    if (result || result.error().code != "usage/not-ready") state_.reset();
    return result;
  }
  // The result is dropped. What was submitted still runs; buffers stay alive until it is done.
  void cancel() {
    if (const auto state = state_ ? state_ : called_back_.lock()) state->cancel();
    state_.reset();
  }
  // `callback` runs once, inside a later Runtime::poll(): with the result, which it takes, or with
  // "usage/cancelled" after cancel() or when the last Runtime handle goes. (A callback that keeps a
  // Runtime handle keeps the runtime until somebody polls.)
  void then(std::function<void(Result<T>)> callback) {
    if (!state_) return;
    if (!callback) callback = [](Result<T>) {};
    called_back_ = state_;
    std::exchange(state_, nullptr)->then(std::move(callback));
  }
  explicit operator bool() const { return state_ != nullptr; }

  struct State {
    virtual ~State() = default;
    virtual Result<bool> poll() = 0;
    virtual Result<T> finish(std::optional<std::chrono::nanoseconds> timeout) = 0;
    virtual void cancel() = 0;
    virtual void then(std::function<void(Result<T>)> callback) = 0;
  };
  explicit Future(std::shared_ptr<State> state) : state_(std::move(state)) {}

 private:
  std::shared_ptr<State> state_;
  std::weak_ptr<State> called_back_;  // after then(), for cancel()
};

}  // namespace wgk
