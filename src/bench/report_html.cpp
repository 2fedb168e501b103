// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <format>
#include <iterator>

#include "bench/report.h"
#include "bench/svg.h"

namespace wgk::bench {
namespace {

constexpr std::string_view kStyle =
    R"(:root { color-scheme: light dark; --ink: #1c2024; --soft: #60646c; --rule: #e0e1e6; --a: #0072b2; --b: #d55e00; --back: #fff; --card: #f5f6f8; }
@media (prefers-color-scheme: dark) { :root { --ink: #edeef0; --soft: #b0b4ba; --rule: #3a3d42; --a: #56b4e9; --b: #e69f00; --back: #16181b; --card: #212429; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--back); max-width: 68rem; margin: 2.5rem auto; padding: 0 1.25rem; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: 0; } h2 { font-size: 1.2rem; margin: 2.6rem 0 .6rem; } h3 { font-size: 1rem; margin: 1.4rem 0 .4rem; }
.lead { color: var(--soft); margin: .3rem 0 1.2rem; }
nav a { color: var(--a); margin-right: 1.2rem; text-decoration: none; } nav a:hover { text-decoration: underline; }
.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(10rem, 1fr)); gap: .75rem; padding: 0; margin: 0 0 1.2rem; list-style: none; }
.cards li { background: var(--card); border-radius: .5rem; padding: .7rem .9rem; } .cards b { display: block; font-size: 1.25rem; font-variant-numeric: tabular-nums; }
.cards span, .note { color: var(--soft); font-size: .88rem; }
.scroll { overflow-x: auto; } table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .88rem; width: 100%; }
th { color: var(--soft); font-weight: 600; } th, td { padding: .3rem .5rem; border-bottom: 1px solid var(--rule); text-align: right; white-space: nowrap; }
th:first-child, td:first-child, .facts td { text-align: left; } .facts td + td { white-space: normal; overflow-wrap: anywhere; } tr:hover td { background: var(--card); }
.bar { width: 9rem; min-width: 9rem; } .bar div { position: relative; height: .8rem; background: linear-gradient(to right, transparent calc(var(--full) - 1px), var(--soft) 0, var(--soft) var(--full), transparent 0); }
.bar i { display: block; height: 100%; border-radius: 0 .2rem .2rem 0; background: var(--a); opacity: .85; } .hotbar i { background: var(--b); } .floor td { color: var(--soft); } .floor i { opacity: .35; }
.failed { color: var(--b); text-align: left; white-space: normal; }
svg { max-width: 100%; height: auto; font: 12px system-ui, sans-serif; } svg text { fill: var(--ink); } svg .soft { fill: var(--soft); }
.grid { stroke: var(--rule); } .roof { stroke: var(--ink); stroke-width: 1.5; } .one { stroke: var(--ink); } .mean { stroke: var(--b); stroke-dasharray: 5 4; }
.cold { fill: var(--a); fill-opacity: .8; } .hot { fill: none; stroke: var(--b); stroke-width: 2; } .spread { stroke: var(--a); stroke-width: 2; opacity: .6; }
.warn { border-left: 4px solid var(--b); background: var(--card); padding: .5rem .9rem; border-radius: 0 .4rem .4rem 0; }
@media print { nav { display: none; } body { margin: 0; max-width: none; } }
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
  const double copy = report.context.speed.copy_bytes_per_second;
  Axis x{1e30, 1e-30, true, "FLOP per byte (least work and traffic)"};
  Axis y{1e30, 1e-30, true, "FLOP/s"};
  bool cold = false, hot = false;
  for (const Measurement& m : report.measurements) {
    if (!has_point(m)) continue;
    cover(x, m.flops / m.bytes);
    cover(y, m.flops_per_second());
    (m.cold ? cold : hot) = true;
  }
  if (x.low >= x.high || copy <= 0)
    return "<p class=\"note\">No case states both bytes and FLOPs.</p>\n";
  cover(y, copy * x.high);
  cover(y, copy * x.low);
  Plot plot(x, y, 960, 420, 120);
  plot.frame(plain_tick, rate_tick);
  plot.line(x.low, copy * x.low, x.high, copy * x.high, "roof");
  plot.text(x.high, copy * x.high, "copying: " + format_rate(copy, "B/s") + " ", "end", -12);
  for (const Measurement& m : report.measurements) {
    if (!has_point(m)) continue;
    plot.point(m.flops / m.bytes, m.flops_per_second(), m.cold ? "cold" : "hot",
               std::format("{}: {}, {}", m.full_name(), format_seconds(m.seconds.median),
                           format_rate(m.bytes_per_second(), "B/s")));
  }
  return plot.svg("Roofline: performance against intensity") +
         std::format(
             "<p class=\"note\">The line is what this device reaches when it only copies, "
             "measured in the same run.{}{} Hover over a point for its case.</p>\n",
             cold ? " Discs: cold buffers." : "", hot ? " Rings: hot buffers." : "");
}

