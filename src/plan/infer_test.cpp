// SPDX-License-Identifier: Apache-2.0
#include "plan/infer.h"

#include <gtest/gtest.h>

#include "plan/test_package.h"

namespace wgk::planning {
namespace {

struct Inferred {
  BoundRequest bound;
  std::vector<std::string> errors;

  const BoundTensor& output(const PackageIndex& index, std::string_view port) const {
    static const BoundTensor none;
    const auto slot = index.find_output(port);
    return slot && bound.tensor(*slot) != nullptr ? *bound.tensor(*slot) : none;
  }
};

Inferred run(const PackageIndex& index, const Request& request) {
  Checked checked = check(index, request);
  EXPECT_TRUE(checked.violations.empty())
      << (checked.violations.empty() ? "" : all_of(merged(checked.violations)));
  RequestScope scope(index, checked.bound);
  Inferred result;
  for (const Error& error : infer(index, checked.bound, scope, {}))
    result.errors.push_back(error.code + ": " + error.message);
  result.bound = std::move(checked.bound);
  return result;
}

std::shared_ptr<package::Package> with_outputs(std::string_view outputs, std::string_view more = "",
                                               std::string_view domain = "test") {
  return make_package(R"({"domain": ")" + std::string(domain) + R"(", "name": "I",
    "inputs": {"x": {"dtype": "T"}, "k": {"dtype": "I", "optional": true}, "st": {"dtype": "T", "optional": true}, "f": {"dtype": "F", "optional": true}},
    "typeConstraints": {"T": ["float32", "float16", "int32"], "I": ["int64", "int32"], "B": ["bool"], "N": ["int8", "int32", "float16"]},
    "outputs": )" + std::string(outputs) +
                      "," + std::string(more) + R"(
    "variants": [{"passes": [{"shader": "s.wgsl.jinja", "bindings": ["x"], "dispatch": {"x": 1}}]}]})");
}

Request request(Shape shape = {2, 3}, DType dtype = DType::f32) {
  Request result;
  result.inputs.emplace_back("x", on_device(dtype, std::move(shape)));
  return result;
}

TEST(Infer, ShapesComeFromRulesThatMayUseDerives) {
  const auto package = with_outputs(
      R"({"y": {"dtype": "T", "shape": ["count", "shapes.x[1] * 2", 7]}, "z": {"dtype": "T", "shape": "shapes.x + [half]"}})",
      R"("derive": {"broken": "nosuch + 1", "count": "shapes.x[0]", "half": "shapes.x[1] / 3"},)");
  const PackageIndex index(*package);
  const Inferred result = run(index, request());
  EXPECT_TRUE(result.errors.empty());
  EXPECT_EQ(result.output(index, "y").shape, (Shape{2, 6, 7}));
  EXPECT_EQ(result.output(index, "z").shape, (Shape{2, 3, 1}));
}

TEST(Infer, TheDefaultDeviceIsSeen) {
  const auto package = with_outputs(
      R"({"y": {"dtype": "T", "shape": ["device.limits.maxComputeInvocationsPerWorkgroup", "1 if f16Ok('f16') else 2", "w"]}})",
      R"("derive": {"w": "device.features.size"},)");
  const PackageIndex index(*package);
  EXPECT_EQ(run(index, request()).output(index, "y").shape, (Shape{256, 2, 0}));
}

TEST(Infer, EachOutputThatFailsIsReported) {
  const auto package = with_outputs(
      R"({"a": {"dtype": "T", "shape": "shapes.k"}, "b": {"dtype": "T", "shape": ["shapes.x[0] - 3"]}, "c": {"dtype": "T", "shape": "nosuch"},
          "d": {"dtype": "T"}, "e": {"dtype": "T", "shape": "7"}, "g": {"dtype": "T", "shape": ["0.5"]}})");
  const PackageIndex index(*package);
  const auto errors = run(index, request()).errors;
  ASSERT_EQ(errors.size(), 6U);
  EXPECT_EQ(errors[0],
            "request/infer: the shape rule of output 'a' gives undefined; expected a list of "
            "non-negative integers");
  EXPECT_EQ(errors[1],
            "request/infer: the shape rule of output 'b' gives (-1); expected a list of "
            "non-negative integers");
  EXPECT_TRUE(errors[2].starts_with("request/infer: the shape of output 'c' cannot be inferred: "))
      << errors[2];
  EXPECT_EQ(errors[3],
            "request/infer: output 'd' has no shape rule; give its shape or a destination");
  EXPECT_EQ(errors[4],
            "request/infer: the shape rule of output 'e' gives 7; expected a list of non-negative "
            "integers");
  EXPECT_EQ(errors[5],
            "request/infer: the shape rule of output 'g' gives (0.5); expected a list of "
            "non-negative integers");
}

TEST(Infer, OptionalOutputsExistWhenWanted) {
  const auto package = with_outputs(
      R"({"y": {"dtype": "T", "shape": "shapes.x"}, "s": {"dtype": "float32", "shape": [4], "optional": true}})");
  const PackageIndex index(*package);
  EXPECT_EQ(run(index, request()).bound.tensors.size(), 2U);
  Request call = request();
  call.outputs.emplace_back("s", OutputDesc{});
  EXPECT_EQ(run(index, call).output(index, "s").shape, Shape{4});
}

