// SPDX-License-Identifier: Apache-2.0
#include "plan/contract_rules.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "base/try.h"
#include "plan/infer.h"

namespace wgk::planning {
namespace {

using expr::Value;
using package::Contract;
using package::ContractRule;
using package::ValueRule;

Error package_fault(const std::string& id, const Error& cause) {
  const bool limit = cause.code.starts_with("limit/");
  return Error{limit ? cause.code : "package/contract",
               "rule " + quoted(id) + " cannot be evaluated: " + cause.message};
}

Error violation(const std::string& id, const std::string& code, const jinja::Template& message,
                const expr::Scope& scope, const expr::Limits& limits) {
  auto text = message.render(scope, limits, jinja::ListStyle::kParentheses);
  if (!text) return package_fault(id, text.error());
  return Error{code, std::move(*text)};
}

bool is_true(const Value& value) { return value.if_bool() != nullptr && *value.if_bool(); }

// Integer elements of a host tensor.
class Elements {
 public:
  Elements(std::span<const std::byte> bytes, DType type)
      : bytes_(bytes), type_(type), width_(host_bytes(type)) {}

  std::size_t size() const { return bytes_.size() / width_; }
  std::int64_t operator[](std::size_t i) const {
    const std::byte* at = bytes_.data() + i * width_;
    switch (type_) {
      case DType::i8: return load<std::int8_t>(at);
      case DType::i16: return load<std::int16_t>(at);
      case DType::i32: return load<std::int32_t>(at);
      case DType::i64: return load<std::int64_t>(at);
      case DType::u32: return load<std::uint32_t>(at);
      default: return load<std::uint8_t>(at);
    }
  }

 private:
  template <class T>
  static std::int64_t load(const std::byte* at) {
    T value;
    std::memcpy(&value, at, sizeof(T));
    return static_cast<std::int64_t>(value);
  }

  std::span<const std::byte> bytes_;
  DType type_;
  std::size_t width_;
};

bool is_integer(DType type) { return type != DType::f32 && type != DType::f16; }

class ValueRules {
 public:
  ValueRules(const PackageIndex& index, const BoundRequest& bound, const expr::Scope& scope,
             const expr::Limits& limits, RuleReport& report)
      : index_(index), bound_(bound), scope_(&scope), limits_(limits), report_(report) {
    std::vector<std::pair<std::string, Value>> single;
    for (const BoundTensor& tensor : bound.tensors) {
      const auto elements = contents(tensor);
      if (elements && elements->size() == 1) {
        single.emplace_back(index.ports[tensor.port].key(),
                            Value(static_cast<double>((*elements)[0])));
      }
    }
    scope_.set("value", Value::object(std::move(single)));
  }

  void apply(const ValueRule& rule) {
    const BoundTensor* tensor = find(rule.port);
    if (tensor == nullptr || !applies(rule)) return;
    const auto elements = contents(*tensor);
    if (!elements) return note(rule, *tensor);
    switch (rule.kind) {
      case ValueRule::Kind::kRange: return range(rule, *tensor, *elements);
      case ValueRule::Kind::kCsrRows: return csr_rows(rule, *tensor, *elements);
      case ValueRule::Kind::kCsrColumns: return csr_columns(rule, *tensor, *elements);
    }
  }

 private:
  const BoundTensor* find(std::string_view port) const {
    auto slot = index_.find_input(port);
    return slot ? bound_.tensor(*slot) : nullptr;
  }

  static std::optional<Elements> contents(const BoundTensor& tensor) {
    if (!tensor.is_input || tensor.host_data.data() == nullptr || !tensor.host_type ||
        !is_integer(*tensor.host_type))
      return std::nullopt;
    if (tensor.host_data.size() !=
        static_cast<std::uint64_t>(tensor.elements) * host_bytes(*tensor.host_type))
      return std::nullopt;
    return Elements(tensor.host_data, *tensor.host_type);
  }

  void note(const ValueRule& rule, const BoundTensor& tensor) {
    if (tensor.elements == 0) return;
    report_.notes.push_back("value rule " + quoted(rule.id) + " is not checked: the contents of " +
                            quoted(index_.ports[tensor.port].key()) +
                            (tensor.on_device ? " are on the device" : " are not given"));
  }

  bool applies(const ValueRule& rule) {
    if (!rule.when) return true;
    const auto value = rule.when->evaluate(scope_, limits_);
    if (value) return is_true(*value);
    report_.violations.push_back(package_fault(rule.id, value.error()));
    return false;
  }

  // Nothing when the bound needs the contents of a tensor that are not at hand, or is a fault of
  // the package (which is reported).
  std::optional<double> bound_of(const ValueRule& rule, const expr::Rule& source) {
    const auto value = source.evaluate(scope_, limits_);
    const expr::Number* number = value ? value->if_number() : nullptr;
    if (number != nullptr) return number->value;
    const auto names = source.free_names();
    if (std::ranges::find(names, "value") != names.end()) {
      report_.notes.push_back(
          "value rule " + quoted(rule.id) +
          " is not checked: its bound depends on contents that are not at hand");
    } else {
      report_.violations.push_back(package_fault(
          rule.id, value
                       ? Error{"expression/type", "a bound is " + shown(*value) + ", not a number"}
                       : value.error()));
    }
    return std::nullopt;
  }

