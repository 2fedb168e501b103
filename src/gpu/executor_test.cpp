// SPDX-License-Identifier: Apache-2.0
#include "gpu/executor.h"

#include <gtest/gtest.h>

#include <thread>

#include "gpu/test_support.h"
#include "gpu/timing.h"

namespace wgk::gpu {
namespace {

using testing::contains;
using testing::download;
using testing::make_slice;
using testing::numbers;
using testing::PlanBuilder;
using testing::scale_plan;
using testing::shared_context;
using testing::upload;

class Executor : public testing::DeviceTest {
 protected:
  const Context& context = shared_context();
  const Device& device() const { return *context.device; }
};

TEST_F(Executor, RunsAPlanWithUniforms) {
  const auto x = numbers(1000);
  auto prepared = Prepared::make(context, scale_plan(1000, 3.0F));
  ASSERT_TRUE(prepared) << prepared.error().to_string();
  auto in = upload<float>(context, x);
  auto out = make_slice(context, 4000);
  ASSERT_TRUE(in && out);
  auto bound = Bound::make(*prepared, {*in, *out});
  ASSERT_TRUE(bound) << bound.error().to_string();
  EXPECT_EQ((*bound)->needs(), Needs::kPass);
  ASSERT_TRUE((*bound)->submit());
  auto y = download<float>(context, *out);
  ASSERT_TRUE(y) << y.error().to_string();
  for (std::size_t i = 0; i < x.size(); ++i) EXPECT_EQ((*y)[i], x[i] * 3.0F) << i;
}

// Counts in a scratch word that must be zero at the start of every run, then copies it out.
std::shared_ptr<const Plan> counting_plan(bool split) {
  PlanBuilder builder;
  builder.tensor("y", 1, false, true, DType::u32).scratch("count", 70000, true);
  builder
      .pass("count", R"(@group(0) @binding(0) var<storage, read_write> count: array<atomic<u32>>;
@compute @workgroup_size(1) fn main() { atomicAdd(&count[69999], 1u); })",
            {5, 1, 1})
      .bind_scratch(0, BindingType::kStorage);
  if (split) builder.submit_after();
  builder
      .pass("copy", R"(@group(0) @binding(0) var<storage, read> count: array<u32>;
@group(0) @binding(1) var<storage, read_write> y: array<u32>;
@compute @workgroup_size(1) fn main() { y[0] = count[69999]; })",
            {1, 1, 1})
      .bind_scratch(0, BindingType::kReadOnlyStorage)
      .bind_tensor(0, BindingType::kStorage);
  return builder.done();
}

TEST_F(Executor, ZeroesScratchBeforeEveryRun) {
  auto prepared = Prepared::make(context, counting_plan(false));
  ASSERT_TRUE(prepared) << prepared.error().to_string();
  auto out = make_slice(context, 4);
  auto bound = Bound::make(*prepared, {*out});
  ASSERT_TRUE(bound) << bound.error().to_string();
  for (int run = 0; run < 3; ++run) {
    ASSERT_TRUE((*bound)->submit());
    EXPECT_EQ(*download<std::uint32_t>(context, *out), std::vector<std::uint32_t>({5})) << run;
  }
}

TEST_F(Executor, SplitsAndWaitsAfterSubmitAfter) {
  auto prepared = Prepared::make(context, counting_plan(true));
  ASSERT_TRUE(prepared) << prepared.error().to_string();
  auto out = make_slice(context, 4);
  auto bound = Bound::make(*prepared, {*out});
  ASSERT_TRUE(bound) << bound.error().to_string();
  EXPECT_EQ((*bound)->needs(), Needs::kSubmit);
  const auto submits = device().counters().submits.load();
  const auto waits = device().counters().waits.load();
  ASSERT_TRUE((*bound)->submit());
  EXPECT_EQ(device().counters().submits.load() - submits, 2);
  EXPECT_EQ(device().counters().waits.load() - waits, 1);
  EXPECT_EQ(*download<std::uint32_t>(context, *out), std::vector<std::uint32_t>({5}));
}

