// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "base/number.h"
#include "base/try.h"
#include "io/files.h"
#include "jinja/template.h"
#include "json/cursor.h"
#include "json/json.h"
#include "package/card.h"
#include "package/case_data.h"
#include "store/digest.h"
#include "store/folder_source.h"
#include "store/open.h"
#include "verify/expected.h"
#include "verify/names_check.h"
#include "verify/package_files.h"
#include "verify/stated_work.h"
#include "wgk/plan.h"

namespace wgk::verify {
namespace {

namespace fs = std::filesystem;

bool is_integer(DType dtype) { return dtype != DType::f32 && dtype != DType::f16; }

class Check {
 public:
  Check(std::string_view place, fs::path path, PackageFolder folder)
      : place_(place), path_(std::move(path)), folder_(std::move(folder)) {}

  Result<std::vector<Error>> run() {
    WGK_TRY(check_metadata());
    WGK_TRY(check_templates());
    append(check_expressions(package().manifest));
    append(check_contract_names(package()));
    for (const package::TestCase& test : folder_.tests) check_case(test);
    for (const package::BenchCase& bench : folder_.benches) check_bench(bench);
    check_card();
    return std::move(errors_);
  }

 private:
  const package::Package& package() const { return *folder_.package; }

  void add(std::string_view code, std::string message, std::string hint = {}) {
    errors_.push_back(Error{std::string(code), std::move(message), {}, std::move(hint)});
  }

  void append(std::vector<Error> errors) {
    errors_.insert(errors_.end(), std::make_move_iterator(errors.begin()),
                   std::make_move_iterator(errors.end()));
  }

  // Our own files may say nothing that the format does not know, and nothing that is out of date.
  Status check_metadata() {
    WGK_ASSIGN(const std::string text, io::read_file(path_ / "metadata.json"));
    WGK_ASSIGN(const Json json, json::parse(text));
    const json::Cursor cursor(json, "", "package/metadata");
    const auto note = [&](const Status& status) {
      if (!status) errors_.push_back(status.error());
    };
    note(cursor.only(
        {"name", "id", "version", "license", "backend", "digest", "provenance", "webgpu"}));
    note(cursor.find("digest")->only({"algorithm", "files"}));
    note(cursor.find("webgpu")->only({"manifestSpec", "specialized", "opPath", "variants"}));
    if (package().metadata.id.empty()) add("package/metadata", "id: the build has no id");
    if (package().metadata.license.empty()) add("package/metadata", "license: is missing");

    WGK_ASSIGN(const store::DigestReport report,
               store::refresh(place_, {.shared = {}, .dry_run = true}));
    for (const std::string& file : report.copied)
      add("package/digest", "'" + file + "' differs from the shared file of that name",
          "run `wgk digest`");
    for (const std::string& file : report.removed)
      add("package/digest", "nothing includes the copied shared file '" + file + "'",
          "run `wgk digest`");
    check_listed(report);
    return {};
  }

  // A loader that fetches the files of one variant only must find every include in its list.
  void check_listed(const store::DigestReport& report) {
    std::set<std::string> used;
    for (const auto& [id, needed] : report.templates) {
      const auto listed =
          std::ranges::find(package().metadata.variants, id,
                            &std::pair<std::string, std::vector<std::string>>::first);
      for (const std::string& file : needed) {
        used.insert(file);
        if (listed != package().metadata.variants.end() &&
            !std::ranges::contains(listed->second, file)) {
          add("package/metadata",
              "webgpu.variants." + id + ": does not list '" + file +
                  "', which its templates include",
              "run `wgk digest`");
        }
      }
    }
    for (const auto& [file, parsed] : package().templates) {
      if (!used.contains(file))
        add("package/template", "no pass renders or includes '" + file + "'");
    }
  }

  Status check_templates() {
    WGK_ASSIGN(const store::FolderSource source, store::FolderSource::open(path_));
    std::map<std::string, std::string, std::less<>> files;
    for (const auto& [path, parsed] : package().templates) {
      if (!parsed.get()) errors_.push_back(parsed.get().error());
      WGK_ASSIGN(files[path], source.read(path));
    }
    const jinja::Loader loader = [&](std::string_view path) -> const std::string* {
      const auto found = files.find(path);
      return found == files.end() ? nullptr : &found->second;
    };
    std::vector<TemplateText> texts;
    for (const auto& [path, text] : files) {
      if (auto expanded = jinja::expand_includes(path, loader))
        texts.push_back({path, *std::move(expanded)});
    }
    append(check_template_names(package(), texts));
    return {};
  }

