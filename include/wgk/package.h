// SPDX-License-Identifier: Apache-2.0
// A kernel package that was opened and verified.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "wgk/device_caps.h"
#include "wgk/error.h"
#include "wgk/limits.h"
#include "wgk/plan.h"
#include "wgk/request.h"

namespace wgk {

struct PortInfo {
  std::string key;       // bind key
  std::string upstream;  // ONNX name, may be empty
  std::string dtype;     // dtype name or type variable, empty: unchecked
  bool optional = false;
  bool in_place = false;  // the same tensor is input and output
};

// A cheap handle of an immutable package; no device is needed to plan with it.
class Package {
 public:
  // A package's folder, or its build/webgpu folder. Every file is verified against metadata.json
  // before it is parsed. Planning keeps to the limits too.
  static Result<Package> open(std::string_view place, const Limits& limits = {});
  explicit Package(std::shared_ptr<const package::Package> package)
      : package_(std::move(package)) {}

  std::string op_id() const;
  std::string origin() const;  // where it came from
  std::string digest() const;  // of its manifest, base64: names these bytes
  std::vector<PortInfo> inputs() const;
  std::vector<PortInfo> outputs() const;
  std::vector<std::string> variants() const;

  Result<Plan> plan(const Request& request, const DeviceCaps& caps) const;
  Explanation explain(const Request& request, const DeviceCaps& caps) const;

  const std::shared_ptr<const package::Package>& shared() const { return package_; }

 private:
  std::shared_ptr<const package::Package> package_;
};

}  // namespace wgk