TEST_F(Executor, ShaderErrorsCarryTheDiagnosticAndThePass) {
  PlanBuilder builder;
  builder.tensor("y", 1, false, true)
      .pass("broken", "@compute @workgroup_size(1) fn main() { nonsense(); }", {1, 1, 1});
  builder.bind_tensor(0, BindingType::kStorage);
  for (int attempt = 0; attempt < 2; ++attempt) {
    auto prepared = Prepared::make(context, builder.done());
    ASSERT_FALSE(prepared);
    EXPECT_EQ(prepared.error().code, "device/compile");
    EXPECT_TRUE(contains(prepared.error().message, "nonsense"));
    EXPECT_TRUE(contains(prepared.error().to_string(), "compiling pass 'test.Op.only.broken'"));
  }
}

TEST_F(Executor, LayoutMismatchIsACompileError) {
  PlanBuilder builder;
  builder.tensor("y", 1, false, true)
      .pass("mismatch", R"(@group(0) @binding(0) var<storage, read_write> y: array<u32>;
@compute @workgroup_size(1) fn main() { y[0] = 1u; })",
            {1, 1, 1});
  builder.bind_tensor(0, BindingType::kReadOnlyStorage);
  auto prepared = Prepared::make(context, builder.done());
  ASSERT_FALSE(prepared);
  EXPECT_EQ(prepared.error().code, "device/compile");
}

TEST_F(Executor, BuildsOnePipelinePerKeyHoweverManyWait) {
  const auto before = context.pipelines->stats();
  const auto plan = scale_plan(77, 1.0F);
  auto unique = *plan;
  unique.passes[0].wgsl =
      std::make_shared<const std::string>(*unique.passes[0].wgsl + "\n// raced");
  unique.passes[0].key[0] ^= 0x5a;
  const auto shared = std::make_shared<const Plan>(unique);
  std::vector<std::thread> threads;
  std::atomic<int> good = 0;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] { good += Prepared::make(context, shared).has_value() ? 1 : 0; });
  }
  for (auto& thread : threads) thread.join();
  const auto after = context.pipelines->stats();
  EXPECT_EQ(good.load(), 8);
  EXPECT_EQ(after.built - before.built, 1);
  EXPECT_EQ(after.hits - before.hits, 7);
}

TEST_F(Executor, EqualKeysWithOtherTextAreOtherPipelines) {
  auto one = *scale_plan(4, 1.0F);
  auto two = one;
  two.passes[0].wgsl =
      std::make_shared<const std::string>(*one.passes[0].wgsl + "\n// another text, same key");
  const auto before = context.pipelines->stats().built;
  ASSERT_TRUE(Prepared::make(context, std::make_shared<const Plan>(one)));
  ASSERT_TRUE(Prepared::make(context, std::make_shared<const Plan>(two)));
  ASSERT_TRUE(Prepared::make(context, std::make_shared<const Plan>(two)));
  EXPECT_LE(context.pipelines->stats().built - before, 2);
  EXPECT_GE(context.pipelines->stats().built - before, 1);
}

