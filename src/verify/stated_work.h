// SPDX-License-Identifier: Apache-2.0
// What a benchmark case says that any algorithm must move and compute at least.
#pragma once

#include <optional>

#include "package/cases.h"
#include "package/package.h"
#include "wgk/device_caps.h"
#include "wgk/error.h"
#include "wgk/request.h"

namespace wgk::verify {

struct StatedWork {
  std::optional<double> bytes, flops;  // none: the case does not say
};

// Evaluates the case's expressions for a request made of it. Errors: those of the expressions,
// "package/cases" when one is not a finite number of at least 0.
Result<StatedWork> stated_work(const package::Package& package, const package::BenchCase& bench,
                               const Request& request, const DeviceCaps& caps);

}  // namespace wgk::verify
