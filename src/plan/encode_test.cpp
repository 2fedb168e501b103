// SPDX-License-Identifier: Apache-2.0
#include "plan/encode.h"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>

namespace wgk::planning {
namespace {

PlanTensor tensor(DType dtype, DType storage, Shape shape, bool packed = false) {
  PlanTensor result;
  result.port = "x";
  result.dtype = dtype;
  result.storage = storage;
  result.packed = packed;
  std::int64_t elements = 1;
  for (const std::int64_t extent : shape) elements *= extent;
  result.shape = std::move(shape);
  result.byte_length = *device_byte_length(storage, packed, elements);
  result.buffer_size = padded_size(result.byte_length);
  result.is_input = true;
  return result;
}

template <class T>
std::span<const std::byte> bytes_of(const std::vector<T>& values) {
  return std::as_bytes(std::span(values));
}

template <class To>
std::vector<To> as(std::span<const std::byte> bytes) {
  std::vector<To> values(bytes.size() / sizeof(To));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(To));
  return values;
}

TEST(Encode, SizesArePaddedToWords) {
  EXPECT_EQ(padded_size(0), 4U);
  EXPECT_EQ(padded_size(6), 8U);
  EXPECT_EQ(*device_byte_length(DType::i8, false, 3), 12U);
  EXPECT_EQ(*device_byte_length(DType::u8, true, 5), 8U);
  EXPECT_EQ(*device_byte_length(DType::i64, false, 2), 16U);
  EXPECT_EQ(
      device_byte_length(DType::f32, false, std::numeric_limits<std::int64_t>::max()).error().code,
      "limit/buffer");
}

TEST(Encode, KnowsWhatHasTheFormOfTheDevice) {
  EXPECT_TRUE(has_device_form(DType::f32, tensor(DType::f32, DType::f32, {3}), 12));
  EXPECT_TRUE(has_device_form(DType::u8, tensor(DType::u8, DType::u8, {8}, true), 8));
  EXPECT_FALSE(has_device_form(DType::f16, tensor(DType::f16, DType::f16, {3}), 6));  // padded
  EXPECT_FALSE(has_device_form(DType::i8, tensor(DType::i8, DType::i8, {4}), 4));     // widened
  EXPECT_FALSE(has_device_form(DType::i64, tensor(DType::i64, DType::i32, {1}), 8));  // narrowed
}

TEST(Encode, WidensSmallIntegers) {
  const std::vector<std::int8_t> bytes = {-1, 2, -128};
  EXPECT_EQ(
      as<std::int32_t>(*encode(bytes_of(bytes), DType::i8, tensor(DType::i8, DType::i8, {3}))),
      (std::vector<std::int32_t>{-1, 2, -128}));
  const std::vector<std::int16_t> shorts = {-300, 300};
  EXPECT_EQ(
      as<std::int32_t>(*encode(bytes_of(shorts), DType::i16, tensor(DType::i16, DType::i16, {2}))),
      (std::vector<std::int32_t>{-300, 300}));
  const std::vector<std::uint8_t> flags = {1, 0, 255};
  EXPECT_EQ(as<std::uint32_t>(*encode(bytes_of(flags), DType::boolean,
                                      tensor(DType::boolean, DType::boolean, {3}))),
            (std::vector<std::uint32_t>{1, 0, 255}));
  EXPECT_EQ(as<std::uint32_t>(
                *encode(bytes_of(flags), DType::u8, tensor(DType::boolean, DType::boolean, {3}))),
            (std::vector<std::uint32_t>{1, 0, 255}));
}

TEST(Encode, KeepsHalvesAndPadsTheTail) {
  const std::vector<std::uint16_t> halves = {0x3c00, 0x4000, 0xfbff};
  EXPECT_EQ(
      as<std::uint16_t>(*encode(bytes_of(halves), DType::f16, tensor(DType::f16, DType::f16, {3}))),
      (std::vector<std::uint16_t>{0x3c00, 0x4000, 0xfbff, 0}));
}

TEST(Encode, PacksBytesLittleEndian) {
  const std::vector<std::uint8_t> bytes = {1, 2, 3, 4, 5};
  EXPECT_EQ(as<std::uint32_t>(
                *encode(bytes_of(bytes), DType::u8, tensor(DType::u8, DType::u8, {5}, true))),
            (std::vector<std::uint32_t>{0x04030201, 5}));
}

TEST(Encode, NarrowsInt64) {
  const std::vector<std::int64_t> wide = {1, -5, std::numeric_limits<std::int64_t>::max(),
                                          std::numeric_limits<std::int64_t>::min()};
  PlanTensor saturating = tensor(DType::i64, DType::i32, {4});
  saturating.narrowing = "saturating";
  EXPECT_EQ(as<std::int32_t>(*encode(bytes_of(wide), DType::i64, saturating)),
            (std::vector<std::int32_t>{1, -5, std::numeric_limits<std::int32_t>::max(),
                                       std::numeric_limits<std::int32_t>::min()}));
  saturating.storage = DType::u32;
  EXPECT_EQ(as<std::uint32_t>(*encode(bytes_of(wide), DType::i64, saturating)),
            (std::vector<std::uint32_t>{1, 0, std::numeric_limits<std::uint32_t>::max(), 0}));

  PlanTensor checked = tensor(DType::i64, DType::i32, {4});
  checked.narrowing = "checked";
  const auto refused = encode(bytes_of(wide), DType::i64, checked);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, "request/value");
  EXPECT_EQ(refused.error().message,
            "'x' has 9223372036854775807 at index 2, outside the range of its int32 buffer, "
            "-2147483648 to 2147483647");
  const std::vector<std::int64_t> fits = {-2147483648, 2147483647, 0, 3};
  EXPECT_EQ(
      as<std::int32_t>(*encode(bytes_of(fits), DType::i64, checked)),
      (std::vector<std::int32_t>{std::numeric_limits<std::int32_t>::min(), 2147483647, 0, 3}));
}

