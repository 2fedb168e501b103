// SPDX-License-Identifier: Apache-2.0
// What a host program relies on, shown with counters: whose device it is, what is called on it, and
// what a fault does.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <filesystem>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "gpu/count_support.h"
#include "gpu/fault_support.h"
#include "gpu/host_support.h"
#include "runtime/access.h"
#include "runtime/test_support.h"

namespace wgk {
namespace {

using gpu::testing::Call;
using gpu::testing::counting;
using gpu::testing::faults;
using testing::contains;
using testing::numbers;
using testing::scale_package;
using testing::times;

class Embedding : public testing::RuntimeTest {};

// A host program with its own device, callbacks and buffer.
struct Host {
  int uncaptured = 0, lost = 0;
  WGPUInstance instance = nullptr;
  WGPUDevice device = nullptr;
  WGPUBuffer buffer = nullptr;

  explicit Host(DeviceNeeds* needs = nullptr) {
    const char* unsafe[] = {"allow_unsafe_apis"};
    WGPUDawnTogglesDescriptor toggles = WGPU_DAWN_TOGGLES_DESCRIPTOR_INIT;
    toggles.enabledToggleCount = 1;
    toggles.enabledToggles = unsafe;
    const bool wants_unsafe = needs != nullptr && needs->wants_unsafe_apis();
    instance = gpu::testing::host_instance(wants_unsafe ? &toggles.chain : nullptr);
    WGPUAdapter adapter = gpu::testing::host_adapter(instance);
    WGPUDeviceDescriptor wanted = WGPU_DEVICE_DESCRIPTOR_INIT;
    wanted.uncapturedErrorCallbackInfo = {
        nullptr,
        [](const WGPUDevice*, WGPUErrorType, WGPUStringView, void* host, void*) {
          ++static_cast<Host*>(host)->uncaptured;
        },
        this, nullptr};
    wanted.deviceLostCallbackInfo = {nullptr, WGPUCallbackMode_AllowSpontaneous,
                                     [](const WGPUDevice*, WGPUDeviceLostReason, WGPUStringView,
                                        void* host, void*) { ++static_cast<Host*>(host)->lost; },
                                     this, nullptr};
    if (needs != nullptr) {
      const auto status = needs->add_to(adapter, wanted);
      EXPECT_TRUE(status) << status.error().to_string();
    }
    device = wgpuAdapterCreateDevice(adapter, &wanted);
    wgpuAdapterRelease(adapter);
    WGPUBufferDescriptor memory = WGPU_BUFFER_DESCRIPTOR_INIT;
    memory.size = 1024;
    memory.usage = WGPUBufferUsage_Storage | WGPUBufferUsage_CopySrc | WGPUBufferUsage_CopyDst;
    buffer = wgpuDeviceCreateBuffer(device, &memory);
  }
  ~Host() {
    wgpuBufferRelease(buffer);
    wgpuDeviceRelease(device);
    wgpuInstanceRelease(instance);
  }
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;
};

// Adopts through a table of the caller's own, as another WebGPU library would be.
AdoptOptions adopt_counted(const Host& host) {
  AdoptOptions options;
  options.procs = gpu::testing::counting_lookup;
  options.device = host.device;
  options.instance = host.instance;
  options.timed_wait = true;
  return options;
}

TEST_F(Embedding, LeavesACallersDeviceAlone) {
  Host host;
  counting().reset();
  const gpu::testing::Live before;
  {
    auto runtime = Runtime::adopt(adopt_counted(host));
    ASSERT_TRUE(runtime) << runtime.error().to_string();
    Kernel kernel = *runtime->load(scale_package());
    const std::vector<float> x = numbers(64);
    const Tensor input = *Tensor::wrap(*runtime, host.buffer, 0, 256, {64}, DType::f32);
    const Tensor output = *Tensor::wrap(*runtime, host.buffer, 512, 256, {64}, DType::f32);
    ASSERT_TRUE(input.upload(HostTensor(x, {64})));
    CallOptions call{.args = {{"factor", 3}}, .outputs = {Output("y", output)}, .staging = true};
    auto result = kernel.call({{"x", input}}, call);
    ASSERT_TRUE(result) << result.error().to_string();
    EXPECT_EQ(*output.download<float>(), times(x, 3));
    EXPECT_FALSE(kernel.call({{"q", input}}, call));
    EXPECT_GT(gpu::testing::Live().buffers, before.buffers);
  }
  for (const Call call : {Call::create_instance, Call::instance_request_adapter,
                          Call::adapter_request_device, Call::device_destroy, Call::buffer_destroy,
                          Call::device_force_loss, Call::device_set_logging_callback}) {
    EXPECT_EQ(counting().of(call), 0) << gpu::testing::kCallNames[static_cast<std::size_t>(call)];
  }
  EXPECT_GT(counting().of(Call::queue_submit), 0) << "the caller's table is the one in use";
  EXPECT_EQ(gpu::testing::Live(), before) << "every reference was given back";
  EXPECT_EQ(host.uncaptured, 0);
  EXPECT_EQ(host.lost, 0);
}

TEST_F(Embedding, AWrapThatGoesLetsGoOfTheBuffer) {
  Host host;
  auto runtime = *Runtime::adopt(adopt_counted(host));
  const Kernel kernel = *runtime.load(scale_package());
  const std::vector<float> x = numbers(64);
  const auto call = [&](bool result_first) {
    Tensor input = *Tensor::wrap(runtime, host.buffer, 0, 256, {64}, DType::f32);
    ASSERT_TRUE(input.upload(HostTensor(x, {64})));
    auto result = kernel.call({{"x", input}}, {.args = {{"factor", 3}}});
    ASSERT_TRUE(result) << result.error().to_string();
    if (result_first) result = failure("usage/range", "dropped");
    input = {};
  };
  for (const bool result_first : {false, true}) {
    call(result_first);
    runtime.trim();
    const gpu::testing::Live before;
    call(result_first);
    EXPECT_EQ(runtime.stats().live_buffers, 1) << "the uniforms of the plan";
    runtime.trim();
    EXPECT_EQ(gpu::testing::Live(), before);
  }
  // The same without any trim: references to the caller's buffer are given back at once.
  CallOptions into{.args = {{"factor", 3}}, .staging = true};
  std::int64_t before = 0;
  for (int i = 0; i < 2; ++i) {
    {
      const Tensor input = *Tensor::wrap(runtime, host.buffer, 0, 256, {64}, DType::f32);
      const Tensor output = *Tensor::wrap(runtime, host.buffer, 512, 256, {64}, DType::f32);
      into.outputs = {Output("y", output)};
      ASSERT_TRUE(kernel.call({{"x", input}}, into));
    }
    into.outputs.clear();
    EXPECT_EQ(runtime.stats().live_buffers, 1) << "the uniforms of the plan";
    const std::int64_t held = gpu::testing::Live().buffers;
    if (i > 0) {
      EXPECT_EQ(held, before);
    }
    before = held;
  }
}

// The host's device has no implicit synchronization: the runtimes lock for themselves, both of them
// together. Run under the thread sanitizer too.
TEST_F(Embedding, ThreadsShareAnUnsynchronizedDevice) {
  Host host;
  const std::vector<Runtime> runtimes = {*Runtime::adopt(adopt_counted(host)),
                                         *Runtime::adopt(adopt_counted(host))};
  const std::vector<float> x = numbers(64);
  const auto work = [&](const Runtime& runtime, int seed) {
    const Kernel kernel = *runtime.load(scale_package("// " + std::to_string(seed) + "\n"));
    int good = 0;
    for (int i = 0; i < 15; ++i) {
      const CallOptions call{.args = {{"factor", 2}}, .read_back = true};
      const auto result = kernel.call({{"x", HostTensor(x, {64})}}, call);
      good += result && *result->at("y").download<float>() == times(x, 2) ? 1 : 0;
      auto dropped = kernel.start({{"x", HostTensor(x, {64})}}, call);
      if (dropped) dropped->cancel();
      const Prepared prepared =
          *kernel.prepare({.inputs = {{.name = "x", .shape = {64}}}, .args = {{"factor", i}}});
      const Tensor input = *runtime.upload(HostTensor(x, {64}));
      const auto output = prepared.make_outputs()->at(0);
      const Bound bound = *prepared.bind({{"x", input}, output});
      auto submission = *bound.run();
      good += submission.ready() && submission.wait() ? 1 : 0;
      good += *output.second.download<float>() == times(x, static_cast<float>(i)) ? 1 : 0;
      if (i % 5 == 0) runtime.trim();
      runtime.poll();
    }
    return good;
  };
  std::atomic<int> good = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 6; ++t) {
    threads.emplace_back(
        [&, t] { good += work(runtimes[static_cast<std::size_t>(t % 2)], t / 2); });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(good, 6 * 15 * 3);
  EXPECT_EQ(host.uncaptured, 0);
}

TEST_F(Embedding, ScopesOpenAndCloseOnOneThread) {
  Host host;
  counting().reset();
  auto runtime = *Runtime::adopt(adopt_counted(host));
  Kernel kernel = *runtime.load(scale_package());
  const std::vector<float> x = numbers(64);
  std::atomic<int> good = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 10; ++i)
        good += kernel.call({{"x", HostTensor(x, {64})}}, {.args = {{"factor", i}}}) ? 1 : 0;
      if (gpu::testing::open_scopes != 0) ++counting().wrong_thread;
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(good, 40);
  EXPECT_EQ(counting().wrong_thread, 0);
  EXPECT_GT(counting().of(Call::device_push_error_scope), 40);
  EXPECT_EQ(counting().of(Call::device_push_error_scope),
            counting().of(Call::device_pop_error_scope));
}

TEST_F(Embedding, NeverRunsTheCallersCallbacks) {
  Host host;
  auto runtime = *Runtime::adopt(adopt_counted(host));
  Kernel kernel = *runtime.load(scale_package());
  int heard = 0;
  wgpuQueueOnSubmittedWorkDone(runtime.queue(),
                               {nullptr, WGPUCallbackMode_AllowProcessEvents,
                                [](WGPUQueueWorkDoneStatus, WGPUStringView, void* count, void*) {
                                  ++*static_cast<int*>(count);
                                },
                                &heard, nullptr});
  const std::vector<float> x = numbers(64);
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(
        kernel.call({{"x", HostTensor(x, {64})}}, {.args = {{"factor", i}}, .read_back = true}));
    runtime.poll();
    ASSERT_TRUE(runtime.wait_idle());
  }
  EXPECT_EQ(heard, 0) << "the caller's events are the caller's to process";
  wgpuInstanceProcessEvents(host.instance);
  EXPECT_EQ(heard, 1);
}

