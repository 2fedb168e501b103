// SPDX-License-Identifier: Apache-2.0
// wgk_golden [--update | --order] REPOSITORY: plans of every case on every device profile against
// tests/golden/<op id>. --update writes these files anew; --order plans in another order, on two
// threads at once, and expects the same bytes.
#include <algorithm>
#include <cstdio>
#include <string>
#include <thread>

#include "base/try.h"
#include "differences.h"
#include "io/files.h"
#include "json/json.h"
#include "plans.h"

namespace {

namespace fs = std::filesystem;
using namespace wgk;
using golden::Files;
using golden::Requests;

void add_examples(const Plan& plan, Files& files) {
  for (const PlanPass& pass : plan.passes) {
    const std::string name = pass.shader.substr(0, pass.shader.find('.'));
    if (!files.examples.try_emplace(name + ".wgsl", *pass.wgsl).second) continue;
    files.examples.emplace(name + ".json", json::write(plan.to_json(false), json::Style::kPretty));
  }
}

Files make_files(const package::Package& package, const Requests& requests,
                 const std::vector<DeviceCaps>& profiles) {
  Files files;
  for (const auto& [name, request] : requests) {
    std::vector<std::pair<std::string, Json::Array>> groups;  // plan -> profiles
    for (const DeviceCaps& caps : profiles) {
      const auto made = plan(package, request, caps);
      const std::string line = json::write(golden::summary(made));
      const auto known =
          std::ranges::find(groups, line, &std::pair<std::string, Json::Array>::first);
      if (known == groups.end()) {
        groups.push_back({line, {Json(caps.name)}});
      } else {
        known->second.emplace_back(caps.name);
      }
      if (made) add_examples(*made, files);
    }
    for (auto& [line, devices] : groups) {
      const Json list = devices.size() == profiles.size() ? Json("all") : Json(std::move(devices));
      files.plans += "{\"case\":" + json::write(Json(name)) + ",\"devices\":" + json::write(list) +
                     "," + line.substr(1) + "\n";
    }
  }
  return files;
}

Status update(const fs::path& folder, const Files& files) {
  std::error_code code;
  fs::create_directories(folder / "examples", code);
  WGK_TRY(io::write_file(folder / "plans.jsonl", files.plans));
  for (const auto& [name, text] : golden::read_files(folder).examples) {
    if (!files.examples.contains(name)) fs::remove(folder / "examples" / name, code);
  }
  for (const auto& [name, text] : files.examples)
    WGK_TRY(io::write_file(folder / "examples" / name, text));
  return {};
}

// All cases on one planner, forwards and backwards at the same time.
bool same_in_any_order(const std::shared_ptr<const package::Package>& package,
                       const Requests& requests, const DeviceCaps& caps) {
  const Planner planner(package, caps);
  std::vector<std::string> forwards(requests.size()), backwards(requests.size());
  const auto line = [](const Result<Plan>& made) { return json::write(golden::summary(made)); };
  const auto line_of = [&](const Request& request) {
    const auto made = planner.plan(request);
    return line(made ? Result<Plan>(**made) : Result<Plan>(std::unexpected(made.error())));
  };
  {
    const std::jthread first([&] {
      for (std::size_t i = 0; i < requests.size(); ++i) forwards[i] = line_of(requests[i].second);
    });
    for (std::size_t i = requests.size(); i-- > 0;) backwards[i] = line_of(requests[i].second);
  }
  bool same = true;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const std::string alone = line(plan(*package, requests[i].second, caps));
    if (forwards[i] == alone && backwards[i] == alone) continue;
    std::printf("%s on %s: the plan depends on what was planned before\n",
                requests[i].first.c_str(), caps.name.c_str());
    same = false;
  }
  return same;
}

Result<bool> check_package(const std::string& mode, const fs::path& folder, const fs::path& target,
                           const std::vector<DeviceCaps>& profiles, std::size_t& cases) {
  WGK_ASSIGN(const auto package, golden::load_source(folder));
  WGK_ASSIGN(const Requests requests, golden::read_requests(folder));
  cases = requests.size();
  if (mode == "--order") {
    return std::ranges::count_if(profiles, [&](const DeviceCaps& caps) {
             return !same_in_any_order(package, requests, caps);
           }) == 0;
  }
  const Files files = make_files(*package, requests, profiles);
  if (mode == "--update") {
    WGK_TRY(update(target, files));
    return true;
  }
  std::vector<std::string> names;
  for (const DeviceCaps& caps : profiles) names.push_back(caps.name);
  return golden::same_files(golden::read_files(target), files, names);
}

Result<bool> run(const std::string& mode, const fs::path& repository) {
  WGK_ASSIGN(const auto profiles, golden::read_profiles(repository / "tests" / "devices"));
  bool good = true;
  for (const fs::path& folder : golden::find_packages(repository / "kernels")) {
    const std::string id = folder.parent_path().parent_path().filename().string();
    std::size_t cases = 0;
    WGK_ASSIGN(const bool same,
               check_package(mode, folder, repository / "tests" / "golden" / id, profiles, cases));
    std::printf(
        "%s: %zu cases on %zu devices, %s\n", id.c_str(), cases, profiles.size(),
        same ? "as expected" : "NOT as expected (meant? then run wgk_golden --update REPOSITORY)");
    std::fflush(stdout);
    good = good && same;
  }
  return good;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string mode = argc == 3 ? argv[1] : "";
  if (argc < 2 || argc > 3 || (argc == 3 && mode != "--update" && mode != "--order")) {
    std::fprintf(stderr, "usage: wgk_golden [--update | --order] REPOSITORY\n");
    return 2;
  }
  const auto good = run(mode, argv[argc - 1]);
  if (!good) {
    std::fprintf(stderr, "%s\n", good.error().to_string().c_str());
    return 3;
  }
  return *good ? 0 : 1;
}
