// SPDX-License-Identifier: Apache-2.0
#include "verify/runner.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/number.h"
#include "base/try.h"
#include "verify/compare.h"
#include "verify/expected.h"

namespace wgk::verify {
namespace {

// Single quotes where a shell needs them.
std::string quoted(const std::string& text) {
  const bool plain = !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("/._-+:=,@").contains(c);
  });
  if (plain) return text;
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? "'\\''" : std::string(1, c);
  return out + "'";
}

std::string command_for(const RunOptions& options, const std::string& test,
                        const std::string& variant) {
  std::string command = "wgk test " + quoted(options.place);
  if (!options.cases_file.empty()) command += " --cases " + quoted(options.cases_file);
  command += " --case " + test;
  if (!variant.empty()) command += " --variant " + variant;
  if (!options.device.empty()) command += " --device " + quoted(options.device);
  return command;
}

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "'" : ", '") + name + "'";
  return text;
}

// Outputs of cases that later ones are compared with.
struct Twins {
  std::set<std::string, std::less<>> wanted;
  std::map<std::string, Arrays, std::less<>> outputs;
};

// One case, on one variant after the other.
class CaseRun {
 public:
  CaseRun(std::shared_ptr<const package::Package> package, const package::TestCase& test,
          Engine& engine, const RunOptions& options, Twins& twins)
      : shared_(std::move(package)),
        package_(*shared_),
        test_(test),
        engine_(engine),
        options_(options),
        twins_(twins) {}

  std::vector<CaseResult> run() {
    if (test_.skip_gpu)
      return {skipped("", test_.skip_gpu->category + ": " + test_.skip_gpu->reason)};
    auto call = make_call(package_, test_);
    if (!call) return {failed(result(""), call.error().to_string())};
    call_ = *std::move(call);
    if (test_.error) return {run_failing()};
    expected_.emplace(package_, call_);
    if (!options_.all_variants && options_.variant.empty()) return {run_variant("", true)};
    return run_variants();
  }

 private:
  CaseResult result(const std::string& variant) const {
    CaseResult result;
    result.package = package_.manifest.op_id();
    result.name = test_.name;
    result.variant = variant;
    result.adapter = engine_.adapter();
    result.command = command_for(options_, test_.name, variant);
    return result;
  }

  CaseResult skipped(const std::string& variant, std::string why) const {
    CaseResult out = result(variant);
    out.verdict = Verdict::kSkipped;
    out.message = std::move(why);
    return out;
  }

  static CaseResult failed(CaseResult out, std::string why) {
    out.verdict = Verdict::kFailed;
    out.message = std::move(why);
    return out;
  }

  std::vector<CaseResult> run_variants() {
    const Explanation explanation = explain(package_, make_request(call_), engine_.caps());
    std::vector<CaseResult> results;
    bool any = false;
    for (const VariantDecision& decision : explanation.decisions) {
      if (!options_.variant.empty() && decision.id != options_.variant) continue;
      if (is_accepted(decision)) {
        results.push_back(run_variant(decision.id, decision.verdict == "selected"));
        any = true;
      } else if (!options_.variant.empty()) {
        results.push_back(skipped(decision.id, decision.verdict + ": " + decision.reason));
        any = true;
      }
    }
    if (!any) {
      const std::string why =
          explanation.error ? explanation.error->to_string() : "no variant accepts this case";
      results.push_back(failed(result(options_.variant), why));
    }
    return results;
  }

  // The call must fail, with the code that the case names, and must leave everything as it was.
  CaseResult run_failing() {
    CaseResult out = result("");
    call_.must_fail = true;
    const auto done = engine_.call(shared_, call_);
    const std::string wanted = test_.error->empty() ? "any error" : "error " + *test_.error;
    if (done) return failed(std::move(out), "the call succeeded; expected " + wanted);
    if (!matches_code(*test_.error, done.error().error))
      return failed(std::move(out),
                    "expected " + wanted + ", got " + done.error().error.to_string());
    if (!done.error().changed.empty())
      return failed(std::move(out), "the failing call changed " + joined(done.error().changed));
    return out;
  }

