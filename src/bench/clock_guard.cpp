// SPDX-License-Identifier: Apache-2.0
#include "bench/clock_guard.h"

#include "base/try.h"

namespace wgk::bench {
namespace {

constexpr double kWarmSeconds = 0.6;  // clocks need 0.2 to 0.4 s of load
constexpr double kLimitSeconds = 3;
constexpr double kSteady = 1.02;
constexpr double kTolerance = 1.04;

}  // namespace

Status ClockGuard::bring_up() {
  const double start = now_();
  const bool first = best_ == 0;
  int steady = 0;
  while (now_() - start < kLimitSeconds) {
    WGK_ASSIGN(const double seconds, load_());
    steady = best_ > 0 && seconds < best_ * kSteady ? steady + 1 : 0;
    if (best_ == 0 || seconds < best_) best_ = seconds;
    if (steady >= 3 && (!first || now_() - start > kWarmSeconds)) return {};
  }
  return {};
}

Result<bool> ClockGuard::held() {
  WGK_ASSIGN(const double seconds, load_());
  return seconds < best_ * kTolerance;
}

Result<ClockGuard::Outcome> ClockGuard::run(const std::function<Status()>& timing,
                                            std::size_t max_retries) {
  for (std::size_t retries = 0;; ++retries) {
    WGK_TRY(bring_up());
    WGK_TRY(timing());
    WGK_ASSIGN(const bool kept, held());
    if (kept || retries >= max_retries) return Outcome{.retries = retries, .held = kept};
  }
}

}  // namespace wgk::bench
