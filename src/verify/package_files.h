// SPDX-License-Identifier: Apache-2.0
// What an author wants to know of a package folder before publishing it. Needs no device.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "package/cases.h"
#include "package/package.h"
#include "wgk/error.h"

namespace wgk::verify {

// A package folder with all that stands in it.
struct PackageFolder {
  std::shared_ptr<const package::Package> package;
  std::vector<std::string> files;        // listed in metadata.json
  std::vector<package::TestCase> tests;  // none when there is no test.json
  std::vector<package::BenchCase> benches;
};
Result<PackageFolder> open_folder(std::string_view place, const package::LoadOptions& options = {});

// The cases of one file, or of the package's test.json when `file` is empty.
Result<std::vector<package::TestCase>> read_test_file(std::string_view place,
                                                      const std::string& file);

// The text of README.md.
Result<std::string> card_of(std::string_view place, const package::LoadOptions& options = {});

// Everything that is wrong, in a fixed order; empty when all is well. A package that cannot be
// loaded is the error of the result.
Result<std::vector<Error>> check_package(std::string_view place,
                                         const package::LoadOptions& options = {});

}  // namespace wgk::verify
