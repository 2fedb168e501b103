// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <format>
#include <mutex>
#include <optional>
#include <utility>

#include "gpu/transfer.h"
#include "gpu/wait.h"
#include "package/package.h"
#include "plan/encode.h"
#include "runtime/access.h"
#include "runtime/kernel_impl.h"
#include "runtime/polled_state.h"
#include "runtime/tensor_impl.h"
#include "wgk/kernel.h"

namespace wgk {
namespace {

std::unexpected<Error> empty_handle(std::string_view what) {
  return failure("usage/range", std::format("the {} handle is empty", what));
}

// Waits for pipelines without a thread: the plan entry is asked.
class PrepareState : public PolledState<Prepared> {
 public:
  PrepareState(KernelRef kernel, PlanEntryRef entry, Request request)
      : PolledState(kernel->runtime),
        kernel_(std::move(kernel)),
        entry_(std::move(entry)),
        request_(std::move(request)) {}
  Result<bool> poll() override { return entry_->ready(); }
  Result<Prepared> finish(std::optional<std::chrono::nanoseconds> timeout) override {
    if (cancelled()) return failure("usage/cancelled", "preparing was cancelled");
    auto prepared = entry_->finish(timeout);
    if (!prepared) return std::unexpected(std::move(prepared.error()));
    return make_prepared(kernel_, entry_, request_);
  }

