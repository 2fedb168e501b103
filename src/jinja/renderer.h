// SPDX-License-Identifier: Apache-2.0
// Runs a template.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "expr/evaluator.h"
#include "jinja/statements.h"
#include "jinja/template.h"

namespace wgk::jinja {

class Renderer final : public expr::Evaluator {
 public:
  // `names` as for Evaluator.
  Renderer(const Tree& tree, std::string_view source, std::span<const expr::Value* const> names,
           const expr::Limits& limits, ListStyle lists);
  Renderer(const Renderer&) = delete;
  Renderer& operator=(const Renderer&) = delete;
  ~Renderer() override;

  // False after an error; see Evaluator.
  bool run();
  std::string take() { return std::move(out_); }

 private:
  using FramePtr = std::shared_ptr<expr::Frame>;
  class InFrame;

  bool call_closure(const expr::Function& function, std::span<expr::Value> arguments,
                    expr::Value& result) override;

  bool run_block(Block block);
  bool run_statement(StatementId id, const Statement& statement);
  bool run_print(const Statement& statement);
  bool run_filter(const Statement& statement);
  // The text of a block as a value.
  bool capture(Block block, expr::Value& result);
  bool print(const expr::Value& value);
  bool run_set(const Statement& statement);
  bool assign(const Statement& statement, expr::Value value);
  bool assign_member(const Statement& statement, const expr::Value& value);
  bool run_if(const Statement& statement);
  bool run_for(const Statement& statement);
  bool filter_items(const Statement& statement, const std::vector<expr::Value>& all,
                    std::vector<expr::Value>& items);
  bool run_iterations(const Statement& statement, const std::vector<expr::Value>& items,
                      bool& any_whole);
  bool fits_target(const Statement& statement, const expr::Value& item);
  bool bind_target(const Statement& statement, const expr::Value& item);
  void define_macro(StatementId id);
  bool run_call(StatementId id);
  bool bind_parameters(const Statement& statement, std::span<expr::Value> arguments);
  bool run_closure_body(const Statement& statement, std::span<expr::Value> arguments,
                        expr::Value& result);
  bool check_output() { return out_.size() <= limits_.max_output || fail_output(); }
  bool fail_output();

  const Tree& tree_;
  std::string_view source_;
  std::string out_;
  ListStyle lists_;
  std::size_t macro_depth_ = 0;
  // What may hold itself, directly or not: emptied at the end.
  std::vector<FramePtr> captured_;
  std::vector<std::shared_ptr<expr::Object>> namespaces_;
};

}  // namespace wgk::jinja
