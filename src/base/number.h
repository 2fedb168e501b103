// SPDX-License-Identifier: Apache-2.0
// The one place that turns a number into text, by the rules of ECMAScript's Number::toString.
#pragma once

#include <string>

namespace wgk {

// "1e-7", "0.00001", "100000000000000000000", "1e+21", "NaN", "-Infinity"; negative zero is "0".
void append_number(std::string& out, double value);
std::string number_text(double value);

// As the template engine prints a tagged number: an integral float below 1e21 has all of its digits
// and ".0" ("4.0", "-0.0").
void append_tagged_number(std::string& out, double value, bool is_float);
std::string tagged_number_text(double value, bool is_float);

}  // namespace wgk
