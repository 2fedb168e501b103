// SPDX-License-Identifier: Apache-2.0
// Early return on failure, for functions that return a Result or Status.
#pragma once

#include <expected>
#include <utility>

#define WGK_CONCAT_(a, b) a##b
#define WGK_CONCAT(a, b) WGK_CONCAT_(a, b)

// Returns the error of a failed Result or Status.
#define WGK_TRY(...)                                            \
  if (auto wgk_status = (__VA_ARGS__); !wgk_status.has_value()) \
  return std::unexpected(std::move(wgk_status).error())

// `WGK_ASSIGN(auto value, read())` declares or assigns the value, or returns the error.
#define WGK_ASSIGN(target, ...) WGK_ASSIGN_(WGK_CONCAT(wgk_result_, __LINE__), target, __VA_ARGS__)
#define WGK_ASSIGN_(result, target, ...)                                      \
  auto result = (__VA_ARGS__);                                                \
  if (!result.has_value()) return std::unexpected(std::move(result).error()); \
  target = *std::move(result)