// Wrapped slices between other bytes of the caller's: calls, staged calls and uploads of any range
// leave those bytes alone.
TEST_F(Embedding, WrappedSlicesKeepTheirSurroundings) {
  Host host;
  auto runtime = *Runtime::adopt(adopt_counted(host));
  const Tensor all = *Tensor::wrap(runtime, host.buffer, 0, 1024, {256}, DType::u32);
  std::vector<std::uint32_t> expected(256, 0xa5a5a5a5U);
  ASSERT_TRUE(all.upload(HostTensor(expected, {256})));
  Kernel kernel = *runtime.load(scale_package());
  const std::vector<float> x = {1, 2, 3, 4, 5};
  const auto put = [&](std::size_t word, float value) {
    expected[word] = std::bit_cast<std::uint32_t>(value);
  };
  // Bound as it is, then at an offset that needs a copy.
  for (const std::uint64_t offset : {256, 516}) {
    const Tensor y = *Tensor::wrap(runtime, host.buffer, offset, 20, {5}, DType::f32);
    auto result =
        kernel.call({{"x", HostTensor(x, {5})}},
                    {.args = {{"factor", 2}}, .outputs = {Output("y", y)}, .staging = true});
    ASSERT_TRUE(result) << result.error().to_string();
    for (std::size_t i = 0; i < 5; ++i) put(offset / 4 + i, x[i] * 2);
  }
  // Halves and bytes that begin and end inside a word.
  const Tensor halves = *Tensor::wrap(runtime, host.buffer, 802, 6, {3}, DType::f16);
  const std::vector<std::uint16_t> bits = {0x1111, 0x2222, 0x3333};
  ASSERT_TRUE(halves.upload(HostTensor(std::as_bytes(std::span(bits)), DType::f16, {3})));
  expected[200] = 0x1111a5a5U;
  expected[201] = 0x33332222U;
  const Tensor bytes =
      *Tensor::wrap(runtime, host.buffer, 904, 8, {7}, DType::u8, {.packed = true});
  const std::vector<std::uint8_t> three = {1, 2, 3};
  ASSERT_TRUE(bytes.upload(HostTensor(three, {3}), 2));
  expected[226] = 0x0201a5a5U;
  expected[227] = 0xa5a5a503U;
  EXPECT_EQ(*all.download<std::uint32_t>(), expected);
}

