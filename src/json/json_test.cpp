// SPDX-License-Identifier: Apache-2.0
#include "json/json.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <string_view>

#include "json/cursor.h"

namespace wgk::json {
namespace {

std::string problem(std::string_view text, const ParseLimits& limits = {}) {
  const Result<Value> value = parse(text, limits);
  return value ? "parsed" : value.error().message;
}

TEST(JsonParse, KeepsOrderAndTypes) {
  const Value value = parse(R"({"b": [1, 2.5, "x", null, true], "a": {"c": -1e3}})").value();
  EXPECT_EQ(write(value), R"({"b":[1,2.5,"x",null,true],"a":{"c":-1000}})");
  EXPECT_EQ(value.find("nothing"), nullptr);
}

TEST(JsonParse, NumbersAreJavaScriptDoubles) {
  EXPECT_EQ(*parse("9007199254740993").value().if_number(), 9007199254740992.0);
  EXPECT_EQ(*parse("123456789012345678901234567890").value().if_number(),
            123456789012345678901234567890.0);
  EXPECT_EQ(*parse("0.1").value().if_number(), 0.1);
  for (const std::string_view text : {"-0", " -0 ", "-0.0", "[-0]", "[0,-0]"}) {
    const Value value = parse(text).value();
    const double number =
        value.is_array() ? *value.if_array()->back().if_number() : *value.if_number();
    EXPECT_TRUE(std::signbit(number)) << text;
  }
  EXPECT_FALSE(std::signbit(*parse("[-10,0]").value().if_array()->back().if_number()));
  EXPECT_FALSE(std::signbit(*parse("0").value().if_number()));
  EXPECT_EQ(problem("1e999"), "line 1, column 5: a number is too large");
}

TEST(JsonParse, RefusesWithLineAndColumn) {
  EXPECT_EQ(problem("{\n  \"a\": 1,\n  \"a\": 2}"), "line 3, column 5: duplicate key 'a'");
  EXPECT_EQ(problem("[1,\n 2"),
            "line 2, column 2: while parsing array - unexpected end of input; expected ']'");
  EXPECT_EQ(problem("[1] x").substr(0, 17), "line 1, column 5:");
  EXPECT_EQ(problem("").substr(0, 17), "line 1, column 1:");
  EXPECT_NE(problem("\"\xff\""), "parsed");
  EXPECT_NE(problem("\"\xed\xa0\x80\""), "parsed");
  EXPECT_NE(problem("[1,]"), "parsed");
  EXPECT_NE(problem("{'a': 1}"), "parsed");
  EXPECT_NE(problem("NaN"), "parsed");
  EXPECT_EQ(parse("x").error().code, "package/json");
}

TEST(JsonParse, FindsDuplicatesInLargeObjects) {
  std::string text = "{";
  for (int i = 0; i < 100; ++i) text += "\"k" + std::to_string(i) + "\":1,";
  EXPECT_EQ(problem(text + "\"last\":1}"), "parsed");
  EXPECT_NE(problem(text + "\"k3\":1}").find("duplicate key 'k3'"), std::string::npos);
  EXPECT_NE(problem(text + "\"k99\":1}").find("duplicate key 'k99'"), std::string::npos);
  EXPECT_NE(problem(text + "\"new\":1,\"new\":2}").find("duplicate key 'new'"), std::string::npos);
}

TEST(JsonParse, LimitsDepthAndSize) {
  EXPECT_EQ(problem(std::string(128, '[') + std::string(128, ']')), "parsed");
  EXPECT_EQ(problem(std::string(129, '[')), "line 1, column 129: nested deeper than 128 levels");
  EXPECT_NE(problem(std::string(1000000, '[')), "parsed");
  EXPECT_EQ(problem("[1, 2]", {.max_bytes = 5}), "the JSON text has 6 bytes, allowed are 5");
}

TEST(JsonWrite, Canonical) {
  EXPECT_EQ(write(Value("a\"\\\b\f\n\r\t\x01\x7f\xc3\xa9")),
            "\"a\\\"\\\\\\b\\f\\n\\r\\t\\u0001\x7f\xc3\xa9\"");
  EXPECT_EQ(
      write(Value::array({std::nan(""), std::numeric_limits<double>::infinity(), 1e21, -0.0})),
      "[null,null,1e+21,0]");
  const Value value = parse(R"({"a":[1,2],"b":[[1],{}],"c":{},"d":[]})").value();
  EXPECT_EQ(
      write(value, Style::kPretty),
      "{\n  \"a\": [1, 2],\n  \"b\": [\n    [1],\n    {}\n  ],\n  \"c\": {},\n  \"d\": []\n}\n");
  EXPECT_EQ(parse(write(value, Style::kPretty)).value(), value);
}

TEST(JsonValue, SetReplacesOrAppends) {
  Value value;
  value.set("a", 1).set("b", "x").set("a", true);
  EXPECT_EQ(write(value), R"({"a":true,"b":"x"})");
}

TEST(Cursor, NamesThePlace) {
  const Value value =
      parse(
          R"({"inputs": {"x": {"dtype": 7}}, "list": [1, -2.5], "big": 1e300, "odd key": [true]})")
          .value();
  const Cursor root(value, "", "package/manifest");
  const Cursor x = root.require("inputs").value().require("x").value();
  EXPECT_EQ(x.require("dtype").value().string().error().message,
            "inputs.x.dtype: expected a string, got 7");
  EXPECT_EQ(x.require("shape").error().message, "inputs.x: 'shape' is missing");
  const auto list = root.require("list").value().items().value();
  EXPECT_EQ(list[0].integer(0, 5).value(), 1);
  EXPECT_EQ(list[0].integer(2, 5).error().message,
            "list[0]: expected an integer from 2 to 5, got 1");
  EXPECT_EQ(list[1].integer(-5, 5).error().message, "list[1]: expected an integer, got -2.5");
  EXPECT_EQ(list[1].number().value(), -2.5);
  EXPECT_FALSE(root.require("big").value().integer(0, 5));
  EXPECT_EQ(root.require("odd key").value().items().value()[0].number().error().message,
            "['odd key'][0]: expected a number, got true");
  EXPECT_TRUE(root.require("odd key").value().items().value()[0].boolean().value());
  EXPECT_EQ(root.find("nothing").has_value(), false);
  EXPECT_EQ(root.members().value().size(), 4U);
  EXPECT_EQ(root.items().error().message, "expected an array, got an object");
  EXPECT_EQ(root.items().error().code, "package/manifest");
}

// Messages go into JSON, which has whole characters only.
TEST(Cursor, CutsBetweenCharacters) {
  std::string wide;
  for (int i = 0; i < 200; ++i) wide += "\xc3\xa4";
  for (const std::string shift : {"", "a"}) {
    const std::string text = shift + wide;
    const Value value = Json::Object{{text, Json(text)}};
    const Cursor member = Cursor(value, "", "package/json").members().value()[0].second;
    const std::string key = text.substr(0, 200 - shift.size());
    const std::string shown = text.substr(0, 40 - shift.size());
    EXPECT_EQ(member.number().error().message,
              "['" + key + "...']: expected a number, got '" + shown + "...'");
  }
}

TEST(Cursor, ListsUnknownKeys) {
  const Value value = parse(R"({"dtype": 1, "shpae": 2, "zz": 3})").value();
  const Cursor cursor(value, "inputs.x", "package/manifest");
  EXPECT_TRUE(cursor.only({"dtype", "shpae", "zz"}));
  const Status status = cursor.only({"dtype", "shape"});
  EXPECT_EQ(status.error().message, "inputs.x: unknown keys 'shpae', 'zz'");
  Value many{Value::Object{}};
  for (int i = 0; i < 100000; ++i) many.if_object()->emplace_back(std::to_string(i), Value(1));
  many.if_object()->front().first.assign(1000000, 'a');
  const auto refused = Cursor(many, "m", "package/manifest").only({"shape"});
  EXPECT_LT(refused.error().message.size(), 300U);
  EXPECT_TRUE(refused.error().message.ends_with(" and 99988 more"));
  EXPECT_EQ(status.error().hint, "did you mean 'shape'?");
}

}  // namespace
}  // namespace wgk::json
