// SPDX-License-Identifier: Apache-2.0
#include "gpu/instance.h"

#include <dawn/native/DawnNative.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <format>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>

#include "gpu/names.h"
#include "gpu/vulkan_driver.h"
#include "gpu/wait.h"

namespace wgk::gpu {
namespace {

LogLevel level_of(WGPULoggingType type) {
  switch (type) {
    case WGPULoggingType_Error: return LogLevel::kError;
    case WGPULoggingType_Warning: return LogLevel::kWarning;
    case WGPULoggingType_Info: return LogLevel::kInfo;
    default: return LogLevel::kDebug;
  }
}

void on_log(WGPULoggingType type, WGPUStringView message, void* log, void*) {
  static_cast<const Log*>(log)->write(level_of(type), text_or_nothing(message));
}

std::string environment(const char* variable) {
  const char* value = std::getenv(variable);
  return value == nullptr ? std::string() : std::string(value);
}

std::optional<std::size_t> parse_index(std::string_view text) {
  std::size_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

bool matches(const AdapterDescription& adapter, const std::string& wanted) {
  if (const auto index = parse_index(wanted)) return adapter.index == *index;
  const std::string low = lower_case(wanted);
  if (low == std::format("{:x}:{:x}", adapter.vendor_id, adapter.device_id)) return true;
  return lower_case(adapter.name).contains(low) || lower_case(adapter.driver).contains(low);
}

std::string list_of(const std::vector<Adapter>& adapters) {
  std::string list;
  for (const Adapter& adapter : adapters) {
    list += std::format("{}{} '{}' ({}{})", list.empty() ? "" : ", ", adapter.description.index,
                        adapter.description.name, adapter.description.backend,
                        adapter.description.software ? ", software" : "");
  }
  return list.empty() ? "none" : list;
}

struct AdapterReply {
  WGPURequestAdapterStatus status = WGPURequestAdapterStatus_Error;
  WGPUAdapter adapter = nullptr;
};

void on_adapter(WGPURequestAdapterStatus status, WGPUAdapter adapter, WGPUStringView, void* reply,
                void*) {
  *Pending<AdapterReply>::arrived(reply) = {status, adapter};
}

// For a library that cannot list its adapters: the one it would choose.
std::vector<WGPUAdapter> request_one(const Instance& instance,
                                     const WGPURequestAdapterOptions& options) {
  const Procs& procs = instance.procs();
  if (procs.instance_request_adapter == nullptr) return {};
  Pending<AdapterReply> reply;
  const WGPUFuture future = procs.instance_request_adapter(
      instance.handle(), &options,
      {nullptr, WGPUCallbackMode_WaitAnyOnly, on_adapter, reply.user(), nullptr});
  if (!reply.wait(instance, future, kNoHang)) return {};
  if (reply->status != WGPURequestAdapterStatus_Success || reply->adapter == nullptr) return {};
  return {reply->adapter};
}

int rank(const AdapterDescription& adapter) {
  if (adapter.backend == "null") return 3;
  if (adapter.software) return 2;
  return adapter.type == "integrated" ? 1 : 0;
}

}  // namespace

AdapterDescription describe(const WGPUAdapterInfo& info) {
  AdapterDescription description;
  description.name = text(info.device);
  description.vendor = lower_case(text(info.vendor));
  description.architecture = lower_case(text(info.architecture));
  description.driver = text(info.description);
  description.backend = backend_name(info.backendType);
  description.type = adapter_type_name(info.adapterType);
  description.vendor_id = info.vendorID;
  description.device_id = info.deviceID;
  description.software = info.adapterType == WGPUAdapterType_CPU;
  return description;
}

std::vector<WGPUBackendType> backends_to_ask(WGPUBackendType wanted, bool has_vulkan) {
  if (has_vulkan || (wanted != WGPUBackendType_Undefined && wanted != WGPUBackendType_Vulkan))
    return {wanted};
  if (wanted == WGPUBackendType_Vulkan) return {};
  return {WGPUBackendType_D3D12, WGPUBackendType_Metal, WGPUBackendType_D3D11,
          WGPUBackendType_OpenGL, WGPUBackendType_OpenGLES};
}

Result<std::shared_ptr<Instance>> Instance::create(const Procs& procs,
                                                   std::shared_ptr<const Log> log,
                                                   bool experimental) {
  if (procs.create_instance == nullptr) {
    return failure("device/function", "the given WebGPU library lacks wgpuCreateInstance");
  }
  const std::shared_ptr<Instance> instance(new Instance(procs, std::move(log)));
  instance->experimental_ = experimental;
  const std::array features = {WGPUInstanceFeatureName_TimedWaitAny};
  WGPUInstanceDescriptor descriptor = WGPU_INSTANCE_DESCRIPTOR_INIT;
  descriptor.requiredFeatureCount = features.size();
  descriptor.requiredFeatures = features.data();

  // Both are extensions of Dawn; the table can list adapters only if this is Dawn.
  const std::array<const char*, 1> enabled = {"allow_unsafe_apis"};
  WGPUDawnTogglesDescriptor toggles = WGPU_DAWN_TOGGLES_DESCRIPTOR_INIT;
  toggles.enabledToggleCount = experimental ? enabled.size() : 0;
  toggles.enabledToggles = enabled.data();
  dawn::native::DawnInstanceDescriptor native;
  native.loggingCallbackInfo.callback = on_log;
  native.loggingCallbackInfo.userdata1 = const_cast<Log*>(instance->log_.get());
  if (procs.enumerate_adapters != nullptr) {
    toggles.chain.next =
        reinterpret_cast<WGPUChainedStruct*>(static_cast<wgpu::ChainedStruct*>(&native));
    descriptor.nextInChain = &toggles.chain;
  }
  instance->handle_ = procs.create_instance(&descriptor);
  if (instance->handle_ == nullptr) {
    return failure("device/none", "the WebGPU library did not give an instance");
  }
  return instance;
}

std::shared_ptr<Instance> Instance::borrow(const Procs& procs, WGPUInstance handle,
                                           std::shared_ptr<const Log> log, bool timed_wait) {
  std::shared_ptr<Instance> instance(new Instance(procs, std::move(log)));
  instance->handle_ = handle;
  instance->owned_ = false;
  instance->timed_wait_ = timed_wait;
  if (handle != nullptr) procs.instance_add_ref(handle);
  return instance;
}

Instance::~Instance() {
  // All callbacks have run once the last reference is gone. A borrowed instance lives on, and with
  // it the places of those futures that are not done yet.
  if (!owned_) sweep(abandoned_);
  if (handle_ != nullptr) procs_.instance_release(handle_);
}

void Instance::keep(std::shared_ptr<void> place) const {
  const std::lock_guard lock(mutex_);
  kept_.push_back(std::move(place));
}

void Instance::abandon(WGPUFuture future) const {
  {
    const std::lock_guard lock(mutex_);
    abandoned_.push_back(future);
    if (abandoned_.size() < sweep_at_) return;
  }
  look_at_abandoned();
}

void Instance::look_at_abandoned() const {
  std::vector<WGPUFuture> futures;
  {
    const std::lock_guard lock(mutex_);
    futures.swap(abandoned_);
  }
  sweep(futures);  // without the lock: callbacks run in it
  const std::lock_guard lock(mutex_);
  abandoned_.insert(abandoned_.end(), futures.begin(), futures.end());
  sweep_at_ = std::max(kSweep, 2 * abandoned_.size());
}

void Instance::sweep(std::vector<WGPUFuture>& futures) const {
  if (left_alone_.load(std::memory_order_relaxed)) return;
  std::erase_if(futures, [&](WGPUFuture future) {
    return wait_for(*this, future, std::chrono::nanoseconds(0)) != WaitOutcome::kTimedOut;
  });
}

Result<std::vector<Adapter>> Instance::adapters(const std::string& backend) const {
  WGPURequestAdapterOptions options = WGPU_REQUEST_ADAPTER_OPTIONS_INIT;
  options.featureLevel = WGPUFeatureLevel_Core;
  if (!backend.empty()) {
    const auto type = backend_from_name(backend);
    if (!type) {
      return failure("device/none", std::format("no back end is called '{}'", backend),
                     "use vulkan, metal, d3d12, d3d11, opengl, opengles or null");
    }
    options.backendType = *type;
  }
  const std::array<const char*, 2> enabled = {"vulkan_enable_f16_on_nvidia", "allow_unsafe_apis"};
  WGPUDawnTogglesDescriptor toggles = WGPU_DAWN_TOGGLES_DESCRIPTOR_INIT;
  toggles.enabledToggleCount = experimental_ ? 2 : 1;
  toggles.enabledToggles = enabled.data();
  std::vector<WGPUAdapter> handles;
  if (procs_.enumerate_adapters != nullptr) {
    options.nextInChain = &toggles.chain;
    const bool may_be_vulkan = backend.empty() || options.backendType == WGPUBackendType_Vulkan;
    for (const WGPUBackendType type :
         backends_to_ask(options.backendType, !may_be_vulkan || has_vulkan_driver())) {
      options.backendType = type;
      std::ranges::copy(procs_.enumerate_adapters(handle_, &options), std::back_inserter(handles));
    }
  } else {
    handles = request_one(*this, options);
  }
  std::vector<Adapter> found;
  for (WGPUAdapter handle : handles) {
    Adapter adapter{Handle<WGPUAdapter>(handle, procs_.adapter_release), {}};
    WGPUAdapterInfo info = WGPU_ADAPTER_INFO_INIT;
    if (procs_.adapter_get_info == nullptr ||
        procs_.adapter_get_info(handle, &info) != WGPUStatus_Success) {
      continue;  // an adapter that cannot even say what it is
    }
    adapter.description = describe(info);
    procs_.adapter_info_free_members(info);
    if (adapter.description.backend != "null" || backend == "null")
      found.push_back(std::move(adapter));
  }
  std::ranges::stable_sort(found, {}, [](const Adapter& a) { return rank(a.description); });
  for (std::size_t i = 0; i < found.size(); ++i) found[i].description.index = i;
  return found;
}

Result<Adapter> Instance::choose(const AdapterChoice& choice) const {
  const std::string backend = choice.backend.empty() ? environment("WGK_BACKEND") : choice.backend;
  const std::string device = choice.device.empty() ? environment("WGK_ADAPTER") : choice.device;
  auto found = adapters(lower_case(backend));
  if (!found) return std::unexpected(std::move(found.error()));
  for (Adapter& adapter : *found) {
    const bool asked = !device.empty() || adapter.description.backend == "null";
    if (!asked && adapter.description.software && !choice.allow_software) continue;
    if (!device.empty() && !matches(adapter.description, device)) continue;
    return std::move(adapter);
  }
  std::string wanted =
      device.empty() ? "any adapter" : std::format("an adapter that matches '{}'", device);
  if (!backend.empty()) wanted += std::format(" on back end '{}'", backend);
  if (device.empty() && !choice.allow_software) wanted += " that is not a software adapter";
  return failure("device/none", std::format("looked for {}; found {}", wanted, list_of(*found)),
                 found->empty()
                     ? "install a Vulkan driver; mesa-vulkan-drivers has one that needs no GPU"
                     : "");
}

}  // namespace wgk::gpu
