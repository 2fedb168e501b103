// SPDX-License-Identifier: Apache-2.0
// Which device a command is about.
#pragma once

#include <string>

#include "cli/session.h"
#include "wgk/device_caps.h"
#include "wgk/error.h"
#include "wgk/runtime.h"

namespace wgk::cli {

struct DeviceFlags {
  std::string device;  // index or part of a name
  std::string caps;    // a profile in place of a device
  bool trusted = false;
  unsigned timeout = 300;  // seconds
};

// --device, --trusted, --timeout: commands that run something.
void add_device_flags(CLI::App& command, DeviceFlags& flags);
// --caps, --device: commands that only plan.
void add_caps_flags(CLI::App& command, DeviceFlags& flags);

// With --verbose, what happens inside is said on stderr; `session` must outlive the runtime.
Result<Runtime> open_runtime(const DeviceFlags& flags, const Session& session);

// The profile of --caps, else what the chosen device offers.
Result<DeviceCaps> find_caps(const DeviceFlags& flags, const Session& session);

// "NVIDIA H200 (vulkan)"
std::string device_text(const AdapterDescription& adapter);
// "312 us", "4.10 ms"
std::string time_text(double microseconds);

}  // namespace wgk::cli
