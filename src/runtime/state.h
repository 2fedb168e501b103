// SPDX-License-Identifier: Apache-2.0
// What a runtime is made of: one Session per device, replaced as a whole after a loss.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "gpu/executor.h"
#include "runtime/disk_cache.h"
#include "wgk/runtime.h"

namespace wgk {

// A device and everything made on it. Objects of an old session keep it alive and return
// "device/lost".
struct Session {
  gpu::Context context;
  DeviceDescription description;
  DeviceCaps caps;  // for planning: with the variants that are off on this driver
  std::uint64_t generation = 0;
  std::shared_ptr<DiskCache> cache;  // may be null
};
using SessionRef = std::shared_ptr<Session>;

// Whatever keeps idle buffers that it can do without.
struct IdleHolder {
  virtual ~IdleHolder() = default;
  // Gives up what no call uses; or only what none can ever use again.
  virtual void drop(bool stale_only) = 0;
};

struct Runtime::Impl : std::enable_shared_from_this<Runtime::Impl> {
  // How the first device came about, for the next one.
  std::optional<RuntimeOptions> created;
  std::optional<AdoptOptions> adopted;
  std::shared_ptr<const gpu::Log> log;
  gpu::Procs procs;
  std::atomic<std::uint64_t> plans_made = 0, plan_hits = 0;

  const CommonOptions& options() const {
    return created ? static_cast<const CommonOptions&>(*created) : *adopted;
  }
  SessionRef session() const {
    const std::lock_guard lock(mutex);
    return current;
  }
  // The session, or "device/lost".
  Result<SessionRef> live_session() const;
  Result<SessionRef> open_session(std::uint64_t generation) const;

  // Something to be asked now and then until it says that it is done; or told, once, that nobody
  // will ask again.
  using Callback = std::function<bool(bool over)>;
  void add_callback(Callback callback);
  void poll();
  // What all handles of the runtime share. Kernels, tensors and futures hold the runtime without.
  std::shared_ptr<void> own();
  void end_callbacks();
  void add_holder(std::weak_ptr<IdleHolder> holder);
  void drop(bool stale_only);

  std::mutex rebuild_mutex;  // one at a time; also guards the device in `adopted`
  mutable std::mutex mutex;
  SessionRef current;
  std::mutex callback_mutex;
  std::list<Callback> callbacks;
  std::weak_ptr<void> owner;
  std::mutex holder_mutex;
  std::vector<std::weak_ptr<IdleHolder>> holders;
};
using RuntimeRef = std::shared_ptr<Runtime::Impl>;

}  // namespace wgk
