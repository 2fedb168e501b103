// SPDX-License-Identifier: Apache-2.0
#include "bench/run.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <format>
#include <fstream>
#include <limits>
#include <span>

#include "base/try.h"
#include "bench/floors.h"
#include "bench/host_costs.h"
#include "gpu/transfer.h"
#include "json/json.h"
#include "verify/plan_list.h"
#include "verify/runner.h"

namespace wgk::bench {
namespace {

constexpr double kMemoryBytes = 8e9;  // of one rotation
constexpr double kPlacesBytes = 2e9;  // of one contender's hot buffers
// Mesa maps memory for each bind group and crashes when the process may not map more, which is
// 65530 times by default on Linux.
constexpr std::size_t kManySets = 2048, kMostSets = 49152;

// What is timed on one case: a plan with its place in the report.
struct Contender {
  std::shared_ptr<const package::Package> package;
  std::string label;  // variant, with what distinguishes it
  std::string variant;
  NamedJson tunables;
  const gpu::Context* context = nullptr;
};

std::string label_of(const std::string& variant, const NamedJson& tunables) {
  std::string label = variant;
  for (const auto& [name, value] : tunables)
    label += std::format(" {}={}", name, json::write(value));
  return label;
}

class Runner {
 public:
  Runner(const gpu::Context& context, Timer& timer, const RunOptions& options, Report& report,
         const Progress& progress)
      : context_(context), timer_(timer), options_(options), report_(report), progress_(progress) {}

  // Errors of the device come back; everything else becomes a measurement with an error.
  Status run_case(const package::BenchCase& bench, const Result<Workload>& workload,
                  const Subject& subject, const Subject* against);

 private:
  struct Entry {
    Measurement measurement;
    std::shared_ptr<const gpu::Prepared> prepared;
  };
  struct Timed {
    Measurement measurement;
    Rotation rotation;
  };
  std::vector<Contender> contenders(const Workload& workload, const Subject& subject,
                                    const Subject* against) const;
  Entry prepare(const Workload& workload, const Contender& contender);
  Status time_entries(const Workload& workload, std::span<const Entry> entries, bool cold);
  Status bind(const Workload& workload, std::span<const Entry> entries, bool cold,
              std::span<Timed> timed) const;
  Result<std::vector<Timed>> floors(const Entry& entry, const Rotation& calls, bool cold) const;
  void add(Measurement measurement);
  Result<const Rotation*> copies();

