// SPDX-License-Identifier: Apache-2.0
// A corpus folder and the parts of it that are scored. Each `score_...` adds one record per
// recorded case.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>

#include "expr/expression.h"
#include "report.h"
#include "wgk/device_caps.h"
#include "wgk/error.h"

namespace wgk::interop {

using Profiles = std::map<std::string, DeviceCaps, std::less<>>;

struct Corpus {
  std::filesystem::path folder;
  Profiles profiles;
};

Result<std::string> read_text(const std::filesystem::path& path);
Result<Json> read_json(const std::filesystem::path& path);
Result<Profiles> read_profiles(const std::filesystem::path& folder);

// A member of an object; null where there is none.
const Json& member(const Json& object, std::string_view key);
std::string text_of(const Json& value);
bool is_true(const Json& value);

// expressions.json and templates.json
Status score_expressions(const Corpus& corpus, Report& report);
Status score_templates(const Corpus& corpus, Report& report);

// expectations/invalid_manifests.json and expectations/loading.json
Status score_manifests(const Corpus& corpus, Report& report);
Status score_loading(const Corpus& corpus, Report& report);

// expectations/<op id>.json with packages/<op id>
Status score_package(const Corpus& corpus, const std::filesystem::path& expectations,
                     Report& report);

}  // namespace wgk::interop
