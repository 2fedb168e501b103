// SPDX-License-Identifier: Apache-2.0
// The pure part alone: it links without any WebGPU library.
#include <wgk/device_caps.h>
#include <wgk/dtype.h>
#include <wgk/error.h>

#include <cstdio>

int main() {
  const wgk::DeviceCaps caps = wgk::DeviceCaps::defaults();
  std::printf("core: %g invocations, %zu bytes of %s\n",
              *caps.limit("maxComputeInvocationsPerWorkgroup"), wgk::host_bytes(wgk::DType::f16),
              wgk::name(wgk::DType::f16).data());
}
