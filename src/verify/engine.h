// SPDX-License-Identifier: Apache-2.0
// What cases are run on. The real one sits on the runtime (runtime_engine.h); tests have their own.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "package/package.h"
#include "wgk/device_caps.h"
#include "wgk/dtype.h"
#include "wgk/error.h"
#include "wgk/json.h"

namespace wgk::verify {

// A host array: elements of host_bytes(dtype) each.
struct Array {
  DType dtype = DType::f32;
  Shape shape;
  std::vector<std::byte> data;
};
using Arrays = std::vector<std::pair<std::string, Array>>;  // by port

// One call. In-place tensors are uploaded before it; new outputs hold a pattern, so that what a
// kernel leaves unwritten shows.
struct Call {
  Arrays inputs;
  std::vector<std::pair<std::string, Json>> attrs, args, tunables;
  std::vector<std::string> outputs;  // requested; required ones exist anyway
  std::string variant;               // forced; empty: selected
  bool must_fail = false;            // tensors are on the device, and looked at after the failure
};

struct CallResult {
  std::string variant;  // that ran
  Arrays outputs;       // by bind key, in-place tensors too
};

// A call that failed, and the tensors that changed all the same.
struct CallFailure {
  Error error;
  std::vector<std::string> changed;
};

class Engine {
 public:
  virtual ~Engine() = default;
  virtual std::string adapter() const = 0;
  virtual const DeviceCaps& caps() const = 0;
  virtual std::expected<CallResult, CallFailure> call(
      const std::shared_ptr<const package::Package>& package, const Call& call) = 0;
};

}  // namespace wgk::verify
