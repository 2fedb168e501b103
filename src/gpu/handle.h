// SPDX-License-Identifier: Apache-2.0
// A WebGPU object with one reference of ours.
#pragma once

#include <atomic>
#include <utility>

namespace wgk::gpu {

// Releases its reference when it goes away, unless the device hangs: then every call into it may
// hang too, and the object is left alone on purpose.
template <class H>
class Handle {
 public:
  using Release = void (*)(H);

  Handle() = default;
  Handle(H handle, Release release, const std::atomic<bool>* hung = nullptr)
      : handle_(handle), release_(release), hung_(hung) {}
  Handle(Handle&& other) noexcept
      : handle_(std::exchange(other.handle_, nullptr)),
        release_(other.release_),
        hung_(other.hung_) {}
  Handle& operator=(Handle&& other) noexcept {
    if (this != &other) {
      reset();
      handle_ = std::exchange(other.handle_, nullptr);
      release_ = other.release_;
      hung_ = other.hung_;
    }
    return *this;
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle() { reset(); }

  H get() const { return handle_; }
  explicit operator bool() const { return handle_ != nullptr; }
  void reset() {
    if (H handle = std::exchange(handle_, nullptr)) {
      if (hung_ == nullptr || !hung_->load(std::memory_order_relaxed)) release_(handle);
    }
  }
  // Gives the reference away.
  H take() { return std::exchange(handle_, nullptr); }

 private:
  H handle_ = nullptr;
  Release release_ = nullptr;
  const std::atomic<bool>* hung_ = nullptr;
};

}  // namespace wgk::gpu