TEST_F(Executor, NamesWhatCannotBeBound) {
  auto prepared = Prepared::make(context, scale_plan(64, 2.0F));
  ASSERT_TRUE(prepared);
  auto big = *make_slice(context, 4096);
  auto out = *make_slice(context, 256);
  const auto code = [&](std::vector<Slice> slices, bool staging = false) {
    auto bound = Bound::make(*prepared, std::move(slices), {.staging = staging});
    return bound ? std::string("bound") : bound.error().code;
  };
  EXPECT_EQ(code({{big.buffer, 256, 256}, out}), "bound");
  EXPECT_EQ(code({{big.buffer, 4, 256}, out}), "usage/alignment");
  EXPECT_EQ(code({{big.buffer, 4, 256}, out}, true), "bound");
  EXPECT_EQ(code({{big.buffer, 2, 256}, out}, true), "usage/alignment");
  EXPECT_EQ(code({{big.buffer, 0, 100}, out}), "usage/range");
  EXPECT_EQ(code({{big.buffer, 4000, 256}, out}), "usage/range");
  EXPECT_EQ(code({out}), "usage/range");
  EXPECT_EQ(code({{big.buffer, 0, 256}, {big.buffer, 1024, 256}}), "request/alias");
  EXPECT_EQ(code({{big.buffer, 0, 256}, {big.buffer, 1024, 256}}, true), "bound");
  auto plain = *make_slice(context, 256, WGPUBufferUsage_CopySrc | WGPUBufferUsage_CopyDst);
  EXPECT_EQ(code({plain, out}), "usage/buffer-usage");
  EXPECT_EQ(code({plain, out}, true), "bound");
  auto read_only =
      *make_slice(context, 256, WGPUBufferUsage_CopySrc | WGPUBufferUsage_QueryResolve);
  EXPECT_EQ(code({out, read_only}, true), "usage/buffer-usage");
}

TEST_F(Executor, StagingCopiesGiveTheSameResult) {
  auto prepared = Prepared::make(context, scale_plan(64, -1.0F));
  const auto x = numbers(512);
  auto buffer = *upload<float>(context, x);
  // Input at byte 4, output at byte 1028 of the same buffer: neither can be bound.
  auto bound = Bound::make(*prepared, {{buffer.buffer, 4, 256}, {buffer.buffer, 1028, 256}},
                           {.staging = true});
  ASSERT_TRUE(bound) << bound.error().to_string();
  EXPECT_EQ((*bound)->needs(), Needs::kEncoder);
  EXPECT_EQ((*bound)->staging_notes().size(), 2);
  ASSERT_TRUE((*bound)->submit());
  auto after = *download<float>(context, buffer);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const bool written = i >= 257 && i < 257 + 64;
    EXPECT_EQ(after[i], written ? -x[i - 256] : x[i]) << i;
  }
}

TEST_F(Executor, WritesAnyByteRangeAndLeavesNeighboursAlone) {
  for (std::uint64_t offset = 0; offset < 9; ++offset) {
    for (std::uint64_t size = 0; size < 9; ++size) {
      std::vector<std::uint8_t> expected(32, 0xaa);
      auto slice = *upload<std::uint8_t>(context, expected);
      std::vector<std::byte> bytes(size);
      for (std::uint64_t i = 0; i < size; ++i) {
        bytes[i] = static_cast<std::byte>(i + 1);
        expected[offset + i] = static_cast<std::uint8_t>(i + 1);
      }
      auto status = write(context, {slice.buffer, offset, 32 - offset}, bytes);
      ASSERT_TRUE(status) << status.error().to_string();
      EXPECT_EQ(*download<std::uint8_t>(context, slice), expected) << offset << " + " << size;
      EXPECT_EQ(*download<std::uint8_t>(context, {slice.buffer, offset, size}),
                std::vector<std::uint8_t>(expected.begin() + static_cast<long>(offset),
                                          expected.begin() + static_cast<long>(offset + size)));
    }
  }
}

struct Labels {
  std::vector<std::string> passes, debug_groups, bind_groups;
};
Labels& labels() {
  static Labels seen;
  return seen;
}

