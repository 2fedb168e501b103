// SPDX-License-Identifier: Apache-2.0
// A request as the command line gives it: a case, a file, or flags.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "cli/session.h"
#include "package/package.h"
#include "verify/engine.h"
#include "wgk/device_caps.h"
#include "wgk/error.h"

namespace wgk::cli {

struct RequestFlags {
  std::string package;
  std::string case_name, cases_file, request_file;
  std::vector<std::string> inputs, outputs, attrs, args, tunables;
  std::string variant;
};

// --case, --cases, --request, --input, --output, --attr, --arg, --tunable, --variant, and the
// positional PKG.
void add_request_flags(CLI::App& command, RequestFlags& flags);

struct CliRequest {
  verify::Call call;
  std::vector<std::pair<std::string, std::string>> files;  // bind key of an output -> file to write
};

// `with_data`: the call will be run, so every tensor needs its elements; otherwise `--input
// name=float16:2,8` may give none.
Result<CliRequest> read_request(const package::Package& package, const RequestFlags& flags,
                                bool with_data);

// --caps FILE. `default` stands for the device of default limits.
Result<DeviceCaps> read_caps(const std::string& file);

}  // namespace wgk::cli
