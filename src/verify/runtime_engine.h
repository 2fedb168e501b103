// SPDX-License-Identifier: Apache-2.0
// Runs calls on a device through the runtime.
#pragma once

#include <map>
#include <string>

#include "verify/engine.h"
#include "wgk/runtime.h"

namespace wgk::verify {

class RuntimeEngine final : public Engine {
 public:
  // `trust`: the packages may run on a trusted runtime.
  explicit RuntimeEngine(Runtime runtime, bool trust = false)
      : runtime_(std::move(runtime)), caps_(runtime_.caps()), trust_(trust) {}

  std::string adapter() const override { return runtime_.describe().adapter.name; }
  const DeviceCaps& caps() const override { return caps_; }
  std::expected<CallResult, CallFailure> call(
      const std::shared_ptr<const package::Package>& package, const Call& call) override;

 private:
  Result<Kernel> kernel_of(const std::shared_ptr<const package::Package>& package);

  Runtime runtime_;
  DeviceCaps caps_;
  bool trust_;
  std::map<std::shared_ptr<const package::Package>, Kernel> kernels_;
};

// The parts of a call as the runtime takes them; views into `call`.
Inputs runtime_inputs(const Call& call);
CallOptions runtime_options(const Call& call);
// What came back to the host.
Result<Arrays> host_outputs(const wgk::CallResult& result);

}  // namespace wgk::verify
