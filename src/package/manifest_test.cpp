// SPDX-License-Identifier: Apache-2.0
#include "package/manifest.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "base/contains_test.h"
#include "json/json.h"

namespace wgk::package {
namespace {

Json parse(std::string_view text) {
  auto json = json::parse(text);
  EXPECT_TRUE(json.has_value()) << json.error().to_string();
  return json ? *std::move(json) : Json();
}

Json read_json(const std::string& path) {
  std::ifstream file(std::string(WGK_SOURCE_DIR) + "/" + path, std::ios::binary);
  return parse(std::string(std::istreambuf_iterator<char>(file), {}));
}

// A manifest of one variant; `more` are further members of the manifest, `variant` those of the
// variant.
Json manifest(
    std::string_view more,
    std::string_view variant =
        R"("passes": [{"shader": "s.wgsl", "bindings": ["x", "y"], "dispatch": {"x": 1}}])") {
  return parse(
      R"({"name": "Op", "domain": "a.b", "inputs": {"x": {"dtype": "T"}}, "outputs": {"y": {"dtype": "T"}},
                   "typeConstraints": {"T": ["float32"]}, "variants": [{)" +
      std::string(variant) + "}]" + std::string(more) + "}");
}

std::string error_of(const Json& json, const ManifestLimits& limits = {}) {
  auto result = read_manifest(json, limits);
  return result ? "" : result.error().to_string();
}

// Every recorded manifest must be refused or accepted as the published loader did, with the same
// expanded variants.
TEST(Manifest, AgreesWithThePublishedLoader) {
  const Json corpus = read_json("tests/interop/expectations/invalid_manifests.json");
  const Json* cases = corpus.find("cases");
  ASSERT_NE(cases, nullptr);
  ASSERT_EQ(cases->if_array()->size(), 140u);
  for (const Json& one : *cases->if_array()) {
    SCOPED_TRACE(*one.find("id")->if_string());
    auto result = read_manifest(*one.find("manifest"));
    if (*one.find("throws")->if_bool()) {
      ASSERT_FALSE(result.has_value());
      EXPECT_EQ(result.error().code, "package/manifest");
      EXPECT_FALSE(result.error().message.empty());
      continue;
    }
    ASSERT_TRUE(result.has_value()) << result.error().to_string();
    Json::Array ids;
    for (const Variant& variant : result->variants) ids.emplace_back(variant.id);
    EXPECT_EQ(Json(ids), *one.find("variants"));
  }
}

TEST(Manifest, ExpandsFamilies) {
  auto result = read_manifest(
      read_json("tests/interop/packages/test.interop.Families/build/webgpu/manifest.json"));
  ASSERT_TRUE(result.has_value()) << result.error().to_string();
  const Variant* b = result->variant("case_b");
  ASSERT_NE(b, nullptr);
  EXPECT_EQ(b->priority, 6.5);
  ASSERT_EQ(b->when.size(), 1u);  // the empty list is spliced away
  EXPECT_EQ(b->when[0].text(), "attrs.mode == \"b\"");
  ASSERT_EQ(b->demote_when.size(), 1u);
  EXPECT_EQ(b->derive[0].first, "d_b");
  EXPECT_EQ(b->derive[0].second.source(), Json("tunables.W * 128"));
  EXPECT_TRUE(result->variant("case_a")->demote_when.empty());  // null removes the key
  const Variant* cell = result->variant("cell_8_99");           // an overridden cell
  ASSERT_NE(cell, nullptr);
  EXPECT_EQ(cell->derive[0].second.source(), Json("\"override\""));
  const Pass& pass = std::get<Pass>(cell->steps[0]);
  EXPECT_EQ(pass.bindings[0].name, "y");
  EXPECT_EQ(pass.dispatch.y.source(), Json(99));
  EXPECT_EQ(result->variant("cell_16_1"), nullptr);  // excluded
}

TEST(Manifest, ResolvesBindings) {
  auto result = read_manifest(
      read_json("tests/interop/packages/test.interop.Scratch/build/webgpu/manifest.json"));
  ASSERT_TRUE(result.has_value()) << result.error().to_string();
  const Variant& variant = result->variants[0];
  const auto& write = std::get<Pass>(variant.steps[0]).bindings;
  EXPECT_EQ(write[0].buffer, BufferType::kReadOnlyStorage);
  EXPECT_EQ(write[0].element_type, Json("$T"));
  EXPECT_EQ(write[1].name, "acc");  // a shared entry that reaches the scratch by its WGSL name
  EXPECT_EQ(write[2].buffer, BufferType::kStorage);
  EXPECT_EQ(write[2].element_type, Json("f16"));  // the scratch's scalar
  EXPECT_EQ(write[3].element_type, Json("u32"));
  const auto& read = std::get<Pass>(variant.steps[2]).bindings;
  EXPECT_EQ(read[1].scratch, "halfs");
  EXPECT_EQ(read[1].name, "hh");
  EXPECT_EQ(read[2].name, "sc");
  EXPECT_EQ(read[2].scratch, "");  // equal to the name
}

TEST(Manifest, MergesRequirements) {
  auto result = read_manifest(
      read_json("tests/interop/packages/test.interop.RequiresMerge/build/webgpu/manifest.json"));
  ASSERT_TRUE(result.has_value()) << result.error().to_string();
  const Requires& sg16 = result->variant("sg16")->requirements;
  EXPECT_EQ(sg16.features, (std::vector<std::string>{"shader-f16"}));
  EXPECT_EQ(sg16.limits[0],
            (std::pair<std::string, double>("maxComputeInvocationsPerWorkgroup", 128)));
  EXPECT_EQ(sg16.subgroup_min_size, 16);
  EXPECT_EQ(result->variant("sg32")->requirements.features,
            (std::vector<std::string>{"shader-f16", "subgroups"}));
  EXPECT_EQ(result->variant("mat_list")->requirements.matrix_configs.size(), 2u);
  EXPECT_TRUE(contains(error_of(manifest(R"(, "requires": {"subgroupMatrixConfigs": [{"M": 8}]})",
                                         R"("requires": {"subgroupMatrixConfigs": [{"M": 8}]},
                                   "passes": [{"shader": "s.wgsl", "bindings": ["x", "y"], "dispatch": {"x": 1}}])")),
                       "only one may have it"));
}

TEST(Manifest, WritesOutTheDispatchForms) {
  auto result = read_manifest(
      read_json("tests/interop/packages/test.interop.DispatchForms/build/webgpu/manifest.json"));
  ASSERT_TRUE(result.has_value()) << result.error().to_string();
  const auto& steps = result->variants[0].steps;
  const Dispatch& threads = std::get<Pass>(steps[2]).dispatch;
  EXPECT_EQ(threads.form, Dispatch::Form::kThreads);
  EXPECT_EQ(threads.x.source(), Json("min(ceilDiv((attrs.n), (tunables.W)), 65535)"));
  EXPECT_EQ(threads.y.source(), Json("ceilDiv(ceilDiv((attrs.n), (tunables.W)), 65535)"));
  const Dispatch& workgroups = std::get<Pass>(steps[7]).dispatch;
  EXPECT_EQ(workgroups.x.source(), Json("min(65536, 65535)"));
  EXPECT_EQ(std::get<Pass>(steps[1]).dispatch.z.source(), Json(1));
}

TEST(Manifest, ReadsRepeatGroups) {
  auto result = read_manifest(
      read_json("tests/interop/packages/test.interop.RepeatNested/build/webgpu/manifest.json"));
  ASSERT_TRUE(result.has_value()) << result.error().to_string();
  const auto& steps = result->variants[0].steps;
  ASSERT_EQ(steps.size(), 2u);
  const auto& outer = std::get<std::shared_ptr<const Repeat>>(steps[1]);
  EXPECT_EQ(outer->id, "outer");
  const auto& inner = std::get<std::shared_ptr<const Repeat>>(outer->steps[1]);
  EXPECT_EQ(inner->id, "repeat_1");
  EXPECT_EQ(std::get<Pass>(inner->steps[0]).id, "pass_0");
}

TEST(Manifest, FindsPortsByEitherName) {
  auto result = read_manifest(
      read_json("tests/interop/packages/test.interop.Base/build/webgpu/manifest.json"));
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->op_id(), "test.interop.Base");
  EXPECT_EQ(result->input("X"), result->input("x"));
  EXPECT_NE(result->output("Y"), nullptr);
  EXPECT_EQ(result->input("nosuch"), nullptr);
  EXPECT_EQ(result->input(""), nullptr);  // idx has no upstream name
}

TEST(Manifest, NamesThePlace) {
  EXPECT_TRUE(contains(
      error_of(manifest(
          "", R"("passes": [{"shader": "s.wgsl", "bindings": ["x", "q"], "dispatch": {"x": 1}}])")),
      "variants[0].passes[0].bindings[1]: 'q'"));
  EXPECT_TRUE(contains(error_of(manifest(R"(, "tunable": {})")), "tunable"));
  EXPECT_TRUE(contains(error_of(manifest(R"(, "attributes": {"axis": {"defualt": 1}})")),
                       "attributes.axis"));
}

// What was found, what is known, and the near name.
TEST(Manifest, SaysWhatWouldBeRight) {
  const std::string pass =
      R"("passes": [{"shader": "s.wgsl", "bindings": ["x", "y"], "dispatch": {"x": 1}}])";
  const auto refused = [&](const std::string& top, const std::string& variant,
                           std::initializer_list<std::string_view> parts) {
    const std::string error =
        error_of(manifest(top, variant + (variant.empty() ? "" : ", ") + pass));
    for (const std::string_view part : parts) EXPECT_TRUE(contains(error, part)) << error;
  };
  refused(
      R"(, "requires": {"features": ["subgroup"]})", "",
      {"requires.features[0]: 'subgroup' is not a feature that a package may require; known are "
       "shader-f16, subgroups,",
       "did you mean 'subgroups'?"});
  refused(R"(, "requires": {"limits": {"maxBufferSizes": 1}})", "",
          {"'maxBufferSizes' is not the name of a WebGPU limit", "did you mean 'maxBufferSize'?"});
  refused(R"(, "requires": {"limits": {"nothingLikeIt": 1}})", "",
          {"is not the name of a WebGPU limit; known are maxTextureDimension1D, "});
  refused(
      "", R"("intermediates": [{"id": "s", "dtype": "float23"}])",
      {"'float23' is not a storage dtype; known are float32, float16,", "did you mean 'float32'?"});
  refused("", R"("supersededBy": ["onli"], "id": "only")",
          {"names the unknown variant 'onli' in supersededBy", "did you mean 'only'?"});
  refused("", R"("when": 7)", {"when: must be a list of strings, got 7"});
  refused(R"(, "attributes": {"axis": {}}, "attributeConstraints": {"axes": {"required": true}})",
          "", {"'axes' is not an attribute of this manifest; known are axis"});
  refused(R"(, "conformance": "strict")", "", {"legacy-default-domain, got 'strict'"});
  refused(R"(, "tunables": {"N": {"default": [1]}})", "",
          {"must be a number, a string or a bool, got an array"});
}

TEST(Manifest, OnlyWhatStartsAsZeroIsKeptZero) {
  const auto read = [](const std::string& keys) {
    return read_manifest(manifest("", R"("intermediates": [{"id": "s", "dtype": "uint32")" + keys +
                                          R"(}], "passes": [{"shader": "s.wgsl",
                                          "bindings": ["x", "s"], "dispatch": {"x": 1}}])"));
  };
  const auto flags = [&](const std::string& keys) {
    const auto result = read(keys);
    if (!result) return result.error().to_string();
    const Intermediate& scratch = result->variants[0].intermediates[0];
    return std::string(scratch.zero_init ? "zero" : "any") + (scratch.kept_zero ? ", kept" : "");
  };
  EXPECT_EQ(flags(""), "any");
  EXPECT_EQ(flags(R"(, "zeroInit": true)"), "zero");
  EXPECT_EQ(flags(R"(, "keptZero": true, "zeroInit": true)"), "zero, kept");
  EXPECT_TRUE(contains(flags(R"(, "keptZero": true)"),
                       "intermediates[0].keptZero: needs zeroInit: true beside it"));
  for (const std::string value : {"false", "1", "\"true\"", "null"}) {
    EXPECT_TRUE(contains(flags(R"(, "zeroInit": true, "keptZero": )" + value),
                         "intermediates[0].keptZero: must be true"))
        << value;
  }
}

TEST(Manifest, MapsHaveALimit) {
  const auto entries = [](std::size_t count, const char* value) {
    std::string text;
    for (std::size_t i = 0; i < count; ++i)
      text += (i == 0 ? "\"n" : ", \"n") + std::to_string(i) + "\": " + value;
    return "{" + text + "}";
  };
  for (const auto& [key, value] :
       {std::pair{"derive", "1"}, {"attributes", "{}"}, {"tunables", R"({"default": 1})"}}) {
    const auto with = [&](std::size_t count) {
      return error_of(manifest(", \"" + std::string(key) + "\": " + entries(count, value)));
    };
    EXPECT_EQ(with(4096), "") << key;
    EXPECT_TRUE(contains(with(4097), "limit/count")) << key << with(4097);
  }
  EXPECT_TRUE(contains(error_of(manifest("", "\"derive\": " + entries(4097, "1"))), "limit/count"));
}

TEST(Manifest, CommentsAndPrototypeNamesAreToldWithTheirPlace) {
  const auto error = [](std::string_view variant) { return error_of(manifest("", variant)); };
  EXPECT_TRUE(contains(error(R"("passes": [{"derive": {"$comment": 5}}])"),
                       "variants[0].passes[0].derive.$comment: a comment must be a string"));
  EXPECT_TRUE(contains(error(R"("passes": [], "derive": {"toString": "1"})"),
                       "variants[0].derive.toString: the key 'toString' is the name of"));
  EXPECT_TRUE(contains(error_of(manifest(R"(, "$comment": [])")), "]: $comment: a comment"));
}

// What a hostile manifest could make long is bounded or found without looking at everything before.
TEST(Manifest, ListsOfFamiliesHaveALimit) {
  const auto members = [](int count, const std::string& first) {
    std::string text = first;
    for (int i = 0; i < count; ++i)
      text += (text.empty() ? "\"v" : ", \"v") + std::to_string(i) + "\": 1";
    return "{" + text + "}";
  };
  const auto family = [](const std::string& text) {
    Json json = manifest("");
    Json one = parse("{" + text + R"(, "variants": [{"passes": []}]})");
    one.set("variants", *json.find("variants"));
    json.set("variants", Json(Json::Array{one}));
    return error_of(json);
  };
  EXPECT_EQ(family("\"cases\": [" + members(4096, "") + "]"), "");
  EXPECT_TRUE(contains(family("\"cases\": [" + members(4097, "") + "]"), "limit/count"));
  const auto axes = [&](const std::string& records) {
    return family(R"("axes": {"A": [)" + records + R"(], "B": [{"$key": "k"}]})");
  };
  EXPECT_TRUE(contains(axes(members(4096, R"("$key": "k")")), "limit/count"));
  std::string keys;
  for (int i = 0; i < 4097; ++i)
    keys += std::string(i == 0 ? "" : ", ") + R"({"$key": "k)" + std::to_string(i) + "\"}";
  EXPECT_TRUE(contains(axes(keys), "more than 4096 variants"));
  // The cells of a table hold copies: two keys and one long text make a hundred megabytes here.
  std::string many;
  for (int i = 0; i < 100; ++i)
    many += std::string(i == 0 ? "" : ", ") + R"({"$key": "k)" + std::to_string(i) + "\"}";
  EXPECT_TRUE(contains(family(R"("axes": {"A": [{"$key": "k", "long": ")" +
                              std::string(1 << 20, 'x') + R"("}], "B": [)" + many + "]}"),
                       "package/json"));
  // Values are counted before they are copied into a variant.
  const std::string long_text(1 << 20, 'x');
  std::string placeholders;
  for (int i = 0; i < 100; ++i) placeholders += "{v}";
  Json twice = manifest("");
  twice.set("variants", Json(Json::Array{parse(R"({"cases": [{"v": ")" + long_text +
                                               R"("}], "variants": [{"description": ")" +
                                               placeholders + R"(", "passes": []}]})")}));
  EXPECT_TRUE(contains(error_of(twice), "package/json"));
  // So is what is only read: these placeholders leave nothing behind.
  std::string empty_cases;
  for (int i = 0; i < 100; ++i) empty_cases += std::string(i == 0 ? "" : ", ") + R"({"v": ""})";
  std::string nothing;
  for (int i = 0; i < 300'000; ++i) nothing += "{v}";
  Json read = manifest("");
  read.set("variants", Json(Json::Array{parse("{\"cases\": [" + empty_cases +
                                              R"(], "variants": [{"description": ")" + nothing +
                                              R"(", "passes": []}]})")}));
  EXPECT_TRUE(contains(error_of(read), "package/json"));
  // Braces without a name are text, and are read once: this took minutes when each looked for its
  // end.
  EXPECT_EQ(family(R"("cases": [{"v": 1}], "description": ")" + std::string(2 << 20, '{') + "\""),
            "");
  // A name of any length stands in no path as a whole.
  const std::string error =
      error_of(manifest(", \"attributes\": {\"" + std::string(1 << 20, 'n') + "\": 5}"));
  EXPECT_FALSE(error.empty());
  EXPECT_LT(error.size(), 4000u) << error.substr(0, 100);
  std::string numbers = "0";
  for (int i = 1; i < 4097; ++i) numbers += ", " + std::to_string(i);
  EXPECT_TRUE(contains(
      error_of(manifest(R"(, "attributes": {"a": {}}, "attributeConstraints": {"a": {"values": [)" +
                        numbers + "]}}")),
      "limit/count"));
}

