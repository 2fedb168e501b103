// SPDX-License-Identifier: Apache-2.0
#include "bench/run.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <format>
#include <fstream>
#include <span>

#include "base/try.h"
#include "bench/host_costs.h"
#include "json/json.h"
#include "verify/runner.h"

namespace wgk::bench {
namespace {

constexpr double kMemoryBytes = 8e9;  // of one rotation

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
  Status run_case(const package::BenchCase& bench, const Subject& subject, const Subject* against);

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

// The large tensors of a case, as if all of its traffic were theirs.
struct Streams {
  std::vector<std::size_t> read, written;  // tensors of the plan
  std::uint64_t bytes = 0;                 // of each
  bool own = false;  // they are equal and as large as that: a floor can use them

  int reads() const { return std::clamp(static_cast<int>(read.size()), 1, 4); }
  int writes() const { return std::clamp(static_cast<int>(written.size()), 1, 4); }
  // The tensors in the order in which plans of streams bind theirs.
  std::vector<std::size_t> slots() const {
    std::vector<std::size_t> all = read;
    all.append_range(written);
    return all;
  }
};

Streams streams_of(const Plan& plan, double least_bytes) {
  std::uint64_t largest = 0;
  for (const PlanTensor& tensor : plan.tensors) largest = std::max(largest, tensor.byte_length);
  Streams streams;
  streams.own = largest % 16 == 0;
  for (std::size_t i = 0; i < plan.tensors.size(); ++i) {
    const PlanTensor& tensor = plan.tensors[i];
    if (tensor.byte_length * 4 < largest) continue;
    if (tensor.is_input) streams.read.push_back(i);
    if (tensor.is_output) streams.written.push_back(i);
    streams.own = streams.own && tensor.is_input != tensor.is_output &&
                  tensor.byte_length == largest && tensor.buffer_size == largest;
  }
  streams.own = streams.own && streams.read.size() == static_cast<std::size_t>(streams.reads()) &&
                streams.written.size() == static_cast<std::size_t>(streams.writes());
  const double each = least_bytes / (streams.reads() + streams.writes());
  // What is small (scales, statistics) is left out, so that the floor can use the case's tensors.
  streams.own = streams.own && std::abs(each / static_cast<double>(largest) - 1) < 0.01;
  streams.bytes = streams.own
                      ? largest
                      : std::max<std::uint64_t>(16, static_cast<std::uint64_t>(each) / 16 * 16);
  return streams;
}

// Shapes of workgroups that take the streams in as many workgroups as `plan` has; none where that
// is no floor of it or the device's subgroups have no fixed size.
std::vector<SumShape> sum_shapes(const Plan& plan, const Streams& streams, const DeviceCaps& caps) {
  std::vector<SumShape> shapes;
  const auto& dispatch = plan.passes.front().dispatch;
  const std::uint64_t groups = std::uint64_t{dispatch[0]} * dispatch[1] * dispatch[2];
  const int size = caps.subgroup_min_size.value_or(0);
  if (plan.passes.size() != 1 || size < 4 || caps.subgroup_max_size != size || groups == 0 ||
      groups > 65535 || !caps.has_feature("subgroups")) {
    return shapes;
  }
  const auto subgroup = static_cast<std::uint32_t>(size);
  const double part = static_cast<double>(streams.bytes / 16) / static_cast<double>(groups);
  const double most =
      std::min(1024.0, caps.limit("maxComputeInvocationsPerWorkgroup").value_or(256));
  for (const std::uint32_t items : {1U, 2U, 4U, 8U}) {
    const double lanes = std::round(part / (items * subgroup)) * subgroup;
    if (lanes < subgroup || lanes > most || std::abs(lanes * items / part - 1) > 0.02) continue;
    shapes.push_back(
        {static_cast<std::uint32_t>(groups), static_cast<std::uint32_t>(lanes), items, subgroup});
    // Mesa maps memory for each bind group and crashes when the process may not map more.
    if (caps.is_fallback_adapter) break;
  }
  return shapes;
}

// A kernel that reads and writes as many large tensors as the case has, with as many bytes in all,
// and in the very buffers of the case where it can: where a buffer lies is worth up to 2 %. Of
// plans of several dispatches: one that reads all and then, depending on it, such a kernel. With
// `sum_floors` also kernels that cannot write before they have summed up what they read.
Result<std::vector<Runner::Timed>> Runner::floors(const Entry& entry, const Rotation& calls,
                                                  bool cold) const {
  const double past = cold ? options_.cache_bytes : 0;
  const Plan& plan = entry.prepared->plan();
  const Streams streams = streams_of(plan, entry.measurement.bytes);
  std::vector<Timed> result;
  const auto add = [&](const std::string& label, const Result<std::shared_ptr<const Plan>>& floor,
                       std::uint64_t bytes) -> Status {
    WGK_TRY(floor);
    const bool own = streams.own && bytes == streams.bytes && (*floor)->passes.size() == 1;
    WGK_ASSIGN(Rotation rotation, own ? timer_.rotation_on(*floor, calls, streams.slots())
                                      : timer_.rotation_of(*floor, past));
    Measurement m{
        .package = entry.measurement.package,
        .name = entry.measurement.name,
        .variant = std::format("floor {}r{}w{}", streams.reads(), streams.writes(), label),
        .tags = entry.measurement.tags};
    m.dispatches = (*floor)->passes.size();
    m.bytes = static_cast<double>(bytes) * (streams.reads() + streams.writes());
    result.push_back({std::move(m), std::move(rotation)});
    return {};
  };
  const int reads = streams.reads(), writes = streams.writes();
  if (options_.floors && plan.passes.size() > 1)
    WGK_TRY(add(" in two dispatches", twice_plan(reads, writes, streams.bytes), streams.bytes));
  if (options_.floors && plan.passes.size() == 1)
    WGK_TRY(add("", streams_plan(reads, writes, streams.bytes), streams.bytes));
  if (!options_.sum_floors) return result;
  for (const SumShape& shape : sum_shapes(plan, streams, context_.device->caps())) {
    WGK_TRY(add(std::format(" with sums, {} lanes x {}", shape.lanes, shape.items),
                sums_plan(reads, writes, shape), shape.bytes()));
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

Status Runner::time_entries(const Workload& workload, std::span<const Entry> entries, bool cold) {
  std::vector<Timed> timed;
  for (const Entry& entry : entries) {
    if (!entry.prepared) continue;
    const std::size_t sets =
        cold ? cold_sets(entry.prepared->plan(), options_.cache_bytes, kMemoryBytes) : 1;
    WGK_ASSIGN(Rotation rotation, workload.bind(entry.prepared, sets));
    timed.push_back({entry.measurement, std::move(rotation)});
  }
  if (timed.empty()) return {};
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
  WGK_ASSIGN(const std::vector<Timing> timings, timer_.measure(rotations));
  const double copy_speed = options_.copies ? static_cast<double>(timer_.copied_bytes()) /
                                                  summarize(timings.back().seconds).p10
                                            : 0;
  for (std::size_t i = 0; i < timed.size(); ++i) {
    Measurement& m = timed[i].measurement;
    m.copy_bytes_per_second = copy_speed;
    m.cold = cold;
    m.seconds = summarize(timings[i].seconds);
    m.clock_retries = timings[i].clock_retries;
    const auto compare = [&](std::size_t other) {
      report_.comparisons.push_back({m.package, m.name, m.variant, timed[other].measurement.variant,
                                     cold,
                                     paired_ratio(timings[i].seconds, timings[other].seconds)});
    };
    if (options_.compare && i > 0 && i < own) compare(0);
    for (std::size_t floor = own; i < own && floor < timed.size(); ++floor) compare(floor);
  }
  for (Timed& one : timed) add(std::move(one.measurement));
  return {};
}

Status Runner::run_case(const package::BenchCase& bench, const Subject& subject,
                        const Subject* against) {
  auto workload = Workload::make(*subject.package, bench);
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
      continue;
    }
    for (const Entry& entry : entries) WGK_TRY(time_entries(*workload, {&entry, 1}, cold));
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

Context describe(const gpu::Device& device, const Timer& timer) {
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
  report.context = describe(*context.device, *timer);
  report.context.cache_bytes = complete.cache_bytes;
  for (const Subject* one : {&subject, against}) {
    if (one != nullptr)
      report.context.packages.emplace_back(one->package->manifest.op_id(),
                                           one->package->manifest_digest);
  }
  WGK_ASSIGN(const DeviceSpeed speed, timer->device_speed(complete.cache_bytes));
  report.context.copy_bytes_per_second = speed.copy_bytes_per_second;
  report.context.empty_dispatch_seconds = speed.empty_dispatch_seconds;
  report.context.dependent_dispatch_seconds = speed.dependent_dispatch_seconds;
  Runner runner(context, *timer, complete, report, progress);
  for (const package::BenchCase& bench : subject.benches) {
    if (!selected(bench, subject.package->manifest.op_id(), complete)) continue;
    WGK_TRY(runner.run_case(bench, subject, against));
    if (case_done) case_done(report);
  }
  return report;
}

}  // namespace wgk::bench
