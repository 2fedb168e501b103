// SPDX-License-Identifier: Apache-2.0
// Names that manifest expressions and templates use without anybody defining them.
#pragma once

#include <string>
#include <vector>

#include "package/package.h"
#include "wgk/error.h"

namespace wgk::verify {

// Syntax errors and unknown names of every expression of the manifest. The published loader finds
// them only when it evaluates.
std::vector<Error> check_expressions(const package::Manifest& manifest);

// Unknown names of the contract's rules and messages.
std::vector<Error> check_contract_names(const package::Package& package);

// Unknown names of the templates that each pass renders. `texts`: the templates with their includes
// expanded; a name that a template tests with `is defined` may be missing.
struct TemplateText {
  std::string path, text;
};
std::vector<Error> check_template_names(const package::Package& package,
                                        const std::vector<TemplateText>& texts);

}  // namespace wgk::verify