TEST_F(Embedding, WithoutCacheHooksOnlyTextsAreKept) {
  namespace fs = std::filesystem;
  const fs::path folder =
      fs::temp_directory_path() / ("wgk-adopt-cache-" + std::to_string(::getpid()));
  const auto files = [&](std::string_view kind) {
    std::size_t count = 0;
    std::error_code error;
    for (const auto& entry : fs::recursive_directory_iterator(folder, error))
      count += entry.is_regular_file() && entry.path().parent_path().filename() == kind ? 1 : 0;
    return count;
  };
  const std::vector<float> x = numbers(4);
  for (const bool hooks : {false, true}) {
    fs::remove_all(folder);
    auto needs = *device_needs({}, {.cache_folder = folder.string()});
    Host host(hooks ? &needs : nullptr);
    AdoptOptions options;
    options.device = host.device;
    options.timed_wait = true;
    options.cache_folder = folder.string();
    auto runtime = *Runtime::adopt(options);
    ASSERT_TRUE(runtime.load(scale_package())
                    ->call({{"x", HostTensor(x, {4})}}, {.args = {{"factor", 1}}}));
    EXPECT_EQ(files("texts"), 1);
    EXPECT_EQ(files("pipelines") > 0, hooks);
  }
  fs::remove_all(folder);
}

