// SPDX-License-Identifier: Apache-2.0
// Whether the system has a Vulkan driver, asked without Dawn: where there is none, Dawn prints the
// loader's complaint to stderr whatever log sinks are installed.
#pragma once

namespace wgk::gpu {

// True also where it cannot be known: systems other than Linux. A driver that was found stays
// loaded, so that it is looked for once and Dawn, asked next, need not load it again.
bool has_vulkan_driver();

}  // namespace wgk::gpu
