// SPDX-License-Identifier: Apache-2.0
// The executor's own two shaders: they serve every package, so they belong to none.
#pragma once

#include <cstdint>
#include <string>

#include "wgk/plan.h"

namespace wgk::gpu {

// Sets every word of its one storage binding to zero.
const PlanPass& clear_pass();
// The workgroups that cover `words` words.
std::array<std::uint32_t, 3> clear_dispatch(std::uint64_t words);

// Replaces some bits of one word: uniform {index, mask, value, 0}, storage words.
const PlanPass& merge_pass();

}  // namespace wgk::gpu
