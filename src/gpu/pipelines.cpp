// SPDX-License-Identifier: Apache-2.0
#include "gpu/pipelines.h"

#include <algorithm>
#include <chrono>
#include <format>
#include <optional>
#include <utility>

#include "gpu/names.h"
#include "gpu/wait.h"

namespace wgk::gpu {

struct PipelineReply {
  WGPUCreatePipelineAsyncStatus status = WGPUCreatePipelineAsyncStatus_InternalError;
  WGPUComputePipeline pipeline = nullptr;
  std::string message;
  // For a pipeline that nobody waits for any more.
  WGPUProcComputePipelineRelease release = nullptr;

  PipelineReply() = default;
  PipelineReply(const PipelineReply&) = delete;
  PipelineReply& operator=(const PipelineReply&) = delete;
  ~PipelineReply() {
    if (pipeline != nullptr && release != nullptr) release(pipeline);
  }
};

namespace {

void on_pipeline(WGPUCreatePipelineAsyncStatus status, WGPUComputePipeline pipeline,
                 WGPUStringView message, void* user, void*) {
  const auto reply = Pending<PipelineReply>::arrived(user);
  reply->status = status;
  reply->pipeline = pipeline;
  reply->message = text_or_nothing(message);
}

WGPUBufferBindingType binding_type(BindingType type) {
  switch (type) {
    case BindingType::kReadOnlyStorage: return WGPUBufferBindingType_ReadOnlyStorage;
    case BindingType::kStorage: return WGPUBufferBindingType_Storage;
    default: return WGPUBufferBindingType_Uniform;
  }
}

std::vector<BindingType> types_of(const PlanPass& pass) {
  std::vector<BindingType> types(pass.bindings.size());
  for (std::size_t i = 0; i < types.size(); ++i) types[i] = pass.bindings[i].type;
  return types;
}

}  // namespace

struct Pipelines::Entry {
  explicit Entry(std::shared_ptr<Device> on) : device(std::move(on)) {}
  // Nobody waited for it: its callback may still come.
  ~Entry() {
    if (future.id != 0 && !result) reply.abandon(device->instance(), future);
  }
  Entry(const Entry&) = delete;
  Entry& operator=(const Entry&) = delete;

  std::shared_ptr<Device> device;
  // What the pipeline is made of. The key is a digest of it; on a hit it is compared all the same.
  std::shared_ptr<const std::string> wgsl;
  std::string entry_point;
  std::vector<BindingType> types;
  std::string label;
  std::array<std::uint8_t, 16> key = {};
  // Held while the entry is begun or waited for: others queue up behind whoever drives it.
  std::mutex mutex;
  std::shared_ptr<const Layout> layout;
  Handle<WGPUShaderModule> module;
  gpu::Pending<PipelineReply> reply;
  WGPUFuture future = {};
  std::chrono::steady_clock::time_point started;
  std::optional<Result<PipelineRef>> result;
  std::string said;  // for the log, once the mutex is free

