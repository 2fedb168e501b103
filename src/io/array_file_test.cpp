// SPDX-License-Identifier: Apache-2.0
#include "io/array_file.h"

#include <gtest/gtest.h>

#include <sys/stat.h>

#include <filesystem>

#include "base/contains_test.h"
#include "io/file_set.h"
#include "io/files.h"

namespace wgk::io {
namespace {

class TemporaryFolder : public testing::Test {
 protected:
  void SetUp() override {
    path_ = std::filesystem::path(testing::TempDir()) / ("wgk_io_" + std::to_string(::getpid()));
    std::filesystem::create_directories(path_);
  }
  void TearDown() override { std::filesystem::remove_all(path_); }

  std::filesystem::path path_;
};
using Files = TemporaryFolder;
using Safetensors = TemporaryFolder;

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

std::string npy(std::string_view dict, std::string_view data = "") {
  std::string file("\x93NUMPY\x01\x00", 8);
  file += static_cast<char>(dict.size() & 0xff);
  file += static_cast<char>(dict.size() >> 8);
  return file + std::string(dict) + std::string(data);
}

std::string error_of(std::string_view file) {
  const auto array = parse_npy(file);
  return array ? "" : array.error().to_string();
}

TEST(Npy, WritesWhatNumPyWrites) {
  const std::string data(24, 'x');
  const std::string file = format_npy(DType::f32, {2, 3}, bytes_of(data));
  EXPECT_EQ(file.size(), 128u + 24u);
  EXPECT_EQ(file.substr(10, 59), "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }");
  EXPECT_EQ(file[127], '\n');
  EXPECT_NE(format_npy(DType::i64, {3}, bytes_of(data)).find("'shape': (3,), }"),
            std::string::npos);
  EXPECT_NE(format_npy(DType::f32, {}, bytes_of("abcd")).find("'shape': (), }"), std::string::npos);
}

// The length of a header has 16 bits in version 1 of the format, 32 in version 2.
TEST(Npy, WritesHeadersOfAnyLength) {
  for (const std::size_t rank : {21000U, 22000U, 100000U}) {
    const std::string file = format_npy(DType::f32, Shape(rank, 1), bytes_of("abcd"));
    const bool wide = rank > 21820;
    EXPECT_EQ(file[6], wide ? 2 : 1) << rank;
    std::size_t length = 0;
    for (std::size_t i = 0; i < (wide ? 4U : 2U); ++i)
      length |= static_cast<std::size_t>(static_cast<unsigned char>(file[8 + i])) << (8 * i);
    EXPECT_EQ(8 + (wide ? 4 : 2) + length + 4, file.size()) << rank;
    EXPECT_EQ((file.size() - 4) % 64, 0U);
    EXPECT_TRUE(contains(parse_npy(file).error().message, "more than 64 dimensions"));
  }
}

TEST(Npy, ReadsBackEveryType) {
  for (const DType dtype : {DType::f32, DType::f16, DType::i8, DType::i16, DType::i32, DType::i64,
                            DType::u8, DType::u32, DType::boolean}) {
    const std::string data(6 * host_bytes(dtype), '\x01');
    const auto array = parse_npy(format_npy(dtype, {3, 2}, bytes_of(data)));
    ASSERT_TRUE(array.has_value()) << array.error().to_string();
    EXPECT_EQ(array->dtype, dtype);
    EXPECT_EQ(array->shape, (Shape{3, 2}));
    EXPECT_EQ(array->data, data);
  }
}

TEST(Npy, RefusesWhatIsNotWhatItSays) {
  EXPECT_TRUE(contains(error_of(""), "does not begin as one"));
  EXPECT_TRUE(contains(error_of("\x93NUMPY\x01"), "does not begin as one"));
  EXPECT_TRUE(contains(
      error_of(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", "1234567")),
      "needs 8 bytes of data, got 7"));
  EXPECT_TRUE(
      contains(error_of(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }", "12345")),
               "got 5"));
  EXPECT_TRUE(
      contains(error_of(npy("{'descr': '<f8', 'fortran_order': False, 'shape': (), }", "12345678")),
               "float64"));
  EXPECT_TRUE(
      contains(error_of(npy("{'descr': '>f4', 'fortran_order': False, 'shape': (), }", "1234")),
               "big-endian"));
  EXPECT_TRUE(
      contains(error_of(npy("{'descr': '<f4', 'fortran_order': True, 'shape': (1, 1), }", "1234")),
               "Fortran"));
  EXPECT_TRUE(contains(error_of(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }")),
                       "dimension"));
  EXPECT_TRUE(contains(
      error_of(
          npy("{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 4), }")),
      "too large"));
  EXPECT_TRUE(
      contains(error_of(npy("{'descr': '<f4', 'fortran_order': False, }", "1234")), "lacks"));
  EXPECT_TRUE(contains(
      error_of(
          npy("{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (), }", "1234")),
      "twice"));
  EXPECT_TRUE(contains(
      error_of(npy("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (), }", "1234")),
      "expected a string"));
  EXPECT_TRUE(
      contains(error_of(npy("{'descr': '|b1', 'fortran_order': False, 'shape': (1,), }", "\x02")),
               "neither 0 nor 1"));
  EXPECT_TRUE(contains(error_of(std::string("\x93NUMPY\x01\x00\xff\xff{", 11)),
                       "its header should have 65535 bytes"));
}

TEST_F(Files, AreWrittenWholeOrNotAtAll) {
  ASSERT_TRUE(write_file(path_ / "a", "one").has_value());
  ASSERT_TRUE(write_file(path_ / "a", "two").has_value());
  EXPECT_EQ(*read_file(path_ / "a"), "two");
  std::filesystem::create_directory(path_ / "folder");
  const Status failed = write_file(path_ / "folder", "x");
  ASSERT_FALSE(failed.has_value());
  EXPECT_EQ(failed.error().code, "io/write");
  EXPECT_FALSE(write_file(path_ / "nosuch" / "b", "x").has_value());
  std::size_t files = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(path_)) ++files;
  EXPECT_EQ(files, 2u);  // no temporary file is left
}

TEST_F(Files, OfASetAppearTogetherOrNotAtAll) {
  ASSERT_TRUE(write_file(path_ / "a", "old").has_value());
  std::filesystem::create_directory(path_ / "folder");
  for (const char* bad : {"folder", "nosuch/b"}) {
    FileSet set;
    ASSERT_TRUE(set.add(path_ / "a", "new").has_value());
    EXPECT_EQ(*read_file(path_ / "a"), "old");
    const Status failed = set.add(path_ / bad, "new");
    ASSERT_FALSE(failed.has_value()) << bad;
    EXPECT_EQ(failed.error().code, "io/write");
  }
  EXPECT_EQ(*read_file(path_ / "a"), "old");
  FileSet set;
  ASSERT_TRUE(set.add(path_ / "a", "new").has_value());
  ASSERT_TRUE(set.add(path_ / "b", "more").has_value());
  ASSERT_TRUE(set.commit().has_value());
  EXPECT_EQ(*read_file(path_ / "a"), "new");
  EXPECT_EQ(*read_file(path_ / "b"), "more");
  std::size_t files = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(path_)) ++files;
  EXPECT_EQ(files, 3u);  // no temporary file is left
}

TEST_F(Files, RefuseWhatIsNoRegularFile) {
  ASSERT_EQ(::mkfifo((path_ / "pipe").c_str(), 0600), 0);
  EXPECT_TRUE(contains(read_file(path_ / "pipe").error().message, "not a regular file"));
  EXPECT_TRUE(contains(read_file(path_).error().message, "not a regular file"));
  ASSERT_TRUE(write_file(path_ / "long", "12345").has_value());
  EXPECT_TRUE(
      contains(read_file(path_ / "long", 4).error().message, "has 5 bytes; the limit is 4"));
  EXPECT_EQ(*read_range(path_ / "long", 1, 3), "234");
  EXPECT_FALSE(read_range(path_ / "long", 3, 3).has_value());
}

std::string safetensors(const std::string& header, std::string_view data) {
  std::string file;
  for (int i = 0; i < 8; ++i) file += static_cast<char>(header.size() >> (8 * i));
  return file + header + std::string(data);
}

TEST_F(Safetensors, GiveOneTensor) {
  const std::string header =
      R"({"__metadata__": {"a": "b"}, "w": {"dtype": "F16", "shape": [2], "data_offsets": [4, 8]},
                                 "b": {"dtype": "U8", "shape": [4], "data_offsets": [0, 4]}})";
  const std::filesystem::path file = path_ / "m.safetensors";
  ASSERT_TRUE(write_file(file, safetensors(header, "aaaabbbb")).has_value());
  const auto array = read_array(file.string() + ":w");
  ASSERT_TRUE(array.has_value()) << array.error().to_string();
  EXPECT_EQ(array->dtype, DType::f16);
  EXPECT_EQ(array->shape, Shape{2});
  EXPECT_EQ(array->data, "bbbb");
  const auto missing = read_array(file.string() + ":v");
  ASSERT_FALSE(missing.has_value());
  EXPECT_EQ(missing.error().code, "io/format");
}

