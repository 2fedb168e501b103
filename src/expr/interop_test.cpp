// SPDX-License-Identifier: Apache-2.0
// The recorded expressions of the published loader (tests/interop/expressions.json).
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "expr/expression.h"
#include "expr/interop_scope_test.h"
#include "json/json.h"

namespace wgk::expr {
namespace {

using interop::Corpus;

// Compares a result with the record: {"$": "NaN"} and the like stand for what JSON cannot say.
bool matches(const Value& value, const Json& expected) {
  if (const Json* special = expected.find("$")) {
    const std::string& name = *special->if_string();
    const Number* number = value.if_number();
    if (name == "undefined") return value.is_undefined();
    if (name == "function") return value.if_function() != nullptr;
    if (number == nullptr) return false;
    if (name == "NaN") return std::isnan(number->value);
    if (name == "-0") return number->value == 0 && std::signbit(number->value);
    return number->value == (name == "Infinity" ? 1 : -1) * std::numeric_limits<double>::infinity();
  }
  if (const Json::Array* items = expected.if_array()) {
    const Array* list = value.if_array();
    if (list == nullptr || list->items.size() != items->size()) return false;
    for (std::size_t i = 0; i < items->size(); ++i) {
      if (!matches(list->items[i], (*items)[i])) return false;
    }
    return true;
  }
  if (const Json::Object* members = expected.if_object()) {
    const Object* object = value.if_object();
    if (object == nullptr || object->members.size() != members->size()) return false;
    for (std::size_t i = 0; i < members->size(); ++i) {
      if (object->members[i].first != (*members)[i].first) return false;
      if (!matches(object->members[i].second, (*members)[i].second)) return false;
    }
    return true;
  }
  if (value.is_undefined() || value.if_function() != nullptr) return false;
  return value.to_json() == expected;
}

TEST(InteropExpressions, EachRecordHolds) {
  const Corpus corpus("expressions.json");
  std::size_t checked = 0;
  for (const Json& record : *corpus.json.find("cases")->if_array()) {
    const Json* artefact = record.find("js_artefact");
    const bool advisory = artefact != nullptr && *artefact->if_bool();
    const std::string& text = *record.find("expr")->if_string();
    const Scope& scope = corpus.scope(*record.find("scope")->if_string());
    const Result<Value> value = Expression(text).evaluate(scope);
    if (advisory) continue;
    ++checked;
    if (const Json* error = record.find("error")) {
      ASSERT_FALSE(value) << text << "\n  expected an error: " << json::write(record);
      const bool unknown = *error->if_string() == "unknown_name";
      EXPECT_EQ(value.error().code == "expression/unknown-name", unknown) << text;
      continue;
    }
    ASSERT_TRUE(value) << text << "\n  " << value.error().to_string();
    EXPECT_TRUE(matches(*value, *record.find("value")))
        << text << "\n  expected " << json::write(*record.find("value")) << "\n  got "
        << json::write(value->to_json());
  }
  EXPECT_GT(checked, 370U);
}

}  // namespace
}  // namespace wgk::expr
