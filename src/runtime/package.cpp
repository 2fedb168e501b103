// SPDX-License-Identifier: Apache-2.0
#include "wgk/package.h"

#include <algorithm>
#include <exception>
#include <new>

#include "package/package.h"
#include "store/open.h"

namespace wgk {
namespace {

bool has_port(const std::vector<package::Port>& ports, const std::string& key) {
  return std::ranges::find(ports, key, &package::Port::key) != ports.end();
}

std::vector<PortInfo> port_infos(const std::vector<package::Port>& ports,
                                 const std::vector<package::Port>& others) {
  std::vector<PortInfo> infos;
  for (const package::Port& port : ports) {
    infos.push_back({port.key, port.onnx, port.dtype, port.optional, has_port(others, port.key)});
  }
  return infos;
}

// What a package makes the host allocate may be more than it has; an error tells so.
template <class Body>
auto guarded(Body body) -> decltype(body()) {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return failure("limit/host-memory", "the host is out of memory");
  } catch (const std::exception& exception) {
    return failure("usage/internal", exception.what());
  }
}

}  // namespace

Result<Package> Package::open(std::string_view place, const Limits& limits) {
  return guarded([&]() -> Result<Package> {
    auto opened = store::open(place, {.limits = limits});
    if (!opened) return std::unexpected(std::move(opened.error()));
    return Package(std::move(*opened));
  });
}

std::string Package::op_id() const { return package_->manifest.op_id(); }
std::string Package::origin() const { return package_->origin; }
std::string Package::digest() const { return package_->manifest_digest; }

std::vector<PortInfo> Package::inputs() const {
  return port_infos(package_->manifest.inputs, package_->manifest.outputs);
}

std::vector<PortInfo> Package::outputs() const {
  return port_infos(package_->manifest.outputs, package_->manifest.inputs);
}

std::vector<std::string> Package::variants() const {
  std::vector<std::string> ids;
  for (const package::Variant& variant : package_->manifest.variants) ids.push_back(variant.id);
  return ids;
}

Result<Plan> Package::plan(const Request& request, const DeviceCaps& caps) const {
  return guarded([&] { return wgk::plan(*package_, request, caps); });
}

Explanation Package::explain(const Request& request, const DeviceCaps& caps) const {
  auto explanation =
      guarded([&]() -> Result<Explanation> { return wgk::explain(*package_, request, caps); });
  if (explanation) return *std::move(explanation);
  Explanation failed;
  failed.error = std::move(explanation.error());
  return failed;
}

}  // namespace wgk
