// SPDX-License-Identifier: Apache-2.0
// Keeps the cores of a CPU device awake between dispatches.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstddef>
#include <memory>
#include <vector>

#include "wgk/error.h"

namespace wgk::bench {

// While it lives, a loop of idle priority runs on each core that the process may use. Virtual
// cores that have nothing to do are given away, and fetching one back costs more than a small
// dispatch; whatever else wants to run on a core takes it from the loop at once.
class KeepAwake {
 public:
  static Result<KeepAwake> start();
  KeepAwake(KeepAwake&&) = default;
  KeepAwake& operator=(KeepAwake&&) = delete;
  ~KeepAwake();

  std::size_t cores() const { return threads_.size(); }

 private:
  KeepAwake() : stop_(std::make_unique<std::atomic<bool>>(false)) {}

  std::unique_ptr<std::atomic<bool>> stop_;
  std::vector<pthread_t> threads_;
};

}  // namespace wgk::bench
