// SPDX-License-Identifier: Apache-2.0
// The row norm of a transformer layer on the default device: host arrays in, host arrays out.
#include <cstdio>
#include <vector>

#include "wgk/wgk.h"

namespace {

wgk::Status run() {
  auto runtime = wgk::Runtime::create();
  if (!runtime) return std::unexpected(runtime.error());
  auto norm = runtime->load("kernels/com.microsoft.SkipSimplifiedLayerNormalization");
  if (!norm) return std::unexpected(norm.error());

  const std::vector<float> input = {1, 2, 3, 4, -1, 0, 1, 2}, skip(8, 0.5f), gamma(4, 1.0f);
  auto result = norm->call(
      {{"input", wgk::HostTensor(input, {2, 4})},  // upstream names work as well as bind keys
       {"skip", wgk::HostTensor(skip, {2, 4})},
       {"gamma", wgk::HostTensor(gamma, {4})}},
      {.attrs = {{"epsilon", 1e-5}}, .outputs = {"output", "input_skip_bias_sum"}});
  if (!result) return std::unexpected(result.error());

  auto output = result->at("output").download<float>();
  if (!output) return std::unexpected(output.error());
  for (float value : *output) std::printf("%.4f ", static_cast<double>(value));
  std::printf("\n");
  return {};
}

}  // namespace

int main() {
  const wgk::Status status = run();
  if (!status) std::fprintf(stderr, "%s\n", status.error().to_string().c_str());
  return status ? 0 : 1;
}
