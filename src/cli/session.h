// SPDX-License-Identifier: Apache-2.0
// What every command shares: where output goes, how failures become exit codes.
#pragma once

#include <CLI/CLI.hpp>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "wgk/error.h"
#include "wgk/json.h"
#include "wgk/limits.h"

namespace wgk::cli {

inline constexpr int kSuccess = 0;
inline constexpr int kCheckFailed = 1;  // a check ran and failed
inline constexpr int kUsage = 2;
inline constexpr int kInvalid = 3;  // package or request
inline constexpr int kNoDevice = 4;
inline constexpr int kNetwork = 5;  // or cache

int exit_code(const Error& error);

// Data goes to stdout, everything else to stderr.
struct Session {
  bool json = false;
  bool verbose = false;
  Limits limits;
  std::vector<std::string> limit_texts;  // as they were given
  std::function<int()> command;

  void print(std::string_view text) const;  // as it is
  void print_json(const Json& json) const;  // pretty, on lines of its own
  void note(std::string_view line) const;   // stderr, one line
  int fail(const Error& error) const;       // reports and gives the exit code
};

// Columns that fit the terminal; tab-separated and whole when piped.
class Table {
 public:
  explicit Table(std::vector<std::string> head) : head_(std::move(head)) {}
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  // `width` 0: tab-separated.
  std::string text(std::size_t width) const;
  std::string text() const;

 private:
  std::vector<std::string> head_;
  std::vector<std::vector<std::string>> rows_;
};

// Lines "name  value" in the same way.
std::string lines(const std::vector<std::pair<std::string, std::string>>& entries);

// Adds --json and --verbose, the examples below the help, and what runs.
CLI::App* add_command(CLI::App& app, Session& session, const std::string& name,
                      const std::string& description, const std::vector<std::string>& examples);

// --json of the commands that can also write their report to a file: `json_file` is empty when it
// goes to stdout.
void add_report_option(CLI::App& command, Session& session, std::string& json_file);
// The arguments (without the program) as the parser wants them for these commands: a file follows
// --json with '=' or as an argument that ends in ".json"; else the report goes to stdout.
std::vector<std::string> with_report_files(std::vector<std::string> arguments);

// Each in a file of its own.
void add_bench(CLI::App& app, Session& session);
void add_card(CLI::App& app, Session& session);
void add_check(CLI::App& app, Session& session);
void add_devices(CLI::App& app, Session& session);
void add_digest(CLI::App& app, Session& session);
void add_env(CLI::App& app, Session& session);
void add_eval(CLI::App& app, Session& session);
void add_info(CLI::App& app, Session& session);
void add_plan(CLI::App& app, Session& session);  // plan, explain
void add_render(CLI::App& app, Session& session);
void add_run(CLI::App& app, Session& session);
void add_test(CLI::App& app, Session& session);

}  // namespace wgk::cli