TEST_F(Embedding, ErrorsOnACallersDeviceNeverReachItsCallbacks) {
  Host host;
  AdoptOptions options;
  options.device = host.device;
  options.timed_wait = true;
  auto runtime = *Runtime::adopt(options);
  auto broken = *runtime.load(testing::make_package(
      R"json({"domain": "test", "name": "Broken", "inputs": {"x": {"dtype": "float32"}}, "outputs": {"y": {"dtype": "float32", "shape": "shapes.x"}},
              "variants": [{"id": "only", "passes": [{"shader": "s.wgsl.jinja", "bindings": ["x", "y"], "dispatch": {"workgroups": 1}}]}]})json",
      "{{ env.wgsl.resourceDeclarations }}\n@compute @workgroup_size(1) fn main() { nonsense(); "
      "}"));
  const std::vector<float> x = numbers(4);
  auto result = broken.call({{"x", HostTensor(x, {4})}});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, "device/compile");
  EXPECT_TRUE(contains(result.error().message, "nonsense"));
  // A destroyed input: WebGPU refuses the submission, and that is this call's error.
  Kernel kernel = *runtime.load(scale_package());
  const Tensor input = *Tensor::wrap(runtime, host.buffer, 0, 256, {64}, DType::f32);
  wgpuBufferDestroy(host.buffer);
  auto destroyed = kernel.call({{"x", input}}, {.args = {{"factor", 1}}});
  ASSERT_FALSE(destroyed);
  EXPECT_EQ(destroyed.error().code, "device/validation");
  EXPECT_TRUE(contains(destroyed.error().message, "destroyed"));
  EXPECT_EQ(host.uncaptured, 0);
  EXPECT_TRUE(kernel.call({{"x", HostTensor(x, {4})}}, {.args = {{"factor", 1}}}));
}

