// SPDX-License-Identifier: Apache-2.0
#include "bench/workload.h"

#include <unistd.h>

#include <algorithm>
#include <format>
#include <tuple>
#include <utility>

#include "base/try.h"
#include "gpu/transfer.h"
#include "package/case_data.h"
#include "plan/encode.h"
#include "reference/oracle.h"
#include "reference/sample.h"
#include "verify/compare.h"
#include "verify/expected.h"
#include "verify/stated_work.h"

namespace wgk::bench {
namespace {

// Wide enough for any rounding that operators state; timings are refused for wrong results, not for
// inexact ones.
package::Expectation expectation(DType dtype) {
  package::Expectation expected;
  if (dtype == DType::f32) expected.tolerance = {1e-4, 1e-4};
  if (dtype == DType::f16) expected.tolerance = {5e-3, 5e-3};
  return expected;
}

NamedJson merged(NamedJson base, const NamedJson& over) {
  for (const auto& [name, value] : over) {
    const auto found = std::ranges::find(base, name, &std::pair<std::string, Json>::first);
    if (found == base.end()) {
      base.emplace_back(name, value);
    } else {
      found->second = value;
    }
  }
  return base;
}

std::vector<std::byte> gather(std::span<const std::byte> data, std::size_t width,
                              const std::vector<std::pair<std::size_t, std::size_t>>& ranges) {
  std::vector<std::byte> result;
  for (const auto& [begin, end] : ranges) {
    const auto part = data.subspan(begin * width, (end - begin) * width);
    result.insert(result.end(), part.begin(), part.end());
  }
  return result;
}

// The smaller call of which the oracle is asked.
verify::Call part_of(const verify::Call& call, const reference::Sample& sample) {
  verify::Call part = call;
  for (const reference::Part& input : sample.inputs) {
    for (auto& [port, array] : part.inputs) {
      if (port != input.port) continue;
      array = {array.dtype, input.shape,
               gather(verify::find_array(call.inputs, port)->data, host_bytes(array.dtype),
                      input.ranges)};
    }
  }
  return part;
}

double profile_sum(const Plan& plan, std::initializer_list<std::string_view> names) {
  double sum = 0;
  for (const PlanPass& pass : plan.passes) {
    for (const auto& [name, value] : pass.profile) {
      if (std::ranges::contains(names, name) && value.is_number()) sum += *value.if_number();
    }
  }
  return sum;
}

// Outputs and in-place tensors of a finished run, as host arrays.
Result<verify::Arrays> read_outputs(const gpu::Bound& bound) {
  const Plan& plan = bound.prepared().plan();
  std::vector<gpu::Slice> slices;
  std::vector<const PlanTensor*> tensors;
  for (std::size_t i = 0; i < plan.tensors.size(); ++i) {
    if (!plan.tensors[i].is_output) continue;
    tensors.push_back(&plan.tensors[i]);
    slices.push_back(
        {bound.tensors()[i].buffer, bound.tensors()[i].offset, plan.tensors[i].byte_length});
  }
  WGK_ASSIGN(const auto back, gpu::ReadBack::make(bound.prepared().context(), slices));
  WGK_TRY(back->submit());
  WGK_TRY(back->start());
  WGK_TRY(back->wait());
  verify::Arrays arrays;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    WGK_ASSIGN(const std::uint64_t bytes, planning::host_byte_length(*tensors[i]));
    verify::Array array{tensors[i]->dtype, tensors[i]->shape, std::vector<std::byte>(bytes)};
    WGK_TRY(planning::decode(back->data(i), *tensors[i], array.data));
    arrays.emplace_back(tensors[i]->port, std::move(array));
  }
  return arrays;
}

// Of inputs that nobody waits for yet: outputs of the oracle come beside them.
double bytes_ahead() {
  const double memory =
      static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
  return std::min(4e9, memory / 16);
}

double input_bytes(const package::BenchCase& bench) {
  double bytes = 0;
  for (const auto& [port, tensor] : bench.inputs) {
    double elements = 1;
    for (const std::int64_t size : tensor.shape) elements *= static_cast<double>(size);
    bytes += elements * static_cast<double>(host_bytes(tensor.dtype));
  }
  return bytes;
}

}  // namespace

struct Workload::Answer {
  verify::Arrays wanted;
  std::optional<reference::Sample> sample;
};

Result<Workload> Workload::make(const package::Package& package, const package::BenchCase& bench) {
  package::TestCase test;
  static_cast<package::CaseRequest&>(test) = bench;
  for (const std::string& port : bench.outputs)
    test.outputs.emplace_back(port, package::Expectation{});
  Workload workload;
  workload.bench_ = &bench;
  WGK_ASSIGN(workload.call_, verify::make_call(package, test));
  return workload;
}

Request Workload::request(const std::string& variant, const NamedJson& tunables) const {
  Request request = verify::make_request(call_);
  request.variant = variant;
  request.tunables = merged(std::move(request.tunables), tunables);
  return request;
}

