// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <vector>

#include "plan/bound.h"
#include "plan/test_package.h"

namespace wgk::planning {
namespace {

constexpr std::string_view kManifest = R"({
  "domain": "test", "name": "Check",
  "inputs": {
    "xT": {"onnx": "X", "dtype": "T"},
    "biasT": {"onnx": "bias", "dtype": "T", "optional": true},
    "mask": {"dtype": "bool", "optional": true},
    "idx": {"dtype": "int64", "storage": "int32", "narrowing": "checked", "optional": true},
    "wide": {"dtype": "int64", "optional": true},
    "bytes": {"dtype": "uint8", "layout": "packed", "optional": true},
    "any": {"optional": true},
    "free": {"dtype": "F", "optional": true}
  },
  "outputs": {"yT": {"onnx": "Y", "dtype": "T", "shape": "shapes.xT"}, "extra": {"dtype": "float32", "optional": true}},
  "typeConstraints": {"T": ["float32", "float16"]},
  "attributes": {"axis": {"default": -1}, "groups": {}, "mode": {"default": "x"}, "eps": {"default": 1e-12}},
  "attributeConstraints": {"groups": {"required": true, "values": [1, 2.5, "s", null, false]}, "mode": {"values": ["x", "y"]}, "eps": {"values": [1e-12, 0.1]}},
  "args": {"count": {"kind": "u32"}, "level": {"kind": "i32", "required": false}, "scale": {"kind": "f32", "required": false, "onnx": "Scale"},
           "flag": {"kind": "bool", "required": false}, "way": {"kind": "string", "oneOf": ["up", "down"], "required": false}},
  "tunables": {"WG": {"default": 64}, "NAME": {"default": "a"}},
  "variants": [{"id": "only", "tunables": {"OWN": {"default": true}}, "passes": [{"shader": "s.wgsl.jinja", "bindings": ["xT", "yT"], "dispatch": {"x": 1}}]}]
})";

class Check : public testing::Test {
 protected:
  Check() {
    request_.inputs.emplace_back("xT", on_device(DType::f32, {2, 3}));
    request_.attrs.emplace_back("groups", 1);
    request_.args.emplace_back("count", 3);
  }

  Checked run() { return check(index_, request_); }
  std::vector<std::string> messages() {
    std::vector<std::string> texts;
    for (const Error& error : run().violations) texts.push_back(error.code + ": " + error.message);
    return texts;
  }
  std::string only_message() {
    const auto texts = messages();
    EXPECT_EQ(texts.size(), 1U) << testing::PrintToString(texts);
    return texts.empty() ? "" : texts.front();
  }

  std::shared_ptr<package::Package> package_ = make_package(kManifest);
  PackageIndex index_{*package_};
  Request request_;
};

TEST_F(Check, AMissingDtypeNamesTheAdmittedOnes) {
  request_.inputs.front().second.dtype.reset();
  EXPECT_EQ(only_message(),
            "request/dtype: 'xT' (X) is given without a dtype; it admits float32, float16");
}

TEST_F(Check, AGoodRequestIsBound) {
  request_.inputs.emplace_back("bias", on_device(DType::f32, {3}));
  const Checked checked = run();
  EXPECT_TRUE(checked.violations.empty());
  EXPECT_TRUE(checked.sound);
  ASSERT_EQ(checked.bound.tensors.size(), 2U);
  EXPECT_EQ(checked.bound.tensors[1].buffer_size, 12U);
  ASSERT_EQ(checked.bound.types.size(), 1U);
  EXPECT_EQ(checked.bound.types[0].name, "T");
  EXPECT_EQ(checked.bound.attrs.size(), 4U);
  EXPECT_EQ(checked.bound.attrs.back().first, "groups");
}

TEST_F(Check, EveryViolationIsReportedInOrder) {
  request_.inputs = {{"biasT", on_device(DType::i32, {3})}, {"xTT", on_device(DType::f32, {1})}};
  request_.outputs = {{"Z", {}}};
  request_.attrs = {{"axes", 1}, {"mode", "z"}};
  request_.args = {{"count", -1}};
  request_.tunables = {{"WGS", 1}};
  request_.variant = "onyl";
  EXPECT_EQ(
      messages(),
      (std::vector<std::string>{
          "request/unknown: unknown input 'xTT'; the inputs are xT, biasT, mask, idx, wide, bytes, "
          "any, free, X, bias",
          "request/unknown: unknown output 'Z'; the outputs are yT, extra, Y",
          "request/missing: required input 'xT' (X) is not given",
          "request/dtype: 'biasT' (bias) has dtype int32; expected one of float32, float16",
          "request/unknown: unknown attribute 'axes'; the attributes are axis, groups, mode, eps",
          "request/missing: required attribute 'groups' is not given",
          "request/attribute: attribute 'mode' is \"z\"; expected one of \"x\", \"y\"",
          "request/value: argument 'count' is -1; expected an integer from 0 to 4294967295",
          "request/unknown: unknown tunable 'WGS'; the tunables are WG, NAME, OWN",
          "request/variant: unknown variant 'onyl'; the variants are only",
      }));
  const Checked checked = run();
  EXPECT_FALSE(checked.sound);
  EXPECT_EQ(checked.violations[0].hint, "did you mean 'xT'?");
  EXPECT_EQ(checked.violations[9].hint, "did you mean 'only'?");
}

