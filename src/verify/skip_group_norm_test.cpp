// SPDX-License-Identifier: Apache-2.0
// What the cases of test.json do not say by themselves: Y has the same bytes with and without S and
// for every spelling of the same skip, and the least device that WebGPU knows will do.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <webgpu/webgpu.h>

#include "base/checked.h"
#include "base/half.h"
#include "gpu/host_support.h"
#include "verify/package_files.h"
#include "verify/runner.h"
#include "verify/runtime_engine.h"
#include "wgk/wgk.h"

namespace wgk::verify {
namespace {

struct Image {
  Shape shape;
  int groups;
  bool channels_last;

  std::size_t channels() const { return static_cast<std::size_t>(shape[channels_last ? 3 : 1]); }
  std::size_t pixels() const {
    return static_cast<std::size_t>(channels_last ? shape[1] * shape[2] : shape[2] * shape[3]);
  }
  std::size_t items() const { return static_cast<std::size_t>(shape[0]); }
};

const std::vector<Image>& images() {
  static const std::vector<Image> list = {
      {{2, 3, 2, 8}, 2, true},     {{3, 1, 1, 24}, 8, true},    {{2, 16, 16, 320}, 32, true},
      {{1, 48, 64, 40}, 4, true},  {{2, 13, 17, 15}, 3, true},  {{3, 16, 18, 45}, 9, true},
      {{1, 8, 8, 1282}, 2, true},  {{2, 7, 9, 36}, 36, true},   {{2, 40, 8, 8}, 8, false},
      {{1, 12, 32, 40}, 2, false}, {{2, 15, 13, 17}, 5, false}, {{1, 640, 10, 10}, 1, false}};
  return list;
}

// Values on an exact grid, so that both element types hold them.
std::vector<std::byte> fill(DType dtype, std::size_t count, std::uint32_t seed) {
  std::vector<std::byte> bytes(count * host_bytes(dtype));
  for (std::size_t i = 0; i < count; ++i) {
    seed = seed * 1664525U + 1013904223U;
    const float value = (static_cast<float>(seed >> 24) - 127.0F) / 32.0F;
    const std::uint16_t half = f16_from_f32(value);
    const auto raw = dtype == DType::f16 ? std::as_bytes(std::span(&half, 1))
                                         : std::as_bytes(std::span(&value, 1));
    std::ranges::copy(raw, bytes.begin() + static_cast<std::ptrdiff_t>(i * raw.size()));
  }
  return bytes;
}

// How a device is made to choose. Workgroups that share groups hardly wait for each other.
struct Choice {
  const char* name;
  Values tunables;
};

const std::vector<Choice>& choices() {
  static const std::vector<Choice> list = {{"cpu", {{"PROFILE", "cpu"}}},
                                           {"gpu", {{"PROFILE", "gpu"}}},
                                           {"shared",
                                            {{"PROFILE", "gpu"},
                                             {"RESIDENT_BYTES", 0},
                                             {"LANES_TOGETHER", 1 << 20},
                                             {"COOPERATIVE_LEAST", 0},
                                             {"COOPERATIVE_FEW", 1024},
                                             {"COOPERATIVE_LANES", 64},
                                             {"COOPERATIVE_MANY", 0},
                                             {"COOPERATIVE_VALUES", 32},
                                             {"COOPERATIVE_WORKGROUPS", 1},
                                             {"PATIENCE", 2}}}};
  return list;
}

// One value per item and channel, laid out as X is.
std::vector<std::byte> expand(const Image& image, std::span<const std::byte> skip,
                              std::size_t size) {
  const std::size_t channels = image.channels();
  const std::size_t pixels = image.pixels();
  std::vector<std::byte> full(image.items() * channels * pixels * size);
  for (std::size_t i = 0; i < full.size() / size; ++i) {
    const std::size_t item = i / (channels * pixels);
    const std::size_t channel = image.channels_last ? i % channels : i / pixels % channels;
    std::ranges::copy(skip.subspan((item * channels + channel) * size, size),
                      full.begin() + static_cast<std::ptrdiff_t>(i * size));
  }
  return full;
}

using CasePort = std::pair<std::string, package::CaseTensor>;

class SkipGroupNormBytes : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    const char* device = std::getenv("WGK_TEST_DEVICE");
    if (device != nullptr && std::string_view(device) == "none") return;
    RuntimeOptions options;
    options.timeout = std::chrono::minutes(10);  // long unrolled texts compile slowly on busy CPUs
    auto made = Runtime::create(options);
    ASSERT_TRUE(made.has_value()) << made.error().to_string();
    auto loaded = made->load(WGK_SOURCE_DIR "/kernels/com.microsoft.SkipGroupNorm");
    ASSERT_TRUE(loaded.has_value()) << loaded.error().to_string();
    kernel_ = new Kernel(std::move(*loaded));
    runtime_ = new Runtime(std::move(*made));
  }
  static void TearDownTestSuite() {
    delete kernel_;
    delete runtime_;
    kernel_ = nullptr;
    runtime_ = nullptr;
  }
  void SetUp() override {
    if (kernel_ == nullptr) GTEST_SKIP() << "WGK_TEST_DEVICE is none";
  }

