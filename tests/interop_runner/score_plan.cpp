// SPDX-License-Identifier: Apache-2.0
// Recorded requests of one package on all profiles: the fields that must match, and no others.
#include <algorithm>
#include <span>

#include "base/try.h"
#include "corpus.h"
#include "json/json.h"
#include "package/memory_source.h"
#include "request_reader.h"
#include "session.h"
#include "store/sha256.h"

namespace wgk::interop {
namespace {

std::string hex(std::span<const std::byte> bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const std::byte byte : bytes) {
    text += kDigits[std::to_integer<std::size_t>(byte >> 4)];
    text += kDigits[std::to_integer<std::size_t>(byte & std::byte{15})];
  }
  return text;
}

Json shape_json(const Shape& shape) {
  Json::Array items;
  for (const std::int64_t dimension : shape) items.emplace_back(dimension);
  return Json(std::move(items));
}

char letter(const VariantDecision& decision) {
  constexpr std::array<std::pair<std::string_view, char>, 9> kLetters = {{{"selected", 'o'},
                                                                          {"eligible", 'o'},
                                                                          {"demoted", 'd'},
                                                                          {"requires", 'r'},
                                                                          {"bindings", 'b'},
                                                                          {"when", 'w'},
                                                                          {"error", 'e'},
                                                                          {"superseded", 's'},
                                                                          {"broken", 'g'}}};
  const auto found =
      std::ranges::find(kLetters, decision.verdict, &std::pair<std::string_view, char>::first);
  return found == kLetters.end() ? 'x' : found->second;
}

// Letters for all variants. A selected variant may be a demoted one: its reason tells.
Json letters(const Explanation& explanation) {
  std::string text;
  for (const VariantDecision& decision : explanation.decisions) {
    text += decision.verdict == "selected" && !decision.reason.empty() ? 'd' : letter(decision);
  }
  return Json(text);
}

std::string_view type_name(BindingType type) {
  if (type == BindingType::kUniform) return "uniform";
  return type == BindingType::kStorage ? "storage" : "read-only-storage";
}

class Scorer {
 public:
  Scorer(const Json& shaders, const Json& expected, Record& record)
      : shaders_(shaders), expected_(expected), record_(record) {}

  void score(const Outcome& outcome) {
    const bool ok = text_of(member(expected_, "status")) == "ok";
    if (outcome.error && ok) record_.differ("status", "ok", outcome.error->to_string());
    if (!outcome.error && !ok)
      record_.differ("status", "an error (" + text_of(member(expected_, "message")) + ")", "ok");
    const Json* variant = expected_.find("variant");
    if (variant != nullptr || ok) {
      record_.expect("variant", variant == nullptr ? Json() : *variant,
                     outcome.variant ? Json(*outcome.variant) : Json());
    }
    if (const Json* eligibility = expected_.find("eligibility"))
      record_.expect("eligibility", *eligibility, letters(outcome.explanation));
    if (!ok || !outcome.plan) return;
    score_outputs(*outcome.plan);
    score_passes(*outcome.plan);
    score_scratch(*outcome.plan);
    record_.expect("submits", Json(number("submits")), Json(submits(*outcome.plan)));
  }

 private:
  double number(std::string_view key) const {
    const double* found = member(expected_, key).if_number();
    return found == nullptr ? 0 : *found;
  }

  // One submission, and one more after each pass that ends its submission while others follow.
  static double submits(const Plan& plan) {
    double count = plan.passes.empty() ? 0 : 1;
    for (std::size_t i = 0; i + 1 < plan.passes.size(); ++i)
      count += plan.passes[i].submit_after ? 1 : 0;
    return count;
  }

  void score_outputs(const Plan& plan) {
    const Json& outputs = member(expected_, "outputs");
    const auto* expected = outputs.if_object();
    for (const auto& [name, output] : expected == nullptr ? Json::Object{} : *expected) {
      const PlanTensor* tensor = plan.tensor(name);
      const std::string field = "outputs." + name;
      if (tensor == nullptr || !tensor->is_output) {
        record_.differ(field, json::write(output), "no such output");
        continue;
      }
      record_.expect(field + ".shape", member(output, "shape"), shape_json(tensor->shape));
      record_.expect(field + ".dtype", member(output, "dtype"), Json(wgk::name(tensor->dtype)));
      if (const Json* storage = output.find("storage"))
        record_.expect(field + ".storage", *storage, Json(wgk::name(tensor->storage)));
    }
    for (const PlanTensor& tensor : plan.tensors) {
      if (tensor.is_output && outputs.find(tensor.port) == nullptr)
        record_.differ("outputs." + tensor.port, "no such output", "an output");
    }
  }

  void score_passes(const Plan& plan) {
    const Json& passes = member(expected_, "passes");
    const Json::Array none;
    const Json::Array& expected = passes.if_array() == nullptr ? none : *passes.if_array();
    Json::Array expected_ids, ids;
    for (const Json& pass : expected) expected_ids.push_back(member(pass, "id"));
    for (const PlanPass& pass : plan.passes) ids.emplace_back(pass.id);
    const bool comparable = expected_ids == ids;
    record_.expect("passes", Json(std::move(expected_ids)), Json(std::move(ids)));
    for (std::size_t i = 0; comparable && i < expected.size(); ++i)
      score_pass(expected[i], plan, plan.passes[i]);
  }

