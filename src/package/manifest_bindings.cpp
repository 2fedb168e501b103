// SPDX-License-Identifier: Apache-2.0
// Binding entries: shared ones under a handle, and those of a pass (format.md b.6).
#include <algorithm>
#include <cmath>
#include <set>

#include "package/manifest_reader.h"
#include "package/names.h"

namespace wgk::package {
namespace {

Result<Field> read_field(const Cursor& cursor, expr::Parses& parses) {
  WGK_TRY(expect_object(cursor));
  Field field;
  WGK_ASSIGN(field.name, text_member(cursor, "name"));
  if (!is_identifier(field.name))
    return cursor.fail("name must be an identifier, got '" + field.name + "'");
  if (is_prototype_name(field.name))
    return cursor.fail("'" + field.name +
                       "' is the name of a member of JavaScript's Object.prototype");
  WGK_ASSIGN(const std::string type, text_member(cursor, "type"));
  if (type == "u32") {
    field.type = Field::Type::kU32;
  } else if (type == "i32") {
    field.type = Field::Type::kI32;
  } else if (type == "f32") {
    field.type = Field::Type::kF32;
  } else {
    return cursor.fail("type must be u32, i32 or f32, got '" + type + "'");
  }
  WGK_TRY(cursor.only({"name", "type", "value", "required", "internal", "default"}));
  WGK_ASSIGN(field.internal, flag_member(cursor, "internal", false));
  field.required = !field.internal;
  // Any value is taken here, as JavaScript's truth; null counts as not given.
  if (const auto required = cursor.find("required"); required && !required->value().is_null()) {
    const Json& flag = required->value();
    field.required = flag != Json(false) && flag != Json(0) && flag != Json("");
  }
  if (const auto value = cursor.find("value")) field.value = parses.rule(value->value());
  if (const auto value = cursor.find("default")) field.default_value = parses.rule(value->value());
  return field;
}

Result<std::vector<Field>> read_fields(const Cursor& entry, expr::Parses& parses) {
  const std::optional<Cursor> member = entry.find("struct");
  if (!member || !member->value().is_array() || member->value().if_array()->empty()) {
    return entry.fail("a uniform binding needs a struct: a non-empty list of fields");
  }
  WGK_ASSIGN(const std::vector<Cursor> items, member->items());
  std::vector<Field> fields;
  std::set<std::string> names;
  for (const Cursor& item : items) {
    WGK_ASSIGN(Field field, read_field(item, parses));
    if (!names.insert(field.name).second)
      return item.fail("the field '" + field.name + "' stands there twice");
    fields.push_back(std::move(field));
  }
  return fields;
}

struct Resource {
  std::string scratch;                         // intermediate id, if it is one
  const Intermediate* intermediate = nullptr;  // null: outside a variant, or undeclared
  const Symbols::PortInfo* port = nullptr;
};

Result<BufferType> read_buffer(const Cursor& entry, const Resource& resource,
                               const std::string& target) {
  const std::optional<Cursor> member = entry.find("buffer");
  if (member && !member->value().is_null()) {
    const std::string* text = member->value().if_string();
    if (text != nullptr && *text == "read-only-storage") return BufferType::kReadOnlyStorage;
    if (text != nullptr && *text == "storage") return BufferType::kStorage;
    if (text != nullptr && *text == "uniform") return BufferType::kUniform;
    return member->fail_value("must be read-only-storage, storage or uniform");
  }
  if (entry.find("struct")) return BufferType::kUniform;
  if (!resource.scratch.empty()) return BufferType::kStorage;
  if (resource.port != nullptr)
    return resource.port->is_output ? BufferType::kStorage : BufferType::kReadOnlyStorage;
  return entry.fail("'" + target +
                    "' is neither a port nor an intermediate here, so buffer must be written");
}

Result<std::string> default_element_type(const Cursor& entry, const Resource& resource) {
  if (resource.intermediate != nullptr)
    return std::string(wgsl_scalar(resource.intermediate->dtype));
  if (resource.port != nullptr) {
    const Port& port = *resource.port->port;
    if (port.storage) return std::string(wgsl_scalar(*port.storage));
    if (port.concrete) return std::string(wgsl_scalar(*port.concrete));
    if (port.dtype.empty())
      return entry.fail("port '" + port.key + "' has no dtype, so elementType must be written");
    return "$" + port.dtype;
  }
  if (!resource.scratch.empty()) {
    return entry.fail("the scratch '" + resource.scratch +
                      "' is not known here, so elementType must be written");
  }
  return entry.fail("a storage binding needs elementType");
}

std::string without_space(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c != ' ' && (c < '\t' || c > '\r')) out += c;
  }
  return out;
}

