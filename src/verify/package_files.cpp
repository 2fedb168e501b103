// SPDX-License-Identifier: Apache-2.0
#include "verify/package_files.h"

#include <algorithm>

#include "base/try.h"
#include "io/files.h"
#include "json/json.h"
#include "package/card.h"
#include "store/open.h"

namespace wgk::verify {
namespace {

Result<Json> read_json(const std::filesystem::path& file) {
  auto text = io::read_file(file, std::uint64_t{256} << 20);
  if (!text) return std::unexpected(std::move(text).error().during("reading " + file.string()));
  auto json = json::parse(*text, {.max_bytes = std::size_t{256} << 20});
  if (!json) return std::unexpected(std::move(json).error().during("reading " + file.string()));
  return json;
}

template <class Read>
auto read_cases(const std::filesystem::path& file, Read read) -> decltype(read(Json())) {
  WGK_ASSIGN(const Json json, read_json(file));
  auto cases = read(json);
  if (!cases) return std::unexpected(std::move(cases).error().during("reading " + file.string()));
  return cases;
}

}  // namespace

Result<std::vector<package::TestCase>> read_test_file(std::string_view place,
                                                      const std::string& file) {
  if (!file.empty()) return read_cases(file, package::read_tests);
  WGK_ASSIGN(const std::filesystem::path folder, store::find_build_folder(place));
  return read_cases(folder / "test.json", package::read_tests);
}

Result<PackageFolder> open_folder(std::string_view place, const package::LoadOptions& options) {
  PackageFolder folder;
  WGK_ASSIGN(folder.package, store::open(place, options));
  WGK_ASSIGN(const std::filesystem::path path, store::find_build_folder(place));
  for (const auto& [file, digest] : folder.package->metadata.digests) folder.files.push_back(file);
  std::ranges::sort(folder.files);
  if (std::ranges::contains(folder.files, "test.json")) {
    WGK_ASSIGN(folder.tests, read_cases(path / "test.json", package::read_tests));
  }
  if (std::ranges::contains(folder.files, "bench.json")) {
    WGK_ASSIGN(folder.benches, read_cases(path / "bench.json", package::read_benches));
  }
  return folder;
}

Result<std::string> card_of(std::string_view place, const package::LoadOptions& options) {
  WGK_ASSIGN(const PackageFolder folder, open_folder(place, options));
  return package::make_card(*folder.package, folder.tests, folder.files);
}

}  // namespace wgk::verify
