// SPDX-License-Identifier: Apache-2.0
// For the modules above (verify, bench, capi) and tests: what is behind the public handles.
#pragma once

#include <memory>

#include "gpu/executor.h"
#include "gpu/procs.h"
#include "wgk/kernel.h"
#include "wgk/runtime.h"

namespace wgk {

// The device's executor objects. A rebuild makes new ones.
gpu::Context context_of(const Runtime& runtime);

// The executor's view of a bound call, for timing.
std::shared_ptr<gpu::Bound> executor_of(const Bound& bound);

// A runtime that calls WebGPU through this table.
Result<Runtime> create_with(const RuntimeOptions& options, const gpu::Procs& procs);
Result<Runtime> adopt_with(const AdoptOptions& options, const gpu::Procs& procs);

}  // namespace wgk