TEST_F(Check, NamesMayBeUpstreamNamesButOnlyOnce) {
  request_.inputs[0].first = "X";
  EXPECT_TRUE(messages().empty());
  request_.inputs.emplace_back("xT", on_device(DType::f32, {1}));
  EXPECT_EQ(only_message(), "request/duplicate: 'xT' (X) is given twice, the second time as 'xT'");
}

TEST_F(Check, TensorsAndScalarsAreNotMixedUp) {
  request_.inputs.emplace_back("scale", on_device(DType::f32, {1}));
  request_.args.emplace_back("mask", true);
  EXPECT_EQ(
      messages(),
      (std::vector<std::string>{
          "request/unknown: unknown input 'scale'; it is a scalar argument, not a tensor",
          "request/unknown: unknown argument 'mask'; it is a tensor, not a scalar argument"}));
}

TEST_F(Check, VariablesAgree) {
  request_.inputs.emplace_back("biasT", on_device(DType::f16, {3}));
  EXPECT_EQ(only_message(),
            "request/dtype: 'biasT' (bias) is float16, but 'xT' is float32 and both have type T");
}

TEST_F(Check, ConcreteDtypesAreExact) {
  request_.inputs.emplace_back("mask", on_device(DType::u8, {3}));
  EXPECT_EQ(only_message(), "request/dtype: 'mask' has dtype uint8; expected bool");
}

TEST_F(Check, ProjectedInt64TakesItsStorage) {
  request_.inputs.emplace_back("idx", on_device(DType::i32, {3}));
  const Checked checked = run();
  ASSERT_TRUE(checked.violations.empty());
  EXPECT_EQ(checked.bound.tensors[1].dtype, DType::i64);
  EXPECT_EQ(checked.bound.tensors[1].storage, DType::i32);
  request_.inputs.back().second = on_device(DType::i64, {3});
  EXPECT_EQ(only_message(), "request/dtype: 'idx' has dtype int64; expected int64 (held as int32)");
}

// Concrete names are shared variables too, so one call cannot hold int64 in two ways.
TEST_F(Check, Int64HasOneStorage) {
  const std::vector<std::int64_t> data = {1, 2};
  request_.inputs.emplace_back("idx", on_host(DType::i64, {2}, data));
  request_.inputs.emplace_back("wide", on_host(DType::i64, {2}, data));
  EXPECT_EQ(only_message(),
            "request/dtype: 'wide' is held as int64, but 'idx' as int32 and both have type int64");
}

TEST_F(Check, UnconstrainedVariablesTakeTheLastPort) {
  request_.inputs.emplace_back("free", on_device(DType::u8, {3}));
  request_.inputs.emplace_back("any", on_device(DType::i16, {3}));
  const Checked checked = run();
  EXPECT_TRUE(checked.violations.empty());
  EXPECT_EQ(checked.bound.type("F")->storage, DType::u8);
}

TEST_F(Check, HostArraysFitTheirDtype) {
  const std::vector<std::int32_t> data = {1, 2};
  TensorDesc tensor = on_host(DType::i64, {2}, data);
  tensor.host_array = DType::i32;
  request_.inputs.emplace_back("wide", tensor);
  EXPECT_EQ(only_message(),
            "request/dtype: 'wide' is said to be int64, but its data is an array of int32");
  // Without a stated dtype the array's counts; an int32 array may go where int64 is held as int32.
  request_.inputs.back().first = "idx";
  request_.inputs.back().second.dtype.reset();
  EXPECT_TRUE(messages().empty());
  // A port of one dtype needs no statement.
  request_.inputs.back().second.host_array.reset();
  EXPECT_TRUE(messages().empty());
}

