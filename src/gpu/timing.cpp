// SPDX-License-Identifier: Apache-2.0
#include "gpu/timing.h"

#include <chrono>
#include <cstring>
#include <format>

#include "gpu/names.h"
#include "gpu/transfer.h"

namespace wgk::gpu {
namespace {

// A query set with its way to the host.
class Stamps {
 public:
  static Result<Stamps> make(const Context& context, std::uint32_t count) {
    const Device& device = *context.device;
    if (!device.caps().has_feature("timestamp-query")) {
      return failure("device/feature", "the device has no timestamps (feature 'timestamp-query')");
    }
    Stamps stamps;
    stamps.count_ = count;
    auto resolved = context.memory->allocate(std::uint64_t{8} * count,
                                             WGPUBufferUsage_QueryResolve | WGPUBufferUsage_CopySrc,
                                             "timestamps");
    if (!resolved) return std::unexpected(std::move(resolved.error()));
    stamps.resolved_ = std::move(resolved->buffer);
    const auto lock = device.lock();
    ErrorScope scope(device);
    WGPUQuerySetDescriptor descriptor = WGPU_QUERY_SET_DESCRIPTOR_INIT;
    descriptor.type = WGPUQueryType_Timestamp;
    descriptor.count = count;
    stamps.set_ = device.own(device.procs().device_create_query_set(device.handle(), &descriptor),
                             device.procs().query_set_release);
    if (auto status = scope.finish(); !status) return std::unexpected(std::move(status.error()));
    if (!stamps.set_) return failure("device/validation", "no timestamps could be made");
    return stamps;
  }

  WGPUQuerySet set() const { return set_.get(); }
  void resolve(const Procs& procs, WGPUCommandEncoder encoder) const {
    procs.command_encoder_resolve_query_set(encoder, set_.get(), 0, count_, resolved_->handle(), 0);
  }
  Result<std::vector<std::uint64_t>> read(const Context& context) const {
    const Slice slice{resolved_, 0, std::uint64_t{8} * count_};
    auto back = ReadBack::make(context, {&slice, 1});
    if (!back) return std::unexpected(std::move(back.error()));
    if (auto status = (*back)->submit(); !status) return std::unexpected(std::move(status.error()));
    if (auto status = (*back)->start(); !status) return std::unexpected(std::move(status.error()));
    if (auto status = (*back)->wait(); !status) return std::unexpected(std::move(status.error()));
    std::vector<std::uint64_t> values(count_);
    std::memcpy(values.data(), (*back)->data(0).data(), values.size() * 8);
    return values;
  }

