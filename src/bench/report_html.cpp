// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <format>

#include "bench/report.h"
#include "bench/svg.h"

namespace wgk::bench {
namespace {

constexpr std::string_view kStyle =
    R"(:root { color-scheme: light dark; --ink: #1b1b1b; --soft: #767676; --rule: #d8d8d8; --a: #0072b2; --b: #d55e00; --back: #fff; }
@media (prefers-color-scheme: dark) { :root { --ink: #e8e8e8; --soft: #a0a0a0; --rule: #444; --a: #56b4e9; --b: #e69f00; --back: #181818; } }
body { font: 15px/1.45 system-ui, sans-serif; color: var(--ink); background: var(--back); max-width: 70rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2.2rem; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .9rem; display: block; overflow-x: auto; }
th, td { padding: .25rem .7rem; border-bottom: 1px solid var(--rule); text-align: right; white-space: nowrap; }
th:first-child, td:first-child { text-align: left; }
svg { max-width: 100%; height: auto; font: 12px system-ui, sans-serif; } svg text { fill: var(--ink); }
.grid { stroke: var(--rule); } .roof { stroke: var(--ink); stroke-width: 1.5; } .one { stroke: var(--ink); } .mean { stroke: var(--b); stroke-dasharray: 5 4; }
.cold { fill: var(--a); } .hot { fill: none; stroke: var(--b); stroke-width: 2; } .spread { stroke: var(--a); stroke-width: 2; }
.warn { border-left: 4px solid var(--b); padding: .4rem .8rem; } .note { color: var(--soft); }
)";

std::string rate_tick(double value) { return format_rate(value, "FLOP/s"); }
std::string plain_tick(double value) { return std::format("{:g}", value); }

bool has_point(const Measurement& m) {
  return m.error.empty() && m.bytes > 0 && m.flops > 0 && m.seconds.median > 0;
}

// Extends an axis so that the value lies inside, with a little air.
void cover(Axis& axis, double value) {
  axis.low = std::min(axis.low, value / 1.5);
  axis.high = std::max(axis.high, value * 1.5);
}

std::string roofline(const Report& report) {
  const double copy = report.context.copy_bytes_per_second;
  Axis x{1e30, 1e-30, true, "FLOP per byte (least work and traffic)"}, y{1e30, 1e-30, true, ""};
  for (const Measurement& m : report.measurements) {
    if (!has_point(m)) continue;
    cover(x, m.flops / m.bytes);
    cover(y, m.flops_per_second());
  }
  if (x.low >= x.high || copy <= 0)
    return "<p class=\"note\">No case states both bytes and FLOPs.</p>\n";
  cover(y, copy * x.high);
  cover(y, copy * x.low);
  Plot plot(x, y, 860, 420, 110);
  plot.frame(plain_tick, rate_tick);
  plot.line(x.low, copy * x.low, x.high, copy * x.high, "roof");
  for (const Measurement& m : report.measurements) {
    if (!has_point(m)) continue;
    plot.point(m.flops / m.bytes, m.flops_per_second(), m.cold ? "cold" : "hot",
               std::format("{}: {}, {}", m.full_name(), format_seconds(m.seconds.median),
                           format_rate(m.bytes_per_second(), "B/s")));
  }
  return plot.svg("Roofline: performance against intensity") +
         "<p class=\"note\">Line: this device's own copy speed, measured in the same run. Filled: "
         "cold buffers. Rings: hot buffers.</p>\n";
}

// Each row a case, its dot the ratio, its bar the 10-90 % range; the line at 1 and the geometric
// mean.
std::string ratios(const Report& report) {
  std::vector<Comparison> sorted = report.comparisons;
  std::ranges::sort(sorted, {}, [](const Comparison& c) { return c.ratio.median; });
  Axis x{0.9, 1.1, true, "time of the first over time of the second (log axis)"};
  std::vector<double> medians;
  for (const Comparison& c : sorted) {
    cover(x, c.ratio.p10);
    cover(x, c.ratio.p90);
    medians.push_back(c.ratio.median);
  }
  const auto count = static_cast<double>(sorted.size());
  Plot plot(x, Axis{0, count, false, ""}, 960, 70 + 20 * static_cast<int>(sorted.size()), 430);
  plot.frame(plain_tick, nullptr);
  plot.line(1, 0, 1, count, "one");
  const double mean = geometric_mean(medians);
  plot.line(mean, 0, mean, count, "mean");
  double row = 0.5;
  for (const Comparison& c : sorted) {
    plot.line(c.ratio.p10, row, c.ratio.p90, row, "spread");
    plot.point(c.ratio.median, row, "cold",
               std::format("{}: {:.3f} ({} over {})", c.name, c.ratio.median, c.a, c.b));
    plot.text(x.low, row, std::format("{}: {} / {} ", c.name, c.a, c.b), "end");
    row += 1;
  }
  return plot.svg("Ratios per case") +
         std::format("<p class=\"note\">Geometric mean {:.3f} over {} cases.</p>\n", mean,
                     sorted.size());
}

std::string cells(std::string_view tag, std::initializer_list<std::string> values) {
  std::string row = "<tr>";
  for (const std::string& value : values)
    row += std::format("<{0}>{1}</{0}>", tag, escape_html(value));
  return row + "</tr>\n";
}

std::string measurements_table(const Report& report) {
  std::string html =
      "<table>\n" + cells("th", {"case", "variant", "data", "median", "10-90 %", "bytes/s",
                                 "FLOP/s", "of copy", "samples", "outliers", "error / tolerance"});
  const double copy = report.context.copy_bytes_per_second;
  for (const Measurement& m : report.measurements) {
    if (!m.error.empty()) {
      html += cells("td", {m.name, m.variant, m.cold ? "cold" : "hot", "not timed: " + m.error});
      continue;
    }
    html +=
        cells("td", {m.name, m.variant, m.cold ? "cold" : "hot", format_seconds(m.seconds.median),
                     format_seconds(m.seconds.p10) + " - " + format_seconds(m.seconds.p90),
                     format_rate(m.bytes_per_second(), "B/s"),
                     format_rate(m.flops_per_second(), "FLOP/s"),
                     copy > 0 ? std::format("{:.0f} %", 100 * m.bytes_per_second() / copy) : "-",
                     std::format("{}", m.seconds.samples), std::format("{}", m.seconds.outliers),
                     std::format("{:.2g}", m.largest_error)});
  }
  return html + "</table>\n";
}

std::string host_table(const Report& report) {
  std::string rows;
  for (const Measurement& m : report.measurements) {
    if (!m.host) continue;
    const HostCosts& h = *m.host;
    rows +=
        cells("td", {m.name, m.variant, format_seconds(h.plan), format_seconds(h.known_plan),
                     format_seconds(h.render), format_seconds(h.pipelines),
                     format_seconds(h.record), format_seconds(h.submit), format_seconds(h.upload),
                     format_seconds(h.read_back), format_seconds(h.whole_call)});
  }
  if (rows.empty()) return {};
  return "<h2>Host costs of one call</h2>\n<table>\n" +
         cells("th", {"case", "variant", "plan, new", "plan, known", "render", "pipelines",
                      "record", "submit", "upload", "read back", "whole call"}) +
         rows + "</table>\n";
}

std::string context_table(const Context& c) {
  std::string html = "<table>\n";
  const auto row = [&](const char* name, const std::string& value) {
    html += cells("td", {name, value});
  };
  row("date", c.date);
  row("device", c.adapter);
  row("driver", c.driver);
  row("back end", c.backend + ", " + c.device_type);
  row("mode", c.mode);
  row("clock", c.clock);
  row("copy speed (read + write)", format_rate(c.copy_bytes_per_second, "B/s"));
  row("empty dispatch", format_seconds(c.empty_dispatch_seconds));
  row("dependent dispatch", format_seconds(c.dependent_dispatch_seconds));
  row("cache that cold buffers rotate past", format_rate(c.cache_bytes, "B"));
  row("wgkernels", c.library_version);
  for (const auto& [op, digest] : c.packages) row(op.c_str(), "manifest sha256 " + digest);
  return html + "</table>\n";
}

}  // namespace

std::string to_html(const Report& report) {
  const Context& c = report.context;
  std::string html =
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
      "content=\"width=device-width\">\n<title>wgkernels benchmark: " +
      escape_html(c.adapter) + "</title>\n<style>\n" + std::string(kStyle) +
      "</style></head><body>\n";
  html += "<h1>wgkernels benchmark</h1>\n<p>" + escape_html(c.adapter) + ", " +
          escape_html(c.mode) + " mode, " + escape_html(c.date) + "</p>\n";
  if (c.software)
    html +=
        "<p class=\"warn\">This is a software adapter: it proves correctness and host cost, never "
        "GPU speed.</p>\n";
  html += "<h2>Roofline</h2>\n" + roofline(report);
  if (!report.comparisons.empty()) html += "<h2>Ratios</h2>\n" + ratios(report);
  html += "<h2>Cases</h2>\n" + measurements_table(report) + host_table(report);
  html += "<h2>Device and versions</h2>\n" + context_table(c);
  return html + "</body></html>\n";
}

}  // namespace wgk::bench
