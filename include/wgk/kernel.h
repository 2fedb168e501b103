// SPDX-License-Identifier: Apache-2.0
// A kernel on a device: called as a whole, or prepared once, bound to buffers and recorded into
// anybody's pass.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "wgk/error.h"
#include "wgk/future.h"
#include "wgk/json.h"
#include "wgk/package.h"
#include "wgk/plan.h"
#include "wgk/request.h"
#include "wgk/tensor.h"
#include "wgk/webgpu_handles.h"

namespace wgk {

class Runtime;

// Ports go by bind key or by upstream (ONNX) name everywhere.
using TensorArgument = std::variant<HostTensor, Tensor>;
using Inputs = std::vector<std::pair<std::string, TensorArgument>>;
using Values = std::vector<std::pair<std::string, Json>>;

// An output that is wanted. Optional outputs exist only when listed; required ones always do.
struct Output {
  std::string name;
  std::optional<Shape> shape;  // where it cannot be inferred
  std::optional<DType> dtype;
  Tensor destination;  // written there, where not empty

  Output(const char* port) : name(port) {}
  Output(std::string port) : name(std::move(port)) {}
  Output(std::string port, Tensor to) : name(std::move(port)), destination(std::move(to)) {}
  Output(std::string port, Shape dims, std::optional<DType> type = {})
      : name(std::move(port)), shape(std::move(dims)), dtype(type) {}
};

struct CallOptions {
  Values attrs = {}, args = {}, tunables = {};
  std::vector<Output> outputs = {};
  std::string variant = {};  // forced variant; empty: selected
  bool read_back = false;    // results in host memory, by the call's own submission
  bool staging = false;  // copy where alignment, usage flags or aliasing forbid a direct binding;
                         // else that is an error
  // For tests: new outputs start as 0xff bytes, so that what a kernel leaves unwritten shows.
  bool poison_outputs = false;
  // For tests: each tensor lies inside a larger buffer with this many guard bytes on either side (a
  // multiple of 256), checked after the run. A changed guard is the error "device/guard". Host
  // inputs and new outputs only. Scratch that the package says stays zero (keptZero) is looked at,
  // too: "device/kept-zero".
  std::uint32_t guard_bytes = 0;
};

// Wall time of the parts of one call, in microseconds.
struct CallTiming {
  double plan = 0, prepare = 0, upload = 0, submit = 0, wait = 0, total = 0;
};

class CallResult {
 public:
  // The output of that name; an empty tensor if there is none.
  const Tensor& at(std::string_view name) const;
  // In manifest order, by bind key.
  const std::vector<std::pair<std::string, Tensor>>& outputs() const { return parts_.outputs; }
  const Plan& plan() const { return *parts_.plan; }
  const CallTiming& timing() const { return parts_.timing; }

  // For the library's own use.
  struct Parts {
    std::vector<std::pair<std::string, Tensor>> outputs;
    Package package;  // whose output ports go by upstream names too
    std::shared_ptr<const Plan> plan;
    CallTiming timing;
  };
  explicit CallResult(Parts parts) : parts_(std::move(parts)) {}

 private:
  Parts parts_;
};

// A call without tensors: what prepare, plan and explain need.
struct Signature {
  struct Input {
    std::string name;
    DType dtype = DType::f32;
    Shape shape;
    bool packed = false;
    std::optional<DType> storage;
    // Equal non-zero numbers: inputs and destinations that share one buffer at the same place
    // (in-place and view-alias calls).
    std::uint64_t buffer = 0;
  };
  std::vector<Input> inputs = {};
  std::vector<Output> outputs = {};
  Values attrs = {}, args = {}, tunables = {};
  std::string variant = {};
};

// The same to the pure planner (Package::plan, Package::explain).
Request request_of(const Signature& signature);

// Exact bytes of device memory, before anything runs.
struct MemoryNeeds {
  std::uint64_t inputs = 0, outputs = 0;    // buffers of the tensors
  std::uint64_t scratch = 0, uniforms = 0;  // made by prepare and bind
  // Of whole calls: buffers that stand in for tensors that cannot be bound, and the way back.
  std::uint64_t staging = 0, read_back = 0;
  std::uint64_t total() const {
    return inputs + outputs + scratch + uniforms + staging + read_back;
  }
};

// What a bound call must be recorded into.
enum class Needs : std::uint8_t { kPass, kEncoder, kSubmit };
std::string_view name(Needs needs);  // "pass", "encoder", "submit"

class Bound;

// Scratch buffers that several prepared calls share, because they never run at the same time: as
// large as the largest. Scratch that a kernel keeps zero between its runs (keptZero) is in no
// arena: that stays with the Prepared, or with own_scratch with the Bound. A cheap handle.
class Arena {
 public:
  Arena() = default;
  std::uint64_t bytes() const;