TEST(Manifest, KeepsItsLimits) {
  const std::string passes =
      R"("passes": [{"shader": "s.wgsl", "bindings": ["x", "y"], "dispatch": {"x": 1}},
                                           {"shader": "s.wgsl", "bindings": ["x", "y"], "dispatch": {"x": 1}}])";
  EXPECT_TRUE(contains(error_of(manifest("", passes), {.max_variants = 8, .max_passes = 1}),
                       "limit/count"));
  EXPECT_EQ(error_of(manifest("", passes), {.max_variants = 1, .max_passes = 2}), "");
  Json cases(Json::Array{});
  for (int i = 0; i < 9; ++i) cases.if_array()->push_back(Json::object({{"k", i}}));
  Json json = manifest("");
  Json family = Json::object({{"cases", cases}, {"variants", *json.find("variants")}});
  json.set("variants", Json(Json::Array{family}));
  EXPECT_TRUE(
      contains(error_of(json, {.max_variants = 8, .max_passes = 8}), "more than 8 variants"));
  EXPECT_TRUE(contains(error_of(json, {.max_expanded_bytes = 1000}), "package/json"));
  EXPECT_EQ(error_of(json, {.max_expanded_bytes = 1'000'000}), "");
  // A table is refused before its cells are made: these would be four million.
  Json axes(Json::Object{});
  for (const char* name : {"A", "B"}) {
    Json keys(Json::Array{});
    for (int i = 0; i < 2000; ++i)
      keys.if_array()->push_back(
          Json::object({{"$key", "k" + std::to_string(i)}, {std::string("value") + name, i}}));
    axes.set(name, keys);
  }
  family = Json::object({{"axes", axes}, {"variants", *manifest("").find("variants")}});
  json.set("variants", Json(Json::Array{family}));
  EXPECT_TRUE(contains(error_of(json, {.max_variants = 8}), "more than 8 variants"));
}

// Odd values that the published loader takes, because its checks look elsewhere.
TEST(Manifest, IsAsLenientAsThePublishedLoader) {
  EXPECT_EQ(error_of(manifest(R"(, "sinceVersion": "one", "onnx": [1])")), "");
  EXPECT_EQ(error_of(manifest(R"(, "attributeConstraints": {}, "args": null)")), "");
  EXPECT_EQ(
      error_of(manifest(
          "",
          R"("id": null, "priority": null, "passes": [{"shader": "s.wgsl", "bindings": ["x", "y"], "dispatch": {"x": 1}, "viewAlias": null, "id": null}])")),
      "");
  EXPECT_EQ(
      error_of(manifest(
          "",
          R"("intermediates": [{"id": "s", "dtype": "float32", "whatever": 1}, {"id": "s", "dtype": "int32"}],
      "passes": [{"repeat": {"count": 2, "index": "i", "more": 1}, "more": 1,
                  "passes": [{"shader": "s.wgsl", "bindings": ["x", "s"], "dispatch": {"x": 1}}]}])")),
      "");
}

}  // namespace
}  // namespace wgk::package
