// SPDX-License-Identifier: Apache-2.0
// Every element type of the format, from host arrays to shaders and back.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <string>

#include "runtime/test_support.h"

namespace wgk {
namespace {

using testing::contains;
using testing::make_package;
using testing::shared_runtime;

// y = x in any type; `seen` is what the shader reads, floats times four, and the index for int64,
// with which no shader may compute.
Package copy_package() {
  return make_package(R"json({
    "domain": "test", "name": "Copy",
    "inputs": {"x": {"dtype": "T"}},
    "outputs": {"y": {"dtype": "T", "shape": "shapes.x"}, "seen": {"dtype": "int32", "shape": "shapes.x"}},
    "typeConstraints": {"T": ["float32", "float16", "int8", "int16", "int32", "int64", "uint8", "uint32", "bool"]},
    "variants": [{"id": "only", "passes": [{"id": "main", "shader": "s.wgsl.jinja", "bindings": ["x", "y", "seen"],
      "dispatch": {"workgroups": 1}}]}]
  })json",
                      R"wgsl({{ env.wgsl.resourceDeclarations }}
@compute @workgroup_size(64) fn main(@builtin(local_invocation_index) i: u32) {
  if (i >= arrayLength(&seen)) { return; }
  y[i] = x[i];
{% if logicalDtypes.T == "int64" %}  seen[i] = bitcast<i32>(i);
{% elif dtypes.T == "f16" or dtypes.T == "f32" %}  seen[i] = i32(x[i] * 4);
{% else %}  seen[i] = bitcast<i32>(x[i]);
{% endif %}})wgsl");
}

// y = x, both int64 that the device holds as 32 bits.
Package narrow_package(std::string_view storage, std::string_view narrowing) {
  return make_package(
      std::string(
          R"json({"domain": "test", "name": "Narrow", "inputs": {"x": {"dtype": "int64", "storage": ")json")
          .append(storage)
          .append(R"json(", "narrowing": ")json")
          .append(narrowing)
          .append(
              R"json("}}, "outputs": {"y": {"dtype": "int64", "shape": "shapes.x", "storage": ")json")
          .append(storage)
          .append(
              R"json("}}, "variants": [{"id": "only", "passes": [{"id": "main", "shader": "s.wgsl.jinja",
      "bindings": ["x", "y"], "dispatch": {"workgroups": 1}}]}]})json"),
      R"wgsl({{ env.wgsl.resourceDeclarations }}
@compute @workgroup_size(64) fn main(@builtin(local_invocation_index) i: u32) {
  if (i < arrayLength(&y)) { y[i] = x[i]; }
})wgsl");
}

struct Row {
  DType dtype;
  std::vector<std::byte> host;
  std::uint64_t device_bytes;
  std::vector<std::int32_t> seen;
};

template <class T, std::size_t N>
Row row(DType dtype, std::uint64_t device_bytes, const std::array<T, N>& values,
        const std::array<std::int32_t, N>& seen) {
  std::vector<std::byte> bytes(sizeof values);
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return {dtype, std::move(bytes), device_bytes, {seen.begin(), seen.end()}};
}

// Odd numbers of elements, so that 16-bit types end inside a word.
std::vector<Row> all_rows() {
  using std::array;
  constexpr std::int64_t kWide = (std::int64_t{7} << 40) + 5;
  return {
      row(DType::f32, 12, array{1.0F, -2.5F, 1024.25F}, array{4, -10, 4097}),
      // Bits of 1, -2.5 and 255.875.
      row(DType::f16, 6, array<std::uint16_t, 3>{0x3c00, 0xc100, 0x5bff}, array{4, -10, 1023}),
      row(DType::i8, 12, array<std::int8_t, 3>{-128, 0, 127}, array{-128, 0, 127}),
      row(DType::i16, 12, array<std::int16_t, 3>{-32768, -1, 32767}, array{-32768, -1, 32767}),
      row(DType::i32, 12, array{-5, 1 << 30, 0}, array{-5, 1 << 30, 0}),
      row(DType::i64, 24, array<std::int64_t, 3>{kWide, -1, 3}, array{0, 1, 2}),
      row(DType::u8, 12, array<std::uint8_t, 3>{0, 200, 255}, array{0, 200, 255}),
      row(DType::u32, 12, array{0U, 0xffffffffU, 7U}, array{0, -1, 7}),
      row(DType::boolean, 12, array{true, false, true}, array{1, 0, 1}),
  };
}

class DTypes : public testing::RuntimeTest {
 protected:
  const Runtime& runtime = shared_runtime();
};

