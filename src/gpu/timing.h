// SPDX-License-Identifier: Apache-2.0
// How long the device takes, by its own clock.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "gpu/executor.h"
#include "wgk/error.h"

namespace wgk::gpu {

// Records `repetitions` runs in one compute pass, taking the calls of `rotation` in turn, and
// returns the nanoseconds between the begin and the end of that pass. Calls that need more than a
// pass are refused ("usage/needs-encoder"). Needs the feature timestamp-query ("device/feature").
Result<double> time_repetitions(std::span<const std::shared_ptr<Bound>> rotation,
                                std::uint32_t repetitions);

// The same by the host's clock, from the submission to its end: for devices without timestamps, and
// for CPU devices.
Result<double> time_repetitions_on_host(std::span<const std::shared_ptr<Bound>> rotation,
                                        std::uint32_t repetitions);

// Nanoseconds of each dispatch of one run, each in a pass of its own.
Result<std::vector<double>> time_dispatches(const Bound& bound);

}  // namespace wgk::gpu
