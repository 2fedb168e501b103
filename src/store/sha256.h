// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

#include "package/package.h"

namespace wgk::store {

package::Sha256 sha256(std::span<const std::byte> bytes);

}  // namespace wgk::store
