// SPDX-License-Identifier: Apache-2.0
// A decoder's inner loop, 32 layers of norm, sparse attention and norm: every layer's kernels are
// recorded into one encoder per token. The same loop with one awaited call after another gives the
// same numbers, later.
//
// usage: decode NORM_PACKAGE ATTENTION_PACKAGE [TOKENS]
#include <webgpu/webgpu_cpp.h>
#include <wgk/wgk.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

namespace {

constexpr std::int64_t kLayers = 32, kHeads = 4, kKvHeads = 2, kHeadSize = 32, kBlock = 16,
                       kBlocks = 8;
constexpr std::int64_t kHidden = kHeads * kHeadSize, kPacked = (kHeads + 2 * kKvHeads) * kHeadSize;
constexpr std::int64_t kCapacity = kBlock * kBlocks;
using Clock = std::chrono::steady_clock;
using Named = std::vector<std::pair<std::string, wgk::Tensor>>;

template <class T>
T need(wgk::Result<T> result) {
  if (result) return std::move(*result);
  std::fprintf(stderr, "%s\n", result.error().to_string().c_str());
  std::exit(1);
}

void need(const wgk::Status& status) {
  if (status) return;
  std::fprintf(stderr, "%s\n", status.error().to_string().c_str());
  std::exit(1);
}

std::vector<float> values(std::int64_t count, std::uint32_t seed) {
  std::vector<float> list(static_cast<std::size_t>(count));
  for (float& value : list) {
    seed = seed * 1664525U + 1013904223U;
    value = static_cast<float>(seed >> 8) / static_cast<float>(1U << 24) - 0.5F;
  }
  return list;
}

// Everything that stays on the device: weights, caches, the hidden state.
struct Model {
  explicit Model(const wgk::Runtime& on) : runtime(on) {
    hidden = tensor(kHidden, 1, {1, 1, kHidden});
    // Blocks: everything up to the diagonal, for all heads alike.
    std::vector<std::int32_t> rows = {0}, columns;
    for (std::int32_t row = 0; row < kBlocks; ++row) {
      for (std::int32_t column = 0; column <= row; ++column) columns.push_back(column);
      rows.push_back(static_cast<std::int32_t>(columns.size()));
    }
    block_rows = need(runtime.upload(wgk::HostTensor(rows, {1, kBlocks + 1})));
    block_columns = need(
        runtime.upload(wgk::HostTensor(columns, {1, static_cast<std::int64_t>(columns.size())})));
    total = need(runtime.empty(wgk::DType::i32, {1}));
    lengths = need(runtime.empty(wgk::DType::i32, {1}));
    for (std::uint32_t layer = 0; layer < kLayers; ++layer) {
      gammas.push_back(tensor(kHidden, 100 + layer, {kHidden}));
      projections.push_back(tensor(kPacked, 200 + layer, {1, 1, kPacked}));
      keys.push_back(need(runtime.empty(wgk::DType::f32, {1, kKvHeads, kCapacity, kHeadSize})));
      caches.push_back(need(runtime.empty(wgk::DType::f32, {1, kKvHeads, kCapacity, kHeadSize})));
    }
  }
  wgk::Tensor tensor(std::int64_t count, std::uint32_t seed, wgk::Shape shape) const {
    return need(runtime.upload(wgk::HostTensor(values(count, seed), std::move(shape))));
  }
  // The step's length is data on the device: no new plan, no new bind group.
  void set_length(std::int32_t length) const {
    const std::vector<std::int32_t> one = {length};
    need(total.upload(wgk::HostTensor(one, {1})));
    need(lengths.upload(wgk::HostTensor(one, {1})));
  }
  Named attention_inputs(std::size_t layer) const {
    return {{"query", projections[layer]},          {"past_key", keys[layer]},
            {"past_value", caches[layer]},          {"block_row_indices", block_rows},
            {"block_col_indices", block_columns},   {"total_sequence_length", total},
            {"key_total_sequence_lengths", lengths}};
  }

  wgk::Runtime runtime;
  wgk::Tensor hidden, block_rows, block_columns, total, lengths;
  std::vector<wgk::Tensor> gammas, projections, keys, caches;
};

const wgk::Values kAttention = {
    {"num_heads", kHeads}, {"kv_num_heads", kKvHeads}, {"sparse_block_size", kBlock}};

wgk::Signature signature_of(const Named& tensors, wgk::Values attrs) {
  wgk::Signature signature{.attrs = std::move(attrs)};
  for (const auto& [name, tensor] : tensors)
    signature.inputs.push_back({.name = name, .dtype = tensor.dtype(), .shape = tensor.shape()});
  return signature;
}

// The whole token in one encoder.
struct Recorded {
  std::vector<wgk::Bound> calls;
  wgk::Tensor result;

