// SPDX-License-Identifier: Apache-2.0
// What a renderer's denoiser does each frame: a chain of normalisations at falling and rising
// resolution, with shaders of the renderer's own in between, all in one encoder, measured per
// frame. The last frame is compared with awaited calls of the library, bit for bit, and with plain
// C++ arithmetic.
//
// usage: denoiser GROUP_NORM_PACKAGE [FRAMES]
#include <webgpu/webgpu_cpp.h>
#include <wgk/wgk.h>

#include <algorithm>
#include <chrono>
#include <cmath>
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

wgpu::ComputePipeline make_resize_pipeline(const wgpu::Device& device) {
  wgpu::ShaderSourceWGSL source;
  source.code = kResize;
  wgpu::ShaderModuleDescriptor module;
  module.nextInChain = &source;
  wgpu::ComputePipelineDescriptor descriptor;
  descriptor.compute.module = device.CreateShaderModule(&module);
  return device.CreateComputePipeline(&descriptor);
}

struct Resize {
  wgpu::ComputePipeline pipeline;
  wgpu::BindGroup group;
  std::uint32_t groups = 0;

  void record(const wgpu::ComputePassEncoder& pass) const {
    pass.SetPipeline(pipeline);
    pass.SetBindGroup(0, group);
    pass.DispatchWorkgroups(groups);
  }
};

Resize make_resize(const wgpu::Device& device, const wgpu::ComputePipeline& pipeline,
                   const wgk::Tensor& from, const wgk::Tensor& to) {
  const std::int64_t size = to.shape()[1];
  const std::uint32_t sizes[4] = {static_cast<std::uint32_t>(from.shape()[1]),
                                  static_cast<std::uint32_t>(size),
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
          static_cast<std::uint32_t>(size * size * kChannels / 64)};
}

std::vector<float> make_picture() {
  std::vector<float> picture(32 * 32 * kChannels);
  for (std::size_t i = 0; i < picture.size(); ++i)
    picture[i] = static_cast<float>(i % 251) / 251.0F;
  return picture;
}

// The chain on one device: everything is compiled and bound before the first frame.
class Denoiser {
 public:
  explicit Denoiser(const char* package)
      : runtime_(need(wgk::Runtime::create())),
        norm_(need(runtime_.load(package))),
        device_(runtime_.device()),
        resize_(make_resize_pipeline(device_)),
        gamma_(need(
            runtime_.upload(wgk::HostTensor(std::vector<float>(kChannels, 1.0F), {kChannels})))),
        beta_(need(runtime_.zeros(wgk::DType::f32, {kChannels}))),
        image_(need(runtime_.upload(wgk::HostTensor(make_picture(), shape_of(32))))) {
    prewarm();
    wgk::Tensor current = image_;
    for (const std::int64_t size : kSizes) {
      const wgk::Tensor scaled = need(runtime_.empty(wgk::DType::f32, shape_of(size)));
      const wgk::Tensor skip = need(runtime_.zeros(wgk::DType::f32, shape_of(size)));
      const wgk::Prepared prepared = need(norm_.prepare(signature(size)));
      const wgk::Tensor output = need(prepared.make_output("Y"));
      resizes_.push_back(make_resize(device_, resize_, current, scaled));
      norms_.push_back(need(prepared.bind(
          {{"X", scaled}, {"gamma", gamma_}, {"beta", beta_}, {"skip", skip}, {"Y", output}})));
      current = output;
    }
    result_ = current;
  }
  const wgk::Runtime& runtime() const { return runtime_; }
  const wgk::Tensor& result() const { return result_; }

  // Records and submits everything that a frame needs.
  void frame() const {
    const wgpu::CommandEncoder encoder = device_.CreateCommandEncoder();
    const wgpu::ComputePassEncoder pass = encoder.BeginComputePass();
    for (std::size_t i = 0; i < norms_.size(); ++i) {
      resizes_[i].record(pass);
      need(norms_[i].record(pass.Get()));
    }
    pass.End();
    const wgpu::CommandBuffer commands = encoder.Finish();
    device_.GetQueue().Submit(1, &commands);
  }

  // The same one step after another, each waited for.
  std::vector<float> awaited() const {
    wgk::Tensor current = image_;
    for (const std::int64_t size : kSizes) {
      const wgk::Tensor scaled = need(runtime_.empty(wgk::DType::f32, shape_of(size)));
      const wgpu::CommandEncoder encoder = device_.CreateCommandEncoder();
      const wgpu::ComputePassEncoder pass = encoder.BeginComputePass();
      make_resize(device_, resize_, current, scaled).record(pass);
      pass.End();
      const wgpu::CommandBuffer commands = encoder.Finish();
      device_.GetQueue().Submit(1, &commands);
      const wgk::Tensor skip = need(runtime_.zeros(wgk::DType::f32, shape_of(size)));
      current = need(norm_.call({{"X", scaled}, {"gamma", gamma_}, {"beta", beta_}, {"skip", skip}},
                                {.attrs = attrs_}))
                    .at("Y");
      need(runtime_.wait_idle());
    }
    return need(current.download<float>());
  }

