// SPDX-License-Identifier: Apache-2.0
// wgk info: what a package is and takes.
#include "base/number.h"
#include "cli/limit_flags.h"
#include "cli/session.h"
#include "json/json.h"
#include "store/open.h"

namespace wgk::cli {
namespace {

std::string joined(const std::vector<std::string>& texts) {
  std::string out;
  for (const std::string& text : texts) out += (out.empty() ? "" : ", ") + text;
  return out;
}

std::string dtype_text(const package::Port& port) {
  std::string text = port.dtype;
  if (port.storage) text += " as " + std::string(name(*port.storage));
  return port.packed ? text + ", packed" : text;
}

Json port_json(const package::Port& port, std::string_view role) {
  Json json = Json::object(
      {{"name", port.key}, {"role", role}, {"dtype", port.dtype}, {"optional", port.optional}});
  if (!port.onnx.empty()) json.set("upstream", port.onnx);
  if (!port.rank.is_null()) json.set("rank", port.rank);
  if (port.storage) json.set("storage", name(*port.storage));
  if (port.packed) json.set("layout", "packed");
  if (port.shape) json.set("shape", port.shape->source());
  return json;
}

Json variant_json(const package::Variant& variant) {
  Json clauses(Json::Array{}), passes(Json::Array{});
  for (const auto& clause : variant.when) clauses.if_array()->emplace_back(clause.text());
  for (const package::Pass* pass : package::passes_of(variant))
    passes.if_array()->push_back(Json::object({{"id", pass->id}, {"shader", pass->shader}}));
  Json json = Json::object(
      {{"id", variant.id}, {"priority", variant.priority}, {"when", clauses}, {"passes", passes}});
  const auto& features = variant.requirements.features;
  if (!features.empty()) json.set("features", Json(Json::Array(features.begin(), features.end())));
  return json;
}

Json to_json(const package::Package& package) {
  const package::Manifest& manifest = package.manifest;
  Json ports(Json::Array{}), attributes(Json::Object{}), tunables(Json::Object{}),
      variants(Json::Array{}), types(Json::Object{});
  for (const auto& port : manifest.inputs)
    ports.if_array()->push_back(
        port_json(port, manifest.output(port.key) != nullptr ? "in place" : "input"));
  for (const auto& port : manifest.outputs) {
    if (manifest.input(port.key) == nullptr) ports.if_array()->push_back(port_json(port, "output"));
  }
  for (const auto& [key, attribute] : manifest.attributes) {
    attributes.set(key, attribute.default_value
                            ? Json::object({{"default", *attribute.default_value}})
                            : Json(Json::Object{}));
  }
  for (const auto& [variable, dtypes] : manifest.type_constraints) {
    Json list(Json::Array{});
    for (const DType dtype : dtypes) list.if_array()->emplace_back(name(dtype));
    types.set(variable, list);
  }
  for (const auto& [key, value] : manifest.tunables) tunables.set(key, value);
  for (const auto& variant : manifest.variants)
    variants.if_array()->push_back(variant_json(variant));
  return Json::object({{"operator", manifest.op_id()},
                       {"id", package.metadata.id},
                       {"version", package.metadata.version},
                       {"license", package.metadata.license},
                       {"origin", package.origin},
                       {"manifestDigest", package.manifest_digest},
                       {"ports", ports},
                       {"attributes", attributes},
                       {"typeConstraints", types},
                       {"tunables", tunables},
                       {"variants", variants}});
}

std::string ports_text(const package::Manifest& manifest) {
  Table table({"PORT", "UPSTREAM", "ROLE", "DTYPE", "PRESENCE"});
  const auto add = [&](const package::Port& port, const char* role) {
    table.add({port.key, port.onnx.empty() ? "-" : port.onnx, role, dtype_text(port),
               port.optional ? "optional" : "required"});
  };
  for (const auto& port : manifest.inputs)
    add(port, manifest.output(port.key) != nullptr ? "in place" : "input");
  for (const auto& port : manifest.outputs) {
    if (manifest.input(port.key) == nullptr) add(port, "output");
  }
  return table.text();
}

std::string variants_text(const package::Manifest& manifest) {
  Table table({"VARIANT", "PRIORITY", "PASSES", "REQUIRES"});
  for (const auto& variant : manifest.variants) {
    const std::string features = joined(variant.requirements.features);
    table.add({variant.id, number_text(variant.priority),
               std::to_string(package::passes_of(variant).size()),
               features.empty() ? "-" : features});
  }
  return table.text();
}

std::string to_text(const package::Package& package) {
  const package::Manifest& manifest = package.manifest;
  std::vector<std::pair<std::string, std::string>> head = {{"operator", manifest.op_id()},
                                                           {"build", package.metadata.id},
                                                           {"license", package.metadata.license},
                                                           {"origin", package.origin}};
  for (const auto& [variable, dtypes] : manifest.type_constraints) {
    std::vector<std::string> names;
    for (const DType dtype : dtypes) names.emplace_back(name(dtype));
    head.emplace_back("type " + variable, joined(names));
  }
  for (const auto& [key, attribute] : manifest.attributes) {
    head.emplace_back("attribute " + key, attribute.default_value
                                              ? json::write(*attribute.default_value)
                                          : attribute.required ? "required"
                                                               : "no default");
  }
  for (const auto& [key, value] : manifest.tunables)
    head.emplace_back("tunable " + key, json::write(value));
  return lines(head) + "\n" + ports_text(manifest) + "\n" + variants_text(manifest);
}

int run_info(const Session& session, const std::string& place) {
  const auto package = store::open(place, load_options(session));
  if (!package) return session.fail(package.error());
  if (session.json) {
    session.print_json(to_json(**package));
  } else {
    session.print(to_text(**package));
  }
  return kSuccess;
}

}  // namespace

void add_info(CLI::App& app, Session& session) {
  auto place = std::make_shared<std::string>();
  CLI::App* command = add_command(app, session, "info", "Show what a package is and takes",
                                  {"wgk info kernels/com.microsoft.SkipGroupNorm",
                                   "wgk info --json kernels/com.microsoft.SparseAttention"});
  command->add_option("PKG", *place, "Package folder")->required();
  add_limit_option(*command, session);
  command->add_flag("--json", session.json, "Print JSON");
  command->callback([place, &session] {
    session.command = [place, &session] { return run_info(session, *place); };
  });
}

}  // namespace wgk::cli