 private:
  std::uint32_t count_ = 0;
  BufferRef resolved_;
  Handle<WGPUQuerySet> set_;
};

Status only_passes(std::span<const std::shared_ptr<Bound>> rotation) {
  if (rotation.empty()) return failure("usage/range", "no call to time was given");
  for (const auto& bound : rotation) {
    if (bound->needs() != Needs::kPass) {
      return failure("usage/needs-encoder",
                     std::format("{} needs more than a compute pass and cannot be repeated in one",
                                 bound->prepared().plan().op_id));
    }
  }
  return {};
}

Result<double> time_pass(std::span<const std::shared_ptr<Bound>> rotation,
                         std::uint32_t repetitions, bool by_device) {
  if (auto status = only_passes(rotation); !status)
    return std::unexpected(std::move(status.error()));
  const Context& context = rotation.front()->prepared().context();
  const Device& device = *context.device;
  if (auto status = device.check(); !status) return std::unexpected(std::move(status.error()));
  std::optional<Stamps> stamps;
  if (by_device) {
    auto made = Stamps::make(context, 2);
    if (!made) return std::unexpected(std::move(made.error()));
    stamps = std::move(*made);
  }
  const Procs& procs = device.procs();
  const std::lock_guard submit_lock(*context.submit);
  auto lock = device.lock();
  ErrorScope scope(device);
  const Handle<WGPUCommandEncoder> encoder = device.own(
      procs.device_create_command_encoder(device.handle(), nullptr), procs.command_encoder_release);
  if (!encoder) return failure("device/validation", "no command encoder could be made");
  WGPUPassTimestampWrites writes = WGPU_PASS_TIMESTAMP_WRITES_INIT;
  WGPUComputePassDescriptor descriptor = WGPU_COMPUTE_PASS_DESCRIPTOR_INIT;
  if (stamps) {
    writes.querySet = stamps->set();
    writes.beginningOfPassWriteIndex = 0;
    writes.endOfPassWriteIndex = 1;
    descriptor.timestampWrites = &writes;
  }
  const Handle<WGPUComputePassEncoder> pass =
      device.own(procs.command_encoder_begin_compute_pass(encoder.get(), &descriptor),
                 procs.compute_pass_release);
  if (!pass) return failure("device/validation", "no compute pass could be begun");
  for (std::uint32_t i = 0; i < repetitions; ++i) rotation[i % rotation.size()]->record(pass.get());
  procs.compute_pass_end(pass.get());
  if (stamps) stamps->resolve(procs, encoder.get());
  const auto start = std::chrono::steady_clock::now();
  if (auto status = finish_and_submit(device, encoder.get()); !status)
    return std::unexpected(std::move(status.error()));
  if (auto status = scope.finish(); !status) return std::unexpected(std::move(status.error()));
  if (lock.owns_lock()) lock.unlock();
  if (auto status = wait_for_queue(device); !status)
    return std::unexpected(std::move(status.error()));
  if (!stamps)
    return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start)
        .count();
  auto values = stamps->read(context);
  if (!values) return std::unexpected(std::move(values.error()));
  return static_cast<double>((*values)[1] - (*values)[0]);
}

}  // namespace

Result<double> time_repetitions(std::span<const std::shared_ptr<Bound>> rotation,
                                std::uint32_t repetitions) {
  return time_pass(rotation, repetitions, true);
}

Result<double> time_repetitions_on_host(std::span<const std::shared_ptr<Bound>> rotation,
                                        std::uint32_t repetitions) {
  return time_pass(rotation, repetitions, false);
}

Result<std::vector<double>> time_dispatches(const Bound& bound) {
  const Context& context = bound.prepared().context();
  const Device& device = *context.device;
  if (bound.needs() == Needs::kSubmit) {
    return failure("usage/needs-encoder",
                   std::format("{} needs several submissions", bound.prepared().plan().op_id));
  }
  if (auto status = device.check(); !status) return std::unexpected(std::move(status.error()));
  const auto count = static_cast<std::uint32_t>(bound.step_count());
  if (count == 0) return std::vector<double>();
  auto stamps = Stamps::make(context, 2 * count);
  if (!stamps) return std::unexpected(std::move(stamps.error()));
  const Procs& procs = device.procs();
  {
    const std::lock_guard submit_lock(*context.submit);
    const auto lock = device.lock();
    ErrorScope scope(device);
    const Handle<WGPUCommandEncoder> encoder =
        device.own(procs.device_create_command_encoder(device.handle(), nullptr),
                   procs.command_encoder_release);
    if (!encoder) return failure("device/validation", "no command encoder could be made");
    if (auto status = bound.record_stepwise(encoder.get(), stamps->set()); !status)
      return std::unexpected(std::move(status.error()));
    stamps->resolve(procs, encoder.get());
    if (auto status = finish_and_submit(device, encoder.get()); !status)
      return std::unexpected(std::move(status.error()));
    if (auto status = scope.finish(); !status) return std::unexpected(std::move(status.error()));
  }
  auto values = stamps->read(context);
  if (!values) return std::unexpected(std::move(values.error()));
  std::vector<double> spans;
  for (std::uint32_t i = 0; i < count; ++i)
    spans.push_back(static_cast<double>((*values)[2 * i + 1] - (*values)[2 * i]));
  return spans;
}

}  // namespace wgk::gpu