  CaseResult run_variant(const std::string& variant, bool selected) {
    CaseResult out = result(variant);
    call_.variant = variant;
    auto done = engine_.call(shared_, call_);
    if (!done) return failed(std::move(out), done.error().error.to_string());
    out.variant = done->variant;
    for (const auto& [name, expectation] : test_.outputs) {
      const package::Port* port = package_.manifest.output(name);
      const Array* got = port != nullptr ? find_array(done->outputs, port->key) : nullptr;
      if (got == nullptr) return failed(std::move(out), "the call gave no output '" + name + "'");
      if (Status status = check_output(port->key, *got, expectation, out); !status)
        return failed(std::move(out), status.error().to_string());
      if (out.error && *out.error > 1) break;
    }
    if (out.error && *out.error > 1) return failed(out, difference_text(out, done->outputs));
    if (Status status = check_unchanged(done->outputs); !status)
      return failed(std::move(out), status.error().message);
    if (options_.repeat) {
      if (Status status = check_repeat(done->outputs); !status)
        return failed(std::move(out), status.error().to_string());
    }
    if (selected) {
      if (Status status = check_twin(done->outputs); !status)
        return failed(std::move(out), status.error().message);
      if (twins_.wanted.contains(test_.name)) twins_.outputs[test_.name] = std::move(done->outputs);
    }
    return out;
  }

  Status check_output(const std::string& port, const Array& got,
                      const package::Expectation& expectation, CaseResult& out) {
    if (expectation.shape && *expectation.shape != got.shape) {
      return failure("request/shape", "output '" + port + "' has shape " + shape_text(got.shape) +
                                          "; expected " + shape_text(*expectation.shape));
    }
    if (expectation.dtype && *expectation.dtype != got.dtype) {
      return failure("request/dtype", "output '" + port + "' is " +
                                          std::string(wgk::name(got.dtype)) + "; expected " +
                                          std::string(wgk::name(*expectation.dtype)));
    }
    if (!expectation.compare) return {};
    Difference worst;
    if (!expectation.samples.empty()) {
      WGK_ASSIGN(worst, compare_samples(got.dtype, got.data, expectation));
    } else {
      WGK_ASSIGN(const std::vector<std::byte> wanted, expected_->values(port, got, expectation));
      if (wanted.size() != got.data.size()) {
        return failure("package/cases", "output '" + port + "' has " +
                                            std::to_string(got.data.size()) + " bytes; expected " +
                                            std::to_string(wanted.size()));
      }
      worst = compare(got.dtype, got.data, wanted, expectation);
      WGK_TRY(check_bits(port, got, wanted, expectation));
    }
    if (!out.error || worst.multiple > *out.error) {
      out.error = worst.multiple;
      out.output = port;
      out.index = worst.index;
      out.wanted = worst.wanted;
      out.got = worst.got;
    }
    return {};
  }

  // What must equal an input must equal it bit by bit: NaNs and zeros keep their signs and
  // payloads.
  static Status check_bits(const std::string& port, const Array& got,
                           const std::vector<std::byte>& wanted,
                           const package::Expectation& expectation) {
    const bool exact = expectation.tolerance.abs == 0 && expectation.tolerance.rel == 0;
    if (!exact || !expectation.data ||
        !std::holds_alternative<package::SameAsInput>(*expectation.data))
      return {};
    const std::optional<std::size_t> index =
        first_counted_difference(got.dtype, got.data, wanted, expectation);
    if (!index) return {};
    return failure("request/value", "output '" + port +
                                        "' does not have the bits of the input at " +
                                        index_text(*index, got.shape));
  }

  // The first element that differs and is not ignored.
  static std::optional<std::size_t> first_counted_difference(
      DType dtype, std::span<const std::byte> a, std::span<const std::byte> b,
      const package::Expectation& expectation) {
    const std::size_t width = host_bytes(dtype);
    std::size_t from = 0;
    while (const auto found =
               first_difference(dtype, a.subspan(from * width), b.subspan(from * width))) {
      const auto index = static_cast<std::int64_t>(from + *found);
      const auto range = std::ranges::find_if(expectation.ignore, [&](const auto& one) {
        return one.first <= index && index < one.second;
      });
      if (range == expectation.ignore.end()) return static_cast<std::size_t>(index);
      from = static_cast<std::size_t>(range->second);
    }
    return std::nullopt;
  }

  Status check_unchanged(const Arrays& outputs) const {
    for (const std::string& name : test_.unchanged) {
      const package::Port* port = package_.manifest.output(name);
      const Array* after = port != nullptr ? find_array(outputs, port->key) : nullptr;
      const Array* before = port != nullptr ? find_array(call_.inputs, port->key) : nullptr;
      if (after == nullptr || before == nullptr)
        return failure("package/cases",
                       "unchanged: '" + name + "' is not an in-place tensor of this call");
      if (const auto index = first_difference(after->dtype, before->data, after->data)) {
        return failure("request/value", "'" + name + "' must stay as it was, but changed at " +
                                            index_text(*index, after->shape));
      }
    }
    return {};
  }

