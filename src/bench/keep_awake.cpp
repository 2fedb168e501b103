// SPDX-License-Identifier: Apache-2.0
#include "bench/keep_awake.h"

#include <sched.h>

#include <cerrno>
#include <format>
#include <string_view>
#include <system_error>
#include <utility>

namespace wgk::bench {
namespace {

void* loop(void* stop) {
  const auto& ends = *static_cast<const std::atomic<bool>*>(stop);
  while (!ends.load(std::memory_order_relaxed)) {
  }
  return nullptr;
}

std::unexpected<Error> refused(std::string_view what, int code) {
  return failure("device/feature", std::format("the cores cannot be kept awake: {}: {}", what,
                                               std::generic_category().message(code)));
}

int bind_to(int core, pthread_t thread) {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  CPU_SET(static_cast<std::size_t>(core), &cores);
  return pthread_setaffinity_np(thread, sizeof cores, &cores);
}

}  // namespace

Result<KeepAwake> KeepAwake::start() {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return refused("which they are", errno);
  KeepAwake awake;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (!CPU_ISSET(static_cast<std::size_t>(core), &allowed)) continue;
    pthread_t thread{};
    if (const int code = pthread_create(&thread, nullptr, loop, awake.stop_.get()); code != 0)
      return refused("a thread", code);
    awake.threads_.push_back(thread);
    const sched_param priority{};
    if (const int code = pthread_setschedparam(thread, SCHED_IDLE, &priority); code != 0)
      return refused("idle priority", code);
    if (const int code = bind_to(core, thread); code != 0) return refused("a core", code);
  }
  return awake;
}

KeepAwake::~KeepAwake() {
  if (!stop_) return;
  stop_->store(true, std::memory_order_relaxed);
  for (const pthread_t thread : threads_) pthread_join(thread, nullptr);
}

}  // namespace wgk::bench
