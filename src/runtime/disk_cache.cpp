// SPDX-License-Identifier: Apache-2.0
#include "runtime/disk_cache.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <format>
#include <optional>
#include <system_error>

#include "base/digest.h"
#include "io/files.h"
#include "json/json.h"

namespace wgk {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMagic = "wgkcache1\n";
constexpr std::uint64_t kMaxEntry = std::uint64_t{64} << 20;
constexpr std::size_t kKeyDigits = 32;

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

struct CacheFile {
  fs::file_time_type used;  // last written, or found to be of use
  std::uint64_t size = 0;
  fs::path path;
};

// Adds what a folder holds.
void list_files(const fs::path& folder, std::vector<CacheFile>& files) {
  std::error_code error;
  for (auto entry = fs::directory_iterator(folder, error);
       !error && entry != fs::directory_iterator(); entry.increment(error)) {
    std::error_code gone;
    CacheFile file{entry->last_write_time(gone), 0, entry->path()};
    if (!gone) file.size = entry->file_size(gone);
    if (!gone) files.push_back(std::move(file));
  }
}

// A use: this file goes after those that were not used since. To the hour, so that most uses write
// nothing. False if it is not there.
bool touch(const fs::path& file) {
  std::error_code error;
  const auto used = fs::last_write_time(file, error);
  if (error) return false;
  const auto now = fs::file_time_type::clock::now();
  if (now - used > std::chrono::hours(1)) fs::last_write_time(file, now, error);
  return true;
}

std::uint64_t bytes_of(const std::vector<CacheFile>& files) {
  std::uint64_t total = 0;
  for (const CacheFile& file : files) total += file.size;
  return total;
}

std::optional<BindingType> binding_type(char letter) {
  switch (letter) {
    case 'r': return BindingType::kReadOnlyStorage;
    case 'w': return BindingType::kStorage;
    case 'u': return BindingType::kUniform;
    default: return std::nullopt;
  }
}

std::string layout_text(const PlanPass& pass) {
  std::string text;
  for (const PlanBinding& binding : pass.bindings) {
    text += binding.type == BindingType::kUniform   ? 'u'
            : binding.type == BindingType::kStorage ? 'w'
                                                    : 'r';
  }
  return text;
}

std::string hex(const std::array<std::uint8_t, 16>& key) {
  std::string text;
  for (const std::uint8_t byte : key) text += std::format("{:02x}", byte);
  return text;
}

std::optional<PlanPass> parse_pass(std::string_view text) {
  const auto json = json::parse(text);
  if (!json || !json->is_object()) return std::nullopt;
  const auto member = [&](std::string_view key) -> const std::string* {
    const Json* value = json->find(key);
    return value == nullptr ? nullptr : value->if_string();
  };
  const std::string* wgsl = member("wgsl");
  const std::string* entry = member("entryPoint");
  const std::string* layout = member("layout");
  const std::string* label = member("label");
  const std::string* key = member("key");
  if (wgsl == nullptr || entry == nullptr || layout == nullptr || label == nullptr ||
      key == nullptr || key->size() != kKeyDigits) {
    return std::nullopt;
  }
  PlanPass pass;
  pass.wgsl = std::make_shared<const std::string>(*wgsl);
  pass.entry_point = *entry;
  pass.label = *label;
  for (std::size_t i = 0; i < pass.key.size(); ++i) {
    const auto digit = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
    pass.key[i] = static_cast<std::uint8_t>(digit((*key)[2 * i]) * 16 + digit((*key)[2 * i + 1]));
  }
  for (const char letter : *layout) {
    const auto type = binding_type(letter);
    if (!type) return std::nullopt;
    PlanBinding binding;
    binding.index = static_cast<std::uint32_t>(pass.bindings.size());
    binding.type = *type;
    pass.bindings.push_back(binding);
  }
  return pass;
}

}  // namespace

DiskCache::DiskCache(const fs::path& root, const AdapterDescription& adapter, std::uint64_t cap)
    : cap_(cap) {
  const std::string device =
      std::format("{}|{}|{}|{}|{}|{:x}:{:x}", adapter.name, adapter.vendor, adapter.architecture,
                  adapter.driver, adapter.backend, adapter.vendor_id, adapter.device_id);
  const fs::path folder = root / digest128(device).hex();
  blobs_ = folder / "pipelines";
  texts_ = folder / "texts";
  std::error_code error;
  // A folder that was there is its owner's: only what is made here becomes private.
  if (fs::create_directories(root, error)) fs::permissions(root, fs::perms::owner_all, error);
  if (fs::create_directory(folder, error)) fs::permissions(folder, fs::perms::owner_all, error);
  fs::create_directory(blobs_, error);
  fs::create_directory(texts_, error);
  const fs::directory_iterator readable(blobs_, error);
  usable_ = !error;
}

// Looks at every file: a process that finds all that it needs never does.
void DiskCache::count_files() {
  std::call_once(counted_, [this] {
    std::vector<CacheFile> files;
    list_files(texts_, files);
    list_files(blobs_, files);
    bytes_ = bytes_of(files);
  });
}

