// SPDX-License-Identifier: Apache-2.0
#include "bench/device_plans.h"

#include <algorithm>
#include <format>
#include <string>
#include <string_view>
#include <vector>

#include "base/digest.h"
#include "bench/device_texts.h"
#include "jinja/template.h"

namespace wgk::bench {
namespace {

struct Number {
  std::string_view name;
  double value;
};

// A plan of one pass that binds `tensors` in order.
Result<std::shared_ptr<const Plan>> one_pass(std::string_view name, std::string_view text,
                                             std::vector<Number> numbers,
                                             std::vector<PlanTensor> tensors,
                                             std::array<std::uint32_t, 3> dispatch) {
  auto parsed = jinja::Template::parse(text, std::string(name) + ".wgsl.jinja");
  if (!parsed) return std::unexpected(std::move(parsed.error()));
  expr::Scope scope;
  for (const Number& n : numbers) scope.set(n.name, expr::Value::integer(n.value));
  // `range` is a global of templates; nothing else is read.
  auto wgsl = parsed->render(scope);
  if (!wgsl) return std::unexpected(std::move(wgsl.error()));
  auto plan = std::make_shared<Plan>();
  plan->op_id = "wgk.device";
  plan->variant = name;
  PlanPass pass;
  pass.id = name;
  pass.label = std::format("wgk.device.{}", name);
  pass.shader = std::string(name) + ".wgsl.jinja";
  std::string key = *wgsl;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const bool writes = tensors[i].is_output;
    pass.bindings.push_back({.index = static_cast<std::uint32_t>(i),
                             .type = writes ? BindingType::kStorage : BindingType::kReadOnlyStorage,
                             .name = tensors[i].port,
                             .resource = PlanBinding::Resource::kTensor,
                             .slot = i,
                             .offset = 0,
                             .size = tensors[i].buffer_size});
    key += writes ? 'w' : 'r';
  }
  pass.wgsl = std::make_shared<const std::string>(std::move(*wgsl));
  pass.dispatch = dispatch;
  const Digest128 digest = digest128(key);
  for (std::size_t i = 0; i < 8; ++i) {
    pass.key[i] = static_cast<std::uint8_t>(digest.high >> (56 - 8 * i));
    pass.key[8 + i] = static_cast<std::uint8_t>(digest.low >> (56 - 8 * i));
  }
  plan->tensors = std::move(tensors);
  plan->passes.push_back(std::move(pass));
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

}  // namespace

Result<std::shared_ptr<const Plan>> streams_plan(int reads, int writes, std::uint64_t bytes) {
  std::vector<PlanTensor> tensors;
  for (int i = 0; i < reads; ++i) tensors.push_back(words(std::format("r{}", i), bytes, false));
  for (int i = 0; i < writes; ++i) tensors.push_back(words(std::format("w{}", i), bytes, true));
  const std::uint64_t groups = std::max<std::uint64_t>(1, (bytes / 16 + 255) / 256);
  // Rows of equal length: a full row of 65,535 and a nearly empty one would time workgroups that do
  // nothing.
  const std::uint64_t y = (groups + 65534) / 65535;
  const std::uint64_t x = (groups + y - 1) / y;
  return one_pass("streams", k_streams_text,
                  {{"reads", static_cast<double>(reads)}, {"writes", static_cast<double>(writes)}},
                  std::move(tensors),
                  {static_cast<std::uint32_t>(x), static_cast<std::uint32_t>(y), 1});
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
