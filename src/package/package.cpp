// SPDX-License-Identifier: Apache-2.0
#include "package/package.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <set>

#include "base/base64.h"
#include "base/saturate.h"
#include "base/try.h"
#include "json/json.h"
#include "package/names.h"

namespace wgk::package {
namespace {

constexpr std::string_view kManifestFile = "manifest.json";
constexpr std::string_view kContractFile = "contract.json";
constexpr std::string_view kMetadataFile = "metadata.json";
constexpr std::string_view kSignatureFile = "metadata.json.sigstore";

// Text of each listed file, or why there is none.
using Files = std::map<std::string, Result<std::string>, std::less<>>;

// What all files may have together, and all templates with what they include. Where the limit for
// one is lowered, many small ones still have room.
std::size_t most_file_bytes(const wgk::Limits& limits) {
  return std::max(saturated_mul(limits.file_bytes, 8), std::size_t{16} << 20);
}
std::size_t most_template_bytes(std::size_t output_bytes) {
  return std::max(saturated_mul(output_bytes, 4), std::size_t{1} << 20);
}

json::ParseLimits json_limits(const LoadOptions& options) {
  return {options.limits.json_bytes, options.limits.json_depth};
}

Result<std::string> read_file(const FileSource& source, std::string_view path,
                              const LoadOptions& options) {
  WGK_ASSIGN(std::string text, source.read(path));
  if (text.size() > options.limits.file_bytes) {
    return failure("package/file", "'" + std::string(path) + "' has " +
                                       std::to_string(text.size()) + " bytes; the limit is " +
                                       std::to_string(options.limits.file_bytes));
  }
  return text;
}

Status check_digest(std::string_view path, std::string_view text, std::string_view listed,
                    Sha256Function sha256) {
  const Sha256 digest = sha256(std::as_bytes(std::span(text)));
  const std::string found = base64_encode(digest);
  if (found == listed) return {};
  return failure("package/digest", "'" + std::string(path) + "' has the digest " + found +
                                       "; metadata.json lists " + std::string(listed));
}

// Reads and verifies the listed files; each failure stands with its file.
Result<Files> read_files(const FileSource& source, const Metadata& metadata, Sha256Function sha256,
                         const LoadOptions& options) {
  Files files;
  std::size_t bytes = 0;
  for (const auto& [path, digest] : metadata.digests) {
    if (options.defer_files && path != kManifestFile && !is_template_path(path)) continue;
    Result<std::string> text = read_file(source, path, options);
    if (text) bytes += text->size();
    if (bytes > most_file_bytes(options.limits)) {
      return failure("package/file", "the files have more than " +
                                         std::to_string(most_file_bytes(options.limits)) +
                                         " bytes together");
    }
    if (text && options.verify_digests) {
      if (Status status = check_digest(path, *text, digest, sha256); !status)
        text = std::unexpected(std::move(status).error());
    }
    files.emplace(path, std::move(text));
  }
  return files;
}

// All violations at once: files that are missing or differ, then files that nobody lists.
Status check_files(const FileSource& source, const Metadata& metadata, const Files& files,
                   const LoadOptions& options) {
  std::vector<Error> errors;
  for (const auto& [path, text] : files) {
    if (!text && (!options.defer_files || path == kManifestFile)) errors.push_back(text.error());
  }
  if (options.verify_digests && !options.defer_files) {
    for (const std::string& path : source.list()) {
      if (path == kMetadataFile || path == kSignatureFile) continue;
      if (std::ranges::contains(metadata.digests, path,
                                &std::pair<std::string, std::string>::first))
        continue;
      errors.push_back(Error{.code = "package/digest",
                             .message = "'" + path + "' is not listed in metadata.json"});
    }
  }
  if (errors.empty()) return {};
  Error first = std::move(errors.front());
  first.others.assign(std::make_move_iterator(errors.begin() + 1),
                      std::make_move_iterator(errors.end()));
  return std::unexpected(std::move(first).during("verifying the files against metadata.json"));
}

template <class T>
Result<T> in_file(Result<T> result, std::string_view path) {
  if (result) return result;
  return std::unexpected(std::move(result).error().during("reading " + std::string(path)));
}

Status check_names(const Metadata& metadata, const Manifest& manifest, const LoadOptions& options) {
  const std::string id = manifest.op_id();
  if (metadata.name != id) {
    return failure("package/metadata", "metadata.json names the operator '" + metadata.name +
                                           "'; the manifest is of '" + id + "'");
  }
  if (options.expected_op_id && *options.expected_op_id != id) {
    return failure("package/metadata",
                   "expected the operator '" + *options.expected_op_id + "', got '" + id + "'");
  }
  return {};
}

// The variants of metadata.json and of the manifest must be the same, and list every template that
// is rendered.
Status check_variants(const Metadata& metadata, const Manifest& manifest) {
  using Listed = std::pair<std::string, std::vector<std::string>>;
  for (const Variant& variant : manifest.variants) {
    const auto found = std::ranges::find(metadata.variants, variant.id, &Listed::first);
    if (found == metadata.variants.end()) {
      return failure("package/metadata", "webgpu.variants: does not list the variant '" +
                                             variant.id + "' of the manifest");
    }
    const std::set<std::string_view> listed(found->second.begin(), found->second.end());
    for (const Pass* pass : passes_of(variant)) {
      if (listed.contains(pass->shader)) continue;
      return failure("package/metadata", "webgpu.variants." + variant.id + ": does not list '" +
                                             pass->shader + "', which pass '" + pass->id +
                                             "' renders");
    }
  }
  for (const auto& [id, templates] : metadata.variants) {
    if (manifest.variant(id) == nullptr) {
      return failure("package/metadata", "webgpu.variants: lists the variant '" + id +
                                             "', which the manifest does not have");
    }
  }
  return {};
}

Result<Manifest> load_manifest(const Files& files, const LoadOptions& options) {
  const auto found = files.find(kManifestFile);
  if (found == files.end()) return failure("package/file", "the package has no manifest.json");
  WGK_ASSIGN(const Json json, json::parse(*found->second, json_limits(options)));
  return read_manifest(json,
                       {options.limits.variants, options.limits.passes, options.limits.json_bytes});
}

Result<std::optional<Contract>> load_contract(const Files& files, const Manifest& manifest,
                                              const LoadOptions& options) {
  const auto found = files.find(kContractFile);
  if (found == files.end()) return std::optional<Contract>();
  WGK_ASSIGN(const Json json, json::parse(*found->second, json_limits(options)));
  WGK_ASSIGN(Contract contract, read_contract(json));
  WGK_TRY(check_contract(contract, manifest));
  return std::optional(std::move(contract));
}

// The templates with what they include, to be parsed later. One text may stand in very many: all
// together are limited here; what is wrong with a single one is said when it is asked for.
Status add_templates(const Files& files, Package& package) {
  const expr::Limits limits{.max_steps = package.limits.steps,
                            .max_depth = package.limits.depth,
                            .max_output = package.limits.output_bytes};
  const std::size_t most = most_template_bytes(limits.max_output);
  expr::Allowance bytes(most, 0);
  expr::Limits together = limits;
  together.shared = &bytes;
  const jinja::Loader loader = [&](std::string_view name) -> const std::string* {
    const auto file = files.find(name);
    return file == files.end() || !file->second || !is_template_path(name) ? nullptr
                                                                           : &*file->second;
  };
  for (const auto& [path, text] : files) {
    if (!is_template_path(path)) continue;
    auto whole = text ? jinja::expand_includes(path, loader, together) : text;
    if (bytes.steps == 0)
      return failure("limit/output", "the templates and what they include have more than " +
                                         std::to_string(most) + " bytes together");
    package.templates.emplace_back(path, LazyTemplate(path, std::move(whole), limits));
  }
  return {};
}

}  // namespace

struct LazyTemplate::State {
  std::string path;
  Result<std::string> text;  // of no use once it is parsed
  expr::Limits limits;
  std::mutex mutex;
  std::optional<Parsed> parsed;  // never changes once it is there
};

LazyTemplate::LazyTemplate(Parsed parsed) : state_(std::make_shared<State>()) {
  state_->parsed = std::move(parsed);
}

LazyTemplate::LazyTemplate(std::string path, Result<std::string> text, const expr::Limits& limits)
    : state_(std::make_shared<State>()) {
  state_->path = std::move(path);
  state_->text = std::move(text);
  state_->limits = limits;
}

const LazyTemplate::Parsed& LazyTemplate::get() const {
  State& state = *state_;
  const std::lock_guard lock(state.mutex);
  if (state.parsed) return *state.parsed;
  state.parsed = state.text.and_then([&state](const std::string& text) {
    return jinja::Template::parse(text, state.path, state.limits)
        .transform([](jinja::Template parsed) {
          return std::make_shared<const jinja::Template>(std::move(parsed));
        });
  });
  state.text = std::string();
  return *state.parsed;
}

bool LazyTemplate::reads(std::string_view name) const {
  {
    const std::lock_guard lock(state_->mutex);
    if (!state_->parsed && !(state_->text && state_->text->contains(name))) return false;
  }
  const Parsed& parsed = get();
  return parsed && std::ranges::contains((*parsed)->free_names(), name);
}

Result<std::shared_ptr<const jinja::Template>> Package::find_template(std::string_view path) const {
  for (const auto& [name, parsed] : templates) {
    if (name == path) return parsed.get();
  }
  return failure("package/template", "the package has no template '" + std::string(path) + "'");
}

bool Package::templates_read(std::string_view name) const {
  return std::ranges::any_of(templates,
                             [name](const auto& entry) { return entry.second.reads(name); });
}

Result<std::shared_ptr<const Package>> load(const FileSource& source, Sha256Function sha256,
                                            const LoadOptions& options) {
  const auto fail = [&](Error error) {
    return std::unexpected(std::move(error).during("loading the package " + source.describe()));
  };
  if (Status status = options.limits.check(); !status) return fail(std::move(status).error());
  const auto text = read_file(source, kMetadataFile, options);
  if (!text) return fail(text.error());
  auto package = std::make_shared<Package>();
  package->origin = source.describe();
  package->limits = options.limits;
  auto metadata = read_metadata(*text, json_limits(options));
  if (!metadata) return fail(std::move(metadata).error());
  package->metadata = *std::move(metadata);

  Result<Files> read = read_files(source, package->metadata, sha256, options);
  if (!read) return fail(std::move(read).error());
  const Files& files = *read;
  if (Status status = check_files(source, package->metadata, files, options); !status)
    return fail(std::move(status).error());

  auto manifest = in_file(load_manifest(files, options), kManifestFile);
  if (!manifest) return fail(std::move(manifest).error());
  package->manifest = *std::move(manifest);
  for (const auto& [path, digest] : package->metadata.digests) {
    if (path == kManifestFile) package->manifest_digest = digest;
  }
  if (Status status = check_names(package->metadata, package->manifest, options); !status)
    return fail(std::move(status).error());
  if (Status status = check_variants(package->metadata, package->manifest); !status)
    return fail(std::move(status).error());

  auto contract = in_file(load_contract(files, package->manifest, options), kContractFile);
  if (!contract) return fail(std::move(contract).error());
  package->contract = *std::move(contract);
  if (Status status = add_templates(files, *package); !status)
    return fail(std::move(status).error());
  return std::shared_ptr<const Package>(std::move(package));
}

}  // namespace wgk::package
