// SPDX-License-Identifier: Apache-2.0
// The bindings of one pass: what is bound, its WGSL type, and the declarations that templates print
// (format.md b.6, c.3).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plan/bound.h"
#include "plan/scope.h"

namespace wgk::planning {

struct UniformField {
  std::string_view name;
  package::Field::Type type = package::Field::Type::kU32;
};

struct PassBinding {
  const package::BindingEntry* entry = nullptr;
  package::BufferType type = package::BufferType::kStorage;
  std::optional<std::size_t> scratch;   // into the variant's intermediates
  std::optional<std::size_t> port;      // into PackageIndex::ports
  std::string element;                  // WGSL type of one element; storage only
  std::optional<std::uint64_t> length;  // fixed number of elements
  std::uint64_t fixed_bytes = 0;        // bytes that a fixed length needs
};

// Names, buffers and element types of a pass's bindings. The level holds the pass's derived names.
Result<std::vector<PassBinding>> resolve_bindings(const PackageIndex& index,
                                                  const package::Variant& variant,
                                                  const package::Pass& pass,
                                                  const BoundRequest& bound,
                                                  const DeriveLevel& level);

// env.wgsl.resourceDeclarations. Two structs of one name must have the same fields.
Result<std::string> resource_declarations(const std::vector<PassBinding>& bindings);

// "0r1w2u": what a pipeline layout is made of.
std::string layout_text(const std::vector<PassBinding>& bindings);

// Names of the padding fields of a uniform struct; fields and padding together are a multiple of
// four.
std::vector<std::string> padding_names(const std::vector<package::Field>& fields);

std::string_view type_text(package::Field::Type type);

}  // namespace wgk::planning
