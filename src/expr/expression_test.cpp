// SPDX-License-Identifier: Apache-2.0
#include "expr/expression.h"
#include "expr/globals.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "json/json.h"

namespace wgk::expr {
namespace {

Scope scope_of(std::string_view json, const Scope* parent = &helpers()) {
  Scope scope(parent);
  const Json names = json::parse(json).value();
  for (const Json::Member& member : *names.if_object()) {
    scope.set(member.first, Value::from_json(member.second));
  }
  return scope;
}

std::string evaluated(std::string_view text, const Scope& scope, const Limits& limits = {}) {
  const Result<Value> value = Expression(std::string(text)).evaluate(scope, limits);
  return value ? json::write(value->to_json()) : value.error().code;
}

TEST(Expression, ErrorsNameTheColumn) {
  const Scope scope = scope_of(R"({"n": 1, "name": "a"})");
  const Error type = Expression("n + 1 < name").evaluate(scope).error();
  EXPECT_EQ(type.code, "expression/type");
  EXPECT_EQ(type.message, "'<' does not work between an int and a string");
  EXPECT_EQ(type.context.at(0), "evaluating 'n + 1 < name', column 1");
  const Error inner = Expression("[n, 'é', name - 1]").evaluate(scope).error();
  EXPECT_EQ(inner.context.at(0), "evaluating '[n, 'é', name - 1]', column 10");
  const Expression bad("(n + ]");
  EXPECT_EQ(bad.syntax().error().code, "expression/syntax");
  EXPECT_EQ(bad.syntax().error().message, "unexpected ']' in '(n + ]', column 6");
  EXPECT_EQ(bad.evaluate(scope).error().message, bad.syntax().error().message);
  EXPECT_EQ(Expression("n ; 1").syntax().error().message,
            "unexpected character ';' in 'n ; 1', column 3");
  EXPECT_EQ(Expression("").syntax().error().message, "unexpected '}}' in '', column 1");
}

TEST(Expression, UnknownNamesHaveASuggestion) {
  const Scope scope = scope_of(R"({"hiddenSize": 7})");
  const Error error = Expression("1 if true else hidenSize").evaluate(scope).error();
  EXPECT_EQ(error.code, "expression/unknown-name");
  EXPECT_EQ(error.message, "nothing defines 'hidenSize' in '1 if true else hidenSize'");
  EXPECT_EQ(error.hint, "did you mean 'hiddenSize'?");
  EXPECT_EQ(Expression("ceildiv(1, 2)").evaluate(scope).error().hint, "did you mean 'ceilDiv'?");
  EXPECT_EQ(evaluated("nosuch is defined", scope), "false");
  EXPECT_EQ(evaluated("nosuch is defined and nosuch > 1", scope), "expression/unknown-name");
}

TEST(Expression, FreeNamesInOrderOfUse) {
  const Expression expression(
      "f(b, k=c)|default(d) if a.x[e] is defined and g is defined and none not in "
      "h|map(attribute='k') else true");
  EXPECT_EQ(expression.free_names(), (std::vector<std::string>{"f", "b", "c", "d", "a", "e", "h"}));
  EXPECT_EQ(Expression("a is defined and a").free_names(), std::vector<std::string>{"a"});
  EXPECT_TRUE(Expression("1 + ").free_names().empty());
}

TEST(Expression, InnerScopesWin) {
  const Scope outer = scope_of(R"({"a": 1, "b": 2})");
  Scope inner(&outer);
  inner.set("a", Value::integer(10));
  inner.set("a", Value::integer(20));
  EXPECT_EQ(evaluated("[a, b]", inner), "[20,2]");
  EXPECT_EQ(evaluated("[a, b]", outer), "[1,2]");
  EXPECT_EQ(inner.find("nosuch"), nullptr);
}

TEST(Expression, ResultsArePlain) {
  const Scope scope = scope_of("{}");
  const Value list = Expression("(8 / 4, [6 / 4, 2.0])").evaluate(scope).value();
  EXPECT_FALSE(list.if_array()->is_tuple);
  EXPECT_FALSE(list.if_array()->items[0].if_number()->is_float);
  EXPECT_TRUE(list.if_array()->items[1].if_array()->items[0].if_number()->is_float);
  EXPECT_TRUE(Expression("[]|first").evaluate(scope).value().is_undefined());
  EXPECT_TRUE(Expression("'abc'[7]").evaluate(scope).value().is_undefined());
  // Each result is a list of its own, so none equals another one.
  Scope copies = scope_of(R"({"a": [1]})");
  copies.set("b", Expression("a").evaluate(copies).value());
  EXPECT_EQ(evaluated("[a == a, a == b]", copies), "[true,false]");
}

TEST(Expression, NestingIsLimited) {
  const Scope scope = scope_of("{}");
  const std::string open(20000, '(');
  const std::string close(20000, ')');
  EXPECT_EQ(evaluated(open + "1" + close, scope), "limit/depth");
  EXPECT_EQ(evaluated(std::string(20000, '['), scope), "limit/depth");
  EXPECT_EQ(evaluated(std::string(20000, '-') + "n", scope), "limit/depth");
  std::string nots;
  for (int i = 0; i < 20000; ++i) nots += "not ";
  EXPECT_EQ(evaluated(nots + "1", scope), "limit/depth");
  std::string chain = "0";
  for (int i = 0; i < 20000; ++i) chain += " + 1";
  EXPECT_EQ(evaluated(chain, scope), "20000");
  EXPECT_EQ(evaluated(std::string(90, '(') + "1" + std::string(90, ')'), scope), "1");
}

TEST(Expression, WorkIsLimited) {
  const Scope scope = scope_of(R"({"text": "abc"})");
  EXPECT_EQ(evaluated("fill(1, 1000000000000)|length", scope), "limit/steps");
  EXPECT_EQ(evaluated("fill(1, 2000)|length", scope, {.max_steps = 1000}), "limit/steps");
  EXPECT_EQ(evaluated("[1] + [2]", scope, {.max_steps = 2}), "limit/steps");
  EXPECT_EQ(evaluated("text ~ text", scope, {.max_output = 5}), "limit/output");
  EXPECT_EQ(evaluated("text.replace('', text)", scope, {.max_output = 10}), "limit/output");
  EXPECT_EQ(evaluated("text|indent(900000000, true)", scope), "limit/output");
  EXPECT_EQ(evaluated("[1]|tojson(indent=900000000)", scope), "limit/output");
}

TEST(Expression, ExplainsWhyItIsNotTrue) {
  const Scope scope = scope_of(
      R"({"hiddenSize": 7, "shapes": {"x": [2, 3]}, "present": {"bias": false}, "mode": "fast", "attrs": {}})");
  const auto why = [&](std::string_view text) {
    return Expression(std::string(text)).explain_not_true(scope);
  };
  EXPECT_EQ(why("hiddenSize % 4 == 0"),
            "'hiddenSize % 4 == 0' is false (hiddenSize % 4 is 3, hiddenSize is 7)");
  EXPECT_EQ(why("hiddenSize > 1 and numel(shapes.x) % 4 == 0 and present.bias"),
            "'numel(shapes.x) % 4 == 0' is false (numel(shapes.x) % 4 is 2, numel(shapes.x) is 6, "
            "shapes.x is [2, 3])");
  EXPECT_EQ(why("hiddenSize > 1 and present.bias"), "'present.bias' is false");
  EXPECT_EQ(why("hiddenSize"), "'hiddenSize' is 7, not true");
  EXPECT_EQ(why("attrs.nothing"), "'attrs.nothing' is undefined");
  EXPECT_EQ(why("mode == 'slow'"), "'mode == 'slow'' is false (mode is 'fast')");
  EXPECT_EQ(why("mode < 1"), "'mode < 1' fails: '<' does not work between a string and an int");
  EXPECT_EQ(why("nosuch"), "nothing defines 'nosuch' in 'nosuch'");
  EXPECT_EQ(why("1 +"), "unexpected '}}' in '1 +', column 4");
  EXPECT_EQ(why("not present.bias"), "'not present.bias' is true");
}

// Messages go into JSON, which has whole characters only.
TEST(Expression, IsCutBetweenCharacters) {
  std::string wide;
  for (int i = 0; i < 300; ++i) wide += "\xc3\xa4";
  for (const std::string shift : {"", "a"}) {
    const std::string text = shift + wide;
    const Expression long_one("mode == '" + text + "'");
    // The quotes before it count.
    const auto begin = [&](std::size_t bytes) {
      return text.substr(0, bytes - (bytes - shift.size()) % 2);
    };
    EXPECT_EQ(long_one.explain_not_true(scope_of(R"({"mode": "b"})")),
              "'mode == '" + begin(400 - 9) + "...' is false (mode is 'b')");
    Scope scope;
    scope.set("mode", Value::from_json(Json(text)));
    EXPECT_EQ(Expression("mode == 1").explain_not_true(scope),
              "'mode == 1' is false (mode is '" + begin(80 - 1) + "...)");
    const std::string unknown = long_one.explain_not_true(Scope());
    EXPECT_NE(unknown.find(begin(200 - 9) + "...' ("), std::string::npos) << unknown;
  }
}

TEST(Rule, EvaluatesDeeply) {
  const Scope scope = scope_of(R"({"n": 3})");
  const Rule rule(json::parse(R"({"a": ["n + 1", 2, null, true], "b": {"c": "\"n\""}})").value());
  EXPECT_EQ(json::write(rule.evaluate(scope).value().to_json()),
            R"({"a":[4,2,null,true],"b":{"c":"n"}})");
  EXPECT_EQ(rule.free_names(), std::vector<std::string>{"n"});
  EXPECT_TRUE(rule.syntax());
  EXPECT_FALSE(Rule(json::parse(R"(["1", {"x": "1 +"}])").value()).syntax());
  EXPECT_TRUE(Rule().evaluate(scope).value().is_null());
  EXPECT_EQ(Rule(Json("nosuch")).evaluate(scope).error().code, "expression/unknown-name");
}

TEST(Helpers, CheckTheirArguments) {
  Scope scope = scope_of(R"({"s": [2, 3, 4]})");
  scope.set("f16Ok", f16_ok(false));
  scope.set("features", feature_set(std::vector<std::string>{"subgroups"}));
  EXPECT_EQ(evaluated("[min(), max(), min(0, -1), max(2, '3'), min(1, none)]", scope),
            "[null,null,-1,3,null]");
  EXPECT_EQ(evaluated("[moveAxis(s, 0, -1), moveAxis(s, -1, 0)]", scope), "[[3,4,2],[4,2,3]]");
  EXPECT_EQ(evaluated("moveAxis(s, 3, 0)", scope), "expression/type");
  EXPECT_EQ(evaluated("permuteShape(s, [0, 0, 1])", scope), "expression/type");
  EXPECT_EQ(evaluated("permuteShape(s, [2, 0, 1])", scope), "[4,2,3]");
  EXPECT_EQ(evaluated("[broadcastShape([1], [0]), broadcastShape([], [3])]", scope), "[[0],[3]]");
  EXPECT_EQ(evaluated("[matmulShape([3], [3]), matmulShape([2, 3], [3])]", scope), "[[],[2]]");
  EXPECT_EQ(evaluated("matmulShape([2, 3], [4, 5])", scope), "expression/type");
  EXPECT_EQ(evaluated("[isUniqueIntList([0, -1], -3, 3, 3), isUniqueIntList([2, -1], -3, 3, 3), "
                      "isUniqueIntList(1, 0, 3)]",
                      scope),
            "[true,false,false]");
  EXPECT_EQ(
      evaluated("[hasAxis([-1], 2, 3), axisValue([5], [1], 1, 3, 9), axisValue([5], [1], 2, 3, 9)]",
                scope),
      "[true,5,9]");
  EXPECT_EQ(evaluated("[pick([[0, 1], [1, 2]], 3), pick([[0, 1]], 3), pick([], none)]", scope),
            "[2,3,null]");
  EXPECT_EQ(evaluated("[f16Ok('f16'), f16Ok('float16'), f16Ok('f32')]", scope),
            "[false,false,true]");
  EXPECT_EQ(evaluated("[features.has('subgroups'), features.has('x'), features.size]", scope),
            "[true,false,1]");
  EXPECT_EQ(evaluated("dtypeBytes('nosuch')", scope), "expression/type");
  EXPECT_EQ(
      evaluated("[dtypeBytes('int8'), dtypeBytes('float16'), onnxDtypeCode('uint32')]", scope),
      "[4,2,12]");
  EXPECT_EQ(
      evaluated("[outer(s, -1), inner(s, 0), rows(s, 1), dim(s, 4), prefix(s, 2), suffix(s, 2)]",
                scope),
      "[6,12,8,3,[2,3],[4]]");
}

TEST(Value, DeepNestingIsTakenApartWithoutRecursion) {
  Value value = Value::list({});
  for (int i = 0; i < 1'000'000; ++i) {
    std::vector<Value> items;
    items.push_back(std::move(value));
    value =
        (i % 2 == 0) ? Value::list(std::move(items)) : Value::object({{"k", std::move(items[0])}});
  }
  value = Value();
  EXPECT_TRUE(value.is_undefined());
}

TEST(Value, FromJsonOrdersMembersAsJavaScript) {
  const Value value =
      Value::from_json(json::parse(R"({"b": 1, "10": 2, "2": 3, "a": 4, "01": 5})").value());
  std::string order;
  for (const auto& member : value.if_object()->members) order += member.first + " ";
  EXPECT_EQ(order, "2 10 b a 01 ");
}

TEST(Value, ConstructorsTag) {
  EXPECT_FALSE(Value(3).if_number()->is_float);
  EXPECT_FALSE(Value(3.0).if_number()->is_float);
  EXPECT_TRUE(Value(3.5).if_number()->is_float);
  EXPECT_TRUE(Value(std::nan("")).if_number()->is_float);
  EXPECT_NE(Value("text").if_string(), nullptr);
  EXPECT_NE(Value(true).if_bool(), nullptr);
  Value moved("text");
  const Value target = std::move(moved);
  EXPECT_EQ(*target.if_string(), "text");
}

TEST(Parses, GiveEqualTextsOneParse) {
  Parses parses;
  const Expression first = parses.expression("1 + x"), second = parses.expression("1 + x");
  EXPECT_EQ(&first.text(), &second.text());
  EXPECT_NE(&first.text(), &Expression("1 + x").text());
  const Expression other = parses.expression("1 + y");
  EXPECT_NE(&first.text(), &other.text());
  EXPECT_EQ(other.free_names(), std::vector<std::string>{"y"});
  EXPECT_EQ(parses.expression("1 +").syntax().error().code, "expression/syntax");
  EXPECT_EQ(parses.expression("1 +").syntax().error().code, "expression/syntax")
      << "errors are shared as well";
  const Json source = json::parse(R"({"a": ["1 + x", 2], "b": "z"})").value();
  const Rule rule = parses.rule(source);
  EXPECT_EQ(rule.source(), source);
  EXPECT_EQ(rule.free_names(), (std::vector<std::string>{"x", "z"}));
}

TEST(Print, AsTheEngineDoes) {
  Scope scope(&helpers());
  scope.set("n", Value(3));
  scope.set("s", Value("a"));
  const auto print = [&](const char* text) { return Expression(text).print(scope); };
  EXPECT_EQ(print("n / 1").value(), "3.0");
  EXPECT_EQ(print("[n / 2, s, none, true]").value(), "[1.5, \"a\", null, true]");
  EXPECT_EQ(print("{'a': 1}.b").value(), "undefined");
  EXPECT_EQ(print("none").value(), "null");
  EXPECT_EQ(print("s").value(), "a");
  EXPECT_EQ(print("ceilDiv(n, 2)").value(), "2");
  EXPECT_EQ(print("nosuch").error().code, "expression/unknown-name");
  EXPECT_EQ(print("ceilDiv").error().code, "expression/type") << "a function";
  EXPECT_EQ(print("s - 1").error().code, "expression/type");
  EXPECT_EQ(print("1 +").error().code, "expression/syntax");
}

TEST(Print, GivesThePlainValueOfTheSameEvaluation) {
  static int calls = 0;
  Scope scope(&helpers());
  scope.set("count",
            native_function("count", [](CallContext&, const Value&, std::span<const Value>,
                                        Value& result) { return result = Value(++calls), true; }));
  Value plain;
  EXPECT_EQ(Expression("count() / 1").print(scope, {}, &plain).value(), "1.0");
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(plain.to_json(), Json(1));
  for (const char* text : {"none", "{'a': 1}.b", "[8 / 2, 's']", "ceilDiv(7, 2)"}) {
    const Expression expression(text);
    ASSERT_TRUE(expression.print(scope, {}, &plain)) << text;
    EXPECT_EQ(plain.to_json(), expression.evaluate(scope)->to_json()) << text;
    EXPECT_EQ(plain.is_null(), expression.evaluate(scope)->is_null()) << text;
  }
}

TEST(Context, HidesNoNameOfTheEngine) {
  const auto add = [](const char* json) {
    Scope scope;
    return add_context(scope, json::parse(json).value());
  };
  EXPECT_TRUE(add(R"({"n": 3})"));
  for (const char* name : {"range", "namespace", "raise_exception", "true", "none", "False"}) {
    const auto added = add((R"({")" + std::string(name) + R"(": 1})").c_str());
    ASSERT_FALSE(added) << name;
    EXPECT_EQ(added.error().code, "expression/type");
    EXPECT_NE(added.error().message.find(name), std::string::npos);
  }
  EXPECT_EQ(add("3").error().code, "expression/type");
}

}  // namespace
}  // namespace wgk::expr
