// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <utility>

#include "runtime/state.h"
#include "wgk/future.h"

namespace wgk {

// The common half of futures that wait for pipelines: cancelled from any thread, called back by
// whoever polls the runtime. What ends them is finish(), which asks cancelled() first.
template <class T>
class PolledState : public Future<T>::State, public std::enable_shared_from_this<PolledState<T>> {
 public:
  void cancel() override { cancelled_ = true; }
  void then(std::function<void(Result<T>)> callback) override {
    runtime_->add_callback(
        [self = this->shared_from_this(), callback = std::move(callback)](bool over) {
          if (over) self->cancelled_ = true;
          const auto ready = self->cancelled_ ? Result<bool>(true) : self->poll();
          if (ready && !*ready) return false;
          callback(self->finish({}));
          return true;
        });
  }

 protected:
  explicit PolledState(RuntimeRef runtime) : runtime_(std::move(runtime)) {}
  bool cancelled() const { return cancelled_; }

 private:
  RuntimeRef runtime_;
  std::atomic<bool> cancelled_ = false;
};

}  // namespace wgk
