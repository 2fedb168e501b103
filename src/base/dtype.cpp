// SPDX-License-Identifier: Apache-2.0
#include "wgk/dtype.h"

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

namespace wgk {
namespace {

struct Traits {
  std::string_view name;
  std::size_t host_bytes;
  std::size_t device_bytes;
  std::string_view wgsl;
};

// In the order of DType.
constexpr std::array<Traits, 9> kTraits = {{{"float32", 4, 4, "f32"},
                                            {"float16", 2, 2, "f16"},
                                            {"int8", 1, 4, "i32"},
                                            {"int16", 2, 4, "i32"},
                                            {"int32", 4, 4, "i32"},
                                            {"int64", 8, 8, "vec2<u32>"},
                                            {"uint8", 1, 4, "u32"},
                                            {"uint32", 4, 4, "u32"},
                                            {"bool", 1, 4, "u32"}}};

const Traits& traits(DType dtype) { return kTraits[static_cast<std::size_t>(dtype)]; }

}  // namespace

std::string_view name(DType dtype) { return traits(dtype).name; }

std::optional<DType> dtype_from_name(std::string_view text) {
  for (std::size_t i = 0; i < kTraits.size(); ++i) {
    if (kTraits[i].name == text) return static_cast<DType>(i);
  }
  return std::nullopt;
}

std::span<const std::string_view> dtype_names() {
  static constexpr auto kNames = [] {
    std::array<std::string_view, kTraits.size()> names;
    for (std::size_t i = 0; i < names.size(); ++i) names[i] = kTraits[i].name;
    return names;
  }();
  return kNames;
}

std::size_t host_bytes(DType dtype) { return traits(dtype).host_bytes; }
std::size_t device_bytes(DType dtype) { return traits(dtype).device_bytes; }
std::string_view wgsl_scalar(DType dtype) { return traits(dtype).wgsl; }

}  // namespace wgk
