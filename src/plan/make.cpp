// SPDX-License-Identifier: Apache-2.0
#include "plan/make.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "base/checked.h"
#include "base/number.h"
#include "base/saturate.h"
#include "base/try.h"
#include "plan/alias.h"
#include "plan/allowance.h"
#include "plan/bindings.h"
#include "plan/caps.h"
#include "plan/dispatch.h"
#include "plan/encode.h"
#include "plan/expand.h"
#include "plan/infer.h"
#include "plan/uniforms.h"
#include "plan/wgsl_text.h"

namespace wgk::planning {
namespace {

using expr::Value;
using package::BufferType;
using package::Pass;
using package::Variant;

constexpr std::size_t kTextsOfAPlan = 16;  // of full length, together

// A tensor or scratch as the executor sees it.
BindingType plan_type(BufferType type) {
  switch (type) {
    case BufferType::kReadOnlyStorage: return BindingType::kReadOnlyStorage;
    case BufferType::kUniform: return BindingType::kUniform;
    case BufferType::kStorage: break;
  }
  return BindingType::kStorage;
}

std::vector<PlanTensor> plan_tensors(const PackageIndex& index, const BoundRequest& bound) {
  std::vector<PlanTensor> tensors;
  tensors.reserve(bound.tensors.size());
  for (const BoundTensor& tensor : bound.tensors) {
    const PortIndex& port = index.ports[tensor.port];
    PlanTensor& entry = tensors.emplace_back();
    entry.port = port.key();
    entry.dtype = tensor.dtype;
    entry.storage = tensor.storage;
    entry.packed = tensor.packed;
    entry.shape = tensor.shape;
    entry.byte_length = tensor.byte_length;
    entry.buffer_size = tensor.buffer_size;
    entry.is_input = tensor.is_input;
    entry.is_output = tensor.is_output;
    if (tensor.is_input && port.input->narrowing) {
      entry.narrowing =
          *port.input->narrowing == package::Narrowing::kChecked ? "checked" : "saturating";
    }
  }
  return tensors;
}

// True when there are outputs and none has an element: nothing has to run.
bool outputs_are_empty(const PackageIndex& index, const BoundRequest& bound) {
  bool any = false;
  for (const BoundTensor& tensor : bound.tensors) {
    if (index.ports[tensor.port].output == nullptr) continue;
    if (tensor.elements != 0) return false;
    any = true;
  }
  return any;
}

// `what` is asked for its name only where it does not fit.
template <class What>
Status fits(double allowed, std::string_view limit, std::uint64_t size, const What& what) {
  if (static_cast<double>(size) <= allowed) return {};
  return failure("limit/buffer", what() + " needs " + std::to_string(size) + " bytes; " +
                                     quoted(limit) + " is " + number_text(allowed));
}

class Maker {
 public:
  Maker(const MakeContext& context, const Variant& variant)
      : context_(context),
        variant_(variant),
        level_(context.manifest_level.scope(), &context.manifest_level,
               context.index.uses_derive_object),
        typed_level_(level_.scope(), &level_, context.index.uses_derive_object),
        empty_(outputs_are_empty(context.index, context.bound)) {}

  // Variant derives and the instances of passes.
  Status begin() {
    const auto at = static_cast<std::size_t>(&variant_ - context_.index.manifest().variants.data());
    level_.scope().lend(
        "tunables", tunables_value(context_.index.variants[at].tunables, context_.bound.tunables));
    WGK_TRY(level_.evaluate(variant_.derive, context_.limits));
    WGK_ASSIGN(instances_,
               expand_passes(variant_, level_.scope(), context_.limits, context_.most_passes));
    typed_level_.add_types(context_.bound);
    return {};
  }

  const std::vector<PassInstance>& instances() const { return instances_; }

  struct PassState {
    std::vector<PassBinding> bindings;
    std::shared_ptr<const Rendered> rendered;
  };