 private:
  KernelRef kernel_;
  PlanEntryRef entry_;
  Request request_;
};

// Whether two plans differ in nothing but uniform values; else what differs.
std::optional<std::string> difference(const Plan& a, const Plan& b) {
  if (a.variant != b.variant)
    return std::format("the variant ('{}' becomes '{}')", a.variant, b.variant);
  if (a.passes.size() != b.passes.size()) return "the number of passes";
  if (a.scratch.size() != b.scratch.size()) return "the scratch buffers";
  for (std::size_t i = 0; i < a.scratch.size(); ++i) {
    if (a.scratch[i].buffer_size != b.scratch[i].buffer_size)
      return std::format("the size of scratch '{}'", a.scratch[i].id);
  }
  for (std::size_t i = 0; i < a.tensors.size(); ++i) {
    if (a.tensors[i].shape != b.tensors[i].shape)
      return std::format("the shape of '{}'", a.tensors[i].port);
  }
  for (std::size_t i = 0; i < a.passes.size(); ++i) {
    const PlanPass& left = a.passes[i];
    const PlanPass& right = b.passes[i];
    if (left.key != right.key || *left.wgsl != *right.wgsl)
      return std::format("the text of pass '{}'", left.id);
    if (left.dispatch != right.dispatch) return std::format("the size of pass '{}'", left.id);
    if (left.submit_after != right.submit_after)
      return std::format("the submission of pass '{}'", left.id);
  }
  return std::nullopt;
}

Needs needs_of(gpu::Needs needs) {
  switch (needs) {
    case gpu::Needs::kPass: return Needs::kPass;
    case gpu::Needs::kEncoder: return Needs::kEncoder;
    default: return Needs::kSubmit;
  }
}

std::unexpected<Error> needs_more(const Bound::Impl& bound, std::string_view given) {
  return failure(
      "usage/needs-encoder",
      std::format("{} cannot be recorded into {}: it needs {}",
                  bound.prepared->entry->plan()->op_id, given,
                  bound.bound->needs() == gpu::Needs::kEncoder ? "an encoder (staging copies)"
                                                               : "several submissions"),
      "ask needs() first; run() does all of it");
}

Result<std::vector<gpu::Slice>> slices_of(
    const Prepared::Impl& prepared, const std::vector<std::pair<std::string, Tensor>>& tensors,
    std::vector<Tensor>& kept) {
  const Plan& plan = *prepared.entry->plan();
  std::vector<gpu::Slice> slices(plan.tensors.size());
  kept.resize(plan.tensors.size());
  for (const auto& [name, tensor] : tensors) {
    const auto index = find_tensor(plan, prepared.kernel->package, name);
    if (!index)
      return failure("request/unknown",
                     std::format("{} has no tensor '{}' in this plan", plan.op_id, name));
    const PlanTensor& wanted = plan.tensors[*index];
    auto slice = slice_of(tensor, prepared.entry->session());
    if (!slice)
      return std::unexpected(
          std::move(slice.error()).during(std::format("binding tensor '{}'", name)));
    if (tensor.storage() != wanted.storage || tensor.packed() != wanted.packed) {
      return failure("request/dtype",
                     std::format("tensor '{}' holds {}, the plan is for {}", name,
                                 wgk::name(tensor.storage()), wgk::name(wanted.storage)));
    }
    if (tensor.byte_length() != wanted.byte_length) {
      return failure("request/shape",
                     std::format("tensor '{}' has {} elements, the plan is for {} bytes", name,
                                 tensor.elements(), wanted.byte_length));
    }
    slices[*index] = std::move(*slice);
    kept[*index] = tensor;
  }
  for (std::size_t i = 0; i < slices.size(); ++i) {
    if (!slices[i].buffer)
      return failure("request/missing",
                     std::format("no tensor for '{}' was given", plan.tensors[i].port));
  }
  return slices;
}

}  // namespace

std::string_view name(Needs needs) {
  switch (needs) {
    case Needs::kPass: return "pass";
    case Needs::kEncoder: return "encoder";
    default: return "submit";
  }
}

Result<Prepared> make_prepared(const KernelRef& kernel, const PlanEntryRef& entry,
                               const Request& request) {
  auto prepared = entry->finish();
  if (!prepared) return std::unexpected(std::move(prepared.error()));
  return Prepared(
      std::make_shared<const Prepared::Impl>(kernel, entry, std::move(*prepared), request));
}

Result<Future<Prepared>> Kernel::start_prepare(const Signature& signature) const {
  if (!impl_) return empty_handle("kernel");
  auto session = impl_->runtime->live_session();
  if (!session) return std::unexpected(std::move(session.error()));
  Request request = request_of(signature);
  auto entry = impl_->entry(*impl_->at(*session), request);
  if (!entry)
    return std::unexpected(std::move(entry.error()).during(std::format("preparing {}", op_id())));
  if (auto status = (*entry)->start(); !status) return std::unexpected(std::move(status.error()));
  return Future<Prepared>(
      std::make_shared<PrepareState>(impl_, std::move(*entry), std::move(request)));
}

Result<Prepared> Kernel::prepare(const Signature& signature) const {
  auto future = start_prepare(signature);
  if (!future) return std::unexpected(std::move(future.error()));
  return future->wait();
}

const Plan& Prepared::plan() const { return *impl_->entry->plan(); }
MemoryNeeds Prepared::memory() const {
  return impl_ ? memory_of(plan(), *impl_->entry->session()) : MemoryNeeds();
}

Result<Bound> Prepared::bind(const std::vector<std::pair<std::string, Tensor>>& tensors,
                             const BindOptions& options) const {
  if (!impl_) return empty_handle("prepared call");
  if (auto status = impl_->entry->session()->context.device->check(); !status)
    return std::unexpected(std::move(status.error()));
  auto impl = std::make_shared<Bound::Impl>();
  auto slices = slices_of(*impl_, tensors, impl->tensors);
  if (!slices) return std::unexpected(std::move(slices.error()));
  gpu::BindOptions how{.own_scratch = options.own_scratch, .staging = options.staging};
  if (options.arena.impl()) {
    auto scratch = scratch_from(*options.arena.impl(), plan(), impl_->entry->session());
    if (!scratch) return std::unexpected(std::move(scratch.error()));
    how.scratch = std::move(*scratch);
  }
  auto bound = gpu::Bound::make(impl_->prepared, std::move(*slices), how);
  if (!bound) return std::unexpected(std::move(bound.error()));
  impl->prepared = impl_;
  impl->bound = std::move(*bound);
  impl->options = options;
  return Bound(std::move(impl));
}

Result<Tensor> Prepared::make_output(std::string_view port) const {
  if (!impl_) return empty_handle("prepared call");
  const auto index = find_tensor(plan(), impl_->kernel->package, port);
  if (!index) {
    return failure("request/unknown",
                   std::format("{} has no tensor '{}' in this plan", plan().op_id, port));
  }
  const PlanTensor& tensor = plan().tensors[*index];
  return make_tensor(impl_->kernel->runtime, impl_->entry->session(), tensor.dtype, tensor.shape,
                     {.storage = tensor.storage, .packed = tensor.packed});
}

Result<std::vector<std::pair<std::string, Tensor>>> Prepared::make_outputs() const {
  if (!impl_) return empty_handle("prepared call");
  std::vector<std::pair<std::string, Tensor>> outputs;
  for (const PlanTensor& tensor : plan().tensors) {
    if (tensor.is_input) continue;
    auto made = make_output(tensor.port);
    if (!made) return std::unexpected(std::move(made.error()));
    outputs.emplace_back(tensor.port, std::move(*made));
  }
  return outputs;
}

std::shared_ptr<gpu::Bound> executor_of(const Bound& bound) { return bound.impl()->bound; }

Needs Bound::needs() const { return impl_ ? needs_of(impl_->bound->needs()) : Needs::kPass; }
const Plan& Bound::plan() const { return impl_->bound->prepared().plan(); }
const std::vector<std::string>& Bound::staging_notes() const {
  static const std::vector<std::string> kNone;
  return impl_ ? impl_->bound->staging_notes() : kNone;
}

// What recording looks at first, without asking WebGPU: the handle, and what is known of the
// device.
static Status can_record(const std::shared_ptr<Bound::Impl>& impl, const void* into) {
  if (!impl) [[unlikely]]
    return empty_handle("bound call");
  const gpu::Device& device = *impl->bound->prepared().context().device;
  if (device.known_lost()) [[unlikely]]
    return device.check();
  if (into == nullptr) [[unlikely]]
    return empty_handle("pass or encoder");
  return {};
}

Status Bound::record(WGPUComputePassEncoder pass) const {
  if (auto status = can_record(impl_, pass); !status) [[unlikely]]
    return status;
  const gpu::Bound& bound = *impl_->bound;
  if (bound.needs() != gpu::Needs::kPass) [[unlikely]]
    return needs_more(*impl_, "a compute pass");
  bound.used_outside();
  bound.record(pass);
  return {};
}

Status Bound::record(WGPUCommandEncoder encoder) const {
  if (auto status = can_record(impl_, encoder); !status) return status;
  const gpu::Bound& bound = *impl_->bound;
  if (bound.needs() == gpu::Needs::kSubmit) return needs_more(*impl_, "one encoder");
  bound.used_outside();
  return bound.record(encoder);
}

Status Bound::submit() const {
  if (!impl_) return empty_handle("bound call");
  return impl_->bound->submit();
}

Result<CallResult> Bound::run_and_read() const {
  if (!impl_) return empty_handle("bound call");
  const gpu::Bound& bound = *impl_->bound;
  const Plan& plan = bound.prepared().plan();
  std::vector<gpu::Slice> slices;
  std::vector<const PlanTensor*> outputs;
  slices.reserve(plan.tensors.size());
  outputs.reserve(plan.tensors.size());
  for (std::size_t i = 0; i < plan.tensors.size(); ++i) {
    const PlanTensor& tensor = plan.tensors[i];
    if (!tensor.is_output) continue;
    slices.push_back({bound.tensors()[i].buffer, bound.tensors()[i].offset, tensor.byte_length});
    outputs.push_back(&tensor);
  }
  auto read = gpu::ReadBack::make(bound.prepared().context(), slices);
  if (!read) return std::unexpected(std::move(read.error()));
  auto status = bound.submit({.clear = {}, .copies = (*read)->copies()});
  if (status) status = (*read)->start();
  if (!status) return std::unexpected(std::move(status.error()));
  // While the device works: the results with their room, and what goes with them.
  CallResult::Parts parts{
      .outputs = {}, .package = impl_->prepared->kernel->package, .plan = {}, .timing = {}};
  std::vector<std::span<std::byte>> rooms;
  parts.outputs.reserve(outputs.size());
  rooms.reserve(outputs.size());
  for (const PlanTensor* output : outputs) {
    auto size = planning::host_byte_length(*output);
    if (!size) return std::unexpected(std::move(size.error()));
    auto array =
        std::make_shared<HostArray>(std::vector<std::byte>(*size), output->dtype, output->shape);
    rooms.emplace_back(array->data);
    parts.outputs.emplace_back(output->port, host_tensor(std::move(array)));
  }
  // Plans are shared; this one lives as long as the bound call that it names.
  parts.plan = std::shared_ptr<const Plan>(impl_->bound, &plan);
  if (auto waited = (*read)->wait(); !waited) return std::unexpected(std::move(waited.error()));
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (auto done = planning::decode((*read)->data(i), *outputs[i], rooms[i]); !done)
      return std::unexpected(std::move(done.error()));
  }
  return CallResult(std::move(parts));
}

