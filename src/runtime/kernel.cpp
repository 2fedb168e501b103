// SPDX-License-Identifier: Apache-2.0
#include "wgk/kernel.h"

#include <algorithm>
#include <format>
#include <utility>

#include "gpu/transfer.h"
#include "package/package.h"
#include "runtime/kernel_impl.h"
#include "runtime/tensor_impl.h"

namespace wgk {
namespace {

constexpr std::size_t kMaxEntries = 512;

std::unexpected<Error> no_kernel() { return failure("usage/range", "the kernel handle is empty"); }

Explanation no_explanation() {
  Explanation explanation;
  explanation.error = no_kernel().error();
  return explanation;
}

// A tensor that a buffer of ours will stand in for: to the planner it lies aligned in a buffer of
// its own, which only the very same tensor shares (a call in place).
BufferRange stand_in(const gpu::Slice& slice, const CallRequest& call) {
  const auto same = std::ranges::find_if(call.placed, [&](const auto& placed) {
    return placed.second.buffer->id() == slice.buffer->id() && placed.second.offset == slice.offset;
  });
  const auto number = static_cast<std::uint64_t>(same - call.placed.begin());
  return {number | (std::uint64_t{1} << 62), 0, 0};
}

// "usage/alignment" for a tensor that cannot be bound where it is, unless it may be staged.
Status check_offset(const gpu::Slice& slice, std::uint64_t alignment, bool staging,
                    const CallRequest& call, TensorDesc& desc) {
  if (slice.offset % alignment == 0) return {};
  if (staging) {
    desc.range = stand_in(slice, call);
    return {};
  }
  return failure(
      "usage/alignment",
      std::format("the tensor is at byte {}, which is no multiple of {}", slice.offset, alignment),
      "allow staging copies");
}

TensorDesc describe(const Tensor& tensor, const gpu::Slice& slice) {
  TensorDesc desc;
  desc.shape = tensor.shape();
  desc.dtype = tensor.dtype();
  if (tensor.storage() != tensor.dtype()) desc.storage = tensor.storage();
  desc.packed = tensor.packed();
  desc.on_device = true;
  desc.range = BufferRange{slice.buffer->id(), slice.offset, slice.buffer->size()};
  return desc;
}

TensorDesc describe(const HostTensor& tensor) {
  TensorDesc desc;
  desc.shape = tensor.shape;
  desc.dtype = tensor.dtype;
  desc.host_data = tensor.data;
  desc.host_array = tensor.array;
  return desc;
}

template <class Ports>
const package::Port* find_port(const Ports& ports, std::string_view name) {
  for (const package::Port& port : ports) {
    if (port.key == name || (!port.onnx.empty() && port.onnx == name)) return &port;
  }
  return nullptr;
}

}  // namespace

Result<CallRequest> make_request(const Inputs& inputs, const CallOptions& options,
                                 const SessionRef& session) {
  CallRequest call;
  const std::uint64_t alignment = session->context.device->limits().minStorageBufferOffsetAlignment;
  for (const auto& [name, argument] : inputs) {
    if (const auto* host = std::get_if<HostTensor>(&argument)) {
      call.request.inputs.emplace_back(name, describe(*host));
      continue;
    }
    const Tensor& tensor = std::get<Tensor>(argument);
    if (tensor && !tensor.impl()->runtime) {  // a result that was read back
      call.request.inputs.emplace_back(name, describe(tensor.impl()->host->view()));
      call.request.inputs.back().second.shape = tensor.shape();
      continue;
    }
    auto slice = slice_of(tensor, session);
    if (!slice)
      return std::unexpected(
          std::move(slice.error()).during(std::format("taking input '{}'", name)));
    call.request.inputs.emplace_back(name, describe(tensor, *slice));
    if (auto status = check_offset(*slice, alignment, options.staging, call,
                                   call.request.inputs.back().second);
        !status) {
      return std::unexpected(
          std::move(status.error()).during(std::format("taking input '{}'", name)));
    }
    call.placed.emplace_back(name, std::move(*slice));
  }
  for (const Output& output : options.outputs) {
    OutputDesc desc;
    desc.shape = output.shape;
    desc.dtype = output.dtype;
    if (output.destination) {
      auto slice = slice_of(output.destination, session);
      if (!slice)
        return std::unexpected(
            std::move(slice.error()).during(std::format("taking output '{}'", output.name)));
      desc.destination = describe(output.destination, *slice);
      if (auto status = check_offset(*slice, alignment, options.staging, call, *desc.destination);
          !status) {
        return std::unexpected(
            std::move(status.error()).during(std::format("taking output '{}'", output.name)));
      }
      call.placed.emplace_back(output.name, std::move(*slice));
    }
    call.request.outputs.emplace_back(output.name, std::move(desc));
  }
  call.request.attrs = options.attrs;
  call.request.args = options.args;
  call.request.tunables = options.tunables;
  call.request.variant = options.variant;
  return call;
}

Result<std::shared_ptr<const Plan>> plan_call(const KernelSession& kernel, CallRequest& call,
                                              bool staging) {
  auto plan = kernel.planner.plan(call.request);
  if (plan || !staging || plan.error().code != "request/alias") return plan;
  // Inputs that share a buffer with something that is written are read through a copy.
  for (auto& [name, desc] : call.request.inputs) {
    if (desc.range) desc.range->buffer |= std::uint64_t{1} << 63;
  }
  return kernel.planner.plan(call.request);
}

Request request_of(const Signature& signature) {
  Request request;
  for (const Signature::Input& input : signature.inputs) {
    TensorDesc desc;
    desc.shape = input.shape;
    desc.dtype = input.dtype;
    desc.storage = input.storage;
    desc.packed = input.packed;
    desc.on_device = true;
    if (input.buffer != 0) desc.range = BufferRange{input.buffer, 0, 0};
    request.inputs.emplace_back(input.name, std::move(desc));
  }
  for (const Output& output : signature.outputs) {
    OutputDesc desc;
    desc.shape = output.shape;
    desc.dtype = output.dtype;
    if (output.destination) {
      TensorDesc destination;
      destination.shape = output.destination.shape();
      destination.dtype = output.destination.dtype();
      destination.on_device = true;
      desc.destination = std::move(destination);
    }
    request.outputs.emplace_back(output.name, std::move(desc));
  }
  request.attrs = signature.attrs;
  request.args = signature.args;
  request.tunables = signature.tunables;
  request.variant = signature.variant;
  return request;
}

std::optional<std::size_t> find_tensor(const Plan& plan, const Package& package,
                                       std::string_view name) {
  const package::Manifest& manifest = package.shared()->manifest;
  const package::Port* port = find_port(manifest.inputs, name);
  if (port == nullptr) port = find_port(manifest.outputs, name);
  if (port == nullptr) return std::nullopt;
  for (std::size_t i = 0; i < plan.tensors.size(); ++i) {
    if (plan.tensors[i].port == port->key) return i;
  }
  return std::nullopt;
}

std::shared_ptr<const KernelSession> Kernel::Impl::at(const SessionRef& session) const {
  // The old device may go with the last of these: not under the lock.
  std::shared_ptr<const KernelSession> old;
  std::map<const Plan*, PlanEntryRef> old_entries;
  const std::lock_guard lock(mutex);
  if (!current || current->session != session) {
    old = std::move(current);
    old_entries.swap(entries);
    current =
        std::make_shared<const KernelSession>(session, Planner(package.shared(), session->caps));
  }
  return current;
}

Result<PlanEntryRef> Kernel::Impl::entry(const KernelSession& kernel,
                                         const Request& request) const {
  auto plan = kernel.planner.plan(request);
  if (!plan) return std::unexpected(std::move(plan.error()));
  return entry(kernel, *plan);
}

PlanEntryRef Kernel::Impl::entry(const KernelSession& kernel,
                                 const std::shared_ptr<const Plan>& plan) const {
  const std::lock_guard lock(mutex);
  if (const auto found = entries.find(plan.get()); found != entries.end()) {
    runtime->plan_hits.fetch_add(1, std::memory_order_relaxed);
    return found->second;
  }
  runtime->plans_made.fetch_add(1, std::memory_order_relaxed);
  if (entries.size() >= kMaxEntries) {
    std::erase_if(entries, [](const auto& item) { return item.second.use_count() == 1; });
  }
  auto entry = std::make_shared<PlanEntry>(kernel.session, plan);
  // A rebuild that came in between has its own entries.
  if (current && current->session == kernel.session) entries.emplace(plan.get(), entry);
  return entry;
}

void Kernel::Impl::drop(bool stale_only) {
  const SessionRef now = runtime->session();
  // An old device may go with the last of these: not under the lock.
  std::shared_ptr<const KernelSession> old;
  std::map<const Plan*, PlanEntryRef> old_entries;
  std::vector<PlanEntryRef> list;
  {
    const std::lock_guard lock(mutex);
    if (current && current->session != now) {
      old = std::move(current);
      old_entries.swap(entries);
    }
    for (const auto& [plan, entry] : entries) list.push_back(entry);
  }
  for (const PlanEntryRef& entry : list) entry->drop(stale_only);
}

const Package& Kernel::package() const { return impl_->package; }

Result<Future<CallResult>> Kernel::start(const Inputs& inputs, const CallOptions& options) const {
  if (!impl_) return no_kernel();
  return start_call(impl_, inputs, options);
}

Result<std::shared_ptr<const Plan>> Kernel::plan(const Inputs& inputs,
                                                 const CallOptions& options) const {
  if (!impl_) return no_kernel();
  const SessionRef session = impl_->runtime->session();
  auto call = make_request(inputs, options, session);
  if (!call) return std::unexpected(std::move(call.error()));
  return plan_call(*impl_->at(session), *call, options.staging);
}

Result<std::shared_ptr<const Plan>> Kernel::plan(const Signature& signature) const {
  if (!impl_) return no_kernel();
  return impl_->at(impl_->runtime->session())->planner.plan(request_of(signature));
}

Explanation Kernel::explain(const Signature& signature) const {
  if (!impl_) return no_explanation();
  return impl_->at(impl_->runtime->session())->planner.explain(request_of(signature));
}

Explanation Kernel::explain(const Inputs& inputs, const CallOptions& options) const {
  if (!impl_) return no_explanation();
  const SessionRef session = impl_->runtime->session();
  // What cannot be bound as it is shall show as a note, not hide the decisions.
  CallOptions staged = options;
  staged.staging = true;
  auto call = make_request(inputs, staged, session);
  if (!call) {
    Explanation explanation;
    explanation.error = std::move(call.error());
    return explanation;
  }
  const auto kernel = impl_->at(session);
  const auto plan = plan_call(*kernel, *call, true);
  Explanation explanation = kernel->planner.explain(call->request);
  if (!plan) return explanation;
  // Where tensors cannot be bound as they are.
  std::vector<gpu::Slice> slices((*plan)->tensors.size());
  for (const auto& [name, slice] : call->placed) {
    if (const auto index = find_tensor(**plan, impl_->package, name)) slices[*index] = slice;
  }
  for (const gpu::Obstacle& obstacle :
       gpu::find_obstacles(**plan, slices, session->context.device->limits())) {
    const bool copied = options.staging && obstacle.staging_helps;
    explanation.notes.push_back(
        std::format("tensor '{}' {}: {}", (*plan)->tensors[obstacle.tensor].port,
                    copied ? "goes through a copy" : "cannot be bound", obstacle.reason));
  }
  return explanation;
}

Result<MemoryNeeds> Kernel::memory(const Signature& signature) const {
  if (!impl_) return no_kernel();
  const SessionRef session = impl_->runtime->session();
  auto plan = impl_->at(session)->planner.plan(request_of(signature));
  if (!plan) return std::unexpected(std::move(plan.error()));
  return memory_of(**plan, *session);
}

Result<MemoryNeeds> Kernel::memory(const Inputs& inputs, const CallOptions& options) const {
  if (!impl_) return no_kernel();
  const SessionRef session = impl_->runtime->session();
  auto call = make_request(inputs, options, session);
  if (!call) return std::unexpected(std::move(call.error()));
  auto planned = plan_call(*impl_->at(session), *call, options.staging);
  if (!planned) return std::unexpected(std::move(planned.error()));
  const Plan& plan = **planned;
  std::vector<gpu::Slice> given(plan.tensors.size());
  for (const auto& [name, slice] : call->placed) {
    if (const auto index = find_tensor(plan, impl_->package, name)) given[*index] = slice;
  }
  MemoryNeeds needs = memory_of(plan, *session);
  std::vector<gpu::Extent> read;
  for (std::size_t i = 0; i < given.size(); ++i) {
    const PlanTensor& tensor = plan.tensors[i];
    if (given[i].buffer) (tensor.is_input ? needs.inputs : needs.outputs) -= tensor.buffer_size;
    if (tensor.is_output) read.push_back({given[i].offset, tensor.byte_length});
  }
  if (options.read_back) needs.read_back = gpu::read_back_bytes(read);
  std::vector<bool> staged(given.size());
  for (const gpu::Obstacle& obstacle :
       gpu::find_obstacles(plan, given, session->context.device->limits())) {
    if (!options.staging || staged[obstacle.tensor]) continue;
    staged[obstacle.tensor] = true;
    needs.staging += plan.tensors[obstacle.tensor].buffer_size;
  }
  return needs;
}

MemoryNeeds memory_of(const Plan& plan, const Session& session) {
  MemoryNeeds needs;
  for (const PlanTensor& tensor : plan.tensors)
    (tensor.is_input ? needs.inputs : needs.outputs) += tensor.buffer_size;
  for (const PlanScratch& scratch : plan.scratch)
    needs.scratch += scratch.allocated ? scratch.buffer_size : 0;
  needs.uniforms = gpu::uniform_bytes(plan, session.context.device->limits());
  return needs;
}

}  // namespace wgk
