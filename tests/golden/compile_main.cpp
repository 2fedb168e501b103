// SPDX-License-Identifier: Apache-2.0
// wgk_golden_compile [--full] REPOSITORY: compiles what planning renders for each device profile on
// a stand-in with exactly that profile's features and limits. Without --full one text per pass,
// variant and profile; with it every different text. Profiles that nothing can stand in for are
// listed.
#include <algorithm>
#include <cstdio>
#include <set>
#include <string>

#include "base/try.h"
#include "gpu/compile_check.h"
#include "plans.h"

namespace {

using namespace wgk;

struct Counts {
  std::size_t compiled = 0, failed = 0;
};

DeviceCaps with_small_buffers(DeviceCaps caps) {
  const DeviceCaps defaults = DeviceCaps::defaults();
  for (auto& [name, value] : caps.limits) {
    if (name == "maxBufferSize" || name == "maxStorageBufferBindingSize") {
      value = std::min(value, *defaults.limit(name));
    }
  }
  return caps;
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

void compile_package(const package::Package& package, const golden::Requests& requests,
                     const DeviceCaps& caps, const gpu::CompileChecker& checker, bool full,
                     Counts& counts) {
  std::set<std::string> seen;
  for (const auto& [name, request] : requests) {
    const auto made = plan(package, request, caps);
    if (!made) continue;
    const Plan rest = new_passes(*made, full, seen);
    if (rest.passes.empty()) continue;
    counts.compiled += rest.passes.size();
    const Status compiled = checker.check(rest);
    if (compiled) continue;
    ++counts.failed;
    std::printf("%s, case %s on %s: %s\n", package.manifest.op_id().c_str(), name.c_str(),
                caps.name.c_str(), compiled.error().to_string().c_str());
  }
}

Result<bool> run(bool full, const std::filesystem::path& repository) {
  WGK_ASSIGN(const auto profiles, golden::read_profiles(repository / "tests" / "devices"));
  bool good = true;
  for (const DeviceCaps& caps : profiles) {
    const auto checker = gpu::CompileChecker::make(with_small_buffers(caps));
    if (!checker) {
      std::printf("%s: nothing can stand in: %s\n", caps.name.c_str(),
                  checker.error().message.c_str());
      continue;
    }
    Counts counts;
    for (const auto& folder : golden::find_packages(repository / "kernels")) {
      WGK_ASSIGN(const auto package, golden::load_source(folder));
      WGK_ASSIGN(const auto requests, golden::read_requests(folder));
      compile_package(*package, requests, caps, *checker, full, counts);
    }
    std::printf("%s: %zu passes compiled, %zu failed (%s)\n", caps.name.c_str(), counts.compiled,
                counts.failed, checker->stand_in().name.c_str());
    std::fflush(stdout);
    good = good && counts.failed == 0 && counts.compiled != 0;
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
