// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <set>

#include "base/base64.h"
#include "base/contains_test.h"
#include "io/files.h"
#include "json/json.h"
#include "package/memory_source.h"
#include "store/digest.h"
#include "store/folder_source.h"
#include "store/open.h"
#include "store/sha256.h"

namespace wgk::store {
namespace {

namespace fs = std::filesystem;

std::string read(const fs::path& path) {
  auto text = io::read_file(path);
  EXPECT_TRUE(text.has_value()) << text.error().to_string();
  return text ? *std::move(text) : "";
}

const fs::path kInterop = fs::path(WGK_SOURCE_DIR) / "tests" / "interop";

// A copy of a recorded package in a folder of its own.
class Folder : public testing::Test {
 protected:
  void SetUp() override {
    root_ = fs::path(testing::TempDir()) / ("wgk_store_" + std::to_string(::getpid()));
    fs::remove_all(root_);
    package_ = root_ / "test.interop.Base";
    build_ = package_ / "build" / "webgpu";
    fs::create_directories(package_);
    fs::copy(kInterop / "packages" / "test.interop.Base", package_, fs::copy_options::recursive);
  }
  void TearDown() override { fs::remove_all(root_); }

  void write(const fs::path& path, std::string_view text) {
    fs::create_directories(path.parent_path());
    ASSERT_TRUE(io::write_file(path, text).has_value());
  }
  std::string open_error() const {
    const auto package = open(package_.string());
    return package ? "" : package.error().to_string();
  }