  // Derives of the pass, then bindings, then the text.
  Result<PassState> prepare(const PassInstance& instance, DeriveLevel& level) {
    const std::size_t bindings = instance.pass->bindings.size();
    const std::size_t known = variant_.intermediates.size() + context_.index.ports.size();
    const std::size_t templates = context_.index.package->templates.size();
    WGK_TRY(spend(context_.limits, 1 + templates / 64 + bindings * (4 + (known + bindings) / 16)));
    level.scope().lend("repeat", instance.repeat);
    WGK_TRY(level.evaluate(instance.pass->derive, context_.limits));
    PassState state;
    WGK_ASSIGN(state.bindings,
               resolve_bindings(context_.index, variant_, *instance.pass, context_.bound, level));
    WGK_ASSIGN(const std::string declarations, resource_declarations(state.bindings));
    WGK_ASSIGN(const auto source, context_.index.package->find_template(instance.pass->shader));
    WGK_ASSIGN(state.rendered, render(*source, level.scope(), declarations, context_.device.device,
                                      context_.limits, context_.cache));
    WGK_TRY(count_text(*state.rendered));
    return state;
  }

  DeriveLevel pass_level() const {
    return {typed_level_.scope(), &typed_level_, context_.index.uses_derive_object};
  }

  Result<Plan> run() {
    Plan plan;
    plan.op_id = context_.index.manifest().op_id();
    plan.variant = variant_.id;
    plan.tensors = plan_tensors(context_.index, context_.bound);
    plan.features = variant_.requirements.features;
    WGK_ASSIGN(plan.scratch, scratch());
    for (const PassInstance& instance : instances_) {
      auto done = add_pass(instance, plan);
      if (!done)
        return std::unexpected(std::move(done.error())
                                   .during("planning pass " + quoted(instance.id) + " of variant " +
                                           quoted(variant_.id)));
    }
    WGK_TRY(check_scratch_sizes(plan));
    std::ranges::sort(plan.features);
    const auto rest = std::ranges::unique(plan.features);
    plan.features.erase(rest.begin(), rest.end());
    return plan;
  }

 private:
  // Bounds all texts of a plan together. A text costs each plan what it took to make, whichever
  // plan made it: a plan never depends on what was planned before.
  Status count_text(const Rendered& rendered) {
    if (!texts_.insert(rendered.wgsl.get()).second) return {};
    if (expr::Allowance* shared = context_.limits.shared; shared != nullptr) {
      const bool steps = shared->spend(rendered.steps);
      if (!shared->spend_text(rendered.text_bytes) || !steps) return used_up(*shared);
    }
    text_bytes_ += rendered.wgsl->size();
    const std::size_t most = saturated_mul(context_.limits.max_output, kTextsOfAPlan);
    if (text_bytes_ <= most) return {};
    return failure("limit/output", "the texts of variant " + quoted(variant_.id) +
                                       " are longer than " + std::to_string(most) +
                                       " bytes together");
  }

  Result<std::vector<PlanScratch>> scratch() const {
    std::vector<PlanScratch> all;
    for (const package::Intermediate& source : variant_.intermediates) {
      PlanScratch& entry = all.emplace_back();
      entry.id = source.id;
      entry.dtype = source.dtype;
      entry.zero_init = source.zero_init;
      entry.kept_zero = source.kept_zero;
      entry.allocated = false;
      WGK_ASSIGN(entry.shape, scratch_shape(source));
      auto elements = element_count(entry.shape);
      auto bytes = elements.and_then(
          [&](std::int64_t count) { return device_byte_length(source.dtype, false, count); });
      if (!bytes)
        return std::unexpected(
            std::move(bytes.error()).during("measuring scratch " + quoted(source.id)));
      entry.byte_length = *bytes;
      entry.buffer_size = padded_size(*bytes);
    }
    return all;
  }

  Result<Shape> scratch_shape(const package::Intermediate& source) const {
    if (empty_) return Shape{0};
    auto value = source.shape.evaluate(level_.scope(), context_.limits);
    if (!value)
      return std::unexpected(
          std::move(value.error()).during("evaluating the shape of scratch " + quoted(source.id)));
    if (value->if_number() != nullptr) *value = Value::list({*value});
    auto shape = dims_of(*value);
    if (shape && !shape->empty()) return *shape;
    return failure("plan/rule", "scratch " + quoted(source.id) + " has shape " + shown(*value) +
                                    "; expected non-negative integers");
  }

