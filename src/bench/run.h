// SPDX-License-Identifier: Apache-2.0
// Times the cases of packages on one device and reports them.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bench/report.h"
#include "bench/timer.h"
#include "bench/workload.h"
#include "gpu/executor.h"
#include "wgk/device.h"
#include "wgk/error.h"

namespace wgk::bench {

// A package and its benchmark cases.
struct Subject {
  std::shared_ptr<const package::Package> package;
  std::vector<package::BenchCase> benches;
};

struct RunOptions {
  std::string case_pattern;       // a glob; empty: all
  std::vector<std::string> tags;  // cases that have each of these
  std::vector<std::pair<std::string, std::string>>
      names;                          // only these (operator id, case); empty: all
  std::vector<std::string> variants;  // each of these, "all" for every one that accepts the case;
                                      // empty: the selected one
  std::vector<NamedJson> settings = {{}};  // of tunables: each is timed
  bool cold = true, hot = false;
  bool floors =
      false;  // beside each case a kernel that only streams as many bytes, interleaved with it
  bool sum_floors = false;  // and kernels that also sum up what a workgroup reads before they write
  bool empty = false;       // and an empty dispatch: what small cases cannot go below
  bool copies = false;  // copy between the samples of each case, for figures relative to its speed
  bool host = false;    // also what a call costs the host
  std::optional<bool> ahead;  // make each case's data while the case before is timed; else where
                              // neither the device nor what is timed is of the host
  bool compare = false;  // interleave the contenders of a case and report the ratios to the first
  std::optional<gpu::Context> trusted;  // a second device, in trusted mode: each contender on it
                                        // too, interleaved
  std::optional<DeviceSpeed> speed;     // of this device, measured just before; else it is measured
  double cache_bytes =
      0;  // last-level cache that cold figures rotate past; 0: what is known of the device
  TimerOptions timer;
};

// Called after each measurement, for progress.
// What is measured so far, after each case.
using CaseDone = std::function<void(const Report&)>;
using Progress = std::function<void(const Measurement&)>;

// The cases of `subject`; with `against` the same cases on that package too, interleaved. A case
// that cannot be timed is a measurement with an error; the error of the result is for what stops
// everything (the device).
Result<Report> run(const gpu::Context& context, const Subject& subject, const Subject* against,
                   const RunOptions& options, const Progress& progress,
                   const CaseDone& case_done = {});

// The size of the last-level cache of a device as far as it is known: CPUs from the system, GPUs by
// their names, else 64 MiB.
double known_cache_bytes(const AdapterDescription& adapter);

}  // namespace wgk::bench
