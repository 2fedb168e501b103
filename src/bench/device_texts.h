// SPDX-License-Identifier: Apache-2.0
// Templates of the kernels that measure the device itself; the texts are in src/bench/device.
#pragma once

#include <string_view>

namespace wgk::bench {

extern const std::string_view k_streams_text;
extern const std::string_view k_empty_text;
extern const std::string_view k_dependent_text;
extern const std::string_view k_load_text;
extern const std::string_view k_noise_text;
extern const std::string_view k_sums_text;
extern const std::string_view k_rows_text;
extern const std::string_view k_exchange_text;

}  // namespace wgk::bench
