// SPDX-License-Identifier: Apache-2.0
#include "cli/session.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "base/text.h"
#include "json/json.h"

namespace wgk::cli {
namespace {

constexpr std::string_view kToStdout = "-";

std::size_t terminal_width() {
  if (::isatty(STDOUT_FILENO) == 0) return 0;
  winsize size = {};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return 80;
}

// Characters of UTF-8 text; every one counts as one column.
std::size_t columns(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

std::string cut(const std::string& text, std::size_t width) {
  if (columns(text) <= width) return text;
  std::string out;
  std::size_t taken = 0;
  for (const char c : text) {
    const bool starts = (static_cast<unsigned char>(c) & 0xc0) != 0x80;
    if (starts && ++taken >= width) break;
    out += c;
  }
  return out + "…";
}

// No line breaks, tabs or other control characters inside a cell.
std::string flat(const std::string& text) {
  std::string out = text;
  std::ranges::replace_if(out, [](char c) { return c == '\n' || c == '\t' || c == '\r'; }, ' ');
  return harmless_text(out);
}

// Narrows the widest columns until the row fits.
void fit(std::vector<std::size_t>& widths, std::size_t width) {
  constexpr std::size_t kGap = 2, kLeast = 8;
  const auto total = [&] {
    std::size_t sum = widths.empty() ? 0 : kGap * (widths.size() - 1);
    for (const std::size_t one : widths) sum += one;
    return sum;
  };
  while (total() > width) {
    const auto widest = std::ranges::max_element(widths);
    if (*widest <= kLeast) return;
    --*widest;
  }
}

}  // namespace

int exit_code(const Error& error) {
  const std::string_view code = error.code;
  if (code.starts_with("usage/")) return kUsage;
  if (code == "device/compile") return kInvalid;  // the text is the package's
  if (code.starts_with("device/") || code == "select/none") return kNoDevice;
  if (code == "store/network" || code == "store/offline" || code == "store/cache" ||
      code == "store/lock")
    return kNetwork;
  return kInvalid;
}

void Session::print(std::string_view text) const {
  std::fwrite(text.data(), 1, text.size(), stdout);
}

void Session::print_json(const Json& value) const {
  std::string text = json::write(value, json::Style::kPretty);
  if (!text.ends_with('\n')) text += '\n';
  print(text);
}

void Session::note(std::string_view line) const {
  const std::string shown = harmless_text(line);
  std::fwrite(shown.data(), 1, shown.size(), stderr);
  std::fputc('\n', stderr);
}

int Session::fail(const Error& error) const {
  note(error.to_string());
  return exit_code(error);
}

std::string Table::text(std::size_t width) const {
  std::vector<std::vector<std::string>> rows;
  if (!head_.empty()) rows.push_back(head_);
  for (const auto& row : rows_) {
    std::vector<std::string>& clean = rows.emplace_back();
    for (const std::string& cell : row) clean.push_back(flat(cell));
  }
  std::string out;
  if (width == 0) {
    for (const auto& row : rows) {
      for (std::size_t i = 0; i < row.size(); ++i) out += (i == 0 ? "" : "\t") + row[i];
      out += '\n';
    }
    return out;
  }
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    if (row.size() > widths.size()) widths.resize(row.size());
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], columns(row[i]));
  }
  fit(widths, width);
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string text = cut(row[i], widths[i]);
      line += text;
      if (i + 1 < row.size()) line.append(widths[i] - columns(text) + 2, ' ');
    }
    out += line + '\n';
  }
  return out;
}

std::string Table::text() const { return text(terminal_width()); }

std::string lines(const std::vector<std::pair<std::string, std::string>>& entries) {
  Table table({});
  for (const auto& [name, value] : entries) table.add({name, value});
  return table.text();
}

CLI::App* add_command(CLI::App& app, Session& session, const std::string& name,
                      const std::string& description, const std::vector<std::string>& examples) {
  CLI::App* command = app.add_subcommand(name, description);
  std::string footer = "Examples:";
  for (const std::string& example : examples) footer += "\n  " + example;
  command->footer(footer);
  command->add_flag("-v,--verbose", session.verbose, "Say on stderr what happens");
  return command;
}

void add_report_option(CLI::App& command, Session& session, std::string& json_file) {
  command
      .add_option_function<std::string>(
          "--json",
          [&session, &json_file](const std::string& file) {
            session.json = true;
            json_file = file == kToStdout ? "" : file;
          },
          "Print the report as JSON, or write it: --json FILE.json, --json=FILE")
      ->type_name("[FILE]");
}

std::vector<std::string> with_report_files(std::vector<std::string> arguments) {
  if (arguments.empty() || (arguments[0] != "test" && arguments[0] != "bench")) return arguments;
  std::vector<std::string> out;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    out.push_back(std::move(arguments[i]));
    if (out.back() == "--") {
      out.insert(out.end(), arguments.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                 arguments.end());
      break;
    }
    if (out.back() != "--json") continue;
    const bool file = i + 1 < arguments.size() && arguments[i + 1].ends_with(".json");
    out.back() += "=" + (file ? arguments[++i] : std::string(kToStdout));
  }
  return out;
}

}  // namespace wgk::cli
