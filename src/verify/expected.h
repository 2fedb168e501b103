// SPDX-License-Identifier: Apache-2.0
// What a case expects, as host arrays.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "package/cases.h"
#include "package/package.h"
#include "verify/engine.h"
#include "wgk/error.h"
#include "wgk/request.h"

namespace wgk::verify {

// The inputs of a case and its scalars, ready to be called. Ports are bind keys where the manifest
// knows the name.
Result<Call> make_call(const package::Package& package, const package::TestCase& test);

// The call as planning sees it; `call` must outlive it. Tensors without data count as already on
// the device.
Request make_request(const Call& call);

// Whether an error, or one of those reported with it, has the code that a case names: a code, a
// prefix ending in '/', or nothing.
bool matches_code(const std::string& wanted, const Error& error);

const Array* find_array(const Arrays& arrays, std::string_view port);

// Wanted values of outputs, one case at a time: the operator's oracle is asked once.
class Expected {
 public:
  Expected(const package::Package& package, const Call& call) : package_(package), call_(call) {}

  // Values for an output that came out as `got`, from the expectation's data, from an input or from
  // the oracle.
  Result<std::vector<std::byte>> values(std::string_view port, const Array& got,
                                        const package::Expectation& expectation);

 private:
  Result<std::vector<std::byte>> from_input(const package::SameAsInput& source, const Array& got,
                                            const package::Expectation& expectation) const;
  Result<std::vector<std::byte>> from_oracle(std::string_view port, const Array& got);

  const package::Package& package_;
  const Call& call_;
  std::optional<Result<Arrays>> oracle_;
};

// All outputs of the operator by its float64 oracle, rounded to their dtypes. Error "package/cases"
// when the project has none for it. `wanted`: flat ranges of the first output, the rest of which
// may stay zero; none: all of it.
Result<Arrays> ask_oracle(const package::Package& package, const Call& call,
                          std::span<const std::pair<std::size_t, std::size_t>> wanted = {});

}  // namespace wgk::verify
