// SPDX-License-Identifier: Apache-2.0
// What one call costs the host, step by step.
#pragma once

#include <memory>

#include "bench/report.h"
#include "bench/workload.h"
#include "gpu/executor.h"
#include "package/package.h"
#include "wgk/error.h"

namespace wgk::bench {

// Medians of repeated steps, except for the pipelines, which are built once from nothing (a driver
// may still know them). `variant` empty: the selected one.
Result<HostCosts> measure_host_costs(const gpu::Context& context,
                                     const std::shared_ptr<const package::Package>& package,
                                     const Workload& workload, const std::string& variant,
                                     const NamedJson& tunables);

}  // namespace wgk::bench
