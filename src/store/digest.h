// SPDX-License-Identifier: Apache-2.0
// For authors: makes a package folder whole again after an edit.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "wgk/error.h"

namespace wgk::store {

struct DigestReport {
  // Of each variant, in manifest order: the templates that its passes render, with all that they
  // include.
  std::vector<std::pair<std::string, std::vector<std::string>>> templates;
  std::vector<std::string> copied;   // from the shared folder, because a template includes them
  std::vector<std::string> removed;  // copies of shared files that nothing includes any more
  bool changed = false;              // anything, metadata.json included
};

// Brings a package up to date: copies the shared files (kernels/common) that its templates include,
// and writes metadata.json with the digest of each file, the templates of each variant and a build
// id made from them. What else metadata.json says is kept. `shared`: the folder of shared files; by
// default `common` beside the package, if there is one. With `dry_run` nothing is written. The same
// files give the same bytes.
struct DigestOptions {
  std::filesystem::path shared = {};
  bool dry_run = false;
};
Result<DigestReport> refresh(std::string_view package, const DigestOptions& options = {});

}  // namespace wgk::store