TEST_F(Embedding, DeviceNeedsMakeACallersDeviceAsGoodAsOurs) {
  const Package package = scale_package();
  auto needs = device_needs({&package, 1});
  ASSERT_TRUE(needs);
  EXPECT_TRUE(std::ranges::all_of(needs->items(), [](const DeviceNeed& need) {
    return !need.name.empty() && !need.reason.empty();
  }));
  Host host(&*needs);
  ASSERT_NE(host.device, nullptr);
  AdoptOptions options;
  options.device = host.device;
  options.timed_wait = true;
  auto runtime = *Runtime::adopt(options);
  auto own = Runtime::create();
  for (const auto& [name, value] : own->caps().limits) {
    const bool computes = name.contains("Compute") || name.contains("Buffer");
    if (computes && !name.contains("Vertex") && !name.contains("Dynamic")) {
      EXPECT_EQ(runtime.caps().limit(name), value) << name;
    }
  }
  EXPECT_TRUE(runtime.caps().has_feature("subgroups") == own->caps().has_feature("subgroups"));
  const std::vector<float> x = numbers(4);
  EXPECT_TRUE(runtime.load(package)->call({{"x", HostTensor(x, {4})}}, {.args = {{"factor", 1}}}));
}

TEST_F(Embedding, DeviceNeedsNeverLowerWhatTheCallerAsksFor) {
  const Package package = scale_package();
  auto needs = device_needs({&package, 1});
  ASSERT_TRUE(needs);
  const Host host;
  WGPUAdapter adapter = wgpuDeviceGetAdapter(host.device);
  WGPULimits offered = WGPU_LIMITS_INIT, asked = WGPU_LIMITS_INIT;
  ASSERT_EQ(wgpuAdapterGetLimits(adapter, &offered), WGPUStatus_Success);
  asked.maxBufferSize = offered.maxBufferSize * 2;  // refused by the adapter, and so it shall be
  asked.maxComputeWorkgroupStorageSize = 16384;
  WGPUDeviceDescriptor wanted = WGPU_DEVICE_DESCRIPTOR_INIT;
  wanted.requiredLimits = &asked;
  ASSERT_TRUE(needs->add_to(adapter, wanted));
  EXPECT_EQ(wanted.requiredLimits->maxBufferSize, offered.maxBufferSize * 2);
  EXPECT_EQ(wanted.requiredLimits->maxComputeWorkgroupStorageSize,
            offered.maxComputeWorkgroupStorageSize);
  EXPECT_EQ(wanted.requiredLimits->maxStorageBufferBindingSize,
            offered.maxStorageBufferBindingSize);
  wgpuAdapterRelease(adapter);
}

TEST_F(Embedding, DeviceNeedsNameWhatAPackageCannotDoWithout) {
  const Package package = testing::make_package(
      R"json({"domain": "test", "name": "Picky", "inputs": {"x": {"dtype": "float32"}}, "outputs": {"y": {"dtype": "float32", "shape": "shapes.x"}},
              "requires": {"limits": {"maxComputeInvocationsPerWorkgroup": 1000000}},
              "variants": [{"id": "only", "requires": {"features": ["shader-f16"]},
                            "passes": [{"shader": "s.wgsl.jinja", "bindings": ["x", "y"], "dispatch": {"workgroups": 1}}]}]})json",
      "{{ env.wgsl.resourceDeclarations }}\n@compute @workgroup_size(1) fn main() {}");
  auto needs = *device_needs({&package, 1});
  const auto half = std::ranges::find(needs.items(), "shader-f16", &DeviceNeed::name);
  ASSERT_NE(half, needs.items().end());
  EXPECT_TRUE(half->required);
  EXPECT_TRUE(contains(half->reason, "test.Picky: variant 'only'"));
  Host host;  // for an adapter
  WGPUDeviceDescriptor descriptor = WGPU_DEVICE_DESCRIPTOR_INIT;
  WGPUAdapter adapter = wgpuDeviceGetAdapter(host.device);
  const auto status = needs.add_to(adapter, descriptor);
  wgpuAdapterRelease(adapter);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, "device/feature");
  EXPECT_TRUE(contains(status.error().message, "maxComputeInvocationsPerWorkgroup"));
}

