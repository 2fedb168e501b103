// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include "reference/oracle.h"
#include "reference/sample.h"

namespace wgk::reference {
namespace {

constexpr std::string_view kOp = "com.microsoft.SparseAttention";

// The fields of CASES in tools/cases/sparse_attention_onnxruntime.py.
struct Measured {
  std::string name;
  int bits, sequence, total, packed, width, interleaved;
  double scale;
  int heads, kv_heads, head_size, block_size, layouts, blocks;
  std::vector<double> output, key;
};

const std::vector<Measured>& measured() {
  static const std::vector<Measured> kAll = {
#include "reference/sparse_attention_onnxruntime.inc"
  };
  return kAll;
}

Tensor grid(DType dtype, Shape shape, std::uint64_t seed) {
  Tensor tensor{dtype, std::move(shape), {}};
  std::size_t count = 1;
  for (const auto size : tensor.shape) count *= static_cast<std::size_t>(size);
  for (std::uint64_t i = 0; i < count; ++i) {
    std::uint64_t z = seed + (i + 1) * 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    tensor.values.push_back((static_cast<double>((z ^ (z >> 31)) % 33) - 16) * 0.125);
  }
  return tensor;
}

void add_mask(Call& call, int layouts, int blocks, int local, int stride) {
  std::vector<double> pointers;
  std::vector<std::vector<double>> columns;
  const int step = std::max(1, stride / layouts);
  std::size_t width = 0;
  for (int layout = 0; layout < layouts; ++layout) {
    auto& list = columns.emplace_back();
    pointers.push_back(0);
    for (int q = 0; q < blocks; ++q) {
      for (int k = 0; k <= q; ++k) {
        if (q - k < local || (k + layout * step + 1) % stride == 0) list.push_back(k);
      }
      pointers.push_back(static_cast<double>(list.size()));
    }
    width = std::max(width, list.size());
  }
  std::vector<double> padded;
  for (auto& list : columns) {
    list.resize(width, -1);
    padded.insert(padded.end(), list.begin(), list.end());
  }
  call.inputs.emplace_back("blockRowIndicesT",
                           Tensor{DType::i32, {layouts, blocks + 1}, std::move(pointers)});
  call.inputs.emplace_back(
      "blockColIndicesT",
      Tensor{DType::i32, {layouts, static_cast<std::int64_t>(width)}, std::move(padded)});
}

Call request(const Measured& m) {
  Call call;
  const DType dtype = m.bits == 16 ? DType::f16 : DType::f32;
  const int capacity = m.blocks * m.block_size;
  call.inputs.emplace_back(
      "queryT",
      grid(dtype, {1, m.sequence, (m.heads + 2 * m.kv_heads * m.packed) * m.head_size}, 1));
  if (m.packed == 0) {
    call.inputs.emplace_back("keyT", grid(dtype, {1, m.sequence, m.kv_heads * m.head_size}, 2));
    call.inputs.emplace_back("valueT", grid(dtype, {1, m.sequence, m.kv_heads * m.head_size}, 3));
  }
  call.inputs.emplace_back("pastKeyT", grid(dtype, {1, m.kv_heads, capacity, m.head_size}, 4));
  call.inputs.emplace_back("pastValueT", grid(dtype, {1, m.kv_heads, capacity, m.head_size}, 5));
  add_mask(call, m.layouts, m.blocks, 2, 3);
  call.inputs.emplace_back("totalSequenceLengthT",
                           Tensor{DType::i32, {1}, {static_cast<double>(m.total)}});
  call.inputs.emplace_back("keyTotalSequenceLengthsT",
                           Tensor{DType::i32, {1}, {static_cast<double>(m.total)}});
  if (m.width > 0) {
    call.inputs.emplace_back("cosCacheT", grid(dtype, {capacity, m.width}, 6));
    call.inputs.emplace_back("sinCacheT", grid(dtype, {capacity, m.width}, 7));
  }
  call.attrs = {{"num_heads", m.heads},
                {"kv_num_heads", m.kv_heads},
                {"scale", m.scale},
                {"sparse_block_size", m.block_size},
                {"do_rotary", m.width > 0 ? 1 : 0},
                {"rotary_interleaved", m.interleaved}};
  return call;
}

const std::vector<double>& port(const Outputs& outputs, std::string_view name) {
  for (const auto& [key, tensor] : outputs) {
    if (key == name) return tensor.values;
  }
  return outputs.front().second.values;
}

Tensor& input(Call& call, std::string_view name) {
  for (auto& [key, tensor] : call.inputs) {
    if (key == name) return tensor;
  }
  return call.inputs.front().second;
}

const Measured& case_named(std::string_view name) {
  for (const auto& m : measured()) {
    if (m.name == name) return m;
  }
  return measured().front();
}

TEST(SparseAttention, AgreesWithTheNumbersOfOnnxRuntime) {
  ASSERT_EQ(measured().size(), 10u);
  for (const Measured& m : measured()) {
    const auto outputs = find_oracle(kOp)(request(m));
    ASSERT_TRUE(outputs.has_value()) << m.name;
    const auto& output = port(*outputs, "outputT");
    const std::size_t tokens = std::min(m.sequence, 2);
    ASSERT_EQ(m.output.size(), tokens * m.heads * m.head_size) << m.name;
    const std::size_t offset = output.size() - m.output.size();
    const double tolerance = m.bits == 16 ? 6e-4 : 3e-6;
    for (std::size_t i = 0; i < m.output.size(); ++i) {
      ASSERT_NEAR(output[offset + i], m.output[i], tolerance * std::fmax(1, std::fabs(m.output[i])))
          << m.name << " " << i;
    }
    const auto& keys = port(*outputs, "pastKeyT");
    for (int head = 0; head < m.kv_heads; ++head) {
      for (int i = 0; i < m.head_size; ++i) {
        const int at = (head * m.blocks * m.block_size + m.total - 1) * m.head_size + i;
        ASSERT_NEAR(keys[at], m.key[head * m.head_size + i], m.bits == 16 ? 0 : 1e-6) << m.name;
      }
    }
  }
}

TEST(SparseAttention, ColumnListsAreSets) {
  Call call = request(case_named("rotary_partial_decode"));
  const auto before = find_oracle(kOp)(call);
  // Lists end to end in reverse would mix rows: reverse each row of each layout, doubled, with
  // blocks right of the diagonal.
  Tensor& rows = input(call, "blockRowIndicesT");
  Tensor& columns = input(call, "blockColIndicesT");
  const std::size_t blocks = 5, width = static_cast<std::size_t>(columns.shape[1]),
                    wide = 3 * width;
  std::vector<double> changed(4 * wide, -1), pointers;
  for (std::size_t layout = 0; layout < 4; ++layout) {
    std::size_t at = layout * wide;
    pointers.push_back(0);
    for (std::size_t row = 0; row < blocks; ++row) {
      const auto begin = static_cast<std::size_t>(rows.values[layout * 6 + row]);
      const auto end = static_cast<std::size_t>(rows.values[layout * 6 + row + 1]);
      for (std::size_t i = end; i-- > begin;) {
        changed[at++] = columns.values[layout * width + i];
        changed[at++] = columns.values[layout * width + i];
      }
      if (row + 1 < blocks) changed[at++] = static_cast<double>(row + 1);
      pointers.push_back(static_cast<double>(at - layout * wide));
    }
  }
  rows.values = pointers;
  columns = Tensor{DType::i32, {4, static_cast<std::int64_t>(wide)}, changed};
  const auto after = find_oracle(kOp)(call);
  ASSERT_TRUE(before.has_value() && after.has_value());
  EXPECT_EQ(port(*before, "outputT"), port(*after, "outputT"));
}

TEST(SparseAttention, RowsWithoutLiveKeysAreZeroAndCachesChangeOnlyWhereTheyGrow) {
  const Measured& m = case_named("continuation");
  Call call = request(m);
  for (double& pointer : input(call, "blockRowIndicesT").values) pointer = 0;
  const Tensor cache = input(call, "pastValueT");
  const auto outputs = find_oracle(kOp)(call);
  ASSERT_TRUE(outputs.has_value());
  for (const double x : port(*outputs, "outputT")) EXPECT_EQ(x, 0);
  const auto& values = port(*outputs, "pastValueT");
  for (int row = 0; row < m.blocks * m.block_size; ++row) {
    const bool appended = row >= m.total - m.sequence && row < m.total;
    for (int i = 0; i < m.head_size; ++i) {
      const int at = row * m.head_size + i;
      const double want =
          appended ? input(call, "valueT").values[(row - m.total + m.sequence) * m.head_size + i]
                   : cache.values[at];
      EXPECT_EQ(values[at], want);
    }
  }
}

TEST(SparseAttention, RowsBeyondTheLengthNeverMatter) {
  Call call = request(case_named("decode_half"));
  const auto before = find_oracle(kOp)(call);
  for (const char* name : {"pastKeyT", "pastValueT"}) {
    Tensor& cache = input(call, name);
    for (std::size_t i = 0; i < cache.values.size(); ++i) {
      if (i / 16 % 64 >= 52) cache.values[i] = std::numeric_limits<double>::quiet_NaN();
    }
  }
  const auto after = find_oracle(kOp)(call);
  ASSERT_TRUE(before.has_value() && after.has_value());
  EXPECT_EQ(port(*before, "outputT"), port(*after, "outputT"));
}

TEST(SparseAttention, ComputesOnlyTheHeadsThatASampleAsksFor) {
  const Call all = request(case_named("rotary"));
  std::vector<std::pair<std::string, Shape>> shapes;
  for (const auto& [name, tensor] : all.inputs) shapes.emplace_back(name, tensor.shape);
  EXPECT_FALSE(find_sampler(kOp)(shapes, 1 << 20).has_value());
  const auto sample = find_sampler(kOp)(shapes, 5 * 16);
  ASSERT_TRUE(sample.has_value() && sample->same_call && sample->outputs.size() == 1);
  ASSERT_EQ(sample->outputs[0].ranges.size(), 5u);
  Call part = all;
  part.wanted = sample->outputs[0].ranges;
  const auto full = find_oracle(kOp)(all), some = find_oracle(kOp)(part);
  ASSERT_TRUE(full.has_value() && some.has_value());
  std::vector<double> want(port(*full, "outputT").size());
  for (const auto& [begin, end] : part.wanted) {
    std::copy(port(*full, "outputT").begin() + static_cast<std::ptrdiff_t>(begin),
              port(*full, "outputT").begin() + static_cast<std::ptrdiff_t>(end),
              want.begin() + static_cast<std::ptrdiff_t>(begin));
  }
  EXPECT_EQ(port(*some, "outputT"), want);
}

TEST(SparseAttention, RefusesWhatItCannotRead) {
  Call call = request(case_named("rotary"));
  call.inputs.pop_back();
  EXPECT_EQ(find_oracle(kOp)(call).error().code, "request/missing");
  call = request(case_named("prompt"));
  call.attrs[1].second = 3;
  EXPECT_EQ(find_oracle(kOp)(call).error().code, "request/attribute");
  call = request(case_named("prompt"));
  input(call, "queryT").shape[2] = 8;
  EXPECT_EQ(find_oracle(kOp)(call).error().code, "request/shape");
}

}  // namespace
}  // namespace wgk::reference
