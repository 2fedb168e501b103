// SPDX-License-Identifier: Apache-2.0
// wgk card: the README of a package, made from the package.
#include <filesystem>

#include "base/try.h"
#include "cli/limit_flags.h"
#include "cli/session.h"
#include "io/files.h"
#include "verify/package_files.h"

namespace wgk::cli {
namespace {

namespace fs = std::filesystem;

struct CardFlags {
  std::string package;
  bool check = false, print = false;
};

int run_card(const Session& session, const CardFlags& flags) {
  const auto card = verify::card_of(flags.package, load_options(session));
  if (!card) return session.fail(card.error());
  if (flags.print) {
    session.print(*card);
    return kSuccess;
  }
  const fs::path file = fs::path(flags.package) / "README.md";
  const auto old = io::read_file(file);
  const bool same = old && *old == *card;
  if (!same && !flags.check) {
    if (const Status status = io::write_file(file, *card); !status)
      return session.fail(status.error());
  }
  const std::string state = same ? "up to date" : flags.check ? "stale" : "written";
  if (session.json) {
    session.print_json(Json::object({{"file", file.string()}, {"state", state}}));
  } else {
    session.print(file.string() + ": " + state + "\n");
  }
  return flags.check && !same ? kCheckFailed : kSuccess;
}

}  // namespace

void add_card(CLI::App& app, Session& session) {
  auto flags = std::make_shared<CardFlags>();
  CLI::App* command = add_command(
      app, session, "card", "Write README.md of a package from its manifest, contract and cases",
      {"wgk card kernels/com.microsoft.SkipGroupNorm",
       "wgk card --print kernels/com.microsoft.SkipGroupNorm"});
  command->add_option("PKG", flags->package, "Package folder")->required();
  add_limit_option(*command, session);
  command->add_flag("--check", flags->check, "Write nothing; exit 1 if README.md would change");
  command->add_flag("--print", flags->print, "Print the card instead of writing it");
  command->add_flag("--json", session.json, "Print JSON");
  command->callback([flags, &session] {
    session.command = [flags, &session] { return run_card(session, *flags); };
  });
}

}  // namespace wgk::cli
