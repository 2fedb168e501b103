// SPDX-License-Identifier: Apache-2.0
#include "plan/planner.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <mutex>
#include <string_view>
#include <utility>

namespace wgk {
namespace planning {
namespace {

constexpr std::size_t kMaxPlans = 4096;

class Hasher {
 public:
  void add(std::uint64_t value) {
    state_ = std::rotl((state_ ^ value) * 0x9E3779B97F4A7C15ULL, 29);
  }
  void add(std::string_view text) {
    add(text.size());
    for (; text.size() > 8; text.remove_prefix(8)) add(word(text.substr(0, 8)));
    add(word(text));
  }
  void add(const Shape& shape) {
    add(shape.size());
    for (const std::int64_t dimension : shape) add(static_cast<std::uint64_t>(dimension));
  }
  template <class T>
  void add(const std::optional<T>& value) {
    if (value) {
      add_present(*value);
    } else {
      add(std::uint64_t{0x55});
    }
  }
  void add(const Json& value) {
    if (const double* number = value.if_number()) return add(std::bit_cast<std::uint64_t>(*number));
    if (const std::string* text = value.if_string()) return add(std::string_view(*text));
    if (const bool* flag = value.if_bool()) return add(std::uint64_t{*flag ? 3U : 2U});
    if (const Json::Array* items = value.if_array()) {
      add(items->size() + 7);
      for (const Json& item : *items) add(item);
    } else if (const Json::Object* members = value.if_object()) {
      add(members->size() + 11);
      add(*members);
    } else {
      add(std::uint64_t{1});
    }
  }
  void add(const std::vector<std::pair<std::string, Json>>& entries) {
    add(entries.size());
    for (const auto& [name, value] : entries) {
      add(std::string_view(name));
      add(value);
    }
  }
  void add(const TensorDesc& tensor) {
    add(tensor.shape);
    const auto code = [](const std::optional<DType>& dtype) {
      return dtype ? static_cast<std::uint64_t>(*dtype) + 1 : 0;
    };
    add(code(tensor.dtype) | code(tensor.storage) << 8 | code(tensor.host_array) << 16 |
        std::uint64_t{tensor.packed} << 24 | std::uint64_t{tensor.on_device} << 25 |
        std::uint64_t{tensor.range.has_value()} << 26);
    if (tensor.range) add(tensor.range->offset ^ std::rotl(tensor.range->size, 32));
  }
  std::uint64_t finish() const { return state_ ^ (state_ >> 31); }

 private:
  static std::uint64_t word(std::string_view text) {
    std::uint64_t value = 0;
    std::memcpy(&value, text.data(), text.size());
    return value;
  }
  void add_present(const Shape& shape) { add(shape); }
  void add_present(const TensorDesc& tensor) { add(tensor); }
  void add_present(DType dtype) { add(static_cast<std::uint64_t>(dtype) + 1); }

