// SPDX-License-Identifier: Apache-2.0
// For tests: EXPECT_TRUE(contains(text, "part")) shows the text when it fails.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace wgk {

inline testing::AssertionResult contains(std::string_view text, std::string_view part) {
  if (text.find(part) != std::string_view::npos) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "'" << part << "' is not in:\n" << text;
}

}  // namespace wgk
