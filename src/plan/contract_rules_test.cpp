// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <vector>

#include "plan/test_package.h"
#include "wgk/plan.h"

namespace wgk {
namespace {

using planning::make_package;
using planning::on_device;
using planning::on_host;

std::shared_ptr<package::Package> with_contract(std::string_view contract,
                                                std::string_view derive = "shapes.x[0]") {
  return make_package(R"({"domain": "test", "name": "C",
    "inputs": {"x": {"dtype": "float32"}, "skip": {"dtype": "float32", "optional": true}, "rows": {"dtype": "int32", "optional": true},
               "cols": {"dtype": "int32", "optional": true}, "total": {"dtype": "int64", "storage": "int32", "narrowing": "saturating", "optional": true}},
    "outputs": {"y": {"dtype": "float32", "shape": "shapes.x"}},
    "attributes": {"m": {"default": 2}}, "derive": {"n": ")" +
                          std::string(derive) + R"("},
    "variants": [{"passes": [{"shader": "s.wgsl.jinja", "bindings": ["x", "y"], "dispatch": {"x": 1}}]}]})",
                      {}, contract);
}

std::vector<std::string> violations(const package::Package& package, const Request& request) {
  const Explanation explanation = explain(package, request, DeviceCaps::defaults());
  std::vector<std::string> texts;
  if (!explanation.error) return texts;
  texts.push_back(explanation.error->code + ": " + explanation.error->message);
  for (const Error& error : explanation.error->others)
    texts.push_back(error.code + ": " + error.message);
  return texts;
}

Request request(Shape shape) {
  Request result;
  result.inputs.emplace_back("x", on_device(DType::f32, std::move(shape)));
  return result;
}

TEST(Contract, RulesRunInOrderAndRespectTheirNeeds) {
  const auto package = with_contract(R"json({"contract": 1, "rules": [
    {"id": "rank", "code": "request/rank", "require": "ranks.x == 2", "message": "x has rank {{ ranks.x }}; expected 2"},
    {"id": "width", "code": "request/shape", "needs": ["rank"], "require": "shapes.x[1] % attrs.m == 0", "message": "width {{ shapes.x[1] }}"},
    {"id": "deeper", "code": "request/shape", "needs": ["width"], "require": "false", "message": "never without width"},
    {"id": "skip", "code": "request/shape", "when": "present.skip", "require": "sameShape(shapes.skip, shapes.x)",
     "message": "skip has shape {{ shapes.skip }}; expected {{ shapes.x }} or ({{ n }}, {{ attrs.m }})"}]})json");
  Request call = request({4});
  call.inputs.emplace_back("skip", on_device(DType::f32, {2, 3}));
  EXPECT_EQ(
      violations(*package, call),
      (std::vector<std::string>{"request/rank: x has rank 1; expected 2",
                                "request/shape: skip has shape (2, 3); expected (4) or (4, 2)"}));
  EXPECT_EQ(violations(*package, request({4, 3})),
            (std::vector<std::string>{"request/shape: width 3"}));
  EXPECT_EQ(violations(*package, request({4, 2})),
            (std::vector<std::string>{"request/shape: never without width"}));
}

TEST(Contract, RulesThatCannotBeEvaluatedAreAFaultOfThePackage) {
  const auto package = with_contract(R"({"contract": 1, "rules": [
    {"id": "a", "code": "request/rank", "require": "shapes.skip[0] == 2", "message": "a"},
    {"id": "b", "code": "request/rank", "require": "ranks.x", "message": "{{ nosuch() }}"},
    {"id": "c", "code": "request/rank", "when": "n == 1", "require": "true", "message": "c"}]})",
                                     "shapes.x[5] + 1");
  const auto texts = violations(*package, request({4, 2}));
  ASSERT_EQ(texts.size(), 3U);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    EXPECT_TRUE(texts[i].starts_with(std::string("package/contract: rule '") + "abc"[i] +
                                     "' cannot be evaluated: "))
        << texts[i];
  }
}

