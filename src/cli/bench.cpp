// SPDX-License-Identifier: Apache-2.0
// wgk bench: times the cases of packages.
#include <unistd.h>

#include <algorithm>
#include <format>

#include "base/try.h"
#include "bench/baseline.h"
#include "bench/run.h"
#include "cli/device_flags.h"
#include "cli/limit_flags.h"
#include "cli/session.h"
#include "gpu/device.h"
#include "gpu/instance.h"
#include "io/files.h"
#include "json/json.h"
#include "verify/package_files.h"
#include "verify/runner.h"

namespace wgk::cli {
namespace {

constexpr double kCheckWarmUp = 0.05;  // s, of a case in a check: its clocks are guarded, and there
                                       // are many

struct BenchFlags {
  std::vector<std::string> packages;
  std::string against, json_file, html_file;
  std::vector<std::string> tunables, sweeps;
  DeviceFlags device;
  bench::RunOptions options;
  std::string check_folder, save_folder;
  double cache_megabytes = 0;
  bool only_hot = false, both_modes = false;
};

Result<std::pair<std::string, std::vector<Json>>> read_setting(const std::string& option,
                                                               const std::string& text) {
  const std::size_t mark = text.find('=');
  if (mark == std::string::npos || mark == 0)
    return failure("usage/arguments", option + ": expected name=value, got '" + text + "'");
  std::pair<std::string, std::vector<Json>> setting{text.substr(0, mark), {}};
  for (std::size_t begin = mark + 1; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string part = text.substr(begin, end - begin);
    auto json = json::parse(part);
    setting.second.push_back(json ? *std::move(json) : Json(part));
    begin = end + 1;
  }
  return setting;
}

// The product of all sweeps, each with the fixed tunables.
Result<std::vector<bench::NamedJson>> read_settings(const BenchFlags& flags) {
  std::vector<bench::NamedJson> settings = {{}};
  for (const auto& [option, texts] :
       {std::pair("--tunable", &flags.tunables), std::pair("--sweep", &flags.sweeps)}) {
    for (const std::string& text : *texts) {
      WGK_ASSIGN(const auto setting, read_setting(option, text));
      if (std::string_view(option) == "--tunable" && setting.second.size() != 1) {
        return failure("usage/arguments",
                       "--tunable takes one value, got '" + text + "'; --sweep takes several");
      }
      std::vector<bench::NamedJson> product;
      for (const bench::NamedJson& base : settings) {
        for (const Json& value : setting.second) {
          product.push_back(base);
          product.back().emplace_back(setting.first, value);
        }
      }
      settings = std::move(product);
    }
  }
  return settings;
}

Result<bench::Subject> open_subject(const Session& session, const std::string& place) {
  WGK_ASSIGN(verify::PackageFolder folder, verify::open_folder(place, load_options(session)));
  if (folder.benches.empty())
    return failure("request/unknown", "the package at '" + place + "' has no benchmark cases");
  return bench::Subject{std::move(folder.package), std::move(folder.benches)};
}

// The device alone: no caches between what is timed and the device.
Result<gpu::Context> open_context(const DeviceFlags& flags, const Session& session, Mode mode) {
  LogSink sink;
  if (session.verbose)
    sink = [&session](LogLevel, std::string_view message) { session.note(message); };
  WGK_ASSIGN(const auto instance,
             gpu::Instance::create(gpu::linked_procs(),
                                   std::make_shared<const gpu::Log>(std::move(sink))));
  WGK_ASSIGN(gpu::Adapter adapter, instance->choose({.device = flags.device}));
  gpu::DeviceOptions options;
  options.mode = mode;
  WGK_ASSIGN(auto device, gpu::Device::open(instance, std::move(adapter), options));
  return gpu::Context::make(std::move(device));
}

Result<gpu::Context> open_context(const DeviceFlags& flags, const Session& session) {
  return open_context(flags, session, flags.trusted ? Mode::kTrusted : Mode::kSafe);
}

template <class Told>
Status write_json(const BenchFlags& flags, const Told& told) {
  if (flags.json_file.empty()) return {};
  return io::write_file(flags.json_file, json::write(bench::to_json(told), json::Style::kPretty));
}

Result<bench::RunOptions> options_of(const BenchFlags& flags) {
  bench::RunOptions options = flags.options;
  options.hot = options.hot || flags.only_hot;
  options.cold = !flags.only_hot;
  options.cache_bytes = flags.cache_megabytes * 1e6;
  options.compare = options.variants.size() > 1;
  WGK_ASSIGN(options.settings, read_settings(flags));
  return options;
}

Result<bench::Report> measure(const Session& session, const BenchFlags& flags,
                              const gpu::Context& context, bench::RunOptions options) {
  const auto progress = [&](const bench::Measurement& m) {
    if (session.verbose || !m.error.empty() || isatty(STDERR_FILENO) != 0) {
      session.note(m.full_name() + "  " +
                   (m.error.empty() ? bench::format_seconds(m.seconds.median) : m.error));
    }
  };
  std::optional<bench::Subject> against;
  if (!flags.against.empty()) {
    WGK_ASSIGN(against, open_subject(session, flags.against));
  }
  bench::Report report;
  for (const std::string& place : flags.packages) {
    WGK_ASSIGN(const bench::Subject subject, open_subject(session, place));
    // Long runs may be stopped: what is measured by then stands in the file.
    const auto keep = [&](const bench::Report& so_far) {
      if (flags.packages.size() == 1) static_cast<void>(write_json(flags, so_far));
    };
    WGK_ASSIGN(bench::Report part, bench::run(context, subject, against ? &*against : nullptr,
                                              options, progress, keep));
    options.speed = part.context.speed;
    if (report.measurements.empty()) {
      report = std::move(part);
      continue;
    }
    report.context.packages.append_range(part.context.packages);
    report.measurements.append_range(std::move(part.measurements));
    report.comparisons.append_range(std::move(part.comparisons));
  }
  if (report.measurements.empty())
    return failure("request/unknown", "no benchmark case has that name and these tags");
  return report;
}

std::string baseline_file(const std::string& folder, const gpu::Context& context) {
  return folder + "/" + bench::device_kind({.adapter = context.device->adapter().name}) + ".json";
}

Result<bench::Report> read_baseline(const std::string& file) {
  WGK_ASSIGN(const std::string text, io::read_file(file));
  WGK_ASSIGN(const Json json, json::parse(text));
  return bench::report_from_json(json);
}

// Rounds over all cases, so that a disturbance of a minute hits one repeat of a case.
Result<std::vector<bench::Report>> repeat(const Session& session, const BenchFlags& flags,
                                          const gpu::Context& context, bench::RunOptions options) {
  options.copies = true;
  std::vector<bench::Report> repeats;
  for (int round = 0; round < bench::kCheckRounds; ++round) {
    session.note(std::format("round {} of {}", round + 1, bench::kCheckRounds));
    WGK_ASSIGN(bench::Report report, measure(session, flags, context, options));
    repeats.push_back(std::move(report));
  }
  return repeats;
}

Result<bench::CheckResult> check_baseline(const Session& session, const BenchFlags& flags) {
  WGK_ASSIGN(const gpu::Context context, open_context(flags.device, session));
  const std::string file = baseline_file(flags.check_folder, context);
  WGK_ASSIGN(bench::Report baseline, read_baseline(file));
  if (baseline.context.mode != name(context.device->mode()))
    return failure("usage/arguments", "the baseline '" + file + "' is of " + baseline.context.mode +
                                          " mode, this is " +
                                          std::string(name(context.device->mode())));
  std::vector<std::string> packages;
  for (const std::string& place : flags.packages) {
    WGK_ASSIGN(const bench::Subject subject, open_subject(session, place));
    packages.push_back(subject.package->manifest.op_id());
  }
  const std::string& pattern = flags.options.case_pattern;
  std::erase_if(baseline.measurements, [&](const bench::Measurement& m) {
    return !std::ranges::contains(packages, m.package) ||
           (!pattern.empty() && !verify::matches_glob(pattern, m.name)) ||
           !std::ranges::all_of(flags.options.tags, [&](const std::string& tag) {
             return std::ranges::contains(m.tags, tag);
           });
  });
  if (baseline.measurements.empty())
    return failure("request/unknown", "the baseline '" + file + "' has none of these cases");
  WGK_ASSIGN(bench::RunOptions options, options_of(flags));
  if (baseline.context.kept_awake && !options.timer.keep_awake) {
    session.note("the cores are kept awake, as they were for the baseline");
    options.timer.keep_awake = true;
  }
  options.copies = true;
  options.timer.warm_up_seconds = kCheckWarmUp;
  int round = 0;
  return bench::check_in_rounds(
      baseline, [&](const bench::CaseNames& names) -> Result<bench::Report> {
        session.note(std::format("round {}: {} cases", ++round, names.size()));
        options.names = names;
        BenchFlags chosen = flags;
        chosen.packages.clear();
        for (std::size_t i = 0; i < packages.size(); ++i) {
          if (std::ranges::contains(names, packages[i],
                                    &std::pair<std::string, std::string>::first))
            chosen.packages.push_back(flags.packages[i]);
        }
        WGK_ASSIGN(bench::Report report, measure(session, chosen, context, options));
        options.speed = report.context.speed;
        return report;
      });
}

int run_baseline_check(const Session& session, const BenchFlags& flags) {
  const auto result = check_baseline(session, flags);
  if (!result) return session.fail(result.error());
  if (const Status written = write_json(flags, *result); !written)
    return session.fail(written.error());
  if (session.json && flags.json_file.empty()) {
    session.print_json(bench::to_json(*result));
  } else {
    session.print(bench::to_text(*result));
  }
  return result->passes() ? kSuccess : kCheckFailed;
}

Status save_baseline(const Session& session, const BenchFlags& flags) {
  WGK_ASSIGN(const gpu::Context context, open_context(flags.device, session));
  const std::string file = baseline_file(flags.save_folder, context);
  const auto old = read_baseline(file);
  if (!old && old.error().code != "io/read") return std::unexpected(old.error());
  WGK_ASSIGN(const bench::RunOptions options, options_of(flags));
  WGK_ASSIGN(const std::vector<bench::Report> repeats, repeat(session, flags, context, options));
  const bench::Report made = bench::make_baseline(repeats, old.value_or(bench::Report{}));
  session.note("writing " + file);
  return io::write_file(file, json::write(bench::to_json(made), json::Style::kPretty) + "\n");
}

Result<bench::Report> measure_once(const Session& session, const BenchFlags& flags) {
  WGK_ASSIGN(const gpu::Context context, open_context(flags.device, session));
  WGK_ASSIGN(bench::RunOptions options, options_of(flags));
  if (flags.both_modes) {
    WGK_ASSIGN(options.trusted, open_context(flags.device, session, Mode::kTrusted));
  }
  return measure(session, flags, context, options);
}

int run_bench(const Session& session, const BenchFlags& flags) {
  if (!flags.check_folder.empty()) return run_baseline_check(session, flags);
  if (!flags.save_folder.empty()) {
    const Status saved = save_baseline(session, flags);
    return saved ? kSuccess : session.fail(saved.error());
  }
  auto report = measure_once(session, flags);
  if (!report) return session.fail(report.error());
  if (const Status written = write_json(flags, *report); !written)
    return session.fail(written.error());
  if (!flags.html_file.empty()) {
    if (const Status written = io::write_file(flags.html_file, bench::to_html(*report)); !written)
      return session.fail(written.error());
  }
  if (session.json && flags.json_file.empty()) {
    session.print_json(bench::to_json(*report));
  } else {
    session.print(bench::to_table(*report, isatty(STDOUT_FILENO) != 0));
  }
  const bool failed = std::ranges::any_of(
      report->measurements, [](const bench::Measurement& m) { return !m.error.empty(); });
  return failed ? kCheckFailed : kSuccess;
}

void add_choice_options(CLI::App& command, BenchFlags& flags) {
  command.add_option("--case", flags.options.case_pattern,
                     "Only cases whose names match this pattern with '*' and '?'");
  command.add_option("--tags", flags.options.tags, "Only cases that have all of these tags")
      ->delimiter(',');
  CLI::Option* variants =
      command.add_option("--variant", flags.options.variants,
                         "These variants in place of the selected one, interleaved and compared; "
                         "'all': one after the other, each that accepts the case");
  variants->delimiter(',');
  command.add_option("--against", flags.against,
                     "The same cases on this package too, interleaved and compared");
  command.add_option("--tunable", flags.tunables, "A tunable, name=value");
  command.add_option("--sweep", flags.sweeps,
                     "Values of a tunable to time one after the other, name=value,value,...");
}

// What is timed beside a case.
void add_companion_options(CLI::App& command, BenchFlags& flags) {
  command.add_flag(
      "--hot", flags.options.hot,
      "Also with one set of buffers, as far as the caches hold it; with several kernels "
      "beside each other each sample on the next of up to six sets");
  command.add_flag("--only-hot", flags.only_hot, "As --hot, and no cold ones");
  command.add_flag("--floor", flags.options.floors,
                   "Beside each case a kernel that only reads and writes as many bytes");
  command.add_flag("--sum-floor", flags.options.sum_floors,
                   "And kernels that also sum up what a workgroup reads before they write, in as "
                   "many workgroups as the case's own");
  command.add_flag("--empty", flags.options.empty,
                   "Beside each case, and each of its floors, an empty dispatch");
  command.add_flag("--host", flags.options.host,
                   "Also what a call costs the host: planning, pipelines, commands, transfers");
}

void add_timer_options(CLI::App& command, BenchFlags& flags) {
  command.add_flag("--host-clock", flags.options.timer.host_clock,
                   "Time batches by the host's clock although the device has timestamps");
  command.add_flag("--keep-awake", flags.options.timer.keep_awake,
                   "A loop of idle priority on each core during timings: virtual cores that "
                   "sleep between dispatches make small times of a software device up to twice "
                   "as long");
  command.add_option("--samples", flags.options.timer.samples, "Timed passes per measurement")
      ->check(CLI::Range(3, 100000));
  command
      .add_option("--cache", flags.cache_megabytes,
                  "Size of the last-level cache in MB, where it is not known")
      ->check(CLI::Range(0.0, 1e6));
}

void add_baseline_options(CLI::App& command, BenchFlags& flags) {
  CLI::Option* check = command.add_option(
      "--check", flags.check_folder,
      "Fail when a case of the baseline in this folder that belongs to the device's kind got 10 % "
      "slower relative to copying, in each of three rounds; what one of them calls well needs no "
      "other");
  command
      .add_option("--save-baseline", flags.save_folder,
                  "Write the baseline of the device's kind into this folder, from three rounds")
      ->excludes(check);
}

}  // namespace

void add_bench(CLI::App& app, Session& session) {
  auto flags = std::make_shared<BenchFlags>();
  CLI::App* command =
      add_command(app, session, "bench", "Time the benchmark cases of packages on a device",
                  {"wgk bench kernels/com.microsoft.SkipSimplifiedLayerNormalization --tags "
                   "prefill --html report.html",
                   "wgk bench kernels/com.microsoft.SkipSimplifiedLayerNormalization --case "
                   "4096x4096_f16 --variant rows_residual,residual"});
  command->add_option("PKG", flags->packages, "Package folders")->required();
  add_limit_option(*command, session);
  add_choice_options(*command, *flags);
  add_companion_options(*command, *flags);
  add_timer_options(*command, *flags);
  command->add_option("--html", flags->html_file, "Write a page with plots and tables");
  add_baseline_options(*command, *flags);
  add_device_flags(*command, flags->device);
  command
      ->add_flag("--both-modes", flags->both_modes,
                 "Each case in safe and in trusted mode, interleaved and compared")
      ->excludes("--trusted")
      ->excludes("--check")
      ->excludes("--save-baseline");
  add_report_option(*command, session, flags->json_file);
  command->callback([flags, &session] {
    session.command = [flags, &session] { return run_bench(session, *flags); };
  });
}

}  // namespace wgk::cli
