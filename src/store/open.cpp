// SPDX-License-Identifier: Apache-2.0
#include "store/open.h"

#include "base/try.h"
#include "store/folder_source.h"
#include "store/sha256.h"

namespace wgk::store {

namespace fs = std::filesystem;

Result<fs::path> find_build_folder(std::string_view place) {
  const fs::path root(place);
  std::error_code error;
  for (const fs::path& folder : {root / "build" / "webgpu", root}) {
    if (fs::is_regular_file(folder / "manifest.json", error) ||
        fs::is_regular_file(folder / "metadata.json", error))
      return folder;
  }
  const std::string name(place);
  if (fs::exists(root, error)) {
    return failure("store/not-found", "'" + name +
                                          "' holds no kernel package: neither "
                                          "build/webgpu/metadata.json nor metadata.json is there");
  }
  return failure("store/not-found", "there is no folder '" + name + "'");
}

Result<std::shared_ptr<const package::Package>> open(std::string_view place,
                                                     const package::LoadOptions& options) {
  WGK_ASSIGN(const fs::path folder, find_build_folder(place));
  auto source = FolderSource::open(folder, options.limits.file_bytes);
  if (!source)
    return std::unexpected(
        std::move(source).error().during("opening the package " + folder.string()));
  return package::load(*source, sha256, options);
}

}  // namespace wgk::store
