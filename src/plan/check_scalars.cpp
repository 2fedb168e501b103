// SPDX-License-Identifier: Apache-2.0
#include "plan/check_scalars.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "base/suggest.h"
#include "json/json.h"

namespace wgk::planning {
namespace {

using package::Arg;
using package::ArgKind;
using package::Attribute;

template <class Map>
auto find_named(Map& map, std::string_view name) {
  return std::ranges::find(map, name,
                           [](const auto& entry) -> std::string_view { return entry.first; });
}

template <class Map>
std::vector<std::string> names_of(const Map& map) {
  std::vector<std::string> names;
  for (const auto& [name, value] : map) names.push_back(name);
  return names;
}

void refuse(std::vector<Error>& violations, std::string_view code, std::string message,
            std::string hint = {}) {
  violations.push_back(Error{std::string(code), std::move(message), {}, std::move(hint), {}});
}

void refuse_unknown(std::vector<Error>& violations, std::string_view kind, const std::string& name,
                    const std::vector<std::string>& known) {
  refuse(violations, "request/unknown",
         "unknown " + std::string(kind) + " " + quoted(name) + "; the " + std::string(kind) +
             "s are " + join(known),
         suggestion(name, known));
}

float rounded(double value) {
  constexpr double kTooLarge = 0x1.ffffffp127;  // halfway to 2^128: rounds to infinity
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  if (std::abs(value) >= kTooLarge) return value > 0 ? kInfinity : -kInfinity;
  return static_cast<float>(value);
}

// Numbers are compared as float32, because that is how ONNX carries them.
bool same_scalar(const Json& a, const Json& b) {
  if (const double* x = a.if_number()) {
    const double* y = b.if_number();
    return y != nullptr && rounded(*x) == rounded(*y);
  }
  return !a.is_array() && !a.is_object() && a == b;
}

void check_attribute(const std::string& name, const Attribute& attribute, const Json& value,
                     std::vector<Error>& violations) {
  if (!attribute.values) return;
  if (std::ranges::any_of(*attribute.values,
                          [&value](const Json& admitted) { return same_scalar(admitted, value); }))
    return;
  std::string admitted;
  for (const Json& item : *attribute.values)
    admitted += (admitted.empty() ? "" : ", ") + json::write(item);
  refuse(
      violations, "request/attribute",
      "attribute " + quoted(name) + " is " + json::write(value) + "; expected one of " + admitted);
}

std::string expectation(const Arg& arg) {
  switch (arg.kind) {
    case ArgKind::kU32: return "an integer from 0 to 4294967295";
    case ArgKind::kI32: return "an integer from -2147483648 to 2147483647";
    case ArgKind::kF32: return "a finite number";
    case ArgKind::kBool: return "true or false";
    case ArgKind::kString: break;
  }
  return arg.one_of.empty() ? "a string" : "one of " + join(arg.one_of);
}

bool is_accepted(const Arg& arg, const Json& value) {
  const double* number = value.if_number();
  switch (arg.kind) {
    case ArgKind::kU32:
      return number != nullptr && std::trunc(*number) == *number && *number >= 0 &&
             *number <= 4294967295.0;
    case ArgKind::kI32:
      return number != nullptr && std::trunc(*number) == *number && *number >= -2147483648.0 &&
             *number <= 2147483647.0;
    case ArgKind::kF32: return number != nullptr && std::isfinite(*number);
    case ArgKind::kBool: return value.is_bool();
    case ArgKind::kString: break;
  }
  const std::string* text = value.if_string();
  return text != nullptr &&
         (arg.one_of.empty() || std::ranges::find(arg.one_of, *text) != arg.one_of.end());
}

const std::pair<std::string, Arg>* find_argument(const package::Manifest& manifest,
                                                 std::string_view name) {
  for (const auto& entry : manifest.args) {
    if (entry.first == name) return &entry;
  }
  for (const auto& entry : manifest.args) {
    if (!entry.second.onnx.empty() && entry.second.onnx == name) return &entry;
  }
  return nullptr;
}

const Json* find_tunable(const package::Manifest& manifest, std::string_view name) {
  if (const auto known = find_named(manifest.tunables, name); known != manifest.tunables.end())
    return &known->second;
  for (const package::Variant& variant : manifest.variants) {
    if (const auto known = find_named(variant.tunables, name); known != variant.tunables.end())
      return &known->second;
  }
  return nullptr;
}

std::vector<std::string> tunable_names(const package::Manifest& manifest) {
  std::vector<std::string> names = names_of(manifest.tunables);
  for (const package::Variant& variant : manifest.variants) {
    for (const auto& [name, value] : variant.tunables) {
      if (std::ranges::find(names, name) == names.end()) names.push_back(name);
    }
  }
  return names;
}

bool same_kind(const Json& a, const Json& b) {
  return (a.is_number() && b.is_number() && std::isfinite(*b.if_number())) ||
         (a.is_bool() && b.is_bool()) || (a.is_string() && b.is_string());
}

}  // namespace

std::string join(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text.empty() ? "none" : text;
}

void check_attributes(const package::Manifest& manifest, const Request& request,
                      BoundRequest& bound, std::vector<Error>& violations) {
  for (const auto& [name, attribute] : manifest.attributes) {
    if (attribute.default_value) bound.attrs.emplace_back(name, *attribute.default_value);
  }
  for (std::size_t i = 0; i < request.attrs.size(); ++i) {
    const auto& [name, value] = request.attrs[i];
    if (find_named(manifest.attributes, name) == manifest.attributes.end()) {
      refuse_unknown(violations, "attribute", name, names_of(manifest.attributes));
      continue;
    }
    if (std::any_of(request.attrs.begin(), request.attrs.begin() + static_cast<std::ptrdiff_t>(i),
                    [&name](const auto& earlier) { return earlier.first == name; })) {
      refuse(violations, "request/duplicate", "attribute " + quoted(name) + " is given twice");
      continue;
    }
    const auto known = find_named(bound.attrs, name);
    if (known == bound.attrs.end()) {
      bound.attrs.emplace_back(name, value);
    } else {
      known->second = value;
    }
  }
  for (const auto& [name, attribute] : manifest.attributes) {
    const auto given = find_named(bound.attrs, name);
    if (given != bound.attrs.end()) {
      check_attribute(name, attribute, given->second, violations);
    } else if (attribute.required) {
      refuse(violations, "request/missing", "required attribute " + quoted(name) + " is not given");
    }
  }
}

void check_arguments(const PackageIndex& index, const Request& request, BoundRequest& bound,
                     std::vector<Error>& violations) {
  const package::Manifest& manifest = index.manifest();
  for (const auto& [name, value] : request.args) {
    const auto* known = find_argument(manifest, name);
    if (known == nullptr) {
      if (index.find_input(name) || index.find_output(name)) {
        refuse(violations, "request/unknown",
               "unknown argument " + quoted(name) + "; it is a tensor, not a scalar argument");
      } else {
        refuse_unknown(violations, "argument", name, names_of(manifest.args));
      }
    } else if (find_named(bound.args, known->first) != bound.args.end()) {
      refuse(violations, "request/duplicate",
             "argument " + quoted(known->first) + " is given twice");
    } else {
      bound.args.emplace_back(known->first, value);
    }
  }
  for (const auto& [name, arg] : manifest.args) {
    const auto given = find_named(bound.args, name);
    if (given == bound.args.end() || given->second.is_null()) {
      if (arg.required)
        refuse(violations, "request/missing",
               "required argument " + quoted(name) + " is not given");
    } else if (!is_accepted(arg, given->second)) {
      refuse(violations, "request/value",
             "argument " + quoted(name) + " is " + json::write(given->second) + "; expected " +
                 expectation(arg));
    }
  }
}

void check_tunables(const package::Manifest& manifest, const Request& request, BoundRequest& bound,
                    std::vector<Error>& violations) {
  for (const auto& [name, value] : request.tunables) {
    const Json* known = find_tunable(manifest, name);
    if (known == nullptr) {
      refuse_unknown(violations, "tunable", name, tunable_names(manifest));
    } else if (find_named(bound.tunables, name) != bound.tunables.end()) {
      refuse(violations, "request/duplicate", "tunable " + quoted(name) + " is given twice");
    } else if (!same_kind(*known, value)) {
      refuse(violations, "request/value",
             "tunable " + quoted(name) + " is " + json::write(value) +
                 "; expected a value like its default " + json::write(*known));
    } else {
      bound.tunables.emplace_back(name, value);
    }
  }
}

}  // namespace wgk::planning
