// SPDX-License-Identifier: Apache-2.0
#include "cli/device_flags.h"

#include <chrono>
#include <format>

#include "base/try.h"
#include "cli/request_flags.h"

namespace wgk::cli {

void add_device_flags(CLI::App& command, DeviceFlags& flags) {
  command.add_option("--device", flags.device,
                     "Index or part of the name of a device (see `wgk devices`)");
  command.add_flag(
      "--trusted", flags.trusted,
      "Without WebGPU's validation and bounds checks: only for packages whose bytes you trust");
  command.add_option("--timeout", flags.timeout,
                     "Seconds after which a call that gives no answer is given up (default 300)");
}

void add_caps_flags(CLI::App& command, DeviceFlags& flags) {
  command.add_option(
      "--caps", flags.caps,
      "Profile of a device as JSON (tests/devices), or 'default' for the least device");
  command.add_option("--device", flags.device,
                     "Index or part of the name of a device, when there is no --caps");
}

Result<Runtime> open_runtime(const DeviceFlags& flags, const Session& session) {
  RuntimeOptions options;
  options.adapter.device = flags.device;
  options.timeout = std::chrono::seconds(flags.timeout);
  options.mode = flags.trusted ? Mode::kTrusted : Mode::kSafe;
  if (session.verbose) {
    options.log = [&session](LogLevel, std::string_view message) { session.note(message); };
  }
  return Runtime::create(options);
}

Result<DeviceCaps> find_caps(const DeviceFlags& flags, const Session& session) {
  if (!flags.caps.empty()) return read_caps(flags.caps);
  WGK_ASSIGN(const Runtime runtime, open_runtime(flags, session));
  return runtime.caps();
}

std::string device_text(const AdapterDescription& adapter) {
  std::string text = adapter.name;
  if (!adapter.backend.empty()) text += " (" + adapter.backend + ")";
  return text;
}

std::string time_text(double microseconds) {
  if (microseconds < 1000) return std::format("{:.0f} us", microseconds);
  if (microseconds < 1e6) return std::format("{:.2f} ms", microseconds / 1e3);
  return std::format("{:.2f} s", microseconds / 1e6);
}

}  // namespace wgk::cli
