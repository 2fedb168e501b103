// SPDX-License-Identifier: Apache-2.0
// wgk render: shader texts of a call, or one template alone.
#include <filesystem>
#include <functional>
#include <map>

#include "base/try.h"
#include "cli/context_file.h"
#include "cli/device_flags.h"
#include "cli/limit_flags.h"
#include "cli/request_flags.h"
#include "cli/session.h"
#include "io/files.h"
#include "jinja/template.h"
#include "json/json.h"
#include "store/open.h"
#include "verify/expected.h"
#include "wgk/plan.h"

namespace wgk::cli {
namespace {

struct RenderFlags {
  RequestFlags request;
  DeviceFlags device;
  std::string pass, template_file, context;
};

// Includes are read from the folder of the template.
Result<std::string> render_template(const RenderFlags& flags, const expr::Limits& limits) {
  const std::filesystem::path file(flags.template_file);
  std::map<std::string, std::string, std::less<>> texts;
  const jinja::Loader loader = [&](std::string_view path) -> const std::string* {
    if (const auto found = texts.find(path); found != texts.end()) return &found->second;
    auto text = io::read_file(file.parent_path() / path);
    return text ? &texts.emplace(path, *std::move(text)).first->second : nullptr;
  };
  WGK_ASSIGN(texts[file.filename().string()], io::read_file(file));
  WGK_ASSIGN(const std::string text,
             jinja::expand_includes(file.filename().string(), loader, limits));
  WGK_ASSIGN(const jinja::Template parsed,
             jinja::Template::parse(text, file.filename().string(), limits));
  expr::Scope scope(&expr::helpers());
  WGK_TRY(read_context(flags.context, scope));
  return parsed.render(scope, limits);
}

Result<Plan> make_plan(const RenderFlags& flags, const Session& session) {
  WGK_ASSIGN(const auto package, store::open(flags.request.package, load_options(session)));
  WGK_ASSIGN(const CliRequest request, read_request(*package, flags.request, false));
  WGK_ASSIGN(const DeviceCaps caps, find_caps(flags.device, session));
  return plan(*package, verify::make_request(request.call), caps);
}

int run_template(const Session& session, const RenderFlags& flags) {
  const auto text = render_template(flags, source_limits(session));
  if (!text) return session.fail(text.error());
  if (session.json) {
    session.print_json(Json::object({{"text", *text}}));
  } else {
    session.print(*text);
  }
  return kSuccess;
}

int run_render(const Session& session, const RenderFlags& flags) {
  if (!flags.template_file.empty()) return run_template(session, flags);
  if (flags.request.package.empty())
    return session.fail(Error{"usage/arguments", "pass a package, or --template FILE"});
  const auto made = make_plan(flags, session);
  if (!made) return session.fail(made.error());
  Json passes(Json::Array{});
  bool found = flags.pass.empty();
  for (const PlanPass& pass : made->passes) {
    if (!flags.pass.empty() && pass.id != flags.pass) continue;
    found = true;
    if (session.json) {
      passes.if_array()->push_back(Json::object({{"id", pass.id},
                                                 {"shader", pass.shader},
                                                 {"variant", made->variant},
                                                 {"wgsl", *pass.wgsl}}));
      continue;
    }
    if (flags.pass.empty()) session.print("// " + pass.label + ": " + pass.shader + "\n");
    session.print(*pass.wgsl);
    if (!pass.wgsl->ends_with('\n')) session.print("\n");
  }
  if (!found) {
    std::string known;
    for (const PlanPass& pass : made->passes)
      known.append(known.empty() ? "" : ", ").append(pass.id);
    return session.fail(Error{
        "request/unknown", "the plan has no pass '" + flags.pass + "'; its passes are " + known});
  }
  if (session.json) session.print_json(passes);
  return kSuccess;
}

}  // namespace

void add_render(CLI::App& app, Session& session) {
  auto flags = std::make_shared<RenderFlags>();
  CLI::App* command = add_command(
      app, session, "render", "Print the shaders of a call, or one template alone",
      {"wgk render kernels/com.microsoft.SkipSimplifiedLayerNormalization --case plain_3x1_f32 "
       "--caps default",
       "wgk render --template norm.wgsl.jinja --context names.json"});
  add_request_flags(*command, flags->request);
  command->get_option("PKG")->required(false);
  add_caps_flags(*command, flags->device);
  add_limit_option(*command, session);
  command->add_option("--pass", flags->pass, "Only this pass, without a heading");
  command->add_option("--template", flags->template_file, "A template file to render alone");
  command->add_option("--context", flags->context,
                      "With --template: JSON file of the names that it sees");
  command->add_flag("--json", session.json, "Print JSON");
  command->callback([flags, &session] {
    session.command = [flags, &session] { return run_render(session, *flags); };
  });
}

}  // namespace wgk::cli
