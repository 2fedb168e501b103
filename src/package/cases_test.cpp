// SPDX-License-Identifier: Apache-2.0
#include "package/cases.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/contains_test.h"
#include "base/half.h"
#include "json/json.h"
#include "package/case_data.h"

namespace wgk::package {
namespace {

Json parse(std::string_view text) {
  auto json = json::parse(text);
  EXPECT_TRUE(json.has_value()) << json.error().to_string() << "\n" << text;
  return json ? *std::move(json) : Json();
}

// One case with one input `x`.
Result<std::vector<TestCase>> read(std::string_view tensor,
                                   std::string_view rest = R"("outputs": {})") {
  return read_tests(parse(
      R"({"fixtureArrays": {"f": [1, 2, 3, "nan"]}, "cases": [{"name": "c", "inputs": {"x": )" +
      std::string(tensor) + "}, " + std::string(rest) + "}]}"));
}

std::string error_of(std::string_view tensor, std::string_view rest = R"("outputs": {})") {
  const auto cases = read(tensor, rest);
  return cases ? "" : cases.error().to_string();
}

std::vector<double> values_of(std::string_view tensor) {
  const auto cases = read(tensor);
  EXPECT_TRUE(cases.has_value()) << cases.error().to_string();
  if (!cases) return {};
  const CaseTensor& x = (*cases)[0].inputs[0].second;
  const auto data = make_host_data(x);
  EXPECT_TRUE(data.has_value()) << data.error().to_string();
  std::vector<double> values;
  if (data) {
    for (std::size_t i = 0; i < data->size() / host_bytes(x.dtype); ++i)
      values.push_back(host_value(x.dtype, *data, i));
  }
  return values;
}

using Values = std::vector<double>;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(CaseData, SplitMix64) {
  EXPECT_EQ(split_mix64(0, 0), 0xe220a8397b1dcdafU);
  EXPECT_EQ(split_mix64(0, 1), 0x6e789e6aa1b965f4U);
  EXPECT_EQ(split_mix64(1, 0), 0x910a2dec89025cc1U);
  EXPECT_EQ(split_mix64(1, 1), 0xbeeb8da1658eec67U);
}

TEST(CaseData, Kinds) {
  EXPECT_EQ(
      values_of(
          R"({"dtype": "int32", "shape": [3], "data": {"kind": "values", "values": [1, -2, 3]}})"),
      (Values{1, -2, 3}));
  EXPECT_EQ(
      values_of(
          R"({"dtype": "float32", "shape": [2], "data": {"kind": "values", "values": ["inf", "-inf"]}})"),
      (Values{kInfinity, -kInfinity}));
  EXPECT_TRUE(std::isnan(values_of(
      R"({"dtype": "float16", "shape": [4], "data": {"kind": "values", "values": {"$ref": "#/fixtureArrays/f"}}})")
                             [3]));
  EXPECT_EQ(
      values_of(
          R"({"dtype": "bool", "shape": [2], "data": {"kind": "values", "values": [true, false]}})"),
      (Values{1, 0}));
  EXPECT_EQ(
      values_of(R"({"dtype": "uint8", "shape": [2, 2], "data": {"kind": "const", "value": 7}})"),
      (Values{7, 7, 7, 7}));
  EXPECT_EQ(
      values_of(
          R"({"dtype": "int64", "shape": [3], "data": {"kind": "linear", "start": -1, "step": 2}})"),
      (Values{-1, 1, 3}));
  EXPECT_EQ(
      values_of(
          R"({"dtype": "float32", "shape": [2, 3, 2], "data": {"kind": "axisIndex", "axis": 1, "step": 0.5}})"),
      (Values{0, 0, 0.5, 0.5, 1, 1, 0, 0, 0.5, 0.5, 1, 1}));
  EXPECT_EQ(
      values_of(
          R"({"dtype": "float32", "shape": [0, 3], "data": {"kind": "axisIndex", "axis": 0, "step": 1}})"),
      Values{});
  const auto grid = values_of(
      R"({"dtype": "float32", "shape": [2], "data": {"kind": "grid", "seed": 0, "r": 2, "step": 0.25, "offset": 1}})");
  EXPECT_EQ(grid, (Values{(static_cast<double>(0xe220a8397b1dcdafU % 5) - 2) * 0.25 + 1,
                          (static_cast<double>(0x6e789e6aa1b965f4U % 5) - 2) * 0.25 + 1}));
  EXPECT_EQ(
      values_of(
          R"({"dtype": "float32", "shape": [2], "data": {"kind": "fillFloat32", "sinStep": 0.5, "cosStep": 0.25, "scale": 2}})"),
      (Values{2, static_cast<double>(static_cast<float>((std::sin(0.5) + std::cos(0.25)) * 2))}));
}

TEST(CaseData, NormalHasMeanZeroAndTheScale) {
  const auto values = values_of(
      R"({"dtype": "float32", "shape": [20000], "data": {"kind": "normal", "seed": 3, "scale": 2}})");
  double sum = 0, squares = 0;
  for (const double value : values) {
    sum += value;
    squares += value * value;
  }
  const auto count = static_cast<double>(values.size());
  EXPECT_NEAR(sum / count, 0, 0.05);
  EXPECT_NEAR(std::sqrt(squares / count), 2, 0.05);
}

// One local block and a stride of 2 with two layouts: layout 0 keeps odd columns, layout 1 even
// ones.
TEST(CaseData, CsrBlockMask) {
  const std::string mask =
      R"("data": {"kind": "csrBlockMask", "numLayout": 2, "maxBlocks": 4, "localBlocks": 1, "vertStride": 2, "part": )";
  EXPECT_EQ(values_of(R"({"dtype": "int32", "shape": [2, 5], )" + mask + R"("rows"}})"),
            (Values{0, 1, 2, 4, 6, 0, 1, 3, 5, 8}));
  EXPECT_EQ(values_of(R"({"dtype": "int32", "shape": [2, 8], )" + mask + R"("cols"}})"),
            (Values{0, 1, 1, 2, 1, 3, -1, -1, 0, 0, 1, 0, 2, 0, 2, 3}));
  const auto wrong = read(R"({"dtype": "int32", "shape": [2, 4], )" + mask + R"("rows"}})");
  ASSERT_TRUE(wrong.has_value());
  EXPECT_TRUE(
      contains(make_host_data((*wrong)[0].inputs[0].second).error().message, "2 rows of 5"));
}

TEST(CaseData, PokesComeLast) {
  EXPECT_EQ(
      values_of(
          R"({"dtype": "float32", "shape": [5], "data": {"kind": "const", "value": 1}, "pokeRange": [[1, 3, 9]], "poke": [[2, 5], [4, "inf"]]})"),
      (Values{1, 9, 9, 1, kInfinity}));
}

TEST(Cases, SmallFilesAskForNoEndlessWork) {
  const std::string input =
      R"({"dtype": "float32", "shape": [1000000], "data": {"kind": "const", "value": 1}, )";
  const auto ranges = [](int count) {
    std::string text = R"("pokeRange": [)";
    for (int i = 0; i < count; ++i) text += (i == 0 ? "" : ", ") + std::string("[0, 1000000, 1]");
    return text + "]}";
  };
  EXPECT_EQ(error_of(input + ranges(16)), "");
  EXPECT_TRUE(contains(error_of(input + ranges(17)), "limit/count"));
  EXPECT_TRUE(contains(error_of(input + ranges(17)), "cases[0].inputs.x.pokeRange"));

  // A mask of another shape is not made: this one has 128 million columns.
  const auto mask = read(
      R"({"dtype": "int32", "shape": [1, 4], "data": {"kind": "csrBlockMask", "numLayout": 1, "maxBlocks": 16000, "localBlocks": 16000, "vertStride": 1, "part": "cols"}})");
  ASSERT_TRUE(mask);
  EXPECT_TRUE(contains(make_host_data((*mask)[0].inputs[0].second).error().message, "128008000"));

  // Fixture arrays are looked up by name.
  std::string fixtures, inputs;
  for (int i = 0; i < 100000; ++i) {
    const std::string comma = i == 0 ? "" : ", ";
    fixtures += comma + "\"name" + std::to_string(1000000 + i) + "\": []";
    inputs +=
        comma + "\"x" + std::to_string(i) +
        R"(": {"dtype": "float32", "shape": [0], "data": {"kind": "values", "values": {"$ref": "#/fixtureArrays/name1099999"}}})";
  }
  EXPECT_TRUE(read_tests(parse(R"({"fixtureArrays": {)" + fixtures +
                               R"(}, "cases": [{"name": "c", "inputs": {)" + inputs +
                               R"(}, "outputs": {}}]})")));
}

TEST(CaseData, RoundsOnceToTheType) {
  EXPECT_EQ(
      values_of(
          R"({"dtype": "float16", "shape": [3], "data": {"kind": "values", "values": [2049, 2051, 70000]}})"),
      (Values{2048, 2052, kInfinity}));
  EXPECT_EQ(
      values_of(
          R"({"dtype": "int32", "shape": [2], "data": {"kind": "values", "values": [0.5, 1.5]}})"),
      (Values{0, 2}));
  for (
      const char* tensor :
      {R"({"dtype": "uint8", "shape": [1], "data": {"kind": "const", "value": 256}})",
       R"({"dtype": "int8", "shape": [1], "data": {"kind": "const", "value": -129}})",
       R"({"dtype": "uint32", "shape": [1], "data": {"kind": "const", "value": -1}})",
       R"({"dtype": "int64", "shape": [1], "data": {"kind": "const", "value": 9223372036854775808}})",
       R"({"dtype": "int32", "shape": [1], "data": {"kind": "const", "value": "nan"}})"}) {
    const auto cases = read(tensor);
    ASSERT_TRUE(cases.has_value()) << tensor;
    const auto data = make_host_data((*cases)[0].inputs[0].second);
    ASSERT_FALSE(data.has_value()) << tensor;
    EXPECT_TRUE(contains(data.error().message, "does not fit"));
  }
}

TEST(CaseData, RefusesHugeTensors) {
  const auto cases = read(
      R"({"dtype": "float32", "shape": [1000000, 1000000], "data": {"kind": "const", "value": 0}})");
  ASSERT_TRUE(cases.has_value());
  EXPECT_EQ(make_host_data((*cases)[0].inputs[0].second).error().code, "limit/buffer");
  EXPECT_TRUE(contains(
      error_of(
          R"({"dtype": "float32", "shape": [9007199254740992, 9007199254740992], "data": {"kind": "const", "value": 0}})"),
      "too large"));
}

TEST(Cases, ReadsExpectations) {
  const auto cases =
      read(R"({"dtype": "float32", "shape": [], "data": {"kind": "const", "value": 0}})", R"(
      "attrs": {"a": 1}, "args": {"b": 2}, "tunables": {"c": 3}, "unchanged": ["z"], "skipGpu": {"category": "todo", "reason": "later"},
      "provenance": {"source": "here"},
      "outputs": {
        "y": {"dtype": "float16", "shape": [4], "tolerance": {"abs": 0.5, "rel": 0.25}, "samples": [[3, 1.5]], "ignore": [[0, 2]], "allowNaN": false},
        "z": {"shape": [1], "tolerance": 0.125, "data": {"kind": "input", "port": "x"}, "poke": [[0, 1]]},
        "w": {"compare": false}})");
  ASSERT_TRUE(cases.has_value()) << cases.error().to_string();
  const TestCase& test = (*cases)[0];
  EXPECT_EQ(test.attrs[0].second, Json(1));
  EXPECT_EQ(test.skip_gpu->reason, "later");
  const Expectation& y = test.outputs[0].second;
  EXPECT_EQ(y.dtype, DType::f16);
  EXPECT_EQ(y.tolerance.rel, 0.25);
  EXPECT_EQ(y.samples[0], (std::pair<std::int64_t, double>(3, 1.5)));
  EXPECT_FALSE(y.allow_nan);
  EXPECT_FALSE(y.data.has_value());
  const Expectation& z = test.outputs[1].second;
  EXPECT_EQ(z.tolerance.abs, 0.125);
  EXPECT_EQ(std::get<SameAsInput>(*z.data).port, "x");
  EXPECT_FALSE(test.outputs[2].second.compare);
}

TEST(Cases, ReadsErrors) {
  constexpr std::string_view kTensor =
      R"({"dtype": "float32", "shape": [2], "data": {"kind": "values", "values": [1, 2, 3]}})";
  EXPECT_TRUE(contains(error_of(kTensor), "has 3 values; the shape (2) needs 2"));
  EXPECT_EQ(error_of(kTensor, R"("error": "request/length")"), "");  // wrong on purpose
  EXPECT_EQ(*(*read(kTensor, R"("error": true)"))[0].error, "");
  EXPECT_EQ(error_of(kTensor, R"("error": "request/")"), "");
  EXPECT_TRUE(contains(error_of(kTensor, R"("error": "request/nosuch")"), "neither an error code"));
  EXPECT_TRUE(contains(error_of(kTensor, R"("error": true, "outputs": {})"), "only one"));
}

TEST(Cases, RefusesWhatItDoesNotKnow) {
  constexpr std::string_view kTensor =
      R"({"dtype": "float32", "shape": [1], "data": {"kind": "const", "value": 0}})";
  EXPECT_TRUE(contains(error_of(kTensor, R"("outputs": {}, "extra": 1)"), "extra"));
  EXPECT_TRUE(
      contains(error_of(kTensor, R"("outputs": {"y": {}})"), "cases[0].outputs.y: needs a shape"));
  EXPECT_TRUE(
      contains(error_of(kTensor, R"("outputs": {"y": {"shape": [1], "samples": [[1, 0]]}})"),
               "samples[0][0]"));
  EXPECT_TRUE(contains(
      error_of(R"({"dtype": "float64", "shape": [1], "data": {"kind": "const", "value": 0}})"),
      "float64"));
  EXPECT_TRUE(
      contains(error_of(R"({"dtype": "float32", "shape": [1], "data": {"kind": "random"}})"),
               "'random' is not a kind"));
  EXPECT_TRUE(contains(
      error_of(
          R"({"dtype": "float32", "shape": [1], "data": {"kind": "const", "value": 0, "seed": 1}})"),
      "seed"));
  EXPECT_TRUE(contains(
      error_of(R"({"dtype": "float32", "shape": [-1], "data": {"kind": "const", "value": 0}})"),
      "shape[0]"));
  EXPECT_TRUE(contains(
      error_of(R"({"dtype": "float32", "shape": [1], "data": {"kind": "input", "port": "x"}})"),
      "expectations only"));
  EXPECT_TRUE(contains(
      error_of(
          R"({"dtype": "float32", "shape": [1], "data": {"kind": "values", "values": {"$ref": "#/fixtureArrays/g"}}})"),
      "fixture"));
  const auto twice = read_tests(parse(
      R"({"cases": [{"name": "a", "inputs": {}, "outputs": {}}, {"name": "a", "inputs": {}, "outputs": {}}]})"));
  EXPECT_TRUE(contains(twice.error().message, "twice"));
}

TEST(Cases, ATwinStandsBefore) {
  const auto read_second = [](std::string_view name, std::string_view more) {
    const auto cases =
        read_tests(parse(R"({"cases": [{"name": "a", "inputs": {}, "outputs": {}}, {"name": ")" +
                         std::string(name) + R"(", "inputs": {}, )" + std::string(more) + "}]}"));
    return cases ? cases->back().twin : cases.error().message;
  };
  EXPECT_EQ(read_second("b", R"("twin": "a", "outputs": {})"), "a");
  EXPECT_TRUE(contains(read_second("b", R"("twin": "b", "outputs": {})"), "an earlier case"));
  EXPECT_TRUE(contains(read_second("b", R"("twin": "c", "outputs": {})"), "an earlier case"));
  EXPECT_TRUE(contains(read_second("b", R"("twin": "a", "error": true)"), "no outputs"));
}

TEST(Cases, ReadsBenchmarks) {
  const auto benches = read_benches(parse(
      R"({"cases": [{"name": "b", "inputs": {"x": {"dtype": "float16", "shape": [8]}}, "outputs": ["y"],
      "bytes": "numel(shapes.x) * 4", "flops": 10, "tags": ["model"]}]})"));
  ASSERT_TRUE(benches.has_value()) << benches.error().to_string();
  EXPECT_TRUE(std::holds_alternative<NormalValues>((*benches)[0].inputs[0].second.data));
  EXPECT_EQ((*benches)[0].bytes->source(), Json("numel(shapes.x) * 4"));
  EXPECT_TRUE(
      contains(read_benches(parse(R"({"cases": [{"name": "b", "inputs": {}, "bytes": "1 +"}]})"))
                   .error()
                   .message,
               "bytes"));
}

}  // namespace
}  // namespace wgk::package
