// SPDX-License-Identifier: Apache-2.0
#include "capi/handles.h"

using namespace wgk;        // NOLINT(google-build-using-namespace)
using namespace wgk::capi;  // NOLINT(google-build-using-namespace)

namespace {

Json json_of(const AdapterDescription& adapter) {
  return Json::object({{"index", adapter.index},
                       {"name", adapter.name},
                       {"vendor", adapter.vendor},
                       {"architecture", adapter.architecture},
                       {"driver", adapter.driver},
                       {"backend", adapter.backend},
                       {"type", adapter.type},
                       {"vendorId", adapter.vendor_id},
                       {"deviceId", adapter.device_id},
                       {"software", adapter.software}});
}

Json json_of(const std::vector<std::string>& list) {
  Json::Array array;
  for (const std::string& text : list) array.emplace_back(text);
  return array;
}

Json json_of(const std::vector<PortInfo>& ports) {
  Json::Array array;
  for (const PortInfo& port : ports) {
    array.push_back(Json::object({{"key", port.key},
                                  {"upstream", port.upstream},
                                  {"dtype", port.dtype},
                                  {"optional", port.optional},
                                  {"inPlace", port.in_place}}));
  }
  return array;
}

void fill_common(const wgk_runtime_options& given, CommonOptions& options) {
  if (given.log != nullptr) {
    options.log = [log = given.log, user = given.log_user](LogLevel level,
                                                           std::string_view message) {
      guarded_or(false, [&] {
        log(static_cast<wgk_log_level>(level), std::string(message).c_str(), user);
        return true;
      });
    };
  }
  if (given.timeout_ns > 0)
    options.timeout = parse_timeout(given.timeout_ns).value_or(options.timeout);
  if (given.memory_cap > 0) options.memory.cap = given.memory_cap;
  if (given.memory_pool > 0) options.memory.pool = given.memory_pool;
  if (given.no_memory_pool) options.memory.pool = 0;
  if (given.cache_folder != nullptr) options.cache_folder = given.cache_folder;
  if (given.quirks != nullptr) options.quirks = given.quirks;
  options.procs = reinterpret_cast<GetProcAddress>(given.get_proc_address);
  options.debug_groups = !given.no_debug_groups;
}

Result<std::optional<Mode>> parse_mode(wgk_mode mode) {
  switch (mode) {
    case WGK_MODE_SAFE: return Mode::kSafe;
    case WGK_MODE_TRUSTED: return Mode::kTrusted;
    case WGK_MODE_DEFAULT: return std::nullopt;
    default:
      return failure("usage/arguments", "mode is " + std::to_string(mode) + "; expected 0, 1 or 2");
  }
}

std::string_view kind_name(DeviceNeed::Kind kind) {
  switch (kind) {
    case DeviceNeed::Kind::kFeature: return "feature";
    case DeviceNeed::Kind::kLimit: return "limit";
    case DeviceNeed::Kind::kToggleOn: return "toggleOn";
    case DeviceNeed::Kind::kToggleOff: return "toggleOff";
    default: return "cache";
  }
}

}  // namespace

Json wgk::capi::info_of(const Package& package) {
  return Json::object({{"opId", package.op_id()},
                       {"origin", package.origin()},
                       {"digest", package.digest()},
                       {"inputs", json_of(package.inputs())},
                       {"outputs", json_of(package.outputs())},
                       {"variants", json_of(package.variants())}});
}

