// SPDX-License-Identifier: Apache-2.0
#include "plan/bindings.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "base/checked.h"
#include "base/number.h"
#include "base/try.h"
#include "plan/infer.h"

namespace wgk::planning {
namespace {

using expr::Value;
using package::BindingEntry;
using package::BufferType;
using package::Field;
using package::Port;

constexpr double kMaxLength = 4294967295.0;
constexpr std::string_view kOpaqueInt64 = "vec2<u32>";

// Bytes of the element types that a fixed length may have; vec3 takes the room of four components.
std::optional<std::uint64_t> fixed_element_bytes(std::string_view element) {
  constexpr std::array<std::pair<std::string_view, std::uint64_t>, 4> kScalars = {
      {{"f32", 4}, {"f16", 2}, {"u32", 4}, {"i32", 4}}};
  if (element == "atomic<u32>" || element == "atomic<i32>") return 4;
  std::uint64_t count = 1;
  if (element.starts_with("vec") && element.size() == 9 && element[4] == '<' &&
      element.back() == '>') {
    if (element[3] < '2' || element[3] > '4') return std::nullopt;
    count = element[3] == '2' ? 2 : 4;
    element = element.substr(5, 3);
  }
  for (const auto& [scalar, bytes] : kScalars) {
    if (scalar == element) return count * bytes;
  }
  return std::nullopt;
}

std::optional<double> number_of(const Value& value) {
  if (const expr::Number* number = value.if_number()) return number->value;
  const std::string* text = value.if_string();
  if (text == nullptr || text->empty()) return std::nullopt;
  double number = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), number);
  if (error != std::errc() || end != text->data() + text->size()) return std::nullopt;
  return number;
}

class Resolver {
 public:
  Resolver(const PackageIndex& index, const package::Variant& variant, const BoundRequest& bound,
           const DeriveLevel& level)
      : index_(index), variant_(variant), bound_(bound), level_(level) {}

  Result<PassBinding> resolve(const BindingEntry& entry) const {
    PassBinding binding;
    binding.entry = &entry;
    if (is_uniform(entry)) {
      binding.type = BufferType::kUniform;
      return binding;
    }
    const std::optional<std::size_t> named = find_resource(entry, binding);
    binding.type = entry.buffer ? *entry.buffer : default_buffer(binding, named);
    WGK_ASSIGN(binding.element, element_type(entry, binding, named));
    WGK_TRY(check_opaque(binding));
    if (entry.length) WGK_TRY(fix_length(entry, binding));
    return binding;
  }

 private:
  // Fills scratch or port. Gives the port that the entry names even where it is not bound.
  std::optional<std::size_t> find_resource(const BindingEntry& entry, PassBinding& binding) const {
    const std::string& wanted = entry.scratch.empty() ? entry.name : entry.scratch;
    const auto scratch =
        std::ranges::find(variant_.intermediates, wanted, &package::Intermediate::id);
    if (scratch != variant_.intermediates.end()) {
      binding.scratch = static_cast<std::size_t>(scratch - variant_.intermediates.begin());
      return std::nullopt;
    }
    const auto argument = entry.arg.empty() ? std::nullopt : index_.find_port(entry.arg);
    const auto variable = index_.find_port(entry.name);
    for (const auto& slot : {argument, variable}) {
      if (!binding.port && slot && bound_.tensor(*slot) != nullptr) binding.port = slot;
    }
    return argument ? argument : variable;
  }

  BufferType default_buffer(const PassBinding& binding,
                            const std::optional<std::size_t>& named) const {
    if (binding.scratch || !named) return BufferType::kStorage;
    return index_.ports[*named].output == nullptr ? BufferType::kReadOnlyStorage
                                                  : BufferType::kStorage;
  }

  Result<std::string> element_type(const BindingEntry& entry, const PassBinding& binding,
                                   const std::optional<std::size_t>& named) const {
    if (entry.element_type) return written_type(entry);
    if (binding.scratch)
      return std::string(wgsl_scalar(variant_.intermediates[*binding.scratch].dtype));
    if (named) {
      const Port& port = index_.ports[*named].any();
      if (port.storage) return std::string(wgsl_scalar(*port.storage));
      if (port.concrete) return std::string(wgsl_scalar(*port.concrete));
      if (!port.dtype.empty()) {
        if (const TypeBinding* type = bound_.type(port.dtype))
          return std::string(wgsl_scalar(type->storage));
        return missing(port.dtype, entry, "elementType");
      }
      if (const BoundTensor* tensor = bound_.tensor(*named))
        return std::string(wgsl_scalar(tensor->storage));
    }
    return failure("plan/rule",
                   "binding " + quoted(entry.name) + " has no elementType, and none can be told");
  }

  Result<std::string> written_type(const BindingEntry& entry) const {
    if (const double* number = entry.element_type->if_number()) return number_text(*number);
    const std::string* text = entry.element_type->if_string();
    if (text == nullptr)
      return failure("plan/rule",
                     "binding " + quoted(entry.name) + " has an elementType that is no text");
    if (!text->starts_with('$')) return *text;
    WGK_ASSIGN(const Value value, reference(*text, entry, "elementType"));
    if (const std::string* name = value.if_string()) return *name;
    return shown(value);
  }

  Result<Value> reference(std::string_view text, const BindingEntry& entry,
                          std::string_view key) const {
    const std::string_view name = text.substr(1);
    const bool known = level_.knows(name) || bound_.type(name) != nullptr;
    const Value* value = known ? level_.scope().find(name) : nullptr;
    if (value == nullptr || value->is_undefined() || value->is_null())
      return missing(name, entry, key);
    return *value;
  }

