// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/base64.h"
#include "base/checked.h"
#include "base/digest.h"
#include "base/error_codes.h"
#include "base/half.h"
#include "base/number.h"
#include "base/saturate.h"
#include "base/suggest.h"
#include "base/text.h"
#include "wgk/dtype.h"
#include "wgk/error.h"

namespace wgk {
namespace {

TEST(Error, PrintsCodeChainHintAndOthers) {
  Error error{"request/missing", "input 'x' was not given", {}, "pass it", {}};
  error.others.push_back({"request/rank", "input 'y' has rank 1, expected 2"});
  const Error outer = std::move(error).during("checking request for test.Op");
  EXPECT_EQ(outer.to_string(),
            "error[request/missing]: input 'x' was not given\n"
            "  while checking request for test.Op\n"
            "hint: pass it\n"
            "error[request/rank]: input 'y' has rank 1, expected 2\n"
            "  while checking request for test.Op");
}

// Errors quote names out of files of strangers.
TEST(Error, ShowsNothingThatATerminalObeysAndNothingEndless) {
  const Error forged{"package/json", "the key '\x1b[2J\r\nerror[a/b]: x'"};
  EXPECT_EQ(forged.to_string(), "error[package/json]: the key '\\x1b[2J\\x0d\n    error[a/b]: x'");
  const Error high{"package/json", "the key '\xc3\xa4\t\x7f'"};
  EXPECT_EQ(high.to_string(), "error[package/json]: the key '\xc3\xa4\t\\x7f'");
  const Error higher{"package/json", "the key '\xc2\x80\xc2\x9b\xc2\x9f\xc2\xa0\xc2'"};
  EXPECT_EQ(higher.to_string(),
            "error[package/json]: the key '\\xc2\\x80\\xc2\\x9b\\xc2\\x9f\xc2\xa0\xc2'");
  const Error endless{"package/json", "the key '" + std::string(5'000'000, 'a') + "', column 7"};
  const std::string text = endless.to_string();
  EXPECT_LT(text.size(), 40'000U);
  EXPECT_NE(text.find("bytes left out"), std::string::npos);
  EXPECT_TRUE(text.ends_with("', column 7"));
}

// Wherever the cuts fall, no character loses a byte.
TEST(Error, LeavesOutWholeCharacters) {
  for (std::size_t shift = 0; shift < 4; ++shift) {
    std::string message(shift, 'a');
    for (int i = 0; i < 20'000; ++i) message += "\xf0\x9f\x98\x80";
    std::string text = Error{"package/json", message}.to_string();
    const std::size_t at = text.find("... (");
    ASSERT_NE(at, std::string::npos);
    const std::size_t from = text.find(") ...", at) + 5;
    EXPECT_TRUE(text.substr(0, at).ends_with("\xf0\x9f\x98\x80")) << shift;
    EXPECT_TRUE(text.substr(from).starts_with("\xf0\x9f\x98\x80")) << shift;
    const std::size_t kept =
        at - std::string_view("error[package/json]: ").size() + (text.size() - from);
    EXPECT_NE(text.find("(" + std::to_string(message.size() - kept) + " bytes"), std::string::npos);
  }
}

TEST(Text, IsCutBetweenCharacters) {
  EXPECT_EQ(cut_text("abc", 3), "abc");
  EXPECT_EQ(cut_text("abcd", 3), "abc");
  EXPECT_EQ(cut_text("", 0), "");
  EXPECT_EQ(cut_text("\xc3\xa4", 0), "");
  EXPECT_EQ(cut_text("\xc3\xa4", 1), "");
  EXPECT_EQ(cut_text("\xc3\xa4", 2), "\xc3\xa4");
  const std::string wide = "ab\xf0\x9f\x98\x80z";
  for (const std::size_t most : {2U, 3U, 4U, 5U}) EXPECT_EQ(cut_text(wide, most), "ab") << most;
  EXPECT_EQ(cut_text(wide, 6), "ab\xf0\x9f\x98\x80");
  EXPECT_EQ(cut_text(std::string(100, '\x80'), 50).size(), 47U);  // no UTF-8
}

TEST(Saturated, StopsAtTheLargestValue) {
  constexpr std::size_t kMost = std::numeric_limits<std::size_t>::max();
  EXPECT_EQ(saturated_mul(3, 16), 48U);
  EXPECT_EQ(saturated_mul(0, 16), 0U);
  EXPECT_EQ(saturated_mul(kMost / 16, 16), kMost - 15);
  EXPECT_EQ(saturated_mul(kMost / 16 + 1, 16), kMost);
  EXPECT_EQ(saturated_mul(kMost, 1), kMost);
}

TEST(Error, TableIsWellFormed) {
  std::set<std::string_view> seen;
  for (const ErrorCode& entry : error_codes()) {
    EXPECT_TRUE(seen.insert(entry.code).second) << entry.code;
    EXPECT_EQ(std::count(entry.code.begin(), entry.code.end(), '/'), 1) << entry.code;
    EXPECT_FALSE(entry.cause.empty() || entry.fix.empty()) << entry.code;
  }
  ASSERT_NE(find_error_code("limit/steps"), nullptr);
  EXPECT_EQ(find_error_code("limit/nothing"), nullptr);
}

TEST(DType, NamesAndSizes) {
  for (const DType dtype : {DType::f32, DType::f16, DType::i8, DType::i16, DType::i32, DType::i64,
                            DType::u8, DType::u32, DType::boolean}) {
    EXPECT_EQ(dtype_from_name(name(dtype)), dtype);
  }
  EXPECT_EQ(dtype_from_name("float64"), std::nullopt);
  EXPECT_EQ(host_bytes(DType::boolean), 1U);
  EXPECT_EQ(device_bytes(DType::i8), 4U);
  EXPECT_EQ(device_bytes(DType::f16), 2U);
  EXPECT_EQ(wgsl_scalar(DType::i64), "vec2<u32>");
}

TEST(Checked, ReportsOverflow) {
  EXPECT_EQ(checked_mul<std::int64_t>(3, -4).value(), -12);
  EXPECT_EQ(checked_mul<std::uint64_t>(std::uint64_t{1} << 32, std::uint64_t{1} << 32).error().code,
            "limit/buffer");
  EXPECT_FALSE(checked_add(std::numeric_limits<std::int64_t>::max(), std::int64_t{1}));
  EXPECT_EQ(checked_round_up<std::uint64_t>(13, 4).value(), 16U);
  EXPECT_EQ(checked_round_up<std::uint64_t>(16, 4).value(), 16U);
  EXPECT_FALSE(checked_round_up<std::uint64_t>(~std::uint64_t{0}, 4));
  EXPECT_EQ(ceil_div<std::int64_t>(7, 2), 4);
}

TEST(Checked, CountsElements) {
  EXPECT_EQ(element_count(Shape{}).value(), 1);
  EXPECT_EQ(element_count(Shape{2, 3, 4}).value(), 24);
  EXPECT_EQ(element_count(Shape{std::int64_t{1} << 40, std::int64_t{1} << 40, 0}).value(), 0);
  EXPECT_EQ(element_count(Shape{std::int64_t{1} << 40, std::int64_t{1} << 40}).error().code,
            "limit/buffer");
  EXPECT_EQ(element_count(Shape{2, -1}).error().code, "request/shape");
}

TEST(Number, PrintsAsJavaScript) {
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(number_text(0), "0");
  EXPECT_EQ(number_text(-0.0), "0");
  EXPECT_EQ(number_text(1), "1");
  EXPECT_EQ(number_text(-1.5), "-1.5");
  EXPECT_EQ(number_text(0.1), "0.1");
  EXPECT_EQ(number_text(1e-5), "0.00001");
  EXPECT_EQ(number_text(1e-6), "0.000001");
  EXPECT_EQ(number_text(1e-7), "1e-7");
  EXPECT_EQ(number_text(1.25e-7), "1.25e-7");
  EXPECT_EQ(number_text(9.999999960041972e-13), "9.999999960041972e-13");
  EXPECT_EQ(number_text(1e20), "100000000000000000000");
  EXPECT_EQ(number_text(1e21), "1e+21");
  EXPECT_EQ(number_text(1.2345e+25), "1.2345e+25");
  EXPECT_EQ(number_text(123456789.125), "123456789.125");
  EXPECT_EQ(number_text(9007199254740993.0), "9007199254740992");
  EXPECT_EQ(number_text(12345678901234567890.0), "12345678901234567000");
  EXPECT_EQ(number_text(5e-324), "5e-324");
  EXPECT_EQ(number_text(std::numeric_limits<double>::max()), "1.7976931348623157e+308");
  EXPECT_EQ(number_text(std::nan("")), "NaN");
  EXPECT_EQ(number_text(infinity), "Infinity");
  EXPECT_EQ(number_text(-infinity), "-Infinity");
}

TEST(Number, PrintsTheTag) {
  EXPECT_EQ(tagged_number_text(4, true), "4.0");
  EXPECT_EQ(tagged_number_text(4, false), "4");
  EXPECT_EQ(tagged_number_text(-0.0, true), "-0.0");
  EXPECT_EQ(tagged_number_text(-0.0, false), "0");
  EXPECT_EQ(tagged_number_text(0.5, true), "0.5");
  EXPECT_EQ(tagged_number_text(1e20, true), "100000000000000000000.0");
  EXPECT_EQ(tagged_number_text(1e21, true), "1e+21");
  EXPECT_EQ(tagged_number_text(-1e21 / 3, true), "-333333333333333311488.0");
  EXPECT_EQ(tagged_number_text(-1e21 / 3, false), "-333333333333333300000");
  EXPECT_EQ(tagged_number_text(std::numeric_limits<double>::infinity(), true), "Infinity");
  EXPECT_EQ(tagged_number_text(std::nan(""), true), "NaN");
}

TEST(Half, AllBitPatternsSurvive) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const float value = f32_from_f16(half);
    if (std::isnan(value)) {
      EXPECT_EQ((bits >> 10) & 31U, 31U);
      EXPECT_TRUE(std::isnan(f32_from_f16(f16_from_f32(value))));
      continue;
    }
    ASSERT_EQ(f16_from_f32(value), half);
    // Independent reading of the format.
    const int exponent = static_cast<int>((bits >> 10) & 31);
    const double fraction = static_cast<double>(bits & 1023);
    double expected =
        exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
    if (exponent == 31) expected = std::numeric_limits<double>::infinity();
    ASSERT_EQ(static_cast<double>(value), (bits & 0x8000U) != 0 ? -expected : expected);
  }
}

TEST(Half, RoundsToNearestEvenOnce) {
  for (std::uint32_t bits = 0; bits < 0x7c00; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const double low = f64_from_f16(half);
    const double high =
        bits == 0x7bff ? 65536.0 : f64_from_f16(static_cast<std::uint16_t>(bits + 1));
    const double middle = (low + high) / 2;
    const std::uint32_t even = (bits & 1) == 0 ? bits : bits + 1;
    ASSERT_EQ(f16_from_f64(middle), even);
    ASSERT_EQ(f16_from_f64(std::nextafter(middle, 0.0)), bits);
    ASSERT_EQ(f16_from_f64(std::nextafter(middle, high)), bits + 1);
    ASSERT_EQ(f16_from_f64(-middle), even | 0x8000U);
  }
  EXPECT_EQ(f16_from_f64(1e300), 0x7c00);
  EXPECT_EQ(f16_from_f64(-std::numeric_limits<double>::infinity()), 0xfc00);
  EXPECT_EQ(f16_from_f64(5e-324), 0);
}

TEST(Base64, RoundTrips) {
  const std::vector<std::string_view> known = {"",         "Zg==",     "Zm8=",    "Zm9v",
                                               "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy"};
  const std::string_view text = "foobar";
  for (std::size_t n = 0; n < known.size(); ++n) {
    const std::vector<std::uint8_t> bytes(text.begin(),
                                          text.begin() + static_cast<std::ptrdiff_t>(n));
    EXPECT_EQ(base64_encode(bytes), known[n]);
    EXPECT_EQ(base64_decode(known[n]), bytes);
  }
  for (const std::string_view bad :
       {"Zg=", "Zh==", "Zm9=", "Z===", "====", "Zm9v\n", "Zm9*", "Zg==Zg=="}) {
    EXPECT_EQ(base64_decode(bad), std::nullopt) << bad;
  }
}

TEST(Suggest, FindsTheNearestName) {
  const std::vector<std::string_view> names = {"epsilon", "hiddenSize", "rows"};
  EXPECT_EQ(nearest_name("epsilonn", names), "epsilon");
  EXPECT_EQ(nearest_name("hidenSiez", names), "hiddenSize");
  EXPECT_EQ(nearest_name("row", names), "rows");
  EXPECT_EQ(nearest_name("gamma", names), "");
  EXPECT_EQ(nearest_name("r", names), "");
  EXPECT_EQ(suggestion("epsilom", names), "did you mean 'epsilon'?");
  EXPECT_EQ(suggestion("beta", names), "");
  EXPECT_EQ(edit_distance("abc", "acb", 2), 1U);
  EXPECT_EQ(edit_distance("kitten", "sitting", 3), 3U);
  EXPECT_EQ(edit_distance("kitten", "sitting", 2), std::nullopt);
}

TEST(Digest, IsXxh3) {
  EXPECT_EQ(digest128("").hex(), "99aa06d3014798d86001c324468d497f");
  EXPECT_NE(digest128("a"), digest128("b"));
  EXPECT_EQ(digest128(std::string(1000, 'x')), digest128(std::string(1000, 'x')));
}

}  // namespace
}  // namespace wgk