extern "C" {

wgk_status wgk_adapters(const char* backend, char** json, wgk_error** error) {
  return guarded(error, [&]() -> Status {
    if (auto status = check(json); !status) return status;
    auto found = Runtime::adapters(backend == nullptr ? std::string() : backend);
    if (!found) return std::unexpected(std::move(found.error()));
    Json::Array list;
    for (const AdapterDescription& adapter : *found) list.push_back(json_of(adapter));
    return give_json(list, json);
  });
}

wgk_status wgk_runtime_create(const wgk_runtime_options* options, wgk_runtime** runtime,
                              wgk_error** error) {
  return guarded(error, [&]() -> Status {
    if (auto status = check(runtime); !status) return status;
    auto given = sized<wgk_runtime_options>(options, WGK_RUNTIME_OPTIONS_INIT);
    if (!given) return std::unexpected(std::move(given.error()));
    RuntimeOptions wanted;
    fill_common(*given, wanted);
    auto mode = parse_mode(given->mode);
    if (!mode) return std::unexpected(std::move(mode.error()));
    wanted.mode = mode->value_or(Mode::kSafe);
    wanted.experimental = !given->no_experimental_features;
    wanted.adapter.allow_software = !given->no_software_adapter;
    if (given->adapter != nullptr) wanted.adapter.device = given->adapter;
    if (given->backend != nullptr) wanted.adapter.backend = given->backend;
    return give_handle(Runtime::create(wanted), runtime);
  });
}

wgk_status wgk_runtime_adopt(const wgk_runtime_options* options, wgk_runtime** runtime,
                             wgk_error** error) {
  return guarded(error, [&]() -> Status {
    if (auto status = check(runtime); !status) return status;
    auto given = sized<wgk_runtime_options>(options, WGK_RUNTIME_OPTIONS_INIT);
    if (!given) return std::unexpected(std::move(given.error()));
    AdoptOptions wanted;
    fill_common(*given, wanted);
    auto mode = parse_mode(given->mode);
    if (!mode) return std::unexpected(std::move(mode.error()));
    wanted.mode = *mode;
    wanted.device = given->device;
    wanted.instance = given->instance;
    wanted.timed_wait = given->timed_wait;
    return give_handle(Runtime::adopt(wanted), runtime);
  });
}

void wgk_runtime_free(wgk_runtime* runtime) { delete runtime; }

wgk_status wgk_runtime_describe(const wgk_runtime* runtime, char** json, wgk_error** error) {
  return guarded(error, [&]() -> Status {
    if (auto status = check(runtime, json); !status) return status;
    const DeviceDescription device = runtime->value.describe();
    return give_json(Json::object({{"adapter", json_of(device.adapter)},
                                   {"mode", std::string(name(device.mode))},
                                   {"adopted", device.adopted},
                                   {"toggles", json_of(device.toggles)},
                                   {"caps", device.caps.to_json()}}),
                     json);
  });
}

struct WGPUDeviceImpl* wgk_runtime_device(const wgk_runtime* runtime) {
  return guarded_or<WGPUDeviceImpl*>(
      nullptr, [&] { return runtime == nullptr ? nullptr : runtime->value.device(); });
}
struct WGPUQueueImpl* wgk_runtime_queue(const wgk_runtime* runtime) {
  return guarded_or<WGPUQueueImpl*>(
      nullptr, [&] { return runtime == nullptr ? nullptr : runtime->value.queue(); });
}
struct WGPUInstanceImpl* wgk_runtime_instance(const wgk_runtime* runtime) {
  return guarded_or<WGPUInstanceImpl*>(
      nullptr, [&] { return runtime == nullptr ? nullptr : runtime->value.instance(); });
}

wgk_status wgk_runtime_get_stats(const wgk_runtime* runtime, wgk_runtime_stats* stats,
                                 wgk_error** error) {
  return guarded(error, [&]() -> Status {
    if (auto status = check(runtime, stats); !status) return status;
    const RuntimeStats now = runtime->value.stats();
    const wgk_runtime_stats all = {sizeof all,
                                   1,
                                   0,
                                   now.live_bytes,
                                   now.peak_bytes,
                                   now.pooled_bytes,
                                   now.live_buffers,
                                   now.pooled_buffers,
                                   now.buffers_made,
                                   now.buffers_reused,
                                   now.pipelines,
                                   now.pipelines_built,
                                   now.pipeline_hits,
                                   now.bind_groups_made,
                                   now.submits,
                                   now.waits,
                                   now.maps,
                                   now.plans_made,
                                   now.plan_hits,
                                   now.blobs_loaded,
                                   now.blobs_stored};
    return give_sized(all, stats);
  });
}

uint64_t wgk_runtime_trim(const wgk_runtime* runtime) {
  return guarded_or<uint64_t>(0, [&] { return runtime == nullptr ? 0 : runtime->value.trim(); });
}

void wgk_runtime_poll(const wgk_runtime* runtime) {
  if (runtime != nullptr)
    guarded(nullptr, [&]() -> Status {
      runtime->value.poll();
      return {};
    });
}

wgk_status wgk_runtime_wait_idle(const wgk_runtime* runtime, uint64_t timeout_ns,
                                 wgk_error** error) {
  return guarded(error, [&]() -> Status {
    if (auto status = check(runtime); !status) return status;
    return runtime->value.wait_idle(parse_timeout(timeout_ns));
  });
}

bool wgk_runtime_lost(const wgk_runtime* runtime, char** reason, uint64_t* generation) {
  if (reason != nullptr) *reason = nullptr;
  if (runtime == nullptr) return false;
  bool lost = false;
  guarded(nullptr, [&]() -> Status {
    const auto loss = runtime->value.lost();
    if (!loss) return {};
    lost = true;
    if (generation != nullptr) *generation = loss->generation;
    return reason == nullptr ? Status() : give(loss->reason, reason);
  });
  return lost;
}

wgk_status wgk_runtime_rebuild(const wgk_runtime* runtime, struct WGPUDeviceImpl* device,
                               struct WGPUInstanceImpl* instance, wgk_error** error) {
  return guarded(error, [&]() -> Status {
    if (auto status = check(runtime); !status) return status;
    return runtime->value.rebuild(device, instance);
  });
}

wgk_status wgk_package_open(const char* place, wgk_package** package, wgk_error** error) {
  return guarded(error, [&]() -> Status {
    if (auto status = check(place, package); !status) return status;
    return give_handle(Package::open(place), package);
  });
}

wgk_status wgk_package_open_within(const char* place, const char* limits, wgk_package** package,
                                   wgk_error** error) {
  return guarded(error, [&]() -> Status {
    if (auto status = check(place, package); !status) return status;
    auto given = parse_limits(limits);
    if (!given) return std::unexpected(std::move(given.error()));
    return give_handle(Package::open(place, *given), package);
  });
}

void wgk_package_free(wgk_package* package) { delete package; }

wgk_status wgk_package_info(const wgk_package* package, char** json, wgk_error** error) {
  return guarded(error, [&]() -> Status {
    if (auto status = check(package, json); !status) return status;
    return give_json(info_of(package->value), json);
  });
}

wgk_status wgk_package_plan(const wgk_package* package, const wgk_signature* signature,
                            const char* caps, char** json, wgk_error** error) {
  return guarded(error, [&]() -> Status {
    if (auto status = check(package, json); !status) return status;
    auto call = parse_signature(signature);
    if (!call) return std::unexpected(std::move(call.error()));
    auto device = parse_caps(caps);
    if (!device) return std::unexpected(std::move(device.error()));
    auto plan = package->value.plan(request_of(*call), *device);
    if (!plan) return std::unexpected(std::move(plan.error()));
    return give_json(plan->to_json(), json);
  });
}

wgk_status wgk_package_explain(const wgk_package* package, const wgk_signature* signature,
                               const char* caps, char** json, wgk_error** error) {
  return guarded(error, [&]() -> Status {
    if (auto status = check(package, json); !status) return status;
    auto call = parse_signature(signature);
    if (!call) return std::unexpected(std::move(call.error()));
    auto device = parse_caps(caps);
    if (!device) return std::unexpected(std::move(device.error()));
    return give_json(package->value.explain(request_of(*call), *device).to_json(), json);
  });
}

wgk_status wgk_device_needs_create(const wgk_package* const* packages, size_t count,
                                   const wgk_device_needs_options* options,
                                   wgk_device_needs** needs, wgk_error** error) {
  return guarded(error, [&]() -> Status {
    if (auto status = check(needs); !status) return status;
    auto given = sized<wgk_device_needs_options>(options, WGK_DEVICE_NEEDS_OPTIONS_INIT);
    if (!given) return std::unexpected(std::move(given.error()));
    auto mode = parse_mode(given->mode);
    if (!mode) return std::unexpected(std::move(mode.error()));
    DeviceNeedsOptions wanted;
    wanted.mode = mode->value_or(Mode::kSafe);
    if (given->cache_folder != nullptr) wanted.cache_folder = given->cache_folder;
    wanted.procs = reinterpret_cast<GetProcAddress>(given->get_proc_address);
    std::vector<Package> list;
    for (std::size_t i = 0; i < count; ++i) {
      if (auto status = check(packages, packages[i]); !status) return status;
      list.push_back(packages[i]->value);
    }
    return give_handle(device_needs(list, wanted), needs);
  });
}

void wgk_device_needs_free(wgk_device_needs* needs) { delete needs; }

wgk_status wgk_device_needs_list(const wgk_device_needs* needs, char** json, wgk_error** error) {
  return guarded(error, [&]() -> Status {
    if (auto status = check(needs, json); !status) return status;
    Json::Array list;
    for (const DeviceNeed& need : needs->value.items()) {
      list.push_back(Json::object({{"kind", kind_name(need.kind)},
                                   {"name", need.name},
                                   {"least", need.least},
                                   {"required", need.required},
                                   {"reason", need.reason}}));
    }
    return give_json(list, json);
  });
}

bool wgk_device_needs_wants_unsafe_apis(const wgk_device_needs* needs) {
  return guarded_or(false, [&] { return needs != nullptr && needs->value.wants_unsafe_apis(); });
}

wgk_status wgk_device_needs_add_to(wgk_device_needs* needs, struct WGPUAdapterImpl* adapter,
                                   struct WGPUDeviceDescriptor* descriptor, wgk_error** error) {
  return guarded(error, [&]() -> Status {
    if (auto status = check(needs, adapter, descriptor); !status) return status;
    return needs->value.add_to(adapter, *descriptor);
  });
}

}  // extern "C"
