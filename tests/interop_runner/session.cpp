// SPDX-License-Identifier: Apache-2.0
#include "session.h"

#include <algorithm>

#include "base/try.h"
#include "corpus.h"
#include "plan/planner.h"
#include "plan/wgsl_text.h"

namespace wgk::interop {

Result<std::map<std::string, std::string, std::less<>>> read_package_files(
    const std::filesystem::path& folder) {
  std::map<std::string, std::string, std::less<>> files;
  std::error_code code;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder, code)) {
    if (!entry.is_regular_file()) continue;
    WGK_ASSIGN(files[entry.path().lexically_relative(folder).generic_string()],
               read_text(entry.path()));
  }
  if (code) return failure("io/read", "cannot list " + folder.string() + ": " + code.message());
  return files;
}

LoaderSession::LoaderSession(std::shared_ptr<const package::Package> package, DeviceCaps caps)
    : package_(std::move(package)), caps_(std::move(caps)) {
  options_.check_bindings = false;
  options_.template_at_hand = [this](std::string_view path) { return fetched_.contains(path); };
}

// Every template that metadata.json lists for the variant, used or not.
Status LoaderSession::fetch(std::string_view variant) {
  const auto& variants = package_->metadata.variants;
  const auto listed = std::ranges::find(
      variants, variant, [](const auto& entry) -> std::string_view { return entry.first; });
  if (listed == variants.end()) return {};
  for (const std::string& path : listed->second) {
    if (auto found = package_->find_template(path); !found)
      return std::unexpected(std::move(found.error()));
    fetched_.insert(path);
  }
  return {};
}

// What the device of the profile says to the shaders.
Status LoaderSession::compile(const Plan& plan) const {
  for (const PlanPass& pass : plan.passes) {
    const std::string code = planning::without_comments(*pass.wgsl);
    for (const std::string& construct : caps_.wgsl_compile_failures) {
      if (planning::has_word(code, construct))
        return failure("device/compile", "pass '" + pass.id + "' uses '" + construct + "'");
    }
  }
  return {};
}

Result<Plan> LoaderSession::run(const Request& request, Outcome& outcome) {
  const auto known = std::ranges::find_if(chosen_, [&request](const auto& entry) {
    return planning::same_signature(entry.first, request);
  });
  Request call = request;
  PlanOptions options = options_;
  if (known != chosen_.end()) {
    // The choice stands, whatever has become known of the device since.
    call.variant = known->second;
    options.template_at_hand = [](std::string_view) { return false; };
  }
  Explanation before = explain(*package_, call, caps_, options);
  if (before.error) return std::unexpected(std::move(*before.error));
  outcome.variant = before.selected;
  if (known == chosen_.end())
    chosen_.emplace_back(planning::signature_of(request), *before.selected);
  WGK_TRY(fetch(*outcome.variant));
  call.variant = *outcome.variant;
  options.template_at_hand = [](std::string_view) { return false; };
  WGK_ASSIGN(Plan plan, wgk::plan(*package_, call, caps_, options));
  WGK_TRY(compile(plan));
  return plan;
}

Outcome LoaderSession::call(const Request& request) {
  Outcome outcome;
  auto plan = run(request, outcome);
  if (plan) {
    outcome.plan = std::move(*plan);
  } else {
    outcome.error = std::move(plan.error());
  }
  outcome.explanation = explain(*package_, request, caps_, options_);
  return outcome;
}

}  // namespace wgk::interop
