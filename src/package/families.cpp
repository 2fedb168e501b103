// SPDX-License-Identifier: Apache-2.0
// Variant families: lists of cases or tables of two axes, multiplied with templates (format.md
// b.5).
#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <set>

#include "json/json.h"
#include "package/manifest_reader.h"
#include "package/names.h"

namespace wgk::package {
namespace {

using Record = Json::Object;  // placeholder -> value

std::size_t bytes_of(const Record& record);

// About the memory of a value, in bytes.
std::size_t bytes_of(const Json& json) {
  std::size_t bytes = sizeof(Json);
  if (const std::string* text = json.if_string()) bytes += text->size();
  if (const Json::Array* items = json.if_array()) {
    for (const Json& item : *items) bytes += bytes_of(item);
  }
  if (const Json::Object* members = json.if_object()) bytes += bytes_of(*members);
  return bytes;
}

std::size_t bytes_of(const Record& record) {
  std::size_t bytes = 0;
  for (const auto& [key, value] : record)
    bytes += sizeof(std::string) + key.size() + bytes_of(value);
  return bytes;
}

Status check_bytes(const std::string& path, std::size_t bytes, const ManifestLimits& limits) {
  if (bytes <= limits.max_expanded_bytes) return {};
  return failure("package/json", path + ": the variants of families take more than " +
                                     std::to_string(limits.max_expanded_bytes) + " bytes");
}

// The length of a placeholder `{identifier}` at the start of `text`; 0 when there is none.
std::size_t placeholder_length(std::string_view text) {
  if (!text.starts_with('{')) return 0;
  constexpr std::string_view kWord =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
  // Looks no further than the name, so that a text of many braces is read once.
  const std::size_t end = text.find_first_not_of(kWord, 1);
  if (end == std::string_view::npos || text[end] != '}' || !is_identifier(text.substr(1, end - 1)))
    return 0;
  return end + 1;
}

class Substitution {
 public:
  // `bytes` counts what all variants of the manifest have read and brought in so far.
  Substitution(const Record& values, const ManifestLimits& limits, std::size_t& bytes)
      : limits_(limits), bytes_(bytes) {
    for (const auto& [name, value] : values) values_.emplace(name, &value);
  }

  Result<Json> variant(const Json& source, std::string place) {
    place_ = std::move(place);
    WGK_ASSIGN(std::optional<Json> result, any(source));
    if (!result) return fail("a null value cannot remove the whole variant");
    WGK_TRY(check_done(*result));
    return *std::move(result);
  }

 private:
  // Nothing: the value was null and its key goes away.
  Result<std::optional<Json>> any(const Json& source) {
    WGK_TRY(spend(sizeof(Json)));
    if (const std::string* text = source.if_string()) return string(*text);
    if (const Json::Array* items = source.if_array()) return array(*items);
    if (const Json::Object* members = source.if_object()) return object(*members);
    return std::optional(source);
  }

  // The value that a text which is nothing but one placeholder stands for.
  const Json* whole(std::string_view text) const {
    if (text.empty() || placeholder_length(text) != text.size()) return nullptr;
    return value_of(text);
  }

  // The value of a placeholder, braces included; null: it has none.
  const Json* value_of(std::string_view placeholder) const {
    const auto found = values_.find(placeholder.substr(1, placeholder.size() - 2));
    return found == values_.end() ? nullptr : found->second;
  }

  Result<std::optional<Json>> string(const std::string& text) {
    if (const Json* value = whole(text)) {
      if (!value->is_null()) {
        WGK_TRY(spend(bytes_of(*value)));
        return std::optional(*value);
      }
      const bool in_list = !path_.empty() && path_.back() == nullptr;
      if (in_list)
        return fail("null for '" + text + "' cannot remove " + where() + "; an empty list would");
      if (path_.empty() || *path_.back() == "id" || (path_.size() == 1 && *path_[0] == "passes")) {
        return fail("null for '" + text + "' cannot remove " + where());
      }
      return std::optional<Json>();
    }
    WGK_ASSIGN(std::string filled, fill(text));
    return std::optional(Json(std::move(filled)));
  }

