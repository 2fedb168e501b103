// SPDX-License-Identifier: Apache-2.0
#include "bench/host_costs.h"

#include <algorithm>
#include <chrono>

#include "base/try.h"
#include "bench/statistics.h"
#include "gpu/transfer.h"
#include "plan/planner.h"
#include "plan/session.h"

namespace wgk::bench {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

constexpr int kRepeats = 15;
constexpr std::uint32_t kRecords = 1000;  // of one call into one pass

// The median time of `step`, which returns a Status.
template <class Step>
Result<double> median_of(int repeats, const Step& step) {
  std::vector<double> seconds;
  for (int i = 0; i < repeats; ++i) {
    const auto start = Clock::now();
    WGK_TRY(step());
    seconds.push_back(seconds_since(start));
  }
  return summarize(std::move(seconds)).median;
}

struct Submitting {
  double record = 0, submit = 0;
};

// Per dispatching call: setting pipeline and bind group and dispatching; then the submission of one
// call.
Result<Submitting> measure_commands(const gpu::Bound& bound) {
  const gpu::Device& device = *bound.prepared().context().device;
  const gpu::Procs& procs = device.procs();
  std::vector<double> records, submits;
  for (int i = 0; i < kRepeats; ++i) {
    for (const std::uint32_t count : {kRecords, 1U}) {
      const auto encoder = device.own(procs.device_create_command_encoder(device.handle(), nullptr),
                                      procs.command_encoder_release);
      const auto pass = device.own(procs.command_encoder_begin_compute_pass(encoder.get(), nullptr),
                                   procs.compute_pass_release);
      if (!encoder || !pass)
        return failure("device/validation", "no command encoder could be made");
      const auto start = Clock::now();
      for (std::uint32_t n = 0; n < count; ++n) bound.record(pass.get());
      procs.compute_pass_end(pass.get());
      if (count > 1) {
        records.push_back(seconds_since(start) / count);
        continue;  // never submitted: of a large case so many calls would take minutes
      }
      const auto submitted = Clock::now();
      WGK_TRY(gpu::finish_and_submit(device, encoder.get()));
      submits.push_back(seconds_since(submitted));
      WGK_TRY(gpu::wait_for_queue(device));
    }
  }
  return Submitting{summarize(std::move(records)).median, summarize(std::move(submits)).median};
}

// What planning takes longer when no text is known yet.
Result<double> measure_rendering(const package::Package& package, const DeviceCaps& caps,
                                 const Request& request) {
  const PlanOptions options;
  std::vector<double> seconds;
  for (int i = 0; i < kRepeats; ++i) {
    planning::RenderCache texts;
    const planning::Site site(package, caps, options, texts);
    double with_texts = 0;
    for (double* target : {&seconds.emplace_back(), &with_texts}) {
      const auto start = Clock::now();
      WGK_TRY(planning::plan_on(site, request));
      *target = seconds_since(start);
    }
    seconds.back() = std::max(seconds.back() - with_texts, 0.0);
  }
  return summarize(std::move(seconds)).median;
}

Status read_back(const gpu::Bound& bound, bool run) {
  const Plan& plan = bound.prepared().plan();
  std::vector<gpu::Slice> slices;
  for (std::size_t i = 0; i < plan.tensors.size(); ++i) {
    if (plan.tensors[i].is_output) slices.push_back(bound.tensors()[i]);
  }
  WGK_ASSIGN(const auto back, gpu::ReadBack::make(bound.prepared().context(), slices));
  if (run) {
    WGK_TRY(bound.submit({.copies = back->copies()}));
  } else {
    WGK_TRY(back->submit());
  }
  WGK_TRY(back->start());
  return back->wait();
}

}  // namespace

Result<HostCosts> measure_host_costs(const gpu::Context& context,
                                     const std::shared_ptr<const package::Package>& package,
                                     const Workload& workload, const std::string& variant,
                                     const NamedJson& tunables) {
  HostCosts costs;
  const DeviceCaps& caps = context.device->caps();
  const Request request = workload.request(variant, tunables);
  std::vector<double> plans;
  for (int i = 0; i < kRepeats; ++i) {
    const Planner unused(package, caps);
    const auto start = Clock::now();
    WGK_TRY(unused.plan(request));
    plans.push_back(seconds_since(start));
  }
  costs.plan = summarize(std::move(plans)).median;
  WGK_ASSIGN(costs.render, measure_rendering(*package, caps, request));
  const Planner planner(package, caps);
  WGK_ASSIGN(const auto plan, planner.plan(request));
  WGK_ASSIGN(costs.known_plan, median_of(kRepeats * 100, [&]() -> Status {
               WGK_TRY(planner.plan(request));
               return {};
             }));

  gpu::Context fresh = context;
  fresh.pipelines = std::make_shared<gpu::Pipelines>(context.device);
  const auto start = Clock::now();
  WGK_ASSIGN(const auto prepared, gpu::Prepared::make(fresh, plan));
  costs.pipelines = seconds_since(start);

  WGK_ASSIGN(const Rotation rotation, workload.bind(prepared, 1));
  const gpu::Bound& bound = *rotation.front();
  if (bound.needs() == gpu::Needs::kPass) {
    WGK_ASSIGN(const Submitting commands, measure_commands(bound));
    costs.record = commands.record;
    costs.submit = commands.submit;
  }
  WGK_ASSIGN(costs.upload, median_of(kRepeats, [&]() -> Status {
               WGK_TRY(workload.upload(bound));
               return gpu::wait_for_queue(*context.device);
             }));
  WGK_ASSIGN(costs.read_back, median_of(kRepeats, [&] { return read_back(bound, false); }));
  WGK_ASSIGN(costs.whole_call, median_of(kRepeats, [&]() -> Status {
               WGK_TRY(planner.plan(request));
               WGK_TRY(workload.upload(bound));
               return read_back(bound, true);
             }));
  return costs;
}

}  // namespace wgk::bench
