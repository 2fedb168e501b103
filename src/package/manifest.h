// SPDX-License-Identifier: Apache-2.0
// manifest.json as typed values (format.md b): normalised, families expanded, cross-references
// checked.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "expr/expression.h"
#include "json/json.h"
#include "wgk/dtype.h"
#include "wgk/error.h"

namespace wgk::package {

using expr::Expression;
using expr::Rule;
template <class T>
using Named = std::vector<std::pair<std::string, T>>;  // ordered map, manifest order

enum class Narrowing { kChecked, kSaturating };

// A tensor port. The same key under inputs and outputs is one in-place tensor.
struct Port {
  std::string key;                // bind key
  std::string onnx;               // upstream name, may be empty
  std::string dtype;              // type variable or logical dtype name; empty: unchecked
  std::optional<DType> concrete;  // when `dtype` names a logical dtype
  Json rank;                      // documentation only
  bool optional = false;
  std::optional<Rule> shape;     // outputs: inference rule
  std::optional<DType> storage;  // physical dtype where it differs
  std::optional<Narrowing> narrowing;
  bool packed = false;  // uint8, four per word
  std::string description;
};

enum class ArgKind { kU32, kI32, kF32, kBool, kString };
struct Arg {
  ArgKind kind = ArgKind::kF32;
  std::string onnx, description;
  bool required = true;
  std::vector<std::string> one_of;
};

struct Attribute {
  std::optional<Json> default_value;
  std::string description;
  bool required = false;  // attributeConstraints
  std::optional<std::vector<Json>> values;
};

struct MatrixPattern {
  std::optional<std::string> component_type, result_component_type;
  std::optional<int> m, n, k;
};

struct Requires {
  std::vector<std::string> features;
  Named<double> limits;
  std::optional<int> subgroup_min_size;
  std::vector<MatrixPattern> matrix_configs;  // empty: none demanded
};

enum class BufferType { kReadOnlyStorage, kStorage, kUniform };

struct Field {
  std::string name;
  enum class Type { kU32, kI32, kF32 } type = Type::kU32;
  std::optional<Rule> value;
  std::optional<Rule> default_value;
  bool required = true;
  bool internal = false;
};

// One binding of a pass with all defaults resolved as far as the manifest alone allows.
struct BindingEntry {
  std::string name;     // WGSL variable
  std::string arg;      // port key that `arg` names (may be empty)
  std::string scratch;  // intermediate id that `scratch` names (may be empty)
  std::optional<BufferType> buffer;
  std::optional<Json> element_type;  // text, "$x" or number
  std::optional<Json> length;        // positive int or "$x"
  std::vector<Field> fields;         // uniform struct
  std::string struct_name = "Params";
};

struct Intermediate {
  std::string id;
  DType dtype = DType::f32;
  Rule shape;
  bool zero_init = false;
  bool kept_zero = false;  // the kernel leaves it zero
};

struct Dispatch {
  enum class Form { kGrid, kThreads, kWorkgroups } form = Form::kGrid;
  Rule x, y, z;                  // the grid; the short-hands have it written out, folded at 65535
  Rule threads, workgroup_size;  // kThreads
  Rule workgroups;               // kWorkgroups
};

struct ViewAlias {
  std::string input, output;  // WGSL names
};

struct Pass {
  std::string id, name, shader;
  Named<Rule> derive;
  std::vector<BindingEntry> bindings;
  Dispatch dispatch;
  Named<Rule> profile;
  std::optional<std::string> subgroup_collectives_width;
  bool submit_after = false;
  std::vector<ViewAlias> view_alias;
};

struct Repeat;
using Step = std::variant<Pass, std::shared_ptr<const Repeat>>;
struct Repeat {
  std::string id;
  Rule count;
  std::string index;
  std::vector<Step> steps;
};

struct Variant {
  std::string id, description;
  double priority = 0;
  std::vector<Expression> when;  // manifest clauses first
  std::vector<Expression> demote_when;
  std::vector<std::string> superseded_by;
  Requires requirements;  // manifest's merged in
  Named<Json> tunables;
  Named<Rule> derive;
  std::vector<Intermediate> intermediates;
  std::vector<Step> steps;
};

// All passes of the variant, those inside repeat groups too, in order.
std::vector<const Pass*> passes_of(const Variant& variant);

struct Manifest {
  std::string domain = "ai.onnx", name, description;
  std::optional<std::int64_t> since_version;
  std::vector<Port> inputs, outputs;
  Named<Arg> args;
  Named<Attribute> attributes;
  Named<std::vector<DType>> type_constraints;
  Named<Json> tunables;  // defaults
  Named<std::string> tunable_descriptions;
  Named<Rule> derive;
  std::vector<Variant> variants;  // manifest order, families expanded

  std::string op_id() const { return domain + "." + name; }
  const Port* input(std::string_view key_or_onnx) const;
  const Port* output(std::string_view key_or_onnx) const;
  const Variant* variant(std::string_view id) const;
};

struct ManifestLimits {
  std::size_t max_variants = 4096;
  std::size_t max_passes = 131072;
  // Texts and values of all variants once families are expanded, about ("package/json").
  std::size_t max_expanded_bytes = std::size_t{64} << 20;
};

// Validates and normalises; every error is "package/manifest" with the JSON path.
Result<Manifest> read_manifest(const Json& json, const ManifestLimits& limits = {});

}  // namespace wgk::package
