// SPDX-License-Identifier: Apache-2.0
// Compute pipelines, one per plan key: built once however many callers wait, several at a time.
#pragma once

#include <webgpu/webgpu.h>

#include <array>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
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

class Pipelines {
 public:
  explicit Pipelines(std::shared_ptr<Device> device) : device_(std::move(device)) {}

  // One pipeline per pass, in order. Builds what is missing, all at once, and waits; waits also for
  // what another thread is building. Errors: "device/compile" with the library's diagnostic and the
  // pass, "device/lost", "device/timeout".
  Result<std::vector<PipelineRef>> get(std::span<const PlanPass* const> passes);
  Result<std::shared_ptr<const Layout>> layout(std::span<const BindingType> types);
  void clear();
  PipelineStats stats() const;

 private:
  struct Entry;
  using Key = std::array<std::uint8_t, 16>;
  std::shared_ptr<Entry> find_or_start(const PlanPass& pass, bool& ours);
  void build(std::span<const std::shared_ptr<Entry>> entries);
  Status start(Entry& entry);
  void publish(const std::shared_ptr<Entry>& entry, Result<PipelineRef> result);

  std::shared_ptr<Device> device_;
  mutable std::mutex mutex_;
  std::condition_variable published_;
  std::map<Key, std::vector<std::shared_ptr<Entry>>> entries_;
  std::map<std::string, std::shared_ptr<const Layout>> layouts_;
  PipelineStats stats_;
};

}  // namespace wgk::gpu
