// SPDX-License-Identifier: Apache-2.0
// Counts records and prints what differs.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "wgk/json.h"

namespace wgk::interop {

// The differences of one record: "field: expected ..., got ...".
class Record {
 public:
  explicit Record(std::string name) : name_(std::move(name)) {}

  void expect(std::string_view field, const Json& expected, const Json& got);
  void expect_text(std::string_view field, std::string_view expected, std::string_view got);
  void differ(std::string_view field, std::string expected, std::string got);
  const std::string& name() const { return name_; }
  const std::vector<std::string>& differences() const { return differences_; }

 private:
  std::string name_;
  std::vector<std::string> differences_;
};

class Report {
 public:
  void add(const Record& record);
  void skip(std::string_view name, std::string_view why);
  // "N passed, N failed, N skipped"
  std::string summary() const;
  bool failed() const { return failed_ != 0; }
  bool empty() const { return passed_ + failed_ + skipped_ == 0; }

 private:
  std::size_t passed_ = 0, failed_ = 0, skipped_ = 0;
};

}  // namespace wgk::interop