// Down to three quarters, so that not every later write has to clear up again. Other processes may
// do the same: the folder is looked at anew.
bool DiskCache::make_room(std::uint64_t size) {
  count_files();
  if (bytes_ + size <= cap_) return true;
  const std::lock_guard lock(room_mutex_);
  if (stuck_ || size > cap_ / 4 * 3) return false;
  if (bytes_ + size <= cap_) return true;
  std::vector<CacheFile> files;
  list_files(blobs_, files);
  list_files(texts_, files);
  std::ranges::sort(files, {}, &CacheFile::used);
  std::uint64_t total = bytes_of(files);
  for (const CacheFile& file : files) {
    if (total + size <= cap_ / 4 * 3) break;
    std::error_code error;
    fs::remove(file.path, error);
    if (error) continue;
    total -= file.size;
    if (file.path.parent_path() != texts_) continue;
    const std::lock_guard forgetting(mutex_);
    std::erase_if(known_texts_, [&](const auto& key) { return file.path.filename() == hex(key); });
  }
  bytes_ = total;
  stuck_ = total + size > cap_;
  return !stuck_;
}

std::string DiskCache::read_entry(const fs::path& file, std::string_view key) const {
  if (!usable_) return {};
  const auto content = io::read_file(file, kMaxEntry);
  if (!content) return {};
  // magic, digest of all that follows (32), length of the key (8), key, value
  std::string_view rest = *content;
  if (!rest.starts_with(kMagic)) return {};
  rest.remove_prefix(kMagic.size());
  if (rest.size() < 40 || digest128(rest.substr(32)).hex() != rest.substr(0, 32)) return {};
  rest.remove_prefix(32);
  std::uint64_t length = 0;
  std::memcpy(&length, rest.data(), 8);
  rest.remove_prefix(8);
  if (rest.size() < length || rest.substr(0, length) != key) return {};
  return std::string(rest.substr(length));
}

bool DiskCache::write_entry(const fs::path& file, std::string_view key, std::string_view value) {
  if (!usable_ || value.size() > kMaxEntry / 2) return false;
  const std::uint64_t length = key.size();
  std::string body(8, '\0');
  std::memcpy(body.data(), &length, 8);
  body += key;
  body += value;
  std::string content(kMagic);
  content += digest128(body).hex();
  content += body;
  if (!make_room(content.size())) return false;
  std::error_code none;
  const std::uint64_t before = fs::file_size(file, none);
  if (!io::write_file(file, content)) return false;
  if (none || content.size() > before) bytes_ += content.size() - (none ? 0 : before);
  return true;
}

std::size_t DiskCache::load(std::span<const std::byte> key, std::span<std::byte> value) {
  constexpr std::size_t kMostAsked = 32;  // some are never fetched
  const std::string_view wanted = text_of(key);
  std::string content;
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = asked_.find(wanted); found != asked_.end()) {
      content = std::move(found->second);
      asked_.erase(found);
    }
  }
  if (content.empty()) {
    const fs::path file = blobs_ / digest128(wanted).hex();
    content = read_entry(file, wanted);
    if (content.empty()) return 0;
    touch(file);
  }
  const std::size_t size = content.size();
  if (value.size() >= size) {
    std::memcpy(value.data(), content.data(), size);
    ++loaded_;
    return size;
  }
  const std::lock_guard lock(mutex_);
  if (asked_.size() >= kMostAsked) asked_.erase(asked_.begin());
  asked_.insert_or_assign(std::string(wanted), std::move(content));
  return size;
}

void DiskCache::store(std::span<const std::byte> key, std::span<const std::byte> value) {
  const std::string_view name = text_of(key);
  if (write_entry(blobs_ / digest128(name).hex(), name, text_of(value))) ++stored_;
}

void DiskCache::remember(const PlanPass& pass) {
  const std::string key = hex(pass.key);
  const fs::path file = texts_ / key;
  {
    const std::lock_guard lock(mutex_);
    if (std::ranges::find(known_texts_, pass.key) != known_texts_.end()) return;
  }
  if (!touch(file) && !write_text(file, key, pass)) return;
  const std::lock_guard lock(mutex_);
  if (std::ranges::find(known_texts_, pass.key) == known_texts_.end())
    known_texts_.push_back(pass.key);
}

bool DiskCache::write_text(const fs::path& file, const std::string& key, const PlanPass& pass) {
  const Json json = Json::object({{"key", key},
                                  {"label", pass.label},
                                  {"entryPoint", pass.entry_point},
                                  {"layout", layout_text(pass)},
                                  {"wgsl", *pass.wgsl}});
  return write_entry(file, key, json::write(json));
}

std::vector<PlanPass> DiskCache::remembered() const {
  std::vector<CacheFile> files;
  list_files(texts_, files);
  std::ranges::sort(files, std::greater<>(), &CacheFile::used);
  std::vector<PlanPass> passes;
  for (const CacheFile& file : files) {
    const std::string text = read_entry(file.path, file.path.filename().string());
    if (auto pass = parse_pass(text)) {
      passes.push_back(std::move(*pass));
    } else if (usable_ && file.path.filename().string().size() == kKeyDigits) {
      // Damaged: it would never be written anew. Longer names are being written.
      std::error_code error;
      fs::remove(file.path, error);
    }
  }
  return passes;
}

}  // namespace wgk
