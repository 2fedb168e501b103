// SPDX-License-Identifier: Apache-2.0
// wgk check: everything about packages that can be judged without a device.
#include <algorithm>

#include "cli/limit_flags.h"
#include "cli/session.h"
#include "verify/package_files.h"

namespace wgk::cli {
namespace {

int run_check(const Session& session, const std::vector<std::string>& packages) {
  int code = kSuccess;
  Json reports(Json::Array{});
  for (const std::string& place : packages) {
    const auto problems = verify::check_package(place, load_options(session));
    Json list(Json::Array{});
    const auto report = [&](const Error& error) {
      session.note(error.to_string());
      list.if_array()->push_back(Json::object({{"code", error.code}, {"message", error.message}}));
    };
    if (!problems) {
      report(problems.error());
      for (const Error& other : problems.error().others)
        list.if_array()->push_back(
            Json::object({{"code", other.code}, {"message", other.message}}));
      code = std::max(code, exit_code(problems.error()));
    } else {
      for (const Error& problem : *problems) report(problem);
      if (!problems->empty()) code = std::max(code, kCheckFailed);
    }
    const std::size_t count = list.if_array()->size();
    if (session.json) {
      reports.if_array()->push_back(
          Json::object({{"package", place}, {"problems", std::move(list)}}));
    } else {
      session.print(
          place + ": " +
          (count == 0 ? "ok" : std::to_string(count) + (count == 1 ? " problem" : " problems")) +
          "\n");
    }
  }
  if (session.json) session.print_json(reports);
  return code;
}

}  // namespace

void add_check(CLI::App& app, Session& session) {
  auto packages = std::make_shared<std::vector<std::string>>();
  CLI::App* command = add_command(
      app, session, "check",
      "Check packages: files, digests, manifest, templates, contract, card, and cases,\n"
      "planned on the least device (WebGPU's default limits: 8 storage buffers per stage)",
      {"wgk check kernels/com.microsoft.SkipGroupNorm",
       "wgk check --json kernels/com.microsoft.*"});
  command->add_option("PKG", *packages, "Package folders")->required();
  add_limit_option(*command, session);
  command->add_flag("--json", session.json, "Print JSON");
  command->callback([packages, &session] {
    session.command = [packages, &session] { return run_check(session, *packages); };
  });
}

}  // namespace wgk::cli
