// SPDX-License-Identifier: Apache-2.0
#include "bench/clock_guard.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace wgk::bench {
namespace {

// A device whose clock falls to a third after half a second without work and needs 0.3 s of load to
// come back.
class Device {
 public:
  Result<double> load() { return work(5e-3); }

  // Seconds that `amount` of work takes at the present clock.
  double work(double amount) {
    const double seconds = amount / clock_;
    now_ += seconds;
    clock_ = std::min(1.0, clock_ + seconds * (2.0 / 3) / 0.3);
    return seconds;
  }

  void idle(double seconds) {
    now_ += seconds;
    if (seconds > 0.5) clock_ = 1.0 / 3;
  }

  ClockGuard guard() {
    return {[this] { return load(); }, [this] { return now_; }};
  }
  double clock() const { return clock_; }

 private:
  double now_ = 100;
  double clock_ = 1.0 / 3;
};

TEST(ClockGuard, BringsTheClocksUpFromCold) {
  Device device;
  ClockGuard guard = device.guard();
  ASSERT_TRUE(guard.bring_up());
  EXPECT_DOUBLE_EQ(device.clock(), 1);
  EXPECT_TRUE(*guard.held());
}

TEST(ClockGuard, SeesThatTheClocksFell) {
  Device device;
  ClockGuard guard = device.guard();
  ASSERT_TRUE(guard.bring_up());
  device.idle(1);  // a shader is compiled
  EXPECT_FALSE(*guard.held());
  ASSERT_TRUE(guard.bring_up());
  EXPECT_DOUBLE_EQ(device.clock(), 1);
}

TEST(ClockGuard, RepeatsATimingDuringWhichTheyFell) {
  Device device;
  ClockGuard guard = device.guard();
  std::vector<double> timings;
  const auto outcome = guard.run(
      [&]() -> Status {
        if (timings.empty()) device.idle(1);
        timings.push_back(device.work(1e-3));
        return {};
      },
      3);
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->retries, 1u);
  EXPECT_TRUE(outcome->held);
  ASSERT_EQ(timings.size(), 2u);
  EXPECT_NEAR(timings[0], 3e-3, 1e-9);  // what an unguarded benchmark would report
  EXPECT_NEAR(timings[1], 1e-3, 1e-9);
}

TEST(ClockGuard, SaysThatTheyNeverHeld) {
  Device device;
  ClockGuard guard = device.guard();
  const auto outcome = guard.run(
      [&]() -> Status {
        device.idle(1);
        return {};
      },
      2);
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->retries, 2u);
  EXPECT_FALSE(outcome->held);
}

TEST(ClockGuard, HandsErrorsOn) {
  ClockGuard guard([]() -> Result<double> { return failure("device/lost", "gone"); },
                   [] { return 0.0; });
  EXPECT_EQ(guard.bring_up().error().code, "device/lost");
  EXPECT_EQ(guard.run([]() -> Status { return {}; }, 1).error().code, "device/lost");
}

}  // namespace
}  // namespace wgk::bench
