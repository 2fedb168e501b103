// SPDX-License-Identifier: Apache-2.0
// A device with everything that lives on it.
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "wgk/device.h"
#include "wgk/device_caps.h"
#include "wgk/error.h"
#include "wgk/future.h"
#include "wgk/kernel.h"
#include "wgk/package.h"
#include "wgk/tensor.h"
#include "wgk/webgpu_handles.h"

namespace wgk {

// wgpuGetProcAddress of a caller's own WebGPU library.
using GetProcAddress = void (*(*)(WGPUStringView name))(void);

struct MemoryLimits {
  std::uint64_t cap =
      std::numeric_limits<std::uint64_t>::max();  // all device bytes of the runtime, honoured
                                                  // before allocation
  std::uint64_t pool = std::uint64_t{256} << 20;  // of these, bytes kept for reuse
};

struct CommonOptions {
  LogSink log = {};
  std::chrono::nanoseconds timeout = std::chrono::seconds(
      60);  // a wait that lasts longer: "device/timeout", and the device is lost
  MemoryLimits memory = {};
  std::string cache_folder =
      {};  // rendered text and compiled pipelines, kept between processes; empty: none
  std::string quirks =
      {};  // JSON in place of the built-in table of variants that are off on some drivers
  // In passes of our own the label or, where several dispatches share one, a debug group of each
  // names package, variant and pass.
  bool debug_groups = true;
  GetProcAddress procs = nullptr;  // null: the linked library
};

struct RuntimeOptions : CommonOptions {
  AdapterChoice adapter = {};
  Mode mode = Mode::kSafe;
  bool experimental = true;  // features that WebGPU calls unsafe: subgroup matrices
};

struct AdoptOptions : CommonOptions {
  WGPUDevice device = nullptr;
  WGPUInstance instance = nullptr;  // null: asked of the device
  // The instance was made with the feature TimedWaitAny. If not, waiting is done by looking again
  // and again.
  bool timed_wait = false;
  std::optional<Mode> mode = {};  // an error if the device has another
};

struct DeviceDescription {
  AdapterDescription adapter;
  DeviceCaps caps;
  Mode mode = Mode::kSafe;
  bool adopted = false;
  std::vector<std::string> toggles;  // in force, where the library tells
};

struct LoadOptions {
  // These very bytes may run in trusted mode. Without it a trusted runtime refuses the package
  // ("store/trust").
  bool trust = false;
};

struct RuntimeStats {
  std::uint64_t live_bytes = 0, peak_bytes = 0, pooled_bytes = 0;
  std::uint64_t live_buffers = 0, pooled_buffers = 0, buffers_made = 0, buffers_reused = 0;
  std::uint64_t pipelines = 0, pipelines_built = 0, pipeline_hits = 0, bind_groups_made = 0;
  std::uint64_t submits = 0, waits = 0, maps = 0;
  std::uint64_t plans_made = 0, plan_hits = 0;
  std::uint64_t blobs_loaded = 0, blobs_stored = 0;
};

struct Loss {
  std::string reason;
  std::uint64_t generation = 0;  // how often the runtime was rebuilt before
};

struct UploadOptions {
  bool keep_host_copy = false;  // survives a rebuild of the runtime
  TensorForm form = {};
};

// One call signature to compile ahead.
struct Prewarm {
  Kernel kernel;
  Signature signature;
};

// A cheap handle; copies share. Every const member may be called from any thread; a caller's own
// calls on a device without Dawn's implicit synchronization must not meet them on another thread.
class Runtime {
 public:
  // Makes a device. Errors: "device/none" and others of area device.
  static Result<Runtime> create(const RuntimeOptions& options = {});
  // Works on the caller's device: no adapter or device is requested, nothing of the caller's is
  // destroyed, its callbacks and its event loop are left alone. Unless the device has Dawn's
  // implicit synchronization, nobody else may use it while a member of this runs.
  static Result<Runtime> adopt(const AdoptOptions& options);
  // Every adapter that the machine has (of one back end, if given).
  static Result<std::vector<AdapterDescription>> adapters(const std::string& backend = {});

  DeviceDescription describe() const;
  DeviceCaps caps() const;    // what planning goes by
  WGPUDevice device() const;  // stays the runtime's or the caller's
  WGPUQueue queue() const;
  WGPUInstance instance() const;

  Result<Kernel> load(std::string_view place, const LoadOptions& options = {}) const;
  Result<Kernel> load(Package package, const LoadOptions& options = {}) const;

  Result<Tensor> upload(const HostTensor& data, const UploadOptions& options = {}) const;
  Result<Tensor> empty(
      DType dtype, Shape shape) const;  // zeros too: contents never pass from one owner to another
  Result<Tensor> zeros(DType dtype, Shape shape) const { return empty(dtype, std::move(shape)); }

  // All pipelines of these calls, compiled in parallel.
  Result<Future<void>> prewarm(std::span<const Prewarm> calls) const;

  // Compiles every text that the cache folder remembers for this device, before anything is
  // planned; what does not compile any more is passed over. The result is how many did.
  Result<Future<std::size_t>> prewarm_remembered() const;

  // Scratch for all of these, one at a time.
  Result<Arena> make_arena(std::span<const Prepared> calls) const;

  // Runs the callbacks of everything that is done. Never waits. Those still waiting when the last
  // handle of the runtime goes run then, with "usage/cancelled".
  void poll() const;
  // Until everything submitted so far is done.
  Status wait_idle(std::optional<std::chrono::nanoseconds> timeout = {}) const;

  RuntimeStats stats() const;
  // Gives back what is pooled, and what finished calls and scratch keep for the next call; the
  // bytes that this freed.
  std::uint64_t trim() const;

  // Nothing while the device is well.
  std::optional<Loss> lost() const;
  // After a loss: a new device (or the caller's new one), pipelines and plans made again on demand.
  // Kernels stay valid, tensors with a host copy get a new buffer; other tensors, Prepared and
  // Bound objects of the old device return "device/lost".
  Status rebuild(WGPUDevice device = nullptr, WGPUInstance instance = nullptr) const;

  // For the library's own use.
  struct Impl;
  explicit Runtime(std::shared_ptr<Impl> impl);
  const std::shared_ptr<Impl>& impl() const { return impl_; }

 private:
  std::shared_ptr<Impl> impl_;
  std::shared_ptr<void> owner_;  // of all handles; with the last, nobody can poll any more
};

}  // namespace wgk
