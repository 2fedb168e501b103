// SPDX-License-Identifier: Apache-2.0
#include "package/memory_source.h"

namespace wgk::package {

Result<std::string> MemorySource::read(std::string_view path) const {
  const auto found = files_.find(path);
  if (found == files_.end())
    return failure("package/file", "'" + std::string(path) + "' is not there");
  return found->second;
}

std::vector<std::string> MemorySource::list() const {
  std::vector<std::string> paths;
  for (const auto& [path, text] : files_) paths.push_back(path);
  return paths;
}

}  // namespace wgk::package
