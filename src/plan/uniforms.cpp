// SPDX-License-Identifier: Apache-2.0
#include "plan/uniforms.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "base/number.h"
#include "base/try.h"
#include "plan/infer.h"

namespace wgk::planning {
namespace {

using expr::Value;
using package::BindingEntry;
using package::Field;

std::string place(const BindingEntry& entry, const Field& field) {
  return "uniform " + quoted(entry.name + "." + field.name);
}

// What the field's value comes from; null where it has none.
Json source_of(const Field& field, const NamedJson& args) {
  if (field.value && !field.value->source().is_null()) return field.value->source();
  const auto given = std::ranges::find(
      args, field.name, [](const auto& entry) -> const std::string& { return entry.first; });
  if (given != args.end() && !given->second.is_null()) return given->second;
  return field.default_value ? field.default_value->source() : Json();
}

Result<std::optional<Value>> raw_value(const Field& field, const NamedJson& args,
                                       const expr::Scope& scope, const expr::Limits& limits) {
  const auto evaluated = [&](const expr::Rule& rule) -> Result<std::optional<Value>> {
    WGK_ASSIGN(Value value, rule.evaluate(scope, limits));
    return std::optional(std::move(value));
  };
  if (field.value && !field.value->source().is_null()) return evaluated(*field.value);
  const Json source = source_of(field, args);
  if (source.is_null()) return std::nullopt;
  return evaluated(expr::Rule(source));
}

std::uint32_t float_bits(double value) {
  constexpr double kTooLarge = 0x1.ffffffp127;  // halfway to 2^128: rounds to infinity
  if (value >= kTooLarge)
    return std::bit_cast<std::uint32_t>(std::numeric_limits<float>::infinity());
  if (value <= -kTooLarge)
    return std::bit_cast<std::uint32_t>(-std::numeric_limits<float>::infinity());
  return std::bit_cast<std::uint32_t>(static_cast<float>(value));
}

Result<std::uint32_t> field_bits(const BindingEntry& entry, const Field& field,
                                 const std::optional<double>& value) {
  if (!value) {
    if (!field.required) return 0U;
    return failure("plan/rule", place(entry, field) + " has no value");
  }
  if (field.type == Field::Type::kF32) return float_bits(*value);
  const double min = field.type == Field::Type::kU32 ? 0.0 : -2147483648.0;
  const double max = field.type == Field::Type::kU32 ? 4294967295.0 : 2147483647.0;
  if (!(*value >= min) || *value > max || *value != std::trunc(*value)) {
    return failure("plan/rule", place(entry, field) + " is " + number_text(*value) +
                                    "; expected an integer from " + number_text(min) + " to " +
                                    number_text(max));
  }
  return static_cast<std::uint32_t>(static_cast<std::int64_t>(*value));
}

}  // namespace

Result<std::vector<std::optional<double>>> uniform_values(const BindingEntry& entry,
                                                          const NamedJson& args,
                                                          const expr::Scope& scope,
                                                          const expr::Limits& limits) {
  std::vector<std::optional<double>> values;
  values.reserve(entry.fields.size());
  for (const Field& field : entry.fields) {
    auto value = raw_value(field, args, scope, limits);
    if (!value)
      return std::unexpected(std::move(value.error()).during("evaluating " + place(entry, field)));
    if (!*value) {
      values.emplace_back();
      continue;
    }
    const expr::Number* number = (*value)->if_number();
    const bool usable = number != nullptr && !std::isnan(number->value) &&
                        (std::isfinite(number->value) || field.type == Field::Type::kF32);
    if (!usable)
      return failure("plan/rule",
                     place(entry, field) + " is " + shown(**value) + "; expected a finite number");
    values.emplace_back(number->value);
  }
  return values;
}

Result<PlanUniform> pack_uniform(const BindingEntry& entry,
                                 const std::vector<std::optional<double>>& values) {
  PlanUniform uniform;
  uniform.name = entry.name;
  uniform.bytes.resize((entry.fields.size() + 3) / 4 * 16);
  uniform.fields.reserve(entry.fields.size());
  for (std::size_t i = 0; i < entry.fields.size(); ++i) {
    const Field& field = entry.fields[i];
    WGK_ASSIGN(const std::uint32_t bits, field_bits(entry, field, values[i]));
    std::memcpy(uniform.bytes.data() + 4 * i, &bits, 4);
    uniform.fields.push_back(
        {field.name, std::string(type_text(field.type)), static_cast<std::uint32_t>(4 * i)});
  }
  return uniform;
}

}  // namespace wgk::planning
