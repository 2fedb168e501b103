// SPDX-License-Identifier: Apache-2.0
#include "package/contract.h"

#include <algorithm>
#include <set>

#include "base/error_codes.h"
#include "base/try.h"
#include "json/cursor.h"
#include "package/manifest_reader.h"

namespace wgk::package {
namespace {

using json::Cursor;

constexpr std::string_view kContractCode = "package/contract";

Result<std::string> read_text(const Cursor& object, std::string_view key) {
  WGK_ASSIGN(const Cursor member, object.require(key));
  WGK_ASSIGN(std::string text, member.string());
  if (text.empty()) return member.fail("must not be empty");
  return text;
}

Result<std::string> read_optional_text(const Cursor& object, std::string_view key) {
  const std::optional<Cursor> member = object.find(key);
  return member ? member->string() : std::string();
}

Result<std::string> read_code(const Cursor& object) {
  WGK_ASSIGN(const Cursor member, object.require("code"));
  WGK_ASSIGN(std::string code, member.string());
  // A rule may also say that a call is larger than a kernel can be.
  const bool area = code.starts_with("request/") || code.starts_with("limit/");
  if (!area || find_error_code(code) == nullptr) {
    return member.fail("'" + code + "' is not a known code request/... or limit/...");
  }
  return code;
}

Result<expr::Expression> read_expression(const Cursor& member) {
  WGK_ASSIGN(std::string text, member.string());
  expr::Expression expression(std::move(text));
  if (const Status syntax = expression.syntax(); !syntax)
    return member.fail(syntax.error().message);
  return expression;
}

Status read_when(const Cursor& object, std::optional<expr::Expression>& when) {
  if (const auto member = object.find("when")) {
    WGK_ASSIGN(when, read_expression(*member));
  }
  return {};
}

Result<expr::Rule> read_bound(const Cursor& object, std::string_view key) {
  WGK_ASSIGN(const Cursor member, object.require(key));
  if (!member.value().is_string() && !member.value().is_number())
    return member.fail_value("must be an expression or a number");
  expr::Rule rule(member.value());
  if (const Status syntax = rule.syntax(); !syntax) return member.fail(syntax.error().message);
  return rule;
}

Result<jinja::Template> read_message(const Cursor& object) {
  WGK_ASSIGN(const Cursor member, object.require("message"));
  WGK_ASSIGN(const std::string text, member.string());
  auto parsed = jinja::Template::parse(text, member.path());
  if (!parsed) return member.fail(parsed.error().message);
  return parsed;
}

Result<ContractRule> read_rule(const Cursor& cursor, const std::set<std::string>& earlier) {
  WGK_TRY(cursor.only({"id", "code", "port", "needs", "when", "require", "message"}));
  WGK_ASSIGN(std::string id, read_text(cursor, "id"));
  WGK_ASSIGN(std::string code, read_code(cursor));
  WGK_ASSIGN(std::string port, read_optional_text(cursor, "port"));
  std::vector<std::string> needs;
  if (const auto member = cursor.find("needs")) {
    WGK_ASSIGN(const std::vector<Cursor> items, member->items());
    for (const Cursor& item : items) {
      WGK_ASSIGN(std::string need, item.string());
      if (!earlier.contains(need))
        return item.fail_unknown("'" + need + "' is not the id of an earlier rule", need,
                                 std::vector<std::string>(earlier.begin(), earlier.end()));
      needs.push_back(std::move(need));
    }
  }
  WGK_ASSIGN(const Cursor member, cursor.require("require"));
  WGK_ASSIGN(expr::Expression require, read_expression(member));
  WGK_ASSIGN(jinja::Template message, read_message(cursor));
  ContractRule rule{std::move(id),      std::move(code),   std::move(port), std::move(needs), {},
                    std::move(require), std::move(message)};
  WGK_TRY(read_when(cursor, rule.when));
  return rule;
}

Status read_kind(const Cursor& cursor, ValueRule& rule) {
  WGK_ASSIGN(const std::string kind, read_text(cursor, "kind"));
  if (kind == "range") {
    rule.kind = ValueRule::Kind::kRange;
    WGK_TRY(cursor.only({"id", "code", "port", "kind", "when", "message", "min", "max"}));
    WGK_ASSIGN(rule.min, read_bound(cursor, "min"));
    WGK_ASSIGN(rule.max, read_bound(cursor, "max"));
    return {};
  }
  if (kind == "csrRows") {
    rule.kind = ValueRule::Kind::kCsrRows;
    WGK_TRY(cursor.only({"id", "code", "port", "kind", "when", "message", "columns"}));
    WGK_ASSIGN(rule.columns, read_text(cursor, "columns"));
    return {};
  }
  if (kind != "csrColumns")
    return cursor.fail("kind must be range, csrRows or csrColumns, got '" + kind + "'");
  rule.kind = ValueRule::Kind::kCsrColumns;
  WGK_TRY(cursor.only({"id", "code", "port", "kind", "when", "message", "rows", "below"}));
  WGK_ASSIGN(rule.rows, read_text(cursor, "rows"));
  WGK_ASSIGN(rule.below, read_bound(cursor, "below"));
  return {};
}

Result<ValueRule> read_value_rule(const Cursor& cursor) {
  WGK_ASSIGN(jinja::Template message, read_message(cursor));
  ValueRule rule{.id = {},
                 .code = {},
                 .port = {},
                 .when = {},
                 .min = {},
                 .max = {},
                 .columns = {},
                 .rows = {},
                 .below = {},
                 .message = std::move(message)};
  WGK_ASSIGN(rule.id, read_text(cursor, "id"));
  WGK_ASSIGN(rule.code, read_code(cursor));
  WGK_ASSIGN(rule.port, read_text(cursor, "port"));
  WGK_TRY(read_when(cursor, rule.when));
  WGK_TRY(read_kind(cursor, rule));
  return rule;
}

Status read_ports(const Cursor& cursor, Contract& contract) {
  const std::optional<Cursor> member = cursor.find("ports");
  if (!member) return {};
  WGK_ASSIGN(const auto members, member->members());
  for (const auto& [key, value] : members) {
    WGK_TRY(value.only({"description", "dims"}));
    Contract::PortText text;
    WGK_ASSIGN(text.description, read_optional_text(value, "description"));
    WGK_ASSIGN(text.dims, read_optional_text(value, "dims"));
    contract.ports.emplace_back(key, std::move(text));
  }
  return {};
}

Status read_texts(const Cursor& cursor, Contract& contract) {
  WGK_ASSIGN(contract.description, read_optional_text(cursor, "description"));
  WGK_TRY(read_ports(cursor, contract));
  if (const auto attributes = cursor.find("attributes")) {
    WGK_ASSIGN(const auto members, attributes->members());
    for (const auto& [key, value] : members) {
      WGK_TRY(value.only({"description"}));
      WGK_ASSIGN(std::string text, read_optional_text(value, "description"));
      contract.attributes.emplace_back(key, std::move(text));
    }
  }
  if (const auto variants = cursor.find("variants")) {
    WGK_ASSIGN(const auto members, variants->members());
    for (const auto& [key, value] : members) {
      WGK_ASSIGN(std::string text, value.string());
      contract.variants.emplace_back(key, std::move(text));
    }
  }
  return {};
}

template <class Rule>
Status add(const Cursor& at, std::set<std::string>& ids, std::vector<Rule>& rules, Rule rule) {
  if (!ids.insert(rule.id).second) return at.fail("the id '" + rule.id + "' stands there twice");
  rules.push_back(std::move(rule));
  return {};
}

std::unexpected<Error> unknown_name(std::string message, const std::string& name,
                                    const std::vector<std::string>& known) {
  return Cursor(Json(), "", kContractCode).fail_unknown(std::move(message), name, known);
}

Status expect_port(const Manifest& manifest, const std::string& rule, const std::string& port) {
  if (port.empty() || manifest.input(port) != nullptr || manifest.output(port) != nullptr)
    return {};
  std::vector<std::string> ports;
  for (const Port& one : manifest.inputs) ports.push_back(one.key);
  for (const Port& one : manifest.outputs) ports.push_back(one.key);
  return unknown_name(
      "rule '" + rule + "' names the port '" + port + "', which the manifest does not have", port,
      ports);
}

}  // namespace

Result<Contract> read_contract(const Json& json) {
  const Cursor cursor(json, "", kContractCode);
  WGK_TRY(cursor.only(
      {"contract", "description", "ports", "attributes", "variants", "rules", "values"}));
  WGK_ASSIGN(const Cursor version, cursor.require("contract"));
  WGK_TRY(version.integer(1, 1));
  WGK_TRY(expect_few(cursor, {"ports", "attributes", "variants", "rules", "values"}));
  Contract contract;
  WGK_TRY(read_texts(cursor, contract));
  if (const auto rules = cursor.find("rules")) {
    WGK_ASSIGN(const std::vector<Cursor> items, rules->items());
    std::set<std::string> ids;
    for (const Cursor& item : items) {
      WGK_ASSIGN(ContractRule rule, read_rule(item, ids));
      WGK_TRY(add(item, ids, contract.rules, std::move(rule)));
    }
  }
  if (const auto values = cursor.find("values")) {
    WGK_ASSIGN(const std::vector<Cursor> items, values->items());
    std::set<std::string> ids;
    for (const Cursor& item : items) {
      WGK_ASSIGN(ValueRule rule, read_value_rule(item));
      WGK_TRY(add(item, ids, contract.values, std::move(rule)));
    }
  }
  return contract;
}

Status check_contract(const Contract& contract, const Manifest& manifest) {
  for (const auto& [port, text] : contract.ports)
    WGK_TRY(expect_port(manifest, "ports." + port, port));
  for (const auto& [name, text] : contract.attributes) {
    if (std::ranges::contains(manifest.attributes, name, &std::pair<std::string, Attribute>::first))
      continue;
    std::vector<std::string> known;
    for (const auto& [attribute, value] : manifest.attributes) known.push_back(attribute);
    return unknown_name("attributes." + name + ": the manifest has no such attribute", name, known);
  }
  for (const auto& [id, text] : contract.variants) {
    if (manifest.variant(id) != nullptr) continue;
    std::vector<std::string> known;
    for (const Variant& variant : manifest.variants) known.push_back(variant.id);
    return unknown_name("variants." + id + ": the manifest has no such variant", id, known);
  }
  for (const ContractRule& rule : contract.rules)
    WGK_TRY(expect_port(manifest, rule.id, rule.port));
  for (const ValueRule& rule : contract.values) {
    for (const std::string& port : {rule.port, rule.columns, rule.rows})
      WGK_TRY(expect_port(manifest, rule.id, port));
  }
  return {};
}

}  // namespace wgk::package
