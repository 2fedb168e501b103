// SPDX-License-Identifier: Apache-2.0
// com.microsoft.SparseAttention with its integers on the device: garbage must not reach beyond a
// tensor, a head or a row, and one recorded call must serve a decode loop whose lengths change on
// the device.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <climits>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "reference/oracle.h"
#include "wgk/wgk.h"

namespace wgk {
namespace {

constexpr std::int64_t kHeads = 4, kKvHeads = 2, kSize = 16, kBlock = 16, kBlocks = 5,
                       kCapacity = 70, kRows = 75;

const Runtime* shared_runtime() {
  static const Result<Runtime> kRuntime = Runtime::create();
  if (!kRuntime) {
    ADD_FAILURE() << kRuntime.error().to_string();
    return nullptr;
  }
  return &*kRuntime;
}

std::vector<float> numbers(std::size_t count, std::uint32_t seed) {
  std::vector<float> values(count);
  for (float& value : values) {
    seed = seed * 1664525u + 1013904223u;
    value = static_cast<float>(static_cast<int>(seed >> 27) - 16) / 8;
  }
  return values;
}

struct Problem {
  std::int64_t batch, sequence;
  std::vector<float> query, key, value, past_key, past_value, cosine, sine;
  std::vector<std::int32_t> rows, columns, total, lengths;

  Problem(std::int64_t items, std::int64_t tokens) : batch(items), sequence(tokens) {
    const auto count = [](std::int64_t n) { return static_cast<std::size_t>(n); };
    query = numbers(count(batch * sequence * kHeads * kSize), 1);
    key = numbers(count(batch * sequence * kKvHeads * kSize), 2);
    value = numbers(count(batch * sequence * kKvHeads * kSize), 3);
    past_key = numbers(count(batch * kKvHeads * kCapacity * kSize), 4);
    past_value = numbers(count(batch * kKvHeads * kCapacity * kSize), 5);
    cosine = numbers(count(kRows * 8), 6);
    sine = numbers(count(kRows * 8), 7);
    // A causal mask with every second block left out below the diagonal.
    for (int layout = 0; layout < 2; ++layout) {
      rows.push_back(0);
      std::int32_t at = 0;
      for (std::int32_t row = 0; row < kBlocks; ++row) {
        for (std::int32_t column = 0; column <= row; ++column) {
          if (column != row && (column + layout) % 2 == 0) continue;
          columns.push_back(column);
          ++at;
        }
        rows.push_back(at);
      }
      while (columns.size() < static_cast<std::size_t>(15 * (layout + 1))) columns.push_back(-1);
    }
  }

  Shape cache_shape() const { return {batch, kKvHeads, kCapacity, kSize}; }

