// SPDX-License-Identifier: Apache-2.0
#include "wgk/runtime.h"

#include <algorithm>
#include <format>
#include <utility>

#include "gpu/transfer.h"
#include "plan/encode.h"
#include "runtime/access.h"
#include "runtime/kernel_impl.h"
#include "runtime/quirks.h"
#include "runtime/state.h"
#include "runtime/tensor_impl.h"

namespace wgk {
namespace {

// Opens a device of our own. The cache needs the adapter's name before the device is made.
Result<std::shared_ptr<gpu::Device>> open_device(const Runtime::Impl& runtime,
                                                 std::shared_ptr<DiskCache>& cache) {
  const RuntimeOptions& options = *runtime.created;
  auto instance = gpu::Instance::create(runtime.procs, runtime.log, options.experimental);
  if (!instance) return std::unexpected(std::move(instance.error()));
  auto adapter = (*instance)->choose(options.adapter);
  if (!adapter) return std::unexpected(std::move(adapter.error()));
  if (!options.cache_folder.empty())
    cache = std::make_shared<DiskCache>(options.cache_folder, adapter->description);
  gpu::DeviceOptions wanted;
  wanted.mode = options.mode;
  wanted.timeout = options.timeout;
  wanted.blobs = cache;
  return gpu::Device::open(std::move(*instance), std::move(*adapter), wanted);
}

Result<std::shared_ptr<gpu::Device>> adopt_device(const Runtime::Impl& runtime,
                                                  std::shared_ptr<DiskCache>& cache) {
  const AdoptOptions& options = *runtime.adopted;
  gpu::AdoptRequest request;
  request.device = options.device;
  request.instance = options.instance;
  request.timed_wait = options.timed_wait;
  request.mode = options.mode;
  request.timeout = options.timeout;
  auto device = gpu::Device::adopt(runtime.procs, runtime.log, request);
  if (device) {
    if (auto status = (*device)->check(); !status)
      return std::unexpected(std::move(status.error()).during("adopting a device"));
  }
  // The caller's device has its own blob cache, or none: only texts are kept here.
  if (device && !options.cache_folder.empty())
    cache = std::make_shared<DiskCache>(options.cache_folder, (*device)->adapter());
  return device;
}

Result<gpu::Procs> procs_of(const CommonOptions& options) {
  if (options.procs == nullptr) return gpu::linked_procs();
  return gpu::procs_from(options.procs);
}

Result<Runtime> start(std::shared_ptr<Runtime::Impl> impl, const Result<gpu::Procs>& procs) {
  if (!procs) return std::unexpected(procs.error());
  if (impl->options().timeout.count() <= 0) {
    return failure("usage/range",
                   "the longest wait is not positive: every wait would lose the device");
  }
  impl->procs = *procs;
  impl->log = std::make_shared<const gpu::Log>(impl->options().log);
  auto session = impl->open_session(0);
  if (!session) return std::unexpected(std::move(session.error()));
  impl->current = std::move(*session);
  return Runtime(std::move(impl));
}

}  // namespace

Result<SessionRef> Runtime::Impl::open_session(std::uint64_t generation) const {
  std::shared_ptr<DiskCache> cache;
  auto device = created ? open_device(*this, cache) : adopt_device(*this, cache);
  if (!device) return std::unexpected(std::move(device.error()));
  const CommonOptions& common = options();
  auto session = std::make_shared<Session>();
  session->context =
      gpu::Context::make(*device, {.cap = common.memory.cap, .pool = common.memory.pool});
  session->context.debug_groups = common.debug_groups;
  session->generation = generation;
  session->cache = std::move(cache);
  session->description = {(*device)->adapter(), (*device)->caps(), (*device)->mode(),
                          !(*device)->owned(), (*device)->toggles()};
  session->caps = (*device)->caps();
  auto off = quirks_of(common.quirks.empty() ? builtin_quirks() : std::string_view(common.quirks),
                       (*device)->adapter());
  if (!off) return std::unexpected(std::move(off.error()));
  session->caps.variants_off = std::move(*off);
  session->context.memory->set_reclaim(
      [weak = std::weak_ptr<Runtime::Impl>(
           std::const_pointer_cast<Runtime::Impl>(shared_from_this()))] {
        if (const auto runtime = weak.lock()) runtime->drop(false);
      });
  return session;
}

Result<SessionRef> Runtime::Impl::live_session() const {
  SessionRef session = this->session();
  if (auto status = session->context.device->check(); !status)
    return std::unexpected(std::move(status.error()));
  return session;
}

void Runtime::Impl::add_callback(Callback callback) {
  {
    const std::lock_guard lock(callback_mutex);
    if (!owner.expired()) {
      callbacks.push_back(std::move(callback));
      return;
    }
  }
  callback(true);
}

namespace {

// Nobody asks any more: they are told, and none keeps the others from it.
void tell_over(std::list<Runtime::Impl::Callback>& callbacks) {
  for (const auto& callback : callbacks) {
    try {
      callback(true);
    } catch (...) {  // this may be a destructor, and the others want to know too
    }
  }
  callbacks.clear();
}

}  // namespace

void Runtime::Impl::poll() {
  const auto self = shared_from_this();  // a callback may drop everything else that holds this
  std::list<Callback> taken;
  // Those that came meanwhile come after the older ones; none is lost when one of them throws, or
  // drops the last handle of the runtime.
  struct PutBack {
    Runtime::Impl& runtime;
    std::list<Callback>& taken;
    ~PutBack() {
      {
        const std::lock_guard lock(runtime.callback_mutex);
        if (!runtime.owner.expired()) runtime.callbacks.splice(runtime.callbacks.begin(), taken);
      }
      tell_over(taken);
    }
  };
  {
    const std::lock_guard lock(callback_mutex);
    taken.swap(callbacks);
  }
  const PutBack put_back(*this, taken);
  for (auto next = taken.begin(); next != taken.end();) {
    std::list<Callback> now;
    now.splice(now.begin(), taken, next++);
    if (!now.front()(false)) taken.splice(next, now);
  }
}

void Runtime::Impl::end_callbacks() {
  std::list<Callback> taken;
  {
    const std::lock_guard lock(callback_mutex);
    taken.swap(callbacks);
  }
  tell_over(taken);
}

std::shared_ptr<void> Runtime::Impl::own() {
  struct Owner {
    RuntimeRef runtime;
    explicit Owner(RuntimeRef of) : runtime(std::move(of)) {}
    ~Owner() { runtime->end_callbacks(); }
    Owner(const Owner&) = delete;
    Owner& operator=(const Owner&) = delete;
  };
  const std::lock_guard lock(callback_mutex);
  std::shared_ptr<void> shared = owner.lock();
  if (!shared) owner = shared = std::make_shared<Owner>(shared_from_this());
  return shared;
}

void Runtime::Impl::add_holder(std::weak_ptr<IdleHolder> holder) {
  const std::lock_guard lock(holder_mutex);
  std::erase_if(holders, [](const auto& old) { return old.expired(); });
  holders.push_back(std::move(holder));
}

void Runtime::Impl::drop(bool stale_only) {
  std::vector<std::shared_ptr<IdleHolder>> alive;
  {
    const std::lock_guard lock(holder_mutex);
    for (const auto& holder : holders) {
      if (auto strong = holder.lock()) alive.push_back(std::move(strong));
    }
  }
  for (const auto& holder : alive) holder->drop(stale_only);
}

Result<Runtime> create_with(const RuntimeOptions& options, const gpu::Procs& procs) {
  auto impl = std::make_shared<Runtime::Impl>();
  impl->created = options;
  return start(std::move(impl), procs);
}

Result<Runtime> adopt_with(const AdoptOptions& options, const gpu::Procs& procs) {
  auto impl = std::make_shared<Runtime::Impl>();
  impl->adopted = options;
  return start(std::move(impl), procs);
}

gpu::Context context_of(const Runtime& runtime) { return runtime.impl()->session()->context; }

Runtime::Runtime(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {
  if (impl_) owner_ = impl_->own();
}

Result<Runtime> Runtime::create(const RuntimeOptions& options) {
  auto impl = std::make_shared<Impl>();
  impl->created = options;
  return start(std::move(impl), procs_of(options));
}

Result<Runtime> Runtime::adopt(const AdoptOptions& options) {
  auto impl = std::make_shared<Impl>();
  impl->adopted = options;
  return start(std::move(impl), procs_of(options));
}

Result<std::vector<AdapterDescription>> Runtime::adapters(const std::string& backend) {
  auto instance = gpu::Instance::create(gpu::linked_procs(), std::make_shared<const gpu::Log>());
  if (!instance) return std::unexpected(std::move(instance.error()));
  auto found = (*instance)->adapters(backend);
  if (!found) return std::unexpected(std::move(found.error()));
  std::vector<AdapterDescription> list;
  for (const gpu::Adapter& adapter : *found) list.push_back(adapter.description);
  return list;
}

DeviceDescription Runtime::describe() const { return impl_->session()->description; }
DeviceCaps Runtime::caps() const { return impl_->session()->caps; }
WGPUDevice Runtime::device() const { return impl_->session()->context.device->handle(); }
WGPUQueue Runtime::queue() const { return impl_->session()->context.device->queue(); }
WGPUInstance Runtime::instance() const {
  return impl_->session()->context.device->instance().handle();
}

Result<Kernel> Runtime::load(std::string_view place, const LoadOptions& options) const {
  auto package = Package::open(place);
  if (!package) return std::unexpected(std::move(package.error()));
  return load(std::move(*package), options);
}

Result<Kernel> Runtime::load(Package package, const LoadOptions& options) const {
  if (describe().mode == Mode::kTrusted && !options.trust) {
    return failure(
        "store/trust",
        std::format(
            "package '{}' (manifest {}) is not trusted, and this runtime leaves the checks off",
            package.op_id(), package.digest()),
        "use a safe runtime, or say that you trust these bytes");
  }
  const auto kernel = std::make_shared<Kernel::Impl>(impl_, std::move(package));
  impl_->add_holder(kernel);
  return Kernel(kernel);
}

Result<Tensor> Runtime::upload(const HostTensor& data, const UploadOptions& options) const {
  auto session = impl_->live_session();
  if (!session) return std::unexpected(std::move(session.error()));
  auto tensor = make_tensor(impl_, *session, data.dtype, data.shape, options.form);
  if (!tensor) return tensor;
  const std::shared_ptr<Tensor::Impl>& made = tensor->impl();
  const PlanTensor form = plan_tensor("tensor", made->dtype, made->storage, made->packed,
                                      made->shape, made->byte_length);
  auto bytes = planning::encode(data.data, data.array.value_or(data.dtype), form);
  if (!bytes) return std::unexpected(std::move(bytes.error()));
  if (auto status = gpu::write((*session)->context, made->slice, *bytes); !status)
    return std::unexpected(std::move(status.error()));
  if (options.keep_host_copy) {
    made->host = std::make_shared<const HostArray>(HostArray{
        {data.data.begin(), data.data.end()}, data.array.value_or(data.dtype), data.shape});
  }
  return tensor;
}

Result<Tensor> Runtime::empty(DType dtype, Shape shape) const {
  auto session = impl_->live_session();
  if (!session) return std::unexpected(std::move(session.error()));
  return make_tensor(impl_, *session, dtype, std::move(shape), {});
}

void Runtime::poll() const { impl_->poll(); }

Status Runtime::wait_idle(std::optional<std::chrono::nanoseconds> timeout) const {
  auto session = impl_->live_session();
  if (!session) return std::unexpected(std::move(session.error()));
  auto status = gpu::wait_for_queue(*(*session)->context.device, timeout);
  if (status) impl_->poll();
  return status;
}

RuntimeStats Runtime::stats() const {
  const SessionRef session = impl_->session();
  const gpu::MemoryStats memory = session->context.memory->stats();
  const gpu::PipelineStats pipelines = session->context.pipelines->stats();
  const gpu::DeviceCounters& counters = session->context.device->counters();
  RuntimeStats stats;
  stats.live_bytes = memory.live_bytes;
  stats.peak_bytes = memory.peak_bytes;
  stats.pooled_bytes = memory.pooled_bytes;
  stats.live_buffers = memory.live_buffers;
  stats.pooled_buffers = memory.pooled_buffers;
  stats.buffers_made = memory.created;
  stats.buffers_reused = memory.reused;
  stats.pipelines = pipelines.live;
  stats.pipelines_built = pipelines.built;
  stats.pipeline_hits = pipelines.hits;
  stats.bind_groups_made = session->context.bind_groups->load();
  stats.submits = counters.submits;
  stats.waits = counters.waits;
  stats.maps = counters.maps;
  stats.plans_made = impl_->plans_made;
  stats.plan_hits = impl_->plan_hits;
  if (session->cache) {
    stats.blobs_loaded = session->cache->loaded();
    stats.blobs_stored = session->cache->stored();
  }
  return stats;
}

std::uint64_t Runtime::trim() const {
  impl_->drop(false);
  const SessionRef session = impl_->session();
  session->context.device->instance().look_at_abandoned();
  return session->context.memory->trim();
}

std::optional<Loss> Runtime::lost() const {
  const SessionRef session = impl_->session();
  const auto status = session->context.device->check();
  if (status) return std::nullopt;
  return Loss{status.error().message, session->generation};
}

Status Runtime::rebuild(WGPUDevice device, WGPUInstance instance) const {
  const SessionRef seen = impl_->session();
  if (impl_->adopted && device == nullptr) {
    return failure("usage/device", "an adopted device can only be replaced by another one",
                   "pass the new device");
  }
  const std::lock_guard one(impl_->rebuild_mutex);
  const SessionRef old = impl_->session();
  // Another thread did it while this one waited for its turn.
  const bool done = old != seen && old->context.device->check();
  if (done && (!impl_->adopted || old->context.device->handle() == device)) return {};
  if (impl_->adopted) {
    impl_->adopted->device = device;
    impl_->adopted->instance = instance;
  }
  auto session = impl_->open_session(old->generation + 1);
  if (!session) return std::unexpected(std::move(session.error()));
  {
    const std::lock_guard lock(impl_->mutex);
    impl_->current = std::move(*session);
  }
  old->context.device->mark_lost("the runtime was rebuilt");
  impl_->drop(false);
  old->context.memory->close();
  old->context.pipelines->clear();
  return {};
}

}  // namespace wgk
