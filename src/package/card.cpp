// SPDX-License-Identifier: Apache-2.0
#include "package/card.h"

#include <algorithm>
#include <optional>
#include <set>

#include "base/number.h"
#include "json/json.h"
#include "package/names.h"

namespace wgk::package {
namespace {

constexpr std::string_view kNothing = "—";

std::string code(std::string_view text) { return "`" + std::string(text) + "`"; }

// A cell of a table must not break its row.
std::string cell(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '|') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out.empty() ? std::string(kNothing) : out;
}

std::string row(const std::vector<std::string>& cells) {
  std::string out = "|";
  for (const std::string& text : cells) out += " " + text + " |";
  return out + "\n";
}

std::string head(const std::vector<std::string>& names) {
  return row(names) + row(std::vector<std::string>(names.size(), "---"));
}

std::string list(const std::vector<std::string>& names) {
  std::string out;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) out += i + 1 == names.size() ? " and " : ", ";
    out += code(names[i]);
  }
  return out;
}

// "same as `x`" for a rule that is nothing but `<space>.x`.
std::optional<std::string> same_as(const Json& rule, std::string_view space) {
  const std::string* text = rule.if_string();
  if (text == nullptr || !text->starts_with(std::string(space) + ".")) return std::nullopt;
  const std::string_view port = std::string_view(*text).substr(space.size() + 1);
  if (!is_identifier(port)) return std::nullopt;
  return "same as " + code(port);
}

std::string rank_text(const Port& port) {
  if (const double* number = port.rank.if_number()) return code(number_text(*number));
  if (const auto same = same_as(port.rank, "ranks")) return *same;
  return port.rank.is_string() ? code(*port.rank.if_string()) : std::string(kNothing);
}

class Card {
 public:
  Card(const Package& package, const std::vector<TestCase>& tests,
       const std::vector<std::string>& files)
      : manifest_(package.manifest), package_(package), tests_(tests), files_(files) {}

  std::string text() {
    add_head();
    add_ports("Inputs", manifest_.inputs, true);
    add_ports("Outputs", manifest_.outputs, false);
    add_arguments();
    add_attributes();
    add_types();
    add_tunables();
    add_variants();
    add_requirements();
    add_files();
    add_usage();
    return std::move(out_);
  }

 private:
  void section(std::string_view title) { out_ += "\n## " + std::string(title) + "\n\n"; }

  void add_head() {
    const bool standard = manifest_.domain == "ai.onnx";
    const std::string license =
        package_.metadata.license.empty() ? "apache-2.0" : package_.metadata.license;
    out_ += "---\nlibrary_name: kernels\nlicense: " + license +
            "\ntags:\n- kernel\n- webgpu\n- wgsl\n---\n";
    out_ += "# " + manifest_.op_id() + "\n\n" + code(manifest_.domain) + "  ·  ";
    out_ += standard                              ? "standard ONNX operator"
            : manifest_.domain == "com.microsoft" ? "ONNX Runtime contrib operator"
                                                  : "custom operator";
    if (manifest_.since_version) {
      out_ += std::string("  ·  ") + (standard ? "opset " : "contrib since_version ") +
              std::to_string(*manifest_.since_version);
    }
    out_ += "\n";
    section("Description");
    const std::string description = package_.contract && !package_.contract->description.empty()
                                        ? package_.contract->description
                                        : manifest_.description;
    if (!description.empty()) out_ += description + "\n";
    if (manifest_.domain == "com.microsoft") {
      out_ += "\nSee the [ONNX Runtime " + code(manifest_.name) +
              " contrib-operator "
              "spec](https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md#" +
              manifest_.op_id() + ") for the reference semantics.\n";
    } else if (standard) {
      out_ += "\nSee the [ONNX " + code(manifest_.name) +
              " spec](https://onnx.ai/onnx/operators/onnx__" + manifest_.name +
              ".html) for the reference semantics.\n";
    }
  }

  const Contract::PortText* port_text(const std::string& key) const {
    if (!package_.contract) return nullptr;
    for (const auto& [name, text] : package_.contract->ports) {
      if (name == key) return &text;
    }
    return nullptr;
  }

