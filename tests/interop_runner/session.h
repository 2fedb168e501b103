// SPDX-License-Identifier: Apache-2.0
// One loaded package on one device, called as the published loader is called: templates arrive
// after selection, and a call with a known signature keeps its variant.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "package/package.h"
#include "wgk/plan.h"

namespace wgk::interop {

Result<std::map<std::string, std::string, std::less<>>> read_package_files(
    const std::filesystem::path& folder);

struct Outcome {
  std::optional<Plan> plan;            // of a call that succeeds
  std::optional<std::string> variant;  // selected, also by a call that fails later
  std::optional<Error> error;
  Explanation explanation;  // taken after the call
};

class LoaderSession {
 public:
  LoaderSession(std::shared_ptr<const package::Package> package, DeviceCaps caps);

  Outcome call(const Request& request);

 private:
  Result<Plan> run(const Request& request, Outcome& outcome);
  Status fetch(std::string_view variant);
  Status compile(const Plan& plan) const;

  std::shared_ptr<const package::Package> package_;
  DeviceCaps caps_;
  std::set<std::string, std::less<>> fetched_;
  std::vector<std::pair<Request, std::string>> chosen_;  // signature and variant
  PlanOptions options_;
};

}  // namespace wgk::interop
