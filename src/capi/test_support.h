// SPDX-License-Identifier: Apache-2.0
// What the tests of the C API share: a runtime with the row norm and its inputs.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "wgk.h"

namespace wgk::capi {

inline constexpr const char* kPackage =
    WGK_SOURCE_DIR "/kernels/com.microsoft.SkipSimplifiedLayerNormalization";

inline bool no_device() {
  const char* value = std::getenv("WGK_TEST_DEVICE");
  return value != nullptr && std::string_view(value) == "none";
}

// Takes the error of the last call, if there was one.
struct Errors {
  wgk_error* error = nullptr;
  ~Errors() { wgk_error_free(error); }
  wgk_error** at() {
    wgk_error_free(error);
    error = nullptr;
    return &error;
  }
  std::string code() const { return wgk_error_code(error); }
  std::string text() const { return wgk_error_text(error); }
};

struct Text {
  char* text = nullptr;
  ~Text() { wgk_string_free(text); }
  char** at() {
    wgk_string_free(text);
    text = nullptr;
    return &text;
  }
  bool contains(std::string_view part) const {
    return text != nullptr && std::string_view(text).contains(part);
  }
};

inline const int64_t kMatrix[] = {2, 8};
inline const int64_t kRow[] = {8};

inline wgk_host_tensor host(const std::vector<float>& values, const int64_t* shape, size_t rank) {
  return {values.data(), values.size() * sizeof(float), WGK_F32, shape, rank, WGK_DTYPE_DEFAULT};
}

// A call of the row norm.
inline wgk_signature signature() {
  static const wgk_signature_input kInputs[] = {
      {"input", WGK_F32, kMatrix, 2, WGK_DTYPE_DEFAULT, false, 0},
      {"skip", WGK_F32, kMatrix, 2, WGK_DTYPE_DEFAULT, false, 0},
      {"gamma", WGK_F32, kRow, 1, WGK_DTYPE_DEFAULT, false, 0}};
  wgk_signature call = WGK_SIGNATURE_INIT;
  call.inputs = kInputs;
  call.input_count = 3;
  return call;
}

class CApi : public ::testing::Test {
 protected:
  void SetUp() override {
    if (no_device()) GTEST_SKIP() << "WGK_TEST_DEVICE=none";
    wgk_runtime_options options = WGK_RUNTIME_OPTIONS_INIT;
    ASSERT_EQ(wgk_runtime_create(&options, &runtime, errors.at()), WGK_OK) << errors.text();
    ASSERT_EQ(wgk_kernel_load(runtime, kPackage, nullptr, &norm, errors.at()), WGK_OK)
        << errors.text();
  }
  void TearDown() override {
    wgk_kernel_free(norm);
    wgk_runtime_free(runtime);
  }
  std::vector<float> read(const wgk_tensor* tensor) {
    std::vector<float> values(static_cast<size_t>(wgk_tensor_elements(tensor)));
    EXPECT_EQ(wgk_tensor_download(tensor, 0, wgk_tensor_elements(tensor), values.data(),
                                  values.size() * sizeof(float), errors.at()),
              WGK_OK)
        << errors.text();
    return values;
  }

  Errors errors;
  wgk_runtime* runtime = nullptr;
  wgk_kernel* norm = nullptr;
  std::vector<float> x = std::vector<float>(16, 1.0F), skip = std::vector<float>(16, 2.0F),
                     gamma = std::vector<float>(8, 0.5F);
  wgk_host_tensor x_host = host(x, kMatrix, 2), skip_host = host(skip, kMatrix, 2),
                  gamma_host = host(gamma, kRow, 1);
  wgk_input inputs[3] = {
      {"input", &x_host, nullptr}, {"skip", &skip_host, nullptr}, {"gamma", &gamma_host, nullptr}};
};

}  // namespace wgk::capi
