// SPDX-License-Identifier: Apache-2.0
// The .npy format, versions 1 to 3: magic, version, header length, a Python dict as text, the
// elements.
#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "base/checked.h"
#include "base/try.h"
#include "io/array_file.h"

namespace wgk::io {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";

constexpr auto kNpyTypes = std::to_array<std::pair<std::string_view, DType>>({
    {"<f4", DType::f32},
    {"<f2", DType::f16},
    {"|i1", DType::i8},
    {"<i2", DType::i16},
    {"<i4", DType::i32},
    {"<i8", DType::i64},
    {"|u1", DType::u8},
    {"<u4", DType::u32},
    {"|b1", DType::boolean},
});

std::unexpected<Error> fail(std::string message) {
  return failure("io/format", "not a usable .npy file: " + std::move(message));
}

// Reads the dict that NumPy writes: three keys, each once, with a string, a bool and a tuple of
// integers.
class Header {
 public:
  explicit Header(std::string_view text) : rest_(text) {}

  Status read(std::string& descr, bool& fortran, Shape& shape) {
    WGK_TRY(expect('{'));
    std::array<bool, 3> seen = {};
    while (!take('}')) {
      WGK_ASSIGN(const std::string key, string());
      WGK_TRY(expect(':'));
      const std::size_t which = key == "descr"           ? 0
                                : key == "fortran_order" ? 1
                                : key == "shape"         ? 2
                                                         : 3;
      if (which == 3) return fail("unknown key '" + key + "' in the header");
      if (std::exchange(seen[which], true))
        return fail("the key '" + key + "' stands in the header twice");
      if (which == 0) {
        WGK_ASSIGN(descr, string());
      } else if (which == 1) {
        WGK_ASSIGN(fortran, boolean());
      } else {
        WGK_TRY(tuple(shape));
      }
      if (!take(',')) {
        WGK_TRY(expect('}'));
        break;
      }
    }
    skip();
    if (!rest_.empty()) return fail("text after the header's dict");
    if (!std::ranges::all_of(seen, std::identity()))
      return fail("the header lacks descr, fortran_order or shape");
    return {};
  }

 private:
  void skip() { rest_.remove_prefix(std::min(rest_.find_first_not_of(" \n"), rest_.size())); }

  bool take(char c) {
    skip();
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }

  Status expect(char c) {
    if (take(c)) return {};
    return fail("expected '" + std::string(1, c) + "' in the header");
  }

  Result<std::string> string() {
    skip();
    const char quote = rest_.empty() ? '\0' : rest_[0];
    const std::size_t end =
        quote == '\'' || quote == '"' ? rest_.find(quote, 1) : std::string_view::npos;
    if (end == std::string_view::npos) return fail("expected a string in the header");
    std::string text(rest_.substr(1, end - 1));
    rest_.remove_prefix(end + 1);
    return text;
  }

  Result<bool> boolean() {
    skip();
    for (const bool value : {false, true}) {
      const std::string_view word = value ? "True" : "False";
      if (!rest_.starts_with(word)) continue;
      rest_.remove_prefix(word.size());
      return value;
    }
    return fail("expected True or False in the header");
  }

  Status tuple(Shape& shape) {
    WGK_TRY(expect('('));
    while (!take(')')) {
      skip();
      std::int64_t dim = 0;
      const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), dim);
      if (error != std::errc() || dim < 0)
        return fail("a dimension of the shape is not an integer from 0 on");
      rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
      shape.push_back(dim);
      if (shape.size() > kMostDims) return fail("more than 64 dimensions");
      if (!take(',')) {
        WGK_TRY(expect(')'));
        break;
      }
    }
    return {};
  }

  std::string_view rest_;
};