  static std::unexpected<Error> missing(std::string_view name, const BindingEntry& entry,
                                        std::string_view key) {
    return failure("plan/rule", "binding " + quoted(entry.name) + " takes its " + std::string(key) +
                                    " from " + quoted(name) + ", which has no value");
  }

  Status check_opaque(const PassBinding& binding) const {
    if (!binding.port) return {};
    const BoundTensor& tensor = *bound_.tensor(*binding.port);
    if (tensor.storage != DType::i64 || binding.element == kOpaqueInt64) return {};
    return failure("plan/rule", "binding " + quoted(binding.entry->name) + " has element type " +
                                    binding.element + "; the int64 tensor " +
                                    quoted(index_.ports[*binding.port].key()) +
                                    " must be bound as " + std::string(kOpaqueInt64));
  }

  Status fix_length(const BindingEntry& entry, PassBinding& binding) const {
    Value value = Value::from_json(*entry.length);
    if (const std::string* text = entry.length->if_string();
        text != nullptr && text->starts_with('$')) {
      WGK_ASSIGN(value, reference(*text, entry, "length"));
    }
    const auto length = number_of(value);
    if (!length || !(*length > 0) || *length > kMaxLength || *length != std::trunc(*length)) {
      return failure("plan/rule", "binding " + quoted(entry.name) + " has length " + shown(value) +
                                      "; expected a positive integer");
    }
    const auto bytes = fixed_element_bytes(binding.element);
    if (!bytes) {
      return failure("plan/rule", "binding " + quoted(entry.name) +
                                      " has a fixed length, which elements of type " +
                                      binding.element + " cannot have");
    }
    binding.length = static_cast<std::uint64_t>(*length);
    binding.fixed_bytes = *binding.length * *bytes;
    return {};
  }

  const PackageIndex& index_;
  const package::Variant& variant_;
  const BoundRequest& bound_;
  const DeriveLevel& level_;
};

void append_struct(std::string& text, const BindingEntry& entry) {
  text.append("struct ").append(entry.struct_name).append(" { ");
  for (const Field& field : entry.fields)
    text.append(field.name).append(": ").append(type_text(field.type)).append(", ");
  for (const std::string& pad : padding_names(entry.fields)) text.append(pad).append(": u32, ");
  text.resize(text.size() - 2);
  text += " };\n";
}

}  // namespace

std::string_view type_text(Field::Type type) {
  switch (type) {
    case Field::Type::kU32: return "u32";
    case Field::Type::kI32: return "i32";
    case Field::Type::kF32: break;
  }
  return "f32";
}

std::vector<std::string> padding_names(const std::vector<Field>& fields) {
  std::vector<std::string> names;
  for (std::size_t number = 0; (fields.size() + names.size()) % 4 != 0; ++number) {
    std::string name = "_pad" + std::to_string(number);
    if (std::ranges::find(fields, name, &Field::name) == fields.end())
      names.push_back(std::move(name));
  }
  return names;
}

Result<std::vector<PassBinding>> resolve_bindings(const PackageIndex& index,
                                                  const package::Variant& variant,
                                                  const package::Pass& pass,
                                                  const BoundRequest& bound,
                                                  const DeriveLevel& level) {
  const Resolver resolver(index, variant, bound, level);
  std::vector<PassBinding> bindings;
  bindings.reserve(pass.bindings.size());
  for (const BindingEntry& entry : pass.bindings) {
    WGK_ASSIGN(PassBinding binding, resolver.resolve(entry));
    bindings.push_back(std::move(binding));
  }
  return bindings;
}

Result<std::string> resource_declarations(const std::vector<PassBinding>& bindings) {
  struct Known {
    std::string_view name;
    std::size_t begin, size;  // in text
  };
  std::string text;
  text.reserve(128 * bindings.size());
  std::vector<Known> known;
  for (const PassBinding& binding : bindings) {
    if (binding.type != BufferType::kUniform) continue;
    const std::string& name = binding.entry->struct_name;
    const std::size_t begin = text.size();
    append_struct(text, *binding.entry);
    const auto same = std::ranges::find(known, name, &Known::name);
    if (same == known.end()) {
      known.push_back({name, begin, text.size() - begin});
    } else if (text.substr(same->begin, same->size) == text.substr(begin)) {
      text.resize(begin);
    } else {
      return failure("plan/rule",
                     "uniform struct " + quoted(name) + " is declared twice with different fields");
    }
  }
  for (std::size_t i = 0; i < bindings.size(); ++i) {
    const PassBinding& binding = bindings[i];
    text.append("@group(0) @binding(").append(std::to_string(i)).append(") var<");
    if (binding.type == BufferType::kUniform) {
      text.append("uniform> ")
          .append(binding.entry->name)
          .append(": ")
          .append(binding.entry->struct_name)
          .append(";\n");
      continue;
    }
    text.append(binding.type == BufferType::kStorage ? "storage, read_write> " : "storage, read> ")
        .append(binding.entry->name);
    text.append(": array<").append(binding.element);
    if (binding.length) text.append(", ").append(std::to_string(*binding.length)).append("u");
    text.append(">;\n");
  }
  if (!text.empty()) text.pop_back();
  return text;
}

std::string layout_text(const std::vector<PassBinding>& bindings) {
  std::string text;
  for (const PassBinding& binding : bindings) {
    text += binding.type == BufferType::kUniform   ? 'u'
            : binding.type == BufferType::kStorage ? 'w'
                                                   : 'r';
  }
  return text;
}

}  // namespace wgk::planning