TEST_F(Check, DataIsMeasuredAndNarrowed) {
  const std::vector<std::int64_t> data = {1, 2147483648};
  request_.inputs.emplace_back("idx", on_host(DType::i64, {2}, data));
  const auto wide = check_host_data(index_, run().bound);
  ASSERT_EQ(wide.size(), 1U);
  EXPECT_EQ(wide[0].message,
            "'idx' has 2147483648 at index 1, outside the range of its int32 buffer, -2147483648 "
            "to 2147483647");
  request_.inputs.back().second.shape = {3};
  const auto length = check_host_data(index_, run().bound);
  ASSERT_EQ(length.size(), 1U);
  EXPECT_EQ(length[0].message,
            "the data of 'idx' has 2 elements (16 bytes); its shape needs 3 (24 bytes)");
}

TEST_F(Check, PackedBytesGoWithPackedPorts) {
  TensorDesc tensor = on_device(DType::u8, {5});
  request_.inputs.emplace_back("bytes", tensor);
  EXPECT_EQ(
      only_message(),
      "request/dtype: 'bytes' must hold uint8 packed, four in a word; the tensor is not packed");
  request_.inputs.back().second.packed = true;
  EXPECT_TRUE(messages().empty());
  EXPECT_EQ(run().bound.tensors[1].byte_length, 8U);
  request_.inputs.back().first = "any";
  EXPECT_EQ(only_message(),
            "request/dtype: 'any' must not be packed; the tensor holds packed uint8");
}

TEST_F(Check, ShapesAreSane) {
  request_.inputs[0].second.shape = {2, -3};
  const auto texts = messages();
  ASSERT_EQ(texts.size(), 1U);
  EXPECT_TRUE(texts[0].starts_with("request/shape") || texts[0].starts_with("limit/buffer"))
      << texts[0];
  request_.inputs[0].second.shape = {std::int64_t{1} << 40, std::int64_t{1} << 40};
  EXPECT_TRUE(only_message().starts_with("limit/buffer"));
}

TEST_F(Check, RangesMustHoldTheTensor) {
  request_.inputs[0].second.range = BufferRange{7, 256, 279};
  EXPECT_EQ(only_message(),
            "request/length: 'xT' (X) needs 24 bytes at offset 256 of a buffer that has 279");
  request_.inputs[0].second.range->size = 280;
  EXPECT_TRUE(messages().empty());
}

// Numbers are compared as float32; text and numbers never meet.
TEST_F(Check, AttributeValues) {
  for (const Json& value : {Json(2.5000000001), Json("s"), Json(nullptr), Json(false), Json(1)}) {
    request_.attrs = {{"groups", value}};
    EXPECT_TRUE(messages().empty()) << json::write(value);
  }
  for (const Json& value : {Json(3), Json(true), Json("1"), Json(0), Json::array({1})}) {
    request_.attrs = {{"groups", value}};
    EXPECT_EQ(only_message(), "request/attribute: attribute 'groups' is " + json::write(value) +
                                  "; expected one of 1, 2.5, \"s\", null, false");
  }
  request_.attrs = {{"groups", 1}, {"eps", 0.10000000149011612}};
  EXPECT_TRUE(messages().empty());
  request_.attrs = {{"groups", 1}, {"groups", 1}};
  EXPECT_EQ(only_message(), "request/duplicate: attribute 'groups' is given twice");
}

TEST_F(Check, ArgumentKinds) {
  const auto with = [this](const char* name, Json value) {
    request_.args = {{"count", 0}, {name, std::move(value)}};
    return messages();
  };
  EXPECT_TRUE(with("level", -2147483648).empty());
  EXPECT_TRUE(with("level", nullptr).empty());
  EXPECT_TRUE(with("Scale", -1.5).empty());
  EXPECT_TRUE(with("flag", false).empty());
  EXPECT_TRUE(with("way", "up").empty());
  EXPECT_EQ(with("level", 2147483648.0).size(), 1U);
  EXPECT_EQ(with("level", 1.5).size(), 1U);
  EXPECT_EQ(with("scale", true).size(), 1U);
  EXPECT_EQ(with("flag", 1).size(), 1U);
  EXPECT_EQ(with("way", "left"),
            (std::vector<std::string>{
                "request/value: argument 'way' is \"left\"; expected one of up, down"}));
  request_.args = {{"count", nullptr}};
  EXPECT_EQ(only_message(), "request/missing: required argument 'count' is not given");
}

TEST_F(Check, TunablesKeepTheirKind) {
  request_.tunables = {{"WG", 32}, {"OWN", false}};
  EXPECT_TRUE(messages().empty());
  request_.tunables = {{"WG", "32"}, {"NAME", 1}};
  EXPECT_EQ(messages(),
            (std::vector<std::string>{
                "request/value: tunable 'WG' is \"32\"; expected a value like its default 64",
                "request/value: tunable 'NAME' is 1; expected a value like its default \"a\""}));
}

}  // namespace
}  // namespace wgk::planning