  std::string shape_text(const Port& port, bool input) const {
    const Contract::PortText* text = port_text(port.key);
    if (!input && port.shape) {
      if (const auto same = same_as(port.shape->source(), "shapes")) return *same;
    }
    if (text != nullptr && !text->dims.empty()) return cell(text->dims);
    return input || !port.shape ? std::string(kNothing) : "derived";
  }

  void add_ports(std::string_view title, const std::vector<Port>& ports, bool input) {
    if (ports.empty()) return;
    const bool upstream = std::ranges::any_of(
        ports, [](const Port& port) { return !port.onnx.empty() && port.onnx != port.key; });
    const bool storage =
        std::ranges::any_of(ports, [](const Port& port) { return port.storage || port.packed; });
    section(title);
    std::vector<std::string> names = {"Name"};
    if (upstream) names.emplace_back("Upstream name");
    names.emplace_back("Logical dtype");
    if (storage) names.emplace_back("WebGPU storage");
    for (const char* name : {"Rank", "Shape", "Description", "Presence"}) names.emplace_back(name);
    out_ += head(names);
    for (const Port& port : ports) {
      const Contract::PortText* text = port_text(port.key);
      std::vector<std::string> cells = {code(port.key)};
      if (upstream) cells.push_back(port.onnx.empty() ? std::string(kNothing) : code(port.onnx));
      cells.push_back(port.dtype.empty() ? std::string(kNothing) : code(port.dtype));
      if (storage)
        cells.push_back(port.packed    ? "`uint8`, packed"
                        : port.storage ? code(name(*port.storage))
                                       : "same as logical dtype");
      cells.push_back(rank_text(port));
      cells.push_back(shape_text(port, input));
      cells.push_back(cell(text != nullptr && !text->description.empty() ? text->description
                                                                         : port.description));
      cells.push_back(port.optional ? "optional" : "required");
      out_ += row(cells);
    }
  }

  void add_arguments() {
    if (manifest_.args.empty()) return;
    constexpr std::string_view kKinds[] = {"u32", "i32", "f32", "bool", "string"};
    section("Scalar arguments");
    out_ += head({"Argument", "Kind", "Description", "Presence"});
    for (const auto& [name, arg] : manifest_.args) {
      out_ += row({code(name), code(kKinds[static_cast<std::size_t>(arg.kind)]),
                   cell(arg.description), arg.required ? "required" : "optional"});
    }
  }

  std::string attribute_text(const std::string& name, const Attribute& attribute) const {
    if (package_.contract) {
      for (const auto& [key, text] : package_.contract->attributes) {
        if (key == name && !text.empty()) return text;
      }
    }
    return attribute.description;
  }

  void add_attributes() {
    if (manifest_.attributes.empty()) return;
    std::vector<std::pair<std::string, const Attribute*>> sorted;
    for (const auto& [name, attribute] : manifest_.attributes)
      sorted.emplace_back(name, &attribute);
    std::ranges::sort(sorted);
    const bool defaults = std::ranges::all_of(
        sorted, [](const auto& entry) { return entry.second->default_value.has_value(); });
    section("Attributes");
    out_ += defaults ? "Default values (overridable per request):\n\n"
                     : "Attributes and default values (overridable per request):\n\n";
    out_ += head({"Attribute", "Default", "Description"});
    for (const auto& [name, attribute] : sorted) {
      const std::string value = attribute->default_value
                                    ? code(json::write(*attribute->default_value))
                                    : std::string(kNothing);
      out_ += row({code(name), value, cell(attribute_text(name, *attribute))});
    }
  }

  void add_types() {
    if (manifest_.type_constraints.empty()) return;
    section("Type constraints");
    out_ += head({"Variable", "Allowed dtypes"});
    for (const auto& [variable, dtypes] : manifest_.type_constraints) {
      std::string text;
      for (const DType dtype : dtypes) text += (text.empty() ? "" : ", ") + code(name(dtype));
      out_ += row({code(variable), text});
    }
  }