  Result<std::string> fill(const std::string& text) {
    WGK_TRY(spend(text.size()));
    std::string out;
    std::string_view rest = text;
    while (true) {
      const std::size_t brace = std::min(rest.find('{'), rest.size());
      out += rest.substr(0, brace);
      rest.remove_prefix(brace);
      if (rest.empty()) return out;
      const std::size_t length = placeholder_length(rest);
      const Json* value = length == 0 ? nullptr : value_of(rest.substr(0, length));
      if (value == nullptr) {
        const std::size_t step = length == 0 ? 1 : length;
        out += rest.substr(0, step);
        rest.remove_prefix(step);
        continue;
      }
      if (value->is_null() || value->is_array() || value->is_object()) {
        return fail("'" + std::string(rest.substr(0, length)) + "' at " + where() +
                    " must be the whole text to stand for " + json::write(*value));
      }
      const std::string filled = value->is_string() ? *value->if_string() : json::write(*value);
      WGK_TRY(spend(filled.size()));
      out += filled;
      rest.remove_prefix(length);
    }
  }

  Result<std::optional<Json>> array(const Json::Array& items) {
    Json::Array out;
    path_.push_back(nullptr);
    for (const Json& item : items) {
      const std::string* text = item.if_string();
      const Json* value = text == nullptr ? nullptr : whole(*text);
      if (value != nullptr && value->is_array()) {
        WGK_TRY(spend(bytes_of(*value)));
        out.insert(out.end(), value->if_array()->begin(), value->if_array()->end());
        continue;
      }
      WGK_ASSIGN(std::optional<Json> result, any(item));
      if (result) out.push_back(*std::move(result));
    }
    path_.pop_back();
    return std::optional(Json(std::move(out)));
  }

  Result<std::optional<Json>> object(const Json::Object& members) {
    Json::Object out;
    std::set<std::string> keys;
    for (const auto& [source, value] : members) {
      path_.push_back(&source);
      WGK_TRY(spend(sizeof(std::string)));
      WGK_ASSIGN(std::string key, fill(source));
      if (!keys.insert(key).second) return fail("the key '" + key + "' arises twice at " + where());
      WGK_ASSIGN(std::optional<Json> result, any(value));
      if (result) out.emplace_back(std::move(key), *std::move(result));
      path_.pop_back();
    }
    return std::optional(Json(std::move(out)));
  }

  // No placeholder may be left, neither in keys nor in values, wherever it came from.
  Status check_done(const Json& json) const {
    if (const std::string* text = json.if_string()) return check_text(*text);
    if (const Json::Array* items = json.if_array()) {
      for (const Json& item : *items) WGK_TRY(check_done(item));
    }
    if (const Json::Object* members = json.if_object()) {
      for (const auto& [key, value] : *members) {
        WGK_TRY(check_text(key));
        WGK_TRY(check_done(value));
      }
    }
    return {};
  }

  Status check_text(std::string_view text) const {
    for (std::size_t at = text.find('{'); at != std::string_view::npos;
         at = text.find('{', at + 1)) {
      const std::size_t length = placeholder_length(text.substr(at));
      if (length > 0)
        return fail("the placeholder '" + std::string(text.substr(at, length)) + "' has no value");
    }
    return {};
  }

  // Counts before anything is copied.
  Status spend(std::size_t bytes) {
    bytes_ += bytes;
    return check_bytes(place_, bytes_, limits_);
  }

  std::string where() const {
    std::string text = "variant";
    for (const std::string* key : path_) text += key != nullptr ? "." + *key : "[]";
    return text;
  }

  std::unexpected<Error> fail(std::string message) const {
    return failure(kManifestError, place_ + ": " + std::move(message));
  }

