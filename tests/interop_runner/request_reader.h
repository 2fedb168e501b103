// SPDX-License-Identifier: Apache-2.0
// Recorded requests.
#pragma once

#include <deque>
#include <vector>

#include "package/manifest.h"
#include "wgk/error.h"
#include "wgk/request.h"

namespace wgk::interop {

// A request and the host arrays that it views.
struct RecordedRequest {
  Request request;
  std::deque<std::vector<std::byte>> arrays;
};

// Errors are what the loader's own border refuses: null as an input, Float64Array.
Result<RecordedRequest> read_request(const package::Manifest& manifest, const Json& source);

}  // namespace wgk::interop
