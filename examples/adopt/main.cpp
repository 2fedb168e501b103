// SPDX-License-Identifier: Apache-2.0
// A program with its own WebGPU device runs a kernel between two passes of its own: same device,
// same buffers, same encoder, nothing waited for in between.
//
// usage: adopt PACKAGE   (the folder of com.microsoft.SkipSimplifiedLayerNormalization)
#include <webgpu/webgpu_cpp.h>
#include <wgk/wgk.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

constexpr std::uint32_t kRows = 256, kHidden = 512, kCount = kRows * kHidden;

// Pass 1 of the program's own: something that changes every frame.
constexpr const char* kProduce = R"(
@group(0) @binding(0) var<storage, read_write> x: array<f32>;
@group(0) @binding(1) var<uniform> frame: vec4<f32>;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  x[id.x] = sin(f32(id.x) * 0.01 + frame.x);
})";

// Pass 2: the mean square of each row, which a norm makes 1.
constexpr const char* kConsume = R"(
@group(0) @binding(0) var<storage, read> y: array<f32>;
@group(0) @binding(1) var<storage, read_write> result: array<f32>;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  var sum = 0.0;
  for (var i = 0u; i < 512u; i = i + 1u) { let v = y[id.x * 512u + i]; sum = sum + v * v; }
  result[id.x] = sum / 512.0;
})";

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

struct Pass {
  wgpu::ComputePipeline pipeline;
  wgpu::BindGroup group;
};

Pass make_pass(const wgpu::Device& device, const char* text,
               const std::vector<wgpu::Buffer>& buffers) {
  wgpu::ShaderSourceWGSL source;
  source.code = text;
  wgpu::ShaderModuleDescriptor module;
  module.nextInChain = &source;
  wgpu::ComputePipelineDescriptor pipeline;
  pipeline.compute.module = device.CreateShaderModule(&module);
  Pass pass{device.CreateComputePipeline(&pipeline), {}};
  std::vector<wgpu::BindGroupEntry> entries(buffers.size());
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    entries[i].binding = static_cast<std::uint32_t>(i);
    entries[i].buffer = buffers[i];
  }
  wgpu::BindGroupDescriptor group;
  group.layout = pass.pipeline.GetBindGroupLayout(0);
  group.entryCount = entries.size();
  group.entries = entries.data();
  pass.group = device.CreateBindGroup(&group);
  return pass;
}

wgpu::Buffer make_buffer(const wgpu::Device& device, std::uint64_t size, wgpu::BufferUsage usage) {
  wgpu::BufferDescriptor descriptor;
  descriptor.size = size;
  descriptor.usage = usage;
  return device.CreateBuffer(&descriptor);
}

void dispatch(const wgpu::CommandEncoder& encoder, const Pass& pass, std::uint32_t groups) {
  const wgpu::ComputePassEncoder commands = encoder.BeginComputePass();
  commands.SetPipeline(pass.pipeline);
  commands.SetBindGroup(0, pass.group);
  commands.DispatchWorkgroups(groups);
  commands.End();
}

// The program's own device, made with what the package can use.
struct OwnDevice {
  wgpu::Instance instance;
  wgpu::Device device;
};

OwnDevice make_device(wgk::DeviceNeeds& needs) {
  const auto feature = wgpu::InstanceFeatureName::TimedWaitAny;
  wgpu::InstanceDescriptor instance_wanted;
  instance_wanted.requiredFeatureCount = 1;
  instance_wanted.requiredFeatures = &feature;
  OwnDevice own{wgpu::CreateInstance(&instance_wanted), {}};
  wgpu::Adapter adapter;
  own.instance.WaitAny(
      own.instance.RequestAdapter(nullptr, wgpu::CallbackMode::WaitAnyOnly,
                                  [&](wgpu::RequestAdapterStatus, wgpu::Adapter found,
                                      wgpu::StringView) { adapter = found; }),
      UINT64_MAX);
  if (!adapter) {
    std::fprintf(stderr, "no adapter\n");
    std::exit(1);
  }
  WGPUDeviceDescriptor wanted = WGPU_DEVICE_DESCRIPTOR_INIT;
  need(needs.add_to(adapter.Get(), wanted));
  own.device = wgpu::Device::Acquire(wgpuAdapterCreateDevice(adapter.Get(), &wanted));
  return own;
}

// Its own buffers and passes.
struct Scene {
  wgpu::Buffer x, y, squares, frame;
  Pass produce, consume;
};

