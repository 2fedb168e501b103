// SPDX-License-Identifier: Apache-2.0
// Everything.
#pragma once

#include "wgk/device.h"       // IWYU pragma: export
#include "wgk/device_caps.h"  // IWYU pragma: export
#include "wgk/dtype.h"        // IWYU pragma: export
#include "wgk/error.h"        // IWYU pragma: export
#include "wgk/future.h"       // IWYU pragma: export
#include "wgk/json.h"         // IWYU pragma: export
#include "wgk/kernel.h"       // IWYU pragma: export
#include "wgk/needs.h"        // IWYU pragma: export
#include "wgk/package.h"      // IWYU pragma: export
#include "wgk/plan.h"         // IWYU pragma: export
#include "wgk/request.h"      // IWYU pragma: export
#include "wgk/runtime.h"      // IWYU pragma: export
#include "wgk/tensor.h"       // IWYU pragma: export
