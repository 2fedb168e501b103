// SPDX-License-Identifier: Apache-2.0
#include "plan/index.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <unordered_map>

namespace wgk::planning {
namespace {

using package::Pass;
using package::Step;

void count_bindings(const std::vector<Step>& steps, VariantIndex& counts) {
  for (const Step& step : steps) {
    if (const auto* group = std::get_if<std::shared_ptr<const package::Repeat>>(&step)) {
      count_bindings((*group)->steps, counts);
      continue;
    }
    std::size_t uniforms = 0;
    const auto& bindings = std::get<Pass>(step).bindings;
    for (const package::BindingEntry& entry : bindings) uniforms += is_uniform(entry) ? 1 : 0;
    counts.uniform_bindings = std::max(counts.uniform_bindings, uniforms);
    counts.storage_bindings = std::max(counts.storage_bindings, bindings.size() - uniforms);
  }
}

using ClauseNumbers = std::unordered_map<std::string_view, std::size_t>;

std::vector<std::size_t> number_clauses(const std::vector<expr::Expression>& source,
                                        ClauseNumbers& numbers,
                                        std::vector<const expr::Expression*>& all) {
  std::vector<std::size_t> places;
  for (const expr::Expression& clause : source) {
    const auto [entry, fresh] = numbers.try_emplace(clause.text(), all.size());
    if (fresh) all.push_back(&clause);
    places.push_back(entry->second);
  }
  return places;
}

std::shared_ptr<expr::Object> with_tunables(const expr::Object& base,
                                            const package::Named<Json>& tunables) {
  auto object = std::make_shared<expr::Object>(base);
  for (const auto& [name, value] : tunables) object->set(name, expr::Value::from_json(value));
  return object;
}

bool mentions(const std::vector<std::string>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

bool mentions_derive(const package::Named<expr::Rule>& rules) {
  return std::ranges::any_of(rules,
                             [](const auto& rule) { return rule.second.mentions("derive"); });
}

bool mentions_derive(const package::BindingEntry& entry) {
  return std::ranges::any_of(entry.fields, [](const package::Field& field) {
    return (field.value && field.value->mentions("derive")) ||
           (field.default_value && field.default_value->mentions("derive"));
  });
}

bool mentions_derive(const std::vector<Step>& steps) {
  const auto rule = [](const expr::Rule& source) { return source.mentions("derive"); };
  return std::ranges::any_of(steps, [&rule](const Step& step) {
    if (const auto* group = std::get_if<std::shared_ptr<const package::Repeat>>(&step)) {
      return rule((*group)->count) || mentions_derive((*group)->steps);
    }
    const Pass& pass = std::get<Pass>(step);
    const package::Dispatch& dispatch = pass.dispatch;
    return mentions_derive(pass.derive) || mentions_derive(pass.profile) || rule(dispatch.x) ||
           rule(dispatch.y) || rule(dispatch.z) || rule(dispatch.threads) ||
           rule(dispatch.workgroup_size) || rule(dispatch.workgroups) ||
           std::ranges::any_of(pass.bindings, [](const package::BindingEntry& entry) {
             return mentions_derive(entry);
           });
  });
}

bool mentions_derive(const package::Variant& variant) {
  const auto clause = [](const expr::Expression& expression) {
    return mentions(expression.free_names(), "derive");
  };
  return std::ranges::any_of(variant.when, clause) ||
         std::ranges::any_of(variant.demote_when, clause) || mentions_derive(variant.derive) ||
         mentions_derive(variant.steps) ||
         std::ranges::any_of(variant.intermediates, [](const package::Intermediate& scratch) {
           return scratch.shape.mentions("derive");
         });
}

bool mentions_derive(const package::Contract& contract) {
  const auto rule = [](const package::ContractRule& entry) {
    return mentions(entry.require.free_names(), "derive") ||
           (entry.when && mentions(entry.when->free_names(), "derive")) ||
           mentions(entry.message.free_names(), "derive");
  };
  const auto bound = [](const std::optional<expr::Rule>& value) {
    return value && value->mentions("derive");
  };
  const auto value = [&bound](const package::ValueRule& entry) {
    return (entry.when && mentions(entry.when->free_names(), "derive")) || bound(entry.min) ||
           bound(entry.max) || bound(entry.below) || mentions(entry.message.free_names(), "derive");
  };
  return std::ranges::any_of(contract.rules, rule) || std::ranges::any_of(contract.values, value);
}

bool mentions_derive(const package::Package& source) {
  const package::Manifest& manifest = source.manifest;
  if (mentions_derive(manifest.derive)) return true;
  if (std::ranges::any_of(manifest.variants,
                          [](const package::Variant& variant) { return mentions_derive(variant); }))
    return true;
  if (source.contract && mentions_derive(*source.contract)) return true;
  return source.templates_read("derive");
}

// Manifest derives that the outputs' shape rules mention, directly or through other derives.
std::vector<std::size_t> reached_derives(const package::Manifest& manifest) {
  std::set<std::string> wanted;
  for (const package::Port& port : manifest.outputs) {
    if (!port.shape) continue;
    for (const std::string& name : port.shape->free_names()) wanted.insert(name);
  }
  const bool all = wanted.contains("derive");
  std::vector<std::size_t> reached;
  // Backwards: a derive sees only those before it.
  for (std::size_t i = manifest.derive.size(); i-- > 0;) {
    const auto& [name, rule] = manifest.derive[i];
    if (!all && !wanted.contains(name)) continue;
    reached.push_back(i);
    for (const std::string& free : rule.free_names()) {
      if (free == "derive")
        return [&manifest] {
          std::vector<std::size_t> every(manifest.derive.size());
          std::iota(every.begin(), every.end(), std::size_t{0});
          return every;
        }();
      wanted.insert(free);
    }
  }
  std::ranges::reverse(reached);
  return reached;
}

std::optional<std::size_t> find_named(const std::vector<PortIndex>& ports,
                                      const package::Port* PortIndex::* side,
                                      std::string_view name) {
  for (std::size_t i = 0; i < ports.size(); ++i) {
    if (ports[i].*side != nullptr && (ports[i].*side)->key == name) return i;
  }
  for (std::size_t i = 0; i < ports.size(); ++i) {
    if (ports[i].*side != nullptr && !name.empty() && (ports[i].*side)->onnx == name) return i;
  }
  return std::nullopt;
}

}  // namespace

bool is_uniform(const package::BindingEntry& entry) {
  if (entry.buffer) return *entry.buffer == package::BufferType::kUniform;
  return !entry.fields.empty();
}

PackageIndex::PackageIndex(const package::Package& source) : package(&source) {
  const package::Manifest& manifest = source.manifest;
  for (const package::Port& port : manifest.inputs) ports.push_back({&port, nullptr});
  for (const package::Port& port : manifest.outputs) {
    const auto same = std::ranges::find(
        ports, port.key, [](const PortIndex& entry) -> const std::string& { return entry.key(); });
    outputs.push_back(static_cast<std::size_t>(same - ports.begin()));
    if (same == ports.end()) {
      ports.push_back({nullptr, &port});
    } else {
      same->output = &port;
    }
  }
  tunables = expr::Value(with_tunables(expr::Object(), manifest.tunables));
  ClauseNumbers numbers;
  std::unordered_map<std::string_view, std::size_t> places;
  for (std::size_t i = 0; i < manifest.variants.size(); ++i)
    places.emplace(manifest.variants[i].id, i);
  for (const package::Variant& variant : manifest.variants) {
    VariantIndex& entry = variants.emplace_back();
    count_bindings(variant.steps, entry);
    entry.tunables = variant.tunables.empty()
                         ? tunables
                         : expr::Value(with_tunables(*tunables.if_object(), variant.tunables));
    entry.when = number_clauses(variant.when, numbers, clauses);
    entry.demote_when = number_clauses(variant.demote_when, numbers, clauses);
    for (const std::string& id : variant.superseded_by) {
      if (const auto place = places.find(id); place != places.end())
        entry.superseded_by.push_back(place->second);
    }
  }
  order.resize(manifest.variants.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, [&manifest](std::size_t a, std::size_t b) {
    return manifest.variants[a].priority > manifest.variants[b].priority;
  });
  inference_derives = reached_derives(manifest);
  uses_derive_object = mentions_derive(source);
  find_fixed();
}

void PackageIndex::find_fixed() {
  std::set<std::string_view> fixed = {"device", "f16Ok", "tunables"};
  const auto known = [&fixed](std::string_view name) {
    return fixed.contains(name) || expr::helpers().find(name) != nullptr;
  };
  for (const auto& [name, rule] : manifest().derive) {
    fixed_derives.push_back(rule.reads_only(known));
    if (fixed_derives.back()) fixed.insert(name);
  }
  for (const expr::Expression* clause : clauses) fixed_clauses.push_back(clause->reads_only(known));
}

std::optional<std::size_t> PackageIndex::find_input(std::string_view name) const {
  return find_named(ports, &PortIndex::input, name);
}

std::optional<std::size_t> PackageIndex::find_output(std::string_view name) const {
  return find_named(ports, &PortIndex::output, name);
}

std::optional<std::size_t> PackageIndex::find_port(std::string_view key) const {
  for (std::size_t i = 0; i < ports.size(); ++i) {
    if (ports[i].key() == key) return i;
  }
  return std::nullopt;
}

const std::vector<DType>* PackageIndex::constraint(std::string_view variable) const {
  for (const auto& [name, dtypes] : manifest().type_constraints) {
    if (name == variable) return &dtypes;
  }
  return nullptr;
}

std::string quoted(std::string_view name) { return "'" + std::string(name) + "'"; }

std::string quoted(const package::Port& port) {
  if (port.onnx.empty() || port.onnx == port.key) return quoted(port.key);
  return quoted(port.key) + " (" + port.onnx + ")";
}

}  // namespace wgk::planning
