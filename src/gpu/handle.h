// SPDX-License-Identifier: Apache-2.0
// A WebGPU object with one reference of ours.
#pragma once

#include <utility>

#include "gpu/gate.h"

namespace wgk::gpu {

// Releases its reference when it goes away, unless the device hangs: then every call into it may
// hang too, and the object is left alone on purpose.
template <class H>
class Handle {
 public:
  using Release = void (*)(H);

  Handle() = default;
  Handle(H handle, Release release, const Gate* gate = nullptr)
      : handle_(handle), release_(release), gate_(gate) {}
  Handle(Handle&& other) noexcept
      : handle_(std::exchange(other.handle_, nullptr)),
        release_(other.release_),
        gate_(other.gate_) {}
  Handle& operator=(Handle&& other) noexcept {
    if (this != &other) {
      reset();
      handle_ = std::exchange(other.handle_, nullptr);
      release_ = other.release_;
      gate_ = other.gate_;
    }
    return *this;
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle() { reset(); }

  H get() const { return handle_; }
  explicit operator bool() const { return handle_ != nullptr; }
  void reset() {
    H handle = std::exchange(handle_, nullptr);
    if (handle == nullptr) return;
    if (gate_ == nullptr) return release_(handle);
    if (gate_->hung.load(std::memory_order_relaxed)) return;
    const auto lock = gate_->lock();
    release_(handle);
  }
  // Gives the reference away.
  H take() { return std::exchange(handle_, nullptr); }

 private:
  H handle_ = nullptr;
  Release release_ = nullptr;
  const Gate* gate_ = nullptr;
};

}  // namespace wgk::gpu
