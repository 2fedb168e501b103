// SPDX-License-Identifier: Apache-2.0
#include "report.h"

#include <algorithm>
#include <cstdio>

#include "json/json.h"

namespace wgk::interop {
namespace {

std::string quoted(std::string_view text) { return json::write(Json(text)); }

// The first line that differs says more than two whole shaders.
std::size_t line_of_difference(std::string_view a, std::string_view b, std::string_view& left,
                               std::string_view& right) {
  const auto differing = std::ranges::mismatch(a, b);
  const auto at = static_cast<std::size_t>(differing.in1 - a.begin());
  const std::size_t start = at == 0 ? 0 : a.substr(0, at).rfind('\n') + 1;
  const auto line = [start](std::string_view text) {
    return text.substr(start, text.substr(start).find('\n'));
  };
  left = line(a);
  right = line(b);
  return static_cast<std::size_t>(std::ranges::count(a.substr(0, start), '\n')) + 1;
}

}  // namespace

void Record::differ(std::string_view field, std::string expected, std::string got) {
  differences_.push_back(std::string(field) + ": expected " + expected + ", got " + got);
}

void Record::expect(std::string_view field, const Json& expected, const Json& got) {
  if (expected != got) differ(field, json::write(expected), json::write(got));
}

void Record::expect_text(std::string_view field, std::string_view expected, std::string_view got) {
  if (expected == got) return;
  std::string_view left, right;
  const std::size_t line = line_of_difference(expected, got, left, right);
  differ(std::string(field) + " line " + std::to_string(line), quoted(left), quoted(right));
}

void Report::add(const Record& record) {
  if (record.differences().empty()) {
    ++passed_;
    return;
  }
  ++failed_;
  for (const std::string& difference : record.differences())
    std::printf("%s: %s\n", record.name().c_str(), difference.c_str());
}

void Report::skip(std::string_view name, std::string_view why) {
  ++skipped_;
  std::printf("skipped %.*s: %.*s\n", static_cast<int>(name.size()), name.data(),
              static_cast<int>(why.size()), why.data());
}

std::string Report::summary() const {
  return std::to_string(passed_) + " passed, " + std::to_string(failed_) + " failed, " +
         std::to_string(skipped_) + " skipped";
}

}  // namespace wgk::interop
