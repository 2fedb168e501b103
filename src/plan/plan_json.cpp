// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <utility>

#include "base/digest.h"
#include "wgk/plan.h"

namespace wgk {
namespace {

std::string hex(std::span<const std::byte> bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  text.reserve(bytes.size() * 2);
  for (const std::byte byte : bytes) {
    text += kDigits[std::to_integer<std::size_t>(byte >> 4)];
    text += kDigits[std::to_integer<std::size_t>(byte & std::byte{15})];
  }
  return text;
}

Json shape_json(const Shape& shape) {
  Json::Array items;
  for (const std::int64_t dimension : shape) items.emplace_back(dimension);
  return Json(std::move(items));
}

Json tensor_json(const PlanTensor& tensor) {
  Json json =
      Json::object({{"port", tensor.port},
                    {"role", tensor.is_input ? tensor.is_output ? "inout" : "input" : "output"},
                    {"dtype", name(tensor.dtype)},
                    {"storage", name(tensor.storage)},
                    {"shape", shape_json(tensor.shape)},
                    {"byteLength", tensor.byte_length},
                    {"bufferSize", tensor.buffer_size}});
  if (tensor.packed) json.set("packed", true);
  if (tensor.narrowing) json.set("narrowing", *tensor.narrowing);
  return json;
}

Json scratch_json(const PlanScratch& scratch) {
  Json json = Json::object({{"id", scratch.id},
                            {"dtype", name(scratch.dtype)},
                            {"shape", shape_json(scratch.shape)},
                            {"byteLength", scratch.byte_length},
                            {"bufferSize", scratch.buffer_size}});
  if (scratch.zero_init) json.set("zeroInit", true);
  if (scratch.kept_zero) json.set("keptZero", true);
  if (!scratch.allocated) json.set("allocated", false);
  return json;
}

std::string_view type_name(BindingType type) {
  switch (type) {
    case BindingType::kReadOnlyStorage: return "read-only-storage";
    case BindingType::kStorage: return "storage";
    case BindingType::kUniform: break;
  }
  return "uniform";
}

Json binding_json(const Plan& plan, const PlanBinding& binding) {
  Json json = Json::object(
      {{"index", binding.index}, {"type", type_name(binding.type)}, {"name", binding.name}});
  switch (binding.resource) {
    case PlanBinding::Resource::kTensor: json.set("tensor", plan.tensors[binding.slot].port); break;
    case PlanBinding::Resource::kScratch: json.set("scratch", plan.scratch[binding.slot].id); break;
    case PlanBinding::Resource::kUniform: break;
  }
  if (binding.offset != 0) json.set("offset", binding.offset);
  json.set("size", binding.size);
  return json;
}

Json uniform_json(const PlanUniform& uniform) {
  Json::Array fields;
  for (const PlanUniform::Field& field : uniform.fields) {
    fields.push_back(
        Json::object({{"name", field.name}, {"type", field.type}, {"offset", field.offset}}));
  }
  return Json::object(
      {{"name", uniform.name}, {"bytes", hex(uniform.bytes)}, {"fields", std::move(fields)}});
}

template <class T, class Convert>
Json list_json(const std::vector<T>& items, Convert convert) {
  Json::Array list;
  list.reserve(items.size());
  for (const T& item : items) list.push_back(convert(item));
  return Json(std::move(list));
}

Json pass_json(const Plan& plan, const PlanPass& pass, bool with_wgsl) {
  Json json = Json::object({{"id", pass.id},
                            {"label", pass.label},
                            {"shader", pass.shader},
                            {"entryPoint", pass.entry_point},
                            {"key", hex(std::as_bytes(std::span(pass.key)))},
                            {"text", digest128(*pass.wgsl).hex()}});
  if (with_wgsl) json.set("wgsl", *pass.wgsl);
  json.set("dispatch", Json::array({pass.dispatch[0], pass.dispatch[1], pass.dispatch[2]}));
  json.set("bindings", list_json(pass.bindings, [&plan](const PlanBinding& binding) {
             return binding_json(plan, binding);
           }));
  if (!pass.uniforms.empty()) json.set("uniforms", list_json(pass.uniforms, uniform_json));
  if (pass.submit_after) json.set("submitAfter", true);
  if (!pass.profile.empty()) {
    Json profile;
    for (const auto& [key, value] : pass.profile) profile.set(key, value);
    json.set("profile", std::move(profile));
  }
  return json;
}

Json error_json(const Error& error) {
  Json json = Json::object({{"code", error.code}, {"message", error.message}});
  if (!error.context.empty())
    json.set("context",
             list_json(error.context, [](const std::string& line) { return Json(line); }));
  if (!error.hint.empty()) json.set("hint", error.hint);
  if (!error.others.empty()) json.set("others", list_json(error.others, error_json));
  return json;
}

}  // namespace

const PlanTensor* Plan::tensor(std::string_view port) const {
  const auto found = std::ranges::find(tensors, port, &PlanTensor::port);
  return found == tensors.end() ? nullptr : &*found;
}

std::uint64_t Plan::scratch_bytes() const {
  std::uint64_t bytes = 0;
  for (const PlanScratch& entry : scratch) bytes += entry.allocated ? entry.buffer_size : 0;
  return bytes;
}

Json Plan::to_json(bool with_wgsl) const {
  return Json::object(
      {{"op", op_id},
       {"variant", variant},
       {"features", list_json(features, [](const std::string& feature) { return Json(feature); })},
       {"tensors", list_json(tensors, tensor_json)},
       {"scratch", list_json(scratch, scratch_json)},
       {"passes",
        list_json(passes, [&](const PlanPass& pass) { return pass_json(*this, pass, with_wgsl); })},
       {"skipped", list_json(skipped, [](const SkippedPass& pass) {
          return Json::object({{"id", pass.id}, {"reason", pass.reason}});
        })}});
}

Json Explanation::to_json() const {
  Json json = Json::object({{"selected", selected ? Json(*selected) : Json()},
                            {"variants", list_json(decisions, [](const VariantDecision& decision) {
                               Json entry = Json::object({{"id", decision.id},
                                                          {"priority", decision.priority},
                                                          {"verdict", decision.verdict}});
                               if (!decision.reason.empty()) entry.set("reason", decision.reason);
                               return entry;
                             })}});
  if (error) json.set("error", error_json(*error));
  if (!notes.empty())
    json.set("notes", list_json(notes, [](const std::string& note) { return Json(note); }));
  return json;
}

}  // namespace wgk
