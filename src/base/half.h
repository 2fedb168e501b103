// SPDX-License-Identifier: Apache-2.0
// IEEE binary16 as bits. Conversions round once, to nearest, ties to even; NaNs stay NaNs.
#pragma once

#include <cstdint>

namespace wgk {

std::uint16_t f16_from_f64(double value);
inline std::uint16_t f16_from_f32(float value) { return f16_from_f64(static_cast<double>(value)); }

float f32_from_f16(std::uint16_t bits);
inline double f64_from_f16(std::uint16_t bits) { return static_cast<double>(f32_from_f16(bits)); }

}  // namespace wgk
