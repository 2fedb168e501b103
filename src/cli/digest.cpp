// SPDX-License-Identifier: Apache-2.0
// wgk digest: metadata.json and shared files of a package, brought up to date.
#include "store/digest.h"
#include "cli/session.h"

namespace wgk::cli {
namespace {

struct DigestFlags {
  std::vector<std::string> packages;
  std::string shared;
  bool check = false;
};

Json names(const std::vector<std::string>& list) {
  return Json(Json::Array(list.begin(), list.end()));
}

int run_digest(const Session& session, const DigestFlags& flags) {
  bool stale = false;
  Json reports(Json::Array{});
  for (const std::string& package : flags.packages) {
    const auto report = store::refresh(package, {.shared = flags.shared, .dry_run = flags.check});
    if (!report) return session.fail(report.error());
    stale = stale || report->changed;
    const std::string state = !report->changed ? "up to date" : flags.check ? "stale" : "written";
    if (session.json) {
      reports.if_array()->push_back(Json::object({{"package", package},
                                                  {"state", state},
                                                  {"copied", names(report->copied)},
                                                  {"removed", names(report->removed)}}));
      continue;
    }
    session.print(package + ": " + state + "\n");
    for (const std::string& file : report->copied) session.print("  copied " + file + "\n");
    for (const std::string& file : report->removed) session.print("  removed " + file + "\n");
  }
  if (session.json) session.print_json(reports);
  return flags.check && stale ? kCheckFailed : kSuccess;
}

}  // namespace

void add_digest(CLI::App& app, Session& session) {
  auto flags = std::make_shared<DigestFlags>();
  CLI::App* command =
      add_command(app, session, "digest",
                  "Write metadata.json of a package anew, and its copies of shared templates",
                  {"wgk digest kernels/com.microsoft.SkipGroupNorm",
                   "wgk digest --check kernels/com.microsoft.*"});
  command->add_option("PKG", flags->packages, "Package folders")->required();
  command->add_option("--shared", flags->shared,
                      "Folder of shared templates (default: 'common' beside the package)");
  command->add_flag("--check", flags->check, "Write nothing; exit 1 if something would change");
  command->add_flag("--json", session.json, "Print JSON");
  command->callback([flags, &session] {
    session.command = [flags, &session] { return run_digest(session, *flags); };
  });
}

}  // namespace wgk::cli