struct Submission::Impl {
  RuntimeRef runtime;
  std::shared_ptr<gpu::Device> device;
  std::atomic<bool> cancelled = false;
  std::once_flag asked;
  std::optional<gpu::QueueDone> done;  // made when somebody asks
  std::mutex mutex;                    // one thread at a time looks or waits

  gpu::QueueDone& ask() {
    std::call_once(asked, [this] { done.emplace(device); });
    return *done;
  }
  std::unexpected<Error> refuse() const {
    return failure("usage/cancelled", "waiting for the call was cancelled");
  }
};

Result<Submission> Bound::run() const {
  if (auto status = submit(); !status) return std::unexpected(std::move(status.error()));
  auto impl = std::make_shared<Submission::Impl>();
  impl->runtime = impl_->prepared->kernel->runtime;
  impl->device = impl_->prepared->entry->session()->context.device;
  return Submission(std::move(impl));
}

Result<bool> Submission::ready() {
  if (!impl_) return true;
  if (impl_->cancelled) return impl_->refuse();
  gpu::QueueDone& done = impl_->ask();
  const std::unique_lock lock(impl_->mutex, std::try_to_lock);
  if (!lock) return false;  // another thread waits for it
  return done.ready();
}

Status Submission::wait(std::optional<std::chrono::nanoseconds> timeout) {
  if (!impl_) return {};
  if (impl_->cancelled) return impl_->refuse();
  gpu::QueueDone& done = impl_->ask();
  const gpu::Deadline deadline(timeout);
  const auto lock = deadline.lock(impl_->mutex);
  if (!lock) return failure("usage/not-ready", "another thread waits for this call");
  return done.wait(deadline.left());
}

