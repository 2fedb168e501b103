// SPDX-License-Identifier: Apache-2.0
// What planning derives from a package once, whatever the request and the device.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "package/package.h"

namespace wgk::planning {

// A tensor of the contract: an input, an output, or both (in place).
struct PortIndex {
  const package::Port* input = nullptr;
  const package::Port* output = nullptr;

  const package::Port& any() const { return input != nullptr ? *input : *output; }
  const std::string& key() const { return any().key; }
  bool in_place() const { return input != nullptr && output != nullptr; }
};

struct VariantIndex {
  std::size_t storage_bindings = 0;  // the most that one pass has
  std::size_t uniform_bindings = 0;
  expr::Value tunables;                        // manifest and variant
  std::vector<std::size_t> when, demote_when;  // clauses, into PackageIndex::clauses
  std::vector<std::size_t> superseded_by;      // variants
};

struct PackageIndex {
  explicit PackageIndex(const package::Package& source);

  const package::Package* package;
  std::vector<PortIndex> ports;      // inputs in manifest order, then outputs that are not in place
  std::vector<std::size_t> outputs;  // manifest order, into `ports`
  std::vector<VariantIndex> variants;            // manifest order
  std::vector<const expr::Expression*> clauses;  // of all variants, each text once
  std::vector<std::size_t> order;  // variants as they are tried: priority descending, stable
  std::vector<std::size_t>
      inference_derives;            // manifest derives that shape rules of outputs reach, in order
  expr::Value tunables;             // of the manifest: name -> default
  bool uses_derive_object = false;  // some rule or template mentions `derive` itself
  // Manifest derives and clauses that depend on the device and declared tunables alone.
  std::vector<bool> fixed_derives, fixed_clauses;

  const package::Manifest& manifest() const { return package->manifest; }
  // By bind key, else by upstream name.
  std::optional<std::size_t> find_input(std::string_view name) const;
  std::optional<std::size_t> find_output(std::string_view name) const;
  std::optional<std::size_t> find_port(std::string_view key) const;
  const std::vector<DType>* constraint(std::string_view variable) const;

 private:
  void find_fixed();
};

bool is_uniform(const package::BindingEntry& entry);

// For messages: 'gammaT', and 'gammaT' (gamma) where the upstream name differs.
std::string quoted(const package::Port& port);
std::string quoted(std::string_view name);

}  // namespace wgk::planning
