// SPDX-License-Identifier: Apache-2.0
// wgk test: runs the cases of packages.
#include "base/number.h"
#include "base/suggest.h"
#include "base/try.h"
#include "cli/device_flags.h"
#include "cli/limit_flags.h"
#include "cli/session.h"
#include "io/files.h"
#include "json/json.h"
#include "store/open.h"
#include "verify/package_files.h"
#include "verify/plan_list.h"
#include "verify/runner.h"
#include "verify/runtime_engine.h"

namespace wgk::cli {
namespace {

struct TestFlags {
  std::vector<std::string> packages;
  DeviceFlags device;
  verify::RunOptions options;
  std::string json_file;
  bool once = false;
  bool plans = false;
};

// Failures as they come; the rest only with --verbose.
void report(const Session& session, const verify::CaseResult& result) {
  if (result.verdict == verify::Verdict::kPassed && !session.verbose) return;
  std::string line = std::string(name(result.verdict)) + ": " + result.name;
  if (!result.variant.empty()) line += " on " + result.variant;
  if (!result.message.empty()) line += ": " + result.message;
  if (result.verdict == verify::Verdict::kPassed && result.error)
    line += " (error " + number_text(*result.error) + " of the tolerance)";
  session.note(line);
  if (result.verdict == verify::Verdict::kFailed) session.note("  again: " + result.command);
}

Status run_package(const Session& session, const TestFlags& flags, const std::string& place,
                   verify::Engine& engine, verify::Totals& totals, Json& results) {
  WGK_ASSIGN(const auto package, store::open(place, load_options(session)));
  WGK_ASSIGN(const std::vector<package::TestCase> cases,
             verify::read_test_file(place, flags.options.cases_file));
  verify::RunOptions options = flags.options;
  options.place = place;
  options.device = flags.device.device;
  options.repeat = !flags.once;
  if (!options.variant.empty() && package->manifest.variant(options.variant) == nullptr) {
    std::vector<std::string> ids;
    for (const package::Variant& variant : package->manifest.variants) ids.push_back(variant.id);
    return failure("request/variant",
                   "the package has no variant '" + options.variant + "' among " +
                       std::to_string(ids.size()) + "; `wgk info` lists them",
                   suggestion(options.variant, ids));
  }
  if (flags.plans) {
    verify::list_plans(package, cases, engine.caps(), options,
                       [&](const std::string& line) { session.print(line + "\n"); });
    return {};
  }
  const verify::Totals part =
      verify::run_cases(package, cases, engine, options, [&](const verify::CaseResult& result) {
        report(session, result);
        results.if_array()->push_back(verify::to_json(result));
      });
  if (part.passed + part.failed + part.skipped == 0) {
    return failure("request/unknown", options.case_pattern.empty()
                                          ? "the package has no test cases"
                                          : "no case of " + std::to_string(cases.size()) +
                                                " matches '" + options.case_pattern + "'");
  }
  totals.passed += part.passed;
  totals.failed += part.failed;
  totals.skipped += part.skipped;
  return {};
}

int run_test(const Session& session, const TestFlags& flags) {
  auto runtime = open_runtime(flags.device, session);
  if (!runtime) return session.fail(runtime.error());
  const std::string adapter = device_text(runtime->describe().adapter);
  verify::RuntimeEngine engine(*std::move(runtime), flags.device.trusted);
  verify::Totals totals;
  Json results(Json::Array{});
  if (flags.plans) session.print(adapter + "\n");
  for (const std::string& place : flags.packages) {
    if (const Status status = run_package(session, flags, place, engine, totals, results); !status)
      return session.fail(status.error());
  }
  if (flags.plans) return kSuccess;
  const Json report = Json::object({{"adapter", adapter},
                                    {"passed", totals.passed},
                                    {"failed", totals.failed},
                                    {"skipped", totals.skipped},
                                    {"cases", std::move(results)}});
  if (session.json && flags.json_file.empty()) {
    session.print_json(report);
    session.note(verify::summary(totals));
  } else {
    if (!flags.json_file.empty()) {
      if (const Status status =
              io::write_file(flags.json_file, json::write(report, json::Style::kPretty));
          !status)
        return session.fail(status.error());
    }
    session.print(verify::summary(totals) + "\n");
  }
  return totals.failed > 0 ? kCheckFailed : kSuccess;
}

}  // namespace

void add_test(CLI::App& app, Session& session) {
  auto flags = std::make_shared<TestFlags>();
  CLI::App* command =
      add_command(app, session, "test", "Run the cases of packages on a device",
                  {"wgk test kernels/com.microsoft.SkipGroupNorm --all-variants",
                   "wgk test kernels/com.microsoft.* --case '*_f16' --json report.json"});
  command->add_option("PKG", flags->packages, "Package folders")->required();
  add_limit_option(*command, session);
  command->add_option("--cases", flags->options.cases_file,
                      "A file of cases in place of test.json");
  command->add_option("--case", flags->options.case_pattern,
                      "Only cases whose names match this pattern with '*' and '?'");
  CLI::Option* variant =
      command->add_option("--variant", flags->options.variant,
                          "Only on this variant; cases that it does not fit are skipped");
  command
      ->add_flag("--all-variants", flags->options.all_variants,
                 "Each case on every variant that accepts it")
      ->excludes(variant);
  command->add_flag("--once", flags->once,
                    "Run each call once only, without comparing the bits of a second run");
  command->add_flag("--plans", flags->plans,
                    "Run nothing: print the device, then for each case and variant a digest of "
                    "the plan that would run");
  add_device_flags(*command, flags->device);
  add_report_option(*command, session, flags->json_file);
  command->callback([flags, &session] {
    session.command = [flags, &session] { return run_test(session, *flags); };
  });
}

}  // namespace wgk::cli
