// SPDX-License-Identifier: Apache-2.0
// Host memory that runs out at every place of every function: an error comes back, no exception.
// Not with the thread sanitizer: foreign libraries would free through an instrumented function.
#if !defined(__SANITIZE_THREAD__)
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <functional>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "capi/test_support.h"
#include "wgk/package.h"

extern const char __executable_start, etext;

namespace {

// Of this thread: how many allocations still succeed; negative: all.
thread_local std::int64_t left = -1;
// After one has failed: whether all later ones do too.
thread_local bool for_good = false;
thread_local bool failed = false;

// Only what this program itself allocates: neither Dawn nor the file functions of libstdc++ survive
// a failure of their own.
bool fails(const void* caller) {
  if (left < 0 || caller < &__executable_start || caller >= &etext) return false;
  if (left > 0) return --left, false;
  failed = true;
  if (!for_good) left = -1;
  return true;
}

void* allocate(std::size_t size, const void* caller) {
  void* memory = fails(caller) ? nullptr : std::malloc(size == 0 ? 1 : size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

[[gnu::noinline]] void* operator new(std::size_t size) {
  return allocate(size, __builtin_return_address(0));
}
[[gnu::noinline]] void* operator new[](std::size_t size) {
  return allocate(size, __builtin_return_address(0));
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete[](void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }

namespace wgk::capi {
namespace {

// Calls a function with the first, the second, the third allocation failing, and so on until it
// needs no more. The first hundred one by one, later ones in growing steps.
void starve(const char* name, const std::function<wgk_status(wgk_error**)>& call) {
  SCOPED_TRACE(name);
  for (const bool from_then_on : {false, true}) {
    int failures = 0;
    for (std::int64_t at = 0;; at += 1 + at / 100 * (at / 20)) {
      wgk_error* error = nullptr;
      for_good = from_then_on;
      failed = false;
      left = at;
      const wgk_status status = call(&error);
      left = -1;
      const std::string code = wgk_error_code(error), text = wgk_error_text(error);
      const bool told = error != nullptr;
      wgk_error_free(error);
      if (!failed) {
        ASSERT_EQ(status, WGK_OK) << text;
        break;
      }
      ++failures;
      // What can do without goes on.
      if (status == WGK_OK) continue;
      ASSERT_EQ(status, WGK_ERROR_LIMIT) << "allocation " << at << ": " << text;
      ASSERT_TRUE(code == "limit/host-memory" || !told) << "allocation " << at << ": " << text;
      ASSERT_TRUE(told || from_then_on) << "allocation " << at;
    }
    EXPECT_GT(failures, 0) << "nothing was allocated";
  }
}

// A call with attributes, so that their JSON is copied too.
wgk_signature with_values() {
  wgk_signature call = signature();
  call.attrs = R"({"epsilon": 0.25})";
  return call;
}

// The same for C++: `call` gives a Result.
template <class Call>
void starve_cpp(const char* name, const Call& call) {
  SCOPED_TRACE(name);
  int failures = 0;
  for_good = false;
  for (std::int64_t at = 0;; at += 1 + at / 100 * (at / 20)) {
    failed = false;
    left = at;
    const auto result = call();
    left = -1;
    if (!failed) {
      ASSERT_TRUE(result.has_value()) << result.error().to_string();
      break;
    }
    ++failures;
    // What can do without goes on.
    if (result) continue;
    ASSERT_EQ(result.error().code, "limit/host-memory") << "allocation " << at;
  }
  EXPECT_GT(failures, 0) << "nothing was allocated";
}

TEST(HostMemory, IsAnErrorOfPackagesInCppToo) {
  starve_cpp("Package::open", [] { return Package::open(kPackage); });
  const Package package = Package::open(kPackage).value();
  const DeviceCaps caps = DeviceCaps::defaults();
  Request request;
  for (const auto& [port, shape] :
       {std::pair{"input", Shape{2, 4}}, {"skip", {2, 4}}, {"gamma", {4}}}) {
    TensorDesc tensor;
    tensor.shape = shape;
    tensor.dtype = DType::f32;
    request.inputs.emplace_back(port, tensor);
  }
  starve_cpp("Package::plan", [&] { return package.plan(request, caps); });
  starve_cpp("Package::explain", [&]() -> Result<Explanation> {
    Explanation explanation = package.explain(request, caps);
    if (explanation.error) return std::unexpected(*explanation.error);
    return explanation;
  });
}

TEST(HostMemory, RunsOutWithoutADevice) {
  starve("wgk_package_open", [](wgk_error** error) {
    wgk_package* package = nullptr;
    const wgk_status status = wgk_package_open(kPackage, &package, error);
    wgk_package_free(package);
    return status;
  });
  wgk_package* package = nullptr;
  ASSERT_EQ(wgk_package_open(kPackage, &package, nullptr), WGK_OK);
  starve("wgk_device_needs_create", [&](wgk_error** error) {
    wgk_device_needs* needs = nullptr;
    const wgk_status status = wgk_device_needs_create(&package, 1, nullptr, &needs, error);
    wgk_device_needs_free(needs);
    return status;
  });
  const auto text_of = [](const char* name, const auto& function) {
    starve(name, [&](wgk_error** error) {
      Text text;
      return function(text.at(), error);
    });
  };
  text_of("wgk_package_info",
          [&](char** json, wgk_error** error) { return wgk_package_info(package, json, error); });
  const wgk_signature call = with_values();
  const char* caps = R"({"features": ["shader-f16"], "name": "a device of some length"})";
  text_of("wgk_package_plan", [&](char** json, wgk_error** error) {
    return wgk_package_plan(package, &call, caps, json, error);
  });
  text_of("wgk_package_explain", [&](char** json, wgk_error** error) {
    return wgk_package_explain(package, &call, caps, json, error);
  });
  wgk_tensor_desc inputs[3] = {};
  for (std::size_t i = 0; i < 3; ++i) {
    const wgk_signature_input& input = call.inputs[i];
    inputs[i].name = input.name;
    inputs[i].shape = input.shape;
    inputs[i].rank = input.rank;
    inputs[i].dtype = WGK_F32;
    inputs[i].storage = inputs[i].host_array = WGK_DTYPE_DEFAULT;
  }
  wgk_request request = WGK_REQUEST_INIT;
  request.inputs = inputs;
  request.input_count = 3;
  request.attrs = call.attrs;
  text_of("wgk_planner", [&](char** json, wgk_error** error) {
    wgk_planner* planner = nullptr;
    wgk_status status = wgk_planner_create(package, caps, nullptr, &planner, error);
    if (status == WGK_OK) status = wgk_planner_info(planner, json, error);
    wgk_string_free(*json);
    *json = nullptr;
    if (status == WGK_OK) status = wgk_planner_plan(planner, &request, json, error);
    wgk_string_free(*json);
    *json = nullptr;
    if (status == WGK_OK) status = wgk_planner_explain(planner, &request, json, error);
    wgk_planner_free(planner);
    return status;
  });
  wgk_package_free(package);
}

template <class Function>
void starve_result(const char* name, const Function& function) {
  starve(name, [&](wgk_error** error) {
    wgk_result* result = nullptr;
    const wgk_status status = function(&result, error);
    wgk_tensor_free(wgk_result_tensor(result, "output"));
    wgk_result_free(result);
    return status;
  });
}

TEST_F(CApi, CallsSurviveHostMemoryThatRunsOut) {
  wgk_call_options read_back = WGK_CALL_OPTIONS_INIT;
  read_back.read_back = true;
  starve_result("wgk_kernel_call", [&](wgk_result** result, wgk_error** error) {
    return wgk_kernel_call(norm, inputs, 3, &read_back, result, error);
  });
  starve_result("wgk_kernel_start", [&](wgk_result** result, wgk_error** error) {
    wgk_future* future = nullptr;
    wgk_status status = wgk_kernel_start(norm, inputs, 3, &read_back, &future, error);
    if (status == WGK_OK) status = wgk_future_wait(future, WGK_TIMEOUT_DEFAULT, error);
    if (status == WGK_OK) status = wgk_future_take_result(future, result, error);
    wgk_future_free(future);
    return status;
  });
  // It works as before.
  wgk_result* result = nullptr;
  ASSERT_EQ(wgk_kernel_call(norm, inputs, 3, &read_back, &result, errors.at()), WGK_OK)
      << errors.text();
  wgk_tensor* output = wgk_result_tensor(result, "output");
  EXPECT_NEAR(read(output)[0], 0.5F, 1e-5F);
  wgk_tensor_free(output);
  wgk_result_free(result);
  EXPECT_FALSE(wgk_runtime_lost(runtime, nullptr, nullptr));
}

TEST_F(CApi, TensorsAndPlansSurviveHostMemoryThatRunsOut) {
  starve("wgk_tensor_upload", [&](wgk_error** error) {
    wgk_tensor* tensor = nullptr;
    const wgk_status status = wgk_tensor_upload(runtime, &x_host, nullptr, &tensor, error);
    wgk_tensor* shared = wgk_tensor_share(tensor);
    wgk_tensor_free(tensor);
    wgk_tensor_free(shared);
    return status;
  });
  starve("wgk_runtime_trim", [&](wgk_error** error) {
    wgk_tensor* tensor = nullptr;
    const wgk_status status = wgk_tensor_upload(runtime, &x_host, nullptr, &tensor, error);
    wgk_tensor_free(tensor);
    wgk_runtime_trim(runtime);
    wgk_runtime_poll(runtime);
    return status;
  });
  const wgk_signature call = with_values();
  starve("wgk_kernel_plan", [&](wgk_error** error) {
    Text text;
    return wgk_kernel_plan(norm, &call, text.at(), error);
  });
  starve("wgk_kernel_explain", [&](wgk_error** error) {
    Text text;
    return wgk_kernel_explain(norm, &call, text.at(), error);
  });
  starve("wgk_kernel_prepare", [&](wgk_error** error) {
    wgk_prepared* made = nullptr;
    const wgk_status status = wgk_kernel_prepare(norm, &call, &made, error);
    wgk_prepared_free(made);
    return status;
  });
  EXPECT_FALSE(wgk_runtime_lost(runtime, nullptr, nullptr));
}

TEST_F(CApi, PreparedCallsSurviveHostMemoryThatRunsOut) {
  const wgk_signature call = with_values();
  wgk_prepared* prepared = nullptr;
  ASSERT_EQ(wgk_kernel_prepare(norm, &call, &prepared, errors.at()), WGK_OK) << errors.text();
  wgk_tensor *x_tensor = nullptr, *gamma_tensor = nullptr, *y_tensor = nullptr;
  ASSERT_EQ(wgk_tensor_upload(runtime, &x_host, nullptr, &x_tensor, errors.at()), WGK_OK);
  ASSERT_EQ(wgk_tensor_upload(runtime, &gamma_host, nullptr, &gamma_tensor, errors.at()), WGK_OK);
  starve("wgk_prepared_make_outputs", [&](wgk_error** error) {
    wgk_tensor_free(y_tensor);
    y_tensor = nullptr;
    return wgk_prepared_make_outputs(prepared, &y_tensor, 1, error);
  });
  const wgk_named_tensor tensors[] = {
      {"input", x_tensor}, {"skip", x_tensor}, {"gamma", gamma_tensor}, {"output", y_tensor}};
  starve("wgk_prepared_bind", [&](wgk_error** error) {
    wgk_bound* bound = nullptr;
    const wgk_status status = wgk_prepared_bind(prepared, tensors, 4, nullptr, &bound, error);
    wgk_bound_free(bound);
    return status;
  });
  wgk_bound* bound = nullptr;
  ASSERT_EQ(wgk_prepared_bind(prepared, tensors, 4, nullptr, &bound, errors.at()), WGK_OK);
  starve_result("wgk_bound_run_and_read", [&](wgk_result** result, wgk_error** error) {
    return wgk_bound_run_and_read(bound, result, error);
  });
  starve("wgk_bound_update",
         [&](wgk_error** error) { return wgk_bound_update(bound, "{}", error); });
  starve("wgk_bound_plan", [&](wgk_error** error) {
    Text text;
    return wgk_bound_plan(bound, text.at(), error);
  });
  starve("wgk_bound_run", [&](wgk_error** error) {
    wgk_future* future = nullptr;
    wgk_status status = wgk_bound_run(bound, &future, error);
    if (status == WGK_OK) status = wgk_future_wait(future, WGK_TIMEOUT_DEFAULT, error);
    wgk_future_cancel(future);
    wgk_future_free(future);
    return status;
  });
  starve("wgk_tensor_download", [&](wgk_error** error) {
    float values[16] = {};
    return wgk_tensor_download(y_tensor, 0, 16, values, sizeof values, error);
  });
  wgk_bound_free(bound);
  for (wgk_tensor* tensor : {x_tensor, gamma_tensor, y_tensor}) wgk_tensor_free(tensor);
  wgk_prepared_free(prepared);
  EXPECT_FALSE(wgk_runtime_lost(runtime, nullptr, nullptr));
}

}  // namespace
}  // namespace wgk::capi
#endif
