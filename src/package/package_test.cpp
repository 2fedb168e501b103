// SPDX-License-Identifier: Apache-2.0
#include "package/package.h"

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <thread>
#include <vector>

#include "base/base64.h"
#include "base/contains_test.h"
#include "json/json.h"
#include "package/card.h"
#include "package/memory_source.h"

namespace wgk::package {
namespace {

// Stands in for SHA-256: the core links none, and any function of the bytes will do here.
Sha256 toy_digest(std::span<const std::byte> bytes) {
  Sha256 digest = {};
  for (std::size_t i = 0; i < bytes.size(); ++i)
    digest[i % 32] = static_cast<std::uint8_t>(digest[i % 32] * 31 +
                                               std::to_integer<std::uint8_t>(bytes[i]) + i);
  return digest;
}

using Files = std::map<std::string, std::string, std::less<>>;

constexpr std::string_view kManifest = R"({"domain": "a.b", "name": "Op",
  "inputs": {"x": {"onnx": "X", "dtype": "T"}}, "outputs": {"y": {"dtype": "T", "shape": "shapes.x", "rank": "ranks.x"}},
  "typeConstraints": {"T": ["float32", "float16"]}, "attributes": {"axis": {"default": 1}},
  "variants": [{"id": "v", "passes": [{"shader": "s.wgsl.jinja", "bindings": ["x", "y"], "dispatch": {"x": 1}}]}]})";

// A whole package; metadata.json is made to fit the other files.
Files make_files(Files files = {}) {
  files.try_emplace("manifest.json", kManifest);
  files.try_emplace("s.wgsl.jinja", "// {{ 1 + 1 }}");
  Json digests(Json::Object{});
  for (const auto& [path, text] : files)
    digests.set(path, base64_encode(toy_digest(std::as_bytes(std::span(text)))));
  const Json metadata = Json::object(
      {{"name", "a.b.Op"},
       {"id", "_a_b_op_webgpu_0000000"},
       {"version", 1},
       {"license", "apache-2.0"},
       {"backend", Json::object({{"type", "webgpu"}})},
       {"digest", Json::object({{"algorithm", "sha256"}, {"files", digests}})},
       {"webgpu",
        Json::object({{"manifestSpec", "2.1"},
                      {"variants", Json::object({{"v", Json::array({"s.wgsl.jinja"})}})}})}});
  files.try_emplace("metadata.json", json::write(metadata));
  return files;
}

Result<std::shared_ptr<const Package>> load_files(Files files, const LoadOptions& options = {}) {
  return load(MemorySource(std::move(files)), toy_digest, options);
}

std::string error_of(Files files, const LoadOptions& options = {}) {
  const auto package = load_files(std::move(files), options);
  return package ? "" : package.error().to_string();
}