Status read_storage_type(const Cursor& entry, const Resource& resource, BindingEntry& result) {
  for (const std::string_view key : {"struct", "structName"}) {
    if (entry.find(key))
      return entry.fail("a storage binding has elementType, not '" + std::string(key) + "'");
  }
  WGK_ASSIGN(std::string type, text_member(entry, "elementType", true));
  if (type.empty()) {
    WGK_ASSIGN(type, default_element_type(entry, resource));
  }
  if (resource.port != nullptr && resource.port->opaque_int64 && !type.starts_with('$') &&
      without_space(type) != "vec2<u32>") {
    return entry.fail("an int64 tensor must be bound as vec2<u32>, got '" + type + "'");
  }
  result.element_type = Json(std::move(type));
  const std::optional<Cursor> length = entry.find("length");
  if (!length) return {};
  const double* number = length->value().if_number();
  const std::string* text = length->value().if_string();
  const bool is_count = number != nullptr && *number > 0 && *number <= kMaxSafeInteger &&
                        std::floor(*number) == *number;
  const bool is_reference = text != nullptr && text->size() > 1 && text->starts_with('$');
  if (!is_count && !is_reference)
    return length->fail_value("must be a positive integer or a '$' reference to a derived value");
  result.length = length->value();
  return {};
}

// Reads name, arg and scratch; arg and scratch are kept only where they differ from the name.
Result<BindingEntry> read_names(const Cursor& entry, std::string_view default_name,
                                std::string& arg, std::string& scratch) {
  for (const std::string_view key : {"name", "arg", "scratch", "elementType", "structName"}) {
    WGK_TRY(text_member(entry, key, true));
  }
  BindingEntry result;
  WGK_ASSIGN(result.name, text_member(entry, "name"));
  WGK_ASSIGN(arg, text_member(entry, "arg"));
  WGK_ASSIGN(scratch, text_member(entry, "scratch"));
  for (const std::string_view otherwise :
       {default_name, std::string_view(arg), std::string_view(scratch)}) {
    if (result.name.empty()) result.name = otherwise;
  }
  if (result.name.empty()) return entry.fail("needs a name, arg or scratch");
  if (!is_identifier(result.name)) return entry.fail("'" + result.name + "' is not an identifier");
  for (const std::string& text : {result.name, arg, scratch}) {
    if (is_prototype_name(text))
      return entry.fail("'" + text + "' is the name of a member of JavaScript's Object.prototype");
  }
  if (arg != result.name) result.arg = arg;
  if (scratch != result.name) result.scratch = scratch;
  return result;
}

}  // namespace

Result<BindingEntry> read_entry(const Cursor& entry, std::string_view default_name,
                                const Symbols& symbols, const Intermediates* intermediates) {
  WGK_TRY(expect_object(entry));
  if (entry.find("semantic"))
    return entry.fail("has the older key 'semantic'; entries resolve by arg, scratch or name");
  WGK_TRY(entry.only(
      {"buffer", "name", "arg", "scratch", "elementType", "length", "structName", "struct"}));
  std::string arg, scratch;
  WGK_ASSIGN(BindingEntry result, read_names(entry, default_name, arg, scratch));

  Resource resource;
  resource.scratch = scratch;
  if (scratch.empty() && intermediates != nullptr && intermediates->contains(result.name))
    resource.scratch = result.name;
  const std::string target = arg.empty() ? result.name : arg;
  if (resource.scratch.empty()) {
    if (const auto found = symbols.ports.find(target); found != symbols.ports.end())
      resource.port = &found->second;
  } else if (intermediates != nullptr) {
    if (const auto found = intermediates->find(resource.scratch); found != intermediates->end())
      resource.intermediate = found->second;
  }

  WGK_ASSIGN(result.buffer, read_buffer(entry, resource, target));
  if (result.buffer == BufferType::kUniform) {
    if (entry.find("elementType") || entry.find("length"))
      return entry.fail("a uniform binding has a struct, not elementType or length");
    WGK_ASSIGN(result.fields, read_fields(entry, *symbols.parses));
    WGK_ASSIGN(const std::string struct_name, text_member(entry, "structName"));
    if (!struct_name.empty()) result.struct_name = struct_name;
    return result;
  }
  WGK_TRY(read_storage_type(entry, resource, result));
  return result;
}

