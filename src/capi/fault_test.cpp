// SPDX-License-Identifier: Apache-2.0
// Every WebGPU call behind the C API is made to fail once: a status and an error come back, and
// nothing is left behind.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "capi/test_support.h"
#include "gpu/count_support.h"
#include "gpu/fault_support.h"
#include "gpu/null_host_support.h"

namespace wgk::capi {
namespace {

using gpu::testing::faults;
using gpu::testing::NullHost;

const gpu::Procs& faulty() {
  static const gpu::Procs kProcs = gpu::testing::faulty_procs(gpu::testing::counting_procs());
  return kProcs;
}

// wgpuGetProcAddress of a library that fails when its turn comes.
WGPUProc look_up(WGPUStringView name) {
  const std::string_view wanted(name.data, name.length);
#define WGK_FIND(member, proc) \
  if (wanted == "wgpu" #proc) return reinterpret_cast<WGPUProc>(faulty().member);
  WGK_GPU_REQUIRED_PROCS(WGK_FIND)
  WGK_GPU_OPTIONAL_PROCS(WGK_FIND)
#undef WGK_FIND
  return nullptr;
}

// What one way through the API has made; freed in any state.
struct Made {
  wgk_runtime* runtime = nullptr;
  wgk_kernel* kernel = nullptr;
  wgk_result *result = nullptr, *read = nullptr;
  wgk_tensor *x = nullptr, *gamma = nullptr, *y = nullptr;
  wgk_prepared* prepared = nullptr;
  wgk_bound* bound = nullptr;
  wgk_future *warm = nullptr, *remembered = nullptr, *run = nullptr;
  ~Made() {
    wgk_future_free(run);
    wgk_future_free(remembered);
    wgk_future_free(warm);
    wgk_bound_free(bound);
    wgk_prepared_free(prepared);
    for (wgk_tensor* tensor : {x, gamma, y}) wgk_tensor_free(tensor);
    wgk_result_free(read);
    wgk_result_free(result);
    wgk_kernel_free(kernel);
    wgk_runtime_free(runtime);
  }
};

struct Setting {
  const wgk_package* package = nullptr;
  NullHost* host = nullptr;  // adopted where given
  std::string cache;
};

wgk_status open(const Setting& setting, Made& made, wgk_error** error) {
  wgk_runtime_options options = WGK_RUNTIME_OPTIONS_INIT;
  options.get_proc_address = reinterpret_cast<wgk_proc>(look_up);
  options.cache_folder = setting.cache.c_str();
  if (setting.host == nullptr) {
    options.backend = "null";
    return wgk_runtime_create(&options, &made.runtime, error);
  }
  options.device = setting.host->device;
  options.timed_wait = true;
  return wgk_runtime_adopt(&options, &made.runtime, error);
}

wgk_status whole_way(const Setting& setting, wgk_error** error) {
  Made made;
  const std::vector<float> ones(16, 1.0F);
  const std::vector<float> half(8, 0.5F);
  const wgk_host_tensor x = host(ones, kMatrix, 2), gamma = host(half, kRow, 1);
  const wgk_input inputs[] = {
      {"input", &x, nullptr}, {"skip", &x, nullptr}, {"gamma", &gamma, nullptr}};
  wgk_call_options read_back = WGK_CALL_OPTIONS_INIT;
  read_back.read_back = true;
  const wgk_signature_input shapes[] = {{"input", WGK_F32, kMatrix, 2, WGK_DTYPE_DEFAULT, false, 0},
                                        {"skip", WGK_F32, kMatrix, 2, WGK_DTYPE_DEFAULT, false, 0},
                                        {"gamma", WGK_F32, kRow, 1, WGK_DTYPE_DEFAULT, false, 0}};
  wgk_signature call = WGK_SIGNATURE_INIT;
  call.inputs = shapes;
  call.input_count = 3;
#define WGK_STEP(...) \
  if (const wgk_status status = (__VA_ARGS__); status != WGK_OK) return status
  WGK_STEP(open(setting, made, error));
  WGK_STEP(wgk_kernel_from_package(made.runtime, setting.package, nullptr, &made.kernel, error));
  const wgk_signature* calls[] = {&call};
  WGK_STEP(wgk_runtime_prewarm(made.runtime, &made.kernel, calls, 1, &made.warm, error));
  WGK_STEP(wgk_future_wait(made.warm, WGK_TIMEOUT_DEFAULT, error));
  WGK_STEP(wgk_runtime_prewarm_remembered(made.runtime, &made.remembered, error));
  WGK_STEP(wgk_future_wait(made.remembered, WGK_TIMEOUT_DEFAULT, error));
  size_t count = 0;
  WGK_STEP(wgk_future_take_count(made.remembered, &count, error));
  if (count == 0) return WGK_ERROR_INTERNAL;
  WGK_STEP(wgk_kernel_call(made.kernel, inputs, 3, &read_back, &made.result, error));
  WGK_STEP(wgk_tensor_upload(made.runtime, &x, nullptr, &made.x, error));
  WGK_STEP(wgk_tensor_upload(made.runtime, &gamma, nullptr, &made.gamma, error));
  WGK_STEP(wgk_kernel_prepare(made.kernel, &call, &made.prepared, error));
  WGK_STEP(wgk_prepared_make_outputs(made.prepared, &made.y, 1, error));
  const wgk_named_tensor tensors[] = {
      {"input", made.x}, {"skip", made.x}, {"gamma", made.gamma}, {"output", made.y}};
  WGK_STEP(wgk_prepared_bind(made.prepared, tensors, 4, nullptr, &made.bound, error));
  WGK_STEP(wgk_bound_run(made.bound, &made.run, error));
  WGK_STEP(wgk_future_wait(made.run, WGK_TIMEOUT_DEFAULT, error));
  WGK_STEP(wgk_bound_run_and_read(made.bound, &made.read, error));
  float values[16] = {};
  WGK_STEP(wgk_tensor_download(made.y, 0, 16, values, sizeof values, error));
#undef WGK_STEP
  return wgk_runtime_wait_idle(made.runtime, WGK_TIMEOUT_DEFAULT, error);
}

class Faults : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(wgk_package_open(kPackage, &package, errors.at()), WGK_OK) << errors.text();
    static_cast<void>(faulty());
  }
  void TearDown() override {
    faults().arm(0);
    wgk_package_free(package);
    std::filesystem::remove_all(cache);
  }
  void arm(std::uint64_t index, NullHost* host) {
    std::filesystem::remove_all(cache);
    faults().arm(index, 1);  // buffers are asked for twice
    if (host != nullptr) faults().device = host->device;
  }
  void sweep(NullHost* host, std::set<std::string>& failed) {
    const Setting setting{package, host, cache};
    const gpu::testing::Live before;
    arm(0, host);
    ASSERT_EQ(whole_way(setting, errors.at()), WGK_OK) << errors.text();
    ASSERT_EQ(gpu::testing::Live(), before);
    const std::uint64_t count = faults().calls;
    ASSERT_GT(count, 80);
    for (std::uint64_t index = 1; index <= count && !HasFailure(); ++index) {
      arm(index, host);
      const wgk_status status = whole_way(setting, errors.at());
      const std::string member = faults().failed;
      if (member.empty()) break;  // fewer calls than without a fault
      failed.insert(member);
      if (status == WGK_OK) {  // an adopted device can do without its description
        EXPECT_TRUE(host != nullptr && member == "device_get_adapter_info") << member;
      } else if (errors.code() == "usage/device") {  // or its instance cannot be asked for
        EXPECT_EQ(status, WGK_ERROR_USAGE) << member;
      } else {
        EXPECT_EQ(status, WGK_ERROR_DEVICE) << "call " << index << ", " << member;
        EXPECT_TRUE(errors.code().starts_with("device/")) << member << ": " << errors.text();
      }
      EXPECT_EQ(gpu::testing::Live(), before) << "after " << member;
    }
    arm(0, host);
    EXPECT_EQ(whole_way(setting, errors.at()), WGK_OK) << errors.text();
  }

  Errors errors;
  wgk_package* package = nullptr;
  std::string cache =
      (std::filesystem::temp_directory_path() / ("wgk-c-faults-" + std::to_string(::getpid())))
          .string();
};

TEST_F(Faults, EveryCallBehindTheCApiMayFail) {
  std::set<std::string> failed;
  sweep(nullptr, failed);
  EXPECT_GT(failed.size(), 20);
  EXPECT_TRUE(failed.contains("adapter_request_device"));
}

TEST_F(Faults, EveryCallOnACallersDeviceMayFail) {
  NullHost host;
  std::set<std::string> failed;
  sweep(&host, failed);
  EXPECT_GT(failed.size(), 18);
  EXPECT_FALSE(failed.contains("adapter_request_device"));
}

}  // namespace
}  // namespace wgk::capi
