// SPDX-License-Identifier: Apache-2.0
// One WebGPU device, made here or adopted: what it can do, what went wrong on it, and how to wait
// for it.
#pragma once

#include <webgpu/webgpu.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/gate.h"
#include "gpu/instance.h"
#include "gpu/wait.h"
#include "wgk/device.h"
#include "wgk/device_caps.h"
#include "wgk/error.h"

namespace wgk::gpu {

// Compiled pipelines as bytes, kept by somebody else. Called from any thread.
class BlobCache {
 public:
  virtual ~BlobCache() = default;
  // Size of the value, 0 if there is none; copies it if `value` is large enough.
  virtual std::size_t load(std::span<const std::byte> key, std::span<std::byte> value) = 0;
  virtual void store(std::span<const std::byte> key, std::span<const std::byte> value) = 0;
};

// The hooks through which Dawn calls the cache, which must outlive the device.
WGPUDawnCacheDeviceDescriptor cache_descriptor(BlobCache& cache);

struct DeviceOptions {
  Mode mode = Mode::kSafe;
  // How long a wait may last before the device counts as hung.
  std::chrono::nanoseconds timeout = std::chrono::seconds(60);
  std::shared_ptr<BlobCache> blobs;
  // Exactly these features and limits in place of all that the adapter offers.
  std::optional<DeviceCaps> exactly;
};

struct AdoptRequest {
  WGPUDevice device = nullptr;
  WGPUInstance instance = nullptr;  // null: asked of the device
  bool timed_wait = false;          // the instance was made with TimedWaitAny
  std::optional<Mode> mode;         // what the caller says; checked where the library can tell
  std::chrono::nanoseconds timeout = std::chrono::seconds(60);
};

struct Toggles {
  std::vector<const char*> enabled, disabled;
};
// Dawn's toggles for a device of this mode.
Toggles device_toggles(Mode mode, bool experimental);

struct DeviceCounters {
  std::atomic<std::uint64_t> submits = 0, waits = 0, maps = 0;
};

class Device : public std::enable_shared_from_this<Device> {
 public:
  static Result<std::shared_ptr<Device>> open(std::shared_ptr<Instance> instance, Adapter adapter,
                                              const DeviceOptions& options);
  // Never asks for an adapter or a device, never destroys the device; the caller's callbacks stay
  // as they are.
  static Result<std::shared_ptr<Device>> adopt(const Procs& procs, std::shared_ptr<const Log> log,
                                               const AdoptRequest& request);
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  const Procs& procs() const { return instance_->procs(); }
  const Instance& instance() const { return *instance_; }
  std::shared_ptr<Instance> shared_instance() const { return instance_; }
  const Log& log() const { return instance_->log(); }
  WGPUDevice handle() const { return handle_.get(); }
  WGPUQueue queue() const { return queue_.get(); }
  const DeviceCaps& caps() const { return caps_; }
  const WGPULimits& limits() const { return limits_; }
  const AdapterDescription& adapter() const { return adapter_; }
  Mode mode() const { return mode_; }
  bool owned() const { return owned_; }
  bool synchronized() const { return !gate_.mutex; }  // Dawn locks the device itself
  bool timestamps_inside_passes() const { return timestamps_inside_passes_; }
  const std::vector<std::string>& toggles() const { return toggles_; }
  DeviceCounters& counters() const { return counters_; }

  // "device/lost" with the reason once the device is gone; loss is final.
  Status check() const;
  bool lost() const { return !check().has_value(); }
  // What is known of a loss, without asking WebGPU.
  bool known_lost() const;
  // The device's own end: every later call says "device/lost" with this text.
  void mark_lost(std::string reason) const;
  bool hung() const { return gate_.hung.load(std::memory_order_relaxed); }

  // The device's time limit, or `timeout` where given. A wait of the limit or longer that runs out
  // marks the device as hung; a shorter one is "usage/not-ready", and the future can be waited for
  // again.
  Status wait(WGPUFuture future, std::optional<std::chrono::nanoseconds> timeout = {}) const;
  // False: not yet. Never waits.
  Result<bool> ready(WGPUFuture future) const;

  // Errors that no scope caught (owned devices only), as one error; success if there were none.
  Status take_uncaptured() const;

  // A handle that knows when not to release.
  template <class H>
  Handle<H> own(H handle, void (*release)(H)) const {
    return Handle<H>(handle, release, &gate_);
  }

  // Held around calls on the device where Dawn does not lock it itself.
  [[nodiscard]] std::unique_lock<Gate::Mutex> lock() const { return gate_.lock(); }

 private:
  struct Signals;
  explicit Device(std::shared_ptr<Instance> instance) : instance_(std::move(instance)) {}
  Status read_capabilities();
  void look_for_loss() const;

  std::shared_ptr<Instance> instance_;
  mutable Gate gate_;
  Handle<WGPUDevice> handle_;
  Handle<WGPUQueue> queue_;
  std::shared_ptr<Signals> signals_;
  std::shared_ptr<BlobCache> blobs_;
  WGPUFuture lost_future_ = {};
  DeviceCaps caps_;
  WGPULimits limits_ = {};
  AdapterDescription adapter_;
  std::vector<std::string> toggles_;
  Mode mode_ = Mode::kSafe;
  bool owned_ = true;
  bool timestamps_inside_passes_ = false;
  std::chrono::nanoseconds timeout_ = {};
  mutable DeviceCounters counters_;
};

// Catches the errors of the calls made between construction and finish(), on one thread.
class ErrorScope {
 public:
  enum class Catch : std::uint8_t { kAll, kValidation };
  explicit ErrorScope(const Device& device, Catch what = Catch::kAll);
  ~ErrorScope();
  ErrorScope(const ErrorScope&) = delete;
  ErrorScope& operator=(const ErrorScope&) = delete;

  // "device/memory", "device/validation" or "device/lost"; `code` replaces "device/validation".
  Status finish(std::string_view code = "device/validation");

 private:
  const Device& device_;
  int open_ = 0;
};

}  // namespace wgk::gpu
