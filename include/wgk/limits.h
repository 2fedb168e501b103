// SPDX-License-Identifier: Apache-2.0
// What a package may cost to load and a call to plan; the defaults admit all that people write.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "wgk/error.h"

namespace wgk {

// Raise one for bytes you trust, lower one for strangers'; what passes one is an error that names
// it. All files: 8 x file_bytes (at least 16 MiB), all templates: 4 x output_bytes (1 MiB or more).
struct Limits {
  std::size_t file_bytes = std::size_t{32} << 20;  // of one file of a package ("package/file")
  std::size_t json_bytes = std::size_t{64} << 20;  // of one JSON text ("package/json")
  std::size_t json_depth = 128;                    // nesting of JSON ("package/json")
  std::size_t variants = 4096;                     // of a manifest ("limit/count")
  std::size_t passes = 131'072;    // of one variant, and instances in one plan ("limit/count")
  std::size_t steps = 10'000'000;  // of one expression or template ("limit/steps")
  std::size_t depth = 100;         // nesting of source and of macro calls ("limit/depth")
  std::size_t output_bytes = std::size_t{4} << 20;  // of one rendered text ("limit/output")

  // Values beyond what can be honoured without running out of stack are "usage/range".
  Status check() const;
};

// The largest values that check() admits.
inline constexpr std::size_t kMostJsonDepth = 1000;
inline constexpr std::size_t kMostDepth = 250;

// Each limit under the name that people write: "json-depth".
struct LimitName {
  std::string_view name;
  std::size_t Limits::* value;
};
inline constexpr std::array<LimitName, 8> kLimitNames = {{
    {"file-bytes", &Limits::file_bytes},
    {"json-bytes", &Limits::json_bytes},
    {"json-depth", &Limits::json_depth},
    {"variants", &Limits::variants},
    {"passes", &Limits::passes},
    {"steps", &Limits::steps},
    {"depth", &Limits::depth},
    {"output-bytes", &Limits::output_bytes},
}};

}  // namespace wgk
