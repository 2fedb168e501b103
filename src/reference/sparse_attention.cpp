// SPDX-License-Identifier: Apache-2.0
// com.microsoft.SparseAttention: softmax(scale * q.k) v over the keys t <= p whose block is listed
// for p's block row; q and k rounded to T after the rotation, nothing else before the output.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/half.h"
#include "reference/operators.h"

namespace wgk::reference {
namespace {

struct AttentionProblem {
  const Tensor *query, *key, *value, *rows, *columns, *cosine, *sine;
  std::size_t batch, sequence, heads, kv_heads, head_size, capacity, block_size, layouts, blocks;
  bool rotary, interleaved;
  double scale;
};

std::size_t dim(const Tensor& tensor, std::size_t axis) {
  return static_cast<std::size_t>(tensor.shape[axis]);
}

double rounded(double value, DType dtype) {
  if (dtype == DType::f16) return f64_from_f16(f16_from_f64(value));
  return static_cast<double>(static_cast<float>(value));
}

// One head of one token, at `source`, as it takes part in the products.
void rotate(const AttentionProblem& problem, const double* source, std::size_t position,
            double* out) {
  for (std::size_t i = 0; i < problem.head_size; ++i) out[i] = source[i];
  if (!problem.rotary) return;
  const std::size_t width = dim(*problem.cosine, 1);
  for (std::size_t i = 0; i < width; ++i) {
    const std::size_t a = problem.interleaved ? 2 * i : i;
    const std::size_t b = problem.interleaved ? 2 * i + 1 : i + width;
    const double cosine = problem.cosine->values[position * width + i];
    const double sine = problem.sine->values[position * width + i];
    out[a] = rounded(source[a] * cosine - source[b] * sine, problem.query->dtype);
    out[b] = rounded(source[b] * cosine + source[a] * sine, problem.query->dtype);
  }
}

std::size_t past_length(const AttentionProblem& problem, double total, double length) {
  if (total == static_cast<double>(problem.sequence)) return 0;
  return static_cast<std::size_t>(length) - problem.sequence;
}

void append(const AttentionProblem& problem, std::size_t item, std::size_t past, Tensor& keys,
            Tensor& values) {
  const std::size_t size = problem.head_size;
  const std::size_t width = dim(*problem.query, 2);
  for (std::size_t s = 0; s < problem.sequence; ++s) {
    const std::size_t token = item * problem.sequence + s;
    for (std::size_t head = 0; head < problem.kv_heads; ++head) {
      const double* key;
      const double* value;
      if (problem.key != nullptr) {
        key = &problem.key->values[(token * problem.kv_heads + head) * size];
        value = &problem.value->values[(token * problem.kv_heads + head) * size];
      } else {
        key = &problem.query->values[token * width + (problem.heads + head) * size];
        value = key + problem.kv_heads * size;
      }
      const std::size_t at =
          ((item * problem.kv_heads + head) * problem.capacity + past + s) * size;
      rotate(problem, key, past + s, &keys.values[at]);
      for (std::size_t i = 0; i < size; ++i) values.values[at + i] = value[i];
    }
  }
}

// Which key blocks row `row` of layout `layout` lists.
std::vector<bool> listed(const AttentionProblem& problem, std::size_t layout, std::size_t row) {
  std::vector<bool> result(problem.blocks);
  const std::size_t pointers = layout * (problem.blocks + 1) + row;
  const auto begin = static_cast<std::size_t>(problem.rows->values[pointers]);
  const auto end = static_cast<std::size_t>(problem.rows->values[pointers + 1]);
  for (std::size_t i = begin; i < end; ++i) {
    const double column = problem.columns->values[layout * dim(*problem.columns, 1) + i];
    result[static_cast<std::size_t>(column)] = true;
  }
  return result;
}

// One query head of one token. `query` is rotated; `out` is zero on entry and stays so when no key
// is live.
void attend(const AttentionProblem& problem, const double* query, std::size_t position,
            const std::vector<bool>& live, const double* keys, const double* values, double* out) {
  const std::size_t size = problem.head_size;
  std::vector<std::pair<std::size_t, double>> scores;
  double top = -std::numeric_limits<double>::infinity();
  for (std::size_t t = 0; t <= position; ++t) {
    if (!live[t / problem.block_size]) continue;
    double dot = 0;
    for (std::size_t i = 0; i < size; ++i) dot += query[i] * keys[t * size + i];
    scores.emplace_back(t, dot * problem.scale);
    top = std::fmax(top, dot * problem.scale);
  }
  double sum = 0;
  for (auto& [t, score] : scores) sum += score = std::exp(score - top);
  for (const auto& [t, weight] : scores) {
    for (std::size_t i = 0; i < size; ++i) out[i] += weight / sum * values[t * size + i];
  }
}

// Whether [begin, end) meets a wanted range; without ranges everything is wanted.
bool is_wanted(const Call& call, std::size_t begin, std::size_t end) {
  if (call.wanted.empty()) return true;
  const auto next = std::ranges::upper_bound(call.wanted, begin, {},
                                             &std::pair<std::size_t, std::size_t>::second);
  return next != call.wanted.end() && next->first < end;
}

void attend_item(const Call& call, const AttentionProblem& problem, std::size_t item,
                 std::size_t past, std::size_t length, const Tensor& keys, const Tensor& values,
                 Tensor& output) {
  const std::size_t size = problem.head_size;
  std::vector<double> query(size);
  for (std::size_t s = 0; s < problem.sequence && past + s < length; ++s) {
    const std::size_t token = item * problem.sequence + s;
    const std::size_t row = (past + s) / problem.block_size;
    for (std::size_t head = 0; head < problem.heads; ++head) {
      const std::size_t at = (token * problem.heads + head) * size;
      if (!is_wanted(call, at, at + size)) continue;
      const double* source = &problem.query->values[token * dim(*problem.query, 2) + head * size];
      rotate(problem, source, past + s, query.data());
      const std::size_t kv_head = head / (problem.heads / problem.kv_heads);
      const std::size_t cache = (item * problem.kv_heads + kv_head) * problem.capacity * size;
      attend(problem, query.data(), past + s, listed(problem, head % problem.layouts, row),
             &keys.values[cache], &values.values[cache], &output.values[at]);
    }
  }
}

Result<AttentionProblem> read_attention(const Call& call) {
  AttentionProblem p{};
  const Tensor* cache = call.input("pastKeyT");
  p.query = call.input("queryT");
  p.rows = call.input("blockRowIndicesT");
  p.columns = call.input("blockColIndicesT");
  for (const Tensor* needed :
       {p.query, cache, call.input("pastValueT"), p.rows, p.columns,
        call.input("totalSequenceLengthT"), call.input("keyTotalSequenceLengthsT")}) {
    if (needed == nullptr) return failure("request/missing", "a required input is not given");
  }
  if (p.query->shape.size() != 3 || cache->shape.size() != 4 || p.rows->shape.size() != 2 ||
      p.columns->shape.size() != 2) {
    return failure("request/rank",
                   "queryT must have rank 3, pastKeyT rank 4 and the block indices rank 2");
  }
  p.key = call.input("keyT");
  p.value = call.input("valueT");
  p.cosine = call.input("cosCacheT");
  p.sine = call.input("sinCacheT");
  p.batch = dim(*p.query, 0);
  p.sequence = dim(*p.query, 1);
  p.heads = static_cast<std::size_t>(call.number("num_heads", 0));
  p.kv_heads = static_cast<std::size_t>(call.number("kv_num_heads", 0));
  p.block_size = static_cast<std::size_t>(call.number("sparse_block_size", 0));
  p.capacity = dim(*cache, 2);
  p.head_size = dim(*cache, 3);
  p.layouts = dim(*p.rows, 0);
  p.blocks = dim(*p.rows, 1) - 1;
  p.rotary = call.number("do_rotary", 0) == 1;
  p.interleaved = call.number("rotary_interleaved", 0) == 1;
  p.scale = call.number("scale", 0);
  if (p.scale == 0) p.scale = 1 / std::sqrt(static_cast<double>(p.head_size));
  if (p.heads == 0 || p.kv_heads == 0 || p.heads % p.kv_heads != 0 || p.block_size == 0 ||
      p.layouts == 0) {
    return failure("request/attribute",
                   "head counts, block size and layouts must be positive, kv_num_heads a divisor");
  }
  if (p.rotary && (p.cosine == nullptr || p.sine == nullptr)) {
    return failure("request/missing", "cosCacheT and sinCacheT must be given when do_rotary is 1");
  }
  const std::size_t heads = p.key != nullptr ? p.heads : p.heads + 2 * p.kv_heads;
  if (dim(*p.query, 2) != heads * p.head_size || (p.key == nullptr) != (p.value == nullptr)) {
    return failure("request/shape",
                   "queryT must hold the query heads, and the key and value heads when packed");
  }
  return p;
}

}  // namespace

// Rows of padded tokens (position at or beyond the item's length) have no defined output: they are
// zero here.
Result<Outputs> sparse_attention(const Call& call) {
  auto problem = read_attention(call);
  if (!problem) return std::unexpected(std::move(problem).error());
  const Tensor& total = *call.input("totalSequenceLengthT");
  const Tensor& lengths = *call.input("keyTotalSequenceLengthsT");
  Tensor keys = *call.input("pastKeyT");
  Tensor values = *call.input("pastValueT");
  const Tensor& query = *problem->query;
  Tensor output{query.dtype,
                {query.shape[0], query.shape[1],
                 static_cast<std::int64_t>(problem->heads * problem->head_size)},
                {}};
  output.values.resize(problem->batch * problem->sequence * problem->heads * problem->head_size);
  for (std::size_t item = 0; item < problem->batch && problem->sequence > 0; ++item) {
    const std::size_t past = past_length(*problem, total.values[0], lengths.values[item]);
    if (past + problem->sequence > problem->capacity)
      return failure("request/value", "a length is beyond the cache");
    append(*problem, item, past, keys, values);
    attend_item(call, *problem, item, past, static_cast<std::size_t>(lengths.values[item]), keys,
                values, output);
  }
  Outputs outputs;
  outputs.emplace_back("outputT", std::move(output));
  if (!call.wanted.empty()) return outputs;
  outputs.emplace_back("pastKeyT", std::move(keys));
  outputs.emplace_back("pastValueT", std::move(values));
  return outputs;
}

// Some heads of some tokens: a prompt cannot be made smaller, since positions follow from its
// shape.
std::optional<Sample> sample_sparse_attention(
    const std::vector<std::pair<std::string, Shape>>& inputs, std::size_t max_elements) {
  const auto shape_of = [&](std::string_view port) -> const Shape* {
    const auto found = std::ranges::find(inputs, port, &std::pair<std::string, Shape>::first);
    return found == inputs.end() ? nullptr : &found->second;
  };
  const Shape* query = shape_of("queryT");
  const Shape* cache = shape_of("pastKeyT");
  if (query == nullptr || cache == nullptr || query->size() != 3 || cache->size() != 4) return {};
  const std::int64_t size = (*cache)[3];
  if (size < 1) return {};
  const std::int64_t packed = shape_of("keyT") == nullptr ? 2 * (*cache)[1] : 0;
  const std::int64_t rows = (*query)[0] * (*query)[1] * ((*query)[2] / size - packed);
  const auto width = static_cast<std::size_t>(size);
  std::int64_t cached = 1;
  for (const std::int64_t extent : *cache) cached *= extent;
  if (rows < 2 || static_cast<std::size_t>(std::max(rows * size, cached)) <= max_elements)
    return {};
  Part output{"outputT", {0, size}, {}};
  for (const std::size_t row :
       spread_rows(static_cast<std::size_t>(rows),
                   std::clamp<std::size_t>(max_elements / width, 2, 1024))) {
    output.ranges.emplace_back(row * width, (row + 1) * width);
  }
  output.shape[0] = static_cast<std::int64_t>(output.ranges.size());
  return Sample{{}, {std::move(output)}, true};
}

}  // namespace wgk::reference