  struct Run {
    std::string plan;  // the variant without its form
    std::vector<std::byte> y;
  };

  // Calls with one spelling of skip, with or without S and bias.
  static Run run(const Image& image, DType dtype, int spelling, bool sum, bool bias,
                 const Values& tunables) {
    const auto items = static_cast<std::int64_t>(image.items());
    const auto channels = static_cast<std::int64_t>(image.channels());
    const std::size_t count = image.items() * image.channels() * image.pixels();
    const auto x = fill(dtype, count, 1);
    const auto skip = fill(dtype, image.items() * image.channels(), 2);
    const auto full = expand(image, skip, host_bytes(dtype));
    const auto gamma = fill(DType::f32, image.channels(), 3);
    const auto beta = fill(DType::f32, image.channels(), 4);
    const auto added = fill(dtype, image.channels(), 5);
    const Shape shapes[] = {image.shape, {items, channels}, {items, 1, 1, channels}};
    Inputs inputs = {{"X", HostTensor(x, dtype, image.shape)},
                     {"gamma", HostTensor(gamma, DType::f32, {channels})},
                     {"beta", HostTensor(beta, DType::f32, {channels})},
                     {"skip", HostTensor(spelling == 0 ? full : skip, dtype, shapes[spelling])}};
    if (bias) inputs.emplace_back("bias", HostTensor(added, dtype, {channels}));
    CallOptions options{.attrs = {{"groups", image.groups},
                                  {"activation", 1},
                                  {"channels_last", image.channels_last ? 1 : 0}},
                        .tunables = tunables,
                        .read_back = true,
                        .poison_outputs = true};
    if (sum) options.outputs.emplace_back("S");
    auto result = kernel_->call(inputs, options);
    EXPECT_TRUE(result.has_value()) << result.error().to_string();
    if (!result) return {};
    auto y = result->at("Y").download();
    EXPECT_TRUE(y.has_value());
    if (!y) return {};
    const std::string& variant = result->plan().variant;
    return {variant.substr(0, variant.find('_')), std::move(y->data)};
  }

  static Runtime* runtime_;
  static Kernel* kernel_;
};

Runtime* SkipGroupNormBytes::runtime_ = nullptr;
Kernel* SkipGroupNormBytes::kernel_ = nullptr;

// Every image for each choice and in both element types, but not in all combinations.
TEST_F(SkipGroupNormBytes, DoNotDependOnSumOrSpelling) {
  std::set<std::string> plans;
  for (std::size_t choice = 0; choice < choices().size(); ++choice) {
    const auto& [name, tunables] = choices()[choice];
    for (std::size_t k = 0; k < images().size(); ++k) {
      const Image& image = images()[k];
      const bool bias = k % 2 == 0;
      const DType dtype = (k + choice) % 2 == 0 ? DType::f16 : DType::f32;
      SCOPED_TRACE(std::string(name) + ", image " + std::to_string(k));
      const Run first = run(image, dtype, 0, true, bias, tunables);
      ASSERT_FALSE(first.y.empty());
      plans.insert(first.plan);
      for (int spelling = 0; spelling < 3; ++spelling) {
        for (const bool sum : {false, true}) {
          if (spelling == 2 && sum) continue;
          const Run other = run(image, dtype, spelling, sum, bias, tunables);
          EXPECT_EQ(other.plan, first.plan) << "spelling " << spelling << ", S " << sum;
          EXPECT_TRUE(other.y == first.y) << "spelling " << spelling << ", S " << sum;
        }
      }
    }
  }
  // The images are chosen so that each plan is the selected one of some.
  EXPECT_EQ(plans, (std::set<std::string>{"cooperative", "fused", "narrow", "resident", "split",
                                          "stream"}));
}

