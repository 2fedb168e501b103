// SPDX-License-Identifier: Apache-2.0
#include "base/error_codes.h"

#include <span>
#include <string_view>

namespace wgk {
namespace {

constexpr ErrorCode kErrorCodes[] = {
#define WGK_ERROR(code, cause, fix) {code, cause, fix},
#include "base/error_codes.def"
#undef WGK_ERROR
};

}  // namespace

std::span<const ErrorCode> error_codes() { return kErrorCodes; }

const ErrorCode* find_error_code(std::string_view code) {
  for (const ErrorCode& entry : kErrorCodes) {
    if (entry.code == code) return &entry;
  }
  return nullptr;
}

}  // namespace wgk
