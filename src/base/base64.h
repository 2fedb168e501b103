// SPDX-License-Identifier: Apache-2.0
// Base64 of RFC 4648 section 4, padded.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace wgk {

std::string base64_encode(std::span<const std::uint8_t> bytes);

// Nothing unless `text` is exactly what base64_encode gives for some bytes.
std::optional<std::vector<std::uint8_t>> base64_decode(std::string_view text);

}  // namespace wgk
