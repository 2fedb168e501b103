// SPDX-License-Identifier: Apache-2.0
// wgk devices: what there is to run on.
#include "cli/device_flags.h"
#include "cli/session.h"

namespace wgk::cli {
namespace {

struct DevicesFlags {
  std::string backend;
  std::string caps_of;  // index or part of a name
};

Json to_json(const AdapterDescription& adapter) {
  return Json::object({{"index", adapter.index},
                       {"name", adapter.name},
                       {"vendor", adapter.vendor},
                       {"architecture", adapter.architecture},
                       {"driver", adapter.driver},
                       {"backend", adapter.backend},
                       {"type", adapter.type},
                       {"software", adapter.software}});
}

int run_caps(const Session& session, const std::string& device) {
  const auto caps = find_caps({.device = device, .caps = {}, .trusted = false}, session);
  if (!caps) return session.fail(caps.error());
  session.print_json(caps->to_json());
  return kSuccess;
}

int run_devices(const Session& session, const DevicesFlags& flags) {
  if (!flags.caps_of.empty()) return run_caps(session, flags.caps_of);
  const auto adapters = Runtime::adapters(flags.backend);
  if (!adapters) return session.fail(adapters.error());
  if (session.json) {
    Json list(Json::Array{});
    for (const AdapterDescription& adapter : *adapters)
      list.if_array()->push_back(to_json(adapter));
    session.print_json(list);
  } else {
    Table table({"INDEX", "NAME", "BACKEND", "TYPE", "DRIVER"});
    for (const AdapterDescription& adapter : *adapters) {
      table.add({std::to_string(adapter.index), adapter.name, adapter.backend,
                 adapter.software ? adapter.type + ", software" : adapter.type, adapter.driver});
    }
    session.print(table.text());
  }
  if (adapters->empty()) return session.fail(Error{"device/none", "no adapter was found"});
  return kSuccess;
}

}  // namespace

void add_devices(CLI::App& app, Session& session) {
  auto flags = std::make_shared<DevicesFlags>();
  CLI::App* command = add_command(app, session, "devices", "List the devices of this machine",
                                  {"wgk devices", "wgk devices --caps 0 > my-device.json"});
  command->add_option("--backend", flags->backend,
                      "Only this back end: vulkan, metal, d3d12, null");
  command->add_option("--caps", flags->caps_of,
                      "Print the capability profile of this device (index or part of its name)");
  command->add_flag("--json", session.json, "Print JSON");
  command->callback([flags, &session] {
    session.command = [flags, &session] { return run_devices(session, *flags); };
  });
}

}  // namespace wgk::cli