  Status check_repeat(const Arrays& first) {
    const auto again = engine_.call(shared_, call_);
    if (!again) return std::unexpected(again.error().error);
    for (const auto& [name, expectation] : test_.outputs) {
      const package::Port* port = package_.manifest.output(name);
      const Array* a = find_array(first, port->key);
      const Array* b = find_array(again->outputs, port->key);
      if (b == nullptr || a->data.size() != b->data.size())
        return failure("request/value", "the repeated call gave another output '" + name + "'");
      if (const auto index = first_counted_difference(a->dtype, a->data, b->data, expectation)) {
        return failure("request/value", "the repeated call gave other bits in '" + name + "' at " +
                                            index_text(*index, a->shape));
      }
    }
    return {};
  }

  // Nothing is said when the twin did not run, or failed itself.
  Status check_twin(const Arrays& outputs) const {
    const auto twin = twins_.outputs.find(test_.twin);
    if (twin == twins_.outputs.end()) return {};
    for (const auto& [name, expectation] : test_.outputs) {
      const package::Port* port = package_.manifest.output(name);
      const Array* a = find_array(twin->second, port->key);
      const Array* b = find_array(outputs, port->key);
      if (a == nullptr) continue;
      if (a->data.size() != b->data.size())
        return failure("request/value", "output '" + name + "' is not as long as that of its twin");
      if (const auto index = first_counted_difference(a->dtype, a->data, b->data, expectation)) {
        return failure("request/value", "output '" + name + "' has other bits than that of '" +
                                            test_.twin + "' at " + index_text(*index, a->shape));
      }
    }
    return {};
  }

  static std::string difference_text(const CaseResult& out, const Arrays& outputs) {
    const Array* array = find_array(outputs, out.output);
    return "output '" + out.output + "' at " + index_text(out.index, array->shape) + ": wanted " +
           number_text(out.wanted) + ", got " + number_text(out.got) + " (" +
           number_text(*out.error) + " times the tolerance)";
  }

  std::shared_ptr<const package::Package> shared_;
  const package::Package& package_;
  const package::TestCase& test_;
  Engine& engine_;
  const RunOptions& options_;
  Twins& twins_;
  Call call_;
  std::optional<Expected> expected_;
};

}  // namespace

bool is_accepted(const VariantDecision& decision) {
  return decision.verdict == "selected" || decision.verdict == "eligible" ||
         decision.verdict == "demoted";
}

std::string_view name(Verdict verdict) {
  switch (verdict) {
    case Verdict::kPassed: return "passed";
    case Verdict::kFailed: return "failed";
    case Verdict::kSkipped: return "skipped";
  }
  return "";
}

Totals run_cases(const std::shared_ptr<const package::Package>& package,
                 const std::vector<package::TestCase>& cases, Engine& engine,
                 const RunOptions& options, const std::function<void(const CaseResult&)>& done) {
  Totals totals;
  Twins twins;
  for (const package::TestCase& test : cases) {
    if (!test.twin.empty()) twins.wanted.insert(test.twin);
  }
  for (const package::TestCase& test : cases) {
    if (!options.case_pattern.empty() && !matches_glob(options.case_pattern, test.name)) continue;
    for (const CaseResult& result : CaseRun(package, test, engine, options, twins).run()) {
      if (result.verdict == Verdict::kPassed) ++totals.passed;
      if (result.verdict == Verdict::kFailed) ++totals.failed;
      if (result.verdict == Verdict::kSkipped) ++totals.skipped;
      done(result);
    }
  }
  return totals;
}

Json to_json(const CaseResult& result) {
  const auto number = [](double value) {
    return std::isfinite(value) ? Json(value) : Json(number_text(value));
  };
  Json json = Json::object({{"package", result.package},
                            {"case", result.name},
                            {"variant", result.variant},
                            {"adapter", result.adapter},
                            {"status", name(result.verdict)}});
  if (!result.message.empty()) json.set("message", result.message);
  if (result.error) {
    json.set("error", number(*result.error));
    json.set("output", result.output);
    json.set("index", static_cast<double>(result.index));
    json.set("wanted", number(result.wanted));
    json.set("got", number(result.got));
  }
  json.set("command", result.command);
  return json;
}

std::string summary(const Totals& totals) {
  return std::to_string(totals.passed) + " passed, " + std::to_string(totals.failed) + " failed, " +
         std::to_string(totals.skipped) + " skipped";
}

bool matches_glob(std::string_view pattern, std::string_view text) {
  // The last '*' takes one character more whenever the rest does not fit.
  std::size_t p = 0, t = 0, star = std::string_view::npos, mark = 0;
  while (t < text.size()) {
    if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t]) && pattern[p] != '*') {
      ++p, ++t;
    } else if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      mark = t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++mark;
    } else {
      return false;
    }
  }
  return pattern.substr(p).find_first_not_of('*') == std::string_view::npos;
}

}  // namespace wgk::verify
