// SPDX-License-Identifier: Apache-2.0
// Keeps timings honest on devices that drop their clocks after half a second without work.
#pragma once

#include <cstddef>
#include <functional>

#include "wgk/error.h"

namespace wgk::bench {

class ClockGuard {
 public:
  using Load = std::function<Result<double>()>;  // runs a fixed load: the seconds that it took
  using Now = std::function<double()>;           // seconds of the host

  ClockGuard(Load load, Now now) : load_(std::move(load)), now_(std::move(now)) {}

  // Runs the load until its time is the best known one; the first time until it has settled.
  Status bring_up();
  // Whether the load still takes its best known time.
  Result<bool> held();
  struct Outcome {
    std::size_t retries = 0;  // timings thrown away
    bool held = true;         // false: the clocks fell during the last one too
  };
  // Brings the clocks up, calls `timing`, and does so again while they fell meanwhile, at most
  // `max_retries` times.
  Result<Outcome> run(const std::function<Status()>& timing, std::size_t max_retries);

 private:
  Load load_;
  Now now_;
  double best_ = 0;  // seconds of the load; 0: not known
};

}  // namespace wgk::bench
