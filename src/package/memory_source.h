// SPDX-License-Identifier: Apache-2.0
// A package held in memory: tests, bundles, packages that are being made.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "package/package.h"

namespace wgk::package {

class MemorySource final : public FileSource {
 public:
  explicit MemorySource(std::map<std::string, std::string, std::less<>> files,
                        std::string description = "memory")
      : files_(std::move(files)), description_(std::move(description)) {}

  Result<std::string> read(std::string_view path) const override;
  std::vector<std::string> list() const override;
  std::string describe() const override { return description_; }

 private:
  std::map<std::string, std::string, std::less<>> files_;
  std::string description_;
};

}  // namespace wgk::package
