// SPDX-License-Identifier: Apache-2.0
// Ports, type constraints, arguments, attributes and tunables (format.md b.1, b.2).
#include <algorithm>
#include <cmath>
#include <span>

#include "json/json.h"
#include "package/manifest_reader.h"
#include "package/names.h"

namespace wgk::package {
namespace {

template <class T>
const T* find_named(const Named<T>& named, std::string_view name) {
  const auto found = std::ranges::find(named, name, &std::pair<std::string, T>::first);
  return found == named.end() ? nullptr : &found->second;
}

// The logical dtypes that a port admits; empty when its dtype is absent or an unconstrained
// variable.
std::vector<DType> admitted(const Port& port, const Named<std::vector<DType>>& constraints) {
  if (port.concrete) return {*port.concrete};
  const std::vector<DType>* list = find_named(constraints, port.dtype);
  return list != nullptr ? *list : std::vector<DType>{};
}

std::string list_text(const std::vector<DType>& dtypes) {
  std::string text = "[";
  for (const DType dtype : dtypes) {
    if (text.size() > 1) text += ", ";
    text += name(dtype);
  }
  return text + "]";
}

bool is_projection(DType storage) { return storage == DType::i32 || storage == DType::u32; }

Status read_storage(const Cursor& cursor, const std::vector<DType>& logical, Port& port) {
  const std::optional<Cursor> member = cursor.find("storage");
  if (!member) return {};
  WGK_ASSIGN(const std::string text, member->string());
  port.storage = dtype_from_name(text);
  if (!port.storage)
    return member->fail_unknown("'" + text + "' is not a storage dtype", text, dtype_names());
  if (logical.empty()) {
    return member->fail("needs a dtype that is a logical dtype or a type variable; got '" +
                        port.dtype + "'");
  }
  const bool int64 = logical.size() == 1 && logical[0] == DType::i64;
  const bool fits = logical.size() == 1 &&
                    (logical[0] == *port.storage || (int64 && is_projection(*port.storage)));
  if (!fits) {
    return member->fail("'" + text + "' is not the logical dtype " + list_text(logical) +
                        "; only int64 may be stored as int32 or uint32");
  }
  return {};
}

Status read_narrowing(const Cursor& cursor, bool is_input, const std::vector<DType>& logical,
                      Port& port) {
  const bool projected = is_input && logical.size() == 1 && logical[0] == DType::i64 &&
                         port.storage && is_projection(*port.storage);
  const std::optional<Cursor> member = cursor.find("narrowing");
  if (!member) {
    if (!projected) return {};
    return cursor.fail("an int64 input that is stored as " + std::string(name(*port.storage)) +
                       " needs narrowing 'checked' or 'saturating'");
  }
  WGK_ASSIGN(const std::string text, member->string());
  if (text != "checked" && text != "saturating")
    return member->fail("must be 'checked' or 'saturating', got '" + text + "'");
  if (!projected)
    return member->fail("is only for int64 inputs that are stored as int32 or uint32");
  port.narrowing = text == "checked" ? Narrowing::kChecked : Narrowing::kSaturating;
  return {};
}

Status read_layout(const Cursor& cursor, bool is_input, const std::vector<DType>& logical,
                   Port& port) {
  const std::optional<Cursor> member = cursor.find("layout");
  if (!member) return {};
  if (!is_input) return member->fail("an output cannot have a storage layout");
  WGK_ASSIGN(const std::string text, member->string());
  if (text != "packed") return member->fail("must be 'packed', got '" + text + "'");
  if (logical.empty() || !std::ranges::all_of(logical, [](DType d) { return d == DType::u8; })) {
    return member->fail("'packed' is for ports that admit uint8 only; this one has dtype '" +
                        port.dtype + "'");
  }
  port.packed = true;
  return {};
}

Result<Port> read_port(const std::string& key, const Cursor& cursor, bool is_input,
                       const Named<std::vector<DType>>& constraints) {
  if (!is_identifier(key)) return cursor.fail("'" + key + "' is not an identifier");
  WGK_TRY(expect_object(cursor));
  WGK_TRY(cursor.only({"description", "onnx", "dtype", "rank", "optional", "layout", "shape",
                       "storage", "narrowing"}));
  Port port;
  port.key = key;
  WGK_ASSIGN(port.onnx, text_member(cursor, "onnx", true));
  WGK_ASSIGN(port.description, text_member(cursor, "description"));
  WGK_ASSIGN(port.dtype, text_member(cursor, "dtype"));
  WGK_ASSIGN(port.optional, flag_member(cursor, "optional", false));
  port.concrete = dtype_from_name(port.dtype);
  if (const auto rank = cursor.find("rank")) port.rank = rank->value();
  // The shape of an input is documentation: whatever stands there is never evaluated.
  if (const auto shape = cursor.find("shape"); shape && !is_input)
    port.shape = Rule(shape->value());
  const std::vector<DType> logical = admitted(port, constraints);
  WGK_TRY(read_storage(cursor, logical, port));
  WGK_TRY(read_narrowing(cursor, is_input, logical, port));
  WGK_TRY(read_layout(cursor, is_input, logical, port));
  return port;
}

// Numbers that are equal as float32 count as equal.
bool same_scalar(const Json& a, const Json& b) {
  const double* x = a.if_number();
  const double* y = b.if_number();
  if (x != nullptr && y != nullptr) return static_cast<float>(*x) == static_cast<float>(*y);
  return a == b;
}

bool is_scalar(const Json& json) { return !json.is_array() && !json.is_object(); }

Status read_constraint(const Cursor& cursor, Attribute& attribute) {
  WGK_TRY(expect_object(cursor));
  WGK_TRY(cursor.only({"required", "values"}));
  if (const auto required = cursor.find("required"); required && !required->value().is_null()) {
    WGK_ASSIGN(attribute.required, required->boolean());
    if (attribute.required && attribute.default_value)
      return required->fail("the attribute has a default, so it cannot be required");
  }
  const std::optional<Cursor> values = cursor.find("values");
  if (!values) {
    if (!attribute.required) return cursor.fail("must have required: true or values");
    return {};
  }
  WGK_ASSIGN(const std::vector<Cursor> items, values->items());
  if (items.empty()) return values->fail("must not be empty");
  WGK_TRY(expect_few(*values));
  std::vector<Json>& list = attribute.values.emplace();
  for (const Cursor& item : items) {
    if (!is_scalar(item.value())) return item.fail_value("must be a scalar");
    if (std::ranges::any_of(list,
                            [&](const Json& other) { return same_scalar(other, item.value()); })) {
      return item.fail(json::write(item.value()) + " stands there twice");
    }
    list.push_back(item.value());
  }
  if (attribute.default_value && std::ranges::none_of(list, [&](const Json& value) {
        return same_scalar(value, *attribute.default_value);
      })) {
    return values->fail("the default " + json::write(*attribute.default_value) +
                        " is not among the values");
  }
  return {};
}

Result<Arg> read_arg(const std::string& key, const Cursor& cursor) {
  if (!is_identifier(key)) return cursor.fail("'" + key + "' is not an identifier");
  WGK_TRY(expect_object(cursor));
  WGK_ASSIGN(const std::string kind, text_member(cursor, "kind"));
  constexpr std::pair<std::string_view, ArgKind> kKinds[] = {{"u32", ArgKind::kU32},
                                                             {"i32", ArgKind::kI32},
                                                             {"f32", ArgKind::kF32},
                                                             {"bool", ArgKind::kBool},
                                                             {"string", ArgKind::kString}};
  const auto found = std::ranges::find(kKinds, std::string_view(kind),
                                       &std::pair<std::string_view, ArgKind>::first);
  if (found == std::end(kKinds)) {
    return cursor.fail("kind must be u32, i32, f32, bool or string, got '" + kind + "'" +
                       (kind == "tensor" ? "; tensors are ports under inputs and outputs" : ""));
  }
  WGK_TRY(cursor.only({"kind", "description", "onnx", "required", "oneOf"}));
  Arg arg;
  arg.kind = found->second;
  WGK_ASSIGN(arg.description, text_member(cursor, "description"));
  if (const auto onnx = cursor.find("onnx"); onnx && onnx->value().is_string())
    arg.onnx = *onnx->value().if_string();
  if (const auto required = cursor.find("required"))
    arg.required = required->value() != Json(false);
  if (const auto choices = cursor.find("oneOf")) {
    const bool list = choices->value().is_array() && !choices->value().if_array()->empty();
    if (arg.kind != ArgKind::kString || !list)
      return choices->fail_value("must be a non-empty list, and only a string argument has it");
    for (const Json& choice : *choices->value().if_array()) {
      if (choice.is_string()) arg.one_of.push_back(*choice.if_string());
    }
  }
  return arg;
}

}  // namespace

Result<Named<std::vector<DType>>> read_type_constraints(const Cursor& manifest) {
  Named<std::vector<DType>> constraints;
  const std::optional<Cursor> member = manifest.find("typeConstraints");
  if (!member) return constraints;
  for (const auto& [variable, cursor] : loose_entries(*member)) {
    const Json::Array* list = cursor.value().if_array();
    if (list == nullptr || list->empty())
      return cursor.fail_value("must be a non-empty list of logical dtypes");
    std::vector<DType> dtypes;
    for (const Json& item : *list) {
      const auto dtype = item.is_string() ? dtype_from_name(*item.if_string()) : std::nullopt;
      if (!dtype) {
        const std::string* text = item.if_string();
        return cursor.fail_unknown(json::write(item) + " is not a logical dtype",
                                   text == nullptr ? std::string_view() : *text, dtype_names());
      }
      dtypes.push_back(*dtype);
    }
    constraints.emplace_back(variable, std::move(dtypes));
  }
  return constraints;
}

Result<std::vector<Port>> read_ports(const Cursor& ports, bool inputs,
                                     const Named<std::vector<DType>>& constraints) {
  WGK_ASSIGN(const auto members, ports.members());
  std::vector<Port> result;
  for (const auto& [key, cursor] : members) {
    WGK_ASSIGN(Port port, read_port(key, cursor, inputs, constraints));
    result.push_back(std::move(port));
  }
  return result;
}

Result<Named<Arg>> read_args(const Cursor& manifest) {
  Named<Arg> args;
  const std::optional<Cursor> member = manifest.find("args");
  if (!member) return args;
  for (const auto& [key, cursor] : loose_entries(*member)) {
    WGK_ASSIGN(Arg arg, read_arg(key, cursor));
    args.emplace_back(key, std::move(arg));
  }
  return args;
}

Result<Named<Attribute>> read_attributes(const Cursor& manifest) {
  Named<Attribute> attributes;
  if (const auto member = manifest.find("attributes")) {
    WGK_ASSIGN(const auto members, member->members());
    for (const auto& [key, cursor] : members) {
      if (key.empty()) return cursor.fail("an attribute needs a name");
      if (!cursor.value().is_object()) {
        return cursor.fail(
            "must be an object {default?, description?}; a bare value is an older spelling of "
            "{\"default\": " +
            json::write(cursor.value()) + "}");
      }
      WGK_TRY(cursor.only({"default", "description"}));
      Attribute attribute;
      WGK_ASSIGN(attribute.description, text_member(cursor, "description"));
      if (const auto value = cursor.find("default")) attribute.default_value = value->value();
      attributes.emplace_back(key, std::move(attribute));
    }
  }
  const std::optional<Cursor> constraints = manifest.find("attributeConstraints");
  if (!constraints) return attributes;
  WGK_ASSIGN(const auto members, constraints->members());
  for (const auto& [key, cursor] : members) {
    const auto found =
        std::ranges::find(attributes, key, &std::pair<std::string, Attribute>::first);
    if (found == attributes.end()) {
      std::vector<std::string> known;
      for (const auto& [name, attribute] : attributes) known.push_back(name);
      return cursor.fail_unknown("'" + key + "' is not an attribute of this manifest", key, known);
    }
    WGK_TRY(read_constraint(cursor, found->second));
  }
  return attributes;
}

Result<Tunables> read_tunables(const Cursor& owner) {
  Tunables tunables;
  const std::optional<Cursor> member = owner.find("tunables");
  if (!member) return tunables;
  WGK_ASSIGN(const auto members, member->members());
  for (const auto& [key, cursor] : members) {
    if (!is_identifier(key)) return cursor.fail("'" + key + "' is not an identifier");
    if (!cursor.value().is_object()) {
      return cursor.fail("must be an object {default, description?}, got " +
                         json::write(cursor.value()));
    }
    WGK_TRY(cursor.only({"default", "description"}));
    WGK_ASSIGN(const Cursor value, cursor.require("default"));
    if (!is_scalar(value.value()) || value.value().is_null())
      return value.fail_value("must be a number, a string or a bool");
    tunables.defaults.emplace_back(key, value.value());
    WGK_ASSIGN(std::string description, text_member(cursor, "description"));
    if (!description.empty()) tunables.descriptions.emplace_back(key, std::move(description));
  }
  return tunables;
}

}  // namespace wgk::package
