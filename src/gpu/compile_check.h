// SPDX-License-Identifier: Apache-2.0
// Whether shaders compile on a device that nobody here owns: by a stand-in made with exactly that
// device's features and limits.
#pragma once

#include <memory>
#include <string>

#include "gpu/executor.h"
#include "wgk/device_caps.h"
#include "wgk/error.h"
#include "wgk/plan.h"

namespace wgk::gpu {

class CompileChecker {
 public:
  // Tries the null back end (front-end checks only), then every real adapter. "device/none", with
  // the reason of each, when none can be made to look like `profile`.
  static Result<CompileChecker> make(const DeviceCaps& profile);

  // Compiles every pass of the plan with its layout. Errors: "device/compile" with the diagnostic
  // and the pass.
  Status check(const Plan& plan) const;
  // The adapter that stands in.
  const AdapterDescription& stand_in() const { return context_.device->adapter(); }

 private:
  explicit CompileChecker(Context context) : context_(std::move(context)) {}
  Context context_;
};

}  // namespace wgk::gpu