  void add_tunables() {
    if (manifest_.tunables.empty()) return;
    section("Tunables");
    out_ += "Defaults suit every device; a request may override them.\n\n" +
            head({"Tunable", "Default", "Description"});
    for (const auto& [name, value] : manifest_.tunables) {
      std::string text;
      for (const auto& [key, description] : manifest_.tunable_descriptions) {
        if (key == name) text = description;
      }
      out_ += row({code(name), code(json::write(value)), cell(text)});
    }
  }

  std::string variant_text(const Variant& variant) const {
    if (package_.contract) {
      for (const auto& [id, text] : package_.contract->variants) {
        if (id == variant.id) return text;
      }
    }
    return variant.description;
  }

  void add_variants() {
    section("Implementation variants");
    out_ +=
        "One implementation is selected per call from the device capabilities, the request shapes "
        "and the dtypes; these notes say what each one covers.\n\n";
    for (const Variant& variant : manifest_.variants) {
      const std::string text = variant_text(variant);
      out_ += "- " + code(variant.id) + (text.empty() ? "" : " — " + text) + "\n";
    }
  }

  // Features that variants require or ask for in their guards.
  void add_requirements() {
    std::set<std::string> some, all;
    for (const Variant& variant : manifest_.variants) {
      std::set<std::string> needed(variant.requirements.features.begin(),
                                   variant.requirements.features.end());
      for (const Expression& clause : variant.when) {
        if (clause.text().contains("f16Ok(")) needed.insert("shader-f16");
      }
      std::set<std::string> both;
      std::ranges::set_intersection(all, needed, std::inserter(both, both.end()));
      all = &variant == &manifest_.variants.front() ? needed : both;
      some.insert(needed.begin(), needed.end());
    }
    if (some.empty()) return;
    section("Device requirements");
    const auto names = [](const std::set<std::string>& features) {
      std::vector<std::string> result;
      constexpr std::string_view kMatrix = "chromium-experimental-subgroup-matrix";
      for (const std::string& feature : features)
        result.push_back(feature == kMatrix ? "subgroup-matrix" : feature);
      return list(result);
    };
    if (!all.empty()) out_ += "Every implementation variant requires " + names(all) + ".\n";
    if (all == some) return;
    out_ += "Some implementation variants require " + names(some) +
            ". These are route-specific capabilities, not package-wide requirements; availability "
            "also depends on the request shape and dtype.\n";
  }

  void add_files() {
    constexpr std::pair<std::string_view, std::string_view> kKnown[] = {
        {"metadata.json", "kernel metadata (id, digests, per-variant templates, provenance)"},
        {"manifest.json", "the op contract (source of truth)"},
        {"contract.json", "shape and value rules with their messages, and the texts of this card"},
        {"test.json", "correctness cases"},
        {"bench.json", "benchmark cases"},
    };
    section("Files");
    const auto link = [](std::string_view file) {
      return "- [" + code(file) + "](build/webgpu/" + std::string(file) + ")";
    };
    for (const auto& [file, text] : kKnown) {
      if (file == "metadata.json" || std::ranges::contains(files_, file))
        out_ += link(file) + " — " + std::string(text) + "\n";
    }
    for (const std::string& file : files_) {
      if (std::ranges::none_of(kKnown, [&](const auto& known) { return known.first == file; }))
        out_ += link(file) + "\n";
    }
  }

