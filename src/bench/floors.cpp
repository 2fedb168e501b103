// SPDX-License-Identifier: Apache-2.0
#include "bench/floors.h"

#include <bit>
#include <cmath>
#include <format>
#include <numeric>
#include <ranges>

#include "base/checked.h"
#include "base/try.h"

namespace wgk::bench {
namespace {

// Up to so many rows, a device has room for several workgroups of each.
constexpr std::uint64_t kFewRows = 64;
// More workgroups than this do not read the same row each.
constexpr std::uint64_t kMostSlices = 8;

std::uint64_t row_count(const PlanTensor& tensor) {
  std::uint64_t rows = 1;
  for (std::size_t i = 0; i + 1 < tensor.shape.size(); ++i)
    rows *= static_cast<std::uint64_t>(tensor.shape[i]);
  return rows;
}

std::uint64_t workgroups(const PlanPass& pass) {
  return std::uint64_t{pass.dispatch[0]} * pass.dispatch[1] * pass.dispatch[2];
}

// Lanes of each of the device's subgroups; 0 where it has none, or of several sizes.
std::uint32_t fixed_subgroup_size(const DeviceCaps& caps) {
  const int size = caps.subgroup_min_size.value_or(0);
  const bool fixed = caps.has_feature("subgroups") && caps.subgroup_max_size == size;
  return fixed ? static_cast<std::uint32_t>(size) : 0;
}

// Shapes of workgroups that take the streams in `groups` parts, with a number of vectors a lane of
// `items`; none where that is no floor of `plan` or the device's subgroups have no fixed size.
std::vector<SumShape> sum_shapes(const Plan& plan, const Streams& streams, const DeviceCaps& caps,
                                 std::uint64_t groups, std::initializer_list<std::uint32_t> items) {
  std::vector<SumShape> shapes;
  const std::uint32_t subgroup = fixed_subgroup_size(caps);
  if (plan.passes.size() != 1 || subgroup < 4 || groups == 0 || groups > 65535) return shapes;
  const double part = static_cast<double>(streams.bytes / 16) / static_cast<double>(groups);
  const double most =
      std::min(1024.0, caps.limit("maxComputeInvocationsPerWorkgroup").value_or(256));
  for (const std::uint32_t each : items) {
    const double lanes = std::round(part / (each * subgroup)) * subgroup;
    if (lanes < subgroup || lanes > most || std::abs(lanes * each / part - 1) > 0.02) continue;
    shapes.push_back(
        {static_cast<std::uint32_t>(groups), static_cast<std::uint32_t>(lanes), each, subgroup});
    // Mesa maps memory for each bind group and crashes when the process may not map more.
    if (caps.is_fallback_adapter) break;
  }
  return shapes;
}

// Whether each workgroup of a plan, or each few of them without waiting for each other, take a row
// of few.
bool takes_few_rows(const Plan& plan, const Streams& streams) {
  if (streams.read.empty() || plan.passes.size() != 1) return false;
  const std::uint64_t rows = row_count(plan.tensors[streams.read.front()]);
  const std::uint64_t groups = workgroups(plan.passes.front());
  return rows > 0 && rows <= kFewRows && groups > 0 && groups % rows == 0 &&
         groups / rows <= kMostSlices;
}

// Shapes of workgroups of which several take the same of `rows` rows, sum up all of it each and
// write a slice.
std::vector<SumShape> sliced_shapes(const Plan& plan, const Streams& streams,
                                    const DeviceCaps& caps, std::uint64_t rows) {
  std::vector<SumShape> shapes;
  if (caps.is_fallback_adapter) return shapes;
  // What all rows share is least read: as much as is written.
  const auto rank = [&](std::size_t slot) { return plan.tensors[slot].shape.size(); };
  const auto parted = std::ranges::count_if(
      streams.read, [&](std::size_t slot) { return rank(slot) < rank(streams.read.front()); });
  for (const std::uint32_t slices : {2U, 4U, 8U}) {
    for (SumShape shape : sum_shapes(plan, streams, caps, rows, {1, 2, 4})) {
      if (shape.lanes * shape.items % (slices * shape.subgroup) != 0) continue;
      shape.slices = slices;
      shape.parted = static_cast<std::uint32_t>(parted);
      shapes.push_back(shape);
    }
  }
  return shapes;
}

// Whether workgroups of one dispatch wait for each other: they need words that are zero before.
bool waits_within(const Plan& plan) {
  return plan.passes.size() == 1 &&
         std::ranges::any_of(plan.scratch, [](const PlanScratch& s) { return s.kept_zero; });
}

// Shapes of workgroups that share rows as those of `plan` do.
std::vector<ExchangeShape> exchange_shapes(const Plan& plan, const Streams& streams,
                                           const DeviceCaps& caps) {
  const auto& dispatch = plan.passes.front().dispatch;
  std::vector<ExchangeShape> shapes;
  for (const SumShape& shape :
       sum_shapes(plan, streams, caps, workgroups(plan.passes.front()), {1, 2, 4, 8})) {
    shapes.push_back({dispatch[1], dispatch[0], shape.lanes, shape.items, shape.subgroup});
  }
  return shapes;
}

// The inputs that every row of a case needs: as long as a row.
std::vector<std::size_t> inputs_of_rows(const Plan& plan, const Streams& streams) {
  std::vector<std::size_t> found;
  const std::vector<std::int64_t> row = {plan.tensors[streams.read.front()].shape.back()};
  for (std::size_t i = 0; i < plan.tensors.size(); ++i) {
    const PlanTensor& tensor = plan.tensors[i];
    if (tensor.is_input && tensor.shape == row && !std::ranges::contains(streams.read, i))
      found.push_back(i);
  }
  return found;
}

// Bytes of a row of a case's tensors where rows are no multiple of 16 bytes; 0 where they are, or
// where no kernel goes by rows.
std::uint64_t odd_row_bytes(const Plan& plan, const Streams& streams, const DeviceCaps& caps) {
  if (plan.passes.size() != 1 || !streams.own || streams.read.empty() || caps.is_fallback_adapter)
    return 0;
  const PlanTensor& tensor = plan.tensors[streams.read.front()];
  if (tensor.shape.empty() || tensor.shape.back() <= 0) return 0;
  const std::uint64_t rows = row_count(tensor);
  if (rows == 0 || streams.bytes % rows != 0 || streams.bytes / rows % 16 == 0) return 0;
  return streams.bytes / rows;
}

// Shapes of workgroups that take a case's tensors row by row, by `unit` bytes: as many `together`
// as are whole units, or each row alone with the units that begin in it. None where a workgroup
// could not.
std::vector<RowShape> row_shapes(std::uint64_t row_bytes, std::uint64_t rows, std::uint64_t unit,
                                 std::uint64_t together, const DeviceCaps& caps,
                                 std::initializer_list<std::uint64_t> most_lanes = {256, 512,
                                                                                    1024}) {
  std::vector<RowShape> shapes;
  const double limit = caps.limit("maxComputeInvocationsPerWorkgroup").value_or(256);
  const std::uint64_t bytes = row_bytes * together;
  const std::uint64_t units = ceil_div(bytes, unit), line = kLineBytes / unit;
  // Long rows, in workgroups of which enough run side by side.
  if (rows % together != 0 || rows / together > 65535 || bytes < 1024 || bytes > 131072)
    return shapes;
  for (const std::uint64_t most : most_lanes) {
    if (static_cast<double>(most) > limit) continue;
    // Evenly spread, in whole subgroups.
    const std::uint64_t items = ceil_div(units + line - 1, most);
    const std::uint64_t lanes = ceil_div(ceil_div(units + line - 1, items), std::uint64_t{32}) * 32;
    if (!shapes.empty() && shapes.back().lanes == lanes) continue;
    shapes.push_back({.groups = static_cast<std::uint32_t>(rows / together),
                      .row_bytes = static_cast<std::uint32_t>(bytes),
                      .unit = static_cast<std::uint32_t>(unit),
                      .lanes = static_cast<std::uint32_t>(lanes)});
  }
  return shapes;
}

struct RowFloors {
  std::vector<RowShape> shapes;
  std::vector<std::size_t> inputs;  // that every row needs
};
// Kernels that go by rows, by words and by vectors; and with a sum before the writes: only where no
// unit is written in which two rows meet.
RowFloors row_floors(const Plan& plan, const Streams& streams, const DeviceCaps& caps,
                     const FloorKinds& kinds) {
  RowFloors found;
  const std::uint64_t bytes = odd_row_bytes(plan, streams, caps);
  if (bytes == 0) return found;
  found.inputs = inputs_of_rows(plan, streams);
  const auto whole = [&](std::uint64_t unit) { return unit / std::gcd(bytes, unit); };
  const std::uint64_t rows = streams.bytes / bytes;
  if (kinds.streams) {
    found.shapes = row_shapes(bytes, rows, 4, whole(4), caps);
    found.shapes.append_range(row_shapes(bytes, rows, 16, 1, caps));
  }
  const std::uint32_t subgroup = fixed_subgroup_size(caps);
  if (!kinds.sums || subgroup < 4 || subgroup > 32) return found;
  for (const std::uint64_t unit : {4U, 8U, 16U}) {
    for (RowShape shape : row_shapes(bytes, rows, unit, whole(unit), caps, {512, 640, 704, 1024})) {
      shape.subgroup = subgroup;
      found.shapes.push_back(shape);
    }
  }
  return found;
}

// Whether a buffer of the plan's own, as large as a stream, takes what passes before the last one
// know to the last one.
bool keeps_apart(const Plan& plan, const Streams& streams) {
  const auto binds = [&](const PlanPass& pass, std::size_t slot) {
    return std::ranges::any_of(pass.bindings, [&](const PlanBinding& binding) {
      return binding.resource == PlanBinding::Resource::kScratch && binding.slot == slot;
    });
  };
  for (std::size_t i = 0; i < plan.scratch.size(); ++i) {
    if (plan.scratch[i].byte_length == streams.bytes && binds(plan.passes.back(), i) &&
        std::ranges::any_of(plan.passes.begin(), std::prev(plan.passes.end()),
                            [&](const PlanPass& pass) { return binds(pass, i); })) {
      return true;
    }
  }
  return false;
}

std::string row_label(const RowShape& shape) {
  const std::string cut = shape.unit == 4 ? std::format("by {} words", shape.row_bytes / 4)
                                          : std::format("by {} bytes in vectors{}", shape.row_bytes,
                                                        shape.unit == 8 ? " of 8" : "");
  const std::string more =
      shape.shared > 0 ? std::format(" with {} inputs of a row", shape.shared) : "";
  return std::format("{}{}{}, {} lanes", shape.subgroup > 0 ? "with sums " : "", cut, more,
                     shape.lanes);
}

std::string streams_label(const StepStreams& streams) {
  std::string label = streams.reads.empty() ? "" : std::format("{}r", streams.reads.size());
  if (!streams.writes.empty()) label += std::format("{}w", streams.writes.size());
  return label;
}

// How kernels of streams are cut up on a device, the most promising first: one 16-byte vector a
// lane is best on GPUs, or next to it; processors like few lanes with long loops. And as a plan of
// `groups` workgroups cuts them up, whose rows may be no power of two; 0: none.
std::vector<StreamShape> stream_shapes(const DeviceCaps& caps, std::uint64_t bytes,
                                       std::size_t most, std::uint64_t groups) {
  std::vector<StreamShape> shapes;
  if (caps.is_fallback_adapter) {
    const auto lanes =
        static_cast<std::uint32_t>(std::clamp(caps.subgroup_min_size.value_or(8), 4, 64));
    shapes = {{lanes, 512}, {lanes, 64}, {}};
    // What a workgroup of these takes alone can be shared by two or more.
    for (const std::uint32_t items : {32U, 16U}) {
      if (bytes / 16 <= std::uint64_t{128} * lanes && bytes / 16 > std::uint64_t{items} * lanes)
        shapes.push_back({lanes, items});
    }
  } else {
    shapes.emplace_back();
    const double lanes = caps.limit("maxComputeInvocationsPerWorkgroup").value_or(256);
    for (const StreamShape shape :
         {StreamShape{256, 2}, StreamShape{256, 4}, StreamShape{512, 1}, StreamShape{128, 1}}) {
      if (bytes / 16 % (std::uint64_t{shape.lanes} * shape.items) == 0 && shape.lanes <= lanes)
        shapes.push_back(shape);
    }
    for (const std::uint32_t items : {1U, 2U}) {
      if (groups == 0 || bytes / 16 % (groups * items * 32) != 0) continue;
      const std::uint64_t own = bytes / 16 / groups / items;
      if (own > static_cast<std::uint64_t>(lanes) || std::has_single_bit(own)) continue;
      shapes.push_back({static_cast<std::uint32_t>(own), items});
    }
  }
  if (shapes.size() > most) shapes.resize(most);
  return shapes;
}

std::string shape_label(const StreamShape& shape) {
  const StreamShape usual;
  return shape.lanes == usual.lanes && shape.items == usual.items
             ? ""
             : std::format(", {} lanes x {}", shape.lanes, shape.items);
}

class FloorList {
 public:
  explicit FloorList(const Streams& streams) : streams_(streams) {}