  void score_pass(const Json& expected, const Plan& plan, const PlanPass& pass) {
    const std::string field = "passes." + pass.id;
    record_.expect(field + ".dispatch", member(expected, "dispatch"),
                   Json::array({pass.dispatch[0], pass.dispatch[1], pass.dispatch[2]}));
    Json::Array bindings;
    for (const PlanBinding& binding : pass.bindings)
      bindings.push_back(binding_json(plan, binding));
    const Json& expected_bindings = member(expected, "bindings");
    if (expected_bindings.if_array() == nullptr ||
        expected_bindings.if_array()->size() != bindings.size()) {
      record_.expect(field + ".bindings", expected_bindings, Json(std::move(bindings)));
    } else {
      for (std::size_t i = 0; i < bindings.size(); ++i) {
        record_.expect(field + ".bindings." + std::to_string(i), (*expected_bindings.if_array())[i],
                       bindings[i]);
      }
    }
    Json uniforms;
    for (const PlanUniform& uniform : pass.uniforms) uniforms.set(uniform.name, hex(uniform.bytes));
    record_.expect(field + ".uniforms", member(expected, "uniforms"), uniforms);
    record_.expect_text(field + ".shader",
                        text_of(member(shaders_, text_of(member(expected, "shader")))), *pass.wgsl);
  }

  static Json binding_json(const Plan& plan, const PlanBinding& binding) {
    Json json = Json::object(
        {{"binding", binding.index}, {"type", type_name(binding.type)}, {"name", binding.name}});
    if (binding.resource == PlanBinding::Resource::kTensor)
      json.set("tensor", plan.tensors[binding.slot].port);
    if (binding.resource == PlanBinding::Resource::kScratch)
      json.set("scratch", plan.scratch[binding.slot].id);
    if (binding.resource != PlanBinding::Resource::kUniform) json.set("offset", binding.offset);
    json.set("size", binding.size);
    return json;
  }

  void score_scratch(const Plan& plan) {
    Json scratch;
    for (const PlanScratch& entry : plan.scratch) {
      Json json = Json::object({{"dtype", wgk::name(entry.dtype)},
                                {"shape", shape_json(entry.shape)},
                                {"byte_length", entry.byte_length}});
      if (entry.zero_init) json.set("zero_init", true);
      if (entry.allocated) {
        json.set("buffer_size", entry.buffer_size);
      } else {
        json.set("allocated", false);
      }
      scratch.set(entry.id, std::move(json));
    }
    const auto* expected = member(expected_, "scratch").if_object();
    for (const auto& [id, entry] : expected == nullptr ? Json::Object{} : *expected) {
      record_.expect("scratch." + id, entry, member(scratch, id));
    }
    const auto* got = scratch.if_object();
    for (const auto& [id, entry] : got == nullptr ? Json::Object{} : *got) {
      if (member(expected_, "scratch").find(id) == nullptr)
        record_.differ("scratch." + id, "no such scratch", json::write(entry));
    }
  }

  const Json& shaders_;
  const Json& expected_;
  Record& record_;
};

void score_request(const Json& file, const Json& source, const Json& expected,
                   const package::Package& package, LoaderSession& session, Record& record) {
  auto request = read_request(package.manifest, source);
  Outcome outcome;
  if (request) {
    outcome = session.call(request->request);
  } else {
    outcome.error = std::move(request.error());
  }
  Scorer(member(file, "shaders"), expected, record).score(outcome);
}

}  // namespace

Status score_package(const Corpus& corpus, const std::filesystem::path& expectations,
                     Report& report) {
  WGK_ASSIGN(const Json file, read_json(expectations));
  const std::string name = text_of(member(file, "package"));
  WGK_ASSIGN(auto files,
             read_package_files(corpus.folder / "packages" / name / "build" / "webgpu"));
  package::LoadOptions options;
  options.defer_files = true;
  WGK_ASSIGN(const auto package,
             package::load(package::MemorySource(std::move(files), name), store::sha256, options));

  Record ids(name + " variants");
  Json::Array variants;
  for (const package::Variant& variant : package->manifest.variants)
    variants.emplace_back(variant.id);
  ids.expect("ids", member(file, "variants"), Json(std::move(variants)));
  report.add(ids);

  const auto* results = member(file, "results").if_object();
  const auto* requests = member(file, "requests").if_array();
  if (results == nullptr || requests == nullptr)
    return failure("io/format", expectations.string() + " has no requests or no results");
  for (const auto& [profile, records] : *results) {
    const auto caps = corpus.profiles.find(profile);
    if (caps == corpus.profiles.end())
      return failure("io/format", expectations.string() + " names the unknown profile " + profile);
    LoaderSession session(package, caps->second);
    for (const Json& request : *requests) {
      const std::string id = text_of(member(request, "id"));
      const Json* expected = records.find(id);
      if (expected == nullptr) continue;
      Record record(name + " " + profile + " " + id);
      score_request(file, request, *expected, *package, session, record);
      report.add(record);
    }
  }
  return {};
}

}  // namespace wgk::interop