Result<std::shared_ptr<const Plan>> Workload::plan(const package::Package& package,
                                                   const DeviceCaps& caps,
                                                   const std::string& variant,
                                                   const NamedJson& tunables) const {
  WGK_ASSIGN(Plan made, wgk::plan(package, request(variant, tunables), caps));
  return std::make_shared<const Plan>(std::move(made));
}

std::vector<std::string> Workload::accepting(const package::Package& package,
                                             const DeviceCaps& caps,
                                             const NamedJson& tunables) const {
  std::vector<std::string> accepted;
  for (const VariantDecision& decision : explain(package, request("", tunables), caps).decisions) {
    if (decision.verdict == "selected" || decision.verdict == "eligible" ||
        decision.verdict == "demoted")
      accepted.push_back(decision.id);
  }
  return accepted;
}

Result<LeastWork> Workload::least_work(const package::Package& package, const DeviceCaps& caps,
                                       const Plan& plan) const {
  WGK_ASSIGN(const verify::StatedWork stated,
             verify::stated_work(package, *bench_, request("", {}), caps));
  LeastWork work;
  work.bytes = stated.bytes.value_or(profile_sum(plan, {"bytesMoved", "bytes"}));
  work.flops = stated.flops.value_or(profile_sum(plan, {"flops"}));
  return work;
}

struct Workload::Arenas {
  std::shared_ptr<gpu::Device> device;
  std::vector<PlanTensor> tensors;
  std::vector<std::vector<gpu::Slice>> sets;

  bool fit(const std::shared_ptr<gpu::Device>& on, const Plan& plan, std::size_t count) const {
    return device == on && sets.size() == count &&
           std::ranges::equal(tensors, plan.tensors, [](const PlanTensor& a, const PlanTensor& b) {
             return a.port == b.port && a.storage == b.storage && a.packed == b.packed &&
                    a.buffer_size == b.buffer_size && a.is_input == b.is_input;
           });
  }
};

Result<std::vector<std::byte>> Workload::device_bytes(const PlanTensor& tensor) const {
  const verify::Array* array =
      tensor.is_input ? verify::find_array(call_.inputs, tensor.port) : nullptr;
  if (array == nullptr || tensor.byte_length == 0) return std::vector<std::byte>();
  return planning::encode(array->data, array->dtype, tensor);
}

Status Workload::fill(const gpu::Context& context, const Plan& plan,
                      const std::vector<std::vector<gpu::Slice>>& sets) const {
  for (std::size_t i = 0; i < plan.tensors.size(); ++i) {
    const PlanTensor& tensor = plan.tensors[i];
    WGK_ASSIGN(const std::vector<std::byte> data, device_bytes(tensor));
    if (data.empty()) continue;
    if (sets.size() < 2) {
      for (const auto& set : sets) WGK_TRY(gpu::write(context, set[i], data));
      continue;
    }
    WGK_ASSIGN(const gpu::Allocation source,
               context.memory->allocate(tensor.buffer_size, gpu::kTensorUsage, "bench data"));
    WGK_TRY(gpu::write(context, {source.buffer, 0, tensor.buffer_size}, data));
    std::vector<gpu::Copy> copies;
    for (const auto& set : sets)
      copies.push_back({source.buffer, set[i].buffer, 0, set[i].offset, tensor.buffer_size});
    WGK_TRY(gpu::copy(context, copies));
  }
  return gpu::wait_for_queue(*context.device);
}

Result<Rotation> Workload::bind(const std::shared_ptr<const gpu::Prepared>& prepared,
                                std::size_t sets) const {
  const gpu::Context& context = prepared->context();
  const Plan& plan = prepared->plan();
  std::vector<std::vector<gpu::Slice>> slices;
  if (arenas_ != nullptr && arenas_->fit(context.device, plan, sets)) {
    slices = arenas_->sets;
  } else {
    arenas_.reset();
    WGK_ASSIGN(slices, make_arenas(context, plan, sets));
    WGK_TRY(fill(context, plan, slices));
    // A single set is for checks, which must not find another contender's results.
    if (sets > 1) arenas_ = std::make_shared<const Arenas>(context.device, plan.tensors, slices);
  }
  Rotation rotation;
  for (auto& set : slices) {
    WGK_ASSIGN(auto bound, gpu::Bound::make(prepared, std::move(set)));
    rotation.push_back(std::move(bound));
  }
  return rotation;
}

Status Workload::upload(const gpu::Bound& bound) const {
  const Plan& plan = bound.prepared().plan();
  for (std::size_t i = 0; i < plan.tensors.size(); ++i) {
    const PlanTensor& tensor = plan.tensors[i];
    const gpu::Context& context = bound.prepared().context();
    // As the runtime does: what has the form of the device is not copied first.
    if (const verify::Array* array =
            tensor.is_input ? verify::find_array(call_.inputs, tensor.port) : nullptr;
        array != nullptr && planning::has_device_form(array->dtype, tensor, array->data.size())) {
      WGK_TRY(gpu::write(context, bound.tensors()[i], array->data));
      continue;
    }
    WGK_ASSIGN(const std::vector<std::byte> data, device_bytes(tensor));
    if (!data.empty()) WGK_TRY(gpu::write(context, bound.tensors()[i], data));
  }
  return {};
}

