// SPDX-License-Identifier: Apache-2.0
// From what a user writes to a loaded package.
#pragma once

#include <filesystem>
#include <memory>
#include <string_view>

#include "package/package.h"

namespace wgk::store {

// The folder build/webgpu of a package: `place` is the package's folder or that folder itself.
// Error "store/not-found".
Result<std::filesystem::path> find_build_folder(std::string_view place);

// Opens the package in a folder, every file verified.
Result<std::shared_ptr<const package::Package>> open(std::string_view place,
                                                     const package::LoadOptions& options = {});

}  // namespace wgk::store
