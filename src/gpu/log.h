// SPDX-License-Identifier: Apache-2.0
// The caller's log sink, made safe to use from any thread.
#pragma once

#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "wgk/device.h"

namespace wgk::gpu {

class Log {
 public:
  explicit Log(LogSink sink = {}) : sink_(std::move(sink)) {}

  // Whether anybody listens: texts are only made if so.
  bool on() const { return static_cast<bool>(sink_); }
  // One message at a time and no lock around the sink: what others write meanwhile is passed on by
  // the thread that is in it. What a sink does with its own runtime is not logged. Called inside
  // WebGPU's callbacks: what a sink throws, or host memory has no room for, is dropped.
  void write(LogLevel level, std::string_view message) const noexcept {
    if (!sink_) return;
    std::unique_lock lock(mutex_);
    if (writer_ == std::this_thread::get_id()) return;
    if (writer_ != std::thread::id()) {
      try {
        waiting_.emplace_back(level, message);
      } catch (...) {
      }
      return;
    }
    writer_ = std::this_thread::get_id();
    lock.unlock();
    pass_on(level, message);
    lock.lock();
    while (!waiting_.empty()) {
      const auto messages = std::exchange(waiting_, {});
      lock.unlock();
      for (const auto& [kind, text] : messages) pass_on(kind, text);
      lock.lock();
    }
    writer_ = std::thread::id();
  }

 private:
  void pass_on(LogLevel level, std::string_view message) const noexcept {
    try {
      sink_(level, message);
    } catch (...) {
    }
  }

  LogSink sink_;
  mutable std::mutex mutex_;
  mutable std::thread::id writer_;  // who is in the sink
  mutable std::vector<std::pair<LogLevel, std::string>> waiting_;
};

}  // namespace wgk::gpu