// Two bound calls share the words by which workgroups tell each other their moments: what one call
// leaves there must not reach the next, whose data are others.
TEST_F(SkipGroupNormBytes, SurviveOtherCallsOnTheSameBoard) {
  constexpr std::int64_t kChannels = 40;
  const Shape shape = {2, 13, 16, kChannels};
  const std::size_t count = 2 * 13 * 16 * kChannels;
  const auto upload = [](const std::vector<std::byte>& data, const Shape& dims) {
    return *runtime_->upload(HostTensor(data, DType::f32, dims));
  };
  Signature signature{.outputs = {"Y"},
                      .attrs = {{"groups", 8}, {"activation", 0}},
                      .tunables = choices()[2].tunables};
  for (const char* name : {"X", "skip"}) signature.inputs.push_back({.name = name, .shape = shape});
  for (const char* name : {"gamma", "beta"})
    signature.inputs.push_back({.name = name, .shape = {kChannels}});
  const auto prepared = kernel_->prepare(signature);
  ASSERT_TRUE(prepared.has_value()) << prepared.error().to_string();
  ASSERT_EQ(prepared->plan().variant, "cooperative_plain");
  std::vector<Bound> calls;
  std::vector<Tensor> x, y;
  std::vector<std::vector<std::byte>> contents, expected;
  for (const std::uint32_t seed : {1U, 77U}) {
    contents.push_back(fill(DType::f32, count, seed));
    x.push_back(upload(contents.back(), shape));
    y.push_back(*prepared->make_output("Y"));
    const std::vector<std::pair<std::string, Tensor>> tensors = {
        {"X", x.back()},
        {"skip", upload(fill(DType::f32, count, 2), shape)},
        {"gamma", upload(fill(DType::f32, kChannels, 3), {kChannels})},
        {"beta", upload(fill(DType::f32, kChannels, 4), {kChannels})},
        {"Y", y.back()}};
    calls.push_back(*prepared->bind(tensors));
    // With words of its own, where nobody was before.
    ASSERT_TRUE(prepared->bind(tensors, {.own_scratch = true})->submit());
    expected.push_back(y.back().download()->data);
  }
  ASSERT_NE(expected[0], expected[1]);
  for (std::size_t round = 0; round < 8; ++round) {
    // The first call's X changes under it.
    const std::size_t held = round % 2;
    ASSERT_TRUE(x[0].upload(HostTensor(contents[held], DType::f32, shape)));
    for (const std::size_t which : {std::size_t{0}, std::size_t{1}, std::size_t{1}, held})
      ASSERT_TRUE(calls[which].submit());
    EXPECT_TRUE(y[0].download()->data == expected[held]) << round;
    EXPECT_TRUE(y[1].download()->data == expected[1]) << round;
  }
}

// A caller's device as WebGPU makes it when nothing is asked for: default limits and no feature.
struct LeastDevice {
  WGPUInstance instance = nullptr;
  WGPUDevice device = nullptr;

  LeastDevice() {
    instance = gpu::testing::host_instance();
    WGPUAdapter adapter = gpu::testing::host_adapter(instance);
    if (adapter == nullptr) return;
    device = wgpuAdapterCreateDevice(adapter, nullptr);
    wgpuAdapterRelease(adapter);
  }
  ~LeastDevice() {
    if (device != nullptr) wgpuDeviceRelease(device);
    wgpuInstanceRelease(instance);
  }
  LeastDevice(const LeastDevice&) = delete;
  LeastDevice& operator=(const LeastDevice&) = delete;
};

// The small cases of float16 there, in turns as plans of a software adapter and of a GPU.
TEST_F(SkipGroupNormBytes, TheLeastDeviceServesFloat16) {
  const LeastDevice least;
  ASSERT_NE(least.device, nullptr);
  AdoptOptions options;
  options.device = least.device;
  options.instance = least.instance;
  options.timed_wait = true;
  auto runtime = Runtime::adopt(options);
  ASSERT_TRUE(runtime.has_value()) << runtime.error().to_string();
  EXPECT_FALSE(runtime->caps().has_feature("shader-f16"));
  EXPECT_EQ(runtime->caps().limit("maxStorageBuffersPerShaderStage"), 8);
  EXPECT_EQ(runtime->caps().limit("maxStorageBufferBindingSize"), 128 << 20);
  const std::string place = WGK_SOURCE_DIR "/kernels/com.microsoft.SkipGroupNorm";
  auto folder = open_folder(place);
  ASSERT_TRUE(folder.has_value()) << folder.error().to_string();
  RuntimeEngine engine(*runtime);
  std::set<std::string> plans;
  std::vector<package::TestCase> cases;
  for (const package::TestCase& one : folder->tests) {
    const auto x = std::ranges::find(one.inputs, "X", &CasePort::first);
    if (one.error || x == one.inputs.end() || x->second.dtype != DType::f16) continue;
    const Result<std::int64_t> values = element_count(x->second.shape);
    if (!values || *values > 20000 || !one.tunables.empty()) continue;
    const char* profile = cases.size() % 2 == 0 ? "cpu" : "gpu";
    cases.push_back(one);
    cases.back().tunables.emplace_back("PROFILE", Json(profile));
  }
  const Totals totals =
      run_cases(folder->package, cases, engine, {.repeat = false}, [&](const CaseResult& result) {
        EXPECT_NE(result.verdict, Verdict::kFailed) << result.name << ": " << result.message;
        plans.insert(result.variant.substr(0, result.variant.find('_')));
      });
  EXPECT_EQ(totals.passed, cases.size());
  EXPECT_GT(totals.passed, 40U);
  EXPECT_TRUE(plans.contains("narrow") && plans.contains("resident")) << plans.size();
}

}  // namespace
}  // namespace wgk::verify
