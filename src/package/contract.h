// SPDX-License-Identifier: Apache-2.0
// contract.json: what the manifest cannot say, for precise errors and for the card.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "expr/expression.h"
#include "jinja/template.h"
#include "package/manifest.h"
#include "wgk/error.h"

namespace wgk::package {

struct ContractRule {
  std::string id, code, port;
  std::vector<std::string> needs;
  std::optional<expr::Expression> when;
  expr::Expression require;
  jinja::Template message;
};

struct ValueRule {
  enum class Kind { kRange, kCsrRows, kCsrColumns };
  std::string id, code, port;
  Kind kind = Kind::kRange;
  std::optional<expr::Expression> when;
  std::optional<expr::Rule> min, max;  // kRange
  std::string columns;                 // kCsrRows
  std::string rows;                    // kCsrColumns
  std::optional<expr::Rule> below;     // kCsrColumns
  jinja::Template message;
};

struct Contract {
  std::string description;
  struct PortText {
    std::string description, dims;
  };
  std::vector<std::pair<std::string, PortText>> ports;
  std::vector<std::pair<std::string, std::string>> attributes;
  std::vector<std::pair<std::string, std::string>> variants;
  std::vector<ContractRule> rules;
  std::vector<ValueRule> values;
};

// Errors: "package/contract" with the JSON path.
Result<Contract> read_contract(const Json& json);

// Every port, attribute and variant that the contract names must be in the manifest.
Status check_contract(const Contract& contract, const Manifest& manifest);

}  // namespace wgk::package
