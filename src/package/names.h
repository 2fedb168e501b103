// SPDX-License-Identifier: Apache-2.0
// Which names a package may use where (format.md b).
#pragma once

#include <string_view>

namespace wgk::package {

// [A-Za-z_][A-Za-z0-9_]*
bool is_identifier(std::string_view text);

// [A-Za-z0-9][A-Za-z0-9_]*: ids of variants and repeat groups.
bool is_stable_id(std::string_view text);

// Dotted; the first part [a-z][a-z0-9]*, the others [A-Za-z][A-Za-z0-9_]*.
bool is_domain(std::string_view text);

// Members of JavaScript's Object.prototype: loaders in that language cannot use them as keys, so no
// package may.
bool is_prototype_name(std::string_view text);

// Scope names of expressions and templates, which no derive may hide. Type variables come on top.
bool is_scope_name(std::string_view text);

// A path inside the package: parts of [A-Za-z0-9._-]+ joined by '/', without '..' anywhere.
bool is_package_path(std::string_view text);

bool is_template_path(std::string_view text);

}  // namespace wgk::package
