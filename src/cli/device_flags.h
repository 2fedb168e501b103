// SPDX-License-Identifier: Apache-2.0
// Which device a command is about.
#pragma once

#include <string>

#include "cli/session.h"
#include "wgk/device_caps.h"
#include "wgk/error.h"

namespace wgk::cli {

struct DeviceFlags {
  std::string device;  // index or part of a name
  std::string caps;    // a profile in place of a device
  bool trusted = false;
};

// --device, --trusted: commands that run something.
void add_device_flags(CLI::App& command, DeviceFlags& flags);
// --caps, --device: commands that only plan.
void add_caps_flags(CLI::App& command, DeviceFlags& flags);

// The profile of --caps, else the least device.
Result<DeviceCaps> find_caps(const DeviceFlags& flags, const Session& session);

}  // namespace wgk::cli
