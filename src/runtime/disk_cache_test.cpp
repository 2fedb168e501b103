// SPDX-License-Identifier: Apache-2.0
#include "runtime/disk_cache.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "runtime/test_support.h"

namespace wgk {
namespace {

namespace fs = std::filesystem;
using testing::numbers;
using testing::scale_package;
using testing::times;

class DiskCaches : public testing::RuntimeTest {
 protected:
  void SetUp() override {
    testing::RuntimeTest::SetUp();
    folder_ = fs::temp_directory_path() / ("wgk-cache-test-" + std::to_string(::getpid()));
    fs::remove_all(folder_);
  }
  void TearDown() override {
    std::error_code error;
    fs::permissions(folder_, fs::perms::owner_all, error);
    fs::remove_all(folder_, error);
  }
  std::vector<fs::path> files(std::string_view kind) const {
    std::vector<fs::path> found;
    for (const auto& entry : fs::recursive_directory_iterator(folder_)) {
      if (entry.is_regular_file() && entry.path().parent_path().filename() == kind)
        found.push_back(entry.path());
    }
    return found;
  }
  static fs::perms mode(const fs::path& path) { return fs::status(path).permissions(); }
  // One process's life: a runtime that compiles and computes.
  RuntimeStats live() const {
    auto runtime = Runtime::create({{.cache_folder = folder_.string()}});
    if (!runtime) {
      ADD_FAILURE() << runtime.error().to_string();
      return {};
    }
    const std::vector<float> x = numbers(100);
    auto result =
        runtime->load(scale_package())
            ->call({{"x", HostTensor(x, {100})}}, {.args = {{"factor", 2}}, .read_back = true});
    if (!result) {
      ADD_FAILURE() << result.error().to_string();
      return {};
    }
    EXPECT_EQ(*result->at("y").download<float>(), times(x, 2));
    return runtime->stats();
  }
  fs::path folder_;
};

TEST_F(DiskCaches, PipelinesSurviveTheProcess) {
  const RuntimeStats cold = live();
  EXPECT_EQ(cold.blobs_loaded, 0);
  EXPECT_GT(cold.blobs_stored, 0);
  EXPECT_FALSE(files("pipelines").empty());
  const RuntimeStats warm = live();
  EXPECT_GT(warm.blobs_loaded, 0);
  EXPECT_EQ(warm.blobs_stored, 0);
}

TEST_F(DiskCaches, RememberedTextsCompileBeforeAnythingIsPlanned) {
  live();
  EXPECT_EQ(files("texts").size(), 1);
  auto runtime = *Runtime::create({{.cache_folder = folder_.string()}});
  auto future = runtime.prewarm_remembered();
  ASSERT_TRUE(future) << future.error().to_string();
  EXPECT_EQ(*future->wait(), 1);
  const auto built = runtime.stats().pipelines_built;
  const std::vector<float> x = numbers(100);
  ASSERT_TRUE(runtime.load(scale_package())
                  ->call({{"x", HostTensor(x, {100})}}, {.args = {{"factor", 2}}}));
  EXPECT_EQ(runtime.stats().pipelines_built, built)
      << "planning finds the pipeline that was there before it";
}

TEST_F(DiskCaches, DamagedFilesCountAsMissing) {
  live();
  int kind = 0;
  for (const char* folder : {"pipelines", "texts"}) {
    for (const fs::path& file : files(folder)) {
      switch (kind++ % 4) {
        case 0: fs::resize_file(file, fs::file_size(file) / 2); break;
        case 1: std::ofstream(file) << "something else entirely"; break;
        case 2: fs::resize_file(file, 0); break;
        default: {
          std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
          stream.seekp(60);
          stream.put('\xff');
        }
      }
    }
  }
  EXPECT_EQ(live().blobs_loaded, 0);
  auto runtime = *Runtime::create({{.cache_folder = folder_.string()}});
  EXPECT_EQ(live().blobs_stored, 0) << "they were written again";
}

TEST_F(DiskCaches, UnusableFoldersAreIgnored) {
  std::ofstream(folder_) << "a file where the folder should be";
  live();
  fs::remove(folder_);
  fs::create_directories(folder_);
  fs::permissions(folder_, fs::perms::owner_read | fs::perms::owner_exec);
  live();
}

TEST_F(DiskCaches, AReadOnlyPlaceIsIgnoredInSilence) {
  folder_ = "/proc/self/wgk-cache";  // nobody may write there, not even root
  ::testing::internal::CaptureStderr();
  ::testing::internal::CaptureStdout();
  EXPECT_EQ(live().blobs_stored, 0);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "");
}

// A disk without room: every write beyond the limit of the process fails. The device stays out of
// it, because software adapters keep their memory in files.
TEST_F(DiskCaches, AFullDiskIsIgnored) {
  AdapterDescription adapter;
  adapter.name = "any";
  const std::vector<std::byte> key(10, std::byte{1}), value(5000, std::byte{2});
  std::vector<std::byte> read(value.size());
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit before = {};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit full = {.rlim_cur = 100, .rlim_max = before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &full), 0);
  {
    DiskCache cache(folder_, adapter);
    cache.store(key, value);
    EXPECT_EQ(cache.stored(), 0);
    EXPECT_EQ(cache.load(key, read), 0) << "nothing half-written is taken for an entry";
  }
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, SIG_DFL);
  DiskCache cache(folder_, adapter);
  cache.store(key, value);
  EXPECT_EQ(cache.load(key, read), value.size());
  EXPECT_EQ(read, value);
}

