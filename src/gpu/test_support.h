// SPDX-License-Identifier: Apache-2.0
// For tests: a device, and plans written by hand.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/digest.h"
#include "gpu/executor.h"
#include "gpu/transfer.h"

namespace wgk::gpu::testing {

// Tests that need a device fail without one, unless this says that there is none on purpose.
inline bool no_device() {
  const char* value = std::getenv("WGK_TEST_DEVICE");
  return value != nullptr && std::string_view(value) == "none";
}

inline ::testing::AssertionResult contains(std::string_view text, std::string_view part) {
  if (text.contains(part))
    return ::testing::AssertionSuccess() << "'" << text << "' contains '" << part << "'";
  return ::testing::AssertionFailure() << "'" << text << "' lacks '" << part << "'";
}

template <class List, class T>
bool has(const List& list, const T& value) {
  return std::ranges::find(list, value) != std::ranges::end(list);
}

inline Result<std::shared_ptr<Device>> open_device(const Procs& procs = linked_procs(),
                                                   const DeviceOptions& options = {},
                                                   LogSink sink = {},
                                                   const AdapterChoice& choice = {}) {
  auto instance = Instance::create(procs, std::make_shared<const Log>(std::move(sink)));
  if (!instance) return std::unexpected(std::move(instance.error()));
  auto adapter = (*instance)->choose(choice);
  if (!adapter) return std::unexpected(std::move(adapter.error()));
  return Device::open(std::move(*instance), std::move(*adapter), options);
}

// One device for all tests of a program that do not break it.
inline const Context& shared_context() {
  static const Context kContext = [] {
    auto device = open_device();
    if (!device) {
      ADD_FAILURE() << device.error().to_string();
      return Context();
    }
    return Context::make(std::move(*device));
  }();
  return kContext;
}

class DeviceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (no_device()) GTEST_SKIP() << "WGK_TEST_DEVICE=none";
    ASSERT_TRUE(shared_context().device)
        << "no device: set WGK_TEST_DEVICE=none to skip on purpose";
  }
};

struct PlanBuilder {
  Plan plan;

  PlanBuilder() {
    plan.op_id = "test.Op";
    plan.variant = "only";
  }
  PlanBuilder& tensor(std::string port, std::int64_t elements, bool input, bool output,
                      DType dtype = DType::f32) {
    PlanTensor tensor;
    tensor.port = std::move(port);
    tensor.dtype = tensor.storage = dtype;
    tensor.shape = {elements};
    tensor.byte_length = static_cast<std::uint64_t>(elements) * device_bytes(dtype);
    tensor.buffer_size = std::max<std::uint64_t>(4, (tensor.byte_length + 3) / 4 * 4);
    tensor.is_input = input;
    tensor.is_output = output;
    plan.tensors.push_back(std::move(tensor));
    return *this;
  }
  PlanBuilder& scratch(std::string id, std::int64_t elements, bool zero_init,
                       bool kept_zero = false) {
    PlanScratch scratch;
    scratch.id = std::move(id);
    scratch.dtype = DType::u32;
    scratch.shape = {elements};
    scratch.byte_length = scratch.buffer_size = static_cast<std::uint64_t>(elements) * 4;
    scratch.zero_init = zero_init;
    scratch.kept_zero = kept_zero;
    plan.scratch.push_back(std::move(scratch));
    return *this;
  }
  PlanBuilder& pass(std::string id, std::string wgsl, std::array<std::uint32_t, 3> dispatch) {
    PlanPass pass;
    pass.id = id;
    pass.label = "test.Op.only." + id;
    pass.wgsl = std::make_shared<const std::string>(std::move(wgsl));
    pass.dispatch = dispatch;
    plan.passes.push_back(std::move(pass));
    return *this;
  }
  PlanBuilder& bind_tensor(std::size_t slot, BindingType type) {
    return bind(PlanBinding::Resource::kTensor, slot, type, plan.tensors[slot].buffer_size);
  }
  PlanBuilder& bind_scratch(std::size_t slot, BindingType type) {
    return bind(PlanBinding::Resource::kScratch, slot, type, plan.scratch[slot].buffer_size);
  }
  template <class T>
  PlanBuilder& uniform(std::array<T, 4> values) {
    PlanUniform uniform;
    uniform.name = "params";
    const auto raw = std::as_bytes(std::span(values));
    uniform.bytes.assign(raw.begin(), raw.end());
    plan.passes.back().uniforms.push_back(std::move(uniform));
    return bind(PlanBinding::Resource::kUniform, plan.passes.back().uniforms.size() - 1,
                BindingType::kUniform, 16);
  }
  PlanBuilder& submit_after() {
    plan.passes.back().submit_after = true;
    return *this;
  }
  std::shared_ptr<const Plan> done() {
    for (PlanPass& pass : plan.passes) {
      std::string text = *pass.wgsl;
      for (const PlanBinding& binding : pass.bindings)
        text += std::to_string(static_cast<int>(binding.type));
      const Digest128 digest = digest128(text);
      std::memcpy(pass.key.data(), &digest.high, 8);
      std::memcpy(pass.key.data() + 8, &digest.low, 8);
    }
    return std::make_shared<const Plan>(plan);
  }

