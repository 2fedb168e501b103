// SPDX-License-Identifier: Apache-2.0
#include "store/folder_source.h"

#include <algorithm>
#include <map>

#include "base/try.h"
#include "io/files.h"
#include "package/names.h"

namespace wgk::store {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxFiles = 4096;

bool lies_in(const fs::path& path, const fs::path& folder) {
  return std::mismatch(folder.begin(), folder.end(), path.begin(), path.end()).first ==
         folder.end();
}

Result<std::vector<std::string>> list_files(const fs::path& folder) {
  std::vector<std::string> files;
  std::error_code error;
  fs::recursive_directory_iterator walk(folder, error);
  for (; !error && walk != fs::recursive_directory_iterator(); walk.increment(error)) {
    std::error_code ignored;
    const fs::file_status status = walk->symlink_status(ignored);
    const std::string path = walk->path().lexically_relative(folder).generic_string();
    if (fs::is_directory(status)) continue;
    // Links to folders are not followed: they are listed, and so become violations.
    if (!fs::is_regular_file(status) && !fs::is_symlink(status)) {
      return failure("package/file", "'" + path + "' is neither a file nor a folder");
    }
    files.push_back(path);
    if (files.size() > kMaxFiles)
      return failure("package/file",
                     "the folder has more than " + std::to_string(kMaxFiles) + " files");
  }
  if (error) return failure("package/file", "cannot list the folder: " + error.message());
  std::ranges::sort(files);
  return files;
}

// Such files would be one file on systems that ignore case.
Status check_case(const std::vector<std::string>& files) {
  std::map<std::string, std::string> seen;
  for (const std::string& file : files) {
    std::string lower = file;
    std::ranges::transform(lower, lower.begin(), [](char c) {
      return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    });
    const auto [found, fresh] = seen.emplace(std::move(lower), file);
    if (!fresh)
      return failure("package/file",
                     "'" + found->second + "' and '" + file + "' differ only in case");
  }
  return {};
}

}  // namespace

Result<FolderSource> FolderSource::open(const fs::path& folder, std::uint64_t max_file_bytes) {
  std::error_code error;
  fs::path real = fs::canonical(folder, error);
  if (error || !fs::is_directory(real, error))
    return failure("store/not-found", "'" + folder.string() + "' is not a folder");
  WGK_ASSIGN(std::vector<std::string> files, list_files(real));
  WGK_TRY(check_case(files));
  return FolderSource(folder, std::move(real), std::move(files), max_file_bytes);
}

Result<std::string> FolderSource::read(std::string_view path) const {
  const std::string name(path);
  if (!package::is_package_path(path))
    return failure("package/file", "'" + name + "' is not a plain relative path");
  std::error_code error;
  const fs::path real = fs::canonical(real_ / name, error);
  if (error) return failure("package/file", "'" + name + "' is missing");
  if (!lies_in(real, real_))
    return failure("package/file", "'" + name + "' is a link that leads out of the package");
  auto text = io::read_file(real, max_file_bytes_);
  if (!text) return failure("package/file", text.error().message);
  return text;
}

}  // namespace wgk::store