  Status add_pass(const PassInstance& instance, Plan& plan) {
    DeriveLevel level = pass_level();
    WGK_ASSIGN(const PassState state, prepare(instance, level));
    const Pass& source = *instance.pass;
    if (empty_) {
      plan.skipped.push_back({instance.id, "zero_dispatch"});
      return {};
    }
    PlanPass pass;
    std::vector<std::vector<std::optional<double>>> values;
    for (const PassBinding& binding : state.bindings) {
      if (binding.type != BufferType::kUniform) continue;
      WGK_ASSIGN(auto fields, uniform_values(*binding.entry, context_.bound.args, level.scope(),
                                             context_.limits));
      WGK_TRY(spend(context_.limits, fields.size()));
      values.push_back(std::move(fields));
    }
    for (const auto& [name, rule] : source.profile) {
      auto value = rule.evaluate(level.scope(), context_.limits);
      if (!value)
        return std::unexpected(
            std::move(value.error()).during("evaluating profile " + quoted(name)));
      pass.profile.emplace_back(name, value->to_json());
    }
    WGK_ASSIGN(pass.dispatch, dispatch_size(source.dispatch, level.scope(), context_.limits,
                                            context_.sizes.workgroups, instance.id));
    if (std::ranges::find(pass.dispatch, 0U) != pass.dispatch.end()) {
      plan.skipped.push_back({instance.id, "zero_dispatch"});
      return {};
    }
    return add_live(instance, state, values, std::move(pass), plan);
  }

  Status add_live(const PassInstance& instance, const PassState& state,
                  const std::vector<std::vector<std::optional<double>>>& values, PlanPass pass,
                  Plan& plan) {
    const Pass& source = *instance.pass;
    for (const PassBinding& binding : state.bindings) {
      if (binding.scratch) plan.scratch[*binding.scratch].allocated = true;
    }
    WGK_TRY(check_opaque_text(state));
    WGK_ASSIGN(const std::vector<Resource> resources,
               resources_of(context_.index, context_.bound, state.bindings, plan));
    if (is_view_alias(source, state.bindings, resources)) {
      plan.skipped.push_back({instance.id, "view_alias"});
      return {};
    }
    WGK_TRY(check_aliasing(state.bindings, resources));
    pass.id = instance.id;
    pass.label =
        source.name.empty() ? plan.op_id + "." + variant_.id + "." + source.id : source.name;
    pass.shader = source.shader;
    pass.wgsl = state.rendered->wgsl;
    pass.submit_after = source.submit_after;
    WGK_TRY(add_bindings(state, resources, values, pass));
    pass.key = key_of(*state.rendered, pass.entry_point, layout_text(state.bindings));
    for (const std::string& feature : state.rendered->features) plan.features.push_back(feature);
    plan.passes.push_back(std::move(pass));
    return {};
  }

  Status check_opaque_text(const PassState& state) const {
    for (const PassBinding& binding : state.bindings) {
      if (!binding.port || context_.bound.tensor(*binding.port)->storage != DType::i64) continue;
      WGK_TRY(spend(context_.limits, state.rendered->wgsl->size() / 64));
      WGK_TRY(check_opaque_int64(without_comments(*state.rendered->wgsl), binding.entry->name));
    }
    return {};
  }

  Status add_bindings(const PassState& state, const std::vector<Resource>& resources,
                      const std::vector<std::vector<std::optional<double>>>& values,
                      PlanPass& pass) const {
    for (std::size_t i = 0; i < state.bindings.size(); ++i) {
      const PassBinding& source = state.bindings[i];
      PlanBinding& binding = pass.bindings.emplace_back();
      binding.index = static_cast<std::uint32_t>(i);
      binding.type = plan_type(source.type);
      binding.name = source.entry->name;
      if (source.type == BufferType::kUniform) {
        WGK_ASSIGN(PlanUniform uniform, pack_uniform(*source.entry, values[pass.uniforms.size()]));
        binding.resource = PlanBinding::Resource::kUniform;
        binding.slot = pass.uniforms.size();
        binding.size = uniform.bytes.size();
        pass.uniforms.push_back(std::move(uniform));
        if (context_.options.check_bindings)
          WGK_TRY(fits(context_.sizes.uniform_binding, "maxUniformBufferBindingSize", binding.size,
                       [&] { return "uniform " + quoted(binding.name); }));
        continue;
      }
      const Resource& resource = resources[i];
      binding.resource =
          source.scratch ? PlanBinding::Resource::kScratch : PlanBinding::Resource::kTensor;
      binding.slot = source.scratch ? *source.scratch : *context_.bound.of_port[*source.port];
      binding.offset = resource.offset;
      binding.size = padded_size(resource.byte_length);
      WGK_TRY(check_binding(source, binding));
    }
    return {};
  }

