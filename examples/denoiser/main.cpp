// SPDX-License-Identifier: Apache-2.0
// What a renderer's denoiser does each frame: a chain of normalisations at falling and rising
// resolution, with shaders of the renderer's own in between, all in one encoder, measured per
// frame.
//
// usage: denoiser GROUP_NORM_PACKAGE [FRAMES]
#include <webgpu/webgpu_cpp.h>
#include <wgk/wgk.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;
constexpr std::int64_t kChannels = 32, kGroups = 8;
constexpr std::int64_t kSizes[] = {32, 16, 8, 8, 16, 32};

// The renderer's own shader: scales a picture of one size to another by picking pixels, channels
// last.
constexpr const char* kResize = R"(
struct Sizes { old: u32, new_: u32, channels: u32, unused: u32 }
@group(0) @binding(0) var<storage, read> source: array<f32>;
@group(0) @binding(1) var<storage, read_write> target_: array<f32>;
@group(0) @binding(2) var<uniform> sizes: Sizes;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  let pixel = id.x / sizes.channels;
  if (pixel >= sizes.new_ * sizes.new_) { return; }
  let y = pixel / sizes.new_ * sizes.old / sizes.new_;
  let x = pixel % sizes.new_ * sizes.old / sizes.new_;
  target_[id.x] = source[(y * sizes.old + x) * sizes.channels + id.x % sizes.channels];
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

wgk::Shape shape_of(std::int64_t size) { return {1, size, size, kChannels}; }

struct Resize {
  wgpu::ComputePipeline pipeline;
  wgpu::BindGroup group;
  std::uint32_t groups = 0;
};