Status read_shared_entries(const Cursor& manifest, Symbols& symbols) {
  const std::optional<Cursor> member = manifest.find("bindings");
  if (!member) return {};
  WGK_ASSIGN(const auto members, member->members());
  for (const auto& [handle, cursor] : members) {
    if (!is_identifier(handle))
      return cursor.fail("the handle '" + handle + "' is not an identifier");
    WGK_ASSIGN(BindingEntry entry, read_entry(cursor, handle, symbols, nullptr));
    symbols.entries.emplace(handle, std::move(entry));
  }
  return {};
}

namespace {

Result<BindingEntry> read_pass_binding(const Cursor& item, const Symbols& symbols,
                                       const Intermediates& intermediates) {
  const std::string* text = item.value().if_string();
  if (text == nullptr) {
    if (!item.value().is_object())
      return item.fail_value(
          "must be a handle, the name of a port or intermediate, or an inline entry");
    return read_entry(item, {}, symbols, &intermediates);
  }
  if (const auto found = symbols.entries.find(*text); found != symbols.entries.end())
    return found->second;
  const bool is_port = symbols.ports.contains(*text);
  if (!is_port && !intermediates.contains(*text)) {
    return item.fail("'" + *text +
                     "' is neither a handle nor a port nor an intermediate of the variant");
  }
  const Json entry = is_port ? Json(Json::Object{}) : Json::object({{"scratch", Json(*text)}});
  return read_entry(Cursor(entry, item.path(), kManifestError), *text, symbols, &intermediates);
}

// Every storage entry must lead to something that the variant or the manifest declares.
Status check_resource(const Cursor& item, const BindingEntry& entry, const Symbols& symbols,
                      const Intermediates& intermediates) {
  if (entry.buffer == BufferType::kUniform) return {};
  if (!entry.scratch.empty()) {
    if (intermediates.contains(entry.scratch)) return {};
    return item.fail("binding '" + entry.name + "' names the scratch '" + entry.scratch +
                     "', which the variant does not have");
  }
  const std::string& target = entry.arg.empty() ? entry.name : entry.arg;
  if (intermediates.contains(entry.name) || symbols.ports.contains(target)) return {};
  return item.fail("binding '" + entry.name + "' names '" + target +
                   "', which is neither a port nor an intermediate of the variant");
}

}  // namespace

Result<std::vector<BindingEntry>> read_pass_bindings(const Cursor& pass, const Symbols& symbols,
                                                     const Intermediates& intermediates) {
  const std::optional<Cursor> member = pass.find("bindings");
  if (!member || !member->value().is_array() || member->value().if_array()->empty()) {
    return pass.fail("needs bindings: a non-empty list");
  }
  WGK_ASSIGN(const std::vector<Cursor> items, member->items());
  std::vector<BindingEntry> bindings;
  bindings.reserve(items.size());
  for (const Cursor& item : items) {
    WGK_ASSIGN(BindingEntry entry, read_pass_binding(item, symbols, intermediates));
    WGK_TRY(check_resource(item, entry, symbols, intermediates));
    if (std::ranges::contains(bindings, entry.name, &BindingEntry::name)) {
      return item.fail("the WGSL name '" + entry.name + "' is bound twice");
    }
    bindings.push_back(std::move(entry));
  }
  return bindings;
}

}  // namespace wgk::package
