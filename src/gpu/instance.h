// SPDX-License-Identifier: Apache-2.0
// The WebGPU instance: where adapters come from and where futures are waited for.
#pragma once

#include <webgpu/webgpu.h>

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "gpu/gate.h"
#include "gpu/handle.h"
#include "gpu/log.h"
#include "gpu/procs.h"
#include "wgk/device.h"
#include "wgk/error.h"

namespace wgk::gpu {

struct Adapter {
  Handle<WGPUAdapter> handle;
  AdapterDescription description;
};

// Outlives everything that was made from it: releasing Dawn's instance early ends the process.
class Instance {
 public:
  // `experimental`: offer features that WebGPU calls unsafe (subgroup matrices).
  static Result<std::shared_ptr<Instance>> create(const Procs& procs,
                                                  std::shared_ptr<const Log> log,
                                                  bool experimental = true);
  // A caller's instance: gets a reference of ours. `timed_wait`: it was made with the TimedWaitAny
  // feature.
  static std::shared_ptr<Instance> borrow(const Procs& procs, WGPUInstance handle,
                                          std::shared_ptr<const Log> log, bool timed_wait);
  ~Instance();
  Instance(const Instance&) = delete;
  Instance& operator=(const Instance&) = delete;

  // All adapters, hardware first, in a stable order; the null back end only when asked for by name.
  Result<std::vector<Adapter>> adapters(const std::string& backend = {}) const;
  // The adapter that `choice` and the environment (WGK_ADAPTER, WGK_BACKEND) name. Errors:
  // "device/none" lists what was looked for and what there is.
  Result<Adapter> choose(const AdapterChoice& choice) const;

  const Procs& procs() const { return procs_; }
  const Log& log() const { return *log_; }
  std::shared_ptr<const Log> shared_log() const { return log_; }
  WGPUInstance handle() const { return handle_; }
  bool timed_wait() const { return timed_wait_; }
  bool experimental() const { return experimental_; }
  // Keeps what callbacks without a future use, until all of them have run.
  void keep(std::shared_ptr<void> place) const;
  // Nobody waits for this future any more. Now and then all such futures are looked at, and those
  // that are done are forgotten, here and by the library.
  void abandon(WGPUFuture future) const;
  void look_at_abandoned() const;  // all of them, now
  // Its device needs calls one at a time: looking at futures is one of them.
  void serialize(std::shared_ptr<Gate::Mutex> mutex) { serial_.mutex = std::move(mutex); }
  const Gate& serial() const { return serial_; }
  // The device hangs: its futures are not looked at any more.
  void leave_alone() const { left_alone_.store(true, std::memory_order_relaxed); }

 private:
  static constexpr std::size_t kSweep = 64;
  void sweep(std::vector<WGPUFuture>& futures) const;
  Instance(const Procs& procs, std::shared_ptr<const Log> log)
      : procs_(procs), log_(std::move(log)) {}

  Procs procs_;
  std::shared_ptr<const Log> log_;
  WGPUInstance handle_ = nullptr;
  bool owned_ = true;
  bool timed_wait_ = true;
  bool experimental_ = true;
  Gate serial_;
  mutable std::mutex mutex_;
  mutable std::vector<std::shared_ptr<void>> kept_;
  mutable std::vector<WGPUFuture> abandoned_;
  mutable std::size_t sweep_at_ = kSweep;  // so many abandoned futures are looked at
  mutable std::atomic<bool> left_alone_ = false;
};

// The back ends whose adapters are listed; WGPUBackendType_Undefined stands for all. Where Vulkan
// has no driver it is left out, and the others are asked one by one.
std::vector<WGPUBackendType> backends_to_ask(WGPUBackendType wanted, bool has_vulkan);

// What an adapter says of itself (index not set).
AdapterDescription describe(const WGPUAdapterInfo& info);

}  // namespace wgk::gpu