TEST_F(Embedding, AFeatureThatACallersDeviceLacksIsNamed) {
  Host host;  // made without any feature
  auto runtime = *Runtime::adopt(adopt_counted(host));
  EXPECT_FALSE(runtime.caps().has_feature("shader-f16")) << "read from the device";
  EXPECT_EQ(runtime.caps().limit("maxComputeInvocationsPerWorkgroup"), 256);
  const Package package = testing::make_package(
      R"json({"domain": "test", "name": "Picky", "inputs": {"x": {"dtype": "float32"}}, "outputs": {"y": {"dtype": "float32", "shape": "shapes.x"}},
              "variants": [{"id": "only", "requires": {"features": ["shader-f16"]},
                            "passes": [{"shader": "s.wgsl.jinja", "bindings": ["x", "y"], "dispatch": {"workgroups": 1}}]}]})json",
      "{{ env.wgsl.resourceDeclarations }}\n@compute @workgroup_size(1) fn main() {}");
  const std::vector<float> x = numbers(4);
  const auto refused = runtime.load(package)->call({{"x", HostTensor(x, {4})}});
  ASSERT_FALSE(refused);
  EXPECT_TRUE(refused.error().code.starts_with("select/")) << refused.error().to_string();
  EXPECT_TRUE(contains(refused.error().to_string(), "shader-f16"));
}

TEST_F(Embedding, SeesAnAdoptedDeviceGoAndTakesANewOne) {
  auto host = std::make_unique<Host>();
  AdoptOptions options;
  options.device = host->device;
  options.timed_wait = true;
  auto runtime = *Runtime::adopt(options);
  Kernel kernel = *runtime.load(scale_package());
  const std::vector<float> x = numbers(8);
  const CallOptions call{.args = {{"factor", 2}}, .read_back = true};
  ASSERT_TRUE(kernel.call({{"x", HostTensor(x, {8})}}, call));
  wgpuDeviceDestroy(host->device);
  EXPECT_EQ(host->lost, 1) << "the caller hears of it by its own callback";
  EXPECT_EQ(kernel.call({{"x", HostTensor(x, {8})}}, call).error().code, "device/lost");
  EXPECT_EQ(runtime.rebuild().error().code, "usage/device");
  Host next;
  ASSERT_TRUE(runtime.rebuild(next.device, next.instance));
  host.reset();
  EXPECT_EQ(*kernel.call({{"x", HostTensor(x, {8})}}, call)->at("y").download<float>(),
            times(x, 2));
}

