// SPDX-License-Identifier: Apache-2.0
// Whole files in, whole files out. A file that is written appears complete or not at all.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "wgk/error.h"

namespace wgk::io {

inline constexpr std::uint64_t kMaxFileBytes = std::uint64_t{8} << 30;

// Reads a regular file; anything else (folder, pipe, device) and a file above `max_bytes` is an
// error "io/read".
Result<std::string> read_file(const std::filesystem::path& path,
                              std::uint64_t max_bytes = kMaxFileBytes);

// A part of a regular file.
Result<std::string> read_range(const std::filesystem::path& path, std::uint64_t offset,
                               std::uint64_t size);

Result<std::uint64_t> file_size(const std::filesystem::path& path);

// Writes a temporary file beside `path` and renames it; on failure ("io/write") nothing is left
// behind.
Status write_file(const std::filesystem::path& path, std::string_view bytes);

}  // namespace wgk::io
