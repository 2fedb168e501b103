// SPDX-License-Identifier: Apache-2.0
// One case of bench.json with its data: planned for a contender, checked, and bound to as many sets
// of buffers as a timing takes.
#pragma once

#include <pthread.h>

#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "bench/timer.h"
#include "gpu/executor.h"
#include "package/cases.h"
#include "package/package.h"
#include "reference/sample.h"
#include "verify/engine.h"
#include "wgk/device_caps.h"
#include "wgk/error.h"
#include "wgk/plan.h"

namespace wgk::bench {

using NamedJson = std::vector<std::pair<std::string, Json>>;

// The least that any algorithm must move and compute for a case.
struct LeastWork {
  double bytes = 0, flops = 0;
};

class Workload {
 public:
  // Makes the data. `bench` must outlive the result.
  static Result<Workload> make(const package::Package& package, const package::BenchCase& bench);

  const package::BenchCase& bench() const { return *bench_; }

  // The variants that accept the case, in the order of the manifest; demoted ones too.
  std::vector<std::string> accepting(const package::Package& package, const DeviceCaps& caps,
                                     const NamedJson& tunables) const;
  // Plans for a variant (empty: the selected one), with tunables on top of the case's own.
  Result<std::shared_ptr<const Plan>> plan(const package::Package& package, const DeviceCaps& caps,
                                           const std::string& variant,
                                           const NamedJson& tunables) const;
  Request request(const std::string& variant, const NamedJson& tunables) const;
  // By the case's expressions, else by the profile of the plan's passes.
  Result<LeastWork> least_work(const package::Package& package, const DeviceCaps& caps,
                               const Plan& plan) const;

  // `sets` sets of buffers that all hold the case's inputs.
  Result<Rotation> bind(const std::shared_ptr<const gpu::Prepared>& prepared,
                        std::size_t sets) const;

  // Lets go of the sets that later calls of bind() could have used.
  void drop_buffers() const { arenas_.reset(); }

  // Writes the case's inputs into the buffers of `bound`.
  Status upload(const gpu::Bound& bound) const;

  // Runs `bound` once and compares what it wrote with the oracle, of tensors with more than
  // `most_elements` a part. The largest error in multiples of the tolerance; nothing when there is
  // no oracle. Error "bench/wrong" when it is above 1.
  Result<std::optional<double>> check(const package::Package& package, const gpu::Bound& bound,
                                      std::size_t most_elements = kMostElements) const;
  // Asks the oracle what check() will want to know.
  Status prepare_check(const package::Package& package,
                       std::size_t most_elements = kMostElements) const;

 private:
  static constexpr std::size_t kMostElements = std::size_t{1} << 20;

  Workload() = default;
  // What the oracle says of the sample; of the whole call without one.
  Result<verify::Arrays> ask_oracle(const package::Package& package,
                                    const std::optional<reference::Sample>& sample) const;
  // The case's data for an input as its buffer holds it; nothing for other tensors.
  Result<std::vector<std::byte>> device_bytes(const PlanTensor& tensor) const;
  // Writes the inputs to each of `sets`: they go to the device once and are copied there from set
  // to set.
  Status fill(const gpu::Context& context, const Plan& plan,
              const std::vector<std::vector<gpu::Slice>>& sets) const;

  const package::BenchCase* bench_ = nullptr;
  verify::Call call_;
  // Contenders with the same tensors take turns in the same sets: what is large is made once.
  struct Arenas;
  mutable std::shared_ptr<const Arenas> arenas_;
  // What the oracle says, of the whole or of a part, and which elements these are; made at the
  // first check.
  struct Answer;
  mutable std::shared_ptr<const Answer> answer_;
};

// The data of a case and what its oracle says, made by a thread.
class WorkloadAhead {
 public:
  // Both must outlive the result.
  WorkloadAhead(const package::Package& package, const package::BenchCase& bench);
  WorkloadAhead(const WorkloadAhead&) = delete;
  WorkloadAhead& operator=(const WorkloadAhead&) = delete;
  ~WorkloadAhead() { wait(); }

  // Once.
  Result<Workload> take();

 private:
  static void* run(void* self);
  void make();
  void wait();

  const package::Package& package_;
  const package::BenchCase& bench_;
  std::optional<Result<Workload>> made_;
  std::optional<pthread_t> thread_;
};

// Cases one after the other, the next ones made while the device times one: large ones take
// seconds, in which a device would lower its clocks.
class WorkloadsAhead {
 public:
  // All must outlive this.
  WorkloadsAhead(const package::Package& package,
                 std::span<const package::BenchCase* const> benches)
      : package_(package), benches_(benches) {}

  // The next one, made now if nobody has prepared it.
  Result<Workload> take();
  // Has threads make what comes next, as far as their number and the memory allow.
  void prepare();
  std::size_t prepared() const { return made_.size(); }

 private:
  const package::Package& package_;
  std::span<const package::BenchCase* const> benches_;  // not taken or prepared yet
  std::deque<std::pair<double, WorkloadAhead>> made_;   // with their bytes
  double bytes_ = 0;
};

}  // namespace wgk::bench
