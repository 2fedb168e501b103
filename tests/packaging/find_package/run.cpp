// SPDX-License-Identifier: Apache-2.0
#include <wgk/wgk.h>

#include <cstdio>
#include <vector>

int main(int count, char** arguments) {
  if (count != 2) return 2;
  const auto runtime = wgk::Runtime::create();
  if (!runtime) return std::fputs(runtime.error().to_string().c_str(), stderr), 1;
  const auto norm = runtime->load(arguments[1]);
  if (!norm) return std::fputs(norm.error().to_string().c_str(), stderr), 1;
  const std::vector<float> x(2 * 8, 1.0F), skip(2 * 8, 2.0F), gamma(8, 0.5F);
  const auto result = norm->call({{"input", wgk::HostTensor(x, {2, 8})},
                                  {"skip", wgk::HostTensor(skip, {2, 8})},
                                  {"gamma", wgk::HostTensor(gamma, {8})}},
                                 {.read_back = true});
  if (!result) return std::fputs(result.error().to_string().c_str(), stderr), 1;
  const auto y = result->at("output").download<float>();
  std::printf("runtime: %s on %s gives %g\n", result->plan().variant.c_str(),
              runtime->describe().adapter.name.c_str(), (*y)[0]);
  return (*y)[0] == 0.5F ? 0 : 1;
}
