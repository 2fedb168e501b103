// SPDX-License-Identifier: Apache-2.0
#include "plan/encode.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <type_traits>

#include "base/checked.h"
#include "base/try.h"

namespace wgk::planning {
namespace {

template <class T>
T load(const std::byte* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof(T));
  return value;
}

template <class T>
void store(std::byte* bytes, T value) {
  std::memcpy(bytes, &value, sizeof(T));
}

template <class From, class To>
void convert(std::span<const std::byte> from, std::byte* to) {
  const std::size_t count = from.size() / sizeof(From);
  for (std::size_t i = 0; i < count; ++i) {
    store<To>(to + i * sizeof(To), static_cast<To>(load<From>(from.data() + i * sizeof(From))));
  }
}

// Integers that buffers hold in one 32-bit word: signed or unsigned.
enum class Word { kNone, kSigned, kUnsigned };
Word word_of(DType dtype) {
  switch (dtype) {
    case DType::i8:
    case DType::i16:
    case DType::i32: return Word::kSigned;
    case DType::u8:
    case DType::u32:
    case DType::boolean: return Word::kUnsigned;
    default: return Word::kNone;
  }
}

void widen(std::span<const std::byte> host, DType host_type, std::byte* out) {
  switch (host_type) {
    case DType::i8: return convert<std::int8_t, std::int32_t>(host, out);
    case DType::i16: return convert<std::int16_t, std::int32_t>(host, out);
    case DType::u8:
    case DType::boolean: return convert<std::uint8_t, std::uint32_t>(host, out);
    default:
      if (!host.empty()) std::memcpy(out, host.data(), host.size());
  }
}

struct Range {
  std::int64_t min, max;
};
Range range_of(DType storage) {
  if (storage == DType::i32)
    return {std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max()};
  return {0, std::numeric_limits<std::uint32_t>::max()};
}

void narrow_saturating(std::span<const std::byte> host, DType storage, std::byte* out) {
  const Range range = range_of(storage);
  const std::size_t count = host.size() / sizeof(std::int64_t);
  for (std::size_t i = 0; i < count; ++i) {
    const auto value = std::clamp(load<std::int64_t>(host.data() + i * sizeof(std::int64_t)),
                                  range.min, range.max);
    store<std::uint32_t>(out + i * sizeof(std::uint32_t), static_cast<std::uint32_t>(value));
  }
}

bool is_narrowed(DType host_type, const PlanTensor& tensor) {
  return host_type == DType::i64 && (tensor.storage == DType::i32 || tensor.storage == DType::u32);
}

Status expect_size(std::string_view what, const PlanTensor& tensor, std::size_t given,
                   std::uint64_t needed) {
  if (given == needed) return {};
  return failure("request/length", std::string(what) + " of '" + tensor.port + "' has " +
                                       std::to_string(given) + " bytes; expected " +
                                       std::to_string(needed));
}

}  // namespace

Result<std::uint64_t> device_byte_length(DType storage, bool packed, std::int64_t elements) {
  const auto count = static_cast<std::uint64_t>(elements);
  if (packed) return checked_round_up<std::uint64_t>(count, 4);
  return checked_mul<std::uint64_t>(count, device_bytes(storage));
}

std::uint64_t padded_size(std::uint64_t byte_length) {
  return std::max<std::uint64_t>(4, (byte_length + 3) / 4 * 4);
}

bool can_encode(DType host, DType dtype, DType storage) {
  if (host == DType::i64)
    return storage == DType::i64 || (dtype == DType::i64 && word_of(storage) != Word::kNone);
  if (host == storage) return true;
  return word_of(host) != Word::kNone && word_of(host) == word_of(storage);
}

bool has_device_form(DType host, const PlanTensor& tensor, std::size_t size) {
  if (size != tensor.buffer_size) return false;
  if (tensor.packed) return true;
  return host == tensor.storage && host_bytes(host) == device_bytes(host);
}