// A process that compiles for ever and is killed at some moment.
void compile_until_killed(const std::string& folder, std::chrono::milliseconds life) {
  std::thread([life] {
    std::this_thread::sleep_for(life);
    static_cast<void>(std::raise(SIGKILL));
  }).detach();
  auto runtime = Runtime::create({{.cache_folder = folder}});
  if (!runtime) ::_exit(2);
  const Kernel kernel = *runtime->load(scale_package());
  for (int i = 0;; ++i) {
    // A new text each time.
    auto fresh = testing::make_package(
        R"json({"domain": "test", "name": "Many", "inputs": {"x": {"dtype": "float32"}}, "outputs": {"y": {"dtype": "float32", "shape": "shapes.x"}},
                "variants": [{"id": "only", "passes": [{"shader": "s.wgsl.jinja", "bindings": ["x", "y"], "dispatch": {"workgroups": 1}}]}]})json",
        "{{ env.wgsl.resourceDeclarations }}\n@compute @workgroup_size(1) fn main() { y[0] = x[0] "
        "+ " +
            std::to_string(i) + ".0; }");
    const std::vector<float> x = {1};
    if (!runtime->load(fresh)->call({{"x", HostTensor(x, {1})}})) ::_exit(3);
    if (i == 1 && !kernel.call({{"x", HostTensor(x, {1})}}, {.args = {{"factor", 2}}})) ::_exit(4);
  }
}

TEST_F(DiskCaches, AKilledProcessLeavesAUsableCache) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  for (const int life : {150, 260, 410}) {
    EXPECT_EXIT(compile_until_killed(folder_.string(), std::chrono::milliseconds(life)),
                ::testing::KilledBySignal(SIGKILL), "");
    auto runtime = *Runtime::create({{.cache_folder = folder_.string()}});
    auto remembered = *runtime.prewarm_remembered();
    ASSERT_TRUE(remembered.wait());
    live();
  }
  EXPECT_FALSE(files("pipelines").empty());
  EXPECT_GT(live().blobs_loaded, 0);
}

TEST_F(DiskCaches, EntriesBelongToOneAdapterAndKey) {
  AdapterDescription one;
  one.name = "one";
  AdapterDescription two = one;
  two.driver = "newer";
  const auto bytes = [](std::string_view text) {
    return std::as_bytes(std::span(text.data(), text.size()));
  };
  {
    DiskCache cache(folder_, one);
    cache.store(bytes("key"), bytes("value"));
  }
  DiskCache same(folder_, one);
  DiskCache other(folder_, two);
  std::vector<std::byte> value(5);
  EXPECT_EQ(same.load(bytes("key"), {}), 5);
  EXPECT_EQ(same.load(bytes("key"), value), 5);
  EXPECT_TRUE(std::ranges::equal(value, bytes("value")));
  EXPECT_EQ(same.load(bytes("other key"), {}), 0);
  EXPECT_EQ(other.load(bytes("key"), {}), 0);
}

// The library asks for the size and then for the bytes, of several keys at a time.
TEST_F(DiskCaches, AlternatingKeysAreReadOnce) {
  AdapterDescription adapter;
  adapter.name = "any";
  const auto key = [](int i) { return std::vector<std::byte>(10, static_cast<std::byte>(i)); };
  DiskCache cache(folder_, adapter);
  for (int i = 0; i < 100; ++i)
    cache.store(key(i), std::vector<std::byte>(50, static_cast<std::byte>(i)));
  for (int i = 0; i < 10; ++i) EXPECT_EQ(cache.load(key(i), {}), 50);
  for (const fs::path& file : files("pipelines")) {
    std::ofstream(file) << "gone";
  }
  std::vector<std::byte> read(50);
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(cache.load(key(i), read), 50);
    EXPECT_EQ(read, std::vector<std::byte>(50, static_cast<std::byte>(i)));
  }
  EXPECT_EQ(cache.loaded(), 10);
  EXPECT_EQ(cache.load(key(0), read), 0) << "nothing is kept once it was fetched";

  // From many threads at once, more keys than are kept.
  for (int i = 0; i < 100; ++i)
    cache.store(key(i), std::vector<std::byte>(50, static_cast<std::byte>(i)));
  std::atomic<int> wrong = 0;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        std::vector<std::byte> bytes(50);
        for (int i = 0; i < 100; ++i) {
          if (cache.load(key(99 - i), {}) != 50) ++wrong;
          if (cache.load(key(i), bytes) != 50 || bytes[49] != static_cast<std::byte>(i)) ++wrong;
        }
      });
    }
  }
  EXPECT_EQ(wrong, 0);
}

