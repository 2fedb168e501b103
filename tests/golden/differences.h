// SPDX-License-Identifier: Apache-2.0
// Golden files of one package and how they differ from what planning gives now.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace wgk::golden {

struct Files {
  std::string plans;  // plans.jsonl: a line per case and different plan
  // examples/: for each template the first text it gave and the plan that this text is from.
  std::map<std::string, std::string> examples;
};

// Missing files are empty.
Files read_files(const std::filesystem::path& folder);

// Says case by case what is not as expected: which devices, which part of the plan, old and new.
// True if nothing is. `devices`: what "all" stands for.
bool same_files(const Files& expected, const Files& got, const std::vector<std::string>& devices);

}  // namespace wgk::golden