  Recorded(const Model& model, const wgk::Kernel& norm, const wgk::Kernel& attention) {
    const wgk::Shape shape = {1, 1, kHidden};
    wgk::Tensor state = model.hidden;
    for (std::size_t layer = 0; layer < kLayers; ++layer) {
      const wgk::Tensor normed = need(model.runtime.empty(wgk::DType::f32, shape));
      const wgk::Tensor attended = need(model.runtime.empty(wgk::DType::f32, shape));
      const wgk::Tensor next = need(model.runtime.empty(wgk::DType::f32, shape));
      add(norm, {{"input", state}, {"skip", model.hidden}, {"gamma", model.gammas[layer]}}, {},
          {{"output", normed}});
      add(attention, model.attention_inputs(layer), kAttention, {{"output", attended}});
      add(norm, {{"input", attended}, {"skip", normed}, {"gamma", model.gammas[layer]}}, {},
          {{"output", next}});
      state = next;
    }
    result = state;
  }
  void add(const wgk::Kernel& kernel, Named inputs, const wgk::Values& attrs,
           const Named& outputs) {
    const wgk::Prepared prepared = need(kernel.prepare(signature_of(inputs, attrs)));
    inputs.insert(inputs.end(), outputs.begin(), outputs.end());
    calls.push_back(need(prepared.bind(inputs)));
  }
  void run(const wgk::Runtime& runtime) const {
    const wgpu::Device device(runtime.device());
    const wgpu::CommandEncoder encoder = device.CreateCommandEncoder();
    const wgpu::ComputePassEncoder pass = encoder.BeginComputePass();
    for (const wgk::Bound& call : calls) need(call.record(pass.Get()));
    pass.End();
    const wgpu::CommandBuffer commands = encoder.Finish();
    device.GetQueue().Submit(1, &commands);
  }
};

// The same, one call at a time, each awaited.
wgk::Tensor awaited(const Model& model, const wgk::Kernel& norm, const wgk::Kernel& attention) {
  const auto call = [&](const wgk::Kernel& kernel, const Named& inputs, const wgk::Values& attrs) {
    wgk::Inputs arguments;
    for (const auto& [name, tensor] : inputs) arguments.emplace_back(name, tensor);
    const wgk::CallResult result = need(kernel.call(arguments, {.attrs = attrs}));
    need(model.runtime.wait_idle());
    return result.at("output");
  };
  wgk::Tensor state = model.hidden;
  for (std::size_t layer = 0; layer < kLayers; ++layer) {
    const wgk::Tensor normed =
        call(norm, {{"input", state}, {"skip", model.hidden}, {"gamma", model.gammas[layer]}}, {});
    const wgk::Tensor attended = call(attention, model.attention_inputs(layer), kAttention);
    state = call(norm, {{"input", attended}, {"skip", normed}, {"gamma", model.gammas[layer]}}, {});
  }
  return state;
}

template <class Step>
double milliseconds_per_token(const Model& model, int tokens, const Step& step) {
  const auto start = Clock::now();
  for (int token = 1; token <= tokens; ++token) {
    model.set_length(token);
    step();
  }
  need(model.runtime.wait_idle());
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count() / tokens;
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 3)
    return std::fprintf(stderr, "usage: decode NORM_PACKAGE ATTENTION_PACKAGE [TOKENS]\n"), 2;
  const int tokens = count > 3 ? std::atoi(arguments[3]) : 20;
  const wgk::Runtime runtime = need(wgk::Runtime::create());
  const wgk::Kernel norm = need(runtime.load(arguments[1]));
  const wgk::Kernel attention = need(runtime.load(arguments[2]));

  const Model first(runtime);
  const Recorded recorded(first, norm, attention);
  first.set_length(1);
  recorded.run(runtime);
  need(runtime.wait_idle());  // a token to warm up: drivers compile at the first dispatch
  const auto before = runtime.stats();
  const double together = milliseconds_per_token(first, tokens, [&] { recorded.run(runtime); });
  const auto after = runtime.stats();
  const std::vector<float> a = need(recorded.result.download<float>());

  const Model second(runtime);
  second.set_length(1);
  wgk::Tensor state = awaited(second, norm, attention);
  const double apart =
      milliseconds_per_token(second, tokens, [&] { state = awaited(second, norm, attention); });
  const std::vector<float> b = need(state.download<float>());

  std::printf("%lld layers on %s, %d tokens\n", static_cast<long long>(kLayers),
              runtime.describe().adapter.name.c_str(), tokens);
  std::printf("one encoder a token     %8.3f ms\n", together);
  std::printf("one awaited call each   %8.3f ms, %.2f times as long\n", apart, apart / together);
  std::printf("made while decoding: %llu buffers, %llu bind groups, %llu pipelines\n",
              static_cast<unsigned long long>(after.buffers_made - before.buffers_made),
              static_cast<unsigned long long>(after.bind_groups_made - before.bind_groups_made),
              static_cast<unsigned long long>(after.pipelines_built - before.pipelines_built));
  std::printf("the results are %s\n", a == b ? "the same, bit for bit" : "DIFFERENT");
  return a == b && after.buffers_made == before.buffers_made &&
                 after.bind_groups_made == before.bind_groups_made
             ? 0
             : 1;
}