TEST_F(DTypes, EveryOneGoesBothWays) {
  const Kernel copy = *runtime.load(copy_package());
  const std::vector<Row> rows = all_rows();
  ASSERT_EQ(rows.size(), 9);
  for (const Row& given : rows) {
    SCOPED_TRACE(name(given.dtype));
    if (given.dtype == DType::f16 && !runtime.caps().has_feature("shader-f16")) continue;
    const HostTensor host(given.host, given.dtype, {3});
    const auto uploaded = runtime.upload(host);
    ASSERT_TRUE(uploaded) << uploaded.error().to_string();
    EXPECT_EQ(uploaded->byte_length(), given.device_bytes);
    EXPECT_EQ(uploaded->download()->data, given.host);
    for (const bool read_back : {false, true}) {
      for (const TensorArgument& x : {TensorArgument(host), TensorArgument(*uploaded)}) {
        const auto result = copy.call({{"x", x}}, {.read_back = read_back});
        ASSERT_TRUE(result) << result.error().to_string();
        const auto y = result->at("y").download();
        ASSERT_TRUE(y) << y.error().to_string();
        EXPECT_EQ(y->dtype, given.dtype);
        EXPECT_EQ(y->data, given.host);
        EXPECT_EQ(*result->at("seen").download<std::int32_t>(), given.seen);
      }
    }
  }
}

TEST_F(DTypes, ADownloadNamesTheTypeThatIsThere) {
  const Tensor tensor = *runtime.upload(HostTensor(std::vector<std::int8_t>{1, 2}, {2}));
  const auto wrong = tensor.download<float>();
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code, "request/dtype");
}

TEST_F(DTypes, PackedBytesLieFourToAWord) {
  const Kernel unpack = *runtime.load(make_package(R"json({
    "domain": "test", "name": "Unpack", "inputs": {"x": {"dtype": "uint8", "layout": "packed"}},
    "outputs": {"y": {"dtype": "uint32", "shape": "shapes.x"}},
    "variants": [{"id": "only", "passes": [{"id": "main", "shader": "s.wgsl.jinja", "bindings": ["x", "y"],
      "dispatch": {"workgroups": 1}}]}]})json",
                                                   R"wgsl({{ env.wgsl.resourceDeclarations }}
@compute @workgroup_size(64) fn main(@builtin(local_invocation_index) i: u32) {
  if (i < arrayLength(&y)) { y[i] = extractBits(x[i / 4u], 8u * (i % 4u), 8u); }
})wgsl"));
  const std::vector<std::uint8_t> bytes = {1, 2, 254, 255, 128};
  const HostTensor host(bytes, {5});
  const auto packed = runtime.upload(host, {.form = {.packed = true}});
  ASSERT_TRUE(packed) << packed.error().to_string();
  EXPECT_EQ(packed->byte_length(), 8);
  EXPECT_EQ(*packed->download<std::uint8_t>(), bytes);
  for (const TensorArgument& x : {TensorArgument(host), TensorArgument(*packed)}) {
    const auto result = unpack.call({{"x", x}});
    ASSERT_TRUE(result) << result.error().to_string();
    EXPECT_EQ(*result->at("y").download<std::uint32_t>(),
              std::vector<std::uint32_t>({1, 2, 254, 255, 128}));
  }
}

TEST_F(DTypes, CheckedNarrowingRefusesWhatDoesNotFit) {
  const Kernel checked = *runtime.load(narrow_package("int32", "checked"));
  std::vector<std::int64_t> values = {-5, std::numeric_limits<std::int32_t>::min(),
                                      std::numeric_limits<std::int32_t>::max()};
  const auto result = checked.call({{"x", HostTensor(values, {3})}});
  ASSERT_TRUE(result) << result.error().to_string();
  EXPECT_EQ(result->at("y").byte_length(), 12);
  EXPECT_EQ(result->at("y").storage(), DType::i32);
  EXPECT_EQ(*result->at("y").download<std::int64_t>(), values);
  values[1] = std::int64_t{1} << 31;
  const auto refused = checked.call({{"x", HostTensor(values, {3})}});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, "request/value");
  EXPECT_TRUE(contains(refused.error().message, "2147483648"));
}

TEST_F(DTypes, SaturatingNarrowingClamps) {
  const std::vector<std::int64_t> values = {-7, 5, std::int64_t{1} << 40};
  const auto clamped = [&](std::string_view storage) {
    const Kernel saturating = *runtime.load(narrow_package(storage, "saturating"));
    const auto result = saturating.call({{"x", HostTensor(values, {3})}});
    EXPECT_TRUE(result) << result.error().to_string();
    return result ? *result->at("y").download<std::int64_t>() : std::vector<std::int64_t>();
  };
  EXPECT_EQ(clamped("int32"), std::vector<std::int64_t>({-7, 5, 2147483647}));
  EXPECT_EQ(clamped("uint32"), std::vector<std::int64_t>({0, 5, 4294967295}));
}

}  // namespace
}  // namespace wgk
