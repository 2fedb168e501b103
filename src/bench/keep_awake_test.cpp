// SPDX-License-Identifier: Apache-2.0
#include "bench/keep_awake.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <filesystem>
#include <set>
#include <string>
#include <utility>

namespace wgk::bench {
namespace {

// The cores that this process's threads of idle priority are bound to; -1 for one that is not
// bound to a single core.
std::multiset<int> idle_cores() {
  std::multiset<int> cores;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
    const auto thread = static_cast<pid_t>(std::stoi(entry.path().filename().string()));
    cpu_set_t set;
    if (sched_getscheduler(thread) != SCHED_IDLE) continue;
    if (sched_getaffinity(thread, sizeof set, &set) != 0 || CPU_COUNT(&set) != 1) {
      cores.insert(-1);
      continue;
    }
    for (int core = 0; core < CPU_SETSIZE; ++core) {
      if (CPU_ISSET(static_cast<std::size_t>(core), &set)) cores.insert(core);
    }
  }
  return cores;
}

std::multiset<int> allowed_cores() {
  cpu_set_t set;
  std::multiset<int> cores;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return cores;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(static_cast<std::size_t>(core), &set)) cores.insert(core);
  }
  return cores;
}

TEST(KeepAwake, OneLoopOfIdlePriorityRunsOnEachCoreWhileItLives) {
  ASSERT_TRUE(idle_cores().empty());
  {
    auto awake = KeepAwake::start();
    ASSERT_TRUE(awake) << awake.error().message;
    EXPECT_EQ(idle_cores(), allowed_cores());
    const KeepAwake moved = *std::move(awake);
    EXPECT_EQ(moved.cores(), allowed_cores().size());
    EXPECT_EQ(idle_cores(), allowed_cores());
  }
  EXPECT_TRUE(idle_cores().empty());
}

}  // namespace
}  // namespace wgk::bench