// Everything of the facade, from making the device to a rebuild.
Status whole_way(const gpu::Procs& procs) {
  RuntimeOptions options;
  options.adapter.backend = "null";
  auto runtime = create_with(options, procs);
  if (!runtime) return std::unexpected(std::move(runtime.error()));
  auto kernel = runtime->load(scale_package());
  if (!kernel) return std::unexpected(std::move(kernel.error()));
  const std::vector<float> x = numbers(100);
  const CallOptions call{.args = {{"factor", 2}}, .read_back = true};
  for (int i = 0; i < 2; ++i) {
    auto result = kernel->call({{"x", HostTensor(x, {100})}}, call);
    if (!result) return std::unexpected(std::move(result.error()));
  }
  auto tensor = runtime->upload(HostTensor(x, {100}));
  if (!tensor) return std::unexpected(std::move(tensor.error()));
  auto prepared =
      kernel->prepare({.inputs = {{.name = "x", .shape = {100}}}, .args = {{"factor", 3}}});
  if (!prepared) return std::unexpected(std::move(prepared.error()));
  auto outputs = prepared->make_outputs();
  if (!outputs) return std::unexpected(std::move(outputs.error()));
  auto bound = prepared->bind({{"x", *tensor}, outputs->at(0)});
  if (!bound) return std::unexpected(std::move(bound.error()));
  if (auto status = bound->update({{"factor", 4}}); !status) return status;
  auto submission = bound->run();
  if (!submission) return std::unexpected(std::move(submission.error()));
  if (auto status = submission->wait(); !status) return status;
  if (auto status = tensor->upload(HostTensor(std::vector<float>{1.0F}, {1}), 3); !status)
    return status;
  auto data = outputs->at(0).second.download(1, 5);
  if (!data) return std::unexpected(std::move(data.error()));
  if (auto status = runtime->rebuild(); !status) return status;
  auto again = kernel->call({{"x", HostTensor(x, {100})}}, call);
  if (!again) return std::unexpected(std::move(again.error()));
  return runtime->wait_idle();
}

TEST_F(Embedding, EveryFaultIsAReturnedError) {
  const gpu::Procs procs = gpu::testing::faulty_procs();
  faults().arm(0);
  const auto right = whole_way(procs);
  ASSERT_TRUE(right) << right.error().to_string();
  const std::uint64_t count = faults().calls;
  ASSERT_GT(count, 100);
  std::set<std::string> failed;
  for (std::uint64_t index = 1; index <= count; ++index) {
    faults().arm(index);
    const auto status = whole_way(procs);
    if (faults().failed.empty()) break;
    failed.insert(faults().failed);
    if (faults().failed == "device_create_buffer")
      continue;  // tried again after the pool is emptied
    ASSERT_FALSE(status) << "call " << index << " (" << faults().failed
                         << ") failed and nobody noticed";
    EXPECT_TRUE(status.error().code.starts_with("device/"))
        << faults().failed << ": " << status.error().to_string();
  }
  EXPECT_GT(failed.size(), 20);
}

// An endless loop in a shader; llvmpipe really never ends it, so all of this happens in a child
// process.
void hang() {
  auto runtime = Runtime::create({{.timeout = std::chrono::milliseconds(300)}});
  if (!runtime) ::_exit(2);
  auto kernel = runtime->load(testing::make_package(
      R"json({"domain": "test", "name": "Endless", "inputs": {"x": {"dtype": "uint32"}}, "outputs": {"y": {"dtype": "uint32", "shape": "shapes.x"}},
              "variants": [{"id": "only", "passes": [{"shader": "s.wgsl.jinja", "bindings": ["x", "y"], "dispatch": {"workgroups": 1}}]}]})json",
      R"wgsl({{ env.wgsl.resourceDeclarations }}
@compute @workgroup_size(1) fn main() {
  var i = 0u;
  while (x[i % arrayLength(&x)] != 7u) { i = i + 1u; }
  y[0] = i;
})wgsl"));
  if (!kernel) ::_exit(3);
  const std::vector<std::uint32_t> x = {1, 2, 3};
  auto result = kernel->call({{"x", HostTensor(x, {3})}}, {.read_back = true});
  if (result || result.error().code != "device/timeout") ::_exit(4);
  if (kernel->call({{"x", HostTensor(x, {3})}}).error().code != "device/lost") ::_exit(5);
  if (!runtime->lost() || !runtime->lost()->reason.contains("hung")) ::_exit(6);
  // Everything of the runtime is let go; none of it may wait for the device.
  *kernel = Kernel();
  runtime->trim();
  *runtime = Runtime(nullptr);
  ::_exit(0);
}

TEST_F(Embedding, AHungDispatchEndsInATimeout) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(hang(), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace wgk
