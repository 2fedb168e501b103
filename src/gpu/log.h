// SPDX-License-Identifier: Apache-2.0
// The caller's log sink, made safe to use from any thread.
#pragma once

#include <mutex>
#include <string_view>
#include <utility>

#include "wgk/device.h"

namespace wgk::gpu {

class Log {
 public:
  explicit Log(LogSink sink = {}) : sink_(std::move(sink)) {}

  // Whether anybody listens: texts are only made if so.
  bool on() const { return static_cast<bool>(sink_); }
  // What a sink does with the runtime is not logged: it would wait for itself.
  void write(LogLevel level, std::string_view message) const {
    thread_local bool inside = false;
    if (!sink_ || inside) return;
    const std::lock_guard lock(mutex_);
    struct Inside {
      Inside() { inside = true; }
      ~Inside() { inside = false; }
    } const now;
    sink_(level, message);
  }

 private:
  LogSink sink_;
  mutable std::mutex mutex_;
};

}  // namespace wgk::gpu