constexpr std::string_view kValues = R"({"contract": 1, "values": [
  {"id": "total", "code": "request/value", "port": "total", "kind": "range", "min": 1, "max": "n * 2", "message": "total is {{ got }} at {{ at }}; expected {{ min }} to {{ max }}"},
  {"id": "rows", "code": "request/value", "port": "rows", "kind": "csrRows", "columns": "cols", "message": "rows{{ at }} is {{ got }}; expected {{ min }} to {{ max }}"},
  {"id": "cols", "code": "request/value", "port": "cols", "kind": "csrColumns", "rows": "rows", "below": "value.total - 1", "message": "cols{{ at }} is {{ got }}; expected below {{ max + 1 }}"}]})";

class ContractValues : public testing::Test {
 protected:
  std::vector<std::string> run() {
    Request call = request({4, 2});
    call.inputs.emplace_back("total", on_host(DType::i64, {1}, total_));
    call.inputs.emplace_back("rows", on_host(DType::i32, {2, 3}, rows_));
    call.inputs.emplace_back("cols", on_host(DType::i32, {2, 4}, cols_));
    return violations(*package_, call);
  }

  std::shared_ptr<package::Package> package_ = with_contract(kValues);
  std::vector<std::int64_t> total_ = {8};
  std::vector<std::int32_t> rows_ = {0, 1, 3, 0, 2, 4};
  std::vector<std::int32_t> cols_ = {0, 6, 6, -1, 1, 2, 3, 4};
};

TEST_F(ContractValues, GoodValuesPass) { EXPECT_TRUE(run().empty()); }

TEST_F(ContractValues, Ranges) {
  total_ = {9};
  EXPECT_EQ(run(), (std::vector<std::string>{"request/value: total is 9 at (0); expected 1 to 8"}));
  total_ = {0};
  EXPECT_EQ(run().at(0), "request/value: total is 0 at (0); expected 1 to 8");
}

TEST_F(ContractValues, RowsStartAtZeroNeverFallAndStayInside) {
  rows_[0] = 1;
  EXPECT_EQ(run().at(0), "request/value: rows(0, 0) is 1; expected 0 to 0");
  rows_ = {0, 2, 1, 0, 2, 4};
  EXPECT_EQ(run().at(0), "request/value: rows(0, 2) is 1; expected 2 to 4");
  rows_ = {0, 1, 3, 0, 2, 5};
  EXPECT_EQ(run().at(0), "request/value: rows(1, 2) is 5; expected 2 to 4");
}

TEST_F(ContractValues, OnlyActiveColumnsCount) {
  cols_[3] = 99;
  EXPECT_TRUE(run().empty());
  cols_[2] = 7;
  EXPECT_EQ(run(), (std::vector<std::string>{"request/value: cols(0, 2) is 7; expected below 7"}));
  cols_[2] = -1;
  EXPECT_EQ(run().size(), 1U);
}

TEST_F(ContractValues, ValuesOnTheDeviceAreNotLookedAt) {
  Request call = request({4, 2});
  call.inputs.emplace_back("total", on_device(DType::i64, {1}));
  call.inputs.back().second.storage = DType::i32;
  call.inputs.emplace_back("rows", on_host(DType::i32, {2, 3}, rows_));
  call.inputs.emplace_back("cols", on_host(DType::i32, {2, 4}, cols_));
  const Explanation explanation = explain(*package_, call, DeviceCaps::defaults());
  EXPECT_FALSE(explanation.error) << explanation.error->to_string();
  EXPECT_EQ(
      explanation.notes,
      (std::vector<std::string>{
          "value rule 'total' is not checked: the contents of 'total' are on the device",
          "value rule 'cols' is not checked: its bound depends on contents that are not at hand"}));
  call.inputs.pop_back();
  EXPECT_EQ(explain(*package_, call, DeviceCaps::defaults()).notes.size(), 1U);
}

}  // namespace
}  // namespace wgk
