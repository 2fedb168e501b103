// SPDX-License-Identifier: Apache-2.0
// Variants that are known to go wrong on some driver, as data: {"adapter": {...}, "op": ...,
// "variant": ..., "reason": ...}.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "wgk/device.h"
#include "wgk/device_caps.h"
#include "wgk/error.h"

namespace wgk {

// The table that comes with the library, as JSON text.
std::string_view builtin_quirks();

// The entries of `table` (JSON text) that are about this adapter. Every field of "adapter" must
// match: `vendor`, `architecture`, `backend`, `type` exactly, `name` and `driver` as a part, any
// case. "op" and "variant" may end in "*". Error: "usage/quirks".
Result<std::vector<VariantOff>> quirks_of(std::string_view table,
                                          const AdapterDescription& adapter);

}  // namespace wgk
