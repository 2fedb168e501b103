// SPDX-License-Identifier: Apache-2.0
// Evaluates expressions of one tree. Module jinja derives from it to run statements and macros.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "expr/ast.h"
#include "expr/filters.h"
#include "expr/function.h"
#include "expr/limits.h"
#include "expr/value.h"
#include "wgk/error.h"

namespace wgk::expr {

// One scope of a running template. Names are ids of the tree.
struct Frame {
  std::shared_ptr<Frame> parent;
  std::vector<std::pair<NameId, Value>> variables;
  std::map<NameId, std::size_t> places;  // of all variables, once there are more than a few

  const Value* find(NameId name) const;
  void set(NameId name, Value value);
  void clear() {
    variables.clear();
    places.clear();
  }
};

// How an evaluation that returned false ended.
enum class Signal : std::uint8_t { kNone, kError, kBreak, kContinue };

class Evaluator : public CallContext {
 public:
  // `names` holds the outer value of each name of the tree, null where there is none. All arguments
  // outlive the evaluator.
  Evaluator(const Ast& ast, std::span<const Value* const> names, const Limits& limits)
      : ast_(ast), names_(names), limits_(limits) {
    if (limits_.shared != nullptr)
      limits_.max_steps = std::min(limits_.max_steps, limits_.shared->steps);
  }
  ~Evaluator() override {
    if (limits_.shared == nullptr) return;
    limits_.shared->spend(steps_);
    limits_.shared->spend_text(text_bytes_);
  }
  Evaluator(const Evaluator&) = delete;
  Evaluator& operator=(const Evaluator&) = delete;

  // False when there is an error, or a break or continue from inside a macro.
  bool evaluate(NodeId node, Value& result);
  // Makes a value plain (Value::untagged), counting what is copied: lists may share their items
  // many times over.
  bool untag(Value& value);

  bool fail(std::string message) final { return fail_with({}, std::move(message)); }
  bool raise(std::string message) final { return fail_with("template/raised", std::move(message)); }
  bool charge(std::size_t steps) final {
    steps_ += steps;
    if (steps_ <= limits_.max_steps && steps <= limits_.max_output / 4 + 1) return true;
    return fail_charge(steps);
  }
  bool charge_text(std::size_t bytes) final;
  bool fail_depth() final;

  Signal signal() const { return signal_; }
  // The first error; its code is empty for a wrong type or value, which expressions and templates
  // name differently.
  Error error() const { return error_.value_or(Error{}); }
  // Byte of the source where the failing part begins.
  std::size_t error_place() const { return error_place_; }

 protected:
  // Calls a macro or call block.
  virtual bool call_closure(const Function& function, std::span<Value> arguments, Value& result);

  bool fail_with(std::string_view code, std::string message);
  // The value of a node, without a copy where it is a name, a constant or a path; else it is put
  // into `holder`. Valid until a name or the member of a namespace is set. Null as for a false of
  // evaluate().
  const Value* peek(NodeId node, Value& holder) {
    const Node& source = ast_.nodes[node];
    if (source.kind == NodeKind::kName || source.kind == NodeKind::kConstant) {
      if (!charge(1)) return nullptr;
      return source.kind == NodeKind::kName ? &named(source.first) : &ast_.constants[source.first];
    }
    if (source.kind == NodeKind::kPostfix && source.form == PostfixForm::kPath) {
      const Value* place = nullptr;
      return charge(1) && follow_path(source, source.count, holder, place) ? place : nullptr;
    }
    return evaluate(node, holder) ? &holder : nullptr;
  }
  // Nodes that peek() gives without running anything of the template's.
  bool is_lookup(NodeId node) const {
    const Node& source = ast_.nodes[node];
    return source.kind == NodeKind::kName || source.kind == NodeKind::kConstant ||
           (source.kind == NodeKind::kPostfix && source.form == PostfixForm::kPath);
  }
  bool interrupt(Signal signal) {
    signal_ = signal;
    return false;
  }
  void resume() { signal_ = Signal::kNone; }

  bool evaluate_arguments(std::uint32_t first, std::uint32_t count, Arguments& out);
  bool call(const Value& function, std::span<Value> arguments, Value& result);
  bool apply_filter(const FilterUse& use, Value& operand);

  // Counts one level of native recursion; leave() after each successful enter().
  bool enter() {
    if (depth_ == kDeepestRecursion) return fail_recursion();
    ++depth_;
    return true;
  }
  void leave() { --depth_; }

  const Ast& ast_;
  std::span<const Value* const> names_;
  Limits limits_;
  std::shared_ptr<Frame> frame_;  // null in plain expressions
  NameId own_name_ = kNothing;    // found in the innermost frame only, else outside
  // By name: whether a frame may hold it. Null: any name.
  const std::vector<std::uint8_t>* settable_ = nullptr;
  std::size_t place_ = 0;  // byte of the source that is evaluated now

 private:
  // Native recursion, in levels of evaluate(); macros and nested source share it.
  static constexpr std::size_t kDeepestRecursion = 1000;
  static constexpr std::size_t kBytesPerStep = 64;

  bool fail_charge(std::size_t steps);
  bool fail_recursion();
  bool charge_items(const Value& value, std::size_t depth);
  // For what looks through a text.
  bool charge_length(const Value& value) {
    const std::string* text = value.if_string();
    return text == nullptr || text->size() < kBytesPerStep || charge(text->size() / kBytesPerStep);
  }
  bool evaluate_node(const Node& node, Value& result);
  const Value& named(NameId name) const {
    const bool in_frames = frame_ != nullptr && (settable_ == nullptr || (*settable_)[name] != 0);
    if (in_frames) return named_in_frames(name);
    const Value* outer = names_[name];
    return outer == nullptr ? undefined_ : *outer;
  }
  const Value& named_in_frames(NameId name) const;
  bool evaluate_list(const Node& node, Value& result);
  bool evaluate_object(const Node& node, Value& result);
  bool evaluate_sign(const Node& node, Value& result);
  bool evaluate_logical(const Node& node, Value& result);
  bool evaluate_binary(const Node& node, Value& result);
  bool evaluate_postfix(const Node& node, Value& result);
  bool evaluate_simple_call(const Node& node, Value& result);
  // Follows the lookups of a chain before link `end`; `place` points at the value, which lives in
  // `holder` where it had to be made.
  bool follow_path(const Node& node, std::uint32_t end, Value& holder, const Value*& place);
  bool evaluate_step(const Step& step, Value& object);
  bool evaluate_slice(const Step& step, Value& object);
  bool slice_bound(NodeId node, std::string_view which, std::optional<double>& bound);
  bool evaluate_method(const Value& object, const Step& member, std::span<Value> arguments,
                       Value& result, bool& handled);
  bool call_arguments(const Step& step, std::vector<Value>& arguments);
  bool call_native(const Function& function, std::span<Value> arguments, Value& result);

  const Value undefined_;
  std::size_t steps_ = 0;
  std::size_t depth_ = 0;
  std::size_t text_bytes_ = 0;
  std::optional<Error> error_;
  std::size_t error_place_ = 0;
  Signal signal_ = Signal::kNone;
};

}  // namespace wgk::expr