  std::uint64_t state_ = 0x2545F4914F6CDD1DULL;
};

bool same_tensor(const TensorDesc& a, const TensorDesc& b) {
  return a.dtype == b.dtype && a.storage == b.storage && a.packed == b.packed &&
         a.on_device == b.on_device && a.host_array == b.host_array &&
         a.range.has_value() == b.range.has_value() &&
         (!a.range || (a.range->offset == b.range->offset && a.range->size == b.range->size)) &&
         a.shape == b.shape;
}

bool same_output(const OutputDesc& a, const OutputDesc& b) {
  return a.dtype == b.dtype && a.shape == b.shape &&
         a.destination.has_value() == b.destination.has_value() &&
         (!a.destination || same_tensor(*a.destination, *b.destination));
}

// Buffers by position: the n-th tensor of the request that has one, inputs first.
template <class Visit>
void for_each_buffer(const Request& request, Visit visit) {
  for (const auto& [name, tensor] : request.inputs) {
    if (tensor.range) visit(tensor.range->buffer);
  }
  for (const auto& [name, output] : request.outputs) {
    if (output.destination && output.destination->range) visit(output.destination->range->buffer);
  }
}

// Whether the same positions hold equal buffers. Both requests have ranges at the same positions.
bool same_sharing(const Request& a, const Request& b) {
  bool same = true;
  std::size_t outer = 0;
  for_each_buffer(a, [&](std::uint64_t) { ++outer; });
  if (outer < 2) return true;
  std::vector<std::uint64_t> left, right;
  left.reserve(outer);
  right.reserve(outer);
  for_each_buffer(a, [&left](std::uint64_t buffer) { left.push_back(buffer); });
  for_each_buffer(b, [&right](std::uint64_t buffer) { right.push_back(buffer); });
  for (std::size_t i = 1; same && i < outer; ++i) {
    for (std::size_t j = 0; same && j < i; ++j)
      same = (left[i] == left[j]) == (right[i] == right[j]);
  }
  return same;
}

bool has_contents(const Request& request) {
  return std::ranges::any_of(
      request.inputs, [](const auto& input) { return input.second.host_data.data() != nullptr; });
}

}  // namespace

std::uint64_t signature_hash(const Request& request) {
  Hasher hasher;
  hasher.add(request.inputs.size() | request.outputs.size() << 16);
  for (const auto& [name, tensor] : request.inputs) {
    hasher.add(std::string_view(name));
    hasher.add(tensor);
  }
  for (const auto& [name, output] : request.outputs) {
    hasher.add(std::string_view(name));
    hasher.add(output.shape);
    hasher.add(output.dtype);
    hasher.add(output.destination);
  }
  hasher.add(request.attrs);
  hasher.add(request.args);
  hasher.add(request.tunables);
  hasher.add(std::string_view(request.variant));
  return hasher.finish();
}

bool same_signature(const Request& a, const Request& b) {
  const auto inputs = [](const auto& x, const auto& y) {
    return x.first == y.first && same_tensor(x.second, y.second);
  };
  const auto outputs = [](const auto& x, const auto& y) {
    return x.first == y.first && same_output(x.second, y.second);
  };
  return std::ranges::equal(a.inputs, b.inputs, inputs) &&
         std::ranges::equal(a.outputs, b.outputs, outputs) && a.attrs == b.attrs &&
         a.args == b.args && a.tunables == b.tunables && a.variant == b.variant &&
         same_sharing(a, b);
}

Request signature_of(const Request& request) {
  Request copy = request;
  for (auto& [name, tensor] : copy.inputs) tensor.host_data = {};
  for (auto& [name, output] : copy.outputs) {
    if (output.destination) output.destination->host_data = {};
  }
  return copy;
}

std::shared_ptr<const Plan> PlanCache::find(const Request& request, std::uint64_t hash) const {
  const std::shared_lock lock(mutex_);
  const auto [begin, end] = entries_.equal_range(hash);
  for (auto entry = begin; entry != end; ++entry) {
    if (same_signature(entry->second.request, request)) return entry->second.plan;
  }
  return nullptr;
}

std::shared_ptr<const Plan> PlanCache::insert(const Request& request, std::uint64_t hash,
                                              Plan plan) {
  auto shared = std::make_shared<const Plan>(std::move(plan));
  Request signature = signature_of(request);
  const std::unique_lock lock(mutex_);
  const auto [begin, end] = entries_.equal_range(hash);
  for (auto entry = begin; entry != end; ++entry) {
    if (same_signature(entry->second.request, request)) return entry->second.plan;
  }
  if (entries_.size() >= kMaxPlans) entries_.clear();
  entries_.emplace(hash, Entry{std::move(signature), shared});
  return shared;
}

}  // namespace planning

struct Planner::State {
  State(std::shared_ptr<const package::Package> source, DeviceCaps device_caps,
        PlanOptions plan_options)
      : package(std::move(source)),
        caps(std::move(device_caps)),
        options(std::move(plan_options)),
        site(*package, caps, options, texts) {}

  std::shared_ptr<const package::Package> package;
  DeviceCaps caps;
  PlanOptions options;
  planning::RenderCache texts;
  planning::PlanCache plans;
  planning::Site site;
};

Planner::Planner(std::shared_ptr<const package::Package> package, DeviceCaps caps,
                 PlanOptions options)
    : state_(std::make_shared<State>(std::move(package), std::move(caps), std::move(options))) {}

const package::Package& Planner::package() const { return *state_->package; }

const DeviceCaps& Planner::caps() const { return state_->caps; }

Result<std::shared_ptr<const Plan>> Planner::plan(const Request& request) const {
  const std::uint64_t hash = planning::signature_hash(request);
  if (auto known = state_->plans.find(request, hash)) {
    if (!planning::has_contents(request)) return known;
    auto violations = planning::check_contents(state_->site, request);
    if (violations.empty()) return known;
    return std::unexpected(planning::merged(std::move(violations)));
  }
  auto plan = planning::plan_on(state_->site, request);
  if (!plan) return std::unexpected(std::move(plan.error()));
  return state_->plans.insert(request, hash, std::move(*plan));
}

Explanation Planner::explain(const Request& request) const {
  return planning::explain_on(state_->site, request);
}

}  // namespace wgk
