// SPDX-License-Identifier: Apache-2.0
// Several files that appear together or not at all.
#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

#include "wgk/error.h"

namespace wgk::io {

// Each file is written beside its place first. Before commit() no file is changed, and without it
// nothing is left behind. Errors: "io/write".
class FileSet {
 public:
  FileSet() = default;
  FileSet(const FileSet&) = delete;
  FileSet& operator=(const FileSet&) = delete;
  ~FileSet();

  Status add(const std::filesystem::path& path, std::string_view bytes);
  Status commit();

 private:
  struct Entry {
    std::filesystem::path temporary, path;
  };
  std::vector<Entry> entries_;
};

}  // namespace wgk::io
