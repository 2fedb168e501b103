// SPDX-License-Identifier: Apache-2.0
#include "gpu/device.h"

#include <algorithm>
#include <array>
#include <format>
#include <map>
#include <mutex>
#include <utility>

#include "gpu/capabilities.h"
#include "gpu/names.h"

namespace wgk::gpu {

// Written by the device's own callbacks, which may come after the Device object is gone.
struct Device::Signals {
  std::shared_ptr<const Log> log;
  mutable std::mutex mutex;
  std::atomic<bool> lost = false;
  std::atomic<bool> has_errors = false;
  std::atomic<bool> dropped = false;  // an error for which there was no host memory
  std::string reason;
  std::vector<Error> errors;

  void add(WGPUErrorType type, WGPUStringView message) noexcept;
  void lose(std::string text) {
    const std::lock_guard lock(mutex);
    if (lost.load()) return;
    reason = std::move(text);
    lost.store(true);
  }
};

std::shared_ptr<Gate::Mutex> mutex_of(WGPUDevice device) {
  static std::mutex guard;
  static std::map<WGPUDevice, std::weak_ptr<Gate::Mutex>> known;
  const std::lock_guard lock(guard);
  std::erase_if(known, [](const auto& entry) { return entry.second.expired(); });
  std::weak_ptr<Gate::Mutex>& place = known[device];
  std::shared_ptr<Gate::Mutex> mutex = place.lock();
  if (!mutex) place = mutex = std::make_shared<Gate::Mutex>();
  return mutex;
}

namespace {

void on_device_log(WGPULoggingType, WGPUStringView message, void* log, void*) {
  static_cast<const Log*>(log)->write(LogLevel::kWarning, text_or_nothing(message));
}

std::string_view loss_reason(WGPUDeviceLostReason reason) {
  switch (reason) {
    case WGPUDeviceLostReason_Destroyed: return "destroyed";
    case WGPUDeviceLostReason_FailedCreation: return "failed creation";
    case WGPUDeviceLostReason_CallbackCancelled: return "instance released";
    default: return "unknown";
  }
}

Error error_of(WGPUErrorType type, std::string message, std::string_view code) {
  if (type == WGPUErrorType_OutOfMemory) return {"device/memory", std::move(message)};
  return {std::string(code), std::move(message)};
}

// No exception may go through the callback of a loss.
std::string loss_text(WGPUDeviceLostReason reason, WGPUStringView message) noexcept {
  try {
    return std::format("{}: {}", loss_reason(reason), text(message));
  } catch (const std::bad_alloc&) {
    return {};
  }
}

struct DeviceReply {
  WGPURequestDeviceStatus status = WGPURequestDeviceStatus_Error;
  WGPUDevice device = nullptr;
  std::string message;
};

void on_device(WGPURequestDeviceStatus status, WGPUDevice device, WGPUStringView message,
               void* reply, void*) {
  *Pending<DeviceReply>::arrived(reply) = {status, device, text_or_nothing(message)};
}

std::size_t load_blob(std::size_t key_size, const std::uint8_t* key, std::size_t value_size,
                      std::uint8_t* value, void* cache, void*) noexcept {
  try {
    return static_cast<BlobCache*>(cache)->load(
        std::as_bytes(std::span(key, key_size)),
        std::as_writable_bytes(std::span(value, value == nullptr ? 0 : value_size)));
  } catch (...) {
    return 0;  // as if it were not there
  }
}

void store_blob(std::size_t key_size, const std::uint8_t* key, std::size_t value_size,
                const std::uint8_t* value, void* cache, void*) noexcept {
  try {
    static_cast<BlobCache*>(cache)->store(std::as_bytes(std::span(key, key_size)),
                                          std::as_bytes(std::span(value, value_size)));
  } catch (...) {  // not kept: the next process compiles it again
  }
}

}  // namespace

void Device::Signals::add(WGPUErrorType type, WGPUStringView message) noexcept {
  try {
    const std::lock_guard one(mutex);
    if (errors.size() < 16) errors.push_back(error_of(type, text(message), "device/validation"));
    has_errors.store(true);
  } catch (...) {  // nothing may go through WebGPU; what ran is not to pass for good
    dropped.store(true);
    has_errors.store(true);
  }
}

WGPUDawnCacheDeviceDescriptor cache_descriptor(BlobCache& cache) {
  WGPUDawnCacheDeviceDescriptor descriptor = WGPU_DAWN_CACHE_DEVICE_DESCRIPTOR_INIT;
  descriptor.dawnLoadCacheDataCallbackInfo = {nullptr, load_blob, &cache, nullptr};
  descriptor.dawnStoreCacheDataCallbackInfo = {nullptr, store_blob, &cache, nullptr};
  return descriptor;
}

Toggles device_toggles(Mode mode, bool experimental) {
  Toggles toggles;
  toggles.enabled = {"vulkan_enable_f16_on_nvidia"};
  if (experimental) toggles.enabled.push_back("allow_unsafe_apis");
  toggles.disabled = {"timestamp_quantization"};  // 65 us steps hide every kernel
  if (mode == Mode::kTrusted) {
    for (const char* name : {"skip_validation", "disable_robustness", "disable_workgroup_init",
                             "disable_polyfills_on_integer_div_and_mod"}) {
      toggles.enabled.push_back(name);
    }
    toggles.disabled.push_back("enable_spirv_validation");
  }
  return toggles;
}

Result<std::shared_ptr<Device>> Device::open(std::shared_ptr<Instance> instance, Adapter adapter,
                                             const DeviceOptions& options) {
  const Procs& procs = instance->procs();
  if (procs.adapter_request_device == nullptr || procs.adapter_get_features == nullptr ||
      procs.adapter_get_limits == nullptr) {
    return failure("device/function", "the given WebGPU library cannot make devices");
  }
  auto wanted = wanted_capabilities(procs, adapter.handle.get(), options.exactly);
  if (!wanted) return std::unexpected(std::move(wanted.error()));
  const std::shared_ptr<Device> device(new Device(instance));
  device->signals_ = std::make_shared<Signals>();
  device->signals_->log = instance->shared_log();
  device->blobs_ = options.blobs;
  device->adapter_ = adapter.description;
  device->mode_ = options.mode;
  device->timeout_ = options.timeout;
  // The signals and the cache outlive the device and its callbacks.
  instance->keep(device->signals_);
  if (options.blobs) instance->keep(options.blobs);

  WGPUDeviceDescriptor descriptor = WGPU_DEVICE_DESCRIPTOR_INIT;
  descriptor.label = view("wgkernels");
  descriptor.requiredFeatureCount = wanted->features.size();
  descriptor.requiredFeatures = wanted->features.data();
  descriptor.requiredLimits = &wanted->limits;
  descriptor.deviceLostCallbackInfo = {
      nullptr, WGPUCallbackMode_AllowSpontaneous,
      [](const WGPUDevice*, WGPUDeviceLostReason reason, WGPUStringView message, void* signals,
         void*) { static_cast<Signals*>(signals)->lose(loss_text(reason, message)); },
      device->signals_.get(), nullptr};
  descriptor.uncapturedErrorCallbackInfo = {
      nullptr,
      [](const WGPUDevice*, WGPUErrorType type, WGPUStringView message, void* user, void*) {
        static_cast<Signals*>(user)->add(type, message);
      },
      device->signals_.get(), nullptr};
  const Toggles names = device_toggles(options.mode, instance->experimental());
  WGPUDawnTogglesDescriptor toggles = WGPU_DAWN_TOGGLES_DESCRIPTOR_INIT;
  toggles.enabledToggles = names.enabled.data();
  toggles.enabledToggleCount = names.enabled.size();
  toggles.disabledToggles = names.disabled.data();
  toggles.disabledToggleCount = names.disabled.size();
  WGPUDawnCacheDeviceDescriptor cache = WGPU_DAWN_CACHE_DEVICE_DESCRIPTOR_INIT;
  if (options.blobs) cache = cache_descriptor(*options.blobs);
  if (procs.enumerate_adapters != nullptr) {  // this is Dawn
    descriptor.nextInChain = &toggles.chain;
    if (options.blobs) toggles.chain.next = &cache.chain;
  }

  const auto start = std::chrono::steady_clock::now();
  Pending<DeviceReply> reply;
  const WGPUFuture future = procs.adapter_request_device(
      adapter.handle.get(), &descriptor,
      {nullptr, WGPUCallbackMode_WaitAnyOnly, on_device, reply.user(), nullptr});
  if (!reply.wait(*instance, future, kNoHang)) {
    return failure("device/timeout", std::format("adapter '{}' did not give a device in time",
                                                 adapter.description.name));
  }
  if (reply->status != WGPURequestDeviceStatus_Success || reply->device == nullptr) {
    return failure("device/none", std::format("adapter '{}' gave no device: {}",
                                              adapter.description.name, reply->message));
  }
  device->handle_ = device->own(reply->device, procs.device_release);
  if (auto status = device->read_capabilities(); !status)
    return std::unexpected(std::move(status.error()));
  if (procs.device_set_logging_callback != nullptr) {
    procs.device_set_logging_callback(
        device->handle(), {nullptr, on_device_log, const_cast<Log*>(&instance->log()), nullptr});
  }
  if (instance->log().on()) {
    const std::chrono::duration<double, std::milli> spent =
        std::chrono::steady_clock::now() - start;
    instance->log().write(LogLevel::kInfo, std::format("made a {} device on '{}' ({}) in {:.1f} ms",
                                                       name(options.mode), adapter.description.name,
                                                       adapter.description.backend, spent.count()));
  }
  return device;
}

Result<std::shared_ptr<Device>> Device::adopt(const Procs& procs, std::shared_ptr<const Log> log,
                                              const AdoptRequest& request) {
  if (request.device == nullptr) return failure("usage/device", "no device to adopt was given");
  // Another runtime may be using it, and nobody has said yet whether Dawn locks it itself.
  const std::shared_ptr<Gate::Mutex> mutex = mutex_of(request.device);
  const std::lock_guard one(*mutex);
  Handle<WGPUInstance> found;
  WGPUInstance handle = request.instance;
  if (handle == nullptr && procs.device_get_adapter != nullptr &&
      procs.adapter_get_instance != nullptr) {
    const Handle<WGPUAdapter> adapter(procs.device_get_adapter(request.device),
                                      procs.adapter_release);
    if (adapter)
      found =
          Handle<WGPUInstance>(procs.adapter_get_instance(adapter.get()), procs.instance_release);
    handle = found.get();
  }
  if (handle == nullptr) {
    return failure("usage/device", "the instance of the device cannot be asked for",
                   "pass the instance too");
  }
  const std::shared_ptr<Device> device(
      new Device(Instance::borrow(procs, handle, std::move(log), request.timed_wait)));
  device->owned_ = false;
  device->signals_ = std::make_shared<Signals>();
  device->timeout_ = request.timeout;
  procs.device_add_ref(request.device);
  device->handle_ = device->own(request.device, procs.device_release);
  if (procs.device_get_lost_future != nullptr) {
    device->lost_future_ = procs.device_get_lost_future(request.device);
  }
  if (auto status = device->read_capabilities(); !status)
    return std::unexpected(std::move(status.error()));
  if (procs.device_get_adapter_info != nullptr) {
    WGPUAdapterInfo info = WGPU_ADAPTER_INFO_INIT;
    if (procs.device_get_adapter_info(request.device, &info) == WGPUStatus_Success) {
      device->adapter_ = describe(info);
      procs.adapter_info_free_members(info);
    }
  }
  const auto is_on = [&](std::string_view toggle) {
    return std::ranges::find(device->toggles_, toggle) != device->toggles_.end();
  };
  const bool can_tell = !device->toggles_.empty();
  const bool trusted = is_on("skip_validation") || is_on("disable_robustness");
  device->mode_ =
      can_tell ? (trusted ? Mode::kTrusted : Mode::kSafe) : request.mode.value_or(Mode::kSafe);
  if (request.mode && *request.mode != device->mode_) {
    return failure("usage/mode",
                   std::format("the adopted device is {}, asked for was {}", name(device->mode_),
                               name(*request.mode)),
                   "make the device with the toggles that device_needs lists");
  }
  return device;
}

Device::~Device() {
  if (owned_ && handle_ && !hung() && procs().device_destroy != nullptr) {
    const auto one = lock();
    procs().device_destroy(handle_.get());
  }
}

Status Device::read_capabilities() {
  const Procs& table = procs();
  queue_ = own(table.device_get_queue(handle()), table.queue_release);
  if (!queue_) return failure("device/lost", "the device has no queue");
  limits_ = WGPU_LIMITS_INIT;
  if (table.device_get_limits(handle(), &limits_) != WGPUStatus_Success) {
    return failure("device/lost", "the device does not tell its limits");
  }
  if (table.toggles_used != nullptr) {
    for (const char* toggle : table.toggles_used(handle())) toggles_.emplace_back(toggle);
  }
  auto read = device_capabilities(*instance_, handle(), limits_);
  if (!read) return std::unexpected(std::move(read.error()));
  caps_ = std::move(read->caps);
  if (!read->synchronized) {
    gate_.mutex = mutex_of(handle());
    instance_->serialize(gate_.mutex);
  }
  timestamps_inside_passes_ = read->timestamps_inside_passes;
  return {};
}

bool Device::known_lost() const { return signals_->lost.load(std::memory_order_relaxed); }

void Device::mark_lost(std::string reason) const { signals_->lose(std::move(reason)); }

// Nobody tells us when an adopted device is lost: the future is looked at, never waited for.
void Device::look_for_loss() const {
  if (owned_ || lost_future_.id == 0 || signals_->lost.load()) return;
  if (wait_for(*instance_, lost_future_, std::chrono::nanoseconds(0)) == WaitOutcome::kReady) {
    signals_->lose("the caller's device was lost or destroyed");
  }
}

Status Device::check() const {
  look_for_loss();
  if (!signals_->lost.load(std::memory_order_acquire)) return {};
  const std::lock_guard lock(signals_->mutex);
  return failure("device/lost", std::format("the device is lost ({})", signals_->reason),
                 "rebuild the runtime");
}

Status Device::wait(WGPUFuture future, std::optional<std::chrono::nanoseconds> timeout) const {
  const auto limit = timeout.value_or(timeout_);
  counters_.waits.fetch_add(1, std::memory_order_relaxed);
  switch (wait_for(*instance_, future, limit)) {
    case WaitOutcome::kReady: return {};
    case WaitOutcome::kFailed: return failure("device/validation", "WebGPU refused to wait");
    case WaitOutcome::kTimedOut: break;
  }
  if (limit < timeout_)
    return failure("usage/not-ready", "the device has not finished the work yet");
  gate_.hung.store(true);
  instance_->leave_alone();
  const auto spent = std::chrono::duration<double>(limit).count();
  mark_lost(std::format("hung: it did not answer within {} s", spent));
  return failure("device/timeout", std::format("the device did not answer within {} s", spent),
                 "raise the time limit for long calls; else rebuild the runtime");
}

Result<bool> Device::ready(WGPUFuture future) const {
  switch (wait_for(*instance_, future, std::chrono::nanoseconds(0))) {
    case WaitOutcome::kReady: return true;
    case WaitOutcome::kTimedOut: return false;
    default: return failure("device/validation", "WebGPU refused to look at a future");
  }
}

Status Device::take_uncaptured() const {
  if (!signals_->has_errors.load(std::memory_order_acquire)) return {};
  const std::lock_guard lock(signals_->mutex);
  signals_->has_errors.store(false);
  const bool dropped = signals_->dropped.exchange(false);
  if (signals_->errors.empty()) {
    if (!dropped) return {};
    return failure("limit/host-memory", "no host memory for an error of the device");
  }
  Error first = std::move(signals_->errors.front());
  for (std::size_t i = 1; i < signals_->errors.size(); ++i)
    first.others.push_back(std::move(signals_->errors[i]));
  signals_->errors.clear();
  return std::unexpected(std::move(first));
}

namespace {

struct PopReply {
  WGPUPopErrorScopeStatus status = WGPUPopErrorScopeStatus_Error;
  WGPUErrorType type = WGPUErrorType_Unknown;
  std::string message;
  std::atomic<bool> done = false;
};

void on_pop(WGPUPopErrorScopeStatus status, WGPUErrorType type, WGPUStringView message, void* user,
            void*) {
  const auto reply = Pending<PopReply>::arrived(user);
  reply->status = status;
  reply->type = type;
  reply->message = text_or_nothing(message);
  reply->done.store(true, std::memory_order_release);
}

}  // namespace

ErrorScope::ErrorScope(const Device& device, Catch what) : device_(device) {
  if (what == Catch::kAll) {
    device_.procs().device_push_error_scope(device_.handle(), WGPUErrorFilter_Internal);
    device_.procs().device_push_error_scope(device_.handle(), WGPUErrorFilter_OutOfMemory);
    open_ = 2;
  }
  device_.procs().device_push_error_scope(device_.handle(), WGPUErrorFilter_Validation);
  ++open_;
}

// Nobody asks what it held; nothing is allocated, since an exception may be on its way.
ErrorScope::~ErrorScope() {
  const auto ignore = [](WGPUPopErrorScopeStatus, WGPUErrorType, WGPUStringView, void*, void*) {};
  for (; open_ > 0; --open_) {
    device_.procs().device_pop_error_scope(
        device_.handle(), {nullptr, WGPUCallbackMode_AllowSpontaneous, ignore, nullptr, nullptr});
  }
}

Status ErrorScope::finish(std::string_view code) {
  std::optional<Error> first;
  for (; open_ > 0; --open_) {
    Pending<PopReply> reply;
    const WGPUFuture future = device_.procs().device_pop_error_scope(
        device_.handle(),
        {nullptr, WGPUCallbackMode_AllowSpontaneous, on_pop, reply.user(), nullptr});
    // Dawn answers at once; only where a library does not is there anything to wait for.
    const auto answered = [&] { return reply->done.load(std::memory_order_acquire); };
    if (!answered() && (!reply.wait(device_.instance(), future, kNoHang) || !answered())) {
      if (!first) first = Error{"device/validation", "an error scope gave no answer"};
    } else if (reply->status != WGPUPopErrorScopeStatus_Success) {
      if (!first) first = Error{"device/validation", "an error scope failed: " + reply->message};
    } else if (reply->type != WGPUErrorType_NoError) {
      if (!first) first = error_of(reply->type, std::move(reply->message), code);
    }
  }
  if (auto status = device_.check(); !status) return status;
  if (first) return std::unexpected(std::move(*first));
  return {};
}

}  // namespace wgk::gpu