void Submission::then(std::function<void(Status)> callback) {
  if (!impl_ || !callback) return;
  impl_->ask();
  impl_->runtime->add_callback([impl = impl_, callback = std::move(callback)](bool over) {
    if (over || impl->cancelled) {
      callback(impl->refuse());
      return true;
    }
    std::unique_lock lock(impl->mutex, std::try_to_lock);
    if (!lock) return false;  // another thread waits for it
    const auto ready = impl->done->ready();
    if (ready && !*ready) return false;
    Status status = ready ? impl->done->wait() : Status(std::unexpected(ready.error()));
    lock.unlock();
    callback(std::move(status));
    return true;
  });
}

void Submission::cancel() {
  if (impl_) impl_->cancelled = true;
}

Status Bound::update(const Values& args) {
  if (!impl_) return empty_handle("bound call");
  const Prepared::Impl& prepared = *impl_->prepared;
  Request request = prepared.request;
  for (const auto& [key, value] : args) {
    const auto old = std::ranges::find(request.args, key, &std::pair<std::string, Json>::first);
    if (old == request.args.end()) {
      request.args.emplace_back(key, value);
    } else {
      old->second = value;
    }
  }
  const SessionRef& session = prepared.entry->session();
  auto plan = prepared.kernel->at(session)->planner.plan(request);
  if (!plan) return std::unexpected(std::move(plan.error()));
  if (const auto what = difference(*prepared.entry->plan(), **plan)) {
    return failure("usage/specialized",
                   std::format("the new values change {}, not only uniforms", *what),
                   "prepare the call again");
  }
  auto fresh = gpu::Prepared::make(session->context, *plan);
  if (!fresh) return std::unexpected(std::move(fresh.error()));
  auto bound =
      gpu::Bound::make(std::move(*fresh), impl_->bound->tensors(),
                       {.scratch = impl_->bound->scratch(), .staging = impl_->options.staging});
  if (!bound) return std::unexpected(std::move(bound.error()));
  auto next = std::make_shared<Prepared::Impl>(prepared);
  next->request = std::move(request);
  impl_->prepared = std::move(next);
  impl_->bound = std::move(*bound);
  return {};
}

}  // namespace wgk