  std::map<std::string_view, const Json*> values_;
  std::string place_;
  const ManifestLimits& limits_;
  std::size_t& bytes_;
  std::vector<const std::string*> path_;  // keys on the way; null for the element of a list
};

Status check_family_keys(const Cursor& record) {
  for (const auto& [key, value] : *record.value().if_object()) {
    if (!is_identifier(key)) return record.fail("'" + key + "' is not an identifier");
  }
  return {};
}

Result<std::vector<Cursor>> non_empty_items(const Cursor& list, std::string_view what) {
  const Json::Array* array = list.value().if_array();
  if (array == nullptr || array->empty())
    return list.fail("must be a non-empty list of " + std::string(what));
  return list.items();
}

Result<std::vector<Record>> read_cases(const Cursor& family) {
  WGK_ASSIGN(const Cursor list, family.require("cases"));
  WGK_ASSIGN(const std::vector<Cursor> items, non_empty_items(list, "cases"));
  std::vector<Record> records;
  for (const Cursor& item : items) {
    WGK_TRY(expect_object(item));
    if (item.value().if_object()->empty()) return item.fail("a case needs at least one value");
    WGK_TRY(expect_few(item));
    WGK_TRY(check_family_keys(item));
    records.push_back(*item.value().if_object());
  }
  return records;
}

struct Axis {
  std::string name;
  std::vector<std::string> keys;  // of its entries
  std::set<std::string> known;    // the same keys
  std::vector<Record> values;
};
using Cell = std::array<std::string, 2>;

std::unexpected<Error> too_many_variants(const Cursor& item, const ManifestLimits& limits) {
  return failure("limit/count",
                 item.path() + ": more than " + std::to_string(limits.max_variants) + " variants");
}

Result<Axis> read_axis(const std::string& name, const Cursor& list,
                       const std::vector<std::string>& names,
                       std::map<std::string, std::string>& owners, const ManifestLimits& limits) {
  if (!is_identifier(name)) return list.fail("the axis name '" + name + "' is not an identifier");
  WGK_ASSIGN(const std::vector<Cursor> items, non_empty_items(list, "records"));
  if (items.size() > limits.max_variants) return too_many_variants(list, limits);
  Axis axis{name, {}, {}, {}};
  for (const Cursor& item : items) {
    WGK_TRY(expect_object(item));
    WGK_TRY(expect_few(item));
    WGK_ASSIGN(const Cursor key, item.require("$key"));
    WGK_ASSIGN(std::string text, key.string());
    if (!is_identifier(text)) return key.fail("'" + text + "' is not an identifier");
    if (!axis.known.insert(text).second) return key.fail("'" + text + "' stands in the axis twice");
    axis.keys.push_back(std::move(text));
    Record& values = axis.values.emplace_back();
    for (const auto& [value_name, value] : *item.value().if_object()) {
      if (value_name == "$key") continue;
      if (std::ranges::contains(names, value_name))
        return item.fail("the value '" + value_name + "' has the name of an axis");
      if (owners.emplace(value_name, name).first->second != name) {
        return item.fail("the value '" + value_name + "' belongs to both axes");
      }
      if (!is_identifier(value_name)) return item.fail("'" + value_name + "' is not an identifier");
      values.emplace_back(value_name, value);
    }
  }
  return axis;
}

Result<Cell> read_selector(const Cursor& record, const std::vector<Axis>& axes) {
  WGK_TRY(expect_object(record));
  Cell cell;
  for (std::size_t i = 0; i < 2; ++i) {
    WGK_ASSIGN(const Cursor key, record.require(axes[i].name));
    WGK_ASSIGN(cell[i], key.string());
    if (!axes[i].known.contains(cell[i]))
      return key.fail_unknown("'" + cell[i] + "' is not a key of axis '" + axes[i].name + "'",
                              cell[i], axes[i].keys);
  }
  return cell;
}

std::string cell_text(const Cell& cell) { return "('" + cell[0] + "', '" + cell[1] + "')"; }

Result<std::set<Cell>> read_excluded(const Cursor& family, const std::vector<Axis>& axes) {
  std::set<Cell> excluded;
  const std::optional<Cursor> member = family.find("exclude");
  if (!member) return excluded;
  WGK_ASSIGN(const std::vector<Cursor> items, member->items());
  for (const Cursor& item : items) {
    WGK_ASSIGN(const Cell cell, read_selector(item, axes));
    if (item.value().if_object()->size() != 2)
      return item.fail("must name the two axes and nothing else");
    if (!excluded.insert(cell).second)
      return item.fail("the cell " + cell_text(cell) + " is excluded twice");
  }
  return excluded;
}

// Names of `more` take its values, whether `record` has them or not.
void put(Record& record, const Record& more) {
  std::map<std::string_view, std::size_t> places;
  for (std::size_t i = 0; i < record.size(); ++i) places.emplace(record[i].first, i);
  Record added;
  for (const auto& [key, value] : more) {
    const auto found = places.find(key);
    if (found == places.end()) {
      added.emplace_back(key, value);
    } else {
      record[found->second].second = value;
    }
  }
  record.insert(record.end(), std::make_move_iterator(added.begin()),
                std::make_move_iterator(added.end()));
}

Result<std::map<Cell, Record>> read_overrides(const Cursor& family, const std::vector<Axis>& axes,
                                              const std::set<Cell>& excluded) {
  std::map<Cell, Record> overrides;
  const std::optional<Cursor> member = family.find("cases");
  if (!member) return overrides;
  WGK_ASSIGN(const std::vector<Cursor> items, member->items());
  for (const Cursor& item : items) {
    WGK_ASSIGN(const Cell cell, read_selector(item, axes));
    if (overrides.contains(cell)) {
      return item.fail("the cell " + cell_text(cell) + " is overridden twice");
    }
    if (excluded.contains(cell)) return item.fail("the cell " + cell_text(cell) + " is excluded");
    WGK_TRY(expect_few(item));
    WGK_TRY(check_family_keys(item));
    Record values;
    for (const auto& [key, value] : *item.value().if_object()) {
      if (key != axes[0].name && key != axes[1].name) values.emplace_back(key, value);
    }
    overrides.emplace(cell, std::move(values));
  }
  return overrides;
}

Result<std::vector<Record>> read_table(const Cursor& family, const Cursor& table,
                                       const ManifestLimits& limits) {
  WGK_TRY(expect_object(table));
  WGK_ASSIGN(const auto members, table.members());
  if (members.size() != 2)
    return table.fail("must have exactly two axes, got " + std::to_string(members.size()));
  const std::vector<std::string> names = {members[0].first, members[1].first};
  std::map<std::string, std::string> owners;  // value name -> axis
  std::vector<Axis> axes;
  for (const auto& [name, list] : members) {
    WGK_ASSIGN(Axis axis, read_axis(name, list, names, owners, limits));
    axes.push_back(std::move(axis));
  }
  WGK_ASSIGN(const std::set<Cell> excluded, read_excluded(family, axes));
  WGK_ASSIGN(const auto overrides, read_overrides(family, axes, excluded));
  std::vector<std::size_t> sizes;  // of the second axis' records
  for (const Record& record : axes[1].values) sizes.push_back(bytes_of(record));
  std::size_t bytes = 0;
  std::vector<Record> cells;
  for (std::size_t i = 0; i < axes[0].keys.size(); ++i) {
    const std::size_t first = bytes_of(axes[0].values[i]);
    for (std::size_t j = 0; j < axes[1].keys.size(); ++j) {
      const Cell cell = {axes[0].keys[i], axes[1].keys[j]};
      if (excluded.contains(cell)) continue;
      // Each cell is at least one variant; a few keys can make very many cells.
      if (cells.size() == limits.max_variants) return too_many_variants(family, limits);
      bytes += first + sizes[j];
      WGK_TRY(check_bytes(family.path(), bytes, limits));
      Record record = axes[0].values[i];
      put(record, axes[1].values[j]);
      const auto found = overrides.find(cell);
      if (found != overrides.end()) put(record, found->second);
      cells.push_back(std::move(record));
    }
  }
  if (cells.empty()) return family.fail("every cell is excluded");
  return cells;
}

Status check_room(const Cursor& item, const std::vector<ExpandedVariant>& variants,
                  const ManifestLimits& limits) {
  if (variants.size() < limits.max_variants) return {};
  return too_many_variants(item, limits);
}

Status expand_family(const Cursor& family, const ManifestLimits& limits, std::size_t& bytes,
                     std::vector<ExpandedVariant>& out) {
  const std::optional<Cursor> axes = family.find("axes");
  WGK_TRY(axes ? family.only({"cases", "variants", "description", "axes", "exclude"})
               : family.only({"cases", "variants", "description"}));
  WGK_TRY(text_member(family, "description"));
  WGK_ASSIGN(const Cursor list, family.require("variants"));
  WGK_ASSIGN(const std::vector<Cursor> templates, non_empty_items(list, "variant templates"));
  WGK_ASSIGN(const std::vector<Record> records,
             axes ? read_table(family, *axes, limits) : read_cases(family));
  for (std::size_t i = 0; i < records.size(); ++i) {
    Substitution substitution(records[i], limits, bytes);
    for (const Cursor& item : templates) {
      WGK_TRY(check_room(item, out, limits));
      const std::string path = item.path() + " (case " + std::to_string(i) + ")";
      WGK_ASSIGN(Json variant, substitution.variant(item.value(), path));
      out.push_back({path, std::move(variant)});
    }
  }
  return {};
}

}  // namespace

Result<std::vector<ExpandedVariant>> expand_variants(const Cursor& manifest,
                                                     const ManifestLimits& limits) {
  const std::optional<Cursor> member = manifest.find("variants");
  if (!member || !member->value().is_array() || member->value().if_array()->empty()) {
    return manifest.fail("a manifest needs variants: a non-empty list");
  }
  WGK_ASSIGN(const std::vector<Cursor> items, member->items());
  std::vector<ExpandedVariant> variants;
  std::size_t bytes = 0;
  for (const Cursor& item : items) {
    WGK_TRY(expect_object(item));
    if (item.find("use")) return item.fail("has an unexpanded 'use'");
    if (item.find("cases") || item.find("axes") || item.find("exclude")) {
      WGK_TRY(expand_family(item, limits, bytes, variants));
    } else {
      WGK_TRY(check_room(item, variants, limits));
      variants.push_back({item.path(), item.value()});
    }
  }
  return variants;
}

}  // namespace wgk::package
