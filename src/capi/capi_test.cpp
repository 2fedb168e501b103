// SPDX-License-Identifier: Apache-2.0
// The C API on the package that comes with the library: every function once, and what wrong use
// gives.
#include <gtest/gtest.h>
#include <webgpu/webgpu.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "capi/handles.h"
#include "capi/test_support.h"
#include "runtime/test_support.h"
#include "wgk.h"

namespace wgk::capi {
namespace {

TEST_F(CApi, CallsAKernel) {
  wgk_result* result = nullptr;
  wgk_output sum = {"input_skip_bias_sum", nullptr, 0, WGK_DTYPE_DEFAULT, nullptr};
  wgk_call_options options = WGK_CALL_OPTIONS_INIT;
  options.outputs = &sum;
  options.output_count = 1;
  options.attrs = R"({"epsilon": 1e-6})";
  ASSERT_EQ(wgk_kernel_call(norm, inputs, 3, &options, &result, errors.at()), WGK_OK)
      << errors.text();
  EXPECT_EQ(wgk_result_count(result), 2);
  EXPECT_STREQ(wgk_result_name(result, 0), "outputT");
  EXPECT_EQ(wgk_result_name(result, 2), nullptr);
  EXPECT_NE(std::strlen(wgk_result_variant(result)), 0);
  wgk_tensor* y = wgk_result_tensor(result, "output");
  ASSERT_NE(y, nullptr);
  EXPECT_EQ(wgk_result_tensor(result, "nothing"), nullptr);
  EXPECT_EQ(wgk_tensor_dtype(y), WGK_F32);
  EXPECT_EQ(wgk_tensor_rank(y), 2);
  EXPECT_EQ(wgk_tensor_shape(y)[1], 8);
  EXPECT_EQ(wgk_tensor_host_size(y), 64);
  EXPECT_NE(wgk_tensor_buffer(y), nullptr);
  EXPECT_NEAR(read(y)[3], 0.5F, 1e-5F);
  wgk_tensor* total = wgk_result_tensor(result, "residualT");
  EXPECT_EQ(read(total), std::vector<float>(16, 3.0F));
  wgk_call_timing timing = WGK_CALL_TIMING_INIT;
  EXPECT_EQ(wgk_result_timing(result, &timing, errors.at()), WGK_OK);
  EXPECT_GT(timing.total, 0);
  wgk_memory_needs needs = WGK_MEMORY_NEEDS_INIT;
  options.read_back = true;
  EXPECT_EQ(wgk_kernel_memory_call(norm, inputs, 3, &options, &needs, errors.at()), WGK_OK);
  EXPECT_EQ(needs.inputs, 64 + 64 + 32);
  EXPECT_EQ(needs.outputs, 64 + 64);
  EXPECT_GT(needs.read_back, 0);
  needs.struct_size = offsetof(wgk_memory_needs, staging);  // as a caller of an older header
  needs.read_back = 7;
  EXPECT_EQ(wgk_kernel_memory_call(norm, inputs, 3, &options, &needs, errors.at()), WGK_OK);
  EXPECT_EQ(needs.read_back, 7);
  Text plan;
  EXPECT_EQ(wgk_result_plan(result, plan.at(), errors.at()), WGK_OK);
  EXPECT_TRUE(plan.contains("\"passes\""));
  wgk_result_free(result);
  EXPECT_EQ(read(y).size(), 16) << "tensors outlive the result";
  wgk_tensor_free(total);
  wgk_tensor_free(y);
}

TEST_F(CApi, ReportsWrongUse) {
  wgk_result* result = nullptr;
  EXPECT_EQ(wgk_kernel_call(norm, inputs, 2, nullptr, &result, errors.at()), WGK_ERROR_REQUEST);
  EXPECT_EQ(errors.code(), "request/missing");
  EXPECT_TRUE(errors.text().contains("while calling"));
  EXPECT_EQ(wgk_kernel_call(nullptr, inputs, 3, nullptr, &result, errors.at()), WGK_ERROR_USAGE);
  EXPECT_EQ(wgk_kernel_call(norm, nullptr, 3, nullptr, &result, errors.at()), WGK_ERROR_USAGE);
  EXPECT_EQ(wgk_kernel_call(norm, inputs, 3, nullptr, nullptr, nullptr), WGK_ERROR_USAGE)
      << "errors may be ignored";
  wgk_call_options options = WGK_CALL_OPTIONS_INIT;
  options.attrs = "{";
  EXPECT_NE(wgk_kernel_call(norm, inputs, 3, &options, &result, errors.at()), WGK_OK);
  options.attrs = "[]";
  EXPECT_EQ(wgk_kernel_call(norm, inputs, 3, &options, &result, errors.at()), WGK_ERROR_USAGE);
  inputs[0].host = nullptr;
  EXPECT_EQ(wgk_kernel_call(norm, inputs, 3, nullptr, &result, errors.at()), WGK_ERROR_USAGE);
  wgk_package* package = nullptr;
  EXPECT_EQ(wgk_package_open("/nowhere", &package, errors.at()), WGK_ERROR_STORE);
  EXPECT_EQ(errors.code(), "store/not-found");
  const auto opened = [&](const char* limits) {
    const wgk_status status = wgk_package_open_within(kPackage, limits, &package, errors.at());
    if (status == WGK_OK) wgk_package_free(std::exchange(package, nullptr));
    return status;
  };
  EXPECT_EQ(opened(nullptr), WGK_OK) << errors.text();
  EXPECT_EQ(opened(R"({"variants": 100, "steps": 20000000})"), WGK_OK) << errors.text();
  EXPECT_EQ(opened(R"({"variants": 10})"), WGK_ERROR_LIMIT);
  EXPECT_EQ(errors.code(), "limit/count");
  EXPECT_EQ(opened(R"({"variant": 10})"), WGK_ERROR_USAGE);
  EXPECT_EQ(opened(R"({"variants": 1.5})"), WGK_ERROR_USAGE);
  EXPECT_EQ(opened(R"({"depth": 5000})"), WGK_ERROR_USAGE);
  wgk_tensor* tensor = nullptr;
  EXPECT_EQ(wgk_tensor_empty(runtime, 99, kRow, 1, &tensor, errors.at()), WGK_ERROR_USAGE);
  // Freeing nothing is allowed everywhere.
  wgk_error_free(nullptr);
  wgk_tensor_free(nullptr);
  wgk_result_free(nullptr);
  wgk_future_free(nullptr);
}

TEST_F(CApi, PreparesBindsAndRecords) {
  const wgk_signature call = signature();
  wgk_memory_needs needs = WGK_MEMORY_NEEDS_INIT;
  ASSERT_EQ(wgk_kernel_memory(norm, &call, &needs, errors.at()), WGK_OK) << errors.text();
  EXPECT_EQ(needs.inputs, 64 + 64 + 32);
  EXPECT_EQ(needs.outputs, 64);
  wgk_prepared* prepared = nullptr;
  ASSERT_EQ(wgk_kernel_prepare(norm, &call, &prepared, errors.at()), WGK_OK) << errors.text();
  wgk_tensor *xt = nullptr, *st = nullptr, *gt = nullptr, *yt = nullptr;
  ASSERT_EQ(wgk_tensor_upload(runtime, &x_host, nullptr, &xt, errors.at()), WGK_OK);
  wgk_upload_options upload = WGK_UPLOAD_OPTIONS_INIT;
  upload.keep_host_copy = true;
  ASSERT_EQ(wgk_tensor_upload(runtime, &skip_host, &upload, &st, errors.at()), WGK_OK);
  ASSERT_EQ(wgk_tensor_upload(runtime, &gamma_host, nullptr, &gt, errors.at()), WGK_OK);
  ASSERT_EQ(wgk_prepared_make_output(prepared, "output", &yt, errors.at()), WGK_OK)
      << errors.text();
  const wgk_named_tensor tensors[] = {{"input", xt}, {"skipT", st}, {"gamma", gt}, {"output", yt}};
  wgk_bound* bound = nullptr;
  ASSERT_EQ(wgk_prepared_bind(prepared, tensors, 4, nullptr, &bound, errors.at()), WGK_OK)
      << errors.text();
  EXPECT_EQ(wgk_bound_needs(bound), WGK_NEEDS_PASS);
  WGPUCommandEncoder encoder = wgpuDeviceCreateCommandEncoder(wgk_runtime_device(runtime), nullptr);
  WGPUComputePassEncoder pass = wgpuCommandEncoderBeginComputePass(encoder, nullptr);
  ASSERT_EQ(wgk_bound_record_pass(bound, pass, errors.at()), WGK_OK) << errors.text();
  wgpuComputePassEncoderEnd(pass);
  wgpuComputePassEncoderRelease(pass);
  ASSERT_EQ(wgk_bound_record_encoder(bound, encoder, errors.at()), WGK_OK) << errors.text();
  WGPUCommandBuffer commands = wgpuCommandEncoderFinish(encoder, nullptr);
  wgpuQueueSubmit(wgk_runtime_queue(runtime), 1, &commands);
  wgpuCommandBufferRelease(commands);
  wgpuCommandEncoderRelease(encoder);
  EXPECT_NEAR(read(yt)[0], 0.5F, 1e-5F);
  wgk_future* future = nullptr;
  ASSERT_EQ(wgk_bound_run(bound, &future, errors.at()), WGK_OK);
  EXPECT_EQ(wgk_future_wait(future, WGK_TIMEOUT_DEFAULT, errors.at()), WGK_OK);
  wgk_future_free(future);
  ASSERT_EQ(wgk_bound_run(bound, &future, errors.at()), WGK_OK);
  wgk_future_cancel(future);
  EXPECT_EQ(wgk_future_wait(future, WGK_TIMEOUT_DEFAULT, errors.at()), WGK_ERROR_USAGE);
  EXPECT_EQ(errors.code(), "usage/cancelled");
  wgk_future_free(future);
  EXPECT_EQ(wgk_bound_submit(bound, errors.at()), WGK_OK);
  wgk_result* result = nullptr;
  ASSERT_EQ(wgk_bound_run_and_read(bound, &result, errors.at()), WGK_OK) << errors.text();
  wgk_tensor* back = wgk_result_tensor(result, "output");
  EXPECT_EQ(wgk_tensor_buffer(back), nullptr) << "it is in host memory";
  EXPECT_NEAR(read(back)[15], 0.5F, 1e-5F);
  wgk_tensor_free(back);
  wgk_result_free(result);
  EXPECT_EQ(wgk_runtime_wait_idle(runtime, WGK_TIMEOUT_DEFAULT, errors.at()), WGK_OK);
  wgk_arena* arena = nullptr;
  ASSERT_EQ(wgk_arena_create(runtime, &prepared, 1, &arena, errors.at()), WGK_OK);
  wgk_memory_needs all = WGK_MEMORY_NEEDS_INIT;
  ASSERT_EQ(wgk_prepared_memory(&prepared, 1, true, &all, errors.at()), WGK_OK);
  EXPECT_EQ(wgk_arena_bytes(arena), all.scratch);
  Text text;
  EXPECT_EQ(wgk_bound_staging_notes(bound, text.at(), errors.at()), WGK_OK);
  EXPECT_STREQ(text.text, "[]");
  EXPECT_EQ(wgk_prepared_plan(prepared, text.at(), errors.at()), WGK_OK);
  ASSERT_EQ(wgk_prepared_output_count(prepared), 1);
  EXPECT_STREQ(wgk_prepared_output_name(prepared, 0), "outputT");
  EXPECT_EQ(wgk_prepared_output_name(prepared, 1), nullptr);
  wgk_tensor* made = nullptr;
  EXPECT_EQ(wgk_prepared_make_outputs(prepared, &made, 2, errors.at()), WGK_ERROR_USAGE);
  ASSERT_EQ(wgk_prepared_make_outputs(prepared, &made, 1, errors.at()), WGK_OK) << errors.text();
  EXPECT_EQ(wgk_tensor_byte_length(made), 64);
  wgk_tensor_free(made);
  const wgk_bound* twice[] = {bound, bound};
  wgk_memory_needs of_bound = WGK_MEMORY_NEEDS_INIT;
  ASSERT_EQ(wgk_bound_memory(twice, 2, &of_bound, errors.at()), WGK_OK) << errors.text();
  EXPECT_EQ(of_bound.inputs, 64 + 64 + 32);
  EXPECT_EQ(of_bound.outputs, 64);
  EXPECT_EQ(wgk_bound_update(bound, R"({"nothing": 1})", errors.at()), WGK_ERROR_REQUEST);
  wgk_arena_free(arena);
  wgk_bound_free(bound);
  wgk_prepared_free(prepared);
  for (wgk_tensor* tensor : {xt, st, gt, yt}) wgk_tensor_free(tensor);
}

TEST_F(CApi, WrapsWritesAndReshapesTensors) {
  wgk_tensor* owner = nullptr;
  ASSERT_EQ(wgk_tensor_upload(runtime, &x_host, nullptr, &owner, errors.at()), WGK_OK);
  wgk_tensor* view = nullptr;
  const int64_t four[] = {4};
  ASSERT_EQ(wgk_tensor_wrap(runtime, wgk_tensor_buffer(owner), 16, 16, four, 1, WGK_F32, nullptr,
                            &view, errors.at()),
            WGK_OK)
      << errors.text();
  EXPECT_TRUE(wgk_tensor_borrowed(view));
  EXPECT_EQ(wgk_tensor_byte_offset(view), 16);
  const std::vector<float> patch = {7, 8};
  const int64_t two[] = {2};
  const wgk_host_tensor patch_host = host(patch, two, 1);
  ASSERT_EQ(wgk_tensor_write(view, &patch_host, 1, errors.at()), WGK_OK) << errors.text();
  EXPECT_EQ(read(view), std::vector<float>({1, 7, 8, 1}));
  wgk_tensor* shaped = nullptr;
  wgk_tensor* zeros = nullptr;
  ASSERT_EQ(wgk_tensor_zeros(runtime, WGK_F32, four, 1, &zeros, errors.at()), WGK_OK);
  EXPECT_EQ(read(zeros), std::vector<float>(4));
  wgk_tensor_free(zeros);
  const int64_t square[] = {4, 4};
  ASSERT_EQ(wgk_tensor_reshape(owner, square, 2, &shaped, errors.at()), WGK_OK);
  EXPECT_EQ(wgk_tensor_shape(shaped)[0], 4);
  EXPECT_EQ(wgk_tensor_reshape(owner, two, 1, &shaped, errors.at()), WGK_ERROR_REQUEST);
  wgk_tensor* shared = wgk_tensor_share(shaped);
  wgk_tensor_free(shaped);
  EXPECT_EQ(wgk_tensor_byte_length(shared), 64);
  for (wgk_tensor* tensor : {owner, view, shared}) wgk_tensor_free(tensor);
}

TEST_F(CApi, FuturesAreAwaitedPolledAndCalledBack) {
  wgk_call_options options = WGK_CALL_OPTIONS_INIT;
  options.read_back = true;
  wgk_future* future = nullptr;
  ASSERT_EQ(wgk_kernel_start(norm, inputs, 3, &options, &future, errors.at()), WGK_OK)
      << errors.text();
  bool ready = false;
  while (!ready) ASSERT_EQ(wgk_future_ready(future, &ready, errors.at()), WGK_OK);
  wgk_result* result = nullptr;
  EXPECT_EQ(wgk_future_take_result(future, &result, errors.at()), WGK_ERROR_USAGE)
      << "not before the wait";
  ASSERT_EQ(wgk_future_wait(future, WGK_TIMEOUT_DEFAULT, errors.at()), WGK_OK);
  ASSERT_EQ(wgk_future_take_result(future, &result, errors.at()), WGK_OK);
  wgk_result_free(result);
  wgk_future_free(future);

  ASSERT_EQ(wgk_kernel_start(norm, inputs, 3, &options, &future, errors.at()), WGK_OK);
  int calls = 0;
  ASSERT_EQ(wgk_future_then(
                future,
                [](wgk_status status, wgk_error* error, void* count) {
                  EXPECT_EQ(status, WGK_OK) << wgk_error_text(error);
                  wgk_error_free(error);
                  ++*static_cast<int*>(count);
                },
                &calls, errors.at()),
            WGK_OK);
  while (calls == 0) wgk_runtime_poll(runtime);
  ASSERT_EQ(wgk_future_take_result(future, &result, errors.at()), WGK_OK) << errors.text();
  wgk_result_free(result);
  wgk_future_free(future);

  const wgk_signature call = signature();
  const wgk_kernel* kernels[] = {norm};
  const wgk_signature* signatures[] = {&call};
  ASSERT_EQ(wgk_runtime_prewarm(runtime, kernels, signatures, 1, &future, errors.at()), WGK_OK)
      << errors.text();
  EXPECT_EQ(wgk_future_wait(future, WGK_TIMEOUT_DEFAULT, errors.at()), WGK_OK);
  wgk_future_free(future);
  ASSERT_EQ(wgk_runtime_prewarm_remembered(runtime, &future, errors.at()), WGK_OK);
  size_t count = 99;
  ASSERT_EQ(wgk_future_wait(future, WGK_TIMEOUT_DEFAULT, errors.at()), WGK_OK);
  ASSERT_EQ(wgk_future_take_count(future, &count, errors.at()), WGK_OK);
  EXPECT_EQ(count, 0) << "no cache folder, nothing remembered";
  wgk_future_free(future);
  ASSERT_EQ(wgk_kernel_start_prepare(norm, &call, &future, errors.at()), WGK_OK);
  ASSERT_EQ(wgk_future_wait(future, WGK_TIMEOUT_DEFAULT, errors.at()), WGK_OK);
  wgk_prepared* prepared = nullptr;
  ASSERT_EQ(wgk_future_take_prepared(future, &prepared, errors.at()), WGK_OK);
  wgk_prepared_free(prepared);
  wgk_future_cancel(future);
  wgk_future_free(future);
}

// Freed before its callback, freed inside of it, asked for two.
TEST_F(CApi, FuturesMayBeFreedAtAnyTime) {
  wgk_call_options options = WGK_CALL_OPTIONS_INIT;
  options.read_back = true;
  struct Heard {
    int calls = 0;
    wgk_future* future = nullptr;
  };
  const wgk_future_callback hear = [](wgk_status status, wgk_error* error, void* user) {
    EXPECT_EQ(status, WGK_OK) << wgk_error_text(error);
    wgk_error_free(error);
    Heard& heard = *static_cast<Heard*>(user);
    ++heard.calls;
    wgk_future_free(heard.future);
    heard.future = nullptr;
  };
  for (const bool before : {true, false}) {
    Heard heard;
    wgk_future* future = nullptr;
    ASSERT_EQ(wgk_kernel_start(norm, inputs, 3, &options, &future, errors.at()), WGK_OK);
    ASSERT_EQ(wgk_future_then(future, hear, &heard, errors.at()), WGK_OK) << errors.text();
    EXPECT_EQ(wgk_future_then(future, hear, &heard, errors.at()), WGK_ERROR_USAGE);
    EXPECT_EQ(wgk_future_wait(future, 0, errors.at()), WGK_ERROR_USAGE);
    if (before) {
      wgk_future_free(future);
    } else {
      heard.future = future;
    }
    while (heard.calls == 0) wgk_runtime_poll(runtime);
    wgk_runtime_poll(runtime);
    EXPECT_EQ(heard.calls, 1);
  }
  wgk_future* future = nullptr;
  ASSERT_EQ(wgk_kernel_start(norm, inputs, 3, &options, &future, errors.at()), WGK_OK);
  wgk_future_cancel(future);
  wgk_future_cancel(future);
  bool ready = false;
  EXPECT_EQ(wgk_future_ready(future, &ready, errors.at()), WGK_OK);
  EXPECT_EQ(wgk_future_wait(future, 0, errors.at()), WGK_ERROR_USAGE);
  EXPECT_EQ(wgk_future_then(future, hear, nullptr, errors.at()), WGK_ERROR_USAGE);
  EXPECT_EQ(wgk_future_then(future, nullptr, nullptr, errors.at()), WGK_ERROR_USAGE);
  wgk_future_free(future);
}

// One thread polls while another asks, takes and frees.
TEST_F(CApi, FuturesMayBeFreedWhileAnotherThreadPolls) {
  wgk_call_options options = WGK_CALL_OPTIONS_INIT;
  options.read_back = true;
  const wgk_future_callback hear = [](wgk_status, wgk_error* error, void* calls) {
    wgk_error_free(error);
    ++*static_cast<std::atomic<int>*>(calls);
  };
  std::atomic<int> calls = 0;
  std::atomic<bool> over = false;
  std::thread poller([&] {
    while (!over) {  // with a pause, or nobody else gets the locks on a busy machine
      wgk_runtime_poll(runtime);
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  });
  constexpr int kRuns = 150;
  int taken = 0;
  for (int i = 0; i < kRuns; ++i) {
    wgk_future* future = nullptr;
    ASSERT_EQ(wgk_kernel_start(norm, inputs, 3, &options, &future, errors.at()), WGK_OK);
    ASSERT_EQ(wgk_future_then(future, hear, &calls, errors.at()), WGK_OK) << errors.text();
    wgk_result* result = nullptr;
    if (i % 2 == 0) {
      while (wgk_future_take_result(future, &result, errors.at()) != WGK_OK)
        std::this_thread::sleep_for(std::chrono::microseconds(20));
      ++taken;
      wgk_result_free(result);
    } else {
      std::this_thread::sleep_for(std::chrono::microseconds(i));
    }
    wgk_future_free(future);
  }
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (calls < kRuns && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  over = true;
  poller.join();
  EXPECT_EQ(calls, kRuns);
  EXPECT_EQ(taken, kRuns / 2);
}

TEST_F(CApi, FreeingARuntimeCallsWhoStillWaits) {
  wgk_runtime_options options = WGK_RUNTIME_OPTIONS_INIT;
  wgk_runtime* other = nullptr;
  wgk_kernel* kernel = nullptr;
  ASSERT_EQ(wgk_runtime_create(&options, &other, errors.at()), WGK_OK) << errors.text();
  ASSERT_EQ(wgk_kernel_load(other, kPackage, nullptr, &kernel, errors.at()), WGK_OK);
  const wgk_signature call = signature();
  std::vector<std::string> codes;
  const auto note = [](wgk_status status, wgk_error* error, void* list) {
    EXPECT_EQ(status, WGK_ERROR_USAGE);
    static_cast<std::vector<std::string>*>(list)->emplace_back(wgk_error_code(error));
    wgk_error_free(error);
  };
  const auto start = [&](wgk_future** future) {
    ASSERT_EQ(wgk_kernel_start_prepare(kernel, &call, future, errors.at()), WGK_OK);
    ASSERT_EQ(wgk_future_then(*future, note, &codes, errors.at()), WGK_OK);
  };
  wgk_future *first = nullptr, *second = nullptr;
  start(&first);
  wgk_future_cancel(first);
  wgk_runtime_poll(other);
  ASSERT_EQ(codes.size(), 1) << "cancelled after then";
  EXPECT_EQ(codes.front(), "usage/cancelled");
  start(&second);
  wgk_runtime_free(other);
  wgk_kernel_free(kernel);
  wgk_future_free(first);
  wgk_future_free(second);
  ASSERT_EQ(codes.size(), 2) << "nobody can poll any more";
  EXPECT_EQ(codes.back(), "usage/cancelled");
}

// Zero only looks: however often it is too early, nothing is lost and the next wait goes on.
TEST_F(CApi, AWaitOfZeroOnlyLooks) {
  const auto look = [&](auto&& wait) {
    wgk_status status = WGK_ERROR_USAGE;
    while ((status = wait()) != WGK_OK) {
      ASSERT_EQ(errors.code(), "usage/not-ready") << errors.text();
      ASSERT_FALSE(wgk_runtime_lost(runtime, nullptr, nullptr));
    }
  };
  const wgk_signature call = signature();
  wgk_future* future = nullptr;
  ASSERT_EQ(wgk_kernel_start_prepare(norm, &call, &future, errors.at()), WGK_OK);
  look([&] { return wgk_future_wait(future, 0, errors.at()); });
  wgk_prepared* prepared = nullptr;
  ASSERT_EQ(wgk_future_take_prepared(future, &prepared, errors.at()), WGK_OK);
  wgk_prepared_free(prepared);
  wgk_future_free(future);
  wgk_call_options options = WGK_CALL_OPTIONS_INIT;
  options.read_back = true;
  ASSERT_EQ(wgk_kernel_start(norm, inputs, 3, &options, &future, errors.at()), WGK_OK);
  look([&] { return wgk_future_wait(future, 0, errors.at()); });
  wgk_result* result = nullptr;
  ASSERT_EQ(wgk_future_take_result(future, &result, errors.at()), WGK_OK);
  wgk_result_free(result);
  wgk_future_free(future);
  look([&] { return wgk_runtime_wait_idle(runtime, 0, errors.at()); });
}

TEST_F(CApi, DescribesPlansAndExplains) {
  Text text;
  ASSERT_EQ(wgk_runtime_describe(runtime, text.at(), errors.at()), WGK_OK);
  EXPECT_TRUE(text.contains("\"limits\""));
  ASSERT_EQ(wgk_adapters(nullptr, text.at(), errors.at()), WGK_OK);
  EXPECT_TRUE(text.contains("\"backend\""));
  const wgk_signature call = signature();
  ASSERT_EQ(wgk_kernel_plan(norm, &call, text.at(), errors.at()), WGK_OK) << errors.text();
  EXPECT_TRUE(text.contains("\"passes\""));
  ASSERT_EQ(wgk_kernel_explain(norm, &call, text.at(), errors.at()), WGK_OK);
  EXPECT_TRUE(text.contains("selected"));
  ASSERT_EQ(wgk_kernel_explain_call(norm, inputs, 3, nullptr, text.at(), errors.at()), WGK_OK);
  EXPECT_TRUE(text.contains("selected"));
  ASSERT_EQ(wgk_kernel_plan_call(norm, inputs, 3, nullptr, text.at(), errors.at()), WGK_OK);
  EXPECT_TRUE(text.contains("\"passes\""));
  EXPECT_EQ(wgk_kernel_plan_call(norm, inputs, 2, nullptr, text.at(), errors.at()),
            WGK_ERROR_REQUEST);
  ASSERT_EQ(wgk_kernel_info(norm, text.at(), errors.at()), WGK_OK);
  EXPECT_TRUE(text.contains("\"opId\":\"com.microsoft.SkipSimplifiedLayerNormalization"))
      << text.text;
  char* reason = nullptr;
  EXPECT_FALSE(wgk_runtime_lost(runtime, &reason, nullptr));
  wgpuDeviceForceLoss(wgk_runtime_device(runtime), WGPUDeviceLostReason_Unknown,
                      {"pulled", WGPU_STRLEN});
  uint64_t generation = 7;
  ASSERT_TRUE(wgk_runtime_lost(runtime, &reason, &generation));
  EXPECT_TRUE(std::string_view(reason).contains("pulled"));
  EXPECT_EQ(generation, 0);
  wgk_string_free(reason);
  ASSERT_EQ(wgk_runtime_rebuild(runtime, nullptr, nullptr, errors.at()), WGK_OK) << errors.text();
  wgk_result* result = nullptr;
  EXPECT_EQ(wgk_kernel_call(norm, inputs, 3, nullptr, &result, errors.at()), WGK_OK)
      << errors.text();
  wgk_result_free(result);
}

TEST_F(CApi, ABoundCallShowsTheUniformsOfItsLastUpdate) {
  const wgk_package package = {wgk::testing::scale_package()};
  wgk_kernel* kernel = nullptr;
  ASSERT_EQ(wgk_kernel_from_package(runtime, &package, nullptr, &kernel, errors.at()), WGK_OK)
      << errors.text();
  const wgk_signature_input input = {"x", WGK_F32, kRow, 1, WGK_DTYPE_DEFAULT, false, 0};
  wgk_signature call = WGK_SIGNATURE_INIT;
  call.inputs = &input;
  call.input_count = 1;
  call.args = R"({"factor": 2})";
  wgk_prepared* prepared = nullptr;
  ASSERT_EQ(wgk_kernel_prepare(kernel, &call, &prepared, errors.at()), WGK_OK) << errors.text();
  wgk_tensor *x_tensor = nullptr, *y_tensor = nullptr;
  ASSERT_EQ(wgk_tensor_upload(runtime, &gamma_host, nullptr, &x_tensor, errors.at()), WGK_OK);
  ASSERT_EQ(wgk_prepared_make_outputs(prepared, &y_tensor, 1, errors.at()), WGK_OK);
  const wgk_named_tensor tensors[] = {{"x", x_tensor}, {"y", y_tensor}};
  wgk_bound* bound = nullptr;
  ASSERT_EQ(wgk_prepared_bind(prepared, tensors, 2, nullptr, &bound, errors.at()), WGK_OK);
  Text before, after, of_prepared;
  ASSERT_EQ(wgk_bound_plan(bound, before.at(), errors.at()), WGK_OK);
  ASSERT_EQ(wgk_bound_update(bound, R"({"factor": 3})", errors.at()), WGK_OK) << errors.text();
  ASSERT_EQ(wgk_bound_plan(bound, after.at(), errors.at()), WGK_OK);
  ASSERT_EQ(wgk_prepared_plan(prepared, of_prepared.at(), errors.at()), WGK_OK);
  EXPECT_STREQ(before.text, of_prepared.text);
  EXPECT_STRNE(before.text, after.text);
  ASSERT_EQ(wgk_bound_submit(bound, errors.at()), WGK_OK);
  EXPECT_EQ(read(y_tensor), std::vector<float>(8, 1.5F));
  wgk_bound_free(bound);
  for (wgk_tensor* tensor : {x_tensor, y_tensor}) wgk_tensor_free(tensor);
  wgk_prepared_free(prepared);
  wgk_kernel_free(kernel);
}

TEST_F(CApi, AdoptsADevice) {
  wgk_runtime_options options = WGK_RUNTIME_OPTIONS_INIT;
  options.device = wgk_runtime_device(runtime);
  options.instance = wgk_runtime_instance(runtime);
  options.timed_wait = true;
  wgk_runtime* adopted = nullptr;
  ASSERT_EQ(wgk_runtime_adopt(&options, &adopted, errors.at()), WGK_OK) << errors.text();
  EXPECT_EQ(wgk_runtime_device(adopted), wgk_runtime_device(runtime));
  wgk_kernel* kernel = nullptr;
  wgk_package* package = nullptr;
  ASSERT_EQ(wgk_package_open(kPackage, &package, errors.at()), WGK_OK) << errors.text();
  ASSERT_EQ(wgk_kernel_from_package(adopted, package, nullptr, &kernel, errors.at()), WGK_OK);
  wgk_result* result = nullptr;
  EXPECT_EQ(wgk_kernel_call(kernel, inputs, 3, nullptr, &result, errors.at()), WGK_OK)
      << errors.text();
  wgk_result_free(result);
  wgk_kernel_free(kernel);
  wgk_package_free(package);
  wgk_runtime_free(adopted);
  options.mode = WGK_MODE_TRUSTED;
  EXPECT_EQ(wgk_runtime_adopt(&options, &adopted, errors.at()), WGK_ERROR_USAGE);
}

TEST(CApiWithoutDevice, PlansAndListsNeeds) {
  Errors errors;
  Text text;
  wgk_package* package = nullptr;
  ASSERT_EQ(wgk_package_open(kPackage, &package, errors.at()), WGK_OK) << errors.text();
  ASSERT_EQ(wgk_package_info(package, text.at(), errors.at()), WGK_OK);
  EXPECT_TRUE(text.contains("com.microsoft.SkipSimplifiedLayerNormalization"));
  const wgk_signature_input inputs[] = {{"input", WGK_F16, kMatrix, 2, WGK_DTYPE_DEFAULT, false, 0},
                                        {"skip", WGK_F16, kMatrix, 2, WGK_DTYPE_DEFAULT, false, 0},
                                        {"gamma", WGK_F16, kRow, 1, WGK_DTYPE_DEFAULT, false, 0}};
  wgk_signature call = WGK_SIGNATURE_INIT;
  call.inputs = inputs;
  call.input_count = 3;
  ASSERT_EQ(wgk_package_plan(package, &call, nullptr, text.at(), errors.at()), WGK_OK)
      << errors.text();
  ASSERT_EQ(wgk_package_explain(package, &call, R"({"features": ["shader-f16"]})", text.at(),
                                errors.at()),
            WGK_OK)
      << errors.text();
  wgk_device_needs* needs = nullptr;
  ASSERT_EQ(wgk_device_needs_create(&package, 1, nullptr, &needs, errors.at()), WGK_OK);
  ASSERT_EQ(wgk_device_needs_list(needs, text.at(), errors.at()), WGK_OK);
  EXPECT_TRUE(text.contains("shader-f16"));
  static_cast<void>(wgk_device_needs_wants_unsafe_apis(needs));
  EXPECT_EQ(wgk_device_needs_add_to(needs, nullptr, nullptr, errors.at()), WGK_ERROR_USAGE);
  wgk_device_needs_free(needs);
  wgk_package_free(package);
  EXPECT_EQ(wgk_version(), 1000);
}

}  // namespace
}  // namespace wgk::capi
