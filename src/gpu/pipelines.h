// SPDX-License-Identifier: Apache-2.0
// Compute pipelines, one per plan key: built once however many callers wait, several at a time.
#pragma once

#include <webgpu/webgpu.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gpu/device.h"
#include "wgk/error.h"
#include "wgk/plan.h"

namespace wgk::gpu {

struct Layout {
  Handle<WGPUBindGroupLayout> group;
  Handle<WGPUPipelineLayout> pipeline;
};

struct Pipeline {
  std::shared_ptr<Device> device;  // outlives the handle
  std::shared_ptr<const Layout> layout;
  Handle<WGPUComputePipeline> handle;
};
using PipelineRef = std::shared_ptr<const Pipeline>;

struct PipelineStats {
  std::uint64_t built = 0, hits = 0, live = 0, layouts = 0;
};

class Pipelines : public std::enable_shared_from_this<Pipelines> {
 public:
  explicit Pipelines(std::shared_ptr<Device> device) : device_(std::move(device)) {}

  struct Entry;
  // Pipelines that are on their way: whoever asks first drives them, nobody has to.
  class Pending {
   public:
    // Whether get() would return at once. Never waits.
    Result<bool> ready();
    // One pipeline per pass, in order. Errors: "device/compile" with the library's diagnostic and
    // the pass, "device/lost", "device/timeout".
    Result<std::vector<PipelineRef>> get(std::optional<std::chrono::nanoseconds> timeout = {});

   private:
    friend class Pipelines;
    std::shared_ptr<Pipelines> owner_;
    std::vector<std::shared_ptr<Entry>> entries_;
  };
  // Starts whatever is missing, all at once.
  Result<Pending> start(std::span<const PlanPass* const> passes);
  Result<std::vector<PipelineRef>> get(std::span<const PlanPass* const> passes);
  Result<std::shared_ptr<const Layout>> layout(std::span<const BindingType> types);
  // Forgets everything that is built; what is in use stays alive.
  void clear();
  PipelineStats stats() const;

 private:
  using Key = std::array<std::uint8_t, 16>;
  std::shared_ptr<Entry> find_or_add(const PlanPass& pass, bool& ours);
  Status begin(Entry& entry);
  // Looks at the entry or waits for it; null: not yet. The entry's mutex is held.
  const Result<PipelineRef>* advance(const std::shared_ptr<Entry>& entry,
                                     std::optional<std::chrono::nanoseconds> timeout);
  void publish(const std::shared_ptr<Entry>& entry, Result<PipelineRef> result);
  void tell(Entry& entry);

  std::shared_ptr<Device> device_;
  mutable std::mutex mutex_;
  std::map<Key, std::vector<std::shared_ptr<Entry>>> entries_;
  std::map<std::string, std::shared_ptr<const Layout>> layouts_;
  PipelineStats stats_;
};

}  // namespace wgk::gpu