Status check_narrowing(std::span<const std::byte> host, DType storage, std::string_view port) {
  const Range range = range_of(storage);
  const std::size_t count = host.size() / sizeof(std::int64_t);
  for (std::size_t i = 0; i < count; ++i) {
    const auto value = load<std::int64_t>(host.data() + i * sizeof(std::int64_t));
    if (value >= range.min && value <= range.max) continue;
    return failure("request/value", "'" + std::string(port) + "' has " + std::to_string(value) +
                                        " at index " + std::to_string(i) +
                                        ", outside the range of its " + std::string(name(storage)) +
                                        " buffer, " + std::to_string(range.min) + " to " +
                                        std::to_string(range.max));
  }
  return {};
}

Result<std::uint64_t> host_byte_length(const PlanTensor& tensor) {
  WGK_ASSIGN(const std::int64_t elements, element_count(tensor.shape));
  return checked_mul<std::uint64_t>(static_cast<std::uint64_t>(elements), host_bytes(tensor.dtype));
}

Status encode(std::span<const std::byte> host, DType host_type, const PlanTensor& tensor,
              std::span<std::byte> out) {
  WGK_ASSIGN(const std::int64_t elements, element_count(tensor.shape));
  WGK_TRY(expect_size("data", tensor, host.size(),
                      static_cast<std::uint64_t>(elements) * host_bytes(host_type)));
  if (out.size() < tensor.byte_length)
    return expect_size("buffer", tensor, out.size(), tensor.byte_length);
  if (!can_encode(host_type, tensor.dtype, tensor.storage)) {
    return failure("request/dtype", "'" + tensor.port + "' cannot take an array of " +
                                        std::string(name(host_type)) + "; expected " +
                                        std::string(name(tensor.dtype)));
  }
  const auto tail = out.subspan(tensor.packed ? host.size() : tensor.byte_length);
  if (!tail.empty()) std::memset(tail.data(), 0, tail.size());
  if (tensor.packed) {
    if (!host.empty()) std::memcpy(out.data(), host.data(), host.size());
  } else if (is_narrowed(host_type, tensor)) {
    if (tensor.narrowing != "saturating") {
      WGK_TRY(check_narrowing(host, tensor.storage, tensor.port));
    }
    narrow_saturating(host, tensor.storage, out.data());
  } else {
    widen(host, host_type, out.data());
  }
  return {};
}

Result<std::vector<std::byte>> encode(std::span<const std::byte> host, DType host_type,
                                      const PlanTensor& tensor) {
  std::vector<std::byte> out(tensor.buffer_size);
  WGK_TRY(encode(host, host_type, tensor, out));
  return out;
}

Status decode(std::span<const std::byte> device, const PlanTensor& tensor,
              std::span<std::byte> host) {
  WGK_ASSIGN(const std::uint64_t needed, host_byte_length(tensor));
  WGK_TRY(expect_size("array", tensor, host.size(), needed));
  if (device.size() < tensor.byte_length)
    return expect_size("read-back", tensor, device.size(), tensor.byte_length);
  const auto bytes = device.first(tensor.byte_length);
  if (tensor.packed) {
    if (!host.empty()) std::memcpy(host.data(), device.data(), host.size());
    return {};
  }
  switch (tensor.dtype) {
    case DType::i8: convert<std::int32_t, std::int8_t>(bytes, host.data()); break;
    case DType::i16: convert<std::int32_t, std::int16_t>(bytes, host.data()); break;
    case DType::u8: convert<std::uint32_t, std::uint8_t>(bytes, host.data()); break;
    case DType::boolean:
      for (std::size_t i = 0; i < host.size(); ++i)
        host[i] = std::byte{load<std::uint32_t>(bytes.data() + i * 4) != 0};
      break;
    case DType::i64:
      if (tensor.storage == DType::i32) {
        convert<std::int32_t, std::int64_t>(bytes, host.data());
        break;
      }
      if (tensor.storage == DType::u32) {
        convert<std::uint32_t, std::int64_t>(bytes, host.data());
        break;
      }
      [[fallthrough]];
    default:
      if (!host.empty()) std::memcpy(host.data(), bytes.data(), host.size());
  }
  return {};
}

}  // namespace wgk::planning
