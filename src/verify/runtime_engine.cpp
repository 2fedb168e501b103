// SPDX-License-Identifier: Apache-2.0
#include "verify/runtime_engine.h"

#include <algorithm>

#include "base/try.h"

namespace wgk::verify {
namespace {

// Around every tensor, so that a write beyond its end shows.
constexpr std::uint32_t kGuardBytes = 256;

HostTensor view(const Array& array) {
  return {std::span<const std::byte>(array.data), array.dtype, array.shape};
}

bool is_in_place(const package::Package& package, const std::string& port) {
  return package.manifest.output(port) != nullptr;
}

// In-place tensors on the device, by port.
using Residents = std::vector<std::pair<std::string, Tensor>>;

Result<Residents> upload_in_place(const Runtime& runtime, const package::Package& package,
                                  const Call& call) {
  Residents residents;
  for (const auto& [port, array] : call.inputs) {
    if (!is_in_place(package, port)) continue;
    // A tensor whose data does not fit its shape cannot be uploaded; the call
    // itself must say so.
    auto tensor = runtime.upload(view(array));
    if (tensor) residents.emplace_back(port, *std::move(tensor));
  }
  return residents;
}

Result<std::vector<std::string>> changed_tensors(const Residents& residents, const Call& call) {
  std::vector<std::string> changed;
  for (const auto& [port, tensor] : residents) {
    WGK_ASSIGN(const HostArray after, tensor.download());
    const auto before = std::ranges::find(call.inputs, port, &std::pair<std::string, Array>::first);
    if (!std::ranges::equal(after.data, before->second.data)) changed.push_back(port);
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
  if (call.must_fail) {
    auto uploaded = upload_in_place(runtime_, *package, call);
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
    auto changed = changed_tensors(residents, call);
    return std::unexpected(CallFailure{std::move(done).error(),
                                       changed ? *std::move(changed) : std::vector<std::string>{}});
  }
  auto outputs = host_outputs(*done);
  if (!outputs) return fail(std::move(outputs).error());
  return CallResult{done->plan().variant, *std::move(outputs)};
}

}  // namespace wgk::verify
