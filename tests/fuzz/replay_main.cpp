// SPDX-License-Identifier: Apache-2.0
// Runs a fuzz target over recorded inputs: usage x_fuzz_replay FOLDER-OR-FILE...
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

std::vector<std::filesystem::path> files_below(const std::filesystem::path& path) {
  if (!std::filesystem::is_directory(path)) return {path};
  std::vector<std::filesystem::path> files;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(path, ignored)) {
    if (entry.is_regular_file()) files.push_back(entry.path());
  }
  std::ranges::sort(files);
  return files;
}

}  // namespace

int main(int argc, char** argv) {
  std::size_t count = 0;
  for (int i = 1; i < argc; ++i) {
    for (const std::filesystem::path& file : files_below(argv[i])) {
      std::ifstream in(file, std::ios::binary);
      if (!in) {
        std::fprintf(stderr, "cannot read %s\n", file.c_str());
        return 1;
      }
      const std::vector<char> bytes{std::istreambuf_iterator<char>(in), {}};
      const std::vector<std::uint8_t> input(bytes.begin(), bytes.end());
      std::printf("%s\n", file.c_str());
      std::fflush(stdout);  // names the culprit should the next line end the process
      LLVMFuzzerTestOneInput(input.data(), input.size());
      ++count;
    }
  }
  if (count == 0) {
    std::fprintf(stderr, "no inputs; give a corpus folder\n");
    return 1;
  }
  std::printf("replayed %zu inputs\n", count);
  return 0;
}