  bool same(const PlanPass& pass, std::span<const BindingType> pass_types) const {
    return entry_point == pass.entry_point && std::ranges::equal(types, pass_types) &&
           (wgsl == pass.wgsl || *wgsl == *pass.wgsl);
  }
};

// A fresh entry comes back locked: before anybody else can see it, and always before the table.
std::shared_ptr<Pipelines::Entry> Pipelines::find_or_add(const PlanPass& pass, bool& ours) {
  const std::vector<BindingType> types = types_of(pass);
  const auto find = [&]() -> std::shared_ptr<Entry> {
    for (const std::shared_ptr<Entry>& entry : entries_[pass.key]) {
      if (!entry->same(pass, types)) continue;
      ++stats_.hits;
      return entry;
    }
    return nullptr;
  };
  {
    const std::lock_guard lock(mutex_);
    if (auto known = find()) return known;
  }
  auto entry = std::make_shared<Entry>(device_);
  entry->wgsl = pass.wgsl;
  entry->entry_point = pass.entry_point;
  entry->types = types;
  entry->label = pass.label;
  entry->key = pass.key;
  std::unique_lock own(entry->mutex);
  const std::lock_guard lock(mutex_);
  if (auto known = find()) return known;  // somebody was faster
  entries_[pass.key].push_back(entry);
  ours = true;
  own.release();
  return entry;
}

Result<Pipelines::Pending> Pipelines::start(std::span<const PlanPass* const> passes) {
  if (auto status = device_->check(); !status) return std::unexpected(std::move(status.error()));
  Pending pending;
  pending.owner_ = shared_from_this();
  std::vector<std::pair<std::shared_ptr<Entry>, std::unique_lock<std::mutex>>> missing;
  // From here to its place among these an entry is locked by nobody's lock object.
  pending.entries_.reserve(passes.size());
  missing.reserve(passes.size());
  for (const PlanPass* pass : passes) {
    bool ours = false;
    pending.entries_.push_back(find_or_add(*pass, ours));
    const std::shared_ptr<Entry>& entry = pending.entries_.back();
    if (ours) missing.emplace_back(entry, std::unique_lock(entry->mutex, std::adopt_lock));
  }
  for (const auto& [entry, lock] : missing) {
    if (auto status = begin(*entry); !status)
      publish(entry, std::unexpected(std::move(status.error())));
  }
  return pending;
}

Result<std::vector<PipelineRef>> Pipelines::get(std::span<const PlanPass* const> passes) {
  auto pending = start(passes);
  if (!pending) return std::unexpected(std::move(pending.error()));
  return pending->get();
}

Result<bool> Pipelines::Pending::ready() {
  for (const std::shared_ptr<Entry>& entry : entries_) {
    std::unique_lock lock(entry->mutex, std::try_to_lock);
    if (!lock.owns_lock()) return false;
    if (owner_->advance(entry, std::chrono::nanoseconds(0)) == nullptr) return false;
    lock.unlock();
    owner_->tell(*entry);
  }
  return true;
}

Result<std::vector<PipelineRef>> Pipelines::Pending::get(
    std::optional<std::chrono::nanoseconds> timeout) {
  std::vector<PipelineRef> pipelines;
  const Deadline deadline(timeout);
  for (const std::shared_ptr<Entry>& entry : entries_) {
    auto lock = deadline.lock(entry->mutex);
    const Result<PipelineRef>* result =
        lock.owns_lock() ? owner_->advance(entry, deadline.left()) : nullptr;
    if (lock.owns_lock()) lock.unlock();
    owner_->tell(*entry);
    if (result == nullptr)
      return failure("usage/not-ready",
                     std::format("pipeline '{}' is not built yet", entry->label));
    if (!*result) return std::unexpected(result->error());
    pipelines.push_back(**result);
  }
  return pipelines;
}

Result<std::shared_ptr<const Layout>> Pipelines::layout(std::span<const BindingType> types) {
  std::string key;
  for (const BindingType type : types) key += static_cast<char>('0' + static_cast<int>(type));
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = layouts_.find(key); found != layouts_.end()) return found->second;
  }
  std::vector<WGPUBindGroupLayoutEntry> entries;
  for (std::size_t i = 0; i < types.size(); ++i) {
    WGPUBindGroupLayoutEntry entry = WGPU_BIND_GROUP_LAYOUT_ENTRY_INIT;
    entry.binding = static_cast<std::uint32_t>(i);
    entry.visibility = WGPUShaderStage_Compute;
    entry.buffer.type = binding_type(types[i]);
    entries.push_back(entry);
  }
  const Procs& procs = device_->procs();
  auto layout = std::make_shared<Layout>();
  const auto device_lock = device_->lock();
  ErrorScope scope(*device_);
  WGPUBindGroupLayoutDescriptor group = WGPU_BIND_GROUP_LAYOUT_DESCRIPTOR_INIT;
  group.entryCount = entries.size();
  group.entries = entries.data();
  layout->group = device_->own(procs.device_create_bind_group_layout(device_->handle(), &group),
                               procs.bind_group_layout_release);
  if (layout->group) {
    WGPUPipelineLayoutDescriptor descriptor = WGPU_PIPELINE_LAYOUT_DESCRIPTOR_INIT;
    const WGPUBindGroupLayout groups[] = {layout->group.get()};
    descriptor.bindGroupLayoutCount = 1;
    descriptor.bindGroupLayouts = groups;
    layout->pipeline =
        device_->own(procs.device_create_pipeline_layout(device_->handle(), &descriptor),
                     procs.pipeline_layout_release);
  }
  if (auto status = scope.finish(); !status) return std::unexpected(std::move(status.error()));
  if (!layout->group || !layout->pipeline)
    return failure("device/validation", "no bind group layout could be made");
  const std::lock_guard lock(mutex_);
  const auto [place, fresh] = layouts_.try_emplace(std::move(key), std::move(layout));
  return place->second;
}