  Status check_binding(const PassBinding& source, const PlanBinding& binding) const {
    if (source.length && binding.size < source.fixed_bytes) {
      return failure("plan/rule",
                     "binding " + quoted(binding.name) + " has " + std::to_string(binding.size) +
                         " bytes; its fixed length of " + std::to_string(*source.length) +
                         " needs " + std::to_string(source.fixed_bytes));
    }
    if (!context_.options.check_bindings) return {};
    const double alignment = context_.sizes.offset_alignment;
    if (std::fmod(static_cast<double>(binding.offset), alignment) != 0) {
      return failure("request/value", "the tensor of binding " + quoted(binding.name) +
                                          " starts at offset " + std::to_string(binding.offset) +
                                          " of its buffer; the device needs a multiple of " +
                                          number_text(alignment));
    }
    return fits(context_.sizes.storage_binding, "maxStorageBufferBindingSize", binding.size,
                [&] { return "binding " + quoted(binding.name); });
  }

  Status check_scratch_sizes(const Plan& plan) const {
    for (const PlanScratch& entry : plan.scratch) {
      if (entry.allocated)
        WGK_TRY(fits(context_.sizes.buffer, "maxBufferSize", entry.buffer_size,
                     [&] { return "scratch " + quoted(entry.id); }));
    }
    return {};
  }

  static std::array<std::uint8_t, 16> key_of(const Rendered& rendered, std::string_view entry_point,
                                             std::string_view layout) {
    const Digest128 digest =
        digest128(rendered.digest.hex().append(entry_point).append(":").append(layout));
    std::array<std::uint8_t, 16> key{};
    for (std::size_t i = 0; i < 8; ++i) {
      key[i] = static_cast<std::uint8_t>(digest.high >> (56 - 8 * i));
      key[8 + i] = static_cast<std::uint8_t>(digest.low >> (56 - 8 * i));
    }
    return key;
  }

  const MakeContext& context_;
  const Variant& variant_;
  DeriveLevel level_;        // manifest and variant
  DeriveLevel typed_level_;  // and the type variables
  bool empty_;
  std::vector<PassInstance> instances_;
  std::set<const std::string*> texts_;  // only asked for members, so its order reaches nothing
  std::size_t text_bytes_ = 0;
};

}  // namespace

SizeLimits::SizeLimits(const DeviceCaps& caps)
    : buffer(caps.limit("maxBufferSize").value_or(0)),
      storage_binding(caps.limit("maxStorageBufferBindingSize").value_or(0)),
      uniform_binding(caps.limit("maxUniformBufferBindingSize").value_or(0)),
      offset_alignment(caps.limit("minStorageBufferOffsetAlignment").value_or(1)),
      workgroups(caps.limit("maxComputeWorkgroupsPerDimension").value_or(kFoldWidth)) {}

Result<Plan> make(const MakeContext& context, const Variant& variant) {
  Maker maker(context, variant);
  WGK_TRY(maker.begin());
  return maker.run();
}

bool rendered_has(const MakeContext& context, const Variant& variant, std::string_view construct) {
  Maker maker(context, variant);
  if (!maker.begin()) return false;
  bool found = false;
  for (const PassInstance& instance : maker.instances()) {
    if (context.options.template_at_hand &&
        !context.options.template_at_hand(instance.pass->shader))
      return false;
    DeriveLevel level = maker.pass_level();
    const auto state = maker.prepare(instance, level);
    if (!state) return false;
    found = found || has_word(without_comments(*state->rendered->wgsl), construct);
  }
  return found;
}

std::vector<Error> check_tensor_sizes(const MakeContext& context) {
  std::vector<Error> errors;
  for (const BoundTensor& tensor : context.bound.tensors) {
    if (tensor.on_device) continue;
    const PortIndex& port = context.index.ports[tensor.port];
    if (auto checked = fits(context.sizes.buffer, "maxBufferSize", tensor.buffer_size,
                            [&] { return quoted(port.any()); });
        !checked) {
      errors.push_back(std::move(checked.error()));
    }
  }
  return errors;
}

}  // namespace wgk::planning