  void refuse(const ValueRule& rule, std::vector<Value> at, std::int64_t got, double min,
              double max) {
    expr::Scope scope(&scope_);
    scope.set("at", Value::list(std::move(at)));
    scope.set("got", Value(static_cast<double>(got)));
    scope.set("min", Value(min));
    scope.set("max", Value(max));
    report_.violations.push_back(violation(rule.id, rule.code, rule.message, scope, limits_));
  }

  void range(const ValueRule& rule, const BoundTensor& tensor, const Elements& elements) {
    const auto min = bound_of(rule, *rule.min);
    const auto max = min ? bound_of(rule, *rule.max) : std::nullopt;
    if (!max) return;
    for (std::size_t i = 0; i < elements.size(); ++i) {
      const auto value = static_cast<double>(elements[i]);
      if (value >= *min && value <= *max) continue;
      return refuse(rule, position(tensor.shape, i), elements[i], *min, *max);
    }
  }

  static std::vector<Value> position(const Shape& shape, std::size_t flat) {
    std::vector<Value> at(shape.size());
    for (std::size_t axis = shape.size(); axis-- > 0;) {
      const auto extent = static_cast<std::size_t>(shape[axis]);
      at[axis] = Value(flat % extent);
      flat /= extent;
    }
    return at;
  }

  void csr_rows(const ValueRule& rule, const BoundTensor& tensor, const Elements& elements) {
    const BoundTensor* columns = find(rule.columns);
    if (columns == nullptr || columns->shape.empty() || tensor.shape.empty()) return;
    const auto length = static_cast<std::size_t>(tensor.shape.back());
    const auto width = static_cast<double>(columns->shape.back());
    double least = 0;
    for (std::size_t i = 0; i < elements.size(); ++i) {
      const bool first = i % length == 0;
      if (first) least = 0;
      const auto value = static_cast<double>(elements[i]);
      const double most = first ? 0 : width;
      if (value < least || value > most)
        return refuse(rule, position(tensor.shape, i), elements[i], least, most);
      least = value;
    }
  }

  void csr_columns(const ValueRule& rule, const BoundTensor& tensor, const Elements& elements) {
    const BoundTensor* rows = find(rule.rows);
    if (rows == nullptr || rows->shape.empty() || tensor.shape.empty() || rows->elements == 0)
      return;
    const auto row_elements = contents(*rows);
    if (!row_elements) return note(rule, *rows);
    const auto below = bound_of(rule, *rule.below);
    if (!below) return;
    const auto width = static_cast<std::size_t>(tensor.shape.back());
    const auto row_length = static_cast<std::size_t>(rows->shape.back());
    for (std::size_t i = 0; i < elements.size(); ++i) {
      const std::size_t layout = i / width;
      const std::size_t end = (layout + 1) * row_length;
      if (end > row_elements->size() ||
          static_cast<std::int64_t>(i % width) >= (*row_elements)[end - 1])
        continue;
      const auto value = static_cast<double>(elements[i]);
      if (value >= 0 && value < *below) continue;
      return refuse(rule, position(tensor.shape, i), elements[i], 0, *below - 1);
    }
  }

  const PackageIndex& index_;
  const BoundRequest& bound_;
  expr::Scope scope_;
  const expr::Limits& limits_;
  RuleReport& report_;
};

enum class State { kPassed, kFailed, kSkipped };

}  // namespace

RuleReport apply_value_rules(const Contract& contract, const PackageIndex& index,
                             const BoundRequest& bound, const expr::Scope& scope,
                             const expr::Limits& limits) {
  RuleReport report;
  if (contract.values.empty()) return report;
  ValueRules rules(index, bound, scope, limits, report);
  for (const ValueRule& rule : contract.values) rules.apply(rule);
  return report;
}

RuleReport apply_contract(const Contract& contract, const PackageIndex& index,
                          const BoundRequest& bound, const expr::Scope& scope,
                          const expr::Limits& limits) {
  RuleReport report;
  std::vector<State> states;
  const auto state_of = [&](std::string_view id) {
    const auto rule = std::ranges::find(contract.rules, id, &ContractRule::id);
    const auto at = static_cast<std::size_t>(rule - contract.rules.begin());
    return at < states.size() ? states[at] : State::kPassed;
  };
  for (const ContractRule& rule : contract.rules) {
    if (std::ranges::any_of(rule.needs, [&state_of](const std::string& id) {
          return state_of(id) != State::kPassed;
        })) {
      states.push_back(State::kSkipped);
      continue;
    }
    const auto applies =
        rule.when ? rule.when->evaluate(scope, limits) : Result<Value>(Value(true));
    if (applies && !is_true(*applies)) {
      states.push_back(State::kPassed);
      continue;
    }
    const auto value = applies ? rule.require.evaluate(scope, limits) : applies;
    if (value && is_true(*value)) {
      states.push_back(State::kPassed);
      continue;
    }
    states.push_back(State::kFailed);
    report.violations.push_back(value ? violation(rule.id, rule.code, rule.message, scope, limits)
                                      : package_fault(rule.id, value.error()));
  }
  RuleReport values = apply_value_rules(contract, index, bound, scope, limits);
  for (Error& error : values.violations) report.violations.push_back(std::move(error));
  report.notes = std::move(values.notes);
  return report;
}

}  // namespace wgk::planning
