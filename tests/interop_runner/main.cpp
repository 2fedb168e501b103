// SPDX-License-Identifier: Apache-2.0
// wgk_interop DIR: replays a corpus of recorded loader behaviour (tests/interop/README.md) and
// scores the fields that must match. Exit status: 0 when every record holds, 1 when one does not, 3
// when the corpus cannot be read or holds no record.
#include <algorithm>
#include <cstdio>
#include <vector>

#include "base/try.h"
#include "corpus.h"

namespace {

using wgk::Status;
using namespace wgk::interop;

Status run(const std::filesystem::path& folder, Report& report) {
  Corpus corpus{folder, {}};
  WGK_ASSIGN(corpus.profiles, read_profiles(folder));
  std::error_code code;
  if (std::filesystem::exists(folder / "expressions.json", code))
    WGK_TRY(score_expressions(corpus, report));
  if (std::filesystem::exists(folder / "templates.json", code))
    WGK_TRY(score_templates(corpus, report));
  std::vector<std::filesystem::path> packages;
  for (const auto& entry : std::filesystem::directory_iterator(folder / "expectations", code)) {
    const std::string name = entry.path().filename().string();
    if (name == "invalid_manifests.json") {
      WGK_TRY(score_manifests(corpus, report));
    } else if (name == "loading.json") {
      WGK_TRY(score_loading(corpus, report));
    } else if (entry.path().extension() == ".json") {
      packages.push_back(entry.path());
    }
  }
  if (code)
    return wgk::failure(
        "io/read", "cannot list " + (folder / "expectations").string() + ": " + code.message());
  std::ranges::sort(packages);
  for (const auto& package : packages) WGK_TRY(score_package(corpus, package, report));
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: wgk_interop DIR\n");
    return 2;
  }
  Report report;
  if (const Status done = run(argv[1], report); !done) {
    std::fprintf(stderr, "%s\n", done.error().to_string().c_str());
    return 3;
  }
  if (report.empty()) {
    std::fprintf(stderr, "'%s' holds no record\n", argv[1]);
    return 3;
  }
  std::printf("%s\n", report.summary().c_str());
  return report.failed() ? 1 : 0;
}
