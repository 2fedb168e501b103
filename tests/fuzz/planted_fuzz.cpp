// SPDX-License-Identifier: Apache-2.0
// A target with a bug on purpose: a write behind the end of a buffer, some steps deep. `./dev fuzz`
// must find it, which proves that coverage guidance and sanitizers are at work; it is never part of
// another program.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (!text.starts_with("{%")) return 0;
  if (text.find("for") == std::string_view::npos) return 0;
  if (!text.ends_with("%}")) return 0;
  const auto copy = std::make_unique<char[]>(4);
  for (std::size_t i = 0; i < text.size(); ++i) copy[i] = text[i];
  return copy[0] == '}' ? 1 : 0;
}
