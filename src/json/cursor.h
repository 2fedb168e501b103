// SPDX-License-Identifier: Apache-2.0
// A typed view of a JSON value that knows its path, so that each message names the place:
// "inputs.x.dtype".
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "json/json.h"

namespace wgk::json {

class Cursor {
 public:
  Cursor(const Value& value, std::string path, std::string_view error_code)
      : value_(&value), path_(std::move(path)), code_(error_code) {}

  const Value& value() const { return *value_; }
  const std::string& path() const { return path_; }

  Result<std::string> string() const;
  Result<double> number() const;  // finite by JSON
  Result<std::int64_t> integer(std::int64_t min, std::int64_t max) const;
  Result<bool> boolean() const;
  Result<std::vector<Cursor>> items() const;                            // of an array
  Result<std::vector<std::pair<std::string, Cursor>>> members() const;  // of an object, in order
  std::optional<Cursor> find(std::string_view key) const;               // nothing when absent
  Result<Cursor> require(std::string_view key) const;

  // Every key must be one of `known`; the message lists the unknown ones and suggests a near name.
  Status only(std::initializer_list<std::string_view> known) const;

  // An error at this place: "<path>: <message>".
  std::unexpected<Error> fail(std::string message) const;
  // "<path>: <expected>, got <the value>".
  std::unexpected<Error> fail_value(std::string expected) const;
  // "<path>: <message>; known are <known>", with a near name as the hint. Many names are listed
  // where none is near only.
  std::unexpected<Error> fail_unknown(std::string message, std::string_view name,
                                      std::span<const std::string_view> known) const;
  std::unexpected<Error> fail_unknown(std::string message, std::string_view name,
                                      std::span<const std::string> known) const;

 private:
  const Value* value_;
  std::string path_;
  std::string_view code_;
};

}  // namespace wgk::json