  // Floats from the host, so that they can lie between guard bands; integers on the device.
  Inputs inputs(const Runtime& runtime) const {
    Inputs all;
    all.emplace_back("queryT", HostTensor(query, {batch, sequence, kHeads * kSize}));
    all.emplace_back("keyT", HostTensor(key, {batch, sequence, kKvHeads * kSize}));
    all.emplace_back("valueT", HostTensor(value, {batch, sequence, kKvHeads * kSize}));
    all.emplace_back("pastKeyT", HostTensor(past_key, cache_shape()));
    all.emplace_back("pastValueT", HostTensor(past_value, cache_shape()));
    all.emplace_back("cosCacheT", HostTensor(cosine, {kRows, 8}));
    all.emplace_back("sinCacheT", HostTensor(sine, {kRows, 8}));
    const auto put = [&](const char* port, const std::vector<std::int32_t>& values, Shape shape) {
      auto tensor = runtime.upload(HostTensor(values, std::move(shape)));
      if (!tensor) ADD_FAILURE() << tensor.error().to_string();
      all.emplace_back(port, tensor ? *tensor : Tensor());
    };
    put("blockRowIndicesT", rows, {2, kBlocks + 1});
    put("blockColIndicesT", columns, {2, static_cast<std::int64_t>(columns.size()) / 2});
    put("totalSequenceLengthT", total, {1});
    put("keyTotalSequenceLengthsT", lengths, {batch});
    return all;
  }
};

CallOptions options(bool rotary, std::string variant) {
  CallOptions result;
  result.attrs = {{"num_heads", kHeads},
                  {"kv_num_heads", kKvHeads},
                  {"sparse_block_size", kBlock},
                  {"do_rotary", rotary ? 1 : 0}};
  result.variant = std::move(variant);
  result.read_back = true;
  result.poison_outputs = true;
  result.guard_bytes = 256;
  if (result.variant.contains("emulated")) result.tunables.emplace_back("EMULATE_MATRICES", true);
  if (result.variant.contains("split")) result.tunables.emplace_back("SPLIT_FLOAT32", true);
  return result;
}

// At most `sequence` rows of each head may change, to that head's own new values.
void check_cache(const Problem& problem, const std::vector<float>& after, const std::string& what) {
  for (std::int64_t item = 0; item < problem.batch; ++item) {
    for (std::int64_t head = 0; head < kKvHeads; ++head) {
      std::int64_t changed = 0;
      for (std::int64_t row = 0; row < kCapacity; ++row) {
        const auto at =
            static_cast<std::size_t>(((item * kKvHeads + head) * kCapacity + row) * kSize);
        const auto same = [&](const std::vector<float>& values, std::size_t from) {
          for (std::size_t i = 0; i < kSize; ++i) {
            if (std::bit_cast<std::uint32_t>(after[at + i]) !=
                std::bit_cast<std::uint32_t>(values[from + i]))
              return false;
          }
          return true;
        };
        if (same(problem.past_value, at)) continue;
        ++changed;
        bool own = false;
        for (std::int64_t token = 0; token < problem.sequence && !own; ++token) {
          own = same(problem.value,
                     static_cast<std::size_t>(
                         ((item * problem.sequence + token) * kKvHeads + head) * kSize));
        }
        EXPECT_TRUE(own) << what << ": item " << item << " head " << head << " row " << row;
      }
      EXPECT_LE(changed, problem.sequence) << what;
    }
  }
}

struct Garbage {
  std::string name;
  std::int32_t total, length;
  int indices;  // 0: good ones, else a seed
};

std::vector<Garbage> all_garbage(std::int32_t sequence) {
  std::vector<Garbage> all;
  for (const std::int32_t total : {INT_MIN, -1, 0, sequence, 40, INT_MAX}) {
    for (const std::int32_t length :
         {INT_MIN, -7, 0, 1, 40, static_cast<std::int32_t>(kCapacity) + 1, INT_MAX}) {
      all.push_back({"total " + std::to_string(total) + " length " + std::to_string(length), total,
                     length, 0});
    }
  }
  for (int seed = 1; seed <= 6; ++seed)
    all.push_back({"indices " + std::to_string(seed), 40, 40, seed});
  return all;
}

Problem spoilt(const Garbage& garbage, std::int64_t sequence) {
  Problem problem(2, sequence);
  problem.total = {garbage.total};
  problem.lengths = {garbage.length, static_cast<std::int32_t>(sequence)};
  if (garbage.indices > 0) {
    auto seed = static_cast<std::uint32_t>(garbage.indices);
    const auto next = [&] {
      return static_cast<std::int32_t>(seed = seed * 1664525u + 1013904223u);
    };
    // Wild, or near the bounds.
    for (auto& pointer : problem.rows) pointer = garbage.indices % 2 == 0 ? next() : next() % 40;
    for (auto& column : problem.columns) column = garbage.indices % 3 == 0 ? next() : next() % 9;
  }
  return problem;
}

class SparseAttention : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* device = std::getenv("WGK_TEST_DEVICE");
    if (device != nullptr && std::string_view(device) == "none")
      GTEST_SKIP() << "WGK_TEST_DEVICE=none";
    runtime_ = shared_runtime();
    ASSERT_NE(runtime_, nullptr);
    auto kernel = runtime_->load(WGK_SOURCE_DIR "/kernels/com.microsoft.SparseAttention");
    ASSERT_TRUE(kernel.has_value()) << kernel.error().to_string();
    kernel_ = *kernel;
  }

  void stay_inside(std::int64_t sequence, bool rotary) {
    std::size_t variants = 0;
    for (const std::string& variant : kernel_.package().variants()) {
      std::size_t runs = 0;
      for (const Garbage& garbage : all_garbage(static_cast<std::int32_t>(sequence))) {
        const Problem problem = spoilt(garbage, sequence);
        const auto result = kernel_.call(problem.inputs(*runtime_), options(rotary, variant));
        if (!result && result.error().code == "request/variant") break;
        ASSERT_TRUE(result.has_value())
            << variant << ", " << garbage.name << ": " << result.error().to_string();
        const auto values = result->at("pastValueT").download<float>();
        ASSERT_TRUE(values.has_value());
        check_cache(problem, *values, variant + ", " + garbage.name);
        ++runs;
      }
      variants += runs > 0;
    }
    EXPECT_GE(variants, 2u);
  }

  const Runtime* runtime_ = nullptr;
  Kernel kernel_;
};