  // For the library's own use.
  struct Impl;
  explicit Arena(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  const std::shared_ptr<const Impl>& impl() const { return impl_; }

 private:
  std::shared_ptr<const Impl> impl_;
};

struct BindOptions {
  bool staging = false;  // as in CallOptions
  bool own_scratch =
      false;  // else all bound calls of one Prepared share its scratch: in order, on one queue
  Arena arena = {};  // scratch from here, where not empty
};

// A plan whose pipelines exist. A cheap handle; const members may be called from any thread.
class Prepared {
 public:
  Prepared() = default;
  const Plan& plan() const;  // not of an empty handle
  MemoryNeeds memory() const;
  // One tensor per port of the plan, on the device. Bind again for other buffers: no new plan, no
  // new pipeline.
  Result<Bound> bind(const std::vector<std::pair<std::string, Tensor>>& tensors,
                     const BindOptions& options = {}) const;
  // A new tensor for one output.
  Result<Tensor> make_output(std::string_view port) const;
  // New tensors for the outputs, in the order of the plan.
  Result<std::vector<std::pair<std::string, Tensor>>> make_outputs() const;

  // For the library's own use.
  struct Impl;
  explicit Prepared(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  const std::shared_ptr<const Impl>& impl() const { return impl_; }

 private:
  std::shared_ptr<const Impl> impl_;
};

// Bytes of a sequence before it is bound: every tensor buffer counts once per call, because nothing
// says yet which tensors the calls share; scratch once per Prepared, or, `with_arena`, once for
// all (but for what is in no arena).
MemoryNeeds memory(std::span<const Prepared> sequence, bool with_arena = false);

// What a submission has not finished yet: it, and whatever was submitted before the first ready(),
// wait() or then(), is waited for. The wait begins there and not in run(), because one that nobody
// asks for costs as well: about 1 us and an object of Dawn's per run. Whoever submits other work in
// between and wants to know of this alone calls ready() at once.
class Submission {
 public:
  Submission() = default;
  Result<bool> ready();
  // As Future::wait; may be called again and again.
  Status wait(std::optional<std::chrono::nanoseconds> timeout = {});
  // `callback` runs inside Runtime::poll() once the work is done.
  void then(std::function<void(Status)> callback);
  // Nobody wants to know any more: every later answer is "usage/cancelled". What was submitted
  // still runs.
  void cancel();

  // For the library's own use.
  struct Impl;
  explicit Submission(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
  const std::shared_ptr<Impl>& impl() const { return impl_; }

 private:
  std::shared_ptr<Impl> impl_;
};

// A prepared call with its buffers and bind groups. A cheap handle; const members may be called
// from any thread, recording takes no lock and makes no object.
//
// record() overwrites the pass's pipeline and bind group 0 and leaves everything else alone.
// Scratch belongs to the Prepared (or to this, with own_scratch); whoever records must keep this
// object until the commands are submitted.
class Bound {
 public:
  Bound() = default;
  Needs needs() const;
  const Plan& plan() const;  // not of an empty handle
  // One line per staging copy.
  const std::vector<std::string>& staging_notes() const;

  // Pipeline, bind group, dispatch. "usage/needs-encoder" where a pass is not enough.
  Status record(WGPUComputePassEncoder pass) const;
  // Copies and a pass of its own. "usage/needs-encoder" where one submission is not enough.
  Status record(WGPUCommandEncoder encoder) const;
  // Record and submit; waits only between the parts of a split call.
  Status submit() const;
  // The same, with something to wait for.
  Result<Submission> run() const;

  // Record, submit and read every output back, in one submission.
  Result<CallResult> run_and_read() const;

  // New values for scalar arguments that the format keeps in uniforms. Recordings made before keep
  // the old values; later ones have the new. "usage/specialized" if the values decide more than
  // uniforms (the message names what differs).
  Status update(const Values& args);

  // For the library's own use.
  struct Impl;
  explicit Bound(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
  const std::shared_ptr<Impl>& impl() const { return impl_; }

 private:
  std::shared_ptr<Impl> impl_;
};

// Exact bytes of a recorded sequence: every byte that the calls use counts once, however many of
// them share it. Buffers of the runtime's own count whole, of a caller's buffers only the ranges in
// use. What any call writes counts under `outputs`.
MemoryNeeds memory(std::span<const Bound> sequence);

// A package on a runtime. A cheap handle; every member may be called from any thread.
class Kernel {
 public:
  Kernel() = default;
  const Package& package() const;                          // not of an empty handle
  std::string op_id() const { return package().op_id(); }  // nor this

  // Uploads host inputs, runs, waits if `read_back`. Equal calls reuse plan, pipelines, buffers and
  // bind groups.
  Result<CallResult> call(const Inputs& inputs, const CallOptions& options = {}) const;
  // The same without waiting: host data may go away when this returns.
  Result<Future<CallResult>> start(const Inputs& inputs, const CallOptions& options = {}) const;

  // What would run, without running it.
  Result<std::shared_ptr<const Plan>> plan(const Inputs& inputs,
                                           const CallOptions& options = {}) const;
  Result<std::shared_ptr<const Plan>> plan(const Signature& signature) const;
  Explanation explain(const Inputs& inputs, const CallOptions& options = {}) const;
  Explanation explain(const Signature& signature) const;
  Result<MemoryNeeds> memory(const Signature& signature) const;
  // Of this very call: what it makes beside the device tensors that it is given.
  Result<MemoryNeeds> memory(const Inputs& inputs, const CallOptions& options = {}) const;

  Result<Prepared> prepare(const Signature& signature) const;
  Result<Future<Prepared>> start_prepare(const Signature& signature) const;

  // For the library's own use.
  struct Impl;
  explicit Kernel(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  const std::shared_ptr<const Impl>& impl() const { return impl_; }

 private:
  std::shared_ptr<const Impl> impl_;
};

}  // namespace wgk
