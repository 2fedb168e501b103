// SPDX-License-Identifier: Apache-2.0
// safetensors: eight bytes of header length, a JSON header, the data.
#include <algorithm>
#include <array>
#include <utility>

#include "base/checked.h"
#include "base/suggest.h"
#include "base/try.h"
#include "io/array_file.h"
#include "io/files.h"
#include "json/cursor.h"
#include "json/json.h"

namespace wgk::io {
namespace {

constexpr std::uint64_t kMaxHeaderBytes = std::uint64_t{100} << 20;
constexpr std::string_view kCode = "io/format";

constexpr auto kSafetensorsTypes = std::to_array<std::pair<std::string_view, DType>>({
    {"F32", DType::f32},
    {"F16", DType::f16},
    {"I8", DType::i8},
    {"I16", DType::i16},
    {"I32", DType::i32},
    {"I64", DType::i64},
    {"U8", DType::u8},
    {"U32", DType::u32},
    {"BOOL", DType::boolean},
});

Result<Shape> read_shape(const json::Cursor& entry) {
  WGK_ASSIGN(const json::Cursor member, entry.require("shape"));
  WGK_ASSIGN(const auto items, member.items());
  if (items.size() > kMostDims)
    return member.fail("has " + std::to_string(items.size()) + " dimensions; expected at most " +
                       std::to_string(kMostDims));
  Shape shape;
  for (const json::Cursor& item : items) {
    WGK_ASSIGN(const std::int64_t dim, item.integer(0, std::int64_t{1} << 53));
    shape.push_back(dim);
  }
  return shape;
}

Result<SafetensorsEntry> read_entry(const json::Cursor& cursor, std::uint64_t data_bytes) {
  WGK_TRY(cursor.only({"dtype", "shape", "data_offsets"}));
  SafetensorsEntry entry;
  WGK_ASSIGN(const json::Cursor dtype, cursor.require("dtype"));
  WGK_ASSIGN(const std::string type, dtype.string());
  const auto found = std::ranges::find(kSafetensorsTypes, std::string_view(type),
                                       &std::pair<std::string_view, DType>::first);
  if (found == kSafetensorsTypes.end())
    return dtype.fail("the element type '" + type + "' is none that a port takes");
  entry.dtype = found->second;
  WGK_ASSIGN(entry.shape, read_shape(cursor));
  WGK_ASSIGN(const json::Cursor offsets, cursor.require("data_offsets"));
  WGK_ASSIGN(const auto items, offsets.items());
  if (items.size() != 2)
    return offsets.fail("must have two entries, got " + std::to_string(items.size()));
  const auto limit =
      static_cast<std::int64_t>(std::min<std::uint64_t>(data_bytes, std::uint64_t{1} << 53));
  WGK_ASSIGN(const std::int64_t begin, items[0].integer(0, limit));
  WGK_ASSIGN(const std::int64_t end, items[1].integer(begin, limit));
  WGK_ASSIGN(const std::int64_t count, element_count(entry.shape));
  WGK_ASSIGN(
      const std::uint64_t bytes,
      checked_mul<std::uint64_t>(static_cast<std::uint64_t>(count), host_bytes(entry.dtype)));
  if (static_cast<std::uint64_t>(end - begin) != bytes) {
    return offsets.fail("the shape needs " + std::to_string(bytes) + " bytes, got " +
                        std::to_string(end - begin));
  }
  entry.begin = static_cast<std::uint64_t>(begin);
  entry.end = static_cast<std::uint64_t>(end);
  return entry;
}

Result<HostArray> read_safetensors(const std::filesystem::path& path, std::string_view key) {
  WGK_ASSIGN(const std::uint64_t size, io::file_size(path));
  if (size < 8)
    return failure(kCode, "'" + path.string() + "' is not a safetensors file: it has " +
                              std::to_string(size) + " bytes");
  WGK_ASSIGN(const std::string prefix, read_range(path, 0, 8));
  std::uint64_t length = 0;
  for (std::size_t i = 8; i-- > 0;) length = length << 8 | static_cast<unsigned char>(prefix[i]);
  if (length > size - 8 || length > kMaxHeaderBytes) {
    return failure(
        kCode, "'" + path.string() + "' is not a safetensors file: its header should have " +
                   std::to_string(length) + " bytes; " + std::to_string(size - 8) + " are there");
  }
  WGK_ASSIGN(const std::string header, read_range(path, 8, length));
  WGK_ASSIGN(const SafetensorsEntry entry, find_safetensors_entry(header, key, size - 8 - length));
  if (entry.end - entry.begin > kMaxFileBytes)
    return failure("io/read", "the tensor '" + std::string(key) + "' is larger than 8 GiB");
  HostArray array{entry.dtype, entry.shape, {}};
  WGK_ASSIGN(array.data, read_range(path, 8 + length + entry.begin, entry.end - entry.begin));
  return array;
}

}  // namespace

Result<SafetensorsEntry> find_safetensors_entry(std::string_view header, std::string_view key,
                                                std::uint64_t data_bytes) {
  auto json = json::parse(header, {.max_bytes = kMaxHeaderBytes, .max_depth = 8});
  if (!json) return failure(kCode, "not a usable safetensors header: " + json.error().message);
  if (!json->is_object())
    return failure(kCode, "not a usable safetensors header: it is not an object");
  const Json* found = key == "__metadata__" ? nullptr : json->find(key);
  if (found == nullptr) {
    std::vector<std::string> keys;
    for (const auto& [name, value] : *json->if_object()) keys.push_back(name);
    return failure(kCode, "the file has no tensor '" + std::string(key) + "'",
                   suggestion(key, keys));
  }
  return read_entry(json::Cursor(*found, std::string(key), kCode), data_bytes);
}

Result<HostArray> read_array(std::string_view place) {
  const auto in_file = [&](Error error) {
    return std::unexpected(std::move(error).during("reading " + std::string(place)));
  };
  const std::size_t mark = place.find(".safetensors:");
  if (mark != std::string_view::npos) {
    const std::size_t colon = place.find(':', mark);
    auto array = read_safetensors(place.substr(0, colon), place.substr(colon + 1));
    return array ? std::move(array) : in_file(std::move(array).error());
  }
  if (!place.ends_with(".npy")) {
    return failure("io/format", "'" + std::string(place) +
                                    "' is neither a .npy file nor <file>.safetensors:<key>");
  }
  auto file = read_file(place);
  if (!file) return in_file(std::move(file).error());
  auto array = parse_npy(*file);
  return array ? std::move(array) : in_file(std::move(array).error());
}

}  // namespace wgk::io