// Each row a case, its dot the ratio, its bar the 10-90 % range; the line at 1 and the geometric
// mean. Cold and hot figures are never put into one mean, nor contenders and
// floors.
std::string ratios(const Report& report, bool cold, bool floors) {
  std::vector<Comparison> sorted;
  std::ranges::copy_if(report.comparisons, std::back_inserter(sorted), [&](const Comparison& c) {
    return c.cold == cold && c.b != kEmptyDispatch && c.b.starts_with("floor ") == floors;
  });
  if (sorted.empty()) return {};
  std::ranges::sort(sorted, {}, [](const Comparison& c) { return c.ratio.median; });
  Axis x{0.9, 1.1, true, "time of the first over time of the second (log axis)"};
  std::vector<double> medians;
  for (const Comparison& c : sorted) {
    cover(x, c.ratio.p10);
    cover(x, c.ratio.p90);
    medians.push_back(c.ratio.median);
  }
  const auto count = static_cast<double>(sorted.size());
  Plot plot(x, Axis{0, count, false, ""}, 960, 70 + 22 * static_cast<int>(sorted.size()), 400, 70);
  plot.frame(plain_tick, nullptr);
  plot.line(1, 0, 1, count, "one");
  const double mean = geometric_mean(medians);
  plot.line(mean, 0, mean, count, "mean");
  double row = 0.5;
  for (const Comparison& c : sorted) {
    plot.line(c.ratio.p10, row, c.ratio.p90, row, "spread");
    plot.point(c.ratio.median, row, cold ? "cold" : "hot",
               std::format("{}: {:.3f} ({} over {})", c.name, c.ratio.median, c.a, c.b));
    plot.text(x.low, row, std::format("{}: {} / {} ", c.name, c.a, c.b), "end");
    plot.text(x.high, row, std::format(" {:.3f}", c.ratio.median), "start");
    row += 1;
  }
  return std::format("<h3>{} buffers{}</h3>\n", cold ? "Cold" : "Hot",
                     floors ? ", over kernels that only stream" : "") +
         plot.svg("Ratios per case") +
         std::format(
             "<p class=\"note\">Geometric mean {:.3f} over {} {}. Bars: 10 to 90 % of the "
             "interleaved pairs.</p>\n",
             mean, sorted.size(), sorted.size() == 1 ? "pair" : "pairs");
}

std::string cells(std::string_view tag, std::initializer_list<std::string> values) {
  std::string row = "<tr>";
  for (const std::string& value : values)
    row += std::format("<{0}>{1}</{0}>", tag, escape_html(value));
  return row + "</tr>\n";
}

bool is_floor(const Measurement& m) { return m.variant.starts_with("floor "); }

std::string measurement_row(const Measurement& m, double copy, double widest) {
  if (!m.error.empty()) {
    return std::format(
        "<tr><td>{}</td><td>{}</td><td class=\"failed\" colspan=\"9\">not timed: {}</td></tr>\n",
        escape_html(m.name), escape_html(m.variant), escape_html(m.error));
  }
  const double share = copy > 0 ? m.bytes_per_second() / copy : 0;
  std::string row = is_floor(m) ? "<tr class=\"floor\">" : "<tr>";
  for (const std::string& value :
       {m.name, m.variant,
        format_seconds(m.seconds.median) + (m.clock_held ? "" : ", clock unsteady"),
        format_seconds(m.seconds.p10) + " - " + format_seconds(m.seconds.p90),
        m.bytes > 0 ? format_rate(m.bytes_per_second(), "B/s") : "-",
        m.flops > 0 ? format_rate(m.flops_per_second(), "FLOP/s") : "-"}) {
    row += "<td>" + escape_html(value) + "</td>";
  }
  row += std::format(
      "<td class=\"bar{}\"><div style=\"--full:{:.1f}%\"><i style=\"width:{:.1f}%\"></i></div></td>"
      "<td>{}</td>",
      m.cold ? "" : " hotbar", 100 / widest, 100 * share / widest,
      share > 0 ? std::format("{:.0f} %", 100 * share) : "-");
  row +=
      std::format("<td>{}</td><td>{}</td><td>{}</td></tr>\n", m.seconds.samples, m.seconds.outliers,
                  is_floor(m) ? "-" : std::format("{:.2g}", m.largest_error));
  return row;
}

