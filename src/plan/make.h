// SPDX-License-Identifier: Apache-2.0
// From a bound request and a chosen variant to a plan (format.md b.9, steps 6 and 7 as far as they
// need no device).
#pragma once

#include <string_view>
#include <vector>

#include "plan/bound.h"
#include "plan/render.h"
#include "plan/scope.h"
#include "wgk/plan.h"

namespace wgk::planning {

// Limits of the device that every plan is held against.
struct SizeLimits {
  explicit SizeLimits(const DeviceCaps& caps);

  double buffer, storage_binding, uniform_binding, offset_alignment, workgroups;
};

struct MakeContext {
  const PackageIndex& index;
  const BoundRequest& bound;
  const SizeLimits& sizes;
  const DeviceNames& device;
  const DeriveLevel& manifest_level;
  const expr::Limits& limits;
  const PlanOptions& options;
  RenderCache& cache;
  std::size_t most_passes;  // instances of one plan
};

Result<Plan> make(const MakeContext& context, const package::Variant& variant);

// Whether a pass of the variant renders to a text that uses the construct; false also when it
// cannot be rendered.
bool rendered_has(const MakeContext& context, const package::Variant& variant,
                  std::string_view construct);

// Buffers to be made for tensors against maxBufferSize: one error per tensor that is too large.
std::vector<Error> check_tensor_sizes(const MakeContext& context);

}  // namespace wgk::planning
