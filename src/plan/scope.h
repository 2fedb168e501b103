// SPDX-License-Identifier: Apache-2.0
// The namespaces that expressions and templates see (format.md b.4).
#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "expr/expression.h"
#include "plan/bound.h"
#include "wgk/device_caps.h"

namespace wgk::planning {

// `device` and `f16Ok`.
struct DeviceNames {
  explicit DeviceNames(const DeviceCaps& caps);
  void add_to(expr::Scope& scope) const;

  expr::Value device, f16_ok;
};

// No features, default limits: what inference sees.
const DeviceNames& default_device();

// shapes, ranks, tensorDtypes, dtypes, logicalDtypes, present, attrs, args, tunables and an empty
// repeat. Expressions hold the maps by reference, so tensors that become known later appear in
// them.
class RequestScope {
 public:
  RequestScope(const PackageIndex& index, const BoundRequest& bound);
  RequestScope(const RequestScope&) = delete;
  RequestScope& operator=(const RequestScope&) = delete;

  const expr::Scope& scope() const { return scope_; }

  void add_tensor(const PackageIndex& index, const BoundTensor& tensor);
  // Takes shapes and types anew from all bound tensors; `present` then means bound, as it does in
  // the run.
  void enter_run(const PackageIndex& index, const BoundRequest& bound);

 private:
  void set_types(const BoundRequest& bound);

  std::shared_ptr<expr::Object> shapes_, ranks_, tensor_dtypes_, dtypes_, logical_dtypes_, present_;
  expr::Scope scope_;
};

expr::Value dtype_text(DType dtype);
expr::Value scalar_text(DType dtype);
expr::Value json_map(const NamedJson& entries);

// `declared` (PackageIndex::tunables or those of a variant) with what the request says instead.
expr::Value tunables_value(const expr::Value& declared, const NamedJson& request);

using KnownValues = std::vector<std::optional<expr::Value>>;

// One level of derived names over an outer scope, with the `derive` object of everything derived so
// far.
class DeriveLevel {
 public:
  // `outer_values` are the derived values so far (null: none); `with_object` makes `derive`
  // visible.
  DeriveLevel(const expr::Scope& outer, const DeriveLevel* so_far, bool with_object);
  DeriveLevel(const DeriveLevel&) = delete;
  DeriveLevel& operator=(const DeriveLevel&) = delete;

  // `name` must outlive the level.
  void set(std::string_view name, expr::Value value);
  // For a level over all derives of the variant: adds the type variables as names of their WGSL
  // scalars; in the `derive` object they come first. Derived names win over them.
  void add_types(const BoundRequest& bound);
  // Evaluates the rules in order and returns the first error ("while evaluating derive 'n'"), which
  // ends it unless `keep_going`. `known` has the values that are certain before, by rule.
  Status evaluate(const package::Named<expr::Rule>& rules, const expr::Limits& limits,
                  bool keep_going = false, const KnownValues* known = nullptr);
  expr::Scope& scope() { return scope_; }
  const expr::Scope& scope() const { return scope_; }
  bool knows(std::string_view name) const;

 private:
  const DeriveLevel* so_far_;
  std::shared_ptr<expr::Object> object_;  // null when nobody reads `derive`
  expr::Scope scope_;
};

}  // namespace wgk::planning
