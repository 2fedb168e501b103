// SPDX-License-Identifier: Apache-2.0
// What survives the process: compiled pipelines as the WebGPU library hands them out, and the texts
// they were made of. Whatever is wrong with the folder or a file (missing, truncated, foreign,
// read-only, full) counts as "not there"; nothing is ever reported. At most so many bytes per
// adapter and driver: then what was not used for longest goes.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/device.h"
#include "wgk/device.h"
#include "wgk/plan.h"

namespace wgk {

class DiskCache : public gpu::BlobCache {
 public:
  static constexpr std::uint64_t kCap = std::uint64_t{512} << 20;
  // A folder below `root` of this adapter and driver alone, made if it can be.
  DiskCache(const std::filesystem::path& root, const AdapterDescription& adapter,
            std::uint64_t cap = kCap);

  std::size_t load(std::span<const std::byte> key, std::span<std::byte> value) override;
  void store(std::span<const std::byte> key, std::span<const std::byte> value) override;

  // Remembers the text of a pass, so that a later process can compile it before it has planned
  // anything.
  void remember(const PlanPass& pass);
  // Every pass remembered for this adapter, the one used last first.
  std::vector<PlanPass> remembered() const;

  std::uint64_t loaded() const { return loaded_; }
  std::uint64_t stored() const { return stored_; }

 private:
  std::string read_entry(const std::filesystem::path& file, std::string_view key) const;
  bool write_entry(const std::filesystem::path& file, std::string_view key, std::string_view value);
  bool write_text(const std::filesystem::path& file, const std::string& key, const PlanPass& pass);
  void count_files();
  bool make_room(std::uint64_t size);

  std::filesystem::path blobs_, texts_;
  std::uint64_t cap_;
  bool usable_ = false;
  std::mutex room_mutex_;   // one thread clears up
  bool stuck_ = false;      // nothing can be deleted either
  std::once_flag counted_;  // bytes_ is of what is there; not before something is written
  std::mutex mutex_;
  // Values by key, from the question for the size until they are fetched; a few at most.
  std::map<std::string, std::string, std::less<>> asked_;
  std::vector<std::array<std::uint8_t, 16>> known_texts_;
  std::atomic<std::uint64_t> loaded_ = 0, stored_ = 0, bytes_ = 0;
};

}  // namespace wgk
