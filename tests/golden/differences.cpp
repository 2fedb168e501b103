// SPDX-License-Identifier: Apache-2.0
#include "differences.h"

#include <algorithm>
#include <cstdio>
#include <set>
#include <string_view>
#include <utility>

#include "io/files.h"
#include "json/json.h"

namespace wgk::golden {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kShownCases = 20;

using ByDevice = std::map<std::string, Json>;        // device -> plan in short
using ByCase = std::map<std::string, ByDevice>;      // case name -> plans
using Change = std::pair<std::string, std::string>;  // old and new text of a plan

ByCase by_case(const std::string& text, const std::vector<std::string>& devices) {
  ByCase cases;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const auto line = json::parse(std::string_view(text).substr(at, end - at));
    at = end + 1;
    const Json* name = line ? line->find("case") : nullptr;
    const Json* listed = line ? line->find("devices") : nullptr;
    if (name == nullptr || !name->is_string() || listed == nullptr) continue;
    Json plan;
    for (const auto& [key, value] : *line->if_object()) {
      if (key != "case" && key != "devices") plan.set(key, value);
    }
    ByDevice& plans = cases[*name->if_string()];
    if (const Json::Array* list = listed->if_array()) {
      for (const Json& device : *list)
        plans.emplace(device.is_string() ? *device.if_string() : "?", plan);
    } else {
      for (const std::string& device : devices) plans.emplace(device, plan);
    }
  }
  return cases;
}

// The parts of a plan in short, by name: "variant", "passes[0]", ...
void add_parts(const Json& value, const std::string& name,
               std::map<std::string, std::string>& parts) {
  if (const Json::Object* object = value.if_object()) {
    for (const auto& [key, member] : *object)
      add_parts(member, name.empty() ? key : name + "." + key, parts);
  } else if (const Json::Array* list = value.if_array()) {
    for (std::size_t i = 0; i < list->size(); ++i)
      add_parts((*list)[i], name + "[" + std::to_string(i) + "]", parts);
  } else {
    parts[name] = value.is_string() ? *value.if_string() : json::write(value);
  }
}

std::map<std::string, std::string> parts_of(const std::string& text) {
  std::map<std::string, std::string> parts;
  if (const auto plan = json::parse(text)) add_parts(*plan, "", parts);
  return parts;
}

void show_change(const Change& change) {
  const auto before = parts_of(change.first), after = parts_of(change.second);
  std::set<std::string> names;
  for (const auto& [name, text] : before) names.insert(name);
  for (const auto& [name, text] : after) names.insert(name);
  // The digest of the whole tells nothing where another part differs.
  std::size_t shown = 0;
  for (const std::string& name : names) {
    const auto old_part = before.find(name), new_part = after.find(name);
    const bool has_both = old_part != before.end() && new_part != after.end();
    if (has_both && old_part->second == new_part->second) continue;
    if (name == "whole" && shown != 0) continue;
    ++shown;
    std::printf("    %s\n", name == "whole" ? "bindings, labels or skipped passes" : name.c_str());
    if (old_part != before.end()) std::printf("      - %s\n", old_part->second.c_str());
    if (new_part != after.end()) std::printf("      + %s\n", new_part->second.c_str());
  }
}

void show_case(const std::string& name, const std::map<Change, std::string>& changes) {
  std::printf("  case %s\n", name.c_str());
  for (const auto& [change, devices] : changes) {
    std::printf("   on %s\n", devices.c_str());
    show_change(change);
  }
}

// Old and new plans that differ, with the devices they are for.
std::map<Change, std::string> changes_of(const ByDevice& expected, const ByDevice& got) {
  std::map<std::string, Change> by_device;
  for (const auto& [device, plan] : expected) by_device[device].first = json::write(plan);
  for (const auto& [device, plan] : got) by_device[device].second = json::write(plan);
  std::map<Change, std::string> changes;
  for (const auto& [device, change] : by_device) {
    if (change.first == change.second) continue;
    std::string& devices = changes[change];
    devices += (devices.empty() ? "" : ", ") + device;
  }
  return changes;
}

bool same_plans(const Files& expected, const Files& got, const std::vector<std::string>& devices) {
  if (expected.plans == got.plans) return true;
  const ByCase before = by_case(expected.plans, devices), after = by_case(got.plans, devices);
  std::set<std::string> names;
  for (const auto& [name, plans] : before) names.insert(name);
  for (const auto& [name, plans] : after) names.insert(name);
  std::size_t count = 0;
  for (const std::string& name : names) {
    const auto expected_case = before.find(name), got_case = after.find(name);
    const auto changes =
        changes_of(expected_case == before.end() ? ByDevice() : expected_case->second,
                   got_case == after.end() ? ByDevice() : got_case->second);
    if (changes.empty()) continue;
    if (++count <= kShownCases) show_case(name, changes);
  }
  if (count == 0) std::printf("  the lines stand in another order\n");
  if (count > kShownCases) std::printf("  and %zu more cases\n", count - kShownCases);
  return false;
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

void show_first_line(const std::string& expected, const std::string& got) {
  const auto before = lines_of(expected), after = lines_of(got);
  std::size_t i = 0;
  while (i < before.size() && i < after.size() && before[i] == after[i]) ++i;
  std::printf("    line %zu\n", i + 1);
  if (i < before.size())
    std::printf("      - %.*s\n", static_cast<int>(before[i].size()), before[i].data());
  if (i < after.size())
    std::printf("      + %.*s\n", static_cast<int>(after[i].size()), after[i].data());
}

bool same_examples(const Files& expected, const Files& got) {
  bool same = true;
  for (const auto& [name, text] : got.examples) {
    const auto known = expected.examples.find(name);
    if (known != expected.examples.end() && known->second == text) continue;
    same = false;
    const bool is_new = known == expected.examples.end();
    std::printf("  examples/%s %s\n", name.c_str(), is_new ? "is new" : "differs");
    if (!is_new) show_first_line(known->second, text);
  }
  for (const auto& [name, text] : expected.examples) {
    if (got.examples.contains(name)) continue;
    std::printf("  examples/%s is not used any more\n", name.c_str());
    same = false;
  }
  return same;
}

}  // namespace

Files read_files(const fs::path& folder) {
  Files files;
  files.plans = io::read_file(folder / "plans.jsonl").value_or(std::string());
  std::error_code code;
  for (const auto& entry : fs::directory_iterator(folder / "examples", code)) {
    files.examples.emplace(entry.path().filename().string(),
                           io::read_file(entry.path()).value_or(std::string()));
  }
  return files;
}

bool same_files(const Files& expected, const Files& got, const std::vector<std::string>& devices) {
  const bool plans = same_plans(expected, got, devices);
  return same_examples(expected, got) && plans;
}

}  // namespace wgk::golden
