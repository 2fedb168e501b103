// SPDX-License-Identifier: Apache-2.0
// Sized structs between callers and libraries of different releases.
#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "capi/handles.h"
#include "capi/test_support.h"

namespace wgk::capi {
namespace {

// As if a later release had added `added` to a struct that first had `first` alone.
struct Grown {
  size_t struct_size;
  uint32_t version;
  uint32_t first;
  uint64_t added;
};
constexpr Grown kGrownDefaults = {sizeof(Grown), 1, 5, 7};

}  // namespace
template <>
constexpr std::size_t kFirstSize<Grown> = offsetof(Grown, added);
namespace {

TEST(SizedStructs, OlderCallersLeaveNewFieldsAtTheirDefaults) {
  EXPECT_EQ(sized<Grown>(nullptr, kGrownDefaults)->added, 7);
  Grown given = {offsetof(Grown, added), 1, 6, 999};
  const auto older = sized(&given, kGrownDefaults);
  ASSERT_TRUE(older);
  EXPECT_EQ(older->first, 6);
  EXPECT_EQ(older->added, 7) << "beyond what this caller knows";
  given.struct_size = sizeof given;
  EXPECT_EQ(sized(&given, kGrownDefaults)->added, 999);
}

TEST(SizedStructs, NewerCallersMaySetNothingUnknown) {
  struct {
    Grown known = kGrownDefaults;
    uint64_t unknown = 0;
  } given;
  given.known.struct_size = sizeof given;
  EXPECT_TRUE(sized(&given.known, kGrownDefaults));
  given.unknown = 1;
  const auto refused = sized(&given.known, kGrownDefaults);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, "usage/struct");
}

TEST(SizedStructs, OtherSizesAndVersionsAreRefused) {
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{8}, offsetof(Grown, added) - 1, std::size_t{4097}}) {
    const Grown given = {size, 1, 0, 0};
    const auto refused = sized(&given, kGrownDefaults);
    ASSERT_FALSE(refused) << size;
    EXPECT_EQ(refused.error().code, "usage/struct");
    EXPECT_TRUE(refused.error().message.contains(std::to_string(size)));
  }
  for (const uint32_t version : {0U, 2U}) {
    const Grown given = {sizeof given, version, 0, 0};
    const auto refused = sized(&given, kGrownDefaults);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, "usage/struct");
    EXPECT_TRUE(refused.error().message.contains("version " + std::to_string(version)));
  }
}

TEST(SizedStructs, ResultsFillTheRoomThatThereIs) {
  const Grown value = {sizeof value, 1, 1, 2};
  Grown to = {offsetof(Grown, added), 1, 0, 12345};
  ASSERT_TRUE(give_sized(value, &to));
  EXPECT_EQ(to.struct_size, offsetof(Grown, added));
  EXPECT_EQ(to.first, 1);
  EXPECT_EQ(to.added, 12345) << "written beyond the caller's struct";
  struct {
    Grown known = kGrownDefaults;
    uint64_t unknown = 99;
  } newer;
  newer.known.struct_size = sizeof newer;
  ASSERT_TRUE(give_sized(value, &newer.known));
  EXPECT_EQ(newer.known.added, 2);
  EXPECT_EQ(newer.unknown, 0);
  to.version = 2;
  EXPECT_FALSE(give_sized(value, &to));
  EXPECT_FALSE(give_sized<Grown>(value, nullptr));
}

