// SPDX-License-Identifier: Apache-2.0
// Results of a benchmark run as data. Tables, JSON and pages are views of it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/device_speed.h"
#include "bench/statistics.h"
#include "wgk/error.h"
#include "wgk/json.h"

namespace wgk::bench {

// What was measured on what. Rates in bytes/s, times in seconds.
struct Context {
  std::string date;  // ISO 8601, UTC
  std::string library_version;
  std::string adapter, driver, backend, device_type;
  bool software = false;  // a CPU behind the API: proves correctness and host cost, never GPU speed
  std::string mode;       // "safe" or "trusted"
  std::string clock;      // "timestamp query" or "wall time of a batch"
  bool kept_awake = false;  // the cores, by loops of idle priority
  double cache_bytes = 0;   // last-level cache that cold figures rotate past
  DeviceSpeed speed;
  std::vector<std::pair<std::string, std::string>> packages;  // op id -> digest of the manifest
};

// Host costs of one call, seconds.
struct HostCosts {
  double plan = 0, known_plan = 0, render = 0, pipelines = 0, record = 0, submit = 0, upload = 0,
         read_back = 0, whole_call = 0;
};

struct Measurement {
  std::string package, name, variant;  // op id, case, variant id
  std::vector<std::string> tags;
  std::string plan_digest;  // as `wgk test --plans` prints it; empty: no plan, or an older version
  bool cold = true;         // cold: inputs and outputs rotate past the cache; hot: one set a sample
  Summary seconds;          // device time of one call, launch gaps of its dispatches included
  std::size_t calls = 0;    // of one sample, whose time is divided by them
  std::size_t dispatches = 0;
  double bytes = 0, flops = 0;  // least any algorithm must move and compute
  std::string error;         // why it was not timed (wrong result, no device, ...); empty: it was
  double largest_error = 0;  // of the check before timing, in units of the tolerance
  double copy_bytes_per_second =
      0;  // read + write, the fastest tenth, between the samples of this one; 0: not taken
  std::size_t clock_retries = 0;  // timings thrown away because the device's clocks had dropped
  bool clock_held = true;         // false: they dropped during the last one too, which was kept
  std::optional<HostCosts> host;

  double bytes_per_second() const { return seconds.median > 0 ? bytes / seconds.median : 0; }
  double flops_per_second() const { return seconds.median > 0 ? flops / seconds.median : 0; }
  std::string full_name() const;  // "<package>/<case>/<variant>/cold"
};

// Stands in place of a variant: a dispatch of one workgroup that does nothing.
inline constexpr std::string_view kEmptyDispatch = "empty dispatch";

// Two measurements interleaved A/B/A/B.
struct Comparison {
  std::string package, name, a, b;  // op id, case, the two
  bool cold = true;
  Summary ratio;  // time of a over time of b: above 1, b is faster
};

struct Report {
  Context context;
  std::vector<Measurement> measurements;
  std::vector<Comparison> comparisons;
};

// Whether every figure was taken with steady clocks, as far as the device lets one know.
bool clocks_held(const Report& report);
inline constexpr std::string_view kUnsteady =
    "Clock unsteady: the device's clocks fell during this timing and during each of its "
    "repetitions; the figure may be too large.";

// The form that users of Google Benchmark know: {"context": ..., "benchmarks": [...]}, and
// "comparisons".
Json to_json(const Report& report);
Result<Report> report_from_json(const Json& json);

// Fixed-width columns for a terminal, tab-separated otherwise.
std::string to_table(const Report& report, bool terminal);

// One self-contained page, readable without scripts: roofline, sorted ratios on a log axis, tables,
// device and versions.
std::string to_html(const Report& report);

// "12.3 us", "1.20 ms": three significant digits.
std::string format_seconds(double seconds);
// "4.24 TB/s"; `unit` is "B/s" or "FLOP/s".
std::string format_rate(double per_second, std::string_view unit);

}  // namespace wgk::bench