  // The smallest case that a new user would write: required inputs only, in the first admitted
  // types, nothing empty.
  const TestCase* example() const {
    const auto weight = [&](const TestCase& test) -> std::optional<std::int64_t> {
      if (test.error || test.skip_gpu || !test.tunables.empty()) return std::nullopt;
      std::int64_t total = 0;
      std::size_t required = 0;
      for (const auto& [name, tensor] : test.inputs) {
        const Port* port = manifest_.input(name);
        if (port == nullptr || tensor.dtype == DType::f16) return std::nullopt;
        required += port->optional ? 0 : 1;
        total += port->optional ? 1000 : 0;
        std::int64_t count = 1;
        for (const std::int64_t dim : tensor.shape)
          count = std::min<std::int64_t>(count * dim, 1 << 20);
        if (count == 0) return std::nullopt;
        total += count;
      }
      const auto needed =
          std::ranges::count_if(manifest_.inputs, [](const Port& port) { return !port.optional; });
      if (std::cmp_not_equal(required, needed)) return std::nullopt;
      return total;
    };
    const TestCase* best = nullptr;
    std::int64_t least = 0;
    for (const TestCase& test : tests_) {
      const auto total = weight(test);
      // Tiny shapes say little about which dimension is which.
      if (!total || *total < 16) continue;
      if (best == nullptr || *total < least) {
        best = &test;
        least = *total;
      }
    }
    return best;
  }

  std::string js_key(const std::string& name) const {
    return is_identifier(name) ? name : json::write(Json(name));
  }

  void add_call(const TestCase& test) {
    std::string outputs;
    for (const Port& port : manifest_.outputs) {
      if (!port.optional) outputs += (outputs.empty() ? "" : ", ") + port.key;
    }
    out_ += "const { " + outputs + " } = await kernel({\n";
    for (const auto& [name, tensor] : test.inputs) {
      const std::string& key = manifest_.input(name)->key;
      std::string shape;
      for (const std::int64_t dim : tensor.shape)
        shape += (shape.empty() ? "" : ", ") + std::to_string(dim);
      out_ += "  " + key + ": { data: " + key + "Data, shape: [" + shape + "] },\n";
    }
    std::string attrs;
    for (const auto& [name, value] : test.attrs)
      attrs += (attrs.empty() ? "" : ", ") + js_key(name) + ": " + json::write(value);
    out_ += attrs.empty() ? "});\n" : "}, {\n  attrs: { " + attrs + " },\n});\n";
  }

  void add_usage() {
    const std::string id = manifest_.op_id();
    const TestCase* test = example();
    section("Use with `@huggingface/kernels`");
    out_ +=
        "```sh\nnpm install --save-exact @huggingface/kernels@0.0.1-preview.3\n```\n\n"
        "Required output shapes and logical data types are inferred from the supplied inputs and "
        "attributes; result tensors are allocated automatically.\n\n"
        "The `version: 1` option selects the published kernel contract; it is independent of any "
        "operator opset, contrib `since_version`, or model version.\n"
        "It follows the `v1` branch as fixes land. To pin exact artifact bytes, pass a "
        "40-character commit `revision` instead of `version`.\n";
    if (test != nullptr)
      out_ +=
          "\nReplace each `*Data` placeholder with a typed array containing the corresponding "
          "input data.\n";
    out_ +=
        "\n```js\nimport { getKernel } from \"@huggingface/kernels\";\n\nconst kernel = await "
        "getKernel(\"webgpu-kernels/" +
        id + "\", { version: 1 });\n";
    if (test != nullptr) add_call(*test);
    out_ += "```\n";
    section("Use with wgkernels");
    out_ += "```sh\n" + command(test) + "\n```\n";
  }

  std::string command(const TestCase* test) const {
    std::string text = "wgk run kernels/" + manifest_.op_id();
    if (test == nullptr) return text + " -h";
    for (const auto& [name, tensor] : test->inputs) {
      const std::string& key = manifest_.input(name)->key;
      text += " --input " + key + "=" + key + ".npy";
    }
    for (const auto& [name, value] : test->attrs)
      text += " --attr " + name + "=" + json::write(value);
    for (const Port& port : manifest_.outputs) {
      if (!port.optional) text += " --output " + port.key + "=" + port.key + "_out.npy";
    }
    return text;
  }

  const Manifest& manifest_;
  const Package& package_;
  const std::vector<TestCase>& tests_;
  const std::vector<std::string>& files_;
  std::string out_;
};

}  // namespace

std::string make_card(const Package& package, const std::vector<TestCase>& tests,
                      const std::vector<std::string>& files) {
  return Card(package, tests, files).text();
}

}  // namespace wgk::package
