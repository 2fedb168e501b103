// SPDX-License-Identifier: Apache-2.0
#include "package/manifest.h"

#include <algorithm>

#include "package/manifest_reader.h"
#include "package/names.h"

namespace wgk::package {
namespace {

constexpr std::pair<std::string_view, std::string_view> kOlderKeys[] = {
    {"attributeDescriptions", "the text of an attribute is attributes.<name>.description"},
    {"tunableDescriptions", "the text of a tunable is tunables.<name>.description"},
    {"attributeNames", "an attribute without default is an entry of attributes without 'default'"},
    {"constants", "values are derived under 'derive'"},
    {"variantFamilies", "a family is a member of 'variants' with cases or axes"},
    {"bindingSets", "entries stand under 'bindings', and passes list their handles"},
    {"bindingEntries", "entries stand under 'bindings'"},
};

Status check_manifest_keys(const Cursor& manifest) {
  for (const auto& [key, advice] : kOlderKeys) {
    if (const auto member = manifest.find(key))
      return member->fail("is an older key; " + std::string(advice));
  }
  return manifest.only({"$schema", "domain", "name", "description", "conformance", "sinceVersion",
                        "inputs", "outputs", "args", "attributes", "attributeConstraints",
                        "typeConstraints", "tunables", "derive", "when", "requires", "bindings",
                        "variants", "onnx"});
}

Status read_head(const Cursor& cursor, Manifest& manifest) {
  if (const auto domain = cursor.find("domain"); domain && !domain->value().is_null()) {
    WGK_ASSIGN(manifest.domain, domain->string());
    if (!is_domain(manifest.domain))
      return domain->fail("'" + manifest.domain + "' is not a dotted domain, as ai.onnx is");
  }
  WGK_ASSIGN(const Cursor name, cursor.require("name"));
  WGK_ASSIGN(manifest.name, name.string());
  if (manifest.name.empty()) return name.fail("must not be empty");
  if (const auto conformance = cursor.find("conformance")) {
    const Json& value = conformance->value();
    if (value != Json("internal-lowering") && value != Json("legacy-default-domain")) {
      return conformance->fail_value("must be internal-lowering or legacy-default-domain");
    }
  }
  WGK_TRY(check_manifest_keys(cursor));
  WGK_ASSIGN(manifest.description, text_member(cursor, "description"));
  if (const auto version = cursor.find("sinceVersion"); version && version->value().is_number()) {
    if (const auto number = version->integer(INT32_MIN, INT32_MAX))
      manifest.since_version = *number;
  }
  return {};
}

// The same key on both sides is one in-place tensor.
Status check_ports(const Cursor& cursor, const Manifest& manifest) {
  for (const Port& output : manifest.outputs) {
    const auto input = std::ranges::find(manifest.inputs, output.key, &Port::key);
    if (input == manifest.inputs.end()) continue;
    if (input->dtype != output.dtype || input->storage != output.storage) {
      return cursor.fail("the in-place tensor '" + output.key +
                         "' must have the same dtype and storage under inputs and outputs");
    }
  }
  for (const auto& [name, arg] : manifest.args) {
    if (std::ranges::contains(manifest.inputs, name, &Port::key) ||
        std::ranges::contains(manifest.outputs, name, &Port::key)) {
      return cursor.fail("the argument '" + name + "' has the name of a port");
    }
  }
  return {};
}

bool is_opaque_int64(const Port& port, const Manifest& manifest) {
  if (port.storage) return *port.storage == DType::i64;
  if (port.concrete) return *port.concrete == DType::i64;
  const auto found = std::ranges::find(manifest.type_constraints, port.dtype,
                                       &std::pair<std::string, std::vector<DType>>::first);
  return found != manifest.type_constraints.end() && found->second == std::vector{DType::i64};
}

Result<Symbols> collect_symbols(const Cursor& cursor, const Manifest& manifest) {
  Symbols symbols;
  for (const auto& [variable, dtypes] : manifest.type_constraints)
    symbols.type_variables.insert(variable);
  for (const Port& port : manifest.inputs) {
    symbols.ports[port.key] = {.port = &port,
                               .is_input = true,
                               .is_output = false,
                               .opaque_int64 = is_opaque_int64(port, manifest)};
  }
  for (const Port& port : manifest.outputs) {
    Symbols::PortInfo& info = symbols.ports[port.key];
    if (info.port == nullptr)
      info = {.port = &port, .opaque_int64 = is_opaque_int64(port, manifest)};
    info.is_output = true;
  }
  WGK_TRY(read_shared_entries(cursor, symbols));
  WGK_ASSIGN(symbols.when, read_clauses(cursor, "when", symbols));
  WGK_ASSIGN(symbols.requirements, read_requires(cursor));
  return symbols;
}

Status read_variants(const Cursor& cursor, const Symbols& symbols, const ManifestLimits& limits,
                     Manifest& manifest) {
  WGK_ASSIGN(const std::vector<ExpandedVariant> expanded, expand_variants(cursor, limits));
  std::set<std::string, std::less<>> ids;
  for (const ExpandedVariant& item : expanded) {
    const Cursor at(item.json, item.path, kManifestError);
    WGK_ASSIGN(Variant variant, read_variant(at, manifest.variants.size(), symbols, limits));
    if (!ids.insert(variant.id).second)
      return at.fail("the variant id '" + variant.id + "' stands there twice");
    manifest.variants.push_back(std::move(variant));
  }
  return check_ranks(manifest.variants);
}

void append_passes(const std::vector<Step>& steps, std::vector<const Pass*>& out) {
  for (const Step& step : steps) {
    if (const Pass* pass = std::get_if<Pass>(&step)) {
      out.push_back(pass);
    } else {
      append_passes(std::get<std::shared_ptr<const Repeat>>(step)->steps, out);
    }
  }
}

const Port* find_port(const std::vector<Port>& ports, std::string_view name) {
  if (name.empty()) return nullptr;
  for (const auto& member : {&Port::key, &Port::onnx}) {
    const auto found = std::ranges::find(ports, name, member);
    if (found != ports.end()) return &*found;
  }
  return nullptr;
}

}  // namespace

std::vector<const Pass*> passes_of(const Variant& variant) {
  std::vector<const Pass*> passes;
  append_passes(variant.steps, passes);
  return passes;
}

const Port* Manifest::input(std::string_view key_or_onnx) const {
  return find_port(inputs, key_or_onnx);
}

const Port* Manifest::output(std::string_view key_or_onnx) const {
  return find_port(outputs, key_or_onnx);
}

const Variant* Manifest::variant(std::string_view id) const {
  const auto found = std::ranges::find(variants, id, &Variant::id);
  return found == variants.end() ? nullptr : &*found;
}

Result<Manifest> read_manifest(const Json& json, const ManifestLimits& limits) {
  WGK_ASSIGN(const Json clean, without_comments(json));
  const Cursor cursor(clean, "", kManifestError);
  WGK_TRY(expect_object(cursor));
  WGK_TRY(refuse_prototype_names(clean, kManifestError));
  WGK_TRY(expect_few(cursor, {"inputs", "outputs", "args", "attributes", "tunables", "derive",
                              "typeConstraints", "bindings"}));
  Manifest manifest;
  WGK_TRY(read_head(cursor, manifest));
  WGK_ASSIGN(const Cursor inputs, cursor.require("inputs"));
  WGK_ASSIGN(const Cursor outputs, cursor.require("outputs"));
  WGK_ASSIGN(manifest.type_constraints, read_type_constraints(cursor));
  WGK_ASSIGN(manifest.inputs, read_ports(inputs, true, manifest.type_constraints));
  WGK_ASSIGN(manifest.outputs, read_ports(outputs, false, manifest.type_constraints));
  WGK_ASSIGN(manifest.args, read_args(cursor));
  WGK_TRY(check_ports(cursor, manifest));
  WGK_ASSIGN(manifest.attributes, read_attributes(cursor));
  WGK_ASSIGN(Tunables tunables, read_tunables(cursor));
  manifest.tunables = std::move(tunables.defaults);
  manifest.tunable_descriptions = std::move(tunables.descriptions);
  WGK_ASSIGN(const Symbols symbols, collect_symbols(cursor, manifest));
  WGK_ASSIGN(manifest.derive, read_derive(cursor, symbols));
  WGK_TRY(read_variants(cursor, symbols, limits, manifest));
  return manifest;
}

}  // namespace wgk::package
