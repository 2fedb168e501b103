// SPDX-License-Identifier: Apache-2.0
// How a device may be called.
#pragma once

#include <webgpu/webgpu.h>

#include <atomic>
#include <memory>
#include <mutex>

namespace wgk::gpu {

struct Gate {
  using Mutex = std::recursive_mutex;  // callbacks that run inside a call may call again

  std::atomic<bool> hung = false;  // every call may hang too: nothing is called any more
  std::shared_ptr<Mutex> mutex;    // null: Dawn locks the device itself

  // Held around calls on the device, releases and looks at futures among them.
  [[nodiscard]] std::unique_lock<Mutex> lock() const {
    return mutex ? std::unique_lock(*mutex) : std::unique_lock<Mutex>();
  }
};

// The one mutex of a device that several runtimes may have adopted; lives as long as any of them.
std::shared_ptr<Gate::Mutex> mutex_of(WGPUDevice device);

}  // namespace wgk::gpu
