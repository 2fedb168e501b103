// SPDX-License-Identifier: Apache-2.0
#include "gpu/procs.h"

#include <dawn/native/DawnNative.h>

#include <string>
#include <string_view>

namespace wgk::gpu {
namespace {

std::vector<WGPUAdapter> enumerate_linked(WGPUInstance instance,
                                          const WGPURequestAdapterOptions* options) {
  // Wraps the same instance and takes a reference of its own for as long as this object lives.
  const dawn::native::Instance native(reinterpret_cast<dawn::native::InstanceBase*>(instance));
  std::vector<WGPUAdapter> adapters;
  for (const dawn::native::Adapter& adapter : native.EnumerateAdapters(options)) {
    adapters.push_back(adapter.Get());
    wgpuAdapterAddRef(adapters.back());
  }
  return adapters;
}

std::vector<const char*> toggles_of(WGPUDevice device) {
  return dawn::native::GetTogglesUsed(device);
}

Procs make_linked() {
  Procs procs;
#define WGK_LINKED(member, name) procs.member = wgpu##name;
  WGK_GPU_REQUIRED_PROCS(WGK_LINKED)
  WGK_GPU_OPTIONAL_PROCS(WGK_LINKED)
#undef WGK_LINKED
  procs.enumerate_adapters = enumerate_linked;
  procs.toggles_used = toggles_of;
  return procs;
}

}  // namespace

const Procs& linked_procs() {
  static const Procs kProcs = make_linked();
  return kProcs;
}

Result<Procs> procs_from(WGPUProc (*get_proc_address)(WGPUStringView name)) {
  if (get_proc_address == nullptr) {
    return failure("device/function", "no function to look WebGPU functions up with");
  }
  const auto look_up = [&](std::string_view name) {
    return get_proc_address(WGPUStringView{name.data(), name.size()});
  };
  Procs procs;
  std::string missing;
#define WGK_REQUIRED(member, name)                                        \
  procs.member = reinterpret_cast<WGPUProc##name>(look_up("wgpu" #name)); \
  if (procs.member == nullptr) missing += missing.empty() ? "wgpu" #name : ", wgpu" #name;
  WGK_GPU_REQUIRED_PROCS(WGK_REQUIRED)
#undef WGK_REQUIRED
#define WGK_OPTIONAL(member, name) \
  procs.member = reinterpret_cast<WGPUProc##name>(look_up("wgpu" #name));
  WGK_GPU_OPTIONAL_PROCS(WGK_OPTIONAL)
#undef WGK_OPTIONAL
  if (!missing.empty()) {
    return failure("device/function", "the given WebGPU library lacks " + missing);
  }
  return procs;
}

}  // namespace wgk::gpu
