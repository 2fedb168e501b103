// SPDX-License-Identifier: Apache-2.0
#include "gpu/compile_check.h"

#include <chrono>
#include <format>
#include <utility>
#include <vector>

namespace wgk::gpu {

Result<CompileChecker> CompileChecker::make(const DeviceCaps& profile) {
  auto instance = Instance::create(linked_procs(), std::make_shared<const Log>());
  if (!instance) return std::unexpected(std::move(instance.error()));
  DeviceOptions options;
  options.exactly = profile;
  // A software device on a busy machine may need minutes for a long text; nothing here can hang.
  options.timeout = std::chrono::minutes(10);
  std::string reasons;
  for (const char* backend : {"null", ""}) {
    auto adapters = (*instance)->adapters(backend);
    if (!adapters) return std::unexpected(std::move(adapters.error()));
    for (Adapter& adapter : *adapters) {
      const std::string name = adapter.description.name;
      auto device = Device::open(*instance, std::move(adapter), options);
      if (device) return CompileChecker(Context::make(std::move(*device)));
      reasons +=
          std::format("{}'{}': {}", reasons.empty() ? "" : "; ", name, device.error().message);
    }
  }
  return failure("device/none",
                 std::format("nothing here can stand in for '{}': {}", profile.name, reasons));
}

Status CompileChecker::check(const Plan& plan) const {
  std::vector<const PlanPass*> passes;
  for (const PlanPass& pass : plan.passes) passes.push_back(&pass);
  auto pipelines = context_.pipelines->get(passes);
  context_.pipelines->clear();  // thousands of them would fill the memory
  if (!pipelines) {
    return std::unexpected(std::move(pipelines.error())
                               .during(std::format("compiling {} (variant {}) as on '{}'",
                                                   plan.op_id, plan.variant, stand_in().name)));
  }
  return {};
}

}  // namespace wgk::gpu
