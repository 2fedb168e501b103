// SPDX-License-Identifier: Apache-2.0
#include "plan/scope.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "plan/caps.h"

namespace wgk::planning {
namespace {

using expr::Object;
using expr::Value;
using Members = std::vector<std::pair<std::string, Value>>;

constexpr std::array kDTypes = {DType::f32, DType::f16, DType::i8,  DType::i16,    DType::i32,
                                DType::i64, DType::u8,  DType::u32, DType::boolean};

// What a level may hold that is not derived; such names are reserved.
constexpr auto kOtherNames =
    std::to_array<std::string_view>({"derive", "tunables", "repeat", "device", "f16Ok"});

Value adapter_value(const DeviceCaps& caps) {
  // In the order in which the reference prints them.
  Members info = {{"vendor", Value(caps.vendor)}, {"architecture", Value(caps.architecture)}};
  if (caps.subgroup_min_size) info.emplace_back("subgroupMinSize", Value(*caps.subgroup_min_size));
  if (caps.subgroup_max_size) info.emplace_back("subgroupMaxSize", Value(*caps.subgroup_max_size));
  info.emplace_back("isFallbackAdapter", Value(caps.is_fallback_adapter));
  if (caps.subgroup_matrix_configs) {
    std::vector<Value> configs;
    for (const SubgroupMatrixConfig& config : usable_matrix_configs(caps)) {
      configs.push_back(Value::object({{"componentType", Value(config.component_type)},
                                       {"resultComponentType", Value(config.result_component_type)},
                                       {"M", Value(config.m)},
                                       {"N", Value(config.n)},
                                       {"K", Value(config.k)}}));
    }
    info.emplace_back("subgroupMatrixConfigs", Value::list(std::move(configs)));
  }
  return Value::object(std::move(info));
}

template <class Text>
const std::array<Value, kDTypes.size()>& texts(Text text) {
  static const auto kTexts = [text] {
    std::array<Value, kDTypes.size()> all;
    for (const DType dtype : kDTypes) all[static_cast<std::size_t>(dtype)] = Value(text(dtype));
    return all;
  }();
  return kTexts;
}

}  // namespace

Value dtype_text(DType dtype) {
  return texts([](DType type) { return name(type); })[static_cast<std::size_t>(dtype)];
}

Value scalar_text(DType dtype) {
  return texts([](DType type) { return wgsl_scalar(type); })[static_cast<std::size_t>(dtype)];
}

DeviceNames::DeviceNames(const DeviceCaps& caps) {
  Members limits;
  for (const auto& [name, value] : all_limits(caps)) limits.emplace_back(name, Value(value));
  device = Value::object({{"features", expr::feature_set(caps.features)},
                          {"wgslLanguageFeatures", expr::feature_set(caps.wgsl_language_features)},
                          {"limits", Value::object(std::move(limits))},
                          {"adapterInfo", adapter_value(caps)}});
  f16_ok = expr::f16_ok(caps.has_feature("shader-f16"));
}

void DeviceNames::add_to(expr::Scope& scope) const {
  scope.lend("device", device);
  scope.lend("f16Ok", f16_ok);
}

const DeviceNames& default_device() {
  static const DeviceNames kNames(DeviceCaps::defaults());
  return kNames;
}

Value json_map(const NamedJson& entries) {
  Members members;
  members.reserve(entries.size());
  for (const auto& [name, value] : entries) members.emplace_back(name, Value::from_json(value));
  return Value::object(std::move(members));
}

Value tunables_value(const Value& declared, const NamedJson& request) {
  if (request.empty()) return declared;
  auto object = std::make_shared<Object>(*declared.if_object());
  for (const auto& [name, value] : request) object->set(name, Value::from_json(value));
  return Value(std::move(object));
}

RequestScope::RequestScope(const PackageIndex& index, const BoundRequest& bound)
    : shapes_(std::make_shared<Object>()),
      ranks_(std::make_shared<Object>()),
      tensor_dtypes_(std::make_shared<Object>()),
      dtypes_(std::make_shared<Object>()),
      logical_dtypes_(std::make_shared<Object>()),
      present_(std::make_shared<Object>()),
      scope_(&expr::helpers()) {
  scope_.reserve(10);
  present_->members.reserve(index.ports.size() + index.manifest().args.size());
  for (const auto* object : {&shapes_, &ranks_, &tensor_dtypes_}) {
    (*object)->members.reserve(index.ports.size());
  }
  for (std::size_t slot = 0; slot < index.ports.size(); ++slot) {
    present_->members.emplace_back(index.ports[slot].key(), Value(bound.of_port[slot].has_value() ||
                                                                  bound.wanted[slot] != nullptr));
  }
  for (const auto& [name, arg] : index.manifest().args) {
    const bool given = std::ranges::any_of(bound.args, [&name](const auto& entry) {
      return entry.first == name && !entry.second.is_null();
    });
    present_->members.emplace_back(name, Value(given));
  }
  for (const BoundTensor& tensor : bound.tensors) add_tensor(index, tensor);
  set_types(bound);
  scope_.lend("shapes", Value(shapes_));
  scope_.lend("ranks", Value(ranks_));
  scope_.lend("tensorDtypes", Value(tensor_dtypes_));
  scope_.lend("dtypes", Value(dtypes_));
  scope_.lend("logicalDtypes", Value(logical_dtypes_));
  scope_.lend("present", Value(present_));
  scope_.lend("attrs", json_map(bound.attrs));
  scope_.lend("args", json_map(bound.args));
  scope_.lend("tunables", tunables_value(index.tunables, bound.tunables));
  scope_.lend("repeat", Value::object({}));
}

void RequestScope::add_tensor(const PackageIndex& index, const BoundTensor& tensor) {
  const std::string& key = index.ports[tensor.port].key();
  shapes_->members.emplace_back(key, Value::dims(tensor.shape));
  ranks_->members.emplace_back(key, Value(tensor.shape.size()));
  tensor_dtypes_->members.emplace_back(key, dtype_text(tensor.storage));
}

void RequestScope::set_types(const BoundRequest& bound) {
  dtypes_->members.clear();
  logical_dtypes_->members.clear();
  for (const TypeBinding& type : bound.types) {
    dtypes_->members.emplace_back(type.name, scalar_text(type.storage));
    logical_dtypes_->members.emplace_back(type.name, dtype_text(type.logical));
  }
}

void RequestScope::enter_run(const PackageIndex& index, const BoundRequest& bound) {
  shapes_->members.clear();
  ranks_->members.clear();
  tensor_dtypes_->members.clear();
  for (const BoundTensor& tensor : bound.tensors) add_tensor(index, tensor);
  set_types(bound);
  for (std::size_t i = 0; i < present_->members.size(); ++i) {
    present_->members[i].second = Value(i < index.ports.size() && bound.of_port[i].has_value());
  }
}

DeriveLevel::DeriveLevel(const expr::Scope& outer, const DeriveLevel* so_far, bool with_object)
    : so_far_(so_far), scope_(&outer) {
  if (!with_object) return;
  object_ = so_far != nullptr && so_far->object_ ? std::make_shared<Object>(*so_far->object_)
                                                 : std::make_shared<Object>();
  scope_.lend("derive", Value(object_));
}

void DeriveLevel::set(std::string_view name, Value value) {
  if (object_) object_->set(name, value);
  scope_.lend(name, std::move(value));
}

void DeriveLevel::add_types(const BoundRequest& bound) {
  const auto first = object_ ? std::make_shared<Object>() : nullptr;
  for (const TypeBinding& type : bound.types) {
    if (first) first->members.emplace_back(type.name, scalar_text(type.storage));
    if (!knows(type.name)) scope_.lend(type.name, scalar_text(type.storage));
  }
  if (!first) return;
  for (const auto& [name, value] : so_far_->object_->members) first->set(name, value);
  object_ = first;
  scope_.lend("derive", Value(object_));
}

bool DeriveLevel::knows(std::string_view name) const {
  if (std::ranges::contains(kOtherNames, name)) return false;
  const std::uint64_t hash = expr::name_hash(name);
  for (const DeriveLevel* level = this; level != nullptr; level = level->so_far_) {
    if (level->scope_.find_here(name, hash) != nullptr) return true;
  }
  return false;
}

Status DeriveLevel::evaluate(const package::Named<expr::Rule>& rules, const expr::Limits& limits,
                             bool keep_going, const KnownValues* known) {
  Status first;
  scope_.reserve(rules.size() + 4);
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const auto& [name, rule] = rules[i];
    if (known != nullptr && (*known)[i]) {
      set(name, *(*known)[i]);
      continue;
    }
    auto value = rule.evaluate(scope_, limits);
    if (value) {
      set(name, std::move(*value));
      continue;
    }
    if (first)
      first = std::unexpected(std::move(value.error()).during("evaluating derive " + quoted(name)));
    if (!keep_going) break;
  }
  return first;
}

}  // namespace wgk::planning
