// SPDX-License-Identifier: Apache-2.0
// What several tests of timings need.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>

#include "bench/run.h"
#include "gpu/executor.h"
#include "json/json.h"
#include "package/memory_source.h"
#include "store/folder_source.h"
#include "store/sha256.h"

namespace wgk::bench::testing {

// Null, and a failure, without a device.
inline const gpu::Context* device() {
  static const auto kContext = []() -> Result<gpu::Context> {
    auto instance = gpu::Instance::create(gpu::linked_procs(), std::make_shared<gpu::Log>());
    if (!instance) return std::unexpected(instance.error());
    auto adapter = (*instance)->choose({});
    if (!adapter) return std::unexpected(adapter.error());
    auto opened = gpu::Device::open(*instance, *std::move(adapter), {});
    if (!opened) return std::unexpected(opened.error());
    return gpu::Context::make(*opened);
  }();
  if (!kContext) ADD_FAILURE() << kContext.error().to_string();
  return kContext ? &*kContext : nullptr;
}

// The row norm with one small case; every `from` in its templates becomes `to`.
inline Subject row_norm(const std::string& from = "", const std::string& to = "") {
  const auto folder = store::FolderSource::open(
      WGK_SOURCE_DIR "/kernels/com.microsoft.SkipSimplifiedLayerNormalization/build/webgpu");
  std::map<std::string, std::string, std::less<>> files;
  for (const std::string& path : folder->list()) {
    std::string text = *folder->read(path);
    if (!from.empty() && path.ends_with(".jinja")) {
      EXPECT_FALSE(from.empty());
      for (std::size_t at = text.find(from); at != std::string::npos;
           at = text.find(from, at + to.size())) {
        text.replace(at, from.size(), to);
      }
    }
    files.emplace(path, std::move(text));
  }
  package::LoadOptions options;
  options.verify_digests = false;
  auto package = package::load(package::MemorySource(std::move(files)), &store::sha256, options);
  EXPECT_TRUE(package.has_value()) << package.error().to_string();
  const auto cases = json::parse(R"({"cases": [{"name": "small", "inputs": {
    "inputT": {"dtype": "float32", "shape": [16, 64]}, "skipT": {"dtype": "float32", "shape": [16, 64]}, "gammaT": {"dtype": "float32", "shape": [64]}},
    "outputs": ["outputT", "residualT"], "bytes": "4 * rowCount * hiddenSize * 4", "tags": ["tiny"]}]})");
  return {*package, *package::read_benches(*cases)};
}

inline RunOptions quick() {
  RunOptions options;
  options.cache_bytes = 1e5;
  options.timer.samples = 3;
  options.timer.pass_seconds = 1e-3;
  return options;
}

}  // namespace wgk::bench::testing