  // The call of a case; data only where planning may look at it, or everywhere.
  static Result<Call> call_of(const package::CaseRequest& request, std::string_view kind,
                              bool all_data) {
    Call call;
    call.attrs = request.attrs;
    call.args = request.args;
    call.tunables = request.tunables;
    for (const auto& [name, tensor] : request.inputs) {
      Array array{tensor.dtype, tensor.shape, {}};
      if (is_integer(tensor.dtype) || all_data) {
        auto data = package::make_host_data(tensor);
        if (!data)
          return failure(data.error().code, std::string(kind) + " case '" + request.name +
                                                "', input '" + name + "': " + data.error().message);
        array.data = *std::move(data);
      }
      call.inputs.emplace_back(name, std::move(array));
    }
    return call;
  }

  // How the least device that WebGPU promises judges a call. What a variant needs of it beyond that
  // is its own affair, but not the two storage buffers per stage that only the published loader
  // takes for granted (DeviceCaps::defaults).
  Explanation explain_on_least(const std::string& what, const Request& request, DeviceCaps caps) {
    constexpr std::string_view kBuffers = "maxStorageBuffersPerShaderStage";
    constexpr double kPromised = 8;
    const Explanation generous = explain(package(), request, caps);
    caps.limits.emplace_back(kBuffers, kPromised);
    std::ranges::sort(caps.limits);
    Explanation least = explain(package(), request, caps);
    if (least.error && least.error->code == "select/none" && !generous.error) {
      add("package/cases", what + " can be planned with " +
                               number_text(*DeviceCaps::defaults().limit(kBuffers)) +
                               " storage buffers per shader stage, but not with the " +
                               number_text(kPromised) + " that WebGPU promises");
    }
    return least;
  }

  // Every case must be planned or refused as it says, on the least device; that it has no variant
  // there is allowed.
  void check_case(const package::TestCase& test) {
    auto call = call_of(test, "test", test.error.has_value());
    if (!call) return errors_.push_back(std::move(call).error());
    for (const auto& [name, expectation] : test.outputs) call->outputs.push_back(name);
    const Explanation explanation = explain_on_least("test case '" + test.name + "'",
                                                     make_request(*call), DeviceCaps::defaults());
    if (test.error) return check_refusal(test, explanation);
    if (!explanation.error || explanation.error->code == "select/none") return;
    Error error = *explanation.error;
    errors_.push_back(std::move(error).during("planning the test case '" + test.name + "'"));
  }

  void check_refusal(const package::TestCase& test, const Explanation& explanation) {
    const std::string wanted = test.error->empty() ? "any error" : *test.error;
    if (!explanation.error)
      return add("package/cases",
                 "test case '" + test.name + "' can be planned; it expects " + wanted);
    if (matches_code(*test.error, *explanation.error)) return;
    add("package/cases", "test case '" + test.name + "' expects " + wanted +
                             ", but planning says " + explanation.error->code + ": " +
                             explanation.error->message);
  }

  // Every benchmark case must be a call that can be planned, and say its bytes and flops as
  // numbers.
  void check_bench(const package::BenchCase& bench) {
    auto call = call_of(bench, "benchmark", false);
    if (!call) return errors_.push_back(std::move(call).error());
    call->outputs = bench.outputs;
    // Large cases are for devices with large buffers.
    constexpr double kAnySize = 0x1p40;
    DeviceCaps caps = DeviceCaps::defaults();
    caps.limits = {{"maxBufferSize", kAnySize}, {"maxStorageBufferBindingSize", kAnySize}};
    const Request request = make_request(*call);
    const Explanation explanation =
        explain_on_least("benchmark case '" + bench.name + "'", request, caps);
    if (explanation.error && explanation.error->code != "select/none") {
      Error error = *explanation.error;
      return errors_.push_back(
          std::move(error).during("planning the benchmark case '" + bench.name + "'"));
    }
    auto work = stated_work(package(), bench, request, caps);
    if (!work) errors_.push_back(std::move(work).error());
  }

  // Only packages with a contract have a card of ours.
  void check_card() {
    if (!package().contract) return;
    const auto card = io::read_file(fs::path(place_) / "README.md");
    if (!card || *card != package::make_card(package(), folder_.tests, folder_.files)) {
      add("package/file", "README.md is missing or differs from the card of the package",
          "run `wgk card`");
    }
  }

  std::string place_;
  fs::path path_;
  PackageFolder folder_;
  std::vector<Error> errors_;
};

}  // namespace

Result<std::vector<Error>> check_package(std::string_view place,
                                         const package::LoadOptions& options) {
  WGK_ASSIGN(PackageFolder folder, open_folder(place, options));
  WGK_ASSIGN(fs::path path, store::find_build_folder(place));
  return Check(place, std::move(path), std::move(folder)).run();
}

}  // namespace wgk::verify