// Every sized struct is looked at by every function that takes it.
TEST_F(CApi, EveryFunctionChecksItsStruct) {
  const auto refused = [&](wgk_status status) {
    EXPECT_EQ(status, WGK_ERROR_USAGE);
    EXPECT_EQ(errors.code(), "usage/struct");
  };
  const auto of_version_2 = [](auto given) {
    given.version = 2;
    return given;
  };
  const auto runtime_options = of_version_2(wgk_runtime_options WGK_RUNTIME_OPTIONS_INIT);
  wgk_runtime* other = nullptr;
  refused(wgk_runtime_create(&runtime_options, &other, errors.at()));
  refused(wgk_runtime_adopt(&runtime_options, &other, errors.at()));
  auto stats = of_version_2(wgk_runtime_stats WGK_RUNTIME_STATS_INIT);
  refused(wgk_runtime_get_stats(runtime, &stats, errors.at()));
  const auto needs_options = of_version_2(wgk_device_needs_options WGK_DEVICE_NEEDS_OPTIONS_INIT);
  wgk_device_needs* needs = nullptr;
  refused(wgk_device_needs_create(nullptr, 0, &needs_options, &needs, errors.at()));
  const auto upload = of_version_2(wgk_upload_options WGK_UPLOAD_OPTIONS_INIT);
  wgk_tensor* tensor = nullptr;
  refused(wgk_tensor_upload(runtime, &x_host, &upload, &tensor, errors.at()));
  const auto load = of_version_2(wgk_load_options WGK_LOAD_OPTIONS_INIT);
  wgk_kernel* kernel = nullptr;
  refused(wgk_kernel_load(runtime, kPackage, &load, &kernel, errors.at()));
  const auto call = of_version_2(wgk_call_options WGK_CALL_OPTIONS_INIT);
  wgk_result* result = nullptr;
  refused(wgk_kernel_call(norm, inputs, 3, &call, &result, errors.at()));
  Text text;
  const auto unknown = of_version_2(signature());
  refused(wgk_kernel_plan(norm, &unknown, text.at(), errors.at()));
  wgk_package* package = nullptr;
  ASSERT_EQ(wgk_package_open(kPackage, &package, errors.at()), WGK_OK) << errors.text();
  const auto plan = of_version_2(wgk_plan_options WGK_PLAN_OPTIONS_INIT);
  wgk_planner* planner = nullptr;
  refused(wgk_planner_create(package, nullptr, &plan, &planner, errors.at()));
  ASSERT_EQ(wgk_planner_create(package, nullptr, nullptr, &planner, errors.at()), WGK_OK);
  const auto request = of_version_2(wgk_request WGK_REQUEST_INIT);
  refused(wgk_planner_plan(planner, &request, text.at(), errors.at()));
  wgk_planner_free(planner);
  wgk_package_free(package);
  const wgk_signature known = signature();
  auto memory = of_version_2(wgk_memory_needs WGK_MEMORY_NEEDS_INIT);
  refused(wgk_kernel_memory(norm, &known, &memory, errors.at()));
  wgk_prepared* prepared = nullptr;
  ASSERT_EQ(wgk_kernel_prepare(norm, &known, &prepared, errors.at()), WGK_OK) << errors.text();
  const auto bind = of_version_2(wgk_bind_options WGK_BIND_OPTIONS_INIT);
  wgk_bound* bound = nullptr;
  refused(wgk_prepared_bind(prepared, nullptr, 0, &bind, &bound, errors.at()));
  wgk_prepared_free(prepared);
  ASSERT_EQ(wgk_kernel_call(norm, inputs, 3, nullptr, &result, errors.at()), WGK_OK);
  auto timing = of_version_2(wgk_call_timing WGK_CALL_TIMING_INIT);
  refused(wgk_result_timing(result, &timing, errors.at()));
  wgk_result_free(result);
}

// Zero means the default everywhere; what is zero in C++ has a word of its own.
TEST_F(CApi, DefaultsAreThoseOfCpp) {
  wgk_runtime_options options = WGK_RUNTIME_OPTIONS_INIT;
  options.mode = WGK_MODE_TRUSTED;
  options.no_memory_pool = true;
  wgk_runtime* trusted = nullptr;
  ASSERT_EQ(wgk_runtime_create(&options, &trusted, errors.at()), WGK_OK) << errors.text();
  wgk_tensor* tensor = nullptr;
  ASSERT_EQ(wgk_tensor_zeros(trusted, WGK_F32, kMatrix, 2, &tensor, errors.at()), WGK_OK);
  wgk_tensor_free(tensor);
  ASSERT_EQ(wgk_runtime_wait_idle(trusted, WGK_TIMEOUT_DEFAULT, errors.at()), WGK_OK);
  wgk_runtime_stats stats = WGK_RUNTIME_STATS_INIT;
  ASSERT_EQ(wgk_runtime_get_stats(trusted, &stats, errors.at()), WGK_OK);
  EXPECT_GT(stats.buffers_made, 0);
  EXPECT_EQ(stats.pooled_bytes, 0);
  options = WGK_RUNTIME_OPTIONS_INIT;
  options.device = wgk_runtime_device(trusted);
  options.instance = wgk_runtime_instance(trusted);
  options.timed_wait = true;
  wgk_runtime* adopted = nullptr;
  ASSERT_EQ(wgk_runtime_adopt(&options, &adopted, errors.at()), WGK_OK) << errors.text();
  Text text;
  ASSERT_EQ(wgk_runtime_describe(adopted, text.at(), errors.at()), WGK_OK);
  EXPECT_TRUE(text.contains("\"mode\":\"trusted\"")) << text.text;
  wgk_runtime_free(adopted);
  options.mode = WGK_MODE_SAFE;
  EXPECT_EQ(wgk_runtime_adopt(&options, &adopted, errors.at()), WGK_ERROR_USAGE);
  EXPECT_EQ(errors.code(), "usage/mode");
  wgk_runtime_free(trusted);
}

}  // namespace
}  // namespace wgk::capi
