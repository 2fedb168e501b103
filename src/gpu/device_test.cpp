// SPDX-License-Identifier: Apache-2.0
#include "gpu/device.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "gpu/test_support.h"

namespace wgk::gpu {
namespace {

using testing::contains;
using testing::has;

class DeviceTests : public testing::DeviceTest {};

TEST(LogTests, HearsASinkThatThrewAgain) {
  int heard = 0;
  const Log log([&](LogLevel, std::string_view) {
    ++heard;
    throw std::runtime_error("the caller's own");
  });
  log.write(LogLevel::kInfo, "one");
  log.write(LogLevel::kInfo, "two");
  EXPECT_EQ(heard, 2);
}

std::shared_ptr<const Log> quiet() { return std::make_shared<const Log>(); }

TEST_F(DeviceTests, ListsAdaptersHardwareFirstAndWithoutTheNullBackEnd) {
  auto instance = Instance::create(linked_procs(), quiet());
  ASSERT_TRUE(instance);
  auto adapters = (*instance)->adapters();
  ASSERT_TRUE(adapters);
  ASSERT_FALSE(adapters->empty());
  bool software = false;
  for (std::size_t i = 0; i < adapters->size(); ++i) {
    const AdapterDescription& adapter = (*adapters)[i].description;
    EXPECT_EQ(adapter.index, i);
    EXPECT_NE(adapter.backend, "null");
    EXPECT_FALSE(adapter.name.empty());
    EXPECT_FALSE(software && !adapter.software) << "software before hardware";
    software = adapter.software;
  }
}

TEST_F(DeviceTests, ChoosesByIndexNameAndBackEnd) {
  auto instance = *Instance::create(linked_procs(), quiet());
  const auto first = instance->choose({});
  ASSERT_TRUE(first) << first.error().to_string();
  const std::string name = first->description.name;
  EXPECT_EQ(instance->choose({.device = "0"})->description.name, name);
  EXPECT_EQ(instance->choose({.device = name.substr(1, 4)})->description.name, name);
  EXPECT_EQ(instance->choose({.backend = "null"})->description.backend, "null");
  EXPECT_EQ(instance->choose({.backend = first->description.backend})->description.name, name);
}

TEST_F(DeviceTests, SaysWhatWasLookedForAndWhatThereIs) {
  auto instance = *Instance::create(linked_procs(), quiet());
  for (const AdapterChoice& choice :
       {AdapterChoice{.device = "no such thing"}, AdapterChoice{.device = "99"}}) {
    const auto none = instance->choose(choice);
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().code, "device/none");
    EXPECT_TRUE(contains(none.error().message, choice.device));
    EXPECT_TRUE(contains(none.error().message, instance->choose({})->description.name));
  }
  EXPECT_EQ(instance->choose({.backend = "glide"}).error().code, "device/none");
  if (instance->choose({})->description.software) {
    EXPECT_EQ(instance->choose({.allow_software = false}).error().code, "device/none");
  }
}

TEST_F(DeviceTests, TellsItsCapabilities) {
  const Device& device = *testing::shared_context().device;
  const DeviceCaps& caps = device.caps();
  EXPECT_TRUE(std::ranges::is_sorted(caps.features));
  EXPECT_TRUE(std::ranges::is_sorted(caps.limits));
  EXPECT_TRUE(std::ranges::is_sorted(caps.wgsl_language_features));
  EXPECT_GE(*caps.limit("maxComputeInvocationsPerWorkgroup"), 256);
  EXPECT_EQ(*caps.limit("maxComputeWorkgroupsPerDimension"), 65535);
  EXPECT_EQ(caps.is_fallback_adapter, device.adapter().software);
  EXPECT_FALSE(caps.vendor.empty());
  if (caps.name.contains("llvmpipe")) {
    for (const char* feature :
         {"shader-f16", "subgroups", "timestamp-query", "chromium-experimental-subgroup-matrix"}) {
      EXPECT_TRUE(has(caps.features, feature));
    }
    ASSERT_TRUE(caps.subgroup_matrix_configs);
    EXPECT_TRUE(has(*caps.subgroup_matrix_configs, SubgroupMatrixConfig{"f16", "f32", 8, 8, 8}));
  }
  EXPECT_EQ(device.mode(), Mode::kSafe);
  EXPECT_FALSE(has(device.toggles(), "timestamp_quantization"));
  EXPECT_FALSE(has(device.toggles(), "disable_robustness"));
}

TEST_F(DeviceTests, TrustedModeTurnsTheChecksOff) {
  auto device = testing::open_device(linked_procs(), {.mode = Mode::kTrusted});
  ASSERT_TRUE(device) << device.error().to_string();
  EXPECT_EQ((*device)->mode(), Mode::kTrusted);
  EXPECT_TRUE(has((*device)->toggles(), "disable_robustness"));
  EXPECT_TRUE(has((*device)->toggles(), "skip_validation"));
  const Context context = Context::make(*device);
  auto prepared = Prepared::make(context, testing::scale_plan(10, 2.0F));
  ASSERT_TRUE(prepared) << prepared.error().to_string();
  auto in = *testing::upload<float>(context, testing::numbers(10));
  auto out = *testing::make_slice(context, 40);
  ASSERT_TRUE((*Bound::make(*prepared, {in, out}))->submit());
  EXPECT_EQ((*testing::download<float>(context, out))[3], testing::numbers(10)[3] * 2);
}

TEST_F(DeviceTests, ExactProfilesAreTakenOrRefused) {
  DeviceCaps profile = DeviceCaps::defaults();
  profile.limits = {{"maxComputeInvocationsPerWorkgroup", 128},
                    {"maxStorageBuffersPerShaderStage", 8}};
  auto device = testing::open_device(linked_procs(), {.exactly = profile});
  ASSERT_TRUE(device) << device.error().to_string();
  EXPECT_FALSE((*device)->caps().has_feature("shader-f16"));
  profile.limits = {{"maxComputeInvocationsPerWorkgroup", 1 << 20}};
  EXPECT_EQ(testing::open_device(linked_procs(), {.exactly = profile}).error().code, "device/none");
}

TEST_F(DeviceTests, LossIsFinalAndHasAReason) {
  auto device = *testing::open_device();
  const Context context = Context::make(device);
  auto prepared = *Prepared::make(context, testing::scale_plan(10, 2.0F));
  auto in = *testing::upload<float>(context, testing::numbers(10));
  auto out = *testing::make_slice(context, 40);
  auto bound = *Bound::make(prepared, {in, out});
  linked_procs().device_force_loss(device->handle(), WGPUDeviceLostReason_Unknown,
                                   {"pulled out", WGPU_STRLEN});
  const auto lost = [](const auto& result) {
    return !result && result.error().code == "device/lost";
  };
  EXPECT_TRUE(contains(device->check().error().message, "pulled out"));
  EXPECT_TRUE(lost(bound->submit()));
  EXPECT_TRUE(lost(Prepared::make(context, testing::scale_plan(11, 2.0F))));
  EXPECT_TRUE(lost(context.memory->allocate(64, kTensorUsage, "x")));
  EXPECT_TRUE(lost(testing::download<float>(context, out)));
  const auto values = testing::numbers(10);
  EXPECT_TRUE(lost(write(context, in, std::as_bytes(std::span(values)))));
}

TEST_F(DeviceTests, AdoptsWithoutTouchingTheCallersCallbacks) {
  auto owner = *testing::open_device();
  AdoptRequest request;
  request.device = owner->handle();
  request.timed_wait = true;
  {
    auto adopted = Device::adopt(linked_procs(), quiet(), request);
    ASSERT_TRUE(adopted) << adopted.error().to_string();
    EXPECT_FALSE((*adopted)->owned());
    EXPECT_EQ((*adopted)->caps().features, owner->caps().features);
    EXPECT_EQ((*adopted)->adapter().name, owner->adapter().name);
    const Context context = Context::make(*adopted);
    auto prepared = Prepared::make(context, testing::scale_plan(10, 4.0F));
    ASSERT_TRUE(prepared) << prepared.error().to_string();
    auto in = *testing::upload<float>(context, testing::numbers(10));
    auto out = *testing::make_slice(context, 40);
    ASSERT_TRUE((*Bound::make(*prepared, {in, out}))->submit());
    EXPECT_EQ((*testing::download<float>(context, out))[3], testing::numbers(10)[3] * 4);
    // Errors on an adopted device come from our scopes, never to the caller's callback.
    EXPECT_FALSE(
        context.memory->allocate(64, WGPUBufferUsage_MapRead | WGPUBufferUsage_Storage, "bad"));
  }
  EXPECT_TRUE(owner->check()) << "adopting must not destroy the device";
  EXPECT_TRUE(owner->take_uncaptured());
  request.mode = Mode::kTrusted;
  EXPECT_EQ(Device::adopt(linked_procs(), quiet(), request).error().code, "usage/mode");
}

TEST_F(DeviceTests, PollsWhereTheInstanceHasNoTimedWaits) {
  auto owner = *testing::open_device();
  AdoptRequest request;
  request.device = owner->handle();
  request.timed_wait = false;
  auto adopted = *Device::adopt(linked_procs(), quiet(), request);
  const Context context = Context::make(adopted);
  auto in = testing::upload<float>(context, testing::numbers(10));
  ASSERT_TRUE(in) << in.error().to_string();
  EXPECT_EQ(*testing::download<float>(context, *in), testing::numbers(10));
}

TEST_F(DeviceTests, SeesTheLossOfAnAdoptedDevice) {
  auto owner = *testing::open_device();
  AdoptRequest request;
  request.device = owner->handle();
  auto adopted = *Device::adopt(linked_procs(), quiet(), request);
  EXPECT_TRUE(adopted->check());
  linked_procs().device_destroy(owner->handle());
  EXPECT_EQ(adopted->check().error().code, "device/lost");
}

TEST_F(DeviceTests, ReportsWhatHappensToTheSinkAndNowhereElse) {
  std::string log;
  ::testing::internal::CaptureStderr();
  ::testing::internal::CaptureStdout();
  {
    auto device = *testing::open_device(linked_procs(), {}, [&](LogLevel, std::string_view text) {
      log += std::string(text) + "\n";
    });
    const Context context = Context::make(device);
    ASSERT_TRUE(Prepared::make(context, testing::scale_plan(10, 4.0F)));
    EXPECT_FALSE(
        context.memory->allocate(64, WGPUBufferUsage_MapRead | WGPUBufferUsage_Storage, "bad"));
  }
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "");
  EXPECT_TRUE(contains(log, "made a safe device on"));
  EXPECT_TRUE(contains(log, "compiled 'test.Op.only.scale'"));
}