 private:
  wgk::Signature signature(std::int64_t size) const {
    return {.inputs = {{.name = "X", .shape = shape_of(size)},
                       {.name = "gamma", .shape = {kChannels}},
                       {.name = "beta", .shape = {kChannels}},
                       {.name = "skip", .shape = shape_of(size)}},
            .attrs = attrs_};
  }
  // Compile everything ahead: the first frame is an ordinary frame.
  void prewarm() const {
    std::vector<wgk::Prewarm> ahead;
    for (const std::int64_t size : kSizes) ahead.push_back({norm_, signature(size)});
    need(need(runtime_.prewarm(ahead)).wait());
  }

  wgk::Values attrs_ = {{"groups", kGroups}, {"activation", 1}};
  wgk::Runtime runtime_;
  wgk::Kernel norm_;
  wgpu::Device device_;
  wgpu::ComputePipeline resize_;
  wgk::Tensor gamma_, beta_, image_, result_;
  std::vector<Resize> resizes_;
  std::vector<wgk::Bound> norms_;
};

// The frame in plain arithmetic.
std::vector<float> expected() {
  std::vector<float> current = make_picture();
  std::size_t old_size = 32;
  const auto channels = static_cast<std::size_t>(kChannels),
             width = static_cast<std::size_t>(kChannels / kGroups);
  for (const std::int64_t wanted : kSizes) {
    const auto size = static_cast<std::size_t>(wanted);
    std::vector<float> next(size * size * channels);
    for (std::size_t i = 0; i < next.size(); ++i) {
      const std::size_t pixel = i / channels, y = pixel / size * old_size / size,
                        x = pixel % size * old_size / size;
      next[i] = current[(y * old_size + x) * channels + i % channels];
    }
    for (std::size_t first = 0; first < channels; first += width) {
      double sum = 0, squares = 0;
      const auto each = [&](const auto& use) {
        for (std::size_t i = 0; i < next.size(); ++i) {
          if (i % channels >= first && i % channels < first + width) use(next[i]);
        }
      };
      each([&](float& value) { sum += value; });
      const double elements = static_cast<double>(size * size * width), mean = sum / elements;
      each([&](float& value) { squares += (value - mean) * (value - mean); });
      const double scale = 1 / std::sqrt(squares / elements + 1e-5);
      each([&](float& value) {
        const double normal = (value - mean) * scale;
        value = static_cast<float>(normal / (1 + std::exp(-normal)));
      });
    }
    current = std::move(next);
    old_size = size;
  }
  return current;
}

struct Spent {
  std::vector<double> host, whole;  // microseconds of each frame
};

Spent run(const Denoiser& denoiser, int frames) {
  Spent spent;
  for (int frame = 0; frame < frames; ++frame) {
    const auto start = Clock::now();
    denoiser.frame();
    spent.host.push_back(std::chrono::duration<double, std::micro>(Clock::now() - start).count());
    need(denoiser.runtime().wait_idle());
    spent.whole.push_back(std::chrono::duration<double, std::micro>(Clock::now() - start).count());
  }
  return spent;
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 2) return std::fprintf(stderr, "usage: denoiser GROUP_NORM_PACKAGE [FRAMES]\n"), 2;
  const int frames = count > 2 ? std::max(1, std::atoi(arguments[2])) : 100;
  const Denoiser denoiser(arguments[1]);
  const auto before = denoiser.runtime().stats();
  const Spent spent = run(denoiser, frames);
  const auto after = denoiser.runtime().stats();
  std::printf("%zu normalisations and %zu resizes a frame on %s\n", std::size(kSizes),
              std::size(kSizes), denoiser.runtime().describe().adapter.name.c_str());
  std::printf(
      "median of %d frames: %.1f us, of which the host records and submits for %.1f us; the first "
      "took %.1f us: some drivers finish compiling at the first dispatch\n",
      frames, median(spent.whole), median(spent.host), spent.whole.front());
  std::printf("made in these frames: %llu buffers, %llu bind groups, %llu pipelines\n",
              static_cast<unsigned long long>(after.buffers_made - before.buffers_made),
              static_cast<unsigned long long>(after.bind_groups_made - before.bind_groups_made),
              static_cast<unsigned long long>(after.pipelines_built - before.pipelines_built));

  const std::vector<float> result = need(denoiser.result().download<float>());
  const bool same = result == denoiser.awaited();
  const std::vector<float> reference = expected();
  double worst = result.size() == reference.size() ? 0 : 1;
  for (std::size_t i = 0; i < std::min(result.size(), reference.size()); ++i)
    worst = std::max(worst, std::abs(static_cast<double>(result[i]) - reference[i]));
  std::printf(
      "the last frame and awaited calls are %s; largest distance from plain arithmetic: %.2g\n",
      same ? "the same, bit for bit" : "DIFFERENT", worst);
  // Nothing may be made while frames run.
  return same && worst < 1e-4 && after.buffers_made == before.buffers_made &&
                 after.bind_groups_made == before.bind_groups_made &&
                 after.pipelines_built == before.pipelines_built
             ? 0
             : 1;
}
