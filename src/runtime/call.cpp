// SPDX-License-Identifier: Apache-2.0
// One call as a whole: place and upload, run, read back, each part at the earliest possible moment
// and none of them twice.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <format>
#include <utility>

#include "gpu/transfer.h"
#include "gpu/wait.h"
#include "package/package.h"
#include "plan/encode.h"
#include "runtime/guard.h"
#include "runtime/kernel_impl.h"
#include "runtime/tensor_impl.h"

namespace wgk {

// A host input on its way to the device.
struct HostInput {
  std::size_t tensor = 0;
  std::span<const std::byte> data;
  DType type = DType::f32;
  std::vector<std::byte> copy;  // when the data may go away before it can be uploaded
};

namespace {

using Clock = std::chrono::steady_clock;

double microseconds(Clock::duration span) {
  return std::chrono::duration<double, std::micro>(span).count();
}

}  // namespace

// Stages: pipelines on their way, submitted (and mapping), done.
class CallState : public Future<CallResult>::State, public std::enable_shared_from_this<CallState> {
 public:
  CallState(KernelRef kernel, SessionRef session, CallOptions options)
      : kernel_(std::move(kernel)),
        session_(std::move(session)),
        options_(std::move(options)),
        start_(Clock::now()) {}

  // Plans, and runs as far as it can without waiting; `wait`: also waits for the pipelines.
  Status begin(const Inputs& inputs, bool wait);
  Result<bool> poll() override;
  Result<CallResult> finish(std::optional<std::chrono::nanoseconds> timeout) override;
  void cancel() override { cancelled_ = true; }
  void then(std::function<void(Result<CallResult>)> callback) override;

 private:
  Status collect_host(const Inputs& inputs);
  // "usage/not-ready": nothing was done. Any other error is kept: the call is over.
  Status submit(std::optional<std::chrono::nanoseconds> timeout = {});
  Status run(const std::shared_ptr<const gpu::Prepared>& prepared, Clock::time_point ready);
  Status upload();
  Status upload_one(const HostInput& input, const gpu::Slice& slice) const;
  Status prepare_outputs(std::vector<gpu::Slice>& clear) const;
  Result<CallResult> result();
  bool new_output(std::size_t tensor) const;
  Error named(Error error) const {
    return std::move(error).during(std::format("calling {}", kernel_->package.op_id()));
  }

