// SPDX-License-Identifier: Apache-2.0
// wgk_golden_compile [--full] REPOSITORY: compiles what planning renders for each device profile on
// a stand-in with exactly that profile's features and limits. Without --full one text per pass,
// variant and profile; with it every different text. A text that compiled on a weaker profile is
// not compiled again. Profiles that nothing can stand in for are listed.
#include <algorithm>
#include <cstdio>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/try.h"
#include "gpu/compile_check.h"
#include "plans.h"

namespace {

using namespace wgk;

struct Profile {
  DeviceCaps caps;
  DeviceCaps built;  // what the stand-in was made with
  gpu::CompileChecker checker;
};

using Compiled = std::map<std::string, std::vector<const Profile*>>;  // by digest of the text

struct Counts {
  std::size_t compiled = 0, known = 0, failed = 0;
  std::size_t beyond = 0;     // matrices that the stand-in does not have
  std::size_t elsewhere = 0;  // what a request's tunables demand of a device that lacks it
};

// Stand-ins often have small buffers; sizes of buffers do not matter to compiling.
DeviceCaps with_small_buffers(DeviceCaps caps) {
  const DeviceCaps defaults = DeviceCaps::defaults();
  for (auto& [name, value] : caps.limits) {
    if (name == "maxBufferSize" || name == "maxStorageBufferBindingSize") {
      value = std::min(value, *defaults.limit(name));
    }
  }
  return caps;
}

// What compiles on `weaker` compiles on `stronger`.
bool covers(const Profile& weaker, const Profile& stronger) {
  const auto has_all = [](const auto& few, const auto& many) {
    return std::ranges::all_of(
        few, [&](const auto& item) { return std::ranges::find(many, item) != many.end(); });
  };
  const DeviceCaps &a = weaker.built, &b = stronger.built;
  for (const auto* limits : {&a.limits, &b.limits}) {
    for (const auto& [name, value] : *limits) {
      if (a.limit(name) > b.limit(name)) return false;
    }
  }
  return weaker.checker.stand_in().name == stronger.checker.stand_in().name &&
         has_all(a.features, b.features) &&
         has_all(a.wgsl_language_features, b.wgsl_language_features);
}

// The plan with only those passes whose use (or text) is new.
Plan new_passes(const Plan& plan, bool full, std::set<std::string>& seen) {
  Plan rest = plan;
  std::erase_if(rest.passes, [&](const PlanPass& pass) {
    const std::string name =
        full ? golden::short_digest(*pass.wgsl) : golden::template_use(plan, pass);
    return !seen.insert(name).second;
  });
  return rest;
}

// A tunable of the request chose text for a feature that the profile does not have. (Without
// tunables the package chose, and had to look at the features first.)
bool is_for_another_profile(const Request& request, const Plan& plan, const Profile& profile) {
  return !request.tunables.empty() &&
         std::ranges::any_of(plan.features, [&](const std::string& feature) {
           return std::ranges::find(profile.caps.features, feature) == profile.caps.features.end();
         });
}

void compile(const std::string& name, Plan rest, const Profile& profile, Compiled& known,
             Counts& counts) {
  const std::size_t wanted = rest.passes.size();
  std::erase_if(rest.passes, [&](const PlanPass& pass) {
    return std::ranges::any_of(known[golden::short_digest(*pass.wgsl)],
                               [&](const Profile* other) { return covers(*other, profile); });
  });
  counts.compiled += rest.passes.size();
  counts.known += wanted - rest.passes.size();
  if (rest.passes.empty()) return;
  if (const Status compiled = profile.checker.check(rest); !compiled) {
    if (compiled.error().message.contains("Subgroup matrix usage found which is not supported")) {
      counts.compiled -= rest.passes.size();
      counts.beyond += rest.passes.size();
      return;
    }
    ++counts.failed;
    std::printf("%s, case %s on %s: %s\n", rest.op_id.c_str(), name.c_str(),
                profile.caps.name.c_str(), compiled.error().to_string().c_str());
    return;
  }
  for (const PlanPass& pass : rest.passes)
    known[golden::short_digest(*pass.wgsl)].push_back(&profile);
}

// Weaker profiles first.
Result<std::vector<Profile>> profiles_of(const std::filesystem::path& folder) {
  WGK_ASSIGN(const auto all, golden::read_profiles(folder));
  std::vector<Profile> profiles;
  for (const DeviceCaps& caps : all) {
    const DeviceCaps built = with_small_buffers(caps);
    auto checker = gpu::CompileChecker::make(built);
    if (checker) {
      profiles.push_back({caps, built, std::move(*checker)});
    } else {
      std::printf("%s: nothing can stand in: %s\n", caps.name.c_str(),
                  checker.error().message.c_str());
    }
  }
  std::ranges::stable_sort(profiles, {}, [](const Profile& profile) {
    return std::pair(profile.caps.features.size() + profile.caps.wgsl_language_features.size(),
                     profile.caps.limit("maxComputeWorkgroupStorageSize"));
  });
  return profiles;
}

Result<bool> run(bool full, const std::filesystem::path& repository) {
  WGK_ASSIGN(const auto profiles, profiles_of(repository / "tests" / "devices"));
  std::vector<std::pair<std::shared_ptr<const package::Package>, golden::Requests>> packages;
  for (const auto& folder : golden::find_packages(repository / "kernels")) {
    WGK_ASSIGN(auto package, golden::load_source(folder));
    WGK_ASSIGN(auto requests, golden::read_requests(folder));
    packages.emplace_back(std::move(package), std::move(requests));
  }
  Compiled known;
  bool good = !profiles.empty() && !packages.empty();
  for (const Profile& profile : profiles) {
    Counts counts;
    for (const auto& [package, requests] : packages) {
      std::set<std::string> seen;
      for (const auto& [name, request] : requests) {
        const auto made = plan(*package, request, profile.caps);
        if (!made) continue;
        if (is_for_another_profile(request, *made, profile)) {
          counts.elsewhere += made->passes.size();
        } else {
          compile(name, new_passes(*made, full, seen), profile, known, counts);
        }
      }
    }
    std::printf(
        "%s: %zu passes compiled, %zu known from weaker profiles, %zu failed, %zu with matrices "
        "that "
        "the stand-in does not have, %zu that a request forces and the profile lacks features for "
        "(%s)\n",
        profile.caps.name.c_str(), counts.compiled, counts.known, counts.failed, counts.beyond,
        counts.elsewhere, profile.checker.stand_in().name.c_str());
    std::fflush(stdout);
    good = good && counts.failed == 0 && counts.compiled + counts.known != 0;
  }
  return good;
}

}  // namespace

int main(int argc, char** argv) {
  const bool full = argc == 3 && std::string(argv[1]) == "--full";
  if (argc != (full ? 3 : 2)) {
    std::fprintf(stderr, "usage: wgk_golden_compile [--full] REPOSITORY\n");
    return 2;
  }
  const auto good = run(full, argv[argc - 1]);
  if (!good) {
    std::fprintf(stderr, "%s\n", good.error().to_string().c_str());
    return 3;
  }
  return *good ? 0 : 1;
}