// Makes the module and starts the pipeline.
Status Pipelines::begin(Entry& entry) {
  entry.started = std::chrono::steady_clock::now();
  auto made = layout(entry.types);
  if (!made) return std::unexpected(std::move(made.error()));
  entry.layout = std::move(*made);
  const Procs& procs = device_->procs();
  const auto lock = device_->lock();
  ErrorScope scope(*device_);
  WGPUShaderSourceWGSL source = WGPU_SHADER_SOURCE_WGSL_INIT;
  source.code = view(*entry.wgsl);
  WGPUShaderModuleDescriptor module = WGPU_SHADER_MODULE_DESCRIPTOR_INIT;
  module.nextInChain = &source.chain;
  module.label = view(entry.label);
  entry.module = device_->own(procs.device_create_shader_module(device_->handle(), &module),
                              procs.shader_module_release);
  if (auto status = scope.finish("device/compile"); !status) return status;
  if (!entry.module) return failure("device/compile", "no shader module could be made");
  WGPUComputePipelineDescriptor descriptor = WGPU_COMPUTE_PIPELINE_DESCRIPTOR_INIT;
  descriptor.label = view(entry.label);
  descriptor.layout = entry.layout->pipeline.get();
  descriptor.compute.module = entry.module.get();
  descriptor.compute.entryPoint = view(entry.entry_point);
  entry.reply->release = procs.compute_pipeline_release;
  entry.future = procs.device_create_compute_pipeline_async(
      device_->handle(), &descriptor,
      {nullptr, WGPUCallbackMode_WaitAnyOnly, on_pipeline, entry.reply.user(), nullptr});
  return {};
}

const Result<PipelineRef>* Pipelines::advance(const std::shared_ptr<Entry>& entry,
                                              std::optional<std::chrono::nanoseconds> timeout) {
  if (entry->result) return &*entry->result;
  // Whoever was to begin it ran out of host memory.
  if (entry->future.id == 0) {
    if (auto status = begin(*entry); !status) {
      publish(entry, std::unexpected(std::move(status.error())));
      return &*entry->result;
    }
  }
  if (timeout && timeout->count() == 0) {
    const auto ready = device_->ready(entry->future);
    if (ready && !*ready) return nullptr;
    if (!ready) {
      entry->reply.abandon(device_->instance(), entry->future);
      publish(entry, std::unexpected(ready.error()));
      return &*entry->result;
    }
  } else if (auto status = device_->wait(entry->future, timeout); !status) {
    if (not_ready(status.error())) return nullptr;
    entry->reply.abandon(device_->instance(), entry->future);
    publish(entry, std::unexpected(std::move(status.error())));
    return &*entry->result;
  }
  PipelineReply& reply = entry->reply.get();
  auto pipeline = std::make_shared<Pipeline>();
  pipeline->device = device_;
  pipeline->layout = entry->layout;
  pipeline->handle = device_->own(std::exchange(reply.pipeline, nullptr), reply.release);
  if (auto status = device_->check(); !status) {
    publish(entry, std::unexpected(std::move(status.error())));
  } else if (reply.status != WGPUCreatePipelineAsyncStatus_Success || !pipeline->handle) {
    publish(entry, failure("device/compile",
                           reply.message.empty() ? "no pipeline was made" : reply.message));
  } else {
    publish(entry, PipelineRef(std::move(pipeline)));
  }
  return &*entry->result;
}

void Pipelines::publish(const std::shared_ptr<Entry>& entry, Result<PipelineRef> result) {
  const std::chrono::duration<double, std::milli> spent =
      std::chrono::steady_clock::now() - entry->started;
  if (device_->log().on()) {
    entry->said =
        result ? std::format("compiled '{}' in {:.2f} ms", entry->label, spent.count())
               : std::format("'{}' did not compile: {}", entry->label, result.error().message);
  }
  entry->module.reset();
  const std::lock_guard lock(mutex_);
  if (result) {
    ++stats_.built;
  } else {
    result = std::unexpected(
        std::move(result.error()).during(std::format("compiling pass '{}'", entry->label)));
    std::erase(entries_[entry->key], entry);  // the next caller tries again
  }
  entry->result = std::move(result);
}

// A sink may ask for the same pipeline: no lock is held. Where another thread has it, that one
// tells.
void Pipelines::tell(Entry& entry) {
  if (!device_->log().on()) return;
  std::unique_lock lock(entry.mutex, std::try_to_lock);
  if (!lock || !entry.result || entry.said.empty()) return;
  const std::string said = std::exchange(entry.said, {});
  const LogLevel level = *entry.result ? LogLevel::kInfo : LogLevel::kError;
  lock.unlock();
  device_->log().write(level, said);
}

void Pipelines::clear() {
  std::map<Key, std::vector<std::shared_ptr<Entry>>> entries;
  std::map<std::string, std::shared_ptr<const Layout>> layouts;
  const std::lock_guard lock(mutex_);  // released before the two maps go
  entries.swap(entries_);
  layouts.swap(layouts_);
}

PipelineStats Pipelines::stats() const {
  const std::lock_guard lock(mutex_);
  PipelineStats stats = stats_;
  for (const auto& [key, bucket] : entries_) stats.live += bucket.size();
  stats.layouts = layouts_.size();
  return stats;
}

}  // namespace wgk::gpu
