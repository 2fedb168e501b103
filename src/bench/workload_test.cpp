// SPDX-License-Identifier: Apache-2.0
#include "bench/workload.h"

#include <gtest/gtest.h>

#include "bench/test_support.h"

namespace wgk::bench {
namespace {

using testing::device;
using testing::row_norm;

// A sampled check must compare the same elements on both sides: of SparseAttention the oracle gets
// the whole call and is asked for some rows.
TEST(Workload, ChecksSampledRows) {
  if (device() == nullptr) return;
  const auto folder = store::FolderSource::open(
      WGK_SOURCE_DIR "/kernels/com.microsoft.SparseAttention/build/webgpu");
  const auto package = package::load(*folder, &store::sha256, {});
  ASSERT_TRUE(package.has_value()) << package.error().to_string();
  const auto cases = json::parse(R"({"cases": [{"name": "prompt", "attrs": {
      "num_heads": 4, "kv_num_heads": 2, "sparse_block_size": 16, "do_rotary": 0},
    "inputs": {
      "queryT": {"dtype": "float32", "shape": [1, 64, 64]}, "keyT": {"dtype": "float32", "shape": [1, 64, 32]},
      "valueT": {"dtype": "float32", "shape": [1, 64, 32]},
      "pastKeyT": {"dtype": "float32", "shape": [1, 2, 64, 16]}, "pastValueT": {"dtype": "float32", "shape": [1, 2, 64, 16]},
      "blockRowIndicesT": {"dtype": "int32", "shape": [1, 5], "data": {"kind": "values", "values": [0, 1, 3, 5, 7]}},
      "blockColIndicesT": {"dtype": "int32", "shape": [1, 7], "data": {"kind": "values", "values": [0, 0, 1, 1, 2, 0, 3]}},
      "totalSequenceLengthT": {"dtype": "int32", "shape": [1], "data": {"kind": "values", "values": [64]}},
      "keyTotalSequenceLengthsT": {"dtype": "int32", "shape": [1], "data": {"kind": "values", "values": [64]}}},
    "outputs": ["outputT"]}]})");
  ASSERT_TRUE(cases.has_value());
  const auto benches = package::read_benches(*cases);
  ASSERT_TRUE(benches.has_value()) << benches.error().to_string();
  const auto workload = Workload::make(**package, benches->front());
  ASSERT_TRUE(workload.has_value()) << workload.error().to_string();
  const auto plan = workload->plan(**package, device()->device->caps(), "", {});
  ASSERT_TRUE(plan.has_value()) << plan.error().to_string();
  const auto prepared = gpu::Prepared::make(*device(), *plan);
  ASSERT_TRUE(prepared.has_value()) << prepared.error().to_string();
  const auto rotation = workload->bind(*prepared, 1);
  ASSERT_TRUE(rotation.has_value()) << rotation.error().to_string();
  const auto error = workload->check(**package, *rotation->front(), 512);
  ASSERT_TRUE(error.has_value()) << error.error().to_string();
  EXPECT_LE(error->value_or(2), 1);
}

// Nobody may want it after all.
TEST(Workload, MadeAheadMayBeLeftAlone) {
  const Subject subject = row_norm();
  {
    const WorkloadAhead unused(*subject.package, subject.benches.front());
  }
  WorkloadAhead used(*subject.package, subject.benches.front());
  const auto workload = used.take();
  ASSERT_TRUE(workload.has_value()) << workload.error().to_string();
  EXPECT_EQ(workload->bench().name, "small");
}

// Each in its place, whether a thread made it or not; and what nobody takes is let go.
TEST(Workload, CasesComeInOrderThoughMadeAhead) {
  Subject subject = row_norm();
  for (int i = 1; i < 8; ++i) {
    subject.benches.push_back(subject.benches.front());
    subject.benches.back().name = std::to_string(i);
  }
  std::vector<const package::BenchCase*> cases;
  for (const package::BenchCase& bench : subject.benches) cases.push_back(&bench);
  WorkloadsAhead ahead(*subject.package, cases);
  for (std::size_t i = 0; i < 6; ++i) {
    const auto workload = ahead.take();
    ASSERT_TRUE(workload.has_value()) << workload.error().to_string();
    EXPECT_EQ(workload->bench().name, subject.benches[i].name);
    if (i != 0) ahead.prepare();
    EXPECT_EQ(ahead.prepared() > 0, i != 0);
    EXPECT_LE(ahead.prepared(), 8U);
  }
}

}  // namespace
}  // namespace wgk::bench
