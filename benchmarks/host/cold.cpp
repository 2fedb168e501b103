// SPDX-License-Identifier: Apache-2.0
// A new process up to its first result, by this library and by bare Dawn calls that do the same;
// and the pipelines of many variants from a full disk cache.
//
//   cold adapter                      what everything runs on
//   cold plan PACKAGE FILE            writes what the bare program needs
//   cold ours PACKAGE                 one row norm of 1 x 4096; prints the first number
//   cold ahead PACKAGE                the same, the package opened while the device is made
//   cold bare FILE
//   cold pipelines PACKAGE FOLDER     microseconds of 12 pipelines: by the library, then by bare
//   calls on the same kind of device, and how many of the cache's blobs each of them loaded
//   cold calls PACKAGE                what 10,000 calls make after the third
#include <malloc.h>
#include <webgpu/webgpu.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <future>
#include <iterator>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "wgk/wgk.h"

namespace {

constexpr std::int64_t kHidden = 4096;
using Clock = std::chrono::steady_clock;

template <class T>
T need(wgk::Result<T> result) {
  if (result) return std::move(*result);
  std::fprintf(stderr, "%s\n", result.error().to_string().c_str());
  std::exit(1);
}

wgk::Signature signature(wgk::DType dtype, std::int64_t rows, std::int64_t hidden) {
  return {.inputs = {{.name = "inputT", .dtype = dtype, .shape = {rows, hidden}},
                     {.name = "skipT", .dtype = dtype, .shape = {rows, hidden}},
                     {.name = "gammaT", .dtype = dtype, .shape = {hidden}}}};
}

int write_plan(const char* package, const char* file) {
  const wgk::Runtime runtime = need(wgk::Runtime::create());
  const auto plan = need(need(runtime.load(package)).plan(signature(wgk::DType::f32, 1, kHidden)));
  if (plan->passes.size() != 1 || !plan->scratch.empty())
    return std::fputs("the plan has several passes\n", stderr), 1;
  const wgk::PlanPass& pass = plan->passes[0];
  std::ofstream out(file, std::ios::binary);
  // Features that this very text enables; the bare program asks for nothing else.
  std::vector<std::string_view> features;
  for (const std::string_view name : {"shader-f16", "subgroups"}) {
    if (std::ranges::find(plan->features, name) != plan->features.end()) features.push_back(name);
  }
  out << features.size();
  for (const std::string_view name : features) out << ' ' << name;
  out << '\n';
  out << pass.bindings.size() << ' ' << pass.dispatch[0] << ' ' << pass.dispatch[1] << ' '
      << pass.dispatch[2] << '\n';
  for (const wgk::PlanBinding& binding : pass.bindings) {
    const bool uniform = binding.resource == wgk::PlanBinding::Resource::kUniform;
    out << static_cast<int>(binding.type) << ' ' << binding.size << ' '
        << (uniform || plan->tensors[binding.slot].is_input ? 0 : 1);
    if (uniform) {
      for (const std::byte byte : pass.uniforms[binding.slot].bytes)
        out << ' ' << static_cast<int>(byte);
    }
    out << '\n';
  }
  out << *pass.wgsl;
  return 0;
}

// `ahead`: the package is opened while the device is made, which needs nothing but a thread.
int ours(const char* package, bool ahead) {
  std::future<wgk::Result<wgk::Package>> opened =
      std::async(ahead ? std::launch::async : std::launch::deferred,
                 [package] { return wgk::Package::open(package); });
  const wgk::Runtime runtime = need(wgk::Runtime::create());
  const wgk::Kernel norm = need(runtime.load(need(opened.get())));
  const std::vector<float> row(kHidden, 1.0F);
  const wgk::CallResult result = need(norm.call({{"inputT", wgk::HostTensor(row, {1, kHidden})},
                                                 {"skipT", wgk::HostTensor(row, {1, kHidden})},
                                                 {"gammaT", wgk::HostTensor(row, {kHidden})}},
                                                {.read_back = true}));
  std::printf("%g\n", need(result.at("outputT").download<float>())[0]);
  std::fflush(stdout);
  return 0;
}

struct BareDevice {
  WGPUInstance instance = nullptr;
  WGPUDevice device = nullptr;
  std::atomic<int> blobs_loaded = 0;
  WGPUDawnLoadCacheDataCallback load = nullptr;

