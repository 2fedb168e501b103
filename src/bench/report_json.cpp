// SPDX-License-Identifier: Apache-2.0
#include "bench/report.h"
#include "json/cursor.h"

namespace wgk::bench {
namespace {

Json summary_json(const Summary& s) {
  return Json::object({{"median", s.median},
                       {"p10", s.p10},
                       {"p90", s.p90},
                       {"min", s.min},
                       {"max", s.max},
                       {"samples", s.samples},
                       {"outliers", s.outliers}});
}

double number_or_zero(const Json& object, std::string_view key) {
  const Json* member = object.find(key);
  const double* number = member ? member->if_number() : nullptr;
  return number ? *number : 0;
}

std::string text_or_empty(const Json& object, std::string_view key) {
  const Json* member = object.find(key);
  const std::string* text = member ? member->if_string() : nullptr;
  return text ? *text : std::string();
}

bool flag(const Json& object, std::string_view key) {
  const Json* member = object.find(key);
  const bool* value = member ? member->if_bool() : nullptr;
  return value && *value;
}

Summary summary_from(const Json& object, std::string_view key) {
  const Json* member = object.find(key);
  if (!member) return {};
  return {.median = number_or_zero(*member, "median"),
          .p10 = number_or_zero(*member, "p10"),
          .p90 = number_or_zero(*member, "p90"),
          .min = number_or_zero(*member, "min"),
          .max = number_or_zero(*member, "max"),
          .samples = static_cast<std::size_t>(number_or_zero(*member, "samples")),
          .outliers = static_cast<std::size_t>(number_or_zero(*member, "outliers"))};
}

Json host_json(const HostCosts& h) {
  return Json::object({{"plan", h.plan},
                       {"known_plan", h.known_plan},
                       {"render", h.render},
                       {"pipelines", h.pipelines},
                       {"record", h.record},
                       {"submit", h.submit},
                       {"upload", h.upload},
                       {"read_back", h.read_back},
                       {"whole_call", h.whole_call}});
}

HostCosts host_from(const Json& object) {
  return {.plan = number_or_zero(object, "plan"),
          .known_plan = number_or_zero(object, "known_plan"),
          .render = number_or_zero(object, "render"),
          .pipelines = number_or_zero(object, "pipelines"),
          .record = number_or_zero(object, "record"),
          .submit = number_or_zero(object, "submit"),
          .upload = number_or_zero(object, "upload"),
          .read_back = number_or_zero(object, "read_back"),
          .whole_call = number_or_zero(object, "whole_call")};
}

Json context_json(const Context& c) {
  Json packages = Json::object({});
  for (const auto& [op, digest] : c.packages) packages.set(op, digest);
  return Json::object({{"date", c.date},
                       {"library_version", c.library_version},
                       {"adapter", c.adapter},
                       {"driver", c.driver},
                       {"backend", c.backend},
                       {"device_type", c.device_type},
                       {"software", c.software},
                       {"mode", c.mode},
                       {"clock", c.clock},
                       {"kept_awake", c.kept_awake},
                       {"cache_bytes", c.cache_bytes},
                       {"copy_bytes_per_second", c.speed.copy_bytes_per_second},
                       {"empty_dispatch_seconds", c.speed.empty_dispatch_seconds},
                       {"dependent_dispatch_seconds", c.speed.dependent_dispatch_seconds},
                       {"clock_held", c.speed.clock_held},
                       {"packages", std::move(packages)}});
}

Json measurement_json(const Measurement& m, const Context& context) {
  Json::Array tags(m.tags.begin(), m.tags.end());
  // The first ten names are Google Benchmark's, whose tools want a cpu_time too; it is not
  // measured.
  Json json = Json::object({{"name", m.full_name()},
                            {"run_name", m.full_name()},
                            {"run_type", "iteration"},
                            {"repetitions", 1},
                            {"repetition_index", 0},
                            {"threads", 1},
                            {"iterations", m.seconds.samples},
                            {"real_time", m.seconds.median * 1e6},
                            {"cpu_time", 0},
                            {"time_unit", "us"},
                            {"package", m.package},
                            {"case", m.name},
                            {"variant", m.variant},
                            {"tags", std::move(tags)},
                            {"cold", m.cold},
                            {"seconds", summary_json(m.seconds)},
                            {"calls", m.calls},
                            {"dispatches", m.dispatches},
                            {"bytes", m.bytes},
                            {"flops", m.flops},
                            {"bytes_per_second", m.bytes_per_second()},
                            {"flops_per_second", m.flops_per_second()},
                            {"clock_retries", m.clock_retries},
                            {"clock_held", m.clock_held},
                            {"largest_error", m.largest_error}});
  if (!m.plan_digest.empty()) json.set("plan_digest", m.plan_digest);
  if (context.speed.copy_bytes_per_second > 0) {
    json.set("fraction_of_copy", m.bytes_per_second() / context.speed.copy_bytes_per_second);
  }
  if (m.copy_bytes_per_second > 0) json.set("copy_beside", m.copy_bytes_per_second);
  if (!m.error.empty()) {
    json.set("error_occurred", true);
    json.set("error_message", m.error);
  }
  if (m.host) json.set("host_seconds", host_json(*m.host));
  return json;
}

// Reports of older versions do not say.
bool clock_held(const Json& json) {
  return json.find("clock_held") == nullptr || flag(json, "clock_held");
}

Measurement measurement_from(const Json& json) {
  Measurement m;
  m.package = text_or_empty(json, "package");
  m.name = text_or_empty(json, "case");
  m.variant = text_or_empty(json, "variant");
  if (const Json* tags = json.find("tags"); tags && tags->if_array()) {
    for (const Json& tag : *tags->if_array()) {
      if (const std::string* text = tag.if_string()) m.tags.push_back(*text);
    }
  }
  m.plan_digest = text_or_empty(json, "plan_digest");
  m.cold = flag(json, "cold");
  m.seconds = summary_from(json, "seconds");
  m.calls = static_cast<std::size_t>(number_or_zero(json, "calls"));
  m.dispatches = static_cast<std::size_t>(number_or_zero(json, "dispatches"));
  m.bytes = number_or_zero(json, "bytes");
  m.flops = number_or_zero(json, "flops");
  m.error = text_or_empty(json, "error_message");
  m.largest_error = number_or_zero(json, "largest_error");
  m.copy_bytes_per_second = number_or_zero(json, "copy_beside");
  m.clock_retries = static_cast<std::size_t>(number_or_zero(json, "clock_retries"));
  m.clock_held = clock_held(json);
  if (const Json* host = json.find("host_seconds")) m.host = host_from(*host);
  return m;
}

Context context_from(const Json& json) {
  Context c{
      .date = text_or_empty(json, "date"),
      .library_version = text_or_empty(json, "library_version"),
      .adapter = text_or_empty(json, "adapter"),
      .driver = text_or_empty(json, "driver"),
      .backend = text_or_empty(json, "backend"),
      .device_type = text_or_empty(json, "device_type"),
      .software = flag(json, "software"),
      .mode = text_or_empty(json, "mode"),
      .clock = text_or_empty(json, "clock"),
      .kept_awake = flag(json, "kept_awake"),
      .cache_bytes = number_or_zero(json, "cache_bytes"),
      .speed = {.copy_bytes_per_second = number_or_zero(json, "copy_bytes_per_second"),
                .empty_dispatch_seconds = number_or_zero(json, "empty_dispatch_seconds"),
                .dependent_dispatch_seconds = number_or_zero(json, "dependent_dispatch_seconds"),
                .clock_held = clock_held(json)}};
  if (const Json* packages = json.find("packages"); packages && packages->if_object()) {
    for (const auto& [op, digest] : *packages->if_object()) {
      if (const std::string* text = digest.if_string()) c.packages.emplace_back(op, *text);
    }
  }
  return c;
}

}  // namespace

std::string Measurement::full_name() const {
  return package + "/" + name + "/" + variant + (cold ? "/cold" : "/hot");
}

Json to_json(const Report& report) {
  Json::Array benchmarks;
  for (const Measurement& m : report.measurements)
    benchmarks.push_back(measurement_json(m, report.context));
  Json json = Json::object(
      {{"context", context_json(report.context)}, {"benchmarks", std::move(benchmarks)}});
  if (!report.comparisons.empty()) {
    Json::Array comparisons;
    for (const Comparison& c : report.comparisons) {
      comparisons.push_back(Json::object({{"package", c.package},
                                          {"name", c.name},
                                          {"a", c.a},
                                          {"b", c.b},
                                          {"cold", c.cold},
                                          {"ratio", summary_json(c.ratio)}}));
    }
    json.set("comparisons", std::move(comparisons));
  }
  return json;
}

Result<Report> report_from_json(const Json& json) {
  const json::Cursor root(json, "", "package/cases");
  auto context = root.require("context");
  if (!context) return std::unexpected(context.error());
  auto benchmarks = root.require("benchmarks");
  if (!benchmarks) return std::unexpected(benchmarks.error());
  auto items = benchmarks->items();
  if (!items) return std::unexpected(items.error());
  Report report;
  report.context = context_from(context->value());
  for (const json::Cursor& item : *items)
    report.measurements.push_back(measurement_from(item.value()));
  if (const Json* comparisons = json.find("comparisons"); comparisons && comparisons->if_array()) {
    for (const Json& c : *comparisons->if_array()) {
      report.comparisons.push_back({text_or_empty(c, "package"), text_or_empty(c, "name"),
                                    text_or_empty(c, "a"), text_or_empty(c, "b"),
                                    c.find("cold") == nullptr || flag(c, "cold"),
                                    summary_from(c, "ratio")});
    }
  }
  return report;
}

}  // namespace wgk::bench
