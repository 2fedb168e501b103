// SPDX-License-Identifier: Apache-2.0
// wgk env: what a report of a problem should say about this installation.
#include <sys/utsname.h>

#include <cstdlib>

#include "cli/device_flags.h"
#include "cli/session.h"

namespace wgk::cli {
namespace {

constexpr const char* kVariables[] = {"WGK_LOG",   "WGK_BACKEND",     "WGK_ADAPTER",
                                      "WGK_POWER", "VK_DRIVER_FILES", "VK_ICD_FILENAMES",
                                      "NO_COLOR"};

std::vector<std::pair<std::string, std::string>> collect() {
  std::vector<std::pair<std::string, std::string>> entries = {{"wgkernels", WGK_VERSION},
                                                              {"manifest spec", "2.1"}};
  utsname system = {};
  if (::uname(&system) == 0) {
    entries.emplace_back("system",
                         std::string(system.sysname) + " " + system.release + " " + system.machine);
  }
  entries.emplace_back("compiler", WGK_COMPILER);
  entries.emplace_back("build", WGK_BUILD);
  for (const char* name : kVariables) {
    const char* value = std::getenv(name);
    entries.emplace_back(name, value != nullptr ? value : "(unset)");
  }
  // A machine without a device is worth knowing, not a failure of this command.
  if (const auto adapters = Runtime::adapters()) {
    for (const AdapterDescription& adapter : *adapters) {
      entries.emplace_back("device " + std::to_string(adapter.index),
                           device_text(adapter) + ", " + adapter.driver);
    }
    if (adapters->empty()) entries.emplace_back("device", "none found");
  } else {
    entries.emplace_back("device", adapters.error().message);
  }
  return entries;
}

int run_env(const Session& session) {
  const auto entries = collect();
  if (!session.json) {
    session.print(lines(entries));
    return kSuccess;
  }
  Json json(Json::Object{});
  for (const auto& [name, value] : entries) json.set(name, value);
  session.print_json(json);
  return kSuccess;
}

}  // namespace

void add_env(CLI::App& app, Session& session) {
  CLI::App* command =
      add_command(app, session, "env", "Show versions and the environment variables that matter",
                  {"wgk env", "wgk env --json"});
  command->add_flag("--json", session.json, "Print JSON");
  command->callback([&session] { session.command = [&session] { return run_env(session); }; });
}

}  // namespace wgk::cli
