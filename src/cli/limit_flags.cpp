// SPDX-License-Identifier: Apache-2.0
#include "cli/limit_flags.h"

#include <charconv>

#include "base/limit_names.h"

namespace wgk::cli {
namespace {

std::string names() {
  std::string list;
  for (const LimitName& limit : kLimitNames)
    list += (list.empty() ? "" : ", ") + std::string(limit.name);
  return list;
}

// What is wrong with "NAME=VALUE", else nothing and the limit is set.
std::string set_limit(const std::string& text, Limits& limits) {
  const std::string name = text.substr(0, text.find('='));
  const auto limit = limit_named(name);
  if (!limit) {
    const Error& error = limit.error();
    return error.message + (error.hint.empty() ? "" : "; " + error.hint);
  }
  const std::string value = name.size() < text.size() ? text.substr(name.size() + 1) : "";
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (value.empty() || error != std::errc() || end != value.data() + value.size())
    return "the limit '" + name + "' is '" + value + "'; expected a whole number";
  limits.** limit = number;
  const Status fits = limits.check();
  return fits ? std::string() : fits.error().message;
}

}  // namespace

void add_limit_option(CLI::App& command, Session& session) {
  command
      .add_option("--limit", session.limit_texts,
                  "What loading and planning may cost, NAME=VALUE, of\n" + names())
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false)
      ->check([&session](const std::string& text) { return set_limit(text, session.limits); });
}

expr::Limits source_limits(const Session& session) {
  return {session.limits.steps, session.limits.depth, session.limits.output_bytes};
}

package::LoadOptions load_options(const Session& session) { return {.limits = session.limits}; }

}  // namespace wgk::cli
