// SPDX-License-Identifier: Apache-2.0
#include "expr/text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "expr/source.h"

namespace wgk::expr {
namespace {

TEST(Text, CountsAndIndexesCodeUnits) {
  const std::string text = "aé😀b";
  EXPECT_EQ(utf16_length(text), 5U);
  EXPECT_EQ(utf16_at(text, 1), "é");
  EXPECT_EQ(utf16_at(text, 4), "b");
  EXPECT_EQ(utf16_at(text, 5), std::nullopt);
  const std::string halves = *utf16_at(text, 2) + *utf16_at(text, 3);
  EXPECT_EQ(well_formed(halves), "😀");
  EXPECT_EQ(well_formed(*utf16_at(text, 2) + "x"), "\xef\xbf\xbdx");
  EXPECT_EQ(well_formed("한국"), "한국");
  EXPECT_EQ(code_points(text).size(), 4U);
}

TEST(Text, OrdersByCodeUnits) {
  EXPECT_LT(utf16_compare("a", "b"), 0);
  EXPECT_EQ(utf16_compare("ab", "ab"), 0);
  EXPECT_GT(utf16_compare("ab", "a"), 0);
  EXPECT_LT(utf16_compare("😀", "\uffee"), 0);
  EXPECT_GT(utf16_compare("😀", "한"), 0);
  EXPECT_LT(utf16_compare("\ue000", "\uffee"), 0);
}

TEST(Text, KnowsWhiteSpace) {
  EXPECT_EQ(trim_start(" \t\u00a0\u3000\ufeffx "), "x ");
  EXPECT_EQ(trim_end(" x\u2028\u2003\n"), " x");
  EXPECT_EQ(trim_end("\u00a0"), "");
  EXPECT_EQ(trim_end("x\u200b"), "x\u200b");
}

TEST(Text, ReadsNumbersAsJavaScript) {
  EXPECT_EQ(to_number(" 12 "), 12);
  EXPECT_EQ(to_number(""), 0);
  EXPECT_EQ(to_number("0x1f"), 31);
  EXPECT_EQ(to_number("0b101"), 5);
  EXPECT_EQ(to_number("0o17"), 15);
  EXPECT_EQ(to_number(".5"), 0.5);
  EXPECT_EQ(to_number("5."), 5);
  EXPECT_EQ(to_number("-1e-2"), -0.01);
  EXPECT_TRUE(std::isinf(to_number("-Infinity")));
  EXPECT_TRUE(std::isinf(to_number("1e999")));
  EXPECT_EQ(to_number("1e-999"), 0);
  for (const std::string_view text :
       {"a", "1a", "0x", "1e", "--1", "1 2", "infinity", "+-1", "."}) {
    EXPECT_TRUE(std::isnan(to_number(text))) << text;
  }
  EXPECT_EQ(parse_int(" -12.7px"), -12);
  EXPECT_EQ(parse_int("0x1F"), 0);
  EXPECT_TRUE(std::isnan(parse_int("px")));
  EXPECT_EQ(parse_float("3.5e1x"), 35);
  EXPECT_EQ(parse_float("1e"), 1);
  EXPECT_TRUE(std::isnan(parse_float("e1")));
  EXPECT_TRUE(std::isinf(parse_literal(std::string(400, '9'))));
  EXPECT_EQ(parse_literal("0." + std::string(400, '0') + "1"), 0);
}

TEST(Text, SplitsAndReplaces) {
  EXPECT_EQ(split(" a  b c ", std::nullopt, -1), (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(split(" a  b c ", std::nullopt, 1), (std::vector<std::string>{"a", "b c "}));
  EXPECT_EQ(split("a,b,,c", ",", -1), (std::vector<std::string>{"a", "b", "", "c"}));
  EXPECT_EQ(split("a,b,,c", ",", 2), (std::vector<std::string>{"a", "b", ",c"}));
  EXPECT_EQ(split("a,b,c", ",", -2), (std::vector<std::string>{"a", "b,c"}));
  EXPECT_EQ(replaced("aaa", "a", "b", 2), "bba");
  EXPECT_EQ(replaced("é", "", "-", 9), "-é-");
  EXPECT_GE(replaced_size("aaa", "a", "bcd", 9), replaced("aaa", "a", "bcd", 9).size());
}

TEST(Text, FindsPartsWhateverTheyRepeat) {
  // Every text and part over two letters, past the length from which the search changes.
  const std::string_view letters = "aababaababaabaababaababaabaab";
  for (std::size_t begin = 0; begin < letters.size(); ++begin) {
    for (std::size_t size = 0; begin + size <= letters.size(); ++size) {
      const std::string part(letters.substr(begin, size));
      for (const std::string& text : {std::string(letters), part + "b" + part, "b" + part, part}) {
        for (std::size_t from = 0; from <= text.size() + 1; ++from)
          EXPECT_EQ(find_part(text, part, from), text.find(part, from)) << text << " " << part;
      }
    }
  }
  const std::string same(std::size_t{1} << 20, 'a');
  EXPECT_EQ(find_part(same, std::string(std::size_t{1} << 19, 'a') + "b"), std::string::npos);
}

TEST(Text, OrdersKeysByCollation) {
  const std::vector<std::string> sorted = {"_", "-", "0", "9", "a", "A", "aB", "Ab", "b"};
  for (std::size_t i = 1; i < sorted.size(); ++i)
    EXPECT_LT(locale_compare(sorted[i - 1], sorted[i]), 0) << sorted[i];
  EXPECT_EQ(locale_compare("a\x01", "a"), 0);
}

TEST(Source, FollowsOffsetsBack) {
  const std::string original = "a\n  {% if x %}\nb\n\t{#c#}\n";
  const Source source(original);
  EXPECT_EQ(source.text(), "a\n{% if x %}b\n{#c#}");
  for (const char mark : {'a', 'x', 'b', 'c'}) {
    EXPECT_EQ(original[source.original_offset(source.text().find(mark))], mark);
  }
  const std::string tagged = "a {%- generation -%} b {% endgeneration %} c\n";
  const Source generation(tagged);
  EXPECT_EQ(generation.text(), "ab  c");
  EXPECT_EQ(generation.original_offset(1), tagged.find('b'));
  EXPECT_EQ(generation.original_offset(4), tagged.find(" c") + 1);
}

}  // namespace
}  // namespace wgk::expr
