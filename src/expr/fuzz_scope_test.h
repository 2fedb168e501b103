// SPDX-License-Identifier: Apache-2.0
// For the fuzz targets: names as a manifest's expressions see them, and limits that keep one input
// below a second.
#pragma once

#include "expr/expression.h"
#include "json/json.h"

namespace wgk::expr {

inline constexpr Limits kFuzzLimits = {
    .max_steps = 50'000, .max_depth = 60, .max_output = std::size_t{1} << 17};

inline const Json& fuzz_context() {
  static const Json kContext = json::parse(R"({
    "shapes": {"x": [2, 3, 8], "y": [], "z": [0, 65536]}, "ranks": {"x": 3, "y": 0}, "dtypes": {"T": "float16", "U": "f32"},
    "attrs": {"epsilon": 1e-5, "groups": 32, "flag": true, "name": "a b", "list": [1, -2, 2.5], "none": null},
    "args": {"n": 4294967295, "negative": -7}, "present": {"x": true, "y": false}, "tunables": {"size": 64},
    "derived": {"rows": 6, "half": 0.5, "huge": 1e300}, "text": "A{B}\né", "i": 3})")
                                   .value();
  return kContext;
}

inline const Scope& fuzz_scope() {
  static const Scope kScope = [] {
    Scope scope(&helpers());
    for (const auto& [name, value] : *fuzz_context().if_object())
      scope.set(name, Value::from_json(value));
    scope.set("f16Ok", f16_ok(true));
    return scope;
  }();
  return kScope;
}

}  // namespace wgk::expr
