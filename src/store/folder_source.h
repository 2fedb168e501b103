// SPDX-License-Identifier: Apache-2.0
// The files of a package in a folder.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "package/package.h"

namespace wgk::store {

class FolderSource final : public package::FileSource {
 public:
  // `folder` holds metadata.json. Errors: "store/not-found"; "package/file" for names that differ
  // only in case, for too many files, and for entries that are neither files nor folders.
  static Result<FolderSource> open(const std::filesystem::path& folder,
                                   std::uint64_t max_file_bytes = std::uint64_t{32} << 20);

  // Refuses paths that lead out of the folder, by '..' or by a link.
  Result<std::string> read(std::string_view path) const override;
  std::vector<std::string> list() const override { return files_; }
  std::string describe() const override { return folder_.string(); }

 private:
  FolderSource(std::filesystem::path folder, std::filesystem::path real,
               std::vector<std::string> files, std::uint64_t max_file_bytes)
      : folder_(std::move(folder)),
        real_(std::move(real)),
        files_(std::move(files)),
        max_file_bytes_(max_file_bytes) {}

  std::filesystem::path folder_, real_;  // as given; without links
  std::vector<std::string> files_;       // sorted
  std::uint64_t max_file_bytes_;
};

}  // namespace wgk::store
