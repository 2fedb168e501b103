// SPDX-License-Identifier: Apache-2.0
// Texts of any length and content, for messages and terminals.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace wgk {

// The first `most` bytes of UTF-8 text, or up to three fewer so that no character is cut in two.
std::string cut_text(std::string_view text, std::size_t most);

// The whole text, or where it is longer than `most` bytes its beginning and dots.
std::string shortened(std::string_view text, std::size_t most);

// With all control characters but line breaks and tabs written in digits: nothing in it moves the
// cursor of a terminal or changes what stands there.
std::string harmless_text(std::string_view text);

}  // namespace wgk