Resize make_resize(const wgpu::Device& device, const wgpu::ComputePipeline& pipeline,
                   const wgk::Tensor& from, std::int64_t from_size, const wgk::Tensor& to,
                   std::int64_t to_size) {
  const std::uint32_t sizes[4] = {static_cast<std::uint32_t>(from_size),
                                  static_cast<std::uint32_t>(to_size),
                                  static_cast<std::uint32_t>(kChannels), 0};
  wgpu::BufferDescriptor descriptor;
  descriptor.size = sizeof sizes;
  descriptor.usage = wgpu::BufferUsage::Uniform | wgpu::BufferUsage::CopyDst;
  const wgpu::Buffer uniform = device.CreateBuffer(&descriptor);
  device.GetQueue().WriteBuffer(uniform, 0, sizes, sizeof sizes);
  wgpu::BindGroupEntry entries[3];
  entries[0].buffer = wgpu::Buffer(from.buffer());  // tensors of the library are ordinary buffers
  entries[0].offset = from.byte_offset();
  entries[0].size = from.byte_length();
  entries[1].binding = 1;
  entries[1].buffer = wgpu::Buffer(to.buffer());
  entries[1].offset = to.byte_offset();
  entries[1].size = to.byte_length();
  entries[2].binding = 2;
  entries[2].buffer = uniform;
  wgpu::BindGroupDescriptor group;
  group.layout = pipeline.GetBindGroupLayout(0);
  group.entryCount = 3;
  group.entries = entries;
  return {pipeline, device.CreateBindGroup(&group),
          static_cast<std::uint32_t>(to_size * to_size * kChannels / 64)};
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 2) return std::fprintf(stderr, "usage: denoiser GROUP_NORM_PACKAGE [FRAMES]\n"), 2;
  const int frames = count > 2 ? std::atoi(arguments[2]) : 100;
  const wgk::Runtime runtime = need(wgk::Runtime::create());
  const wgk::Kernel norm = need(runtime.load(arguments[1]));
  const wgpu::Device device(runtime.device());

  wgpu::ShaderSourceWGSL source;
  source.code = kResize;
  wgpu::ShaderModuleDescriptor module;
  module.nextInChain = &source;
  wgpu::ComputePipelineDescriptor descriptor;
  descriptor.compute.module = device.CreateShaderModule(&module);
  const wgpu::ComputePipeline resize = device.CreateComputePipeline(&descriptor);

  // Compile everything ahead: the first frame is an ordinary frame.
  const wgk::Values attrs = {{"groups", kGroups}, {"activation", 1}};
  std::vector<wgk::Prewarm> ahead;
  for (const std::int64_t size : kSizes) {
    ahead.push_back({norm,
                     {.inputs = {{.name = "X", .shape = shape_of(size)},
                                 {.name = "gamma", .shape = {kChannels}},
                                 {.name = "beta", .shape = {kChannels}},
                                 {.name = "skip", .shape = shape_of(size)}},
                      .attrs = attrs}});
  }
  need(need(runtime.prewarm(ahead)).wait());

  const wgk::Tensor gamma =
      need(runtime.upload(wgk::HostTensor(std::vector<float>(kChannels, 1.0F), {kChannels})));
  const wgk::Tensor beta = need(runtime.empty(wgk::DType::f32, {kChannels}));
  std::vector<float> picture(32 * 32 * kChannels);
  for (std::size_t i = 0; i < picture.size(); ++i)
    picture[i] = static_cast<float>(i % 251) / 251.0F;
  const wgk::Tensor image = need(runtime.upload(wgk::HostTensor(picture, shape_of(32))));

  std::vector<Resize> resizes;
  std::vector<wgk::Bound> norms;
  wgk::Tensor current = image;
  std::int64_t current_size = 32;
  for (std::size_t i = 0; i < std::size(kSizes); ++i) {
    const wgk::Tensor scaled = need(runtime.empty(wgk::DType::f32, shape_of(kSizes[i])));
    const wgk::Tensor skip = need(runtime.empty(wgk::DType::f32, shape_of(kSizes[i])));
    const wgk::Prepared prepared = need(norm.prepare(ahead[i].signature));
    const wgk::Tensor output = need(prepared.make_output("Y"));
    resizes.push_back(make_resize(device, resize, current, current_size, scaled, kSizes[i]));
    norms.push_back(need(prepared.bind(
        {{"X", scaled}, {"gamma", gamma}, {"beta", beta}, {"skip", skip}, {"Y", output}})));
    current = output;
    current_size = kSizes[i];
  }

  std::vector<double> host, whole;
  const auto before = runtime.stats();
  for (int frame = 0; frame < frames; ++frame) {
    const auto start = Clock::now();
    const wgpu::CommandEncoder encoder = device.CreateCommandEncoder();
    const wgpu::ComputePassEncoder pass = encoder.BeginComputePass();
    for (std::size_t i = 0; i < norms.size(); ++i) {
      pass.SetPipeline(resizes[i].pipeline);
      pass.SetBindGroup(0, resizes[i].group);
      pass.DispatchWorkgroups(resizes[i].groups);
      need(norms[i].record(pass.Get()));
    }
    pass.End();
    const wgpu::CommandBuffer commands = encoder.Finish();
    device.GetQueue().Submit(1, &commands);
    host.push_back(std::chrono::duration<double, std::micro>(Clock::now() - start).count());
    need(runtime.wait_idle());
    whole.push_back(std::chrono::duration<double, std::micro>(Clock::now() - start).count());
  }
  const auto after = runtime.stats();
  const double first = whole.front();
  std::ranges::sort(host);
  std::ranges::sort(whole);
  const std::vector<float> result = need(current.download<float>());
  double sum = 0;
  for (const float value : result) sum += value;
  std::printf("%zu normalisations and %zu resizes a frame on %s\n", norms.size(), resizes.size(),
              runtime.describe().adapter.name.c_str());
  std::printf(
      "median of %d frames: %.1f us, of which the host records and submits for %.1f us; the first "
      "took %.1f us: some drivers finish compiling at the first dispatch\n",
      frames, whole[whole.size() / 2], host[host.size() / 2], first);
  std::printf(
      "made in these frames: %llu buffers, %llu bind groups, %llu pipelines; mean of the result "
      "%.6f\n",
      static_cast<unsigned long long>(after.buffers_made - before.buffers_made),
      static_cast<unsigned long long>(after.bind_groups_made - before.bind_groups_made),
      static_cast<unsigned long long>(after.pipelines_built - before.pipelines_built),
      sum / static_cast<double>(result.size()));
  // SiLU of normalised values has a positive mean, and nothing may be made while frames run.
  return sum > 0 && after.buffers_made == before.buffers_made &&
                 after.bind_groups_made == before.bind_groups_made &&
                 after.pipelines_built == before.pipelines_built
             ? 0
             : 1;
}
