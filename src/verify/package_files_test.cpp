// SPDX-License-Identifier: Apache-2.0
#include "verify/package_files.h"

#include <gtest/gtest.h>

#include <filesystem>

namespace wgk::verify {
namespace {

namespace fs = std::filesystem;

// What `wgk check` says of the project's own packages.
TEST(Kernels, AreSound) {
  for (const auto& entry : fs::directory_iterator(fs::path(WGK_SOURCE_DIR) / "kernels")) {
    if (!fs::exists(entry.path() / "build" / "webgpu" / "metadata.json")) continue;
    SCOPED_TRACE(entry.path().string());
    const auto problems = check_package(entry.path().string());
    ASSERT_TRUE(problems.has_value()) << problems.error().to_string();
    for (const Error& problem : *problems) ADD_FAILURE() << problem.to_string();
  }
}

}  // namespace
}  // namespace wgk::verify