TEST_F(SparseAttention, GarbageOnTheDeviceStaysInsideWhenDecoding) { stay_inside(1, true); }
TEST_F(SparseAttention, GarbageOnTheDeviceStaysInsideInAPrompt) { stay_inside(20, false); }

// What the oracle gives for the caches as they are.
reference::Outputs expected(const Problem& problem) {
  reference::Call call;
  const auto add = [&](const char* port, const auto& values, DType dtype, Shape shape) {
    call.inputs.emplace_back(
        port, reference::Tensor{dtype, std::move(shape), {values.begin(), values.end()}});
  };
  add("queryT", problem.query, DType::f32, {problem.batch, problem.sequence, kHeads * kSize});
  add("keyT", problem.key, DType::f32, {problem.batch, problem.sequence, kKvHeads * kSize});
  add("valueT", problem.value, DType::f32, {problem.batch, problem.sequence, kKvHeads * kSize});
  add("pastKeyT", problem.past_key, DType::f32, problem.cache_shape());
  add("pastValueT", problem.past_value, DType::f32, problem.cache_shape());
  add("cosCacheT", problem.cosine, DType::f32, {kRows, 8});
  add("sinCacheT", problem.sine, DType::f32, {kRows, 8});
  add("blockRowIndicesT", problem.rows, DType::i32, {2, kBlocks + 1});
  add("blockColIndicesT", problem.columns, DType::i32,
      {2, static_cast<std::int64_t>(problem.columns.size()) / 2});
  add("totalSequenceLengthT", problem.total, DType::i32, {1});
  add("keyTotalSequenceLengthsT", problem.lengths, DType::i32, {problem.batch});
  call.attrs = {{"num_heads", kHeads},
                {"kv_num_heads", kKvHeads},
                {"sparse_block_size", kBlock},
                {"do_rotary", 1}};
  auto outputs = reference::find_oracle("com.microsoft.SparseAttention")(call);
  if (!outputs) ADD_FAILURE() << outputs.error().to_string();
  return outputs ? *outputs : reference::Outputs{};
}

TEST_F(SparseAttention, OneBoundCallServesADecodeLoop) {
  Problem problem(1, 1);
  problem.total = {30};
  problem.lengths = {30};
  Signature signature;
  std::vector<std::pair<std::string, Tensor>> tensors;
  const Inputs inputs = problem.inputs(*runtime_);
  for (const auto& [port, argument] : inputs) {
    Tensor tensor;
    if (const auto* host = std::get_if<HostTensor>(&argument)) {
      auto uploaded = runtime_->upload(*host);
      ASSERT_TRUE(uploaded.has_value());
      tensor = *uploaded;
    } else {
      tensor = std::get<Tensor>(argument);
    }
    signature.inputs.push_back({port, tensor.dtype(), tensor.shape()});
    tensors.emplace_back(port, tensor);
  }
  signature.attrs = options(true, "").attrs;
  auto prepared = kernel_.prepare(signature);
  ASSERT_TRUE(prepared.has_value()) << prepared.error().to_string();
  auto outputs = prepared->make_outputs();
  ASSERT_TRUE(outputs.has_value()) << outputs.error().to_string();
  for (const auto& [port, tensor] : *outputs) {
    if (port == "outputT") tensors.emplace_back(port, tensor);
  }
  auto bound = prepared->bind(tensors);
  ASSERT_TRUE(bound.has_value()) << bound.error().to_string();
  const auto find = [&](std::string_view port) {
    return std::ranges::find(tensors, port, &std::pair<std::string, Tensor>::first)->second;
  };
  for (std::int32_t length = 30; length <= kCapacity; ++length) {
    problem.total = {length};
    problem.lengths = {length};
    ASSERT_TRUE(find("totalSequenceLengthT").upload(HostTensor(problem.total, {1})).has_value());
    ASSERT_TRUE(
        find("keyTotalSequenceLengthsT").upload(HostTensor(problem.lengths, {1})).has_value());
    ASSERT_TRUE(bound->submit().has_value());
    const auto output = find("outputT").download<float>();
    ASSERT_TRUE(output.has_value());
    const reference::Outputs want = expected(problem);
    ASSERT_FALSE(want.empty());
    for (std::size_t i = 0; i < output->size(); ++i) {
      ASSERT_NEAR((*output)[i], want[0].second.values[i], 1e-4)
          << "length " << length << " element " << i;
    }
    // The caches that this call left behind are those of the next one.
    for (std::size_t i = 0; i < problem.past_key.size(); ++i) {
      problem.past_key[i] = static_cast<float>(want[1].second.values[i]);
      problem.past_value[i] = static_cast<float>(want[2].second.values[i]);
    }
  }
}

}  // namespace
}  // namespace wgk