TEST(Instances, AskTheOtherBackEndsWhereVulkanHasNoDriver) {
  using List = std::vector<WGPUBackendType>;
  EXPECT_EQ(backends_to_ask(WGPUBackendType_Undefined, true), List({WGPUBackendType_Undefined}));
  EXPECT_EQ(backends_to_ask(WGPUBackendType_Vulkan, true), List({WGPUBackendType_Vulkan}));
  EXPECT_EQ(backends_to_ask(WGPUBackendType_Vulkan, false), List());
  EXPECT_EQ(backends_to_ask(WGPUBackendType_OpenGL, false), List({WGPUBackendType_OpenGL}));
  EXPECT_EQ(backends_to_ask(WGPUBackendType_Null, false), List({WGPUBackendType_Null}));
  const List others = backends_to_ask(WGPUBackendType_Undefined, false);
  EXPECT_EQ(others.size(), 5);
  EXPECT_FALSE(testing::has(others, WGPUBackendType_Vulkan));
  EXPECT_FALSE(testing::has(others, WGPUBackendType_Undefined));
  EXPECT_TRUE(testing::has(others, WGPUBackendType_OpenGLES));
}

TEST(Procs, ListsEveryMissingFunction) {
  const auto procs = procs_from([](WGPUStringView name) -> WGPUProc {
    const std::string text(name.data, name.length);
    return text == "wgpuQueueSubmit" || text == "wgpuBufferUnmap" ? nullptr
                                                                  : wgpuGetProcAddress(name);
  });
  ASSERT_FALSE(procs);
  EXPECT_EQ(procs.error().code, "device/function");
  EXPECT_TRUE(contains(procs.error().message, "wgpuQueueSubmit"));
  EXPECT_TRUE(contains(procs.error().message, "wgpuBufferUnmap"));
  EXPECT_FALSE(contains(procs.error().message, "wgpuDeviceCreateBuffer"));
  EXPECT_TRUE(procs_from(wgpuGetProcAddress));
  EXPECT_FALSE(procs_from(nullptr));
}

}  // namespace
}  // namespace wgk::gpu
