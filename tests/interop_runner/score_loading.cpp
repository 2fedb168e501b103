// SPDX-License-Identifier: Apache-2.0
// Recorded manifests and load cases.
#include <cmath>

#include "base/try.h"
#include "corpus.h"
#include "json/json.h"
#include "package/memory_source.h"
#include "session.h"
#include "store/sha256.h"

namespace wgk::interop {
namespace {

constexpr std::string_view kPublisher = "webgpu-kernels/";

void score_manifest(const Json& entry, Record& record) {
  const auto manifest = package::read_manifest(member(entry, "manifest"));
  const bool throws = is_true(member(entry, "throws"));
  if (manifest && throws)
    return record.differ("load", "an error (" + text_of(member(entry, "gist")) + ")", "it loads");
  if (!manifest && !throws) return record.differ("load", "it loads", manifest.error().to_string());
  if (throws || entry.find("variants") == nullptr) return;
  Json::Array ids;
  for (const package::Variant& variant : manifest->variants) ids.emplace_back(variant.id);
  record.expect("variants", member(entry, "variants"), Json(std::move(ids)));
}

// Why a load case is none of a folder's: it is about addresses, revisions or trust, or does not
// carry its changed file.
std::string_view outside(const Json& entry) {
  constexpr std::string_view kHub = "addresses, revisions and trust belong to the hub store";
  const std::string location = text_of(member(entry, "location"));
  if (!location.starts_with(kPublisher) ||
      location.find('/', kPublisher.size()) != std::string::npos)
    return kHub;
  const Json& options = member(entry, "options");
  const double* version = member(options, "version").if_number();
  if (version == nullptr || *version != 1 || options.find("revision") != nullptr) return kHub;
  if (entry.find("fetched") == nullptr) return "the record does not carry the file that it changes";
  return {};
}

// Loads the base package with the case's metadata, and calls it where the case says so.
Status run_case(const Corpus& corpus, const Json& entry,
                const std::map<std::string, std::string, std::less<>>& files) {
  auto changed = files;
  if (const Json* metadata = entry.find("metadata")) changed["metadata.json"] = text_of(*metadata);
  package::LoadOptions options;
  options.defer_files = true;
  if (const Json* expected = member(entry, "options").find("expectedOpId"))
    options.expected_op_id = text_of(*expected);
  const package::MemorySource source(std::move(changed), text_of(member(entry, "location")));
  WGK_ASSIGN(const auto package, package::load(source, store::sha256, options));
  if (entry.find("call") == nullptr) return {};
  Request request;
  request.inputs.emplace_back("x", TensorDesc{.shape = {4}, .dtype = DType::f32});
  const auto profile = corpus.profiles.find("default");
  LoaderSession session(
      package, profile == corpus.profiles.end() ? DeviceCaps::defaults() : profile->second);
  if (const auto outcome = session.call(request); outcome.error)
    return std::unexpected(*outcome.error);
  return {};
}

}  // namespace

Status score_manifests(const Corpus& corpus, Report& report) {
  WGK_ASSIGN(const Json file, read_json(corpus.folder / "expectations" / "invalid_manifests.json"));
  const auto* cases = member(file, "cases").if_array();
  if (cases == nullptr) return failure("io/format", "invalid_manifests.json has no cases");
  for (const Json& entry : *cases) {
    Record record("manifest " + text_of(member(entry, "id")));
    score_manifest(entry, record);
    report.add(record);
  }
  return {};
}

Status score_loading(const Corpus& corpus, Report& report) {
  WGK_ASSIGN(const Json file, read_json(corpus.folder / "expectations" / "loading.json"));
  const auto* cases = member(file, "cases").if_array();
  if (cases == nullptr) return failure("io/format", "loading.json has no cases");
  for (const Json& entry : *cases) {
    Record record("loading " + text_of(member(entry, "id")));
    if (const std::string_view why = outside(entry); !why.empty()) {
      report.skip(record.name(), why);
      continue;
    }
    const std::string name = text_of(member(entry, "location")).substr(kPublisher.size());
    WGK_ASSIGN(const auto files,
               read_package_files(corpus.folder / "packages" / name / "build" / "webgpu"));
    const Status done = run_case(corpus, entry, files);
    const bool throws =
        is_true(member(entry, "throws")) || text_of(member(entry, "call")) == "throws";
    if (done && throws) record.differ("load", "an error", "success");
    if (!done && !throws) record.differ("load", "success", done.error().to_string());
    report.add(record);
  }
  return {};
}

}  // namespace wgk::interop
