// SPDX-License-Identifier: Apache-2.0
#include "gpu/shaders.h"

#include <algorithm>
#include <array>
#include <memory>
#include <string_view>
#include <utility>

namespace wgk::gpu {
namespace {

constexpr std::uint64_t kFold = 65535;
constexpr std::uint64_t kClearWidth = 64;

constexpr std::string_view kClear =
    R"(@group(0) @binding(0) var<storage, read_write> words: array<u32>;
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  let i = id.y * groups.x * 64u + id.x;
  if (i < arrayLength(&words)) { words[i] = 0u; }
}
)";

constexpr std::string_view kMerge =
    R"(struct Params { index: u32, mask: u32, value: u32, unused: u32 }
@group(0) @binding(0) var<storage, read_write> words: array<u32>;
@group(0) @binding(1) var<uniform> params: Params;
@compute @workgroup_size(1)
fn main() {
  words[params.index] = (words[params.index] & ~params.mask) | (params.value & params.mask);
}
)";

PlanPass make(std::string_view id, std::string_view wgsl, std::vector<PlanBinding> bindings) {
  PlanPass pass;
  pass.id = id;
  pass.label = std::string("wgkernels.") + pass.id;
  pass.wgsl = std::make_shared<const std::string>(wgsl);
  pass.bindings = std::move(bindings);
  // A plan's keys are digests; the text is compared as well, so any fixed key will do.
  std::copy_n(id.data(), std::min(id.size(), pass.key.size()), pass.key.begin());
  return pass;
}

PlanBinding binding(std::uint32_t index, BindingType type) {
  PlanBinding result;
  result.index = index;
  result.type = type;
  return result;
}

}  // namespace

const PlanPass& clear_pass() {
  static const PlanPass kPass = make("clear", kClear, {binding(0, BindingType::kStorage)});
  return kPass;
}

std::array<std::uint32_t, 3> clear_dispatch(std::uint64_t words) {
  const std::uint64_t groups = (words + kClearWidth - 1) / kClearWidth;
  const std::uint64_t rows = (groups + kFold - 1) / kFold;
  return {static_cast<std::uint32_t>(std::min(groups, kFold)), static_cast<std::uint32_t>(rows), 1};
}

const PlanPass& merge_pass() {
  static const PlanPass kPass =
      make("merge", kMerge, {binding(0, BindingType::kStorage), binding(1, BindingType::kUniform)});
  return kPass;
}

}  // namespace wgk::gpu
