// SPDX-License-Identifier: Apache-2.0
// What planning reads from rendered WGSL: the enable directives it lacks (format.md c.4), and uses
// of names that rules forbid.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "wgk/error.h"

namespace wgk::planning {

// The text with every comment replaced by one blank; block comments nest, an open one runs to the
// end.
std::string without_comments(std::string_view wgsl);

// Whether `word` stands in comment-free text as a whole identifier.
bool has_word(std::string_view code, std::string_view word);

// Missing `enable f16;`, `enable subgroups;` and `enable subgroup_size_control;` lines put in
// front.
std::string with_enables(std::string_view wgsl);

// Device features that the enable directives of comment-free text ask for, sorted.
std::vector<std::string> enabled_features(std::string_view code);

// A rendered text with its missing directives, and the features that all its directives ask for.
struct FinishedText {
  std::string wgsl;
  std::vector<std::string> features;
};
FinishedText finish_text(std::string rendered);

// A tensor of opaque 64-bit integers may only be copied or selected as whole elements. `code` is
// comment-free; `name` is the WGSL variable.
Status check_opaque_int64(std::string_view code, std::string_view name);

}  // namespace wgk::planning