TEST(Infer, TheRuleWinsOverAWishButNotOverADestination) {
  const auto package = with_outputs(R"({"y": {"dtype": "T", "shape": "shapes.x"}})");
  const PackageIndex index(*package);
  Request call = request();
  call.outputs.emplace_back("y", OutputDesc{.shape = Shape{9}, .dtype = {}, .destination = {}});
  EXPECT_EQ(run(index, call).output(index, "y").shape, (Shape{2, 3}));
  call.outputs[0].second.destination = on_device(DType::f32, {9});
  EXPECT_EQ(run(index, call).output(index, "y").shape, Shape{9});
  call.outputs[0].second.destination = on_device(DType::f16, {9});
  EXPECT_EQ(run(index, call).errors.at(0),
            "request/dtype: 'y' is float16, but 'x' is float32 and both have type T");
}

TEST(Infer, InPlaceOutputsAreTheirInput) {
  const auto package = with_outputs(
      R"({"st": {"dtype": "T", "shape": "shapes.st"}, "y": {"dtype": "T", "shape": "shapes.x"}})");
  const PackageIndex index(*package);
  Request call = request();
  call.inputs.emplace_back("st", on_device(DType::f32, {5}));
  const Inferred result = run(index, call);
  EXPECT_EQ(result.bound.tensors.size(), 3U);
  EXPECT_TRUE(result.output(index, "st").is_input);
  EXPECT_TRUE(result.output(index, "st").is_output);
  EXPECT_EQ(run(index, request()).errors.size(), 1U);
}

TEST(Infer, DTypes) {
  const auto package = with_outputs(
      R"({"absent": {"shape": [1]}, "concrete": {"dtype": "uint32", "shape": [1]}, "bound": {"dtype": "T", "shape": [1]}, "single": {"dtype": "B", "shape": [1]},
          "projected": {"dtype": "int64", "storage": "uint32", "shape": [1]}, "like": {"dtype": "I", "shape": [1]}, "first": {"dtype": "N", "shape": [1]}})");
  const PackageIndex index(*package);
  Request call = request({1}, DType::i32);
  call.inputs.emplace_back("k", on_device(DType::i64, {1}));
  const Inferred result = run(index, call);
  EXPECT_TRUE(result.errors.empty()) << testing::PrintToString(result.errors);
  EXPECT_EQ(result.output(index, "absent").dtype, DType::f32);
  EXPECT_EQ(result.output(index, "concrete").dtype, DType::u32);
  EXPECT_EQ(result.output(index, "bound").dtype, DType::i32);
  EXPECT_EQ(result.output(index, "single").dtype, DType::boolean);
  EXPECT_EQ(result.output(index, "projected").dtype, DType::i64);
  EXPECT_EQ(result.output(index, "projected").storage, DType::u32);
  EXPECT_EQ(result.output(index, "like").dtype, DType::i64);
  // Nothing binds N: the first input with an admitted storage gives its type.
  EXPECT_EQ(result.output(index, "first").dtype, DType::i32);
}

TEST(Infer, UnknownDTypes) {
  const auto package =
      with_outputs(R"({"y": {"dtype": "N", "shape": [1]}, "z": {"dtype": "F", "shape": [1]}})");
  const PackageIndex index(*package);
  Request call = request();
  EXPECT_EQ(run(index, call).errors,
            (std::vector<std::string>{"request/infer: the dtype of output 'y' cannot be inferred; "
                                      "give its dtype or a destination",
                                      "request/infer: the dtype of output 'z' cannot be inferred; "
                                      "give its dtype or a destination"}));
  call.outputs.emplace_back("y", OutputDesc{.shape = {}, .dtype = DType::i8, .destination = {}});
  call.inputs.emplace_back("f", on_device(DType::u8, {1}));
  const Inferred result = run(index, call);
  EXPECT_TRUE(result.errors.empty());
  EXPECT_EQ(result.output(index, "y").dtype, DType::i8);
  EXPECT_EQ(result.output(index, "z").dtype, DType::u8);
}

// ONNX's Cast names the output type by code, in its own domain only.
TEST(Infer, CastsNameTheirType) {
  constexpr std::string_view kTo =
      R"("attributes": {"to": {}}, "attributeConstraints": {"to": {"required": true}},)";
  const auto onnx = with_outputs(R"({"y": {"dtype": "N", "shape": [1]}})", kTo, "ai.onnx");
  const PackageIndex index(*onnx);
  Request call = request({1}, DType::f16);
  call.attrs = {{"to", 3}};
  EXPECT_EQ(run(index, call).output(index, "y").dtype, DType::i8);
  call.attrs = {{"to", 1}};
  EXPECT_EQ(run(index, call).errors.at(0),
            "request/attribute: attribute 'to' is 1; output 'y' admits 3 (int8), 6 (int32), 10 "
            "(float16)");
  const auto other = with_outputs(R"({"y": {"dtype": "N", "shape": [1]}})", kTo);
  EXPECT_EQ(run(PackageIndex(*other), call).bound.tensors.back().dtype, DType::f16);
}

}  // namespace
}  // namespace wgk::planning
