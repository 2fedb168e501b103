// SPDX-License-Identifier: Apache-2.0
#include "plan/dispatch.h"

#include <cmath>
#include <optional>

#include "base/number.h"
#include "base/try.h"
#include "plan/caps.h"
#include "plan/index.h"
#include "plan/infer.h"

namespace wgk::planning {
namespace {

using expr::Value;
using package::Dispatch;

Result<Value> evaluate(const expr::Rule& rule, double otherwise, const expr::Scope& scope,
                       const expr::Limits& limits) {
  if (rule.source().is_null()) return Value(otherwise);
  return rule.evaluate(scope, limits);
}

// What the expressions of the short-hands give for a number, without evaluating the count twice:
// rows of 65535 workgroups, whatever the device allows. min() keeps a NaN, as in JavaScript.
std::array<Value, 3> folded(double count) {
  return {Value(std::isnan(count) || count < kFoldWidth ? count : kFoldWidth),
          Value(std::ceil(count / kFoldWidth)), Value(1)};
}

// The number that a rule gives; nothing for anything else, errors included.
std::optional<double> number_of(const expr::Rule& rule, const expr::Scope& scope,
                                const expr::Limits& limits) {
  const auto value = rule.evaluate(scope, limits);
  if (!value || value->if_number() == nullptr) return std::nullopt;
  return value->if_number()->value;
}

Result<std::array<Value, 3>> axes_of(const Dispatch& dispatch, const expr::Scope& scope,
                                     const expr::Limits& limits) {
  if (dispatch.form == Dispatch::Form::kThreads) {
    const auto threads = number_of(dispatch.threads, scope, limits);
    const auto size = threads ? number_of(dispatch.workgroup_size, scope, limits) : std::nullopt;
    if (size) return folded(std::ceil(*threads / *size));
  } else if (dispatch.form == Dispatch::Form::kWorkgroups) {
    if (const auto count = number_of(dispatch.workgroups, scope, limits)) return folded(*count);
  }
  std::array<Value, 3> axes;
  WGK_ASSIGN(axes[0], evaluate(dispatch.x, 1, scope, limits));
  WGK_ASSIGN(axes[1], evaluate(dispatch.y, 1, scope, limits));
  WGK_ASSIGN(axes[2], evaluate(dispatch.z, 1, scope, limits));
  return axes;
}

}  // namespace

Result<std::array<std::uint32_t, 3>> dispatch_size(const Dispatch& dispatch,
                                                   const expr::Scope& scope,
                                                   const expr::Limits& limits,
                                                   double max_per_dimension,
                                                   std::string_view pass) {
  auto axes = axes_of(dispatch, scope, limits);
  if (!axes)
    return std::unexpected(
        std::move(axes.error()).during("evaluating the dispatch of pass " + quoted(pass)));
  std::array<std::uint32_t, 3> size{};
  for (std::size_t i = 0; i < size.size(); ++i) {
    const expr::Number* number = (*axes)[i].if_number();
    const char axis = "xyz"[i];
    if (number == nullptr || !(number->value >= 0) || number->value != std::trunc(number->value) ||
        std::isinf(number->value)) {
      return failure("plan/rule", "dispatch " + std::string(1, axis) + " of pass " + quoted(pass) +
                                      " is " + shown((*axes)[i]) +
                                      "; expected a non-negative integer");
    }
    if (number->value > max_per_dimension) {
      return failure("limit/dispatch", "dispatch " + std::string(1, axis) + " of pass " +
                                           quoted(pass) + " is " + number_text(number->value) +
                                           "; 'maxComputeWorkgroupsPerDimension' is " +
                                           number_text(max_per_dimension));
    }
    size[i] = static_cast<std::uint32_t>(number->value);
  }
  return size;
}

}  // namespace wgk::planning