// What was not used for longest goes first, of blobs and of texts alike.
TEST_F(DiskCaches, AtTheCapWhatWasNotUsedForLongestGoes) {
  constexpr std::uint64_t kCap = 40'000;
  AdapterDescription adapter;
  adapter.name = "any";
  const auto key = [](int i) { return std::vector<std::byte>(10, static_cast<std::byte>(i)); };
  const std::vector<std::byte> value(5000, std::byte{7});
  const auto age = [&](const fs::path& file, int hours) {
    fs::last_write_time(file, fs::file_time_type::clock::now() - std::chrono::hours(hours));
  };
  const auto has = [&](DiskCache& cache, int i) { return cache.load(key(i), {}) > 0; };
  const auto bytes = [&] {
    std::uint64_t total = 0;
    for (const char* kind : {"pipelines", "texts"}) {
      for (const fs::path& file : files(kind)) total += fs::file_size(file);
    }
    return total;
  };
  PlanPass text;
  text.wgsl = std::make_shared<const std::string>("// a text");
  {
    DiskCache cache(folder_, adapter, kCap);
    std::set<fs::path> known;
    for (int i = 0; i < 7; ++i) {
      cache.store(key(i), value);
      for (const fs::path& file : files("pipelines")) {
        if (known.insert(file).second) age(file, 100 - i);  // number 0 is the oldest
      }
    }
    cache.remember(text);
    age(files("texts").at(0), 200);
    EXPECT_EQ(cache.stored(), 7);
  }
  DiskCache cache(folder_, adapter, kCap);
  EXPECT_TRUE(has(cache, 1)) << "now it is the one used last";
  cache.store(key(7), value);
  EXPECT_LE(bytes(), kCap);
  EXPECT_TRUE(files("texts").empty()) << "older than all others";
  EXPECT_FALSE(has(cache, 0));
  EXPECT_TRUE(has(cache, 1));
  EXPECT_FALSE(has(cache, 2));
  EXPECT_TRUE(has(cache, 6));
  EXPECT_TRUE(has(cache, 7));

  cache.remember(text);
  EXPECT_EQ(files("texts").size(), 1);
  for (int i = 8; i < 60; ++i) {
    cache.store(key(i), value);
    EXPECT_TRUE(has(cache, i));
    ASSERT_LE(bytes(), kCap) << i;
  }
  EXPECT_EQ(cache.stored(), 53) << "every one found room";
  EXPECT_TRUE(files("texts").empty()) << "nobody used it";
  cache.remember(text);
  EXPECT_EQ(files("texts").size(), 1) << "written again by the process that had known it";
  const std::uint64_t stored = cache.stored();
  cache.store(key(100), std::vector<std::byte>(kCap));
  EXPECT_EQ(cache.stored(), stored) << "what would not leave room for anything else is not kept";
  EXPECT_TRUE(has(cache, 59));
}

TEST_F(DiskCaches, ADamagedTextGoesAndIsWrittenAnew) {
  PlanPass text;
  text.wgsl = std::make_shared<const std::string>("// a text");
  DiskCache(folder_, {}).remember(text);
  const fs::path file = files("texts").at(0);
  std::ofstream(file) << "damaged";
  DiskCache cache(folder_, {});
  EXPECT_TRUE(cache.remembered().empty());
  EXPECT_TRUE(files("texts").empty());
  cache.remember(text);
  EXPECT_EQ(cache.remembered().size(), 1);
}

TEST_F(DiskCaches, LeaveACallersFolderAsItIs) {
  const fs::perms shared = fs::perms::owner_all | fs::perms::group_all | fs::perms::others_all |
                           fs::perms::sticky_bit | fs::perms::set_gid;
  fs::create_directories(folder_);
  fs::permissions(folder_, shared);
  EXPECT_GT(live().blobs_stored, 0);
  EXPECT_EQ(mode(folder_), shared);
  std::size_t ours = 0;
  for (const auto& entry : fs::directory_iterator(folder_)) {
    EXPECT_EQ(mode(entry.path()) & fs::perms::all, fs::perms::owner_all) << entry.path();
    ++ours;
  }
  EXPECT_EQ(ours, 1);
  fs::remove_all(folder_);
  EXPECT_GT(live().blobs_stored, 0);
  EXPECT_EQ(mode(folder_) & fs::perms::all, fs::perms::owner_all) << "one that was made for us";
}

}  // namespace
}  // namespace wgk
