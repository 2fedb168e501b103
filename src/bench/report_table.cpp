// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <format>

#include "bench/report.h"

namespace wgk::bench {
namespace {

std::string three_digits(double value) {
  if (value >= 100) return std::format("{:.0f}", value);
  if (value >= 10) return std::format("{:.1f}", value);
  return std::format("{:.2f}", value);
}

using Row = std::vector<std::string>;

// Left-aligned first column, right-aligned others; tabs when the reader is a program.
std::string layout(const std::vector<Row>& rows, bool terminal) {
  std::string text;
  std::vector<std::size_t> widths;
  for (const Row& row : rows) {
    widths.resize(std::max(widths.size(), row.size()), 0);
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (i > 0) text += terminal ? "  " : "\t";
      const std::string padding(
          terminal && i + 1 < row.size() + (i > 0) ? widths[i] - row[i].size() : 0, ' ');
      text += i == 0 ? row[i] + padding : padding + row[i];
    }
    text += '\n';
  }
  return text;
}

Row measurement_row(const Measurement& m, const Context& context) {
  const std::string label = m.name + " [" + m.variant + "]";
  if (!m.error.empty()) return {label, m.cold ? "cold" : "hot", "not timed", m.error};
  Row row = {label,
             m.cold ? "cold" : "hot",
             format_seconds(m.seconds.median),
             format_seconds(m.seconds.p10) + " - " + format_seconds(m.seconds.p90),
             m.bytes > 0 ? format_rate(m.bytes_per_second(), "B/s") : "-",
             m.flops > 0 ? format_rate(m.flops_per_second(), "FLOP/s") : "-"};
  const bool fraction = m.bytes > 0 && context.speed.copy_bytes_per_second > 0;
  row.push_back(fraction ? std::format("{:.0f} %", 100 * m.bytes_per_second() /
                                                       context.speed.copy_bytes_per_second)
                         : "-");
  row.push_back(std::format("{}", m.seconds.samples));
  row.push_back(std::format("{}", m.seconds.outliers));
  if (!m.clock_held) row.push_back("clock unsteady");
  return row;
}

void add_host_table(std::string& text, const Report& report, bool terminal) {
  std::vector<Row> rows = {{"host cost", "plan", "known", "render", "pipelines", "record", "submit",
                            "upload", "read back", "whole call"}};
  for (const Measurement& m : report.measurements) {
    if (!m.host) continue;
    const HostCosts& h = *m.host;
    rows.push_back({m.name + " [" + m.variant + "]", format_seconds(h.plan),
                    format_seconds(h.known_plan), format_seconds(h.render),
                    format_seconds(h.pipelines), format_seconds(h.record), format_seconds(h.submit),
                    format_seconds(h.upload), format_seconds(h.read_back),
                    format_seconds(h.whole_call)});
  }
  if (rows.size() > 1) text += "\n" + layout(rows, terminal);
}

}  // namespace

bool clocks_held(const Report& report) {
  return report.context.speed.clock_held &&
         std::ranges::all_of(report.measurements, &Measurement::clock_held);
}

std::string format_seconds(double seconds) {
  if (seconds >= 1) return three_digits(seconds) + " s";
  if (seconds >= 1e-3) return three_digits(seconds * 1e3) + " ms";
  if (seconds >= 1e-6 || seconds <= 0) return three_digits(seconds * 1e6) + " us";
  return three_digits(seconds * 1e9) + " ns";
}

std::string format_rate(double per_second, std::string_view unit) {
  static constexpr std::array<std::pair<double, const char*>, 4> kScales = {
      {{1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}}};
  for (const auto& [scale, prefix] : kScales) {
    if (per_second >= scale)
      return std::format("{} {}{}", three_digits(per_second / scale), prefix, unit);
  }
  return std::format("{} {}", three_digits(per_second), unit);
}

std::string to_table(const Report& report, bool terminal) {
  const Context& c = report.context;
  std::string text = std::format("device: {}{}, {} mode; clock: {}{}\n", c.adapter,
                                 c.software ? " (software: no GPU speed)" : "", c.mode, c.clock,
                                 c.kept_awake ? "; cores kept awake" : "");
  text += std::format("copy {}; empty dispatch {}; dependent dispatch {}{}\n\n",
                      format_rate(c.speed.copy_bytes_per_second, "B/s"),
                      format_seconds(c.speed.empty_dispatch_seconds),
                      format_seconds(c.speed.dependent_dispatch_seconds),
                      c.speed.clock_held ? "" : "; clock unsteady");
  std::vector<Row> rows = {{"case [variant]", "data", "median", "10-90 %", "bytes/s", "FLOP/s",
                            "of copy", "n", "outliers"}};
  for (const Measurement& m : report.measurements) rows.push_back(measurement_row(m, c));
  text += layout(rows, terminal);
  if (!clocks_held(report)) text += "\n" + std::string(kUnsteady) + "\n";
  add_host_table(text, report, terminal);
  if (!report.comparisons.empty()) {
    rows = {{"comparison", "data", "a", "b", "time a / time b", "10-90 %"}};
    for (const Comparison& k : report.comparisons) {
      rows.push_back({k.name, k.cold ? "cold" : "hot", k.a, k.b,
                      std::format("{:.3f}", k.ratio.median),
                      std::format("{:.3f} - {:.3f}", k.ratio.p10, k.ratio.p90)});
    }
    text += "\n" + layout(rows, terminal);
  }
  return text;
}

}  // namespace wgk::bench
