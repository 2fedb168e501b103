// SPDX-License-Identifier: Apache-2.0
#include "verify/runtime_engine.h"

#include <algorithm>

#include "base/try.h"
#include "verify/expected.h"

namespace wgk::verify {
namespace {

// Around every tensor, so that a write beyond its end shows.
constexpr std::uint32_t kGuardBytes = 256;

HostTensor view(const Array& array) {
  return {std::span<const std::byte>(array.data), array.dtype, array.shape};
}

// Tensors on the device, by port.
using Residents = std::vector<std::pair<std::string, Tensor>>;

// In-place tensors, and all others whose contents planning never asks for.
Result<Residents> upload_all(const Runtime& runtime, const package::Package& package,
                             const Call& call) {
  Residents residents;
  for (const auto& [port, array] : call.inputs) {
    const bool in_place = package.manifest.output(port) != nullptr;
    if (!in_place && array.dtype != DType::f32 && array.dtype != DType::f16) continue;
    // A tensor whose data does not fit its shape cannot be uploaded; the call
    // itself must say so.
    auto tensor = runtime.upload(view(array));
    if (tensor) residents.emplace_back(port, *std::move(tensor));
  }
  return residents;
}

// Tensors on the device and host arrays that differ from `before`.
Result<std::vector<std::string>> changed_tensors(const Residents& residents, const Call& call,
                                                 const Arrays& before) {
  std::vector<std::string> changed;
  for (const auto& [port, tensor] : residents) {
    WGK_ASSIGN(const HostArray after, tensor.download());
    if (!std::ranges::equal(after.data, find_array(before, port)->data)) changed.push_back(port);
  }
  for (const auto& [port, array] : before) {
    if (array.data != find_array(call.inputs, port)->data) changed.push_back(port);
  }
  return changed;
}

}  // namespace

Inputs runtime_inputs(const Call& call) {
  Inputs inputs;
  for (const auto& [port, array] : call.inputs) inputs.emplace_back(port, view(array));
  return inputs;
}

CallOptions runtime_options(const Call& call) {
  CallOptions options;
  options.attrs = call.attrs;
  options.args = call.args;
  options.tunables = call.tunables;
  options.outputs.assign(call.outputs.begin(), call.outputs.end());
  options.variant = call.variant;
  options.read_back = true;
  return options;
}

Result<Arrays> host_outputs(const wgk::CallResult& result) {
  Arrays arrays;
  for (const auto& [port, tensor] : result.outputs()) {
    WGK_ASSIGN(HostArray array, tensor.download());
    arrays.emplace_back(port, Array{array.dtype, std::move(array.shape), std::move(array.data)});
  }
  return arrays;
}

Result<Kernel> RuntimeEngine::kernel_of(const std::shared_ptr<const package::Package>& package) {
  const auto found = kernels_.find(package);
  if (found != kernels_.end()) return found->second;
  WGK_ASSIGN(Kernel kernel, runtime_.load(Package(package), {.trust = trust_}));
  return kernels_.emplace(package, std::move(kernel)).first->second;
}

std::expected<CallResult, CallFailure> RuntimeEngine::call(
    const std::shared_ptr<const package::Package>& package, const Call& call) {
  // A call that hung or crashed the device must not fail those after it.
  if (runtime_.lost()) {
    if (Status status = runtime_.rebuild(); !status) {
      return std::unexpected(CallFailure{std::move(status).error(), {}});
    }
  }
  const auto fail = [](Error error) { return std::unexpected(CallFailure{std::move(error), {}}); };
  auto kernel = kernel_of(package);
  if (!kernel) return fail(std::move(kernel).error());
  Inputs inputs = runtime_inputs(call);
  CallOptions options = runtime_options(call);
  options.poison_outputs = true;
  options.guard_bytes = kGuardBytes;
  Residents residents;
  Arrays before;
  if (call.must_fail) {
    before = call.inputs;
    auto uploaded = upload_all(runtime_, *package, call);
    if (!uploaded) return fail(std::move(uploaded).error());
    residents = *std::move(uploaded);
    for (const auto& [port, tensor] : residents) {
      std::ranges::find(inputs, port, &std::pair<std::string, TensorArgument>::first)->second =
          tensor;
    }
    options.guard_bytes = 0;
  }
  auto done = kernel->call(inputs, options);
  if (!done) {
    auto changed = changed_tensors(residents, call, before);
    return std::unexpected(CallFailure{std::move(done).error(),
                                       changed ? *std::move(changed) : std::vector<std::string>{}});
  }
  auto outputs = host_outputs(*done);
  if (!outputs) return fail(std::move(outputs).error());
  return CallResult{done->plan().variant, *std::move(outputs)};
}

}  // namespace wgk::verify
