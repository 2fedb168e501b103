// SPDX-License-Identifier: Apache-2.0
#include "cli/device_flags.h"

#include "cli/request_flags.h"

namespace wgk::cli {

void add_device_flags(CLI::App& command, DeviceFlags& flags) {
  command.add_option("--device", flags.device,
                     "Index or part of the name of a device (see `wgk devices`)");
  command.add_flag(
      "--trusted", flags.trusted,
      "Without WebGPU's validation and bounds checks: only for packages whose bytes you trust");
}

void add_caps_flags(CLI::App& command, DeviceFlags& flags) {
  command.add_option(
      "--caps", flags.caps,
      "Profile of a device as JSON (tests/devices), or 'default' for the least device");
  command.add_option("--device", flags.device,
                     "Index or part of the name of a device, when there is no --caps");
}

Result<DeviceCaps> find_caps(const DeviceFlags& flags, const Session& session) {
  if (!flags.caps.empty()) return read_caps(flags.caps);
  session.note("note: no --caps given; planning for the device of default limits");
  return DeviceCaps::defaults();
}

}  // namespace wgk::cli
