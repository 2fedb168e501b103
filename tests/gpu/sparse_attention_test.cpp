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
#include <list>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/half.h"
#include "reference/oracle.h"
#include "wgk/wgk.h"

namespace wgk {
namespace {

constexpr std::int64_t kHeads = 4, kKvHeads = 2, kSize = 32, kBlock = 16, kBlocks = 5,
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

// What a call is made of.
struct Form {
  std::int64_t sequence;
  bool rotary = false, packed = false, half = false;
};

std::vector<std::uint16_t> to_halves(const std::vector<float>& values) {
  std::vector<std::uint16_t> result(values.size());
  std::ranges::transform(values, result.begin(), f16_from_f32);
  return result;
}

// [Q|K|V] of each token.
std::vector<float> pack_tokens(const std::vector<float>& query, const std::vector<float>& key,
                               const std::vector<float>& value, std::size_t tokens) {
  std::vector<float> result;
  for (std::size_t token = 0; token < tokens; ++token) {
    for (const auto* part : {&query, &key, &value}) {
      const std::size_t width = part->size() / tokens;
      const auto from = part->begin() + static_cast<std::ptrdiff_t>(token * width);
      result.insert(result.end(), from, from + static_cast<std::ptrdiff_t>(width));
    }
  }
  return result;
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
  Inputs inputs(const Runtime& runtime, const Form& form) {
    Inputs all;
    held_.clear();
    const auto add = [&](const char* port, const std::vector<float>& values, Shape shape) {
      if (form.half) {
        all.emplace_back(port, HostTensor(held_.emplace_back(to_halves(values)), std::move(shape)));
      } else {
        all.emplace_back(port, HostTensor(values, std::move(shape)));
      }
    };
    if (form.packed) {
      packed_ = pack_tokens(query, key, value, static_cast<std::size_t>(batch * sequence));
      add("queryT", packed_, {batch, sequence, (kHeads + 2 * kKvHeads) * kSize});
    } else {
      add("queryT", query, {batch, sequence, kHeads * kSize});
      add("keyT", key, {batch, sequence, kKvHeads * kSize});
      add("valueT", value, {batch, sequence, kKvHeads * kSize});
    }
    add("pastKeyT", past_key, cache_shape());
    add("pastValueT", past_value, cache_shape());
    add("cosCacheT", cosine, {kRows, 8});
    add("sinCacheT", sine, {kRows, 8});
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

 private:
  // What the tensors of `inputs` view.
  std::list<std::vector<std::uint16_t>> held_;
  std::vector<float> packed_;
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
  // Also short caches are split, and in chunks that this small head fills.
  if (result.variant.contains("decode") && !result.variant.ends_with("_short"))
    result.tunables = {{"DECODE_SHORT", 0}, {"DECODE_WORKGROUPS", 6}};
  if (result.variant.contains("decode_chunk"))
    result.tunables.emplace_back("DECODE_CHUNK_LANES", 32);
  if (result.variant.contains("emulated")) result.tunables.emplace_back("EMULATE_MATRICES", true);
  if (result.variant.contains("split")) result.tunables.emplace_back("SPLIT_FLOAT32", true);
  return result;
}

bool same_bits(float a, float b) {
  return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b);
}
bool same_bits(std::uint16_t a, float b) { return a == f16_from_f32(b); }

// A new key as its place turns it: the first and second eight elements are pairs (NeoX).
std::vector<float> turned(const Problem& problem, std::vector<float> key, std::int64_t place) {
  const auto at = static_cast<std::size_t>(place) * 8;
  for (std::size_t i = 0; i < 8; ++i) {
    const float low = key[i], high = key[i + 8];
    const float cosine = problem.cosine[at + i], sine = problem.sine[at + i];
    key[i] = low * cosine - high * sine;
    key[i + 8] = high * cosine + low * sine;
  }
  return key;
}

template <class Element>
bool same_row(const Element* after, const std::vector<float>& row) {
  return std::ranges::equal(row, std::span(after, row.size()),
                            [](float want, Element found) { return same_bits(found, want); });
}

// At most `sequence` rows of each head may change, to that head's own new keys or values.
// Values are eighths of small numbers, so that turned keys are exact in both types.
template <class Element>
void check_cache(const Problem& problem, bool keys, bool rotary, const std::vector<Element>& after,
                 const std::string& what) {
  const auto& past = keys ? problem.past_key : problem.past_value;
  const auto& fresh = keys ? problem.key : problem.value;
  const auto row_at = [](const std::vector<float>& all, std::int64_t row) {
    const auto from = all.begin() + row * kSize;
    return std::vector<float>(from, from + kSize);
  };
  ASSERT_EQ(after.size(), past.size()) << what;
  for (std::int64_t head = 0; head < problem.batch * kKvHeads; ++head) {
    std::int64_t changed = 0;
    for (std::int64_t row = 0; row < kCapacity; ++row) {
      const std::int64_t at = head * kCapacity + row;
      const Element* found = after.data() + at * kSize;
      if (same_row(found, row_at(past, at))) continue;
      ++changed;
      bool own = false;
      for (std::int64_t token = 0; token < problem.sequence && !own; ++token) {
        const std::int64_t item = head / kKvHeads;
        std::vector<float> want =
            row_at(fresh, (item * problem.sequence + token) * kKvHeads + head % kKvHeads);
        if (keys && rotary) want = turned(problem, std::move(want), row);
        own = same_row(found, want);
      }
      EXPECT_TRUE(own) << what << ": head " << head << " row " << row;
    }
    EXPECT_LE(changed, problem.sequence) << what;
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

  template <class Element>
  void check_call(const Form& form, const std::string& variant, const Garbage& garbage,
                  bool& accepted) {
    Problem problem = spoilt(garbage, form.sequence);
    const auto result =
        kernel_.call(problem.inputs(*runtime_, form), options(form.rotary, variant));
    accepted = result || result.error().code != "request/variant";
    if (!accepted) return;
    ASSERT_TRUE(result.has_value())
        << variant << ", " << garbage.name << ": " << result.error().to_string();
    for (const bool keys : {false, true}) {
      const char* port = keys ? "pastKeyT" : "pastValueT";
      const auto cache = result->at(port).template download<Element>();
      ASSERT_TRUE(cache.has_value());
      check_cache(problem, keys, form.rotary, *cache, variant + ", " + garbage.name + ", " + port);
    }
  }

  void stay_inside(const Form& form) {
    std::size_t variants = 0;
    for (const std::string& variant : kernel_.package().variants()) {
      bool accepted = true;
      for (const Garbage& garbage : all_garbage(static_cast<std::int32_t>(form.sequence))) {
        if (form.half) {
          check_call<std::uint16_t>(form, variant, garbage, accepted);
        } else {
          check_call<float>(form, variant, garbage, accepted);
        }
        if (!accepted || HasFatalFailure()) break;
      }
      if (HasFatalFailure()) return;
      variants += accepted;
    }
    EXPECT_GE(variants, 2u);
  }

  const Runtime* runtime_ = nullptr;
  Kernel kernel_;
};

TEST_F(SparseAttention, GarbageOnTheDeviceStaysInsideWhenDecoding) {
  stay_inside({.sequence = 1, .rotary = true});
}
TEST_F(SparseAttention, GarbageOnTheDeviceStaysInsideWhenDecodingHalves) {
  stay_inside({.sequence = 1, .rotary = true, .packed = true, .half = true});
}
TEST_F(SparseAttention, GarbageOnTheDeviceStaysInsideInAPrompt) { stay_inside({.sequence = 20}); }
TEST_F(SparseAttention, GarbageOnTheDeviceStaysInsideWithFewPackedTokens) {
  stay_inside({.sequence = 3, .rotary = true, .packed = true});
}
TEST_F(SparseAttention, GarbageOnTheDeviceStaysInsideInHalves) {
  stay_inside({.sequence = 20, .rotary = true, .packed = true, .half = true});
}

// What the oracle gives for the caches as they are.
reference::Outputs expected(const Problem& problem, bool half) {
  reference::Call call;
  const auto add = [&](const char* port, const auto& values, DType dtype, Shape shape) {
    call.inputs.emplace_back(
        port, reference::Tensor{dtype, std::move(shape), {values.begin(), values.end()}});
  };
  const DType real = half ? DType::f16 : DType::f32;
  add("queryT", problem.query, real, {problem.batch, problem.sequence, kHeads * kSize});
  add("keyT", problem.key, real, {problem.batch, problem.sequence, kKvHeads * kSize});
  add("valueT", problem.value, real, {problem.batch, problem.sequence, kKvHeads * kSize});
  add("pastKeyT", problem.past_key, real, problem.cache_shape());
  add("pastValueT", problem.past_value, real, problem.cache_shape());
  add("cosCacheT", problem.cosine, real, {kRows, 8});
  add("sinCacheT", problem.sine, real, {kRows, 8});
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

std::vector<float> download_floats(const Tensor& tensor, bool half) {
  if (half) {
    const auto halves = tensor.download<std::uint16_t>();
    if (!halves) ADD_FAILURE() << halves.error().to_string();
    std::vector<float> values(halves ? halves->size() : 0);
    if (halves) std::ranges::transform(*halves, values.begin(), f32_from_f16);
    return values;
  }
  const auto values = tensor.download<float>();
  if (!values) ADD_FAILURE() << values.error().to_string();
  return values ? *values : std::vector<float>{};
}

// One recorded call whose lengths change on the device.
class DecodeLoop {
 public:
  DecodeLoop(const Runtime& runtime, const Kernel& kernel, const Form& form,
             const std::string& variant)
      : form_(form), variant_(variant) {
    set_length(30);
    record(runtime, kernel);
  }

  bool accepted() const { return accepted_; }

  // Lengths from 30 on, `step` tokens apart.
  void run(std::int32_t step) {
    for (std::int32_t length = 30; length <= kCapacity; length += step) {
      set_length(length);
      ASSERT_TRUE(find("totalSequenceLengthT").upload(HostTensor(problem_.total, {1})).has_value());
      ASSERT_TRUE(find("keyTotalSequenceLengthsT")
                      .upload(HostTensor(problem_.lengths, {problem_.batch}))
                      .has_value());
      ASSERT_TRUE(bound_->submit().has_value());
      check(length);
      if (::testing::Test::HasFatalFailure()) return;
    }
  }

 private:
  // The second item is shorter and crosses its blocks' ends at other steps.
  void set_length(std::int32_t length) {
    problem_.total = {length};
    problem_.lengths = {length, length - 13};
  }

  Tensor find(std::string_view port) const {
    return std::ranges::find(tensors_, port, &std::pair<std::string, Tensor>::first)->second;
  }

  void record(const Runtime& runtime, const Kernel& kernel) {
    Signature signature;
    const Inputs inputs = problem_.inputs(runtime, form_);
    for (const auto& [port, argument] : inputs) {
      Tensor tensor;
      if (const auto* host = std::get_if<HostTensor>(&argument)) {
        auto uploaded = runtime.upload(*host);
        ASSERT_TRUE(uploaded.has_value());
        tensor = *uploaded;
      } else {
        tensor = std::get<Tensor>(argument);
      }
      signature.inputs.push_back({port, tensor.dtype(), tensor.shape()});
      tensors_.emplace_back(port, tensor);
    }
    signature.attrs = options(true, "").attrs;
    signature.variant = variant_;
    signature.tunables = options(true, variant_).tunables;
    auto prepared = kernel.prepare(signature);
    accepted_ = prepared || prepared.error().code != "request/variant";
    if (!accepted_) return;
    ASSERT_TRUE(prepared.has_value()) << prepared.error().to_string();
    auto outputs = prepared->make_outputs();
    ASSERT_TRUE(outputs.has_value()) << outputs.error().to_string();
    for (const auto& [port, tensor] : *outputs) {
      if (port == "outputT") tensors_.emplace_back(port, tensor);
    }
    auto bound = prepared->bind(tensors_);
    ASSERT_TRUE(bound.has_value()) << bound.error().to_string();
    bound_ = std::move(*bound);
  }

  void check(std::int32_t length) {
    const std::vector<float> output = download_floats(find("outputT"), form_.half);
    const reference::Outputs want = expected(problem_, form_.half);
    ASSERT_FALSE(want.empty());
    ASSERT_EQ(output.size(), want[0].second.values.size());
    for (std::size_t i = 0; i < output.size(); ++i) {
      ASSERT_NEAR(output[i], want[0].second.values[i], form_.half ? 2e-3 : 1e-4)
          << variant_ << " length " << length << " element " << i;
    }
    // The caches that this call left behind are those of the next one.
    std::ranges::transform(want[1].second.values, problem_.past_key.begin(), to_float);
    std::ranges::transform(want[2].second.values, problem_.past_value.begin(), to_float);
    ASSERT_EQ(download_floats(find("pastKeyT"), form_.half), problem_.past_key) << variant_;
    ASSERT_EQ(download_floats(find("pastValueT"), form_.half), problem_.past_value) << variant_;
  }

  static float to_float(double value) { return static_cast<float>(value); }

  Form form_;
  std::string variant_;
  Problem problem_{2, 1};
  std::vector<std::pair<std::string, Tensor>> tensors_;
  std::optional<Bound> bound_;
  bool accepted_ = false;
};

constexpr Form kLoops[] = {{.sequence = 1, .rotary = true},
                           {.sequence = 1, .rotary = true, .half = true},
                           {.sequence = 1, .rotary = true, .packed = true},
                           {.sequence = 1, .rotary = true, .packed = true, .half = true}};

TEST_F(SparseAttention, OneBoundCallServesADecodeLoop) {
  for (const Form& form : kLoops) {
    DecodeLoop loop(*runtime_, kernel_, form, "");
    ASSERT_TRUE(loop.accepted() && !HasFatalFailure());
    loop.run(1);
    if (HasFatalFailure()) return;
  }
}

TEST_F(SparseAttention, OneBoundCallOfEachVariantServesADecodeLoop) {
  for (const Form& form : kLoops) {
    std::size_t variants = 0;
    for (const std::string& variant : kernel_.package().variants()) {
      if (!variant.starts_with(form.packed ? "packed_rotary" : "separate_rotary")) continue;
      DecodeLoop loop(*runtime_, kernel_, form, variant);
      if (HasFatalFailure()) return;
      if (!loop.accepted()) continue;
      loop.run(7);
      if (HasFatalFailure()) return;
      ++variants;
    }
    EXPECT_GE(variants, 2u) << (form.packed ? "packed" : "separate")
                            << (form.half ? " halves" : "");
  }
}

}  // namespace
}  // namespace wgk