// The metadata of a whole package with one text replaced.
std::string changed_metadata(std::string_view from, std::string_view to) {
  std::string text = make_files().at("metadata.json");
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

std::string metadata_error(std::string_view from, std::string_view to) {
  const auto metadata = read_metadata(changed_metadata(from, to));
  return metadata ? "" : metadata.error().to_string();
}

TEST(Package, Loads) {
  const auto package = load_files(make_files());
  ASSERT_TRUE(package.has_value()) << package.error().to_string();
  EXPECT_EQ((*package)->manifest.op_id(), "a.b.Op");
  EXPECT_EQ((*package)->metadata.id, "_a_b_op_webgpu_0000000");
  EXPECT_FALSE((*package)->manifest_digest.empty());
  EXPECT_TRUE((*package)->find_template("s.wgsl.jinja").has_value());
  EXPECT_EQ((*package)->find_template("t.wgsl").error().code, "package/template");
}

TEST(Package, ReportsEveryDigestViolationAtOnce) {
  Files files = make_files({{"test.json", "{}"}});
  files["manifest.json"] += " ";
  files.erase("test.json");
  files["extra.txt"] = "x";
  const auto package = load_files(files);
  ASSERT_FALSE(package.has_value());
  const std::string text = package.error().to_string();
  EXPECT_EQ(package.error().others.size(), 2u);
  EXPECT_TRUE(contains(text, "'manifest.json' has the digest"));
  EXPECT_TRUE(contains(text, "'test.json' is not there"));
  EXPECT_TRUE(contains(text, "'extra.txt' is not listed"));
  files["metadata.json.sigstore"] = "signature";
  EXPECT_EQ(load_files(files).error().others.size(), 2u);
}

// A text of one file may stand in very many templates, and very many files may be full.
TEST(Package, FilesAndTemplatesAreBoundedTogether) {
  const auto with = [](int count, const std::string& name, const std::string& text) {
    Files files;
    for (int i = 0; i < count; ++i) files["t" + std::to_string(i) + name] = text;
    files["big.wgsl.jinja"] = "// " + std::string(500'000, 'x');
    return make_files(std::move(files));
  };
  const std::string include = "{% include \"big.wgsl.jinja\" %}";
  EXPECT_EQ(error_of(with(20, ".wgsl.jinja", include)), "");
  EXPECT_TRUE(contains(error_of(with(40, ".wgsl.jinja", include)),
                       "error[limit/output]: the templates and what they include have more than "
                       "16777216 bytes together"));
  LoadOptions options;
  options.limits.file_bytes = 2'000'000;
  EXPECT_EQ(error_of(with(10, ".txt", std::string(1'500'000, 'x')), options), "");
  EXPECT_TRUE(contains(error_of(with(12, ".txt", std::string(1'500'000, 'x')), options),
                       "error[package/file]: the files have more than 16777216 bytes together"));
}

// Nothing but metadata.json is parsed before all digests hold.
TEST(Package, JudgesDigestsBeforeItParses) {
  Files files = make_files();
  files["manifest.json"] = "{";
  EXPECT_TRUE(contains(error_of(files), "error[package/digest]"));
  EXPECT_TRUE(contains(error_of(files, {.verify_digests = false}), "error[package/json]"));
}

TEST(Package, DefersWhatIsWrongWithTemplates) {
  Files files = make_files();
  files["s.wgsl.jinja"] += "changed";
  EXPECT_TRUE(contains(error_of(files), "error[package/digest]"));
  const auto package = load_files(files, {.defer_files = true});
  ASSERT_TRUE(package.has_value()) << package.error().to_string();
  EXPECT_EQ((*package)->find_template("s.wgsl.jinja").error().code, "package/digest");
  const auto broken = load_files(make_files({{"s.wgsl.jinja", "{% if %}"}}));
  ASSERT_TRUE(broken.has_value());
  EXPECT_EQ((*broken)->find_template("s.wgsl.jinja").error().code, "template/syntax");
}

TEST(Package, ChecksNames) {
  EXPECT_TRUE(contains(error_of(make_files(), {.expected_op_id = "a.b.Other"}),
                       "expected the operator 'a.b.Other', got 'a.b.Op'"));
  Files files = make_files();
  files["metadata.json"] = changed_metadata("a.b.Op", "a.b.Other");
  EXPECT_TRUE(contains(error_of(files), "metadata.json names the operator 'a.b.Other'"));
}

TEST(Package, ComparesVariants) {
  Files files = make_files();
  files["metadata.json"] =
      changed_metadata(R"("variants":{"v")", R"("variants":{"w":["s.wgsl.jinja"],"v")");
  EXPECT_TRUE(contains(error_of(files), "lists the variant 'w'"));
  files["metadata.json"] = changed_metadata(R"("variants":{"v")", R"("variants":{"w")");
  EXPECT_TRUE(contains(error_of(files), "does not list the variant 'v'"));
  Files two = make_files({{"t.wgsl", ""}});
  std::string& text = two["metadata.json"];
  text.replace(text.find(R"(["s.wgsl.jinja"])"), 16, R"(["t.wgsl"])");
  EXPECT_TRUE(contains(error_of(two), "does not list 's.wgsl.jinja', which pass 'pass_0' renders"));
}

TEST(Package, HasALimitForFiles) {
  EXPECT_TRUE(contains(error_of(make_files({{"s.wgsl.jinja", std::string(5000, ' ')}}),
                                {.limits = {.file_bytes = 4096}}),
                       "has 5000 bytes; the limit is 4096"));
}

TEST(Package, HasLimitsForJson) {
  EXPECT_TRUE(contains(error_of(make_files(), {.limits = {.json_bytes = 64, .json_depth = 64}}),
                       "error[package/json]"));
  EXPECT_TRUE(contains(error_of(make_files(), {.limits = {.json_bytes = 9999, .json_depth = 3}}),
                       "error[package/json]"));
}

TEST(Package, ExpandsIncludes) {
  const auto package =
      load_files(make_files({{"s.wgsl.jinja", "{% include \"t.wgsl\" %}"}, {"t.wgsl", "text"}}));
  ASSERT_TRUE(package.has_value());
  const auto parsed = (*package)->find_template("s.wgsl.jinja");
  ASSERT_TRUE(parsed.has_value()) << parsed.error().to_string();
  EXPECT_EQ(*(*parsed)->render(expr::Scope()), "text");
}

// Templates are parsed when somebody asks: what is wrong with one is an error then, to all the
// same.
TEST(Package, ParsesTemplatesOnceForAllThreads) {
  const auto package =
      load_files(make_files({{"s.wgsl.jinja", "{{ outer }}{% include \"t.wgsl\" %}"},
                             {"t.wgsl", "{{ inner }}"},
                             {"broken.wgsl.jinja", "{% if %}"}}));
  ASSERT_TRUE(package.has_value()) << package.error().to_string();
  std::array<const jinja::Template*, 4> seen = {};
  std::vector<std::thread> threads;
  for (const jinja::Template*& place : seen) {
    threads.emplace_back([&] { place = (*package)->find_template("s.wgsl.jinja")->get(); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const jinja::Template* place : seen) EXPECT_EQ(place, seen[0]);
  EXPECT_EQ((*package)->find_template("broken.wgsl.jinja").error().code, "template/syntax");
  EXPECT_TRUE((*package)->templates_read("outer"));
  EXPECT_TRUE((*package)->templates_read("inner"));
  EXPECT_FALSE((*package)->templates_read("inn")) << "the letters alone";
  EXPECT_FALSE((*package)->templates_read("derive"));
}

TEST(Metadata, NamesWhatIsWrong) {
  EXPECT_EQ(metadata_error("apache-2.0", "mit"), "");
  EXPECT_TRUE(contains(metadata_error("\"webgpu\"}", "\"cuda\"}"),
                       "backend.type: expected \"webgpu\", got \"cuda\""));
  EXPECT_TRUE(contains(metadata_error("\"2.1\"", "\"2.0\""), "expected '2.1', got '2.0'"));
  EXPECT_TRUE(contains(metadata_error("\"2.1\"", "\"2\""), "<major>.<minor>"));
  EXPECT_EQ(metadata_error("\"2.1\"", "2.1"), "");  // compared as text
  EXPECT_TRUE(contains(metadata_error("sha256", "sha512"), "sha512"));
  EXPECT_TRUE(contains(metadata_error("\"manifest.json\":", "\"../manifest.json\":"),
                       "not a plain relative path"));
  EXPECT_TRUE(contains(metadata_error("\"manifest.json\":", "\"a/constructor\":"),
                       "not a plain relative path"));
  EXPECT_TRUE(
      contains(metadata_error("\"manifest.json\":", "\"m.json\":"), "manifest.json is not listed"));
  EXPECT_TRUE(contains(metadata_error("[\"s.wgsl.jinja\"]", "[]"), "must not be empty"));
  EXPECT_TRUE(
      contains(metadata_error("[\"s.wgsl.jinja\"]", "[\"manifest.json\"]"), "not a template"));
  EXPECT_TRUE(contains(metadata_error("{\"v\":[\"s.wgsl.jinja\"]}", "{}"), "lists no variant"));
  EXPECT_TRUE(contains(metadata_error("{\"v\":", "{\"a-b\":"), "not a variant id"));
  EXPECT_TRUE(contains(read_metadata("[]").error().to_string(), "must hold an object"));
  EXPECT_TRUE(contains(read_metadata("{").error().to_string(), "error[package/json]"));
}

constexpr std::string_view kContract =
    R"json({"contract": 1, "description": "Does it.", "ports": {"x": {"description": "In.", "dims": "(N, C)"}},
  "attributes": {"axis": {"description": "Which."}}, "variants": {"v": "All of it."},
  "rules": [{"id": "rank", "code": "request/rank", "port": "x", "require": "ranks.x == 2", "message": "x has shape {{ shapes.x }}"},
            {"id": "odd", "code": "request/shape", "needs": ["rank"], "when": "present.x", "require": "shapes.x[0] % 2 == 1", "message": "even"}],
  "values": [{"id": "r", "code": "request/value", "port": "x", "kind": "range", "min": 0, "max": "shapes.x[0]", "message": "{{ got }}"}]})json";

std::string contract_error(std::string_view from, std::string_view to) {
  std::string text(kContract);
  if (const std::size_t at = text.find(from); at != std::string::npos)
    text.replace(at, from.size(), to);
  return error_of(make_files({{"contract.json", text}}));
}

TEST(Contract, IsRead) {
  const auto package = load_files(make_files({{"contract.json", std::string(kContract)}}));
  ASSERT_TRUE(package.has_value()) << package.error().to_string();
  const Contract& contract = *(*package)->contract;
  EXPECT_EQ(contract.rules[1].needs, std::vector<std::string>{"rank"});
  EXPECT_EQ(contract.rules[1].when->text(), "present.x");
  EXPECT_EQ(contract.values[0].max->source(), Json("shapes.x[0]"));
}

TEST(Contract, IsStrict) {
  EXPECT_TRUE(contains(contract_error("\"contract\": 1", "\"contract\": 2"), "contract"));
  EXPECT_TRUE(contains(contract_error("\"needs\": [\"rank\"]", "\"needs\": [\"later\"]"),
                       "rules[1].needs[0]: 'later'"));
  EXPECT_TRUE(contains(contract_error("request/rank", "request/nosuch"), "rules[0].code"));
  EXPECT_TRUE(
      contains(contract_error("\"port\": \"x\", \"require\"", "\"port\": \"q\", \"require\""),
               "names the port 'q'"));
  EXPECT_TRUE(contains(contract_error("ranks.x == 2", "ranks.x =="), "rules[0].require"));
  EXPECT_TRUE(contains(contract_error("{{ got }}", "{{ got"), "values[0].message"));
  EXPECT_TRUE(contains(contract_error("\"kind\": \"range\"", "\"kind\": \"set\""), "kind"));
  EXPECT_TRUE(contains(contract_error("\"id\": \"odd\"", "\"id\": \"rank\""), "twice"));
  EXPECT_TRUE(contains(contract_error("{\"v\": \"All", "{\"w\": \"All"), "variants.w"));
  EXPECT_TRUE(contains(contract_error("\"min\": 0", "\"least\": 0"), "least"));
}

TEST(Card, SaysWhatThePackageSays) {
  const auto package = load_files(make_files({{"contract.json", std::string(kContract)}}));
  ASSERT_TRUE(package.has_value());
  TestCase test;
  test.name = "first";
  test.inputs.emplace_back("x", CaseTensor{DType::f32, {4, 8}, ConstantValue{}, {}});
  test.attrs.emplace_back("axis", Json(0));
  const std::string card =
      make_card(**package, {test}, {"contract.json", "manifest.json", "s.wgsl.jinja"});
  EXPECT_TRUE(
      card.starts_with("---\nlibrary_name: kernels\nlicense: apache-2.0\ntags:\n- kernel\n- "
                       "webgpu\n- wgsl\n---\n# a.b.Op\n"));
  EXPECT_TRUE(contains(
      card, "| Name | Upstream name | Logical dtype | Rank | Shape | Description | Presence |"));
  EXPECT_TRUE(contains(card, "| `x` | `X` | `T` | — | (N, C) | In. | required |"));
  EXPECT_TRUE(contains(card, "| `y` | `T` | same as `x` | same as `x` | — | required |"));
  EXPECT_TRUE(contains(card, "| `axis` | `1` | Which. |"));
  EXPECT_TRUE(contains(card, "- `v` — All of it."));
  EXPECT_TRUE(contains(card, "- [`s.wgsl.jinja`](build/webgpu/s.wgsl.jinja)"));
  EXPECT_TRUE(
      contains(card, "  x: { data: xData, shape: [4, 8] },\n}, {\n  attrs: { axis: 0 },\n});"));
}

}  // namespace
}  // namespace wgk::package