TEST(Encode, RefusesOtherLengthsAndTypes) {
  const std::vector<float> values = {1, 2, 3};
  EXPECT_EQ(encode(bytes_of(values), DType::f32, tensor(DType::f32, DType::f32, {2})).error().code,
            "request/length");
  EXPECT_EQ(encode(bytes_of(values), DType::f32, tensor(DType::i32, DType::i32, {3})).error().code,
            "request/dtype");
  std::array<std::byte, 8> small{};
  EXPECT_EQ(
      encode(bytes_of(values), DType::f32, tensor(DType::f32, DType::f32, {3}), small).error().code,
      "request/length");
}

TEST(Encode, ZeroElementsFillTheirBuffer) {
  EXPECT_EQ(*encode({}, DType::f32, tensor(DType::f32, DType::f32, {0, 5})),
            std::vector<std::byte>(4));
}

// Every logical type comes back as it went in.
TEST(Decode, UndoesEncode) {
  const std::vector<std::uint8_t> raw = {0, 1, 255, 128, 7,   0,   0,   0,
                                         1, 0, 0,   0,   255, 255, 255, 255};
  for (const DType dtype : {DType::f32, DType::f16, DType::i8, DType::i16, DType::i32, DType::i64,
                            DType::u8, DType::u32}) {
    const auto count = static_cast<std::int64_t>(raw.size() / host_bytes(dtype));
    const PlanTensor form = tensor(dtype, dtype, {count});
    const auto device = encode(bytes_of(raw), dtype, form);
    ASSERT_TRUE(device) << name(dtype);
    std::vector<std::byte> back(*host_byte_length(form));
    ASSERT_TRUE(decode(*device, form, back)) << name(dtype);
    EXPECT_EQ(as<std::uint8_t>(back), raw) << name(dtype);
  }
}

TEST(Decode, WrapsNarrowIntegersAndWidensProjectedOnes) {
  const std::vector<std::int32_t> words = {300, -129, -1, 2};
  std::vector<std::byte> narrow(4);
  ASSERT_TRUE(decode(bytes_of(words), tensor(DType::i8, DType::i8, {4}), narrow));
  EXPECT_EQ(as<std::int8_t>(narrow), (std::vector<std::int8_t>{44, 127, -1, 2}));
  ASSERT_TRUE(decode(bytes_of(words), tensor(DType::boolean, DType::boolean, {4}), narrow));
  EXPECT_EQ(as<std::uint8_t>(narrow), (std::vector<std::uint8_t>{1, 1, 1, 1}));
  std::vector<std::byte> wide(32);
  ASSERT_TRUE(decode(bytes_of(words), tensor(DType::i64, DType::i32, {4}), wide));
  EXPECT_EQ(as<std::int64_t>(wide), (std::vector<std::int64_t>{300, -129, -1, 2}));
  ASSERT_TRUE(decode(bytes_of(words), tensor(DType::i64, DType::u32, {4}), wide));
  EXPECT_EQ(as<std::int64_t>(wide), (std::vector<std::int64_t>{300, 4294967167, 4294967295, 2}));
}

TEST(Decode, RefusesOtherSizes) {
  std::vector<std::byte> host(8);
  const std::vector<std::int32_t> words = {1};
  EXPECT_EQ(decode(bytes_of(words), tensor(DType::f32, DType::f32, {2}), host).error().code,
            "request/length");
  EXPECT_EQ(decode(bytes_of(words), tensor(DType::f32, DType::f32, {1}), host).error().code,
            "request/length");
}

}  // namespace
}  // namespace wgk::planning
