// SPDX-License-Identifier: Apache-2.0
// Passes, repeat groups and dispatch forms (format.md b.3, b.7).
#include <algorithm>
#include <cmath>

#include "base/number.h"
#include "package/manifest_reader.h"
#include "package/names.h"

namespace wgk::package {
namespace {

// A dispatch size as expression text.
Result<std::string> read_size(const Cursor& size) {
  if (const std::string* text = size.value().if_string()) return *text;
  const double* number = size.value().if_number();
  if (number != nullptr && *number >= 0 && *number <= kMaxSafeInteger &&
      std::floor(*number) == *number)
    return number_text(*number);
  return size.fail_value("must be an expression or a non-negative integer");
}

Result<Dispatch> read_grid(const Cursor& cursor, expr::Parses& parses) {
  WGK_TRY(cursor.only({"x", "y", "z"}));
  if (!cursor.find("x")) return cursor.fail("needs x");
  Dispatch dispatch;
  for (const auto& [key, axis] :
       {std::pair{"x", &dispatch.x}, std::pair{"y", &dispatch.y}, std::pair{"z", &dispatch.z}}) {
    const std::optional<Cursor> member = cursor.find(key);
    if (member) {
      WGK_TRY(read_size(*member));
    }
    *axis = parses.rule(member ? member->value() : Json(1));
  }
  return dispatch;
}

// The short-hands mean the grid that the published loader writes for them.
void fold(Dispatch& dispatch, const std::string& count, expr::Parses& parses) {
  dispatch.x = parses.rule(Json("min(" + count + ", 65535)"));
  dispatch.y = parses.rule(Json("ceilDiv(" + count + ", 65535)"));
  dispatch.z = Rule(Json(1));
}

Result<Dispatch> read_dispatch(const Cursor& pass, expr::Parses& parses) {
  const std::optional<Cursor> member = pass.find("dispatch");
  if (!member) return pass.fail("needs dispatch");
  const Cursor& cursor = *member;
  WGK_TRY(expect_object(cursor));
  if (cursor.find("gridStride")) {
    return cursor.fail(
        "has the older key 'gridStride'; write x = min(<count>, "
        "device.limits.maxComputeWorkgroupsPerDimension)");
  }
  const std::optional<Cursor> threads = cursor.find("threads");
  const std::optional<Cursor> workgroups = cursor.find("workgroups");
  if (threads && workgroups)
    return cursor.fail("has both 'threads' and 'workgroups'; only one form is allowed");
  if (!threads && !workgroups) return read_grid(cursor, parses);
  Dispatch dispatch;
  if (workgroups) {
    WGK_TRY(cursor.only({"workgroups"}));
    WGK_ASSIGN(const std::string count, read_size(*workgroups));
    dispatch.form = Dispatch::Form::kWorkgroups;
    dispatch.workgroups = parses.rule(workgroups->value());
    fold(dispatch, count, parses);
    return dispatch;
  }
  WGK_TRY(cursor.only({"threads", "workgroupSize"}));
  WGK_ASSIGN(const Cursor size, cursor.require("workgroupSize"));
  WGK_ASSIGN(const std::string count, read_size(*threads));
  WGK_ASSIGN(const std::string divisor, read_size(size));
  dispatch.form = Dispatch::Form::kThreads;
  dispatch.threads = parses.rule(threads->value());
  dispatch.workgroup_size = parses.rule(size.value());
  fold(dispatch, "ceilDiv((" + count + "), (" + divisor + "))", parses);
  return dispatch;
}

Status read_width(const Cursor& pass, Pass& result) {
  const std::optional<Cursor> member = pass.find("subgroupCollectivesWidth");
  if (!member) return {};
  const double* number = member->value().if_number();
  const bool is_width =
      number != nullptr &&
      std::ranges::contains(std::to_array({4.0, 8.0, 16.0, 32.0, 64.0, 128.0}), *number);
  if (!is_width && member->value() != Json("portable"))
    return member->fail_value("must be \"portable\" or a power of two from 4 to 128");
  result.subgroup_collectives_width = is_width ? number_text(*number) : "portable";
  return {};
}

bool is_falsy(const Json& json) {
  return json.is_null() || json == Json(false) || json == Json(0) || json == Json("");
}

Result<std::vector<ViewAlias>> read_view_alias(const Cursor& pass,
                                               const std::vector<BindingEntry>& bindings) {
  std::vector<ViewAlias> pairs;
  const std::optional<Cursor> member = pass.find("viewAlias");
  if (!member || is_falsy(member->value())) return pairs;
  WGK_ASSIGN(const std::vector<Cursor> items, member->items());
  if (items.empty()) return member->fail("must not be empty");
  const auto is_bound_as = [&](const std::string& name, BufferType type) {
    const auto found = std::ranges::find(bindings, name, &BindingEntry::name);
    return found != bindings.end() && found->buffer == type;
  };
  for (const Cursor& item : items) {
    WGK_TRY(expect_object(item));
    WGK_ASSIGN(const Cursor input, item.require("input"));
    WGK_ASSIGN(const Cursor output, item.require("output"));
    ViewAlias pair;
    WGK_ASSIGN(pair.input, input.string());
    WGK_ASSIGN(pair.output, output.string());
    if (!is_bound_as(pair.input, BufferType::kReadOnlyStorage)) {
      return input.fail("'" + pair.input + "' is not a read-only-storage binding of the pass");
    }
    if (!is_bound_as(pair.output, BufferType::kStorage))
      return output.fail("'" + pair.output + "' is not a storage binding of the pass");
    pairs.push_back(std::move(pair));
  }
  return pairs;
}

Result<Pass> read_pass(const Cursor& cursor, std::size_t index, PassContext& context) {
  WGK_TRY(expect_object(cursor));
  WGK_TRY(expect_few(cursor, {"bindings", "derive", "profile", "viewAlias"}));
  if (++context.passes > context.max_passes) {
    return failure("limit/count", cursor.path() + ": more than " +
                                      std::to_string(context.max_passes) +
                                      " passes in one variant");
  }
  Pass pass;
  pass.id = "pass_" + std::to_string(index);
  if (const auto id = cursor.find("id"); id && !id->value().is_null()) {
    WGK_ASSIGN(pass.id, text_member(cursor, "id", true));
  }
  for (const std::string_view key : {"source", "constants"}) {
    if (cursor.find(key))
      return cursor.fail("has the older key '" + std::string(key) +
                         "'; a pass has shader and derive");
  }
  WGK_TRY(cursor.only({"id", "name", "shader", "derive", "bindings", "dispatch", "profile",
                       "subgroupCollectivesWidth", "submitAfter", "viewAlias"}));
  WGK_ASSIGN(pass.name, text_member(cursor, "name", true));
  WGK_ASSIGN(const Cursor shader, cursor.require("shader"));
  WGK_ASSIGN(pass.shader, shader.string());
  if (pass.shader.empty()) return shader.fail("must not be empty");
  WGK_ASSIGN(pass.submit_after, flag_member(cursor, "submitAfter", false));
  WGK_TRY(read_width(cursor, pass));
  WGK_ASSIGN(pass.dispatch, read_dispatch(cursor, *context.symbols.parses));
  WGK_ASSIGN(pass.bindings, read_pass_bindings(cursor, context.symbols, context.intermediates));
  WGK_ASSIGN(pass.derive, read_derive(cursor, context.symbols));
  if (const auto profile = cursor.find("profile")) {
    for (const auto& [key, value] : loose_entries(*profile))
      pass.profile.emplace_back(key, context.symbols.parses->rule(value.value()));
  }
  WGK_ASSIGN(pass.view_alias, read_view_alias(cursor, pass.bindings));
  return pass;
}

Result<std::shared_ptr<const Repeat>> read_repeat(const Cursor& cursor, std::size_t index,
                                                  PassContext& context) {
  auto group = std::make_shared<Repeat>();
  group->id = "repeat_" + std::to_string(index);
  if (const auto id = cursor.find("id"); id && !id->value().is_null()) {
    WGK_ASSIGN(group->id, id->string());
    if (!is_stable_id(group->id))
      return id->fail("'" + group->id + "' is not an id of letters, digits and underscores");
  }
  WGK_ASSIGN(const Cursor repeat, cursor.require("repeat"));
  WGK_TRY(expect_object(repeat));
  WGK_ASSIGN(const Cursor name, repeat.require("index"));
  WGK_ASSIGN(group->index, name.string());
  if (!is_identifier(group->index)) return name.fail("'" + group->index + "' is not an identifier");
  if (group->index == "index" || group->index == "count")
    return name.fail("'" + group->index + "' is a member of every repeat");
  if (std::ranges::contains(context.indices, group->index)) {
    return name.fail("'" + group->index + "' is the index of an enclosing repeat group");
  }
  WGK_ASSIGN(const Cursor count, repeat.require("count"));
  group->count = context.symbols.parses->rule(count.value());
  const std::optional<Cursor> passes = cursor.find("passes");
  if (!passes || !passes->value().is_array() || passes->value().if_array()->empty()) {
    return cursor.fail("a repeat group needs passes: a non-empty list");
  }
  context.indices.push_back(group->index);
  WGK_ASSIGN(group->steps, read_steps(*passes, context));
  context.indices.pop_back();
  return group;
}

}  // namespace

Result<Named<Rule>> read_derive(const Cursor& owner, const Symbols& symbols) {
  Named<Rule> derive;
  const std::optional<Cursor> member = owner.find("derive");
  if (!member) return derive;
  if (member->find("$use")) return member->fail("has an unexpanded '$use'");
  WGK_ASSIGN(const auto members, member->members());
  for (const auto& [name, value] : members) {
    if (!is_identifier(name)) return value.fail("'" + name + "' is not an identifier");
    if (is_scope_name(name) || symbols.type_variables.contains(name)) {
      return value.fail("'" + name +
                        "' would hide a name that expressions and templates already have");
    }
    derive.emplace_back(name, symbols.parses->rule(value.value()));
  }
  return derive;
}

Result<std::vector<Step>> read_steps(const Cursor& passes, PassContext& context) {
  WGK_ASSIGN(const std::vector<Cursor> items, passes.items());
  std::vector<Step> steps;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (items[i].value().find("repeat") != nullptr) {
      WGK_ASSIGN(auto group, read_repeat(items[i], i, context));
      steps.emplace_back(std::move(group));
    } else {
      WGK_ASSIGN(Pass pass, read_pass(items[i], i, context));
      steps.emplace_back(std::move(pass));
    }
  }
  return steps;
}

}  // namespace wgk::package
