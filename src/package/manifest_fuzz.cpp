// SPDX-License-Identifier: Apache-2.0
// Any text as each of a package's JSON files: it is read or refused. JSON that is read is written
// and read again without change.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "json/json.h"
#include "package/cases.h"
#include "package/contract.h"
#include "package/manifest.h"
#include "package/package.h"

namespace wgk::package {
namespace {

void run(std::string_view text) {
  (void)read_metadata(text);
  const Result<Json> json = json::parse(text, {.max_bytes = std::size_t{1} << 20, .max_depth = 64});
  if (!json) return;
  const std::string written = json::write(*json);
  const Result<Json> again = json::parse(written);
  if (!again || json::write(*again) != written) std::abort();
  (void)read_manifest(*json);
  (void)read_contract(*json);
  (void)read_tests(*json);
  (void)read_benches(*json);
}

}  // namespace
}  // namespace wgk::package

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  wgk::package::run({reinterpret_cast<const char*>(data), size});
  return 0;
}