TEST_F(Executor, TellsWebGpuTheOperatorTheVariantAndThePass) {
  Procs procs = linked_procs();
  procs.compute_pass_push_debug_group = [](WGPUComputePassEncoder pass, WGPUStringView label) {
    labels().debug_groups.emplace_back(label.data, label.length);
    linked_procs().compute_pass_push_debug_group(pass, label);
  };
  procs.command_encoder_begin_compute_pass = [](WGPUCommandEncoder encoder,
                                                const WGPUComputePassDescriptor* descriptor) {
    labels().passes.emplace_back(descriptor->label.data, descriptor->label.length);
    return linked_procs().command_encoder_begin_compute_pass(encoder, descriptor);
  };
  procs.device_create_bind_group = [](WGPUDevice device,
                                      const WGPUBindGroupDescriptor* descriptor) {
    labels().bind_groups.emplace_back(descriptor->label.data, descriptor->label.length);
    return linked_procs().device_create_bind_group(device, descriptor);
  };
  labels() = {};
  auto opened = testing::open_device(procs);
  ASSERT_TRUE(opened) << opened.error().to_string();
  const Context own = Context::make(std::move(*opened));
  Plan plan = *scale_plan(64, 2.0F);
  plan.passes.resize(3, plan.passes[0]);
  plan.passes[1].label = "my name";
  plan.passes[2].id = "rounds[1].scale";  // a round of a repeat group has the label of its pass
  auto prepared = Prepared::make(own, std::make_shared<const Plan>(std::move(plan)));
  ASSERT_TRUE(prepared) << prepared.error().to_string();
  auto bound = Bound::make(*prepared, {*make_slice(own, 256), *make_slice(own, 256)});
  ASSERT_TRUE(bound) << bound.error().to_string();
  ASSERT_TRUE((*bound)->submit());
  ASSERT_TRUE(wait_for_queue(*own.device));
  const std::vector<std::string> expected = {"test.Op.only.scale", "test.Op.only.scale (my name)",
                                             "test.Op.only.rounds[1].scale"};
  EXPECT_EQ(labels().debug_groups, expected);
  EXPECT_EQ(labels().bind_groups, expected);
  EXPECT_EQ(labels().passes, std::vector<std::string>({"test.Op"}));

  labels() = {};
  auto alone = Prepared::make(own, scale_plan(64, 3.0F));
  ASSERT_TRUE(alone) << alone.error().to_string();
  auto one = Bound::make(*alone, {*make_slice(own, 256), *make_slice(own, 256)});
  ASSERT_TRUE((*one)->submit());
  EXPECT_EQ(labels().passes, std::vector<std::string>({"test.Op.only.scale"}))
      << "a dispatch that shares its pass with none";
  EXPECT_EQ(labels().bind_groups, labels().passes);
  EXPECT_TRUE(labels().debug_groups.empty());

  labels() = {};
  auto counting = Prepared::make(own, counting_plan(false));
  ASSERT_TRUE(counting) << counting.error().to_string();
  ASSERT_TRUE((*Bound::make(*counting, {*make_slice(own, 4)}))->submit());
  EXPECT_EQ(labels().debug_groups,
            std::vector<std::string>(
                {"test.Op.only.clear count", "test.Op.only.count", "test.Op.only.copy"}));
}

TEST_F(Executor, TimesPassesAndDispatches) {
  if (!device().caps().has_feature("timestamp-query")) GTEST_SKIP() << "no timestamps";
  auto prepared = Prepared::make(context, scale_plan(1 << 16, 2.0F));
  auto in = *make_slice(context, 4 << 16);
  auto out = *make_slice(context, 4 << 16);
  std::vector<std::shared_ptr<Bound>> calls = {*Bound::make(*prepared, {in, out})};
  const auto once = time_repetitions(calls, 1);
  const auto often = time_repetitions(calls, 50);
  ASSERT_TRUE(once && often) << once.error().to_string();
  EXPECT_GT(*once, 0);
  EXPECT_GT(*often, *once);
  EXPECT_GT(*time_repetitions_on_host(calls, 5), 0);
  const auto each = time_dispatches(*calls[0]);
  ASSERT_TRUE(each) << each.error().to_string();
  EXPECT_EQ(each->size(), 1);
  EXPECT_GT((*each)[0], 0);
}

}  // namespace
}  // namespace wgk::gpu