  KernelRef kernel_;
  SessionRef session_;
  CallOptions options_;
  PlanEntryRef entry_;
  // These two go last: with them idle buffers are looked for.
  std::vector<Tensor> kept_;  // the caller's tensors, until the call is over
  std::shared_ptr<void> lease_;
  std::vector<gpu::Slice> given_;
  std::vector<HostInput> host_;
  std::shared_ptr<gpu::Bound> bound_;
  std::vector<bool> dirty_;
  std::unique_ptr<GuardBands> guards_;
  std::unique_ptr<gpu::ReadBack> read_;
  std::vector<std::size_t> read_tensors_;
  CallTiming timing_;
  Clock::time_point start_;
  bool submitted_ = false;
  std::atomic<bool> cancelled_ = false;  // by another thread than the one that polls
  std::optional<Error> failed_;
};

bool CallState::new_output(std::size_t tensor) const {
  return given_[tensor].buffer == nullptr && !entry_->plan()->tensors[tensor].is_input;
}

Status CallState::collect_host(const Inputs& inputs) {
  const Plan& plan = *entry_->plan();
  for (const auto& [name, argument] : inputs) {
    const auto index = find_tensor(plan, kernel_->package, name);
    if (!index) continue;  // the plan leaves it out
    if (const auto* host = std::get_if<HostTensor>(&argument)) {
      host_.push_back({*index, host->data, host->array.value_or(host->dtype), {}});
      continue;
    }
    const Tensor& tensor = std::get<Tensor>(argument);
    kept_.push_back(tensor);
    if (!tensor.impl()->runtime)
      host_.push_back({*index, tensor.impl()->host->data, tensor.dtype(), {}});
  }
  for (const Output& output : options_.outputs) {
    if (output.destination) kept_.push_back(output.destination);
  }
  return {};
}

Status CallState::begin(const Inputs& inputs, bool wait) {
  auto call = make_request(inputs, options_, session_);
  if (!call) return std::unexpected(named(std::move(call.error())));
  const auto on = kernel_->at(session_);
  auto planned_call = plan_call(*on, *call, options_.staging);
  if (!planned_call) return std::unexpected(named(std::move(planned_call.error())));
  entry_ = kernel_->entry(*on, *planned_call);
  const Plan& plan = *entry_->plan();
  given_.resize(plan.tensors.size());
  for (auto& [name, slice] : call->placed) {
    const auto index = find_tensor(plan, kernel_->package, name);
    if (index) given_[*index] = std::move(slice);
  }
  if (auto status = collect_host(inputs); !status) return status;
  const auto planned = Clock::now();
  timing_.plan = microseconds(planned - start_);
  if (auto status = entry_->start(); !status)
    return std::unexpected(named(std::move(status.error())));
  if (!wait) {
    auto ready = entry_->ready();
    if (!ready) return std::unexpected(named(std::move(ready.error())));
    if (!*ready) {
      for (HostInput& input : host_) {
        input.copy.assign(input.data.begin(), input.data.end());
        input.data = input.copy;
      }
      return {};
    }
  }
  return submit();
}

Status CallState::upload_one(const HostInput& input, const gpu::Slice& slice) const {
  const PlanTensor& tensor = entry_->plan()->tensors[input.tensor];
  if (planning::has_device_form(input.type, tensor, input.data.size()))
    return gpu::write(session_->context, slice, input.data);
  auto bytes = planning::encode(input.data, input.type, tensor);
  if (!bytes) return std::unexpected(std::move(bytes.error()));
  return gpu::write(session_->context, slice, *bytes);
}

Status CallState::upload() {
  for (const HostInput& input : host_) {
    if (auto status = upload_one(input, bound_->tensors()[input.tensor]); !status) return status;
  }
  host_.clear();
  return {};
}

// What new outputs hold before the run: zero, or all ones for tests.
Status CallState::prepare_outputs(std::vector<gpu::Slice>& clear) const {
  for (std::size_t i = 0; i < given_.size(); ++i) {
    if (!new_output(i)) continue;
    const gpu::Slice& slice = bound_->tensors()[i];
    if (options_.poison_outputs) {
      const std::vector<std::byte> ones(slice.size, std::byte{0xff});
      if (auto status = gpu::write(session_->context, slice, ones); !status) return status;
    } else if (dirty_[i]) {
      clear.push_back(slice);
    }
  }
  return {};
}

Status CallState::submit(std::optional<std::chrono::nanoseconds> timeout) {
  if (failed_) return std::unexpected(*failed_);
  const auto begin = Clock::now();
  auto prepared = entry_->finish(timeout);
  const auto ready = Clock::now();
  timing_.prepare += microseconds(ready - begin);
  if (!prepared && gpu::not_ready(prepared.error()))
    return std::unexpected(named(std::move(prepared.error())));
  auto status = prepared ? run(*prepared, ready)
                         : Status(std::unexpected(named(std::move(prepared.error()))));
  submitted_ = status.has_value();
  if (!status) failed_ = status.error();
  return status;
}

Status CallState::run(const std::shared_ptr<const gpu::Prepared>& prepared,
                      Clock::time_point ready) {
  if (options_.guard_bytes > 0) {
    auto guards = GuardBands::place(prepared, given_, options_.guard_bytes, options_.staging);
    if (!guards) return std::unexpected(named(std::move(guards.error())));
    guards_ = std::move(*guards);
    bound_ = guards_->bound();
    dirty_.assign(given_.size(), true);
  } else {
    auto placed = entry_->place(given_, options_.staging);
    if (!placed) return std::unexpected(named(std::move(placed.error())));
    bound_ = std::move(placed->bound);
    lease_ = std::move(placed->lease);
    dirty_ = std::move(placed->dirty);
  }
  std::vector<gpu::Slice> clear;
  if (auto status = upload().and_then([&] { return prepare_outputs(clear); }); !status) {
    return std::unexpected(named(std::move(status.error())));
  }
  const auto uploaded = Clock::now();
  timing_.upload = microseconds(uploaded - ready);
  std::span<const gpu::Copy> copies;
  if (options_.read_back) {
    std::vector<gpu::Slice> slices;
    const Plan& plan = *entry_->plan();
    for (std::size_t i = 0; i < plan.tensors.size(); ++i) {
      if (!plan.tensors[i].is_output) continue;
      slices.push_back(
          {bound_->tensors()[i].buffer, bound_->tensors()[i].offset, plan.tensors[i].byte_length});
      read_tensors_.push_back(i);
    }
    auto read = gpu::ReadBack::make(session_->context, slices);
    if (!read) return std::unexpected(named(std::move(read.error())));
    read_ = std::move(*read);
    copies = read_->copies();
  }
  auto status = bound_->submit({.clear = clear, .copies = copies});
  if (status && read_) status = read_->start();
  if (!status) return std::unexpected(named(std::move(status.error())));
  timing_.submit = microseconds(Clock::now() - uploaded);
  return {};
}

Result<bool> CallState::poll() {
  if (!submitted_) {
    if (failed_) return std::unexpected(*failed_);
    auto ready = entry_->ready();
    if (!ready || !*ready) return ready;
    if (auto status = submit(); !status) return std::unexpected(std::move(status.error()));
  }
  return read_ ? read_->ready() : Result<bool>(true);
}

Result<CallResult> CallState::finish(std::optional<std::chrono::nanoseconds> timeout) {
  if (cancelled_) return failure("usage/cancelled", "the call was cancelled");
  const gpu::Deadline deadline(timeout);
  if (!submitted_) {
    if (auto status = submit(timeout); !status) return std::unexpected(std::move(status.error()));
  }
  const auto begin = Clock::now();
  if (read_) {
    if (auto status = read_->wait(deadline.left()); !status)
      return std::unexpected(named(std::move(status.error())));
  }
  if (guards_) {
    if (auto status = guards_->check(); !status)
      return std::unexpected(named(std::move(status.error())));
  }
  timing_.wait = microseconds(Clock::now() - begin);
  auto done = result();
  if (!done) return std::unexpected(named(std::move(done.error())));
  return done;
}

Result<CallResult> CallState::result() {
  const Plan& plan = *entry_->plan();
  const package::Manifest& manifest = kernel_->package.shared()->manifest;
  CallResult::Parts parts{.outputs = {}, .package = kernel_->package, .plan = {}, .timing = {}};
  for (const package::Port& port : manifest.outputs) {
    const auto index = find_tensor(plan, kernel_->package, port.key);
    if (!index) continue;
    const PlanTensor& tensor = plan.tensors[*index];
    if (!read_) {
      parts.outputs.emplace_back(
          port.key,
          placed_tensor(
              kernel_->runtime, session_, tensor, bound_->tensors()[*index],
              given_[*index].buffer ? std::make_shared<std::vector<Tensor>>(kept_) : lease_));
      continue;
    }
    const auto place = std::ranges::find(read_tensors_, *index) - read_tensors_.begin();
    auto read = read_tensor(read_->data(static_cast<std::size_t>(place)), tensor);
    if (!read) return std::unexpected(std::move(read.error()));
    parts.outputs.emplace_back(port.key, std::move(*read));
  }
  parts.plan = entry_->plan();
  timing_.total = microseconds(Clock::now() - start_);
  parts.timing = timing_;
  return CallResult(std::move(parts));
}

void CallState::then(std::function<void(Result<CallResult>)> callback) {
  kernel_->runtime->add_callback(
      [self = shared_from_this(), callback = std::move(callback)](bool over) {
        if (over || self->cancelled_) {
          callback(failure("usage/cancelled", "the call was cancelled"));
          return true;
        }
        auto ready = self->poll();
        if (ready && !*ready) return false;
        callback(ready ? self->finish({})
                       : Result<CallResult>(std::unexpected(std::move(ready.error()))));
        return true;
      });
}

Result<Future<CallResult>> start_call(const KernelRef& kernel, const Inputs& inputs,
                                      const CallOptions& options) {
  auto session = kernel->runtime->live_session();
  if (!session) return std::unexpected(std::move(session.error()));
  auto state = std::make_shared<CallState>(kernel, std::move(*session), options);
  if (auto status = state->begin(inputs, false); !status)
    return std::unexpected(std::move(status.error()));
  return Future<CallResult>(std::move(state));
}

Result<CallResult> Kernel::call(const Inputs& inputs, const CallOptions& options) const {
  if (!impl_) return failure("usage/range", "the kernel handle is empty");
  auto session = impl_->runtime->live_session();
  if (!session) return std::unexpected(std::move(session.error()));
  const auto state = std::make_shared<CallState>(impl_, std::move(*session), options);
  if (auto status = state->begin(inputs, true); !status)
    return std::unexpected(std::move(status.error()));
  return state->finish({});
}

const Tensor& CallResult::at(std::string_view name) const {
  static const Tensor kNone;
  if (const auto& package = parts_.package.shared()) {
    for (const package::Port& port : package->manifest.outputs) {
      if (port.onnx == name && !name.empty()) name = port.key;
    }
  }
  for (const auto& [key, tensor] : parts_.outputs) {
    if (key == name) return tensor;
  }
  return kNone;
}

}  // namespace wgk