 private:
  PlanBuilder& bind(PlanBinding::Resource resource, std::size_t slot, BindingType type,
                    std::uint64_t size) {
    PlanBinding binding;
    binding.index = static_cast<std::uint32_t>(plan.passes.back().bindings.size());
    binding.type = type;
    binding.resource = resource;
    binding.slot = slot;
    binding.size = size;
    plan.passes.back().bindings.push_back(std::move(binding));
    return *this;
  }
};

// y = x * factor
inline std::shared_ptr<const Plan> scale_plan(std::int64_t elements, float factor) {
  return PlanBuilder()
      .tensor("x", elements, true, false)
      .tensor("y", elements, false, true)
      .pass("scale", R"(struct P { factor: f32, a: f32, b: f32, c: f32 }
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
@group(0) @binding(2) var<uniform> p: P;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  if (id.x < arrayLength(&x)) { y[id.x] = x[id.x] * p.factor; }
})",
            {static_cast<std::uint32_t>((elements + 63) / 64), 1, 1})
      .bind_tensor(0, BindingType::kReadOnlyStorage)
      .bind_tensor(1, BindingType::kStorage)
      .uniform<float>({factor, 0, 0, 0})
      .done();
}

inline Result<Slice> make_slice(const Context& context, std::uint64_t size,
                                WGPUBufferUsage usage = kTensorUsage) {
  auto made = context.memory->allocate(size, usage, "test");
  if (!made) return std::unexpected(std::move(made.error()));
  return Slice{made->buffer, 0, size};
}

template <class T>
Result<Slice> upload(const Context& context, std::span<const T> values) {
  auto slice = make_slice(context, std::max<std::uint64_t>(4, (values.size_bytes() + 3) / 4 * 4));
  if (!slice) return slice;
  if (auto status = write(context, *slice, std::as_bytes(values)); !status)
    return std::unexpected(std::move(status.error()));
  return slice;
}

template <class T>
Result<std::vector<T>> download(const Context& context, const Slice& slice) {
  auto back = ReadBack::make(context, {&slice, 1});
  if (!back) return std::unexpected(std::move(back.error()));
  if (auto status = (*back)->submit(); !status) return std::unexpected(std::move(status.error()));
  if (auto status = (*back)->start(); !status) return std::unexpected(std::move(status.error()));
  if (auto status = (*back)->wait(); !status) return std::unexpected(std::move(status.error()));
  std::vector<T> values(slice.size / sizeof(T));
  std::memcpy(values.data(), (*back)->data(0).data(), values.size() * sizeof(T));
  return values;
}

inline std::vector<float> numbers(std::size_t count) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<float>(i) * 0.5F - 7.0F;
  return values;
}

}  // namespace wgk::gpu::testing
