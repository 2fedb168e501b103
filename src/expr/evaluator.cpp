// SPDX-License-Identifier: Apache-2.0
#include "expr/evaluator.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "expr/members.h"
#include "expr/operators.h"
#include "expr/value_access.h"

namespace wgk::expr {
namespace {

// All texts that one evaluation builds may have this many times the bytes of the largest one.
constexpr std::size_t kTextFactor = 16;

// A list that nobody else holds and whose items leave the engine as they are.
bool is_fresh_and_plain(const Value& value) {
  const Array* list = value.if_array();
  if (list == nullptr || list->is_tuple || ValueAccess::owners(value) != 1) return false;
  return std::none_of(list->items.begin(), list->items.end(), [](const Value& item) {
    const Number* number = item.if_number();
    return (number != nullptr && number->is_float) || item.if_array() != nullptr ||
           item.if_object() != nullptr || item.is_hole() ||
           (item.is_string() && item.if_string() == nullptr);
  });
}

}  // namespace

const Value* Frame::find(NameId name) const {
  if (!places.empty()) {
    const auto place = places.find(name);
    return place == places.end() ? nullptr : &variables[place->second].second;
  }
  for (const auto& [id, value] : variables) {
    if (id == name) return &value;
  }
  return nullptr;
}

void Frame::set(NameId name, Value value) {
  constexpr std::size_t kFew = 32;
  if (const Value* known = find(name)) {
    const_cast<Value&>(*known) = std::move(value);
    return;
  }
  variables.emplace_back(name, std::move(value));
  if (variables.size() <= kFew) return;
  for (std::size_t i = places.size(); i < variables.size(); ++i)
    places.emplace(variables[i].first, i);
}

bool Evaluator::fail_with(std::string_view code, std::string message) {
  if (signal_ != Signal::kError) {
    signal_ = Signal::kError;
    error_.emplace();
    error_->code = std::string(code);
    error_->message = std::move(message);
    error_place_ = place_;
  }
  return false;
}

bool Evaluator::fail_charge(std::size_t steps) {
  const Allowance* shared = limits_.shared;
  if (steps_ > limits_.max_steps && shared != nullptr && limits_.max_steps == shared->steps) {
    return fail_with("limit/steps", "the expressions and templates of one plan took more than " +
                                        std::to_string(shared->most) + " steps together");
  }
  if (steps_ > limits_.max_steps) {
    return fail_with("limit/steps",
                     "stopped after " + std::to_string(limits_.max_steps) + " steps");
  }
  return fail_with("limit/output",
                   "a list or text of " + std::to_string(steps) + " items is too long");
}

bool Evaluator::charge_text(std::size_t bytes) {
  text_bytes_ += bytes;
  if (limits_.shared != nullptr && text_bytes_ > limits_.shared->text_bytes) {
    return fail_with("limit/output",
                     "the texts that the expressions and templates of one plan build are too long "
                     "together");
  }
  if (bytes <= limits_.max_output && text_bytes_ / kTextFactor <= limits_.max_output) return true;
  return fail_with("limit/output",
                   "a text is longer than " + std::to_string(limits_.max_output) + " bytes");
}

bool Evaluator::fail_depth() {
  return fail_with("limit/depth", "a value is nested too deep to be printed");
}

bool Evaluator::fail_recursion() {
  return fail_with("limit/depth", "evaluation is nested too deep");
}

bool Evaluator::call_closure(const Function& function, std::span<Value>, Value&) {
  return fail("'" + function.name + "' cannot be called here");
}

bool Evaluator::evaluate(NodeId id, Value& result) {
  const Node& node = ast_.nodes[id];
  if (++steps_ > limits_.max_steps) return fail_charge(0);
  switch (node.kind) {
    case NodeKind::kConstant: result = ast_.constants[node.first]; return true;
    case NodeKind::kName: result = named(node.first); return true;
    default: break;
  }
  if (!enter()) return false;
  const bool success = evaluate_node(node, result);
  leave();
  return success;
}

bool Evaluator::evaluate_node(const Node& node, Value& result) {
  switch (node.kind) {
    case NodeKind::kList:
    case NodeKind::kTuple: return evaluate_list(node, result);
    case NodeKind::kObject: return evaluate_object(node, result);
    case NodeKind::kNot: {
      Value holder;
      const Value* operand = peek(node.first, holder);
      if (operand == nullptr) return false;
      place_ = node.begin;
      if (operand->is_hole()) return fail("an empty place has no truth");
      result = Value(!is_raw_true(*operand));
      return true;
    }
    case NodeKind::kPlus:
    case NodeKind::kMinus: return evaluate_sign(node, result);
    case NodeKind::kAnd:
    case NodeKind::kOr: return evaluate_logical(node, result);
    case NodeKind::kBinary: return evaluate_binary(node, result);
    case NodeKind::kPostfix: return evaluate_postfix(node, result);
    case NodeKind::kFiltered:
      if (!evaluate(ast_.links[node.first], result)) return false;
      for (std::uint32_t i = 1; i < node.count; ++i) {
        if (!apply_filter(ast_.filters[ast_.links[node.first + i]], result)) return false;
      }
      return true;
    case NodeKind::kTested:
      if (!evaluate(ast_.links[node.first], result)) return false;
      for (std::uint32_t i = 1; i < node.count; ++i) {
        const TestUse& use = ast_.tests[ast_.links[node.first + i]];
        bool passes = false;
        place_ = use.at;
        if (!charge_length(result)) return false;
        if (!apply_test(*this, use.test, ast_.names[use.name].text, result, nullptr, passes))
          return false;
        result = Value(passes != use.negated);
      }
      return true;
    case NodeKind::kTernary:
    case NodeKind::kSelect: {
      Value holder;
      const Value* condition = peek(ast_.links[node.first], holder);
      if (condition == nullptr) return false;
      if (condition->is_hole()) return fail("an empty place has no truth");
      if (is_true(*condition)) return evaluate(ast_.links[node.first + 1], result);
      if (node.kind == NodeKind::kTernary) return evaluate(ast_.links[node.first + 2], result);
      result = Value();
      return true;
    }
    default: return false;
  }
}

const Value& Evaluator::named_in_frames(NameId name) const {
  for (const Frame* frame = frame_.get(); frame != nullptr; frame = frame->parent.get()) {
    const Value* found = frame->find(name);
    if (found == nullptr && name == own_name_) break;
    if (found != nullptr) return found->is_hole() ? undefined_ : *found;
  }
  const Value* outer = names_[name];
  return outer == nullptr ? undefined_ : *outer;
}

bool Evaluator::evaluate_list(const Node& node, Value& result) {
  std::vector<Value> items(node.count);
  for (std::uint32_t i = 0; i < node.count; ++i) {
    if (!evaluate(ast_.links[node.first + i], items[i])) return false;
  }
  result = Value(std::make_shared<Array>(std::move(items), node.kind == NodeKind::kTuple));
  return true;
}

bool Evaluator::evaluate_object(const Node& node, Value& result) {
  auto object = std::make_shared<Object>();
  object->members.reserve(node.count / 2);
  for (std::uint32_t i = 0; i < node.count; i += 2) {
    Value key;
    if (!evaluate(ast_.links[node.first + i], key)) return false;
    if (!key.is_string())
      return fail("the key of an object must be a string, got " + std::string(kind_name(key)));
    Value value;
    if (!evaluate(ast_.links[node.first + i + 1], value)) return false;
    object->set(key.if_string() == nullptr ? std::string_view("undefined") : *key.if_string(),
                std::move(value));
    if (!charge_search(*this, *object, object->members.back().first)) return false;
  }
  result = Value(std::move(object));
  return true;
}

bool Evaluator::evaluate_sign(const Node& node, Value& result) {
  if (!evaluate(node.first, result)) return false;
  const double sign = node.kind == NodeKind::kMinus ? -1 : 1;
  if (const Number* number = result.if_number()) {
    result = Number{sign * number->value, number->is_float};
    return true;
  }
  if (const bool* flag = result.if_bool()) {
    result = Number{sign * (*flag ? 1 : 0), false};
    return true;
  }
  place_ = node.begin;
  return fail("a sign does not work on " + std::string(kind_name(result)));
}

// Gives back the operand that decides.
bool Evaluator::evaluate_logical(const Node& node, Value& result) {
  const bool wanted = node.kind == NodeKind::kOr;
  const Value* operand = nullptr;
  for (std::uint32_t i = 0; i < node.count; ++i) {
    operand = peek(ast_.links[node.first + i], result);
    if (operand == nullptr) return false;
    if (i + 1 == node.count) break;
    if (operand->is_hole()) return fail("an empty place has no truth");
    if (is_true(*operand) == wanted) break;
  }
  if (operand != &result) result = Value(*operand);
  return true;
}

bool Evaluator::evaluate_binary(const Node& node, Value& result) {
  Value left_holder, right_holder;
  const NodeId first = ast_.links[node.first];
  const Value* left = peek(first, left_holder);
  if (left == nullptr) return false;
  if (ast_.nodes[first].kind == NodeKind::kPostfix && !is_lookup(ast_.links[node.first + 2])) {
    // A macro on the right may replace the member of a namespace.
    Value copy = *left;
    left_holder = std::move(copy);
    left = &left_holder;
  }
  for (std::uint32_t i = 1; i < node.count; i += 2) {
    const auto op = static_cast<Operator>(ast_.links[node.first + i]);
    const Value* right = peek(ast_.links[node.first + i + 1], right_holder);
    if (right == nullptr) return false;
    place_ = node.begin;
    if (!charge_length(*left) || !charge_length(*right)) return false;
    const Number* a = left->if_number();
    const Number* b = right->if_number();
    if (a != nullptr && b != nullptr && op == Operator::kEqual) {
      result = Value(a->value == b->value);
    } else if (!apply_operator(*this, op, *left, *right, result)) {
      return false;
    }
    if (i + 2 >= node.count) break;
    left_holder = std::move(result);
    left = &left_holder;
  }
  return true;
}

bool Evaluator::call_arguments(const Step& step, std::vector<Value>& arguments) {
  const bool simple = std::all_of(
      ast_.arguments.begin() + step.a, ast_.arguments.begin() + step.a + step.b,
      [](const Argument& argument) { return argument.kind == ArgumentKind::kPositional; });
  if (simple) {
    arguments.resize(step.b);
    for (std::uint32_t i = 0; i < step.b; ++i) {
      if (!evaluate(ast_.arguments[step.a + i].value, arguments[i])) return false;
    }
    return true;
  }
  Arguments all;
  if (!evaluate_arguments(step.a, step.b, all)) return false;
  arguments = std::move(all.positional);
  if (!all.keywords.empty()) {
    arguments.emplace_back(
        std::make_shared<Object>(std::move(all.keywords), Object::Kind::kKeywords));
  }
  return true;
}

bool Evaluator::follow_path(const Node& node, std::uint32_t end, Value& holder,
                            const Value*& place) {
  place = &named(ast_.nodes[ast_.links[node.first]].first);
  for (std::uint32_t i = 1; i < end; ++i) {
    const Step& step = ast_.steps[ast_.links[node.first + i]];
    const bool is_member = step.kind == StepKind::kMember;
    if (const Object* object = place->if_object(); object != nullptr && is_member) {
      if (!charge_search(*this, *object, ast_.names[step.a].text)) return false;
      const Value* found = object->find(ast_.names[step.a].text);
      if (found != nullptr && !found->is_hole()) {
        place = found;
        continue;
      }
    }
    place_ = step.at;
    Value next;
    if (is_member) {
      if (!get_member(*this, *place, ast_.names[step.a].text, next)) return false;
    } else {
      const std::uint32_t constant =
          step.kind == StepKind::kPosition ? step.a : ast_.nodes[step.a].first;
      if (!get_element(*this, *place, ast_.constants[constant], next)) return false;
    }
    holder = std::move(next);
    place = &holder;
  }
  return true;
}

bool Evaluator::evaluate_simple_call(const Node& node, Value& result) {
  const auto step_at = [&](std::uint32_t i) -> const Step& {
    return ast_.steps[ast_.links[node.first + i]];
  };
  const std::uint32_t last = node.count - 1;
  const Step& step = step_at(last);
  std::array<Value, kFewArguments> values;
  const std::span<Value> arguments(values.data(), step.b);
  for (std::uint32_t i = 0; i < step.b; ++i) {
    if (!evaluate(ast_.arguments[step.a + i].value, values[i])) return false;
  }
  Value holder;
  const Value* place = nullptr;
  const bool is_method = last > 1 && step_at(last - 1).kind == StepKind::kMember;
  if (!follow_path(node, is_method ? last - 1 : last, holder, place)) return false;
  place_ = step.at;
  if (!is_method) return call(*place, arguments, result);
  bool handled = false;
  const Step& member = step_at(last - 1);
  if (!evaluate_method(*place, member, arguments, result, handled)) return false;
  if (handled) return true;
  const Object* object = place->if_object();
  const Value* function = object == nullptr ? nullptr : object->find(ast_.names[member.a].text);
  if (function != nullptr) return call(*function, arguments, result);
  Value found;
  return get_member(*this, *place, ast_.names[member.a].text, found) &&
         call(found, arguments, result);
}

// As in the reference the arguments of a call are evaluated before what is called, so the last call
// of a chain comes first.
bool Evaluator::evaluate_postfix(const Node& node, Value& result) {
  if (node.form == PostfixForm::kCall) return evaluate_simple_call(node, result);
  if (node.form == PostfixForm::kPath) {
    Value holder;
    const Value* place = nullptr;
    if (!follow_path(node, node.count, holder, place)) return false;
    result = place == &holder ? std::move(holder) : Value(*place);
    return true;
  }
  std::vector<Value> single;
  std::vector<std::vector<Value>> many;
  const auto step_at = [&](std::uint32_t i) -> const Step& {
    return ast_.steps[ast_.links[node.first + i]];
  };
  std::uint32_t calls = 0;
  for (std::uint32_t i = node.count - 1; i > 0; --i) {
    if (step_at(i).kind != StepKind::kCall) continue;
    if (calls++ > 0) many.push_back(std::move(single));
    single.clear();
    if (!call_arguments(step_at(i), single)) return false;
  }
  if (!evaluate(ast_.links[node.first], result)) return false;
  for (std::uint32_t i = 1; i < node.count; ++i) {
    const Step& step = step_at(i);
    const bool called = i + 1 < node.count && step_at(i + 1).kind == StepKind::kCall;
    place_ = step.at;
    if (step.kind == StepKind::kCall) {
      const Value callee = std::move(result);
      if (!call(callee, single, result)) return false;
    } else if (step.kind == StepKind::kMember && called) {
      // A method is called without a value for it.
      bool handled = false;
      const Value object = std::move(result);
      if (!evaluate_method(object, step, single, result, handled)) return false;
      if (!handled) {
        if (!get_member(*this, object, ast_.names[step.a].text, result)) return false;
        continue;
      }
      ++i;
    } else {
      if (!evaluate_step(step, result)) return false;
      continue;
    }
    if (!many.empty()) {
      single = std::move(many.back());
      many.pop_back();
    }
  }
  return true;
}

bool Evaluator::evaluate_method(const Value& object, const Step& member, std::span<Value> arguments,
                                Value& result, bool& handled) {
  const std::string& name = ast_.names[member.a].text;
  const Object* map = object.if_object();
  if (map != nullptr && map->find(name) != nullptr) return true;
  const Native method = find_method(object, name);
  if (method == nullptr) return true;
  handled = true;
  if (!charge_length(object)) return false;
  return method(*this, object, arguments, result);
}

bool Evaluator::evaluate_step(const Step& step, Value& object) {
  switch (step.kind) {
    case StepKind::kMember: {
      const Value container = std::move(object);
      return get_member(*this, container, ast_.names[step.a].text, object);
    }
    case StepKind::kPosition: {
      const Value container = std::move(object);
      return get_element(*this, container, ast_.constants[step.a], object);
    }
    case StepKind::kIndex: {
      Value index;
      if (!evaluate(step.a, index)) return false;
      place_ = step.at;
      const Value container = std::move(object);
      return get_element(*this, container, index, object);
    }
    case StepKind::kSlice: return evaluate_slice(step, object);
    case StepKind::kCall: break;
  }
  return false;
}

bool Evaluator::evaluate_slice(const Step& step, Value& object) {
  if (object.if_array() == nullptr && !object.is_string()) {
    return fail(std::string(kind_name(object)) + " cannot be sliced");
  }
  Slice slice;
  if (!slice_bound(step.a, "start", slice.start) || !slice_bound(step.b, "stop", slice.stop) ||
      !slice_bound(step.c, "step", slice.step)) {
    return false;
  }
  place_ = step.at;
  const Value container = std::move(object);
  return get_slice(*this, container, slice, object);
}

bool Evaluator::slice_bound(NodeId node, std::string_view which, std::optional<double>& bound) {
  if (node == kNothing) return true;
  Value value;
  if (!evaluate(node, value)) return false;
  if (value.is_undefined()) return true;
  const Number* number = value.if_number();
  if (number == nullptr || number->is_float) {
    return fail("the " + std::string(which) + " of a slice must be an int, got " +
                std::string(kind_name(value)));
  }
  bound = number->value;
  return true;
}

// Positional arguments come first, wherever they stand.
bool Evaluator::evaluate_arguments(std::uint32_t first, std::uint32_t count, Arguments& out) {
  for (std::uint32_t i = first; i < first + count; ++i) {
    const Argument& argument = ast_.arguments[i];
    if (argument.kind == ArgumentKind::kPositional) {
      out.positional.emplace_back();
      if (!evaluate(argument.value, out.positional.back())) return false;
    } else if (argument.kind == ArgumentKind::kSpread) {
      Value list;
      if (!evaluate(argument.value, list)) return false;
      if (list.if_array() == nullptr)
        return fail("'*' needs a list, got " + std::string(kind_name(list)));
      const std::vector<Value>& items = list.if_array()->items;
      if (!charge(items.size())) return false;
      out.positional.insert(out.positional.end(), items.begin(), items.end());
    }
  }
  const auto add = [&](std::string_view name, Value value) {
    const auto same = [name](const auto& keyword) { return keyword.first == name; };
    if (std::any_of(out.keywords.begin(), out.keywords.end(), same)) {
      return fail("keyword argument '" + std::string(name) + "' is given twice");
    }
    out.keywords.emplace_back(std::string(name), std::move(value));
    return charge(out.keywords.size() / 8);
  };
  for (std::uint32_t i = first; i < first + count; ++i) {
    const Argument& argument = ast_.arguments[i];
    if (argument.kind == ArgumentKind::kPositional || argument.kind == ArgumentKind::kSpread)
      continue;
    Value value;
    if (!evaluate(argument.value, value)) return false;
    if (argument.kind == ArgumentKind::kKeyword) {
      if (!add(ast_.names[argument.name].text, std::move(value))) return false;
      continue;
    }
    if (!is_map(value)) return fail("'**' needs an object, got " + std::string(kind_name(value)));
    for (const auto& [key, member] : value.if_object()->members) {
      if (!add(key, member)) return false;
    }
  }
  return true;
}

bool Evaluator::call(const Value& function, std::span<Value> arguments, Value& result) {
  const Function* target = function.if_function();
  if (target == nullptr) return fail(std::string(kind_name(function)) + " cannot be called");
  if (!charge(1)) return false;
  if (target->native == nullptr) {
    const Value keep = function;  // the body may replace what holds it
    return call_closure(*target, arguments, result);
  }
  return call_native(*target, arguments, result);
}

bool Evaluator::charge_items(const Value& value, std::size_t depth) {
  const Array* array = value.if_array();
  const Object* object = value.if_object();
  if (array == nullptr && object == nullptr) return true;
  if (depth == 0) return fail_depth();
  // What is copied has a place of its own in memory beside its items.
  constexpr std::size_t kStepsOfACopy = 4;
  steps_ += kStepsOfACopy;
  if (!charge(array != nullptr ? array->items.size() : object->members.size())) return false;
  if (array != nullptr) {
    return std::ranges::all_of(array->items,
                               [&](const Value& item) { return charge_items(item, depth - 1); });
  }
  return std::ranges::all_of(
      object->members, [&](const auto& member) { return charge_items(member.second, depth - 1); });
}

bool Evaluator::untag(Value& value) {
  if (!charge_items(value, kDeepestRecursion)) return false;
  value = std::move(value).untagged();
  return true;
}

bool Evaluator::call_native(const Function& function, std::span<Value> arguments, Value& result) {
  if (!function.plain) {
    return charge_length(function.bound) &&
           function.native(*this, function.bound, arguments, result);
  }
  for (Value& argument : arguments) {
    if (argument.is_hole())
      return fail("an empty place cannot be passed to '" + function.name + "'");
    if (is_nullish(argument)) argument = Value();
    if (!charge_length(argument)) return false;
  }
  if (!function.native(*this, function.bound, arguments, result)) return false;
  if (const Number* number = result.if_number()) {
    result = Value::plain(number->value);
  } else if (is_nullish(result)) {
    result = Value(Null{});
  } else if ((result.if_array() != nullptr && !is_fresh_and_plain(result)) ||
             result.if_object() != nullptr) {
    return untag(result);
  }
  return true;
}

bool Evaluator::apply_filter(const FilterUse& use, Value& operand) {
  place_ = use.at;
  if (!charge(1) || !charge_length(operand)) return false;
  const std::string& name = ast_.names[use.name].text;
  if (!use.is_valid) return fail("'" + name + "(...)' with something behind it is not a filter");
  if (!use.has_arguments) return apply_bare_filter(*this, use.filter, name, operand);
  Arguments arguments;
  bool all_literal = true;
  for (std::uint32_t i = use.first; i < use.first + use.count; ++i) {
    const Argument& argument = ast_.arguments[i];
    const Node& value = ast_.nodes[argument.value];
    all_literal = all_literal && argument.kind == ArgumentKind::kPositional &&
                  value.kind == NodeKind::kConstant && ast_.constants[value.first].is_string();
  }
  const bool selects = use.filter == Filter::kSelectattr || use.filter == Filter::kRejectattr;
  const bool lazy = selects && !all_literal;
  if (!lazy && !evaluate_arguments(use.first, use.count, arguments)) return false;
  place_ = use.at;
  return apply_call_filter(*this, use.filter, name, arguments, all_literal, operand);
}

}  // namespace wgk::expr