  int reads() const { return streams_.reads(); }
  int writes() const { return streams_.writes(); }
  // What it moves, as labels begin.
  std::string once() const { return std::format("{}r{}w", reads(), writes()); }

  Status add(const std::string& label, Result<std::shared_ptr<const Plan>> floor,
             std::uint64_t bytes, const std::vector<std::size_t>& more_slots = {}) {
    WGK_TRY(floor);
    const bool own = streams_.own && bytes == streams_.bytes && (*floor)->passes.size() == 1 &&
                     (*floor)->scratch.empty();
    floors_.push_back({.label = "floor " + label,
                       .plan = *std::move(floor),
                       .bytes = static_cast<double>(bytes) * (reads() + writes()),
                       .on_buffers_of_case = own,
                       .slots = streams_.slots()});
    floors_.back().slots.append_range(more_slots);
    return {};
  }
  std::vector<Floor> floors() && { return std::move(floors_); }

 private:
  const Streams& streams_;
  std::vector<Floor> floors_;
};

Status add_streams(FloorList& list, const Plan& plan, const Streams& streams,
                   const DeviceCaps& caps, std::size_t most) {
  const int reads = list.reads(), writes = list.writes();
  const std::uint64_t groups = plan.passes.size() == 1 ? workgroups(plan.passes.front()) : 0;
  for (const StreamShape& shape : stream_shapes(caps, streams.bytes, most, groups)) {
    if (plan.passes.size() <= 1) {
      WGK_TRY(list.add(list.once() + shape_label(shape),
                       streams_plan(reads, writes, streams.bytes, shape), streams.bytes));
      continue;
    }
    std::vector<TwoSteps> forms = two_steps(plan, streams);
    if (plan.passes.size() > 2) forms.push_back(merged_steps(forms));
    for (const TwoSteps& steps : forms) {
      WGK_TRY(list.add(std::format("{} + {} in {} dispatches{}", streams_label(steps.first),
                                   streams_label(steps.second), steps.merged ? "three" : "two",
                                   shape_label(shape)),
                       twice_plan(reads, writes, steps, streams.bytes, shape), streams.bytes));
    }
  }
  return {};
}

Status add_rows(FloorList& list, const Plan& plan, const Streams& streams, const DeviceCaps& caps,
                const FloorKinds& kinds) {
  const RowFloors by_rows = row_floors(plan, streams, caps, kinds);
  const auto add = [&](const RowShape& shape, const std::vector<std::size_t>& inputs) {
    return list.add(list.once() + " " + row_label(shape),
                    rows_plan(list.reads(), list.writes(), shape), shape.bytes(), inputs);
  };
  for (RowShape shape : by_rows.shapes) {
    if (shape.subgroup == 0) WGK_TRY(add(shape, {}));
    // As any kernel must that takes a row at a time, each also with what belongs to each row.
    if (by_rows.inputs.empty()) continue;
    shape.shared = static_cast<std::uint32_t>(by_rows.inputs.size());
    shape.shared_bytes =
        static_cast<std::uint32_t>(plan.tensors[by_rows.inputs.front()].buffer_size / 4 * 4);
    WGK_TRY(add(shape, by_rows.inputs));
  }
  return {};
}

Status add_sums(FloorList& list, const Plan& plan, const Streams& streams, const DeviceCaps& caps) {
  const int reads = list.reads(), writes = list.writes();
  if (waits_within(plan)) {
    for (const ExchangeShape& shape : exchange_shapes(plan, streams, caps)) {
      WGK_TRY(list.add(std::format("{} with sums of {} workgroups, {} lanes x {}", list.once(),
                                   shape.slices, shape.lanes, shape.items),
                       exchange_plan(reads, writes, shape), shape.bytes()));
    }
    return {};
  }
  const bool few_rows = takes_few_rows(plan, streams);
  const std::uint64_t groups =
      few_rows ? row_count(plan.tensors[streams.read.front()]) : workgroups(plan.passes.front());
  std::vector<SumShape> shapes = sum_shapes(plan, streams, caps, groups, {1, 2, 4, 8});
  if (few_rows) {
    shapes.append_range(sliced_shapes(plan, streams, caps, groups));
  } else if (writes > 1 && !caps.is_fallback_adapter) {
    // A norm of many rows may also write all that it writes of a row together.
    for (const std::size_t early : std::views::iota(0UZ, shapes.size())) {
      shapes.push_back(shapes[early]);
      shapes.back().late = true;
    }
  }
  for (const SumShape& shape : shapes) {
    const std::string slices =
        shape.slices > 1 ? std::format("{} workgroups a row, ", shape.slices) : "";
    WGK_TRY(list.add(
        std::format("{} with sums{}, {}{} lanes x {}", list.once(),
                    shape.late ? " before all writes" : "", slices, shape.lanes, shape.items),
        sums_plan(reads, writes, shape), shape.bytes()));
  }
  return {};
}

}  // namespace

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

std::vector<TwoSteps> two_steps(const Plan& plan, const Streams& streams) {
  const auto reads = static_cast<std::size_t>(streams.reads());
  const auto writes = static_cast<std::size_t>(streams.writes());
  std::vector<bool> first(reads + writes), last(reads + writes);
  for (const PlanPass& pass : plan.passes) {
    for (const PlanBinding& binding : pass.bindings) {
      if (binding.resource != PlanBinding::Resource::kTensor) continue;
      const auto mark = [&](const std::vector<std::size_t>& of, std::size_t most,
                            std::size_t offset) {
        const auto at = static_cast<std::size_t>(std::ranges::find(of, binding.slot) - of.begin());
        if (at < most) (&pass == &plan.passes.back() ? last : first)[offset + at] = true;
      };
      mark(streams.read, std::min(reads, streams.read.size()), 0);
      mark(streams.written, std::min(writes, streams.written.size()), reads);
    }
  }
  TwoSteps again, kept, all;
  for (std::size_t i = 0; i < reads + writes; ++i) {
    if (i < reads) {
      if (first[i]) again.first.reads.push_back(i);
      if (first[i]) kept.first.reads.push_back(i);
      if (last[i]) again.second.reads.push_back(i);
      if (last[i] && !first[i]) kept.second.reads.push_back(i);
      all.first.reads.push_back(i);
    } else {
      again.second.writes.push_back(i);
      (first[i] ? kept.first : kept.second).writes.push_back(i);
      if (first[i]) kept.second.reads.push_back(i);
    }
  }
  all.second = again.second;
  if (keeps_apart(plan, streams)) {
    kept.first.writes.push_back(reads + writes);
    kept.second.reads.push_back(reads + writes);
  }
  std::vector<TwoSteps> forms;
  if (again.first.reads.empty()) return {all};
  forms.push_back(again);
  if (!kept.first.writes.empty() && !kept.second.writes.empty()) forms.push_back(kept);
  if (again.first.reads.size() < reads) forms.push_back(all);
  return forms;
}

TwoSteps merged_steps(const std::vector<TwoSteps>& forms) {
  const auto kept = std::ranges::find_if(
      forms, [](const TwoSteps& steps) { return !steps.first.writes.empty(); });
  TwoSteps merged = kept == forms.end() ? forms.front() : *kept;
  merged.merged = true;
  return merged;
}

Result<std::vector<Floor>> floors_of(const Plan& plan, const Streams& streams,
                                     const DeviceCaps& caps, const FloorKinds& kinds) {
  FloorList list(streams);
  if (kinds.streams) WGK_TRY(add_streams(list, plan, streams, caps, kinds.shapes));
  WGK_TRY(add_rows(list, plan, streams, caps, kinds));
  if (kinds.sums) WGK_TRY(add_sums(list, plan, streams, caps));
  return std::move(list).floors();
}

}  // namespace wgk::bench