TEST_F(Safetensors, RefuseWrongHeaders) {
  const auto error = [](std::string_view header, std::uint64_t bytes) {
    return find_safetensors_entry(header, "w", bytes).error().to_string();
  };
  EXPECT_TRUE(contains(error(R"({"w": {"dtype": "F32", "shape": [2], "data_offsets": [0, 4]}})", 8),
                       "needs 8 bytes, got 4"));
  EXPECT_TRUE(
      contains(error(R"({"w": {"dtype": "F32", "shape": [2], "data_offsets": [4, 12]}})", 8),
               "data_offsets[1]"));
  EXPECT_TRUE(contains(
      error(R"({"w": {"dtype": "BF16", "shape": [2], "data_offsets": [0, 4]}})", 8), "BF16"));
  EXPECT_TRUE(contains(
      error(R"({"w": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8], "x": 1}})", 8), "x"));
  EXPECT_TRUE(contains(error(R"({"w": )", 8), "not a usable safetensors header"));
  std::string ones = "1";
  for (int i = 0; i < 64; ++i) ones += ",1";
  EXPECT_TRUE(contains(
      error(R"({"w": {"dtype": "F32", "shape": [)" + ones + R"(], "data_offsets": [0, 4]}})", 8),
      "w.shape: has 65 dimensions; expected at most 64"));
  const std::filesystem::path file = path_ / "bad.safetensors";
  ASSERT_TRUE(write_file(file, std::string(8, '\xff') + "{}").has_value());
  EXPECT_TRUE(contains(read_array(file.string() + ":w").error().message, "its header should have"));
}

}  // namespace
}  // namespace wgk::io
