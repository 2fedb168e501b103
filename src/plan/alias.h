// SPDX-License-Identifier: Apache-2.0
// Which buffer ranges a pass binds, and which of them may not meet (format.md b.7).
#pragma once

#include <cstdint>
#include <vector>

#include "plan/bindings.h"
#include "wgk/plan.h"

namespace wgk::planning {

// The buffer range behind a binding. Equal owners: the same buffer.
struct Resource {
  enum class Kind : std::uint8_t { kUniform, kGiven, kTensor, kScratch } kind = Kind::kUniform;
  std::uint64_t buffer = 0;
  std::uint64_t offset = 0;
  std::uint64_t byte_length = 0;
  DType dtype = DType::f32;

  bool same_buffer(const Resource& other) const {
    return kind == other.kind && buffer == other.buffer;
  }
};

// One per binding; a storage binding whose tensor is not bound is an error.
Result<std::vector<Resource>> resources_of(const PackageIndex& index, const BoundRequest& bound,
                                           const std::vector<PassBinding>& bindings,
                                           const Plan& plan);

// True when every pair of `viewAlias` is the same range of the same buffer with the same dtype: the
// pass has nothing to do.
bool is_view_alias(const package::Pass& pass, const std::vector<PassBinding>& bindings,
                   const std::vector<Resource>& resources);

// "request/alias" when a buffer is bound for reading and writing, or two written ranges overlap.
Status check_aliasing(const std::vector<PassBinding>& bindings,
                      const std::vector<Resource>& resources);

}  // namespace wgk::planning
