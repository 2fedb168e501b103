// SPDX-License-Identifier: Apache-2.0
#include "jinja/renderer.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "expr/members.h"
#include "expr/operators.h"
#include "expr/value_access.h"

namespace wgk::jinja {

using expr::Frame;
using expr::kNothing;
using expr::NodeKind;
using expr::Object;
using expr::Signal;
using expr::Value;

// Runs inside another frame for a scope.
class Renderer::InFrame {
 public:
  InFrame(Renderer& renderer, FramePtr frame)
      : renderer_(renderer), before_(std::move(renderer.frame_)) {
    renderer_.frame_ = std::move(frame);
  }
  InFrame(const InFrame&) = delete;
  InFrame& operator=(const InFrame&) = delete;
  ~InFrame() { renderer_.frame_ = std::move(before_); }

 private:
  Renderer& renderer_;
  FramePtr before_;
};

Renderer::Renderer(const Tree& tree, std::string_view source, std::span<const Value* const> names,
                   const expr::Limits& limits, ListStyle lists)
    : Evaluator(tree.ast, names, limits), tree_(tree), source_(source), lists_(lists) {
  frame_ = std::make_shared<Frame>();
  own_name_ = tree.special.space;
  settable_ = &tree.settable;
  out_.reserve(std::min(source.size(), limits.max_output));
}

Renderer::~Renderer() {
  for (const FramePtr& frame : captured_) frame->clear();
  for (const std::shared_ptr<Object>& space : namespaces_) space->members.clear();
  frame_->clear();
}

bool Renderer::run() {
  if (run_block(tree_.root)) return true;
  if (signal() == Signal::kError) return false;
  resume();
  return fail("break and continue work inside of loops only");
}

bool Renderer::fail_output() {
  return fail_with("limit/output",
                   "the text is longer than " + std::to_string(limits_.max_output) + " bytes");
}

bool Renderer::run_block(Block block) {
  for (std::uint32_t i = 0; i < block.count; ++i) {
    const StatementId id = tree_.order[block.first + i];
    const Statement& statement = tree_.statements[id];
    if (statement.kind == StatementKind::kText) {
      out_.append(source_, statement.begin, statement.end - statement.begin);
      if (!charge(1) || !check_output()) return false;
    } else if (!run_statement(id, statement)) {
      return false;
    }
  }
  return true;
}

bool Renderer::run_statement(StatementId id, const Statement& statement) {
  place_ = statement.begin;
  if (!charge(1) || !enter()) return false;
  bool success = true;
  switch (statement.kind) {
    case StatementKind::kText: break;
    case StatementKind::kPrint: success = run_print(statement); break;
    case StatementKind::kSet: success = run_set(statement); break;
    case StatementKind::kIf: success = run_if(statement); break;
    case StatementKind::kFor: success = run_for(statement); break;
    case StatementKind::kMacro: define_macro(id); break;
    case StatementKind::kCall: success = run_call(id); break;
    case StatementKind::kFilter: success = run_filter(statement); break;
    case StatementKind::kBreak: success = interrupt(Signal::kBreak); break;
    case StatementKind::kContinue: success = interrupt(Signal::kContinue); break;
  }
  leave();
  return success && check_output();
}

bool Renderer::run_print(const Statement& statement) {
  Value holder;
  const Value* value = peek(statement.node, holder);
  return value != nullptr && print(*value);
}

bool Renderer::run_filter(const Statement& statement) {
  Value text;
  return capture(statement.body, text) && apply_filter(tree_.ast.filters[statement.filter], text) &&
         print(text);
}

bool Renderer::print(const Value& value) {
  if (value.is_undefined() || value.is_null()) return true;
  if (lists_ == ListStyle::kBrackets || value.if_array() == nullptr)
    return expr::append_printed(*this, value, out_);
  expr::JsonFormat format;
  format.undefined_is_null = false;
  format.open = '(';
  format.close = ')';
  bool textless = false;
  return expr::append_json(*this, value, format, out_, textless);
}

bool Renderer::capture(Block block, Value& result) {
  const std::size_t mark = out_.size();
  if (!run_block(block)) return false;
  result = Value(out_.substr(mark));
  out_.resize(mark);
  return charge_text(result.if_string()->size());
}

bool Renderer::run_set(const Statement& statement) {
  Value value;
  const bool computed =
      statement.node == kNothing ? capture(statement.body, value) : evaluate(statement.node, value);
  return computed && assign(statement, std::move(value));
}

bool Renderer::assign(const Statement& statement, Value value) {
  const expr::Node& target = ast_.nodes[statement.target];
  if (target.kind == NodeKind::kName) {
    frame_->set(target.first, std::move(value));
    return true;
  }
  if (statement.owner != kNothing) return assign_member(statement, value);
  if (target.kind != NodeKind::kTuple)
    return fail("a value can be set to a name, a tuple of names or a member only");
  const expr::Array* list = value.if_array();
  if (list == nullptr) return fail("cannot unpack " + std::string(expr::kind_name(value)));
  if (list->items.size() != target.count) {
    return fail("cannot unpack " + std::to_string(list->items.size()) + " items into " +
                std::to_string(target.count) + " names");
  }
  for (std::uint32_t i = 0; i < target.count; ++i) {
    const expr::Node& name = ast_.nodes[ast_.links[target.first + i]];
    if (name.kind != NodeKind::kName) return fail("a value can be unpacked to names only");
    frame_->set(name.first, list->items[i]);
  }
  return true;
}

bool Renderer::assign_member(const Statement& statement, const Value& value) {
  Value owner;
  if (!evaluate(statement.owner, owner)) return false;
  place_ = statement.begin;
  const Object* found = owner.if_object();
  if (found == nullptr || found->kind != Object::Kind::kNamespace) {
    return fail("members of a namespace can be set only, not of " +
                std::string(expr::kind_name(owner)));
  }
  if (statement.name == kNothing) return fail("a member is set by its name only");
  const std::shared_ptr<Object> space = expr::ValueAccess::shared_object(owner);
  const bool may_hold_itself = expr::ValueAccess::identity(value) != nullptr;
  if (may_hold_itself &&
      std::find(namespaces_.begin(), namespaces_.end(), space) == namespaces_.end()) {
    if (!charge(namespaces_.size() / 8 + 16)) return false;
    namespaces_.push_back(space);
  }
  space->set(ast_.names[statement.name].text, value);
  return charge(space->members.size() / 8);
}

bool Renderer::run_if(const Statement& statement) {
  for (std::uint32_t i = 0; i < statement.branch_count; ++i) {
    const Branch& branch = tree_.branches[statement.first_branch + i];
    Value holder;
    const Value* condition = peek(branch.condition, holder);
    if (condition == nullptr) return false;
    if (condition->is_hole()) return fail("an empty place has no truth");
    if (expr::is_true(*condition)) return run_block(branch.body);
  }
  return run_block(statement.otherwise);
}

bool Renderer::run_for(const Statement& statement) {
  // One scope for all iterations, and for what is iterated.
  auto scope = std::make_shared<Frame>();
  scope->parent = frame_;
  const InFrame inside(*this, std::move(scope));
  const expr::Node& node = ast_.nodes[statement.node];
  const bool filtered = node.kind == NodeKind::kSelect;
  Value iterated;
  if (!evaluate(filtered ? ast_.links[node.first + 1] : statement.node, iterated)) return false;
  place_ = statement.begin;
  if (expr::is_map(iterated)) iterated = expr::keys_of(*iterated.if_object());
  const expr::Array* list = iterated.if_array();
  if (list == nullptr) return fail("cannot loop over " + std::string(expr::kind_name(iterated)));
  if (!charge(list->items.size())) return false;
  std::vector<Value> items;
  if (!filter_items(statement, list->items, items)) return false;
  bool any_whole = false;
  if (!run_iterations(statement, filtered ? items : list->items, any_whole)) return false;
  return any_whole || run_block(statement.otherwise);
}

// Checks unpacking before anything runs, and applies the condition of the loop if it has one.
bool Renderer::filter_items(const Statement& statement, const std::vector<Value>& all,
                            std::vector<Value>& items) {
  const expr::Node& node = ast_.nodes[statement.node];
  const bool filtered = node.kind == NodeKind::kSelect;
  if (!filtered && ast_.nodes[statement.target].kind == NodeKind::kName) return true;
  for (const Value& item : all) {
    if (!fits_target(statement, item)) return false;
    if (!filtered) continue;
    auto scope = std::make_shared<Frame>();
    scope->parent = frame_;
    const InFrame inside(*this, std::move(scope));
    Value condition;
    if (!bind_target(statement, item) || !evaluate(ast_.links[node.first], condition)) return false;
    if (condition.is_hole()) return fail("an empty place has no truth");
    if (expr::is_true(condition)) items.push_back(item);
  }
  return true;
}

bool Renderer::fits_target(const Statement& statement, const Value& item) {
  const expr::Node& target = ast_.nodes[statement.target];
  if (target.kind == NodeKind::kName) return true;
  const expr::Array* list = item.if_array();
  if (list == nullptr || list->is_tuple)
    return fail("cannot unpack " + std::string(expr::kind_name(item)));
  if (list->items.size() == target.count) return true;
  return fail("cannot unpack " + std::to_string(list->items.size()) + " items into " +
              std::to_string(target.count) + " names");
}

bool Renderer::bind_target(const Statement& statement, const Value& item) {
  const expr::Node& target = ast_.nodes[statement.target];
  if (target.kind == NodeKind::kName) {
    frame_->set(target.first, item);
    return true;
  }
  for (std::uint32_t i = 0; i < target.count; ++i) {
    const expr::Node& name = ast_.nodes[ast_.links[target.first + i]];
    if (name.kind != NodeKind::kName) return fail("a value can be unpacked to names only");
    frame_->set(name.first, item.if_array()->items[i]);
  }
  return true;
}

bool Renderer::run_iterations(const Statement& statement, const std::vector<Value>& items,
                              bool& any_whole) {
  const std::size_t count = items.size();
  const auto integer = [](std::size_t value) { return Value::integer(static_cast<double>(value)); };
  for (std::size_t i = 0; i < count; ++i) {
    if (!charge(1)) return false;
    if (tree_.special.loop != kNothing) {
      frame_->set(tree_.special.loop,
                  Value::object({{"index", integer(i + 1)},
                                 {"index0", integer(i)},
                                 {"revindex", integer(count - i)},
                                 {"revindex0", integer(count - i - 1)},
                                 {"first", Value(i == 0)},
                                 {"last", Value(i + 1 == count)},
                                 {"length", integer(count)},
                                 {"previtem", i > 0 ? items[i - 1] : Value()},
                                 {"nextitem", i + 1 < count ? items[i + 1] : Value()}}));
    }
    if (!bind_target(statement, items[i])) return false;
    const std::size_t mark = out_.size();
    if (run_block(statement.body)) {
      any_whole = true;
      continue;
    }
    if (signal() == Signal::kError) return false;
    // The text of an interrupted iteration is lost.
    out_.resize(std::min(mark, out_.size()));
    const bool stops = signal() == Signal::kBreak;
    resume();
    if (stops) break;
  }
  return true;
}

void Renderer::define_macro(StatementId id) {
  const Statement& statement = tree_.statements[id];
  auto function = std::make_shared<expr::Function>();
  function->name = ast_.names[statement.name].text;
  function->macro = id;
  frame_->set(statement.name, Value(std::shared_ptr<const expr::Function>(std::move(function))));
}

bool Renderer::run_call(StatementId id) {
  const Statement& statement = tree_.statements[id];
  expr::Arguments given;
  if (!evaluate_arguments(statement.first_argument, statement.argument_count, given)) return false;
  std::vector<Value> arguments = std::move(given.positional);
  arguments.emplace_back(
      std::make_shared<Object>(std::move(given.keywords), Object::Kind::kKeywords));
  Value callee;
  if (!evaluate(statement.node, callee)) return false;
  place_ = statement.begin;

  auto caller = std::make_shared<expr::Function>();
  caller->name = "caller";
  caller->macro = id;
  caller->closure = frame_;
  if (std::find(captured_.begin(), captured_.end(), frame_) == captured_.end()) {
    if (!charge(captured_.size() / 8 + 16)) return false;
    captured_.push_back(frame_);
  }
  auto scope = std::make_shared<Frame>();
  scope->parent = frame_;
  if (tree_.special.caller != kNothing) {
    scope->set(tree_.special.caller,
               Value(std::shared_ptr<const expr::Function>(std::move(caller))));
  }
  Value result;
  {
    const InFrame inside(*this, std::move(scope));
    if (!call(callee, arguments, result)) return false;
  }
  return print(result);
}

bool Renderer::call_closure(const expr::Function& function, std::span<Value> arguments,
                            Value& result) {
  if (macro_depth_ >= limits_.max_depth) {
    return fail_with("limit/depth", "macros call each other deeper than " +
                                        std::to_string(limits_.max_depth) + " levels");
  }
  auto scope = std::make_shared<Frame>();
  // A macro sees the names of its caller, a call block those of the place where it stands.
  scope->parent =
      function.closure == nullptr ? frame_ : std::static_pointer_cast<Frame>(function.closure);
  const InFrame inside(*this, std::move(scope));
  ++macro_depth_;
  const bool success = run_closure_body(tree_.statements[function.macro], arguments, result);
  --macro_depth_;
  return success;
}

bool Renderer::run_closure_body(const Statement& statement, std::span<Value> arguments,
                                Value& result) {
  return bind_parameters(statement, arguments) && capture(statement.body, result);
}

// Binds every name before any default is evaluated, so that none of them is looked up outside.
bool Renderer::bind_parameters(const Statement& statement, std::span<Value> arguments) {
  std::vector<std::pair<std::string, Value>> keywords;
  if (!arguments.empty() && expr::is_keywords(arguments.back())) {
    keywords = arguments.back().if_object()->members;
    arguments = arguments.first(arguments.size() - 1);
  }
  std::vector<const expr::Argument*> pending;
  for (std::uint32_t i = 0; i < statement.parameter_count; ++i) {
    const expr::Argument& parameter = ast_.arguments[statement.first_parameter + i];
    const std::string& name = ast_.names[parameter.name].text;
    Value value = i < arguments.size() ? arguments[i] : Value(expr::Hole{});
    const auto keyword = std::find_if(keywords.begin(), keywords.end(),
                                      [&](const auto& entry) { return entry.first == name; });
    if (value.is_hole() && keyword != keywords.end()) {
      value = std::move(keyword->second);
      keywords.erase(keyword);
    }
    if (value.is_hole() && parameter.kind == expr::ArgumentKind::kKeyword)
      pending.push_back(&parameter);
    frame_->set(parameter.name, value.is_hole() ? Value() : std::move(value));
  }
  const std::size_t count = statement.parameter_count;
  if (statement.takes_keywords) {
    frame_->set(tree_.special.keywords, Value::object(std::move(keywords)));
  } else if (!keywords.empty()) {
    return fail("unexpected keyword argument '" + keywords.front().first + "'");
  }
  if (statement.takes_rest) {
    const std::size_t first = std::min(count, arguments.size());
    frame_->set(tree_.special.rest,
                Value::list(std::vector<Value>(
                    arguments.begin() + static_cast<std::ptrdiff_t>(first), arguments.end())));
  } else if (arguments.size() > count) {
    return fail("too many arguments: " + std::to_string(arguments.size()) + " given, at most " +
                std::to_string(count) + " allowed");
  }
  for (const expr::Argument* parameter : pending) {
    Value value;
    if (!evaluate(parameter->value, value)) return false;
    frame_->set(parameter->name, std::move(value));
  }
  return true;
}

}  // namespace wgk::jinja