std::string measurements_table(const Report& report, bool cold) {
  const double copy = report.context.speed.copy_bytes_per_second;
  double widest = 1;
  std::size_t count = 0;
  for (const Measurement& m : report.measurements) {
    count += m.cold == cold ? 1 : 0;
    if (m.cold == cold && m.error.empty() && copy > 0)
      widest = std::max(widest, m.bytes_per_second() / copy);
  }
  if (count == 0) return {};
  std::string html =
      std::format("<h3>{} buffers</h3>\n<div class=\"scroll\"><table>\n", cold ? "Cold" : "Hot") +
      cells("th", {"case", "variant", "median", "10-90 %", "bytes/s", "FLOP/s",
                   "speed; mark: copying", "", "n", "outliers", "error"});
  for (const Measurement& m : report.measurements) {
    if (m.cold == cold) html += measurement_row(m, copy, widest);
  }
  return html +
         "</table></div>\n<p class=\"note\">n: samples. Error: the largest of the check "
         "before timing, in units of the tolerance; a wrong result is not timed.</p>\n";
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
  return "<h2 id=\"host\">Host costs of one call</h2>\n<div class=\"scroll\"><table>\n" +
         cells("th", {"case", "variant", "plan, new", "plan, known", "render", "pipelines",
                      "record", "submit", "upload", "read back", "whole call"}) +
         rows + "</table></div>\n";
}

std::string context_table(const Context& c) {
  std::string html = "<table class=\"facts\">\n";
  const auto row = [&](const char* name, const std::string& value) {
    html += cells("td", {name, value});
  };
  row("date", c.date);
  row("device", c.adapter);
  row("driver", c.driver);
  row("back end", c.backend + ", " + c.device_type);
  row("mode", c.mode);
  row("clock", c.clock);
  if (c.kept_awake) row("cores", "kept awake");
  row("copy speed (read + write)", format_rate(c.speed.copy_bytes_per_second, "B/s"));
  row("empty dispatch", format_seconds(c.speed.empty_dispatch_seconds));
  row("dependent dispatch", format_seconds(c.speed.dependent_dispatch_seconds));
  if (!c.speed.clock_held) row("the clocks during these", "unsteady");
  row("cache that cold buffers rotate past", format_rate(c.cache_bytes, "B"));
  row("wgkernels", c.library_version);
  for (const auto& [op, digest] : c.packages) row(op.c_str(), "manifest sha256 " + digest);
  return html + "</table>\n";
}

std::string cards(const Report& report) {
  const Context& c = report.context;
  const auto failed =
      std::ranges::count_if(report.measurements, [](const auto& m) { return !m.error.empty(); });
  std::string html = "<ul class=\"cards\">\n";
  const auto card = [&](const std::string& value, const std::string& what) {
    html += std::format("<li><b>{}</b><span>{}</span></li>\n", escape_html(value), what);
  };
  card(format_rate(c.speed.copy_bytes_per_second, "B/s"), "copying, read and write");
  card(format_seconds(c.speed.empty_dispatch_seconds), "an empty dispatch");
  card(format_seconds(c.speed.dependent_dispatch_seconds),
       "a dispatch that waits for the last one");
  card(std::format("{}", report.measurements.size() - static_cast<std::size_t>(failed)),
       failed > 0 ? std::format("measurements; {} not timed", failed) : "measurements");
  return html + "</ul>\n";
}

bool has_host(const Report& report) {
  return std::ranges::any_of(report.measurements, [](const auto& m) { return m.host.has_value(); });
}

}  // namespace

std::string to_html(const Report& report) {
  const Context& c = report.context;
  std::string html =
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
      "content=\"width=device-width\">\n<title>wgkernels benchmark: " +
      escape_html(c.adapter) + "</title>\n<style>\n" + std::string(kStyle) +
      "</style></head><body>\n";
  html += std::format(
      "<h1>{}</h1>\n<p class=\"lead\">wgkernels {} benchmark, {} mode, {} UTC, timed by {}</p>\n",
      escape_html(c.adapter), escape_html(c.library_version), escape_html(c.mode),
      escape_html(c.date.substr(0, 10) + " " + (c.date.size() > 16 ? c.date.substr(11, 5) : "")),
      escape_html(c.clock));
  if (c.software)
    html +=
        "<p class=\"warn\"><b>This is a software adapter</b>: it proves correctness and host cost, "
        "never GPU speed.</p>\n";
  html += cards(report);
  html += "<nav><a href=\"#cases\">Cases</a>";
  if (!report.comparisons.empty()) html += "<a href=\"#ratios\">Ratios</a>";
  html += "<a href=\"#roofline\">Roofline</a>";
  if (has_host(report)) html += "<a href=\"#host\">Host costs</a>";
  html += "<a href=\"#device\">Device and versions</a></nav>\n";
  if (!clocks_held(report)) html += "<p class=\"warn\">" + std::string(kUnsteady) + "</p>\n";
  html += "<h2 id=\"cases\">Cases</h2>\n" + measurements_table(report, true) +
          measurements_table(report, false);
  if (!report.comparisons.empty())
    html += "<h2 id=\"ratios\">Ratios</h2>\n" + ratios(report, true, false) +
            ratios(report, true, true) + ratios(report, false, false) + ratios(report, false, true);
  html += "<h2 id=\"roofline\">Roofline</h2>\n" + roofline(report) + host_table(report);
  html += "<h2 id=\"device\">Device and versions</h2>\n" + context_table(c);
  return html + "</body></html>\n";
}

}  // namespace wgk::bench