  const gpu::Context& context_;
  Timer& timer_;
  const RunOptions& options_;
  Report& report_;
  const Progress& progress_;
  Rotation copies_;
};

std::vector<Contender> Runner::contenders(const Workload& workload, const Subject& subject,
                                          const Subject* against) const {
  std::vector<Contender> result;
  const DeviceCaps& caps = context_.device->caps();
  for (const Subject* one : {&subject, against}) {
    if (one == nullptr) continue;
    const std::string place = one == against ? " (against)" : "";
    for (const NamedJson& tunables : options_.settings) {
      std::vector<std::string> variants = options_.variants;
      if (variants.empty()) variants = {""};
      if (std::ranges::contains(variants, "all"))
        variants = workload.accepting(*one->package, caps, tunables);
      for (const std::string& variant : variants) {
        const std::string label = label_of(variant, tunables) + place;
        result.push_back({one->package, label, variant, tunables, &context_});
        if (options_.trusted)
          result.push_back(
              {one->package, label + " (trusted)", variant, tunables, &*options_.trusted});
      }
    }
  }
  return result;
}

// Plans, builds the pipelines and checks the result on one set of buffers.
Runner::Entry Runner::prepare(const Workload& workload, const Contender& contender) {
  Entry entry;
  Measurement& m = entry.measurement;
  m.package = contender.package->manifest.op_id();
  m.name = workload.bench().name;
  m.variant = contender.label;
  m.tags = workload.bench().tags;
  const auto build = [&]() -> Status {
    const DeviceCaps& caps = contender.context->device->caps();
    WGK_ASSIGN(const auto plan,
               workload.plan(*contender.package, caps, contender.variant, contender.tunables));
    if (contender.variant.empty()) m.variant = plan->variant + contender.label;
    m.plan_digest = verify::plan_digest(*plan);
    m.dispatches = plan->passes.size();
    WGK_ASSIGN(const LeastWork work, workload.least_work(*contender.package, caps, *plan));
    m.bytes = work.bytes;
    m.flops = work.flops;
    WGK_ASSIGN(entry.prepared, gpu::Prepared::make(*contender.context, plan));
    WGK_ASSIGN(const Rotation once, workload.bind(entry.prepared, 1));
    WGK_ASSIGN(const std::optional<double> error,
               workload.check(*contender.package, *once.front()));
    m.largest_error = error.value_or(0);
    if (options_.host) {
      WGK_ASSIGN(const auto awake, timer_.keep_awake());
      WGK_ASSIGN(m.host, measure_host_costs(*contender.context, contender.package, workload,
                                            contender.variant, contender.tunables));
    }
    return {};
  };
  if (const Status built = build(); !built) {
    m.error = built.error().code + ": " + built.error().message;
    entry.prepared.reset();
  }
  return entry;
}

// What a case is compared with, each with calls to time: its floors, some of them on the buffers of
// `calls`, and an empty dispatch.
Result<std::vector<Runner::Timed>> Runner::floors(const Entry& entry, const Rotation& calls,
                                                  bool cold) const {
  const Plan& plan = entry.prepared->plan();
  const Streams streams = streams_of(plan, entry.measurement.bytes);
  const DeviceCaps& caps = context_.device->caps();
  FloorKinds kinds{.streams = options_.floors, .sums = options_.sum_floors};
  if (caps.is_fallback_adapter && calls.size() > kManySets) kinds.shapes = 1;
  WGK_ASSIGN(const std::vector<Floor> kernels, floors_of(plan, streams, caps, kinds));
  std::vector<Timed> result;
  const auto add = [&](std::string variant, const Plan& what, double bytes, Rotation rotation) {
    Measurement m{.package = entry.measurement.package,
                  .name = entry.measurement.name,
                  .variant = std::move(variant),
                  .tags = entry.measurement.tags,
                  .plan_digest = verify::plan_digest(what),
                  .dispatches = what.passes.size(),
                  .bytes = bytes};
    result.push_back({std::move(m), std::move(rotation)});
  };
  for (const Floor& floor : kernels) {
    const double past = cold ? options_.cache_bytes : 0;
    WGK_ASSIGN(Rotation rotation, floor.on_buffers_of_case
                                      ? timer_.rotation_on(floor.plan, calls, floor.slots)
                                      : timer_.rotation_of(floor.plan, past));
    add(floor.label, *floor.plan, floor.bytes, std::move(rotation));
  }
  if (options_.empty) {
    WGK_ASSIGN(const auto empty, empty_plan());
    WGK_ASSIGN(Rotation rotation, timer_.rotation_of(empty, 0));
    add(std::string(kEmptyDispatch), *empty, 0, std::move(rotation));
  }
  return result;
}

void Runner::add(Measurement measurement) {
  report_.measurements.push_back(std::move(measurement));
  if (progress_) progress_(report_.measurements.back());
}

// Made once: its buffers are large.
Result<const Rotation*> Runner::copies() {
  if (copies_.empty()) {
    WGK_ASSIGN(copies_, timer_.copy_rotation(options_.cache_bytes));
  }
  return &copies_;
}

// Hot buffers of contenders lie in several places each, made in turns: where a buffer lies is worth
// a few per cent, and contenders on two devices cannot share them.
Status Runner::bind(const Workload& workload, std::span<const Entry> entries, bool cold,
                    std::span<Timed> timed) const {
  // Buffers that something else has given back lie where fresh ones would not.
  workload.drop_buffers();
  for (const Entry& entry : entries) {
    if (entry.prepared) entry.prepared->context().memory->trim();
  }
  // With one floor at least.
  const std::size_t most = context_.device->caps().is_fallback_adapter
                               ? kMostSets / (timed.size() + 1)
                               : std::numeric_limits<std::size_t>::max();
  std::size_t places = 1;
  if (!cold && timed.size() > 1) {
    places = std::numeric_limits<std::size_t>::max();
    for (const Entry& entry : entries) {
      if (entry.prepared)
        places = std::min(places, hot_places(entry.prepared->plan(), kPlacesBytes));
    }
  }
  for (std::size_t place = 0; place < places; ++place) {
    auto to = timed.begin();
    for (const Entry& entry : entries) {
      if (!entry.prepared) continue;
      const std::size_t sets =
          cold ? std::min(cold_sets(entry.prepared->plan(), options_.cache_bytes, kMemoryBytes),
                          most)
               : 1;
      WGK_ASSIGN(Rotation made, workload.bind(entry.prepared, sets));
      (to++)->rotation.append_range(std::move(made));
    }
  }
  return {};
}

Status Runner::time_entries(const Workload& workload, std::span<const Entry> entries, bool cold) {
  std::vector<Timed> timed;
  for (const Entry& entry : entries) {
    if (entry.prepared) timed.push_back({entry.measurement, {}});
  }
  if (timed.empty()) return {};
  WGK_TRY(bind(workload, entries, cold, timed));
  const std::size_t own = timed.size();
  const auto first =
      std::ranges::find_if(entries, [](const Entry& entry) { return entry.prepared != nullptr; });
  WGK_ASSIGN(std::vector<Timed> below, floors(*first, timed.front().rotation, cold));
  timed.append_range(std::move(below));
  std::vector<Rotation> rotations;
  for (Timed& one : timed) rotations.push_back(std::move(one.rotation));
  if (options_.copies) {
    WGK_ASSIGN(const Rotation* copy, copies());
    rotations.push_back(*copy);
  }
  WGK_ASSIGN(const std::vector<Timing> timings, timer_.measure(rotations, cold ? 0 : timed.size()));
  const double copy_speed = options_.copies ? static_cast<double>(timer_.copied_bytes()) /
                                                  summarize(timings.back().seconds).p10
                                            : 0;
  for (std::size_t i = 0; i < timed.size(); ++i) {
    Measurement& m = timed[i].measurement;
    m.copy_bytes_per_second = copy_speed;
    m.cold = cold;
    m.seconds = summarize(timings[i].seconds);
    m.calls = timings[i].repetitions;
    m.clock_retries = timings[i].clock.retries;
    m.clock_held = timings[i].clock.held;
    // Sets of buffers share the scratch of their plan; the next run counts on its zeros.
    if (const Status kept = gpu::check_kept_zero(*rotations[i].front()); !kept)
      m.error = kept.error().code + ": " + kept.error().message;
    const auto compare = [&](std::size_t other) {
      if (!m.error.empty() || !timed[other].measurement.error.empty()) return;
      report_.comparisons.push_back({m.package, m.name, m.variant, timed[other].measurement.variant,
                                     cold,
                                     paired_ratio(timings[i].seconds, timings[other].seconds)});
    };
    if (options_.compare && i > 0 && i < own) compare(0);
    for (std::size_t floor = own; i < own && floor < timed.size(); ++floor) compare(floor);
    if (options_.empty && i >= own && i + 1 < timed.size()) compare(timed.size() - 1);
  }
  for (Timed& one : timed) add(std::move(one.measurement));
  return {};
}

Status Runner::run_case(const package::BenchCase& bench, const Result<Workload>& workload,
                        const Subject& subject, const Subject* against) {
  if (!workload) {
    add({.package = subject.package->manifest.op_id(),
         .name = bench.name,
         .tags = bench.tags,
         .error = workload.error().code + ": " + workload.error().message});
    return {};
  }
  std::vector<Entry> entries;
  for (const Contender& contender : contenders(*workload, subject, against)) {
    Entry entry = prepare(*workload, contender);
    WGK_TRY(contender.context->device->check());
    // Two settings may lead to the same kernel; it is timed once.
    const bool known =
        entry.prepared && std::ranges::any_of(entries, [&](const Entry& other) {
          return other.prepared && other.measurement.package == entry.measurement.package &&
                 against == nullptr &&
                 other.prepared->context().device == entry.prepared->context().device &&
                 gpu::needs_clear(other.prepared->plan()) ==
                     gpu::needs_clear(entry.prepared->plan()) &&
                 std::ranges::equal(other.prepared->plan().passes, entry.prepared->plan().passes,
                                    [](const PlanPass& a, const PlanPass& b) {
                                      return a.key == b.key && a.dispatch == b.dispatch;
                                    });
        });
    if (known) continue;
    if (!entry.measurement.error.empty()) add(entry.measurement);
    entries.push_back(std::move(entry));
  }
  for (const bool cold : {true, false}) {
    if (cold ? !options_.cold : !options_.hot) continue;
    if (options_.compare) {
      WGK_TRY(time_entries(*workload, entries, cold));
    } else {
      for (const Entry& entry : entries) WGK_TRY(time_entries(*workload, {&entry, 1}, cold));
    }
    // Host costs are of the call, whatever its buffers: once.
    for (Entry& entry : entries) entry.measurement.host.reset();
  }
  return {};
}

bool selected(const package::BenchCase& bench, const std::string& op_id,
              const RunOptions& options) {
  if (!options.case_pattern.empty() && !verify::matches_glob(options.case_pattern, bench.name))
    return false;
  if (!options.names.empty() && !std::ranges::contains(options.names, std::pair(op_id, bench.name)))
    return false;
  return std::ranges::all_of(
      options.tags, [&](const std::string& tag) { return std::ranges::contains(bench.tags, tag); });
}

Context describe(const gpu::Device& device, const Timer& timer, const TimerOptions& options) {
  const AdapterDescription& adapter = device.adapter();
  Context context;
  context.date = std::format(
      "{:%FT%TZ}", std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now()));
  context.library_version = WGK_VERSION;
  context.adapter = adapter.name;
  context.driver = adapter.driver;
  context.backend = adapter.backend;
  context.device_type = adapter.type;
  context.software = adapter.software;
  context.mode = name(device.mode());
  context.kept_awake = options.keep_awake;
  context.clock = timer.device_clock() ? "timestamp query" : "wall time of a batch";
  return context;
}

}  // namespace