  // `needs`: the features, limits, toggles and cache hooks to make it with; null: what a plain
  // program asks for.
  explicit BareDevice(wgk::DeviceNeeds* needs, std::span<const WGPUFeatureName> features = {}) {
    const WGPUInstanceFeatureName feature = WGPUInstanceFeatureName_TimedWaitAny;
    WGPUInstanceDescriptor wanted = WGPU_INSTANCE_DESCRIPTOR_INIT;
    wanted.requiredFeatureCount = 1;
    wanted.requiredFeatures = &feature;
    instance = wgpuCreateInstance(&wanted);
    WGPUAdapter adapter = nullptr;
    WGPURequestAdapterCallbackInfo found = WGPU_REQUEST_ADAPTER_CALLBACK_INFO_INIT;
    found.mode = WGPUCallbackMode_WaitAnyOnly;
    found.callback = [](WGPURequestAdapterStatus, WGPUAdapter result, WGPUStringView, void* to,
                        void*) { *static_cast<WGPUAdapter*>(to) = result; };
    found.userdata1 = &adapter;
    wait(wgpuInstanceRequestAdapter(instance, nullptr, found));
    WGPUDeviceDescriptor descriptor = WGPU_DEVICE_DESCRIPTOR_INIT;
    descriptor.requiredFeatures = features.data();
    descriptor.requiredFeatureCount = features.size();
    WGPULimits most = WGPU_LIMITS_INIT;
    wgpuAdapterGetLimits(adapter, &most);
    descriptor.requiredLimits = &most;
    if (needs != nullptr && !needs->add_to(adapter, descriptor)) std::exit(1);
    WGPURequestDeviceCallbackInfo made = WGPU_REQUEST_DEVICE_CALLBACK_INFO_INIT;
    made.mode = WGPUCallbackMode_WaitAnyOnly;
    made.callback = [](WGPURequestDeviceStatus, WGPUDevice result, WGPUStringView, void* to,
                       void*) { *static_cast<WGPUDevice*>(to) = result; };
    made.userdata1 = &device;
    count_loads(descriptor.nextInChain);
    wait(wgpuAdapterRequestDevice(adapter, &descriptor, made));
  }
  // Puts a counter in front of the cache's load function, where the descriptor has one.
  void count_loads(WGPUChainedStruct* chain) {
    for (; chain != nullptr; chain = chain->next) {
      if (chain->sType != WGPUSType_DawnCacheDeviceDescriptor) continue;
      auto& hook =
          reinterpret_cast<WGPUDawnCacheDeviceDescriptor*>(chain)->dawnLoadCacheDataCallbackInfo;
      load = hook.callback;
      hook.callback = [](std::size_t key_size, const std::uint8_t* key, std::size_t size,
                         std::uint8_t* value, void* cache, void* self) {
        auto& counter = *static_cast<BareDevice*>(self);
        const std::size_t found = counter.load(key_size, key, size, value, cache, nullptr);
        if (found > 0 && value != nullptr) ++counter.blobs_loaded;
        return found;
      };
      hook.userdata2 = this;
    }
  }
  void wait(WGPUFuture future) const {
    WGPUFutureWaitInfo info = {future, WGPU_FALSE};
    wgpuInstanceWaitAny(instance, 1, &info, UINT64_MAX);
  }
};

WGPUBufferBindingType binding_type(int type) {
  return type == 0   ? WGPUBufferBindingType_ReadOnlyStorage
         : type == 1 ? WGPUBufferBindingType_Storage
                     : WGPUBufferBindingType_Uniform;
}

// Starts a pipeline with an explicit layout, as the library does.
WGPUFuture start_pipeline(WGPUDevice device, std::string_view wgsl, const std::vector<int>& types,
                          WGPUBindGroupLayout* layout, WGPUComputePipeline* pipeline) {
  std::vector<WGPUBindGroupLayoutEntry> entries;
  for (std::size_t i = 0; i < types.size(); ++i) {
    WGPUBindGroupLayoutEntry entry = WGPU_BIND_GROUP_LAYOUT_ENTRY_INIT;
    entry.binding = static_cast<std::uint32_t>(i);
    entry.visibility = WGPUShaderStage_Compute;
    entry.buffer.type = binding_type(types[i]);
    entries.push_back(entry);
  }
  WGPUBindGroupLayoutDescriptor group = WGPU_BIND_GROUP_LAYOUT_DESCRIPTOR_INIT;
  group.entryCount = entries.size();
  group.entries = entries.data();
  *layout = wgpuDeviceCreateBindGroupLayout(device, &group);
  WGPUPipelineLayoutDescriptor pipeline_layout = WGPU_PIPELINE_LAYOUT_DESCRIPTOR_INIT;
  pipeline_layout.bindGroupLayoutCount = 1;
  pipeline_layout.bindGroupLayouts = layout;
  WGPUShaderSourceWGSL source = WGPU_SHADER_SOURCE_WGSL_INIT;
  source.code = {wgsl.data(), wgsl.size()};
  WGPUShaderModuleDescriptor module = WGPU_SHADER_MODULE_DESCRIPTOR_INIT;
  module.nextInChain = &source.chain;
  WGPUComputePipelineDescriptor descriptor = WGPU_COMPUTE_PIPELINE_DESCRIPTOR_INIT;
  descriptor.layout = wgpuDeviceCreatePipelineLayout(device, &pipeline_layout);
  descriptor.compute.module = wgpuDeviceCreateShaderModule(device, &module);
  WGPUCreateComputePipelineAsyncCallbackInfo info =
      WGPU_CREATE_COMPUTE_PIPELINE_ASYNC_CALLBACK_INFO_INIT;
  info.mode = WGPUCallbackMode_WaitAnyOnly;
  info.callback = [](WGPUCreatePipelineAsyncStatus, WGPUComputePipeline result, WGPUStringView,
                     void* to, void*) { *static_cast<WGPUComputePipeline*>(to) = result; };
  info.userdata1 = pipeline;
  return wgpuDeviceCreateComputePipelineAsync(device, &descriptor, info);
}

int bare(const char* file) {
  std::ifstream in(file, std::ios::binary);
  std::size_t count = 0;
  std::uint32_t x = 0, y = 0, z = 0;
  std::vector<WGPUFeatureName> features;
  in >> count;
  for (std::string name; features.size() < count && in >> name;)
    features.push_back(name == "subgroups" ? WGPUFeatureName_Subgroups : WGPUFeatureName_ShaderF16);
  in >> count >> x >> y >> z;
  std::string line;
  std::getline(in, line);
  std::vector<int> types(count), writes(count);
  std::vector<std::uint64_t> sizes(count);
  std::vector<std::vector<std::uint8_t>> contents(count);
  for (std::size_t i = 0; i < count; ++i) {
    std::getline(in, line);
    std::istringstream text(line);
    text >> types[i] >> sizes[i] >> writes[i];
    for (int byte = 0; text >> byte;) contents[i].push_back(static_cast<std::uint8_t>(byte));
  }
  const std::string wgsl((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());

  const BareDevice bare_device(nullptr, features);
  if (bare_device.device == nullptr) return std::fputs("no device\n", stderr), 1;
  WGPUDevice device = bare_device.device;
  WGPUQueue queue = wgpuDeviceGetQueue(device);
  WGPUBindGroupLayout layout = nullptr;
  WGPUComputePipeline pipeline = nullptr;
  const WGPUFuture building = start_pipeline(device, wgsl, types, &layout, &pipeline);
  const std::vector<float> row(kHidden, 1.0F);
  std::vector<WGPUBindGroupEntry> entries;
  WGPUBuffer output = nullptr;
  for (std::size_t i = 0; i < count; ++i) {
    WGPUBufferDescriptor descriptor = WGPU_BUFFER_DESCRIPTOR_INIT;
    const bool uniform = !contents[i].empty();
    descriptor.size = sizes[i];
    descriptor.usage =
        (uniform ? WGPUBufferUsage_Uniform : WGPUBufferUsage_Storage | WGPUBufferUsage_CopySrc) |
        WGPUBufferUsage_CopyDst;
    WGPUBindGroupEntry entry = WGPU_BIND_GROUP_ENTRY_INIT;
    entry.binding = static_cast<std::uint32_t>(i);
    entry.buffer = wgpuDeviceCreateBuffer(device, &descriptor);
    entry.size = sizes[i];
    entries.push_back(entry);
    if (writes[i] != 0) {
      output = entry.buffer;
    } else if (uniform) {
      wgpuQueueWriteBuffer(queue, entry.buffer, 0, contents[i].data(), contents[i].size());
    } else {
      wgpuQueueWriteBuffer(queue, entry.buffer, 0, row.data(), sizes[i]);
    }
  }
  bare_device.wait(building);
  if (pipeline == nullptr) return std::fputs("the text did not compile\n", stderr), 1;
  WGPUBindGroupDescriptor group = WGPU_BIND_GROUP_DESCRIPTOR_INIT;
  group.layout = layout;
  group.entryCount = entries.size();
  group.entries = entries.data();
  WGPUBufferDescriptor staging_wanted = WGPU_BUFFER_DESCRIPTOR_INIT;
  staging_wanted.size = kHidden * 4;
  staging_wanted.usage = WGPUBufferUsage_MapRead | WGPUBufferUsage_CopyDst;
  WGPUBuffer staging = wgpuDeviceCreateBuffer(device, &staging_wanted);
  WGPUCommandEncoder encoder = wgpuDeviceCreateCommandEncoder(device, nullptr);
  WGPUComputePassEncoder pass = wgpuCommandEncoderBeginComputePass(encoder, nullptr);
  wgpuComputePassEncoderSetPipeline(pass, pipeline);
  wgpuComputePassEncoderSetBindGroup(pass, 0, wgpuDeviceCreateBindGroup(device, &group), 0,
                                     nullptr);
  wgpuComputePassEncoderDispatchWorkgroups(pass, x, y, z);
  wgpuComputePassEncoderEnd(pass);
  wgpuCommandEncoderCopyBufferToBuffer(encoder, output, 0, staging, 0, kHidden * 4);
  WGPUCommandBuffer commands = wgpuCommandEncoderFinish(encoder, nullptr);
  wgpuQueueSubmit(queue, 1, &commands);
  WGPUBufferMapCallbackInfo info = WGPU_BUFFER_MAP_CALLBACK_INFO_INIT;
  info.mode = WGPUCallbackMode_WaitAnyOnly;
  info.callback = [](WGPUMapAsyncStatus, WGPUStringView, void*, void*) {};
  bare_device.wait(wgpuBufferMapAsync(staging, WGPUMapMode_Read, 0, kHidden * 4, info));
  std::printf("%g\n", static_cast<double>(*static_cast<const float*>(
                          wgpuBufferGetConstMappedRange(staging, 0, 4))));
  std::fflush(stdout);
  return 0;
}

// Calls whose passes are all different.
std::vector<wgk::Signature> many_signatures() {
  std::vector<wgk::Signature> list;
  for (const wgk::DType dtype : {wgk::DType::f32, wgk::DType::f16}) {
    for (const std::int64_t hidden : {64, 100, 577, 1024, 3001, 4096, 8192}) {
      list.push_back(signature(dtype, 300, hidden));
      list.push_back(signature(dtype, 300, hidden));
      list.back().outputs = {"outputT", "residualT"};
      list.push_back(list.back());
      list.back().inputs.push_back({.name = "biasT", .dtype = dtype, .shape = {hidden}});
    }
  }
  return list;
}

void bare_pipelines(const std::vector<wgk::PlanPass>& passes, const char* folder,
                    double& microseconds, int& blobs) {
  wgk::DeviceNeeds needs = need(wgk::device_needs({}, {.cache_folder = folder}));
  const BareDevice device(&needs);
  std::vector<WGPUBindGroupLayout> layouts(passes.size());
  std::vector<WGPUComputePipeline> made(passes.size());
  std::vector<WGPUFuture> futures;
  const auto start = Clock::now();
  for (std::size_t i = 0; i < passes.size(); ++i) {
    std::vector<int> types;
    for (const wgk::PlanBinding& binding : passes[i].bindings)
      types.push_back(static_cast<int>(binding.type));
    futures.push_back(start_pipeline(device.device, *passes[i].wgsl, types, &layouts[i], &made[i]));
  }
  for (const WGPUFuture future : futures) device.wait(future);
  microseconds = std::chrono::duration<double, std::micro>(Clock::now() - start).count();
  if (!std::ranges::all_of(made, [](WGPUComputePipeline pipeline) { return pipeline != nullptr; }))
    std::exit(1);
  blobs = device.blobs_loaded;
}

int pipelines(const char* package, const char* folder) {
  constexpr std::size_t kWanted = 12;
  std::vector<wgk::PlanPass> passes;
  const auto build = [&](double& microseconds, wgk::RuntimeStats& stats) {
    const wgk::Runtime runtime = need(wgk::Runtime::create({{.cache_folder = folder}}));
    const wgk::Kernel norm = need(runtime.load(package));
    std::vector<wgk::Prewarm> calls;
    passes.clear();
    for (const wgk::Signature& call : many_signatures()) {
      const auto plan = need(norm.plan(call));
      const bool known = std::ranges::any_of(
          passes, [&](const wgk::PlanPass& pass) { return pass.key == plan->passes[0].key; });
      if (plan->passes.size() != 1 || known || passes.size() == kWanted) continue;
      passes.push_back(plan->passes[0]);
      calls.push_back({norm, call});
    }
    const auto start = Clock::now();
    auto future = need(runtime.prewarm(calls));
    if (auto status = future.wait(); !status) std::exit(1);
    microseconds = std::chrono::duration<double, std::micro>(Clock::now() - start).count();
    stats = runtime.stats();
  };
  double cold = 0, warm = 0, bare = 0;
  wgk::RuntimeStats first, second;
  int bare_blobs = 0;
  // A bare device has cache keys of its own: it too is made twice. The second time both find a
  // process that has done all of this before.
  build(cold, first);
  bare_pipelines(passes, folder, bare, bare_blobs);
  build(warm, second);
  bare_pipelines(passes, folder, bare, bare_blobs);
  std::printf(
      "{\"pipelines\": %zu, \"cold_us\": %.1f, \"ours_us\": %.1f, \"bare_us\": %.1f, "
      "\"cold_blobs\": %llu, \"ours_blobs\": %llu, \"bare_blobs\": %d}\n",
      passes.size(), cold, warm, bare, static_cast<unsigned long long>(first.blobs_loaded),
      static_cast<unsigned long long>(second.blobs_loaded), bare_blobs);
  // Figures of a full cache are such only if both loaded what it holds.
  const bool cached =
      second.blobs_loaded >= passes.size() && static_cast<std::size_t>(bare_blobs) >= passes.size();
  if (!cached) std::fputs("the pipelines did not come from the cache\n", stderr);
  return cached ? 0 : 1;
}

// What 10,000 equal calls make after the third: with tensors of the device, read back.
int calls(const char* package) {
  constexpr int kCalls = 10000, kSettled = 2000;
  const wgk::Runtime runtime = need(wgk::Runtime::create());
  const wgk::Kernel norm = need(runtime.load(package));
  const std::vector<float> row(kHidden, 1.0F);
  const wgk::Tensor input = need(runtime.upload(wgk::HostTensor(row, {1, kHidden})));
  const wgk::Tensor gamma = need(runtime.upload(wgk::HostTensor(row, {kHidden})));
  wgk::RuntimeStats third;
  std::size_t heap = 0;
  const auto start = Clock::now();
  for (int i = 0; i < kCalls; ++i) {
    need(norm.call({{"inputT", input}, {"skipT", input}, {"gammaT", gamma}}, {.read_back = true}));
    if (i == 2) third = runtime.stats();
    if (i == kSettled) heap = ::mallinfo2().uordblks;
  }
  const double us = std::chrono::duration<double, std::micro>(Clock::now() - start).count();
  const wgk::RuntimeStats last = runtime.stats();
  std::printf(
      "{\"calls\": %d, \"us_per_call\": %.3f, \"made\": %llu, \"device_bytes\": %lld, "
      "\"heap_bytes\": %lld}\n",
      kCalls, us / kCalls,
      static_cast<unsigned long long>(
          last.buffers_made - third.buffers_made + last.bind_groups_made - third.bind_groups_made +
          last.pipelines_built - third.pipelines_built + last.plans_made - third.plans_made),
      static_cast<long long>(last.live_bytes - third.live_bytes),
      static_cast<long long>(::mallinfo2().uordblks) - static_cast<long long>(heap));
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  const std::string_view mode = count > 1 ? arguments[1] : "";
  if (mode == "plan" && count == 4) return write_plan(arguments[2], arguments[3]);
  if (mode == "adapter" && count == 2) {
    const wgk::AdapterDescription adapter = need(wgk::Runtime::create()).describe().adapter;
    std::printf("%s (%s)\n", adapter.name.c_str(), adapter.driver.c_str());
    return 0;
  }
  if ((mode == "ours" || mode == "ahead") && count == 3) return ours(arguments[2], mode == "ahead");
  if (mode == "bare" && count == 3) return bare(arguments[2]);
  if (mode == "pipelines" && count == 4) return pipelines(arguments[2], arguments[3]);
  if (mode == "calls" && count == 3) return calls(arguments[2]);
  return std::fputs(
             "usage: cold adapter | plan PACKAGE FILE | ours PACKAGE | ahead PACKAGE | bare FILE | "
             "pipelines PACKAGE FOLDER | calls PACKAGE\n",
             stderr),
         2;
}