Result<verify::Arrays> Workload::ask_oracle(const package::Package& package,
                                            const std::optional<reference::Sample>& sample) const {
  if (!sample) return verify::ask_oracle(package, call_);
  if (!sample->same_call) return verify::ask_oracle(package, part_of(call_, *sample));
  const reference::Part& part = sample->outputs.front();
  WGK_ASSIGN(verify::Arrays arrays, verify::ask_oracle(package, call_, part.ranges));
  for (auto& [port, array] : arrays) {
    if (port == part.port)
      array = {array.dtype, part.shape, gather(array.data, host_bytes(array.dtype), part.ranges)};
  }
  return arrays;
}

Status Workload::prepare_check(const package::Package& package, std::size_t most_elements) const {
  const std::string op_id = package.manifest.op_id();
  if (answer_ != nullptr || reference::find_oracle(op_id) == nullptr) return {};
  Answer answer;
  if (const reference::Sampler sampler = reference::find_sampler(op_id)) {
    std::vector<std::pair<std::string, Shape>> shapes;
    for (const auto& [port, array] : call_.inputs) shapes.emplace_back(port, array.shape);
    answer.sample = sampler(shapes, most_elements);
  }
  WGK_ASSIGN(answer.wanted, ask_oracle(package, answer.sample));
  answer_ = std::make_shared<const Answer>(std::move(answer));
  return {};
}

Result<std::optional<double>> Workload::check(const package::Package& package,
                                              const gpu::Bound& bound,
                                              std::size_t most_elements) const {
  WGK_TRY(prepare_check(package, most_elements));
  if (answer_ == nullptr) return std::nullopt;
  WGK_TRY(bound.submit());
  WGK_ASSIGN(verify::Arrays got, read_outputs(bound));
  WGK_TRY(gpu::check_kept_zero(bound));
  double largest = 0;
  for (auto& [port, array] : got) {
    const verify::Array* wanted = verify::find_array(answer_->wanted, port);
    if (wanted == nullptr) continue;
    if (answer_->sample) {
      const auto part = std::ranges::find(answer_->sample->outputs, port, &reference::Part::port);
      if (part == answer_->sample->outputs.end()) continue;
      array.data = gather(array.data, host_bytes(array.dtype), part->ranges);
    }
    const verify::Difference difference =
        verify::compare(array.dtype, array.data, wanted->data, expectation(array.dtype));
    if (!difference.passes()) {
      return failure(
          "bench/wrong",
          std::format("'{}' of case '{}' is wrong: element {} is {}, wanted {}", port, bench_->name,
                      difference.index, difference.got, difference.wanted));
    }
    largest = std::max(largest, difference.multiple);
  }
  return largest;
}

WorkloadAhead::WorkloadAhead(const package::Package& package, const package::BenchCase& bench)
    : package_(package), bench_(bench) {
  pthread_t thread{};
  // Without a thread take() makes it.
  if (pthread_create(&thread, nullptr, run, this) == 0) thread_ = thread;
}

void* WorkloadAhead::run(void* self) {
  static_cast<WorkloadAhead*>(self)->make();
  return nullptr;
}

void WorkloadAhead::make() {
  made_ = Workload::make(package_, bench_);
  // The check meets the same error, and says of what.
  if (*made_ && !(*made_)->prepare_check(package_)) return;
}

void WorkloadAhead::wait() {
  if (thread_) pthread_join(*thread_, nullptr);
  thread_.reset();
}

Result<Workload> WorkloadAhead::take() {
  wait();
  if (!made_) make();
  return *std::exchange(made_, std::nullopt);
}

Result<Workload> WorkloadsAhead::take() {
  if (made_.empty()) {
    const package::BenchCase& next = *benches_.front();
    benches_ = benches_.subspan(1);
    return Workload::make(package_, next);
  }
  Result<Workload> workload = made_.front().second.take();
  bytes_ -= made_.front().first;
  made_.pop_front();
  return workload;
}

void WorkloadsAhead::prepare() {
  // Half of the cores are left to the driver and the timed process.
  const std::size_t most = std::clamp<std::size_t>(sysconf(_SC_NPROCESSORS_ONLN) / 2, 1, 8);
  while (!benches_.empty() && made_.size() < most) {
    const double bytes = input_bytes(*benches_.front());
    if (!made_.empty() && bytes_ + bytes > bytes_ahead()) return;
    made_.emplace_back(std::piecewise_construct, std::tuple(bytes),
                       std::forward_as_tuple(package_, *benches_.front()));
    bytes_ += bytes;
    benches_ = benches_.subspan(1);
  }
}

}  // namespace wgk::bench
