// SPDX-License-Identifier: Apache-2.0
#include "plans.h"

#include <algorithm>
#include <format>
#include <map>

#include "base/digest.h"
#include "base/try.h"
#include "io/files.h"
#include "json/json.h"
#include "package/cases.h"

namespace wgk::golden {
namespace {

namespace fs = std::filesystem;

Result<Json> read_json(const fs::path& path) {
  WGK_ASSIGN(const std::string text, io::read_file(path));
  auto json = json::parse(text);
  if (!json) return std::unexpected(std::move(json.error()).during("reading " + path.string()));
  return json;
}

std::string hex(std::span<const std::byte> bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const std::byte byte : bytes) {
    text += kDigits[std::to_integer<std::size_t>(byte >> 4)];
    text += kDigits[std::to_integer<std::size_t>(byte & std::byte{15})];
  }
  return text;
}

// "<id> <digest of the text> <grid> <uniform>=<bytes>"
std::string pass_line(const PlanPass& pass) {
  std::string line = std::format("{} {} {}x{}x{}", pass.id, short_digest(*pass.wgsl).substr(0, 8),
                                 pass.dispatch[0], pass.dispatch[1], pass.dispatch[2]);
  for (const PlanUniform& uniform : pass.uniforms)
    line += std::format(" {}={}", uniform.name, hex(uniform.bytes));
  return line;
}

Json plan_json(const Plan& plan) {
  Json json = Json::object({{"variant", plan.variant}});
  Json scratch;
  for (const PlanScratch& entry : plan.scratch) {
    if (entry.allocated) scratch.set(entry.id, entry.buffer_size);
  }
  if (!scratch.is_null()) json.set("scratch", std::move(scratch));
  Json::Array passes;
  for (const PlanPass& pass : plan.passes) passes.emplace_back(pass_line(pass));
  json.set("passes", Json(std::move(passes)));
  // Stands for all that is left out here.
  json.set("whole", short_digest(json::write(plan.to_json())));
  return json;
}

}  // namespace

Result<std::shared_ptr<const package::Package>> load_source(const fs::path& folder) {
  auto package = std::make_shared<package::Package>();
  WGK_ASSIGN(const Json manifest, read_json(folder / "manifest.json"));
  WGK_ASSIGN(package->manifest, package::read_manifest(manifest));
  if (fs::exists(folder / "contract.json")) {
    WGK_ASSIGN(const Json contract, read_json(folder / "contract.json"));
    WGK_ASSIGN(package->contract, package::read_contract(contract));
  }
  std::map<std::string, std::string, std::less<>> texts;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().filename().string().ends_with(".wgsl.jinja")) {
      WGK_ASSIGN(texts[entry.path().filename().string()], io::read_file(entry.path()));
    }
  }
  const auto loader = [&texts](std::string_view name) -> const std::string* {
    const auto found = texts.find(name);
    return found == texts.end() ? nullptr : &found->second;
  };
  for (const package::Variant& variant : package->manifest.variants) {
    for (const package::Pass* pass : package::passes_of(variant)) {
      if (package->find_template(pass->shader)) continue;
      WGK_ASSIGN(auto parsed, jinja::Template::load(pass->shader, loader));
      package->templates.emplace_back(pass->shader,
                                      std::make_shared<const jinja::Template>(std::move(parsed)));
    }
  }
  return std::shared_ptr<const package::Package>(std::move(package));
}

Result<Requests> read_requests(const fs::path& folder) {
  WGK_ASSIGN(const Json json, read_json(folder / "test.json"));
  WGK_ASSIGN(const auto cases, package::read_tests(json));
  Requests requests;
  for (const package::TestCase& test : cases) {
    Request request;
    for (const auto& [port, tensor] : test.inputs) {
      request.inputs.emplace_back(port, TensorDesc{.shape = tensor.shape, .dtype = tensor.dtype});
    }
    for (const auto& [port, expectation] : test.outputs)
      request.outputs.emplace_back(port, OutputDesc{});
    request.attrs = test.attrs;
    request.args = test.args;
    request.tunables = test.tunables;
    requests.emplace_back(test.name, std::move(request));
  }
  return requests;
}

Result<std::vector<DeviceCaps>> read_profiles(const fs::path& folder) {
  std::vector<fs::path> paths;
  std::error_code code;
  for (const auto& entry : fs::directory_iterator(folder, code)) {
    if (entry.path().extension() == ".json") paths.push_back(entry.path());
  }
  std::ranges::sort(paths);
  std::vector<DeviceCaps> profiles;
  for (const fs::path& path : paths) {
    WGK_ASSIGN(const Json json, read_json(path));
    auto caps = DeviceCaps::from_json(json);
    if (!caps) return std::unexpected(std::move(caps.error()).during("reading " + path.string()));
    if (caps->name != path.stem()) return failure("io/format", path.string() + " has another name");
    profiles.push_back(std::move(*caps));
  }
  if (profiles.empty()) return failure("io/read", "no profiles in " + folder.string());
  return profiles;
}

std::vector<fs::path> find_packages(const fs::path& kernels) {
  std::vector<fs::path> folders;
  std::error_code code;
  for (const auto& entry : fs::directory_iterator(kernels, code)) {
    const fs::path build = entry.path() / "build" / "webgpu";
    if (fs::exists(build / "manifest.json") && fs::exists(build / "test.json"))
      folders.push_back(build);
  }
  std::ranges::sort(folders);
  return folders;
}

std::string template_use(const Plan& plan, const PlanPass& pass) {
  std::string use = plan.variant + ".";
  int depth = 0;
  for (const char c : pass.id) {
    depth += c == '[' ? 1 : 0;
    if (depth == 0) use += c;
    depth -= c == ']' ? 1 : 0;
  }
  return use;
}

std::string short_digest(std::string_view text) { return digest128(text).hex().substr(0, 16); }

Json summary(const Result<Plan>& plan) {
  if (plan) return plan_json(*plan);
  Json::Array errors = {Json(plan.error().code + ": " + plan.error().message)};
  for (const Error& error : plan.error().others)
    errors.emplace_back(error.code + ": " + error.message);
  return Json::object({{"errors", Json(std::move(errors))}});
}

}  // namespace wgk::golden
