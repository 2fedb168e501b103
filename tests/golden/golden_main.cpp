// SPDX-License-Identifier: Apache-2.0
// wgk_golden [--update | --order] REPOSITORY: plans of every case on every device profile against
// tests/golden/<op id>: plans.jsonl has one line per case and different plan, with the digest of
// each text; shaders/ has the first text of each pass of each variant. --update writes them anew;
// --order plans in another order, on two threads at once, and expects the same bytes.
#include <algorithm>
#include <cstdio>
#include <map>
#include <string>
#include <thread>

#include "base/try.h"
#include "io/files.h"
#include "json/json.h"
#include "plans.h"

namespace {

namespace fs = std::filesystem;
using namespace wgk;
using golden::Requests;

constexpr std::size_t kShownDifferences = 20;

using Texts = std::map<std::string, std::string>;  // file name -> contents

struct Golden {
  std::string plans;  // plans.jsonl
  Texts shaders;
};

Golden make_golden(const package::Package& package, const Requests& requests,
                   const std::vector<DeviceCaps>& profiles) {
  Golden result;
  for (const auto& [name, request] : requests) {
    std::vector<std::pair<std::string, Json::Array>> groups;  // plan -> profiles
    for (const DeviceCaps& caps : profiles) {
      const auto made = plan(package, request, caps);
      const std::string line = golden::summary(made);
      const auto known =
          std::ranges::find(groups, line, &std::pair<std::string, Json::Array>::first);
      if (known == groups.end()) {
        groups.push_back({line, {Json(caps.name)}});
      } else {
        known->second.emplace_back(caps.name);
      }
      if (!made) continue;
      for (const PlanPass& pass : made->passes) {
        result.shaders.try_emplace(golden::template_use(*made, pass) + ".wgsl", *pass.wgsl);
      }
    }
    for (auto& [line, devices] : groups) {
      if (devices.size() == profiles.size()) devices = {Json("all")};
      result.plans += "{\"case\":" + json::write(Json(name)) +
                      ",\"devices\":" + json::write(Json(std::move(devices))) + "," +
                      line.substr(1) + "\n";
    }
  }
  return result;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

// Lines that only one of the two has, in order.
std::size_t show_differences(const std::string& expected, const std::string& got) {
  std::vector<std::string> wanted = lines_of(expected), made = lines_of(got);
  std::vector<std::string> sorted_wanted = wanted, sorted_made = made;
  std::ranges::sort(sorted_wanted);
  std::ranges::sort(sorted_made);
  std::size_t shown = 0;
  for (const std::string& line : wanted) {
    if (std::ranges::binary_search(sorted_made, line)) continue;
    if (++shown <= kShownDifferences) std::printf("- %s\n", line.c_str());
  }
  for (const std::string& line : made) {
    if (std::ranges::binary_search(sorted_wanted, line)) continue;
    if (++shown <= 2 * kShownDifferences) std::printf("+ %s\n", line.c_str());
  }
  return shown;
}

Texts read_folder(const fs::path& folder) {
  Texts texts;
  std::error_code code;
  for (const auto& entry : fs::directory_iterator(folder, code)) {
    texts.emplace(entry.path().filename().string(),
                  io::read_file(entry.path()).value_or(std::string()));
  }
  return texts;
}

Status update(const fs::path& folder, const Golden& golden) {
  std::error_code code;
  fs::create_directories(folder / "shaders", code);
  WGK_TRY(io::write_file(folder / "plans.jsonl", golden.plans));
  for (const auto& [name, text] : read_folder(folder / "shaders")) {
    if (!golden.shaders.contains(name)) fs::remove(folder / "shaders" / name, code);
  }
  for (const auto& [name, text] : golden.shaders) {
    WGK_TRY(io::write_file(folder / "shaders" / name, text));
  }
  return {};
}

bool compare(const fs::path& folder, const Golden& golden) {
  const std::string expected = io::read_file(folder / "plans.jsonl").value_or(std::string());
  bool same = expected == golden.plans;
  if (!same && show_differences(expected, golden.plans) == 0)
    std::printf("the lines stand in another order\n");
  const Texts shaders = read_folder(folder / "shaders");
  for (const auto& [name, text] : golden.shaders) {
    const auto known = shaders.find(name);
    if (known != shaders.end() && known->second == text) continue;
    std::printf("shaders/%s %s\n", name.c_str(), known == shaders.end() ? "is new" : "differs");
    same = false;
  }
  for (const auto& [name, text] : shaders) {
    if (golden.shaders.contains(name)) continue;
    std::printf("shaders/%s is not used any more\n", name.c_str());
    same = false;
  }
  return same;
}

// All cases on one planner, forwards and backwards at the same time.
bool same_in_any_order(const std::shared_ptr<const package::Package>& package,
                       const Requests& requests, const DeviceCaps& caps) {
  const Planner planner(package, caps);
  std::vector<std::string> forwards(requests.size()), backwards(requests.size());
  const auto line = [&planner](const Request& request) {
    const auto made = planner.plan(request);
    return golden::summary(made ? Result<Plan>(**made)
                                : Result<Plan>(std::unexpected(made.error())));
  };
  {
    const std::jthread first([&] {
      for (std::size_t i = 0; i < requests.size(); ++i) forwards[i] = line(requests[i].second);
    });
    for (std::size_t i = requests.size(); i-- > 0;) backwards[i] = line(requests[i].second);
  }
  bool same = true;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const std::string alone = golden::summary(plan(*package, requests[i].second, caps));
    if (forwards[i] == alone && backwards[i] == alone) continue;
    std::printf("%s on %s: the plan depends on what was planned before\n",
                requests[i].first.c_str(), caps.name.c_str());
    same = false;
  }
  return same;
}

Result<bool> run(const std::string& mode, const fs::path& repository) {
  WGK_ASSIGN(const auto profiles, golden::read_profiles(repository / "tests" / "devices"));
  bool good = true;
  for (const fs::path& folder : golden::find_packages(repository / "kernels")) {
    const std::string id = folder.parent_path().parent_path().filename().string();
    WGK_ASSIGN(const auto package, golden::load_source(folder));
    WGK_ASSIGN(const Requests requests, golden::read_requests(folder));
    bool same = true;
    if (mode == "--order") {
      for (const DeviceCaps& caps : profiles)
        same = same_in_any_order(package, requests, caps) && same;
    } else {
      const Golden golden = make_golden(*package, requests, profiles);
      const fs::path target = repository / "tests" / "golden" / id;
      if (mode == "--update") {
        WGK_TRY(update(target, golden));
      } else {
        same = compare(target, golden);
      }
    }
    std::printf(
        "%s: %zu cases on %zu devices, %s\n", id.c_str(), requests.size(), profiles.size(),
        same ? "as expected"
             : "NOT as expected (wgk_golden --update REPOSITORY writes the golden files anew)");
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
