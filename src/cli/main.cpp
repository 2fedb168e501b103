// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <exception>
#include <memory>

#include "cli/session.h"

namespace {

int run(int argc, char** argv) {
  wgk::cli::Session session;
  CLI::App app("Runs WebGPU kernel packages", "wgk");
  // Examples and exit codes keep their lines.
  auto formatter = std::make_shared<CLI::Formatter>();
  formatter->enable_footer_formatting(false);
  formatter->enable_description_formatting(false);
  app.formatter(formatter);
  app.set_version_flag("--version", "wgkernels " WGK_VERSION);
  app.require_subcommand(1);
  app.footer(
      "Exit codes: 0 success, 1 a check ran and failed, 2 usage, 3 invalid package or request,\n"
      "4 no suitable device, 5 network or cache. `wgk COMMAND -h` shows examples.");
  wgk::cli::add_devices(app, session);
  wgk::cli::add_env(app, session);
  wgk::cli::add_info(app, session);
  wgk::cli::add_check(app, session);
  wgk::cli::add_plan(app, session);
  wgk::cli::add_render(app, session);
  wgk::cli::add_run(app, session);
  wgk::cli::add_test(app, session);
  wgk::cli::add_bench(app, session);
  wgk::cli::add_eval(app, session);
  wgk::cli::add_digest(app, session);
  wgk::cli::add_card(app, session);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& help) {
    return app.exit(help);
  } catch (const CLI::ParseError& error) {
    session.note(std::string("error[usage/arguments]: ") + error.what());
    session.note("hint: see `wgk -h`, or `wgk COMMAND -h`");
    return wgk::cli::kUsage;
  }
  const int code = session.command ? session.command() : wgk::cli::kUsage;
  // A full disk or a closed pipe shows here.
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    session.note("error[io/write]: cannot write the output");
    return wgk::cli::kInvalid;
  }
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error[limit/buffer]: %s\n", error.what());
    return wgk::cli::kInvalid;
  }
}