Scene make_scene(const wgpu::Device& device) {
  const auto storage =
      wgpu::BufferUsage::Storage | wgpu::BufferUsage::CopySrc | wgpu::BufferUsage::CopyDst;
  Scene scene;
  scene.x = make_buffer(device, kCount * 4, storage);
  scene.y = make_buffer(device, kCount * 4, storage);
  scene.squares = make_buffer(device, kRows * 4, storage);
  scene.frame = make_buffer(device, 16, wgpu::BufferUsage::Uniform | wgpu::BufferUsage::CopyDst);
  scene.produce = make_pass(device, kProduce, {scene.x, scene.frame});
  scene.consume = make_pass(device, kConsume, {scene.y, scene.squares});
  return scene;
}

// The kernel on that device, bound to those buffers.
wgk::Bound bind(const wgk::Runtime& runtime, const wgk::Kernel& norm, const Scene& scene) {
  const wgk::Shape shape = {kRows, kHidden};
  const wgk::Prepared prepared =
      need(norm.prepare({.inputs = {{"input", wgk::DType::f32, shape},
                                    {"skip", wgk::DType::f32, shape},
                                    {"gamma", wgk::DType::f32, {kHidden}}}}));
  const wgk::Tensor input =
      need(wgk::Tensor::wrap(runtime, scene.x.Get(), 0, kCount * 4, shape, wgk::DType::f32));
  const wgk::Tensor output =
      need(wgk::Tensor::wrap(runtime, scene.y.Get(), 0, kCount * 4, shape, wgk::DType::f32));
  const wgk::Tensor skip = need(runtime.zeros(wgk::DType::f32, shape));
  const wgk::Tensor gamma =
      need(runtime.upload(wgk::HostTensor(std::vector<float>(kHidden, 1.0F), {kHidden})));
  const wgk::Bound bound =
      need(prepared.bind({{"input", input}, {"skip", skip}, {"gamma", gamma}, {"output", output}}));
  std::printf(
      "%s on %s needs a %s and %llu bytes beside the tensors\n", prepared.plan().variant.c_str(),
      runtime.describe().adapter.name.c_str(), std::string(wgk::name(bound.needs())).c_str(),
      static_cast<unsigned long long>(prepared.memory().scratch + prepared.memory().uniforms));
  return bound;
}

// Three passes, one encoder, one submit; the microseconds that recording the kernel took.
double run_frame(const wgpu::Device& device, const Scene& scene, const wgk::Bound& bound, int i) {
  const float values[4] = {static_cast<float>(i), 0, 0, 0};
  device.GetQueue().WriteBuffer(scene.frame, 0, values, sizeof values);
  const wgpu::CommandEncoder encoder = device.CreateCommandEncoder();
  dispatch(encoder, scene.produce, kCount / 64);
  const wgpu::ComputePassEncoder pass = encoder.BeginComputePass();
  const auto from = std::chrono::steady_clock::now();
  need(bound.record(pass.Get()));
  const std::chrono::duration<double, std::micro> spent = std::chrono::steady_clock::now() - from;
  pass.End();
  dispatch(encoder, scene.consume, kRows / 64);
  const wgpu::CommandBuffer commands = encoder.Finish();
  device.GetQueue().Submit(1, &commands);
  return spent.count();
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) return std::fprintf(stderr, "usage: adopt PACKAGE\n"), 2;
  const wgk::Package package = need(wgk::Package::open(arguments[1]));
  wgk::DeviceNeeds needs = need(wgk::device_needs({&package, 1}));
  const OwnDevice own = make_device(needs);
  const Scene scene = make_scene(own.device);
  const wgk::Runtime runtime = need(wgk::Runtime::adopt(
      {.device = own.device.Get(), .instance = own.instance.Get(), .timed_wait = true}));
  const wgk::Bound bound = bind(runtime, need(runtime.load(package)), scene);

  constexpr int kFrames = 60;
  const auto before = runtime.stats();
  double record = 0;
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < kFrames; ++i) record += run_frame(own.device, scene, bound, i);
  need(runtime.wait_idle());
  const double milliseconds =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  const auto after = runtime.stats();
  const wgk::Tensor result =
      need(wgk::Tensor::wrap(runtime, scene.squares.Get(), 0, kRows * 4, {kRows}, wgk::DType::f32));
  double worst = 0;
  for (const float value : need(result.download<float>()))
    worst = std::max(worst, std::abs(value - 1.0));
  std::printf(
      "%d frames: %.3f ms each, %.2f us of it to record the kernel; %llu submits and %llu new bind "
      "groups of the library's\n",
      kFrames, milliseconds / kFrames, record / kFrames,
      static_cast<unsigned long long>(after.submits - before.submits),
      static_cast<unsigned long long>(after.bind_groups_made - before.bind_groups_made));
  std::printf("largest distance of a row's mean square from 1: %.2g\n", worst);
  return worst < 1e-4 && after.submits == before.submits &&
                 after.bind_groups_made == before.bind_groups_made
             ? 0
             : 1;
}