Result<DType> dtype_of(const std::string& descr) {
  const auto found = std::ranges::find(kNpyTypes, std::string_view(descr),
                                       &std::pair<std::string_view, DType>::first);
  if (found != kNpyTypes.end()) return found->second;
  if (descr.starts_with('>')) return fail("its elements '" + descr + "' are big-endian");
  if (descr == "<f8")
    return fail("its elements are float64, which no port takes; convert to float32 first");
  return fail("its element type '" + descr +
              "' is none of float32, float16, int8, int16, int32, int64, uint8, uint32, bool");
}

// The dict, and how many bytes stand before the elements.
Result<std::pair<std::string_view, std::size_t>> split_header(std::string_view file) {
  if (!file.starts_with(kMagic) || file.size() < 10) return fail("it does not begin as one");
  const auto byte = [&](std::size_t i) {
    return static_cast<std::size_t>(static_cast<unsigned char>(file[i]));
  };
  const std::size_t major = byte(6);
  if (major < 1 || major > 3) return fail("unknown version " + std::to_string(major));
  const std::size_t start = major == 1 ? 10 : 12;
  if (file.size() < start) return fail("it ends in the header");
  std::size_t length = byte(8) | byte(9) << 8;
  if (major > 1) length |= byte(10) << 16 | byte(11) << 24;
  if (length > file.size() - start) {
    return fail("its header should have " + std::to_string(length) + " bytes; " +
                std::to_string(file.size() - start) + " are there");
  }
  return std::pair(file.substr(start, length), start + length);
}

}  // namespace

Result<HostArray> parse_npy(std::string_view file) {
  WGK_ASSIGN(const auto header, split_header(file));
  std::string descr;
  bool fortran = false;
  HostArray array;
  WGK_TRY(Header(header.first).read(descr, fortran, array.shape));
  WGK_ASSIGN(array.dtype, dtype_of(descr));
  if (fortran && array.shape.size() > 1)
    return fail("its elements stand in Fortran order; save it as a C-contiguous array");
  const auto count = element_count(array.shape);
  const auto bytes = count ? checked_mul<std::uint64_t>(static_cast<std::uint64_t>(*count),
                                                        host_bytes(array.dtype))
                           : Result<std::uint64_t>(std::unexpected(count.error()));
  if (!bytes) return fail("its shape is too large: " + bytes.error().message);
  const std::string_view data = file.substr(header.second);
  if (data.size() != *bytes) {
    return fail("its shape needs " + std::to_string(*bytes) + " bytes of data, got " +
                std::to_string(data.size()));
  }
  if (array.dtype == DType::boolean &&
      std::ranges::any_of(data, [](char c) { return c != 0 && c != 1; })) {
    return fail("a bool element is neither 0 nor 1");
  }
  array.data = data;
  return array;
}

std::string format_npy(DType dtype, const Shape& shape, std::span<const std::byte> data) {
  const auto type =
      std::ranges::find(kNpyTypes, dtype, &std::pair<std::string_view, DType>::second);
  std::string header =
      "{'descr': '" + std::string(type->first) + "', 'fortran_order': False, 'shape': (";
  for (std::size_t i = 0; i < shape.size(); ++i)
    header += (i == 0 ? "" : ", ") + std::to_string(shape[i]);
  header += shape.size() == 1 ? ",), }" : "), }";
  // Version 1 has 16 bits for the length of the header, which a few thousand dimensions exceed.
  constexpr std::size_t kMostShort = 0xffff - 64;
  const std::size_t length_bytes = header.size() <= kMostShort ? 2 : 4;
  // The elements begin at a multiple of 64, as NumPy aligns them.
  while ((kMagic.size() + 2 + length_bytes + header.size() + 1) % 64 != 0) header += ' ';
  header += '\n';
  std::string file(kMagic);
  file += {length_bytes == 2 ? '\x01' : '\x02', '\x00'};
  for (std::size_t i = 0; i < length_bytes; ++i)
    file += static_cast<char>(header.size() >> (8 * i) & 0xff);
  file += header;
  file.append(reinterpret_cast<const char*>(data.data()), data.size());
  return file;
}

}  // namespace wgk::io
