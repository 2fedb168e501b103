// SPDX-License-Identifier: Apache-2.0
// wgk plan and wgk explain: what a call would do, and why.
#include "wgk/plan.h"

#include <algorithm>

#include "base/number.h"
#include "cli/device_flags.h"
#include "cli/limit_flags.h"
#include "cli/request_flags.h"
#include "cli/session.h"
#include "store/open.h"
#include "verify/compare.h"
#include "verify/expected.h"

namespace wgk::cli {
namespace {

struct PlanFlags {
  RequestFlags request;
  DeviceFlags device;
  bool wgsl = false;
};

struct PlanInputs {
  std::shared_ptr<const package::Package> package;
  CliRequest request;
  DeviceCaps caps;
};

Result<PlanInputs> read_inputs(const PlanFlags& flags, const Session& session) {
  auto package = store::open(flags.request.package, load_options(session));
  if (!package) return std::unexpected(std::move(package).error());
  auto request = read_request(**package, flags.request, false);
  if (!request) return std::unexpected(std::move(request).error());
  auto caps = find_caps(flags.device, session);
  if (!caps) return std::unexpected(std::move(caps).error());
  return PlanInputs{*std::move(package), *std::move(request), *std::move(caps)};
}

std::string tensors_text(const Plan& plan) {
  Table table({"TENSOR", "ROLE", "DTYPE", "SHAPE", "BYTES"});
  for (const PlanTensor& tensor : plan.tensors) {
    const char* role = tensor.is_input && tensor.is_output ? "in place"
                       : tensor.is_input                   ? "input"
                                                           : "output";
    std::string dtype(name(tensor.dtype));
    if (tensor.storage != tensor.dtype) dtype += " as " + std::string(name(tensor.storage));
    table.add({tensor.port, role, dtype, verify::shape_text(tensor.shape),
               std::to_string(tensor.buffer_size)});
  }
  for (const PlanScratch& scratch : plan.scratch) {
    const char* role = !scratch.allocated  ? "scratch, unused"
                       : scratch.kept_zero ? "scratch, kept zero"
                                           : "scratch";
    table.add({scratch.id, role, std::string(name(scratch.dtype)),
               verify::shape_text(scratch.shape), std::to_string(scratch.buffer_size)});
  }
  return table.text();
}

std::string passes_text(const Plan& plan) {
  Table table({"PASS", "SHADER", "WORKGROUPS", "BINDINGS"});
  for (const PlanPass& pass : plan.passes) {
    std::string bindings;
    for (const PlanBinding& binding : pass.bindings)
      bindings += (bindings.empty() ? "" : " ") + binding.name;
    table.add({pass.id, pass.shader,
               std::to_string(pass.dispatch[0]) + " x " + std::to_string(pass.dispatch[1]) + " x " +
                   std::to_string(pass.dispatch[2]),
               bindings});
  }
  for (const SkippedPass& pass : plan.skipped)
    table.add({pass.id, "-", "skipped: " + pass.reason, "-"});
  return table.text();
}

std::string plan_text(const Plan& plan) {
  std::string features;
  for (const std::string& feature : plan.features)
    features += (features.empty() ? "" : ", ") + feature;
  return lines({{"operator", plan.op_id},
                {"variant", plan.variant},
                {"features", features.empty() ? "-" : features},
                {"scratch bytes", std::to_string(plan.scratch_bytes())}}) +
         "\n" + tensors_text(plan) + "\n" + passes_text(plan);
}

int run_plan(const Session& session, const PlanFlags& flags) {
  const auto inputs = read_inputs(flags, session);
  if (!inputs) return session.fail(inputs.error());
  const auto made =
      plan(*inputs->package, verify::make_request(inputs->request.call), inputs->caps);
  if (!made) return session.fail(made.error());
  if (session.json) {
    session.print_json(made->to_json(flags.wgsl));
  } else {
    session.print(plan_text(*made));
  }
  return kSuccess;
}

int run_explain(const Session& session, const PlanFlags& flags) {
  const auto inputs = read_inputs(flags, session);
  if (!inputs) return session.fail(inputs.error());
  const Explanation why =
      explain(*inputs->package, verify::make_request(inputs->request.call), inputs->caps);
  // Of a request that breaks rules, what the variants' guards would say means nothing.
  const bool refused =
      why.error && why.error->code.starts_with("request/") && why.error->code != "request/variant";
  if (session.json) {
    session.print_json(why.to_json());
  } else if (!why.decisions.empty() && !refused) {
    Table table({"VARIANT", "PRIORITY", "VERDICT", "REASON"});
    for (const VariantDecision& decision : why.decisions) {
      table.add({decision.id, number_text(decision.priority), decision.verdict,
                 decision.reason.empty() ? "-" : decision.reason});
    }
    session.print(table.text());
  }
  for (const std::string& note : why.notes) session.note("note: " + note);
  return why.error ? session.fail(*why.error) : kSuccess;
}

}  // namespace

void add_plan(CLI::App& app, Session& session) {
  auto flags = std::make_shared<PlanFlags>();
  CLI::App* plan = add_command(
      app, session, "plan", "Show what a call would do: tensors, scratch, passes",
      {"wgk plan kernels/com.microsoft.SkipSimplifiedLayerNormalization --case plain_3x1_f32 "
       "--caps tests/devices/h200.json",
       "wgk plan kernels/com.microsoft.SkipSimplifiedLayerNormalization --input "
       "input=float16:2,576 --input skip=float16:2,576 --input gamma=float16:576 --json"});
  add_request_flags(*plan, flags->request);
  add_caps_flags(*plan, flags->device);
  add_limit_option(*plan, session);
  plan->add_flag("--json", session.json, "Print the plan as canonical JSON");
  plan->add_flag("--wgsl", flags->wgsl, "With --json: shader texts too");
  plan->callback([flags, &session] {
    session.command = [flags, &session] { return run_plan(session, *flags); };
  });

  CLI::App* explain = add_command(
      app, session, "explain", "Say of every variant why it is or is not taken",
      {"wgk explain kernels/com.microsoft.SkipSimplifiedLayerNormalization --case plain_3x1_f32 "
       "--caps default",
       "wgk explain kernels/com.microsoft.SkipSimplifiedLayerNormalization --input "
       "input=float16:2,576 --input skip=float16:2,576 --input gamma=float16:576"});
  add_request_flags(*explain, flags->request);
  add_caps_flags(*explain, flags->device);
  add_limit_option(*explain, session);
  explain->add_flag("--json", session.json, "Print JSON");
  explain->callback([flags, &session] {
    session.command = [flags, &session] { return run_explain(session, *flags); };
  });
}

}  // namespace wgk::cli
