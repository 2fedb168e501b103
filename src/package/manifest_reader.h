// SPDX-License-Identifier: Apache-2.0
// The parts of read_manifest, one per section of the format. Internal to this module.
#pragma once

#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/try.h"
#include "json/cursor.h"
#include "package/manifest.h"

namespace wgk::package {

using json::Cursor;

inline constexpr std::string_view kManifestError = "package/manifest";
inline constexpr double kMaxSafeInteger = 9007199254740991.0;

// What entries, passes and variants refer to.
struct Symbols {
  struct PortInfo {
    const Port* port = nullptr;
    bool is_input = false, is_output = false;  // both: in place
    bool opaque_int64 = false;                 // int64 stored as int64: shaders see vec2<u32>
  };
  std::map<std::string, PortInfo, std::less<>> ports;
  std::map<std::string, BindingEntry, std::less<>> entries;  // by handle
  std::set<std::string, std::less<>> type_variables;
  std::vector<Expression> when;  // put in front of each variant's
  Requires requirements;         // merged into each variant's
  // Of every expression read so far; variants repeat each other's.
  std::shared_ptr<expr::Parses> parses = std::make_shared<expr::Parses>();
};

using Intermediates = std::map<std::string, const Intermediate*, std::less<>>;

// Drops every `$comment` (each must be a string).
Result<Json> without_comments(const Json& json);
// Refuses keys that are members of JavaScript's Object.prototype, at any depth.
Status refuse_prototype_names(const Json& json, std::string_view code);

// The members that a JavaScript `for … of Object.entries(value)` would visit: none for null,
// numbers and bools.
std::vector<std::pair<std::string, Cursor>> loose_entries(const Cursor& value);

// The optional member as a string; `where` says what it belongs to in messages only through the
// path.
Result<std::string> text_member(const Cursor& object, std::string_view key, bool non_empty = false);
Result<bool> flag_member(const Cursor& object, std::string_view key, bool otherwise);
Status expect_object(const Cursor& value);
// Maps and lists that are searched from front to back have 4,096 entries at most ("limit/count").
Status expect_few(const Cursor& entries);
Status expect_few(const Cursor& owner, std::initializer_list<std::string_view> keys);

// manifest_ports.cpp
Result<Named<std::vector<DType>>> read_type_constraints(const Cursor& manifest);
Result<std::vector<Port>> read_ports(const Cursor& ports, bool inputs,
                                     const Named<std::vector<DType>>& constraints);
Result<Named<Arg>> read_args(const Cursor& manifest);
Result<Named<Attribute>> read_attributes(const Cursor& manifest);
struct Tunables {
  Named<Json> defaults;
  Named<std::string> descriptions;
};
Result<Tunables> read_tunables(const Cursor& owner);

// manifest_bindings.cpp
Result<BindingEntry> read_entry(const Cursor& entry, std::string_view default_name,
                                const Symbols& symbols, const Intermediates* intermediates);
Status read_shared_entries(const Cursor& manifest, Symbols& symbols);
Result<std::vector<BindingEntry>> read_pass_bindings(const Cursor& pass, const Symbols& symbols,
                                                     const Intermediates& intermediates);

// manifest_passes.cpp
Result<Named<Rule>> read_derive(const Cursor& owner, const Symbols& symbols);
struct PassContext {
  const Symbols& symbols;
  const Intermediates& intermediates;
  std::size_t max_passes;
  std::size_t passes = 0;                 // seen so far in this variant
  std::vector<std::string> indices = {};  // of the enclosing repeat groups
};
Result<std::vector<Step>> read_steps(const Cursor& passes, PassContext& context);

// manifest_variants.cpp
Result<std::vector<Expression>> read_clauses(const Cursor& owner, std::string_view key,
                                             const Symbols& symbols);
Result<Requires> read_requires(const Cursor& owner);
Result<Variant> read_variant(const Cursor& variant, std::size_t index, const Symbols& symbols,
                             const ManifestLimits& limits);
Status check_ranks(const std::vector<Variant>& variants);

// families.cpp: the members of `variants`, families expanded; each with the path it came from.
struct ExpandedVariant {
  std::string path;
  Json json;
};
Result<std::vector<ExpandedVariant>> expand_variants(const Cursor& manifest,
                                                     const ManifestLimits& limits);

}  // namespace wgk::package
