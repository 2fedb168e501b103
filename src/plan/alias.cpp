// SPDX-License-Identifier: Apache-2.0
#include "plan/alias.h"

#include <algorithm>

namespace wgk::planning {
namespace {

using package::BufferType;

bool is_written(const PassBinding& binding) { return binding.type == BufferType::kStorage; }

bool overlap(const Resource& a, const Resource& b) {
  return a.offset < b.offset + b.byte_length && b.offset < a.offset + a.byte_length;
}

Resource tensor_resource(const BoundTensor& tensor, std::size_t slot) {
  Resource resource{Resource::Kind::kTensor, slot, 0, tensor.byte_length, tensor.storage};
  if (tensor.range) {
    resource.kind = Resource::Kind::kGiven;
    resource.buffer = tensor.range->buffer;
    resource.offset = tensor.range->offset;
  }
  return resource;
}

}  // namespace

Result<std::vector<Resource>> resources_of(const PackageIndex& index, const BoundRequest& bound,
                                           const std::vector<PassBinding>& bindings,
                                           const Plan& plan) {
  std::vector<Resource> resources;
  resources.reserve(bindings.size());
  for (const PassBinding& binding : bindings) {
    if (binding.type == BufferType::kUniform) {
      resources.emplace_back();
    } else if (binding.scratch) {
      const PlanScratch& scratch = plan.scratch[*binding.scratch];
      resources.push_back(
          {Resource::Kind::kScratch, *binding.scratch, 0, scratch.byte_length, scratch.dtype});
    } else if (binding.port) {
      resources.push_back(
          tensor_resource(*bound.tensor(*binding.port), *bound.of_port[*binding.port]));
    } else {
      const std::string& name =
          binding.entry->arg.empty() ? binding.entry->name : binding.entry->arg;
      const auto port = index.find_port(name);
      return failure("plan/rule", "binding " + quoted(binding.entry->name) + " needs " +
                                      (port ? quoted(index.ports[*port].any()) : quoted(name)) +
                                      ", which is not bound");
    }
  }
  return resources;
}

bool is_view_alias(const package::Pass& pass, const std::vector<PassBinding>& bindings,
                   const std::vector<Resource>& resources) {
  const auto find = [&](const std::string& name) -> const Resource* {
    const auto binding = std::ranges::find(
        bindings, name,
        [](const PassBinding& entry) -> const std::string& { return entry.entry->name; });
    return binding == bindings.end()
               ? nullptr
               : &resources[static_cast<std::size_t>(binding - bindings.begin())];
  };
  return !pass.view_alias.empty() &&
         std::ranges::all_of(pass.view_alias, [&find](const package::ViewAlias& pair) {
           const Resource* input = find(pair.input);
           const Resource* output = find(pair.output);
           return input != nullptr && output != nullptr && input->same_buffer(*output) &&
                  input->offset == output->offset && input->byte_length == output->byte_length &&
                  input->dtype == output->dtype;
         });
}

Status check_aliasing(const std::vector<PassBinding>& bindings,
                      const std::vector<Resource>& resources) {
  for (std::size_t i = 0; i < bindings.size(); ++i) {
    if (bindings[i].type == BufferType::kUniform) continue;
    // Only the first binding of the buffer counts, as in the reference.
    std::size_t first = 0;
    while (bindings[first].type == BufferType::kUniform ||
           !resources[first].same_buffer(resources[i]))
      ++first;
    if (first == i) continue;
    const std::string names =
        quoted(bindings[first].entry->name) + " and " + quoted(bindings[i].entry->name);
    if (is_written(bindings[first]) != is_written(bindings[i])) {
      return failure("request/alias",
                     "bindings " + names +
                         " are one buffer, read by one and written by the other in the same pass");
    }
    if (is_written(bindings[i]) && overlap(resources[first], resources[i])) {
      return failure("request/alias",
                     "bindings " + names + " are both written and overlap in one buffer");
    }
  }
  return {};
}

}  // namespace wgk::planning
