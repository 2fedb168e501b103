// SPDX-License-Identifier: Apache-2.0
#include "cli/program.h"

#include <algorithm>
#include <cstdio>
#include <memory>

#include "cli/session.h"

namespace wgk::cli {

int run_program(int argc, char** argv) {
  Session session;
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
  add_devices(app, session);
  add_env(app, session);
  add_info(app, session);
  add_check(app, session);
  add_plan(app, session);
  add_render(app, session);
  add_run(app, session);
  add_test(app, session);
  add_bench(app, session);
  add_eval(app, session);
  add_digest(app, session);
  add_card(app, session);
  try {
    std::vector<std::string> arguments =
        with_report_files(std::vector<std::string>(argv + (argc > 0 ? 1 : 0), argv + argc));
    std::ranges::reverse(arguments);  // as the parser takes them
    app.parse(std::move(arguments));
  } catch (const CLI::Success& help) {
    return app.exit(help);
  } catch (const CLI::ParseError& error) {
    session.note(std::string("error[usage/arguments]: ") + error.what());
    session.note("hint: see `wgk -h`, or `wgk COMMAND -h`");
    return kUsage;
  }
  const int code = session.command ? session.command() : kUsage;
  // A full disk or a closed pipe shows here.
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    session.note("error[io/write]: cannot write the output");
    return kInvalid;
  }
  return code;
}

}  // namespace wgk::cli