  fs::path root_, package_, build_;
};
using Digest = Folder;

TEST(Sha256, KnowsTheStandardVector) {
  const std::string_view text = "abc";
  EXPECT_EQ(base64_encode(sha256(std::as_bytes(std::span(text)))),
            "ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=");
}

TEST_F(Folder, OpensByEitherPath) {
  EXPECT_EQ(open_error(), "");
  EXPECT_TRUE(open(build_.string()).has_value());
  EXPECT_EQ(open((root_ / "nosuch").string()).error().code, "store/not-found");
  EXPECT_EQ(open(root_.string()).error().code, "store/not-found");
}

TEST_F(Folder, RefusesChangedAndUnlistedFiles) {
  write(build_ / "s.wgsl.jinja", "changed");
  write(build_ / "more" / "extra.json", "{}");
  const std::string text = open_error();
  EXPECT_TRUE(contains(text, "error[package/digest]: 's.wgsl.jinja' has the digest"));
  EXPECT_TRUE(contains(text, "error[package/digest]: 'more/extra.json' is not listed"));
}

TEST_F(Folder, RefusesPathsThatLeaveIt) {
  write(root_ / "secret", "secret");
  const auto source = FolderSource::open(build_);
  ASSERT_TRUE(source.has_value());
  for (const char* path : {"../../../secret", "/etc/passwd", "a/../../b", "", "a//b", "a\\b"})
    EXPECT_EQ(source->read(path).error().code, "package/file") << path;
  fs::remove(build_ / "s.wgsl.jinja");
  fs::create_symlink(root_ / "secret", build_ / "s.wgsl.jinja");
  EXPECT_TRUE(contains(open_error(), "is a link that leads out of the package"));
  fs::remove(build_ / "s.wgsl.jinja");
  fs::create_symlink("manifest.json", build_ / "s.wgsl.jinja");  // inside: only the digest is wrong
  EXPECT_TRUE(contains(open_error(), "'s.wgsl.jinja' has the digest"));
  fs::create_directory_symlink(root_, build_ / "up");
  EXPECT_TRUE(contains(open_error(), "'up' is not listed"));
}

TEST_F(Folder, RefusesPipesAndCaseClashes) {
  ASSERT_EQ(::mkfifo((build_ / "pipe").c_str(), 0600), 0);
  EXPECT_TRUE(contains(open_error(), "'pipe' is neither a file nor a folder"));
  fs::remove(build_ / "pipe");
  write(build_ / "S.wgsl.jinja", "");
  EXPECT_TRUE(contains(open_error(), "differ only in case"));
}

TEST_F(Folder, HasALimitForFiles) {
  write(build_ / "s.wgsl.jinja", std::string(3000, ' '));
  const auto package = open(package_.string(), {.limits = {.file_bytes = 2000}});
  EXPECT_TRUE(contains(package.error().to_string(), "has 3000 bytes; the limit is 2000"));
}

// The load records that are about the package itself; those about locations, revisions and trust
// belong to the Hub store.
TEST(Loading, AgreesWithThePublishedLoader) {
  const auto corpus = json::parse(read(kInterop / "expectations" / "loading.json"));
  ASSERT_TRUE(corpus.has_value());
  const std::set<std::string> elsewhere = {"revision_missing", "version_invalid", "trust",
                                           "location_needs_op_id"};
  std::size_t judged = 0;
  for (const Json& one : *corpus->find("cases")->if_array()) {
    const std::string& id = *one.find("id")->if_string();
    SCOPED_TRACE(id);
    const Json* category = one.find("category");
    if (category != nullptr && elsewhere.contains(*category->if_string())) continue;
    std::map<std::string, std::string, std::less<>> files;
    for (const char* name : {"manifest.json", "metadata.json", "s.wgsl.jinja"})
      files[name] = read(kInterop / "packages" / "test.interop.Base" / "build" / "webgpu" / name);
    if (const Json* metadata = one.find("metadata"))
      files["metadata.json"] = *metadata->if_string();
    if (id == "manifest_bom_in_text") files["manifest.json"].insert(0, "\xef\xbb\xbf");
    package::LoadOptions options{.defer_files = true};
    if (const Json* expected = one.find("options")->find("expectedOpId"))
      options.expected_op_id = *expected->if_string();
    const auto package = package::load(package::MemorySource(files), sha256, options);
    EXPECT_EQ(package.has_value(), !*one.find("throws")->if_bool())
        << (package ? "" : package.error().to_string());
    ++judged;
    // What a call then finds out about the templates.
    const Json* call = one.find("call");
    if (call == nullptr || !package) continue;
    bool all = true;
    for (const auto& [path, parsed] : (*package)->templates) all = all && parsed.get().has_value();
    EXPECT_EQ(all, *call == Json("ok"));
  }
  EXPECT_EQ(judged, 33u);
}

TEST_F(Digest, WritesWhatTheLoaderAccepts) {
  write(build_ / "s.wgsl.jinja", "changed");
  write(build_ / "test.json", "{\"cases\": []}");
  const auto first = refresh(package_.string());
  ASSERT_TRUE(first.has_value()) << first.error().to_string();
  EXPECT_TRUE(first->changed);
  EXPECT_EQ(open_error(), "");
  const std::string text = read(build_ / "metadata.json");
  EXPECT_TRUE(contains(text, "\"test.json\""));
  EXPECT_TRUE(contains(text, "\"provenance\""));      // kept
  EXPECT_FALSE(refresh(package_.string())->changed);  // the same bytes again
}

TEST_F(Digest, CopiesWhatTemplatesInclude) {
  const fs::path common = root_ / "common";
  write(common / "halves.wgsl.jinja", "halves");
  write(common / "unused.wgsl.jinja", "unused");
  write(common / "README.md", "no template");
  write(build_ / "s.wgsl.jinja", "{% include \"halves.wgsl.jinja\" %}");
  const auto report = refresh(package_.string());
  ASSERT_TRUE(report.has_value()) << report.error().to_string();
  EXPECT_EQ(report->copied, std::vector<std::string>{"halves.wgsl.jinja"});
  EXPECT_EQ(read(build_ / "halves.wgsl.jinja"), "halves");
  const auto package = open(package_.string());
  ASSERT_TRUE(package.has_value()) << package.error().to_string();
  EXPECT_EQ((*package)->metadata.variants[0].second,
            (std::vector<std::string>{"halves.wgsl.jinja", "s.wgsl.jinja"}));

  write(common / "halves.wgsl.jinja", "newer");
  EXPECT_TRUE(refresh(package_.string(), {.shared = {}, .dry_run = true})->changed);
  EXPECT_EQ(read(build_ / "halves.wgsl.jinja"), "halves");
  EXPECT_EQ(refresh(package_.string())->copied, std::vector<std::string>{"halves.wgsl.jinja"});
  write(build_ / "s.wgsl.jinja", "alone");
  EXPECT_EQ(refresh(package_.string())->removed, std::vector<std::string>{"halves.wgsl.jinja"});
  EXPECT_FALSE(fs::exists(build_ / "halves.wgsl.jinja"));
  EXPECT_EQ(open_error(), "");
}

TEST_F(Digest, NamesWhatIsMissing) {
  write(build_ / "s.wgsl.jinja", "{% include \"nosuch.wgsl\" %}");
  EXPECT_EQ(refresh(package_.string()).error().code, "template/include");
  fs::remove(build_ / "s.wgsl.jinja");
  EXPECT_TRUE(contains(refresh(package_.string()).error().message,
                       "renders 's.wgsl.jinja', which is not in the package"));
}

// Packages and shared sources agree: every package of the project is exactly what `wgk digest`
// makes of it.
TEST(Kernels, AreUpToDate) {
  const fs::path kernels = fs::path(WGK_SOURCE_DIR) / "kernels";
  std::set<std::string> used;
  for (const auto& entry : fs::directory_iterator(kernels)) {
    if (!fs::exists(entry.path() / "build" / "webgpu" / "metadata.json")) continue;
    SCOPED_TRACE(entry.path().string());
    const auto report = refresh(entry.path().string(), {.shared = {}, .dry_run = true});
    ASSERT_TRUE(report.has_value()) << report.error().to_string();
    EXPECT_FALSE(report->changed) << "run `wgk digest " << entry.path().string() << "`";
    for (const auto& [variant, templates] : report->templates)
      used.insert(templates.begin(), templates.end());
  }
  if (used.empty()) return;
  for (const auto& entry : fs::directory_iterator(kernels / "common")) {
    const std::string name = entry.path().filename().string();
    EXPECT_TRUE(!name.ends_with(".wgsl.jinja") || used.contains(name))
        << name << " is in no package";
  }
}

}  // namespace
}  // namespace wgk::store
