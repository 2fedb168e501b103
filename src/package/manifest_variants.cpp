// SPDX-License-Identifier: Apache-2.0
// Variants, what they require of a device, and their ranks (format.md b.5, b.6).
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string_view>

#include "base/number.h"
#include "base/suggest.h"
#include "package/manifest_reader.h"
#include "package/names.h"

namespace wgk::package {
namespace {

constexpr auto kFeatures = std::to_array<std::string_view>({
    "shader-f16",
    "subgroups",
    "subgroup-size-control",
    "chromium-experimental-subgroup-matrix",
    "timestamp-query",
    "texture-formats-tier1",
    "texture-formats-tier2",
});

constexpr auto kLimits = std::to_array<std::string_view>({
    "maxTextureDimension1D",
    "maxTextureDimension2D",
    "maxTextureDimension3D",
    "maxTextureArrayLayers",
    "maxBindGroups",
    "maxBindGroupsPlusVertexBuffers",
    "maxBindingsPerBindGroup",
    "maxDynamicUniformBuffersPerPipelineLayout",
    "maxDynamicStorageBuffersPerPipelineLayout",
    "maxSampledTexturesPerShaderStage",
    "maxSamplersPerShaderStage",
    "maxStorageBuffersPerShaderStage",
    "maxStorageTexturesPerShaderStage",
    "maxUniformBuffersPerShaderStage",
    "maxUniformBufferBindingSize",
    "maxStorageBufferBindingSize",
    "minUniformBufferOffsetAlignment",
    "minStorageBufferOffsetAlignment",
    "maxVertexBuffers",
    "maxBufferSize",
    "maxVertexAttributes",
    "maxVertexBufferArrayStride",
    "maxInterStageShaderVariables",
    "maxColorAttachments",
    "maxColorAttachmentBytesPerSample",
    "maxComputeWorkgroupStorageSize",
    "maxComputeInvocationsPerWorkgroup",
    "maxComputeWorkgroupSizeX",
    "maxComputeWorkgroupSizeY",
    "maxComputeWorkgroupSizeZ",
    "maxComputeWorkgroupsPerDimension",
    "maxImmediateSize",
    "maxStorageBuffersInVertexStage",
    "maxStorageBuffersInFragmentStage",
    "maxStorageTexturesInVertexStage",
    "maxStorageTexturesInFragmentStage",
});

constexpr auto kComponentTypes =
    std::to_array<std::string_view>({"f32", "f16", "u32", "i32", "u8", "i8"});

Result<std::vector<std::string>> read_texts(const Cursor& list) {
  const Json::Array* array = list.value().if_array();
  if (array == nullptr) {
    return list.fail_value(list.value().is_string()
                               ? "must be a list; a single string is not allowed"
                               : "must be a list of strings");
  }
  if (array->empty()) return list.fail("must not be empty; leave the key out instead");
  WGK_ASSIGN(const std::vector<Cursor> items, list.items());
  std::vector<std::string> texts;
  for (const Cursor& item : items) {
    WGK_ASSIGN(std::string text, item.string());
    if (text.empty()) return item.fail("must not be empty");
    texts.push_back(std::move(text));
  }
  return texts;
}

Result<int> read_positive(const Cursor& value) {
  WGK_ASSIGN(const std::int64_t number, value.integer(1, 1 << 30));
  return static_cast<int>(number);
}

Result<MatrixPattern> read_pattern(const Cursor& cursor) {
  WGK_TRY(expect_object(cursor));
  WGK_TRY(cursor.only({"componentType", "resultComponentType", "M", "N", "K"}));
  if (cursor.value().if_object()->empty())
    return cursor.fail("must name at least one member; an empty pattern matches everything");
  MatrixPattern pattern;
  for (const auto& [key, target] :
       {std::pair{"componentType", &pattern.component_type},
        std::pair{"resultComponentType", &pattern.result_component_type}}) {
    const std::optional<Cursor> member = cursor.find(key);
    if (!member) continue;
    WGK_ASSIGN(*target, member->string());
    if (!std::ranges::contains(kComponentTypes, std::string_view(**target))) {
      return member->fail("must be f32, f16, u32, i32, u8 or i8, got '" + **target + "'");
    }
  }
  for (const auto& [key, target] :
       {std::pair{"M", &pattern.m}, std::pair{"N", &pattern.n}, std::pair{"K", &pattern.k}}) {
    const std::optional<Cursor> member = cursor.find(key);
    if (!member) continue;
    WGK_ASSIGN(*target, read_positive(*member));
  }
  return pattern;
}

Status read_features(const Cursor& requirements, Requires& result) {
  const std::optional<Cursor> member = requirements.find("features");
  if (!member) return {};
  WGK_ASSIGN(const std::vector<Cursor> items, member->items());
  for (const Cursor& item : items) {
    WGK_ASSIGN(std::string feature, item.string());
    if (!std::ranges::contains(kFeatures, std::string_view(feature)))
      return item.fail_unknown("'" + feature + "' is not a feature that a package may require",
                               feature, kFeatures);
    if (!std::ranges::contains(result.features, feature))
      result.features.push_back(std::move(feature));
  }
  return {};
}

Status read_limits(const Cursor& requirements, Requires& result) {
  const std::optional<Cursor> member = requirements.find("limits");
  if (!member) return {};
  WGK_ASSIGN(const auto members, member->members());
  for (const auto& [limit, value] : members) {
    if (!std::ranges::contains(kLimits, std::string_view(limit)))
      return value.fail_unknown("'" + limit + "' is not the name of a WebGPU limit", limit,
                                kLimits);
    WGK_ASSIGN(const double number, value.number());
    result.limits.emplace_back(limit, number);
  }
  return {};
}

// Features united, limits and subgroup size by maximum; patterns may stand on one side only.
Result<Requires> merge(Requires manifest, const Requires& variant, const Cursor& cursor) {
  for (const std::string& feature : variant.features) {
    if (!std::ranges::contains(manifest.features, feature)) manifest.features.push_back(feature);
  }
  for (const auto& [limit, value] : variant.limits) {
    const auto found =
        std::ranges::find(manifest.limits, limit, &std::pair<std::string, double>::first);
    if (found == manifest.limits.end()) {
      manifest.limits.emplace_back(limit, value);
    } else {
      found->second = std::max(found->second, value);
    }
  }
  manifest.subgroup_min_size = std::max(manifest.subgroup_min_size, variant.subgroup_min_size);
  if (!manifest.matrix_configs.empty() && !variant.matrix_configs.empty()) {
    return cursor.fail(
        "requires.subgroupMatrixConfigs stands in the manifest and in the variant; only one may "
        "have it");
  }
  if (manifest.matrix_configs.empty()) manifest.matrix_configs = variant.matrix_configs;
  return manifest;
}

Result<std::vector<Intermediate>> read_intermediates(const Cursor& variant,
                                                     const Symbols& symbols) {
  std::vector<Intermediate> result;
  const std::optional<Cursor> member = variant.find("intermediates");
  if (!member) return result;
  WGK_ASSIGN(const std::vector<Cursor> items, member->items());
  for (const Cursor& item : items) {
    WGK_TRY(expect_object(item));
    Intermediate scratch;
    WGK_ASSIGN(const Cursor id, item.require("id"));
    WGK_ASSIGN(scratch.id, id.string());
    if (scratch.id.empty()) return id.fail("must not be empty");
    if (symbols.ports.contains(scratch.id))
      return id.fail("'" + scratch.id + "' is also the name of a port");
    WGK_ASSIGN(const Cursor dtype, item.require("dtype"));
    WGK_ASSIGN(const std::string text, dtype.string());
    const std::optional<DType> storage = dtype_from_name(text);
    if (!storage)
      return dtype.fail_unknown("'" + text + "' is not a storage dtype", text, dtype_names());
    if (*storage == DType::i64) return dtype.fail("an intermediate cannot be int64");
    scratch.dtype = *storage;
    if (const auto shape = item.find("shape")) scratch.shape = symbols.parses->rule(shape->value());
    if (const auto zero = item.find("zeroInit")) {
      if (zero->value() != Json(true))
        return zero->fail_value("must be true; leave the key out where no zeroed buffer is needed");
      scratch.zero_init = true;
    }
    if (const auto kept = item.find("keptZero")) {
      if (kept->value() != Json(true))
        return kept->fail_value("must be true; leave the key out where the kernel leaves values");
      if (!scratch.zero_init) return kept->fail("needs zeroInit: true beside it");
      scratch.kept_zero = true;
    }
    result.push_back(std::move(scratch));
  }
  return result;
}

Status check_older_keys(const Cursor& cursor) {
  if (cursor.find("bindings"))
    return cursor.fail("has the older key 'bindings'; each pass lists its own");
  if (cursor.find("constants"))
    return cursor.fail("has the older key 'constants'; values are derived under 'derive'");
  return cursor.only({"id", "description", "priority", "when", "demoteWhen", "supersededBy",
                      "requires", "tunables", "derive", "intermediates", "passes"});
}

}  // namespace

Result<std::vector<Expression>> read_clauses(const Cursor& owner, std::string_view key,
                                             const Symbols& symbols) {
  std::vector<Expression> clauses;
  const std::optional<Cursor> member = owner.find(key);
  if (!member) return clauses;
  WGK_ASSIGN(const std::vector<std::string> texts, read_texts(*member));
  for (const std::string& text : texts) clauses.push_back(symbols.parses->expression(text));
  return clauses;
}

Result<Requires> read_requires(const Cursor& owner) {
  Requires result;
  const std::optional<Cursor> member = owner.find("requires");
  if (!member) return result;
  WGK_TRY(expect_object(*member));
  WGK_TRY(member->only({"features", "limits", "subgroupMinSize", "subgroupMatrixConfigs"}));
  WGK_TRY(read_features(*member, result));
  WGK_TRY(read_limits(*member, result));
  if (const auto size = member->find("subgroupMinSize")) {
    WGK_ASSIGN(result.subgroup_min_size, read_positive(*size));
  }
  if (const auto configs = member->find("subgroupMatrixConfigs")) {
    WGK_ASSIGN(const std::vector<Cursor> items, configs->items());
    if (items.empty()) return configs->fail("must not be empty; leave the key out instead");
    for (const Cursor& item : items) {
      WGK_ASSIGN(MatrixPattern pattern, read_pattern(item));
      result.matrix_configs.push_back(std::move(pattern));
    }
  }
  return result;
}

Result<Variant> read_variant(const Cursor& cursor, std::size_t index, const Symbols& symbols,
                             const ManifestLimits& limits) {
  WGK_TRY(expect_object(cursor));
  WGK_TRY(expect_few(cursor, {"tunables", "derive", "intermediates", "supersededBy"}));
  Variant variant;
  variant.id = "variant_" + std::to_string(index);
  if (const auto id = cursor.find("id"); id && !id->value().is_null()) {
    WGK_ASSIGN(variant.id, id->string());
  }
  if (!is_stable_id(variant.id))
    return cursor.fail("the variant id '" + variant.id +
                       "' is not made of letters, digits and underscores");
  WGK_TRY(check_older_keys(cursor));
  WGK_ASSIGN(variant.description, text_member(cursor, "description"));
  if (const auto priority = cursor.find("priority"); priority && !priority->value().is_null()) {
    WGK_ASSIGN(variant.priority, priority->number());
  }
  const std::optional<Cursor> passes = cursor.find("passes");
  if (!passes || !passes->value().is_array() || passes->value().if_array()->empty()) {
    return cursor.fail("a variant needs passes: a non-empty list");
  }
  WGK_ASSIGN(variant.intermediates, read_intermediates(cursor, symbols));
  Intermediates by_id;
  for (const Intermediate& scratch : variant.intermediates) by_id[scratch.id] = &scratch;
  PassContext context{symbols, by_id, limits.max_passes};
  WGK_ASSIGN(variant.steps, read_steps(*passes, context));
  WGK_ASSIGN(const Requires own, read_requires(cursor));
  WGK_ASSIGN(variant.requirements, merge(symbols.requirements, own, cursor));
  variant.when = symbols.when;
  WGK_ASSIGN(const std::vector<Expression> when, read_clauses(cursor, "when", symbols));
  variant.when.insert(variant.when.end(), when.begin(), when.end());
  WGK_ASSIGN(variant.demote_when, read_clauses(cursor, "demoteWhen", symbols));
  if (const auto superseded = cursor.find("supersededBy")) {
    WGK_ASSIGN(variant.superseded_by, read_texts(*superseded));
  }
  WGK_ASSIGN(Tunables tunables, read_tunables(cursor));
  variant.tunables = std::move(tunables.defaults);
  WGK_ASSIGN(variant.derive, read_derive(cursor, symbols));
  return variant;
}

Status check_ranks(const std::vector<Variant>& variants) {
  std::map<std::string_view, std::size_t> ranks;
  for (std::size_t i = 0; i < variants.size(); ++i) ranks.emplace(variants[i].id, i);
  for (std::size_t i = 0; i < variants.size(); ++i) {
    const Variant& variant = variants[i];
    for (const std::string& id : variant.superseded_by) {
      const auto place = [&] {
        return "variant '" + variant.id + "' (priority " + number_text(variant.priority) + ")";
      };
      if (id == variant.id)
        return failure(kManifestError, place() + " names itself in supersededBy");
      const auto found = ranks.find(id);
      if (found == ranks.end()) {
        std::vector<std::string> ids;
        for (const Variant& one : variants) ids.push_back(one.id);
        return failure(kManifestError,
                       place() + " names the unknown variant '" + id + "' in supersededBy",
                       suggestion(id, ids));
      }
      const Variant& other = variants[found->second];
      const bool outranks = other.priority > variant.priority ||
                            (other.priority == variant.priority && found->second < i);
      if (!outranks) {
        return failure(kManifestError, place() + " is superseded by '" + id + "' (priority " +
                                           number_text(other.priority) +
                                           "), which does not outrank it");
      }
    }
  }
  return {};
}

}  // namespace wgk::package