double known_cache_bytes(const AdapterDescription& adapter) {
  if (adapter.software) {
    double largest = 0;
    for (int index = 0; index < 8; ++index) {
      std::ifstream file(std::format("/sys/devices/system/cpu/cpu0/cache/index{}/size", index));
      double size = 0;
      char unit = 0;
      if (file >> size >> unit)
        largest = std::max(largest, size * (unit == 'M' ? 1048576.0 : 1024.0));
    }
    return largest > 0 ? largest : 32e6;
  }
  // Last-level caches of NVIDIA data-centre GPUs; others are at most about this.
  static constexpr std::pair<std::string_view, double> kKnown[] = {
      {"H200", 60e6}, {"H100", 50e6}, {"A100", 40e6}, {"B200", 126e6}};
  for (const auto& [part, bytes] : kKnown) {
    if (adapter.name.contains(part)) return bytes;
  }
  return 64e6;
}

Result<Report> run(const gpu::Context& context, const Subject& subject, const Subject* against,
                   const RunOptions& options, const Progress& progress, const CaseDone& case_done) {
  RunOptions complete = options;
  complete.compare = options.compare || against != nullptr || options.trusted.has_value();
  if (complete.cache_bytes <= 0)
    complete.cache_bytes = known_cache_bytes(context.device->adapter());
  WGK_ASSIGN(const auto timer,
             Timer::make(context, context.device->adapter().software, options.timer));
  Report report;
  report.context = describe(*context.device, *timer, options.timer);
  report.context.cache_bytes = complete.cache_bytes;
  for (const Subject* one : {&subject, against}) {
    if (one != nullptr)
      report.context.packages.emplace_back(one->package->manifest.op_id(),
                                           one->package->manifest_digest);
  }
  if (complete.speed) {
    report.context.speed = *complete.speed;
  } else {
    WGK_ASSIGN(report.context.speed, timer->device_speed(complete.cache_bytes));
  }
  Runner runner(context, *timer, complete, report, progress);
  std::vector<const package::BenchCase*> cases;
  for (const package::BenchCase& bench : subject.benches) {
    if (selected(bench, subject.package->manifest.op_id(), complete)) cases.push_back(&bench);
  }
  WorkloadsAhead ahead(*subject.package, cases);
  const bool prepares = complete.ahead.value_or(
      timer->device_clock() && !context.device->adapter().software && !complete.host);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const Result<Workload> workload = ahead.take();
    if (prepares) ahead.prepare();
    WGK_TRY(runner.run_case(*cases[i], workload, subject, against));
    if (case_done) case_done(report);
  }
  return report;
}

}  // namespace wgk::bench
