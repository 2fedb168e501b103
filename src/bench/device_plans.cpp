// SPDX-License-Identifier: Apache-2.0
#include "bench/device_plans.h"

#include <algorithm>
#include <format>
#include <string>
#include <string_view>
#include <vector>

#include "base/checked.h"
#include "base/digest.h"
#include "bench/device_texts.h"
#include "jinja/template.h"

namespace wgk::bench {
namespace {

struct Number {
  std::string_view name;
  double value;
};

// A tensor of a pass.
struct Use {
  std::size_t slot;
  bool writes;
};

// A pass that binds `uses` of `tensors` in order.
Result<PlanPass> make_pass(std::string_view name, std::string_view text,
                           const std::vector<Number>& numbers,
                           const std::vector<PlanTensor>& tensors, const std::vector<Use>& uses,
                           std::array<std::uint32_t, 3> dispatch) {
  auto parsed = jinja::Template::parse(text, std::string(name) + ".wgsl.jinja");
  if (!parsed) return std::unexpected(std::move(parsed.error()));
  expr::Scope scope;
  for (const Number& n : numbers) scope.set(n.name, expr::Value::integer(n.value));
  // `range` is a global of templates; nothing else is read.
  auto wgsl = parsed->render(scope);
  if (!wgsl) return std::unexpected(std::move(wgsl.error()));
  PlanPass pass;
  pass.id = name;
  pass.label = std::format("wgk.device.{}", name);
  pass.shader = std::string(name) + ".wgsl.jinja";
  std::string key = *wgsl;
  for (std::size_t i = 0; i < uses.size(); ++i) {
    const auto [slot, writes] = uses[i];
    const PlanTensor& tensor = tensors[slot];
    pass.bindings.push_back({.index = static_cast<std::uint32_t>(i),
                             .type = writes ? BindingType::kStorage : BindingType::kReadOnlyStorage,
                             .name = tensor.port,
                             .resource = PlanBinding::Resource::kTensor,
                             .slot = slot,
                             .offset = 0,
                             .size = tensor.buffer_size});
    key += writes ? 'w' : 'r';
  }
  pass.wgsl = std::make_shared<const std::string>(std::move(*wgsl));
  pass.dispatch = dispatch;
  const Digest128 digest = digest128(key);
  for (std::size_t i = 0; i < 8; ++i) {
    pass.key[i] = static_cast<std::uint8_t>(digest.high >> (56 - 8 * i));
    pass.key[8 + i] = static_cast<std::uint8_t>(digest.low >> (56 - 8 * i));
  }
  return pass;
}

std::shared_ptr<Plan> new_plan(std::string_view name, std::vector<PlanTensor> tensors) {
  auto plan = std::make_shared<Plan>();
  plan->op_id = "wgk.device";
  plan->variant = name;
  plan->tensors = std::move(tensors);
  return plan;
}

// A plan of one pass that binds `tensors` in order.
Result<std::shared_ptr<const Plan>> one_pass(std::string_view name, std::string_view text,
                                             const std::vector<Number>& numbers,
                                             std::vector<PlanTensor> tensors,
                                             std::array<std::uint32_t, 3> dispatch) {
  std::vector<Use> uses;
  for (std::size_t i = 0; i < tensors.size(); ++i) uses.push_back({i, tensors[i].is_output});
  auto pass = make_pass(name, text, numbers, tensors, uses, dispatch);
  if (!pass) return std::unexpected(std::move(pass.error()));
  auto plan = new_plan(name, std::move(tensors));
  plan->passes.push_back(std::move(*pass));
  return plan;
}

PlanTensor words(std::string port, std::uint64_t bytes, bool is_output) {
  return {.port = std::move(port),
          .dtype = DType::u32,
          .storage = DType::u32,
          .shape = {static_cast<std::int64_t>(bytes / 4)},
          .byte_length = bytes,
          .buffer_size = bytes,
          .is_input = !is_output,
          .is_output = is_output};
}

std::vector<PlanTensor> stream_tensors(int reads, int writes, std::uint64_t bytes) {
  std::vector<PlanTensor> tensors;
  for (int i = 0; i < reads; ++i) tensors.push_back(words(std::format("r{}", i), bytes, false));
  for (int i = 0; i < writes; ++i) tensors.push_back(words(std::format("w{}", i), bytes, true));
  return tensors;
}

std::array<std::uint32_t, 3> stream_groups(std::uint64_t bytes, const StreamShape& shape = {}) {
  const std::uint64_t each = std::uint64_t{shape.lanes} * shape.items;
  const std::uint64_t groups = std::max<std::uint64_t>(1, (bytes / 16 + each - 1) / each);
  // Rows of equal length: a full row of 65,535 and a nearly empty one would time workgroups that do
  // nothing.
  const std::uint64_t y = (groups + 65534) / 65535;
  const std::uint64_t x = (groups + y - 1) / y;
  return {static_cast<std::uint32_t>(x), static_cast<std::uint32_t>(y), 1};
}

std::vector<Number> stream_numbers(std::size_t reads, std::size_t writes, int step,
                                   const StreamShape& shape) {
  return {{"reads", static_cast<double>(reads)},
          {"writes", static_cast<double>(writes)},
          {"step", static_cast<double>(step)},
          {"lanes", static_cast<double>(shape.lanes)},
          {"items", static_cast<double>(shape.items)}};
}

}  // namespace

Result<std::shared_ptr<const Plan>> streams_plan(int reads, int writes, std::uint64_t bytes,
                                                 const StreamShape& shape) {
  return one_pass(
      "streams", k_streams_text,
      stream_numbers(static_cast<std::size_t>(reads), static_cast<std::size_t>(writes), 0, shape),
      stream_tensors(reads, writes, bytes), stream_groups(bytes, shape));
}

Result<std::shared_ptr<const Plan>> twice_plan(int reads, int writes, const TwoSteps& steps,
                                               std::uint64_t bytes, const StreamShape& shape) {
  std::vector<PlanTensor> tensors = stream_tensors(reads, writes, bytes);
  if (std::ranges::contains(steps.first.writes, tensors.size())) {
    tensors.push_back(words("kept", bytes, true));
    tensors.back().is_input = true;
  }
  const std::size_t word = tensors.size();
  tensors.push_back(words("word", 16, true));
  tensors.back().is_input = true;
  auto plan = new_plan("streams in several dispatches", tensors);
  for (const int step : {1, 2}) {
    if (step == 2 && steps.merged) {
      auto merge = make_pass("merge", k_dependent_text, {}, tensors, {{word, true}}, {1, 1, 1});
      if (!merge) return std::unexpected(std::move(merge.error()));
      plan->passes.push_back(std::move(*merge));
    }
    const StepStreams& streams = step == 1 ? steps.first : steps.second;
    std::vector<Use> uses;
    for (const std::size_t slot : streams.reads) uses.push_back({slot, false});
    for (const std::size_t slot : streams.writes) uses.push_back({slot, true});
    uses.push_back({word, step == 1});
    auto pass = make_pass(step == 1 ? "gather" : "streams", k_streams_text,
                          stream_numbers(streams.reads.size(), streams.writes.size(), step, shape),
                          tensors, uses, stream_groups(bytes, shape));
    if (!pass) return std::unexpected(std::move(pass.error()));
    plan->passes.push_back(std::move(*pass));
  }
  return plan;
}

Result<std::shared_ptr<const Plan>> sums_plan(int reads, int writes, const SumShape& shape) {
  return one_pass("sums", k_sums_text,
                  {{"reads", static_cast<double>(reads)},
                   {"writes", static_cast<double>(writes)},
                   {"lanes", static_cast<double>(shape.lanes)},
                   {"items", static_cast<double>(shape.items)},
                   {"slices", static_cast<double>(shape.slices)},
                   {"parted", static_cast<double>(shape.parted)},
                   {"late", shape.late ? 1.0 : 0.0},
                   {"width", static_cast<double>(shape.subgroup)}},
                  stream_tensors(reads, writes, shape.bytes()),
                  shape.slices == 1 ? std::array<std::uint32_t, 3>{shape.groups, 1, 1}
                                    : std::array<std::uint32_t, 3>{shape.slices, shape.groups, 1});
}

Result<std::shared_ptr<const Plan>> rows_plan(int reads, int writes, const RowShape& shape) {
  std::vector<PlanTensor> tensors = stream_tensors(reads, writes, shape.bytes());
  for (std::uint32_t i = 0; i < shape.shared; ++i)
    tensors.push_back(words(std::format("s{}", i), shape.shared_bytes, false));
  return one_pass("rows", k_rows_text,
                  {{"reads", static_cast<double>(reads)},
                   {"writes", static_cast<double>(writes)},
                   {"shared", static_cast<double>(shape.shared)},
                   {"sharedBytes", static_cast<double>(shape.shared_bytes)},
                   {"rowBytes", static_cast<double>(shape.row_bytes)},
                   {"unit", static_cast<double>(shape.unit)},
                   {"line", static_cast<double>(kLineBytes / shape.unit)},
                   {"lanes", static_cast<double>(shape.lanes)},
                   {"width", static_cast<double>(shape.subgroup)}},
                  std::move(tensors), {shape.groups, 1, 1});
}

Result<std::shared_ptr<const Plan>> exchange_plan(int reads, int writes,
                                                  const ExchangeShape& shape) {
  std::vector<PlanTensor> tensors = stream_tensors(reads, writes, shape.bytes());
  std::vector<Use> uses;
  for (std::size_t i = 0; i < tensors.size(); ++i) uses.push_back({i, tensors[i].is_output});
  constexpr std::int64_t line_words = kLineBytes / 4;
  const std::int64_t stride = (ceil_div<std::int64_t>(shape.slices, line_words) + 1) * line_words;
  auto pass = make_pass("exchange", k_exchange_text,
                        {{"reads", static_cast<double>(reads)},
                         {"writes", static_cast<double>(writes)},
                         {"slices", static_cast<double>(shape.slices)},
                         {"lanes", static_cast<double>(shape.lanes)},
                         {"items", static_cast<double>(shape.items)},
                         {"stride", static_cast<double>(stride)},
                         {"width", static_cast<double>(shape.subgroup)}},
                        tensors, uses, {shape.slices, shape.rows, 1});
  if (!pass) return std::unexpected(std::move(pass.error()));
  auto plan = new_plan("exchange", std::move(tensors));
  const std::int64_t words = std::int64_t{shape.rows} * stride;
  const auto bytes = static_cast<std::uint64_t>(words) * 4;
  plan->scratch.push_back({.id = "board",
                           .dtype = DType::u32,
                           .shape = {words},
                           .byte_length = bytes,
                           .buffer_size = bytes,
                           .zero_init = true,
                           .kept_zero = true});
  pass->bindings.push_back({.index = static_cast<std::uint32_t>(uses.size()),
                            .type = BindingType::kStorage,
                            .name = "board",
                            .resource = PlanBinding::Resource::kScratch,
                            .slot = 0,
                            .offset = 0,
                            .size = bytes});
  plan->passes.push_back(std::move(*pass));
  return plan;
}

Result<std::shared_ptr<const Plan>> noise_plan(std::uint64_t bytes) {
  return one_pass("noise", k_noise_text, {}, {words("words", bytes, true)}, stream_groups(bytes));
}

Result<std::shared_ptr<const Plan>> empty_plan() {
  return one_pass("empty", k_empty_text, {}, {}, {1, 1, 1});
}

Result<std::shared_ptr<const Plan>> dependent_plan() {
  PlanTensor word = words("word", 4, true);
  word.is_input = true;
  return one_pass("dependent", k_dependent_text, {}, {std::move(word)}, {1, 1, 1});
}

Result<std::shared_ptr<const Plan>> load_plan(std::uint32_t size) {
  const std::uint64_t bytes = std::uint64_t{4} * size * size;
  return one_pass("load", k_load_text, {{"size", static_cast<double>(size)}},
                  {words("a", bytes, false), words("c", bytes, true)}, {size / 64, size / 64, 1});
}

}  // namespace wgk::bench
