// SPDX-License-Identifier: Apache-2.0
#include "package/package.h"

#include <algorithm>
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
Result<FileTexts> read_files(const FileSource& source, const Metadata& metadata,
                             Sha256Function sha256, const LoadOptions& options) {
  FileTexts files;
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
Status check_files(const FileSource& source, const Metadata& metadata, const FileTexts& files,
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

Result<Manifest> load_manifest(const FileTexts& files, const LoadOptions& options) {
  const auto found = files.find(kManifestFile);
  if (found == files.end()) return failure("package/file", "the package has no manifest.json");
  WGK_ASSIGN(const Json json, json::parse(*found->second, json_limits(options)));
  return read_manifest(json,
                       {options.limits.variants, options.limits.passes, options.limits.json_bytes});
}

Result<std::optional<Contract>> load_contract(const FileTexts& files, const Manifest& manifest,
                                              const LoadOptions& options) {
  const auto found = files.find(kContractFile);
  if (found == files.end()) return std::optional<Contract>();
  WGK_ASSIGN(const Json json, json::parse(*found->second, json_limits(options)));
  WGK_ASSIGN(Contract contract, read_contract(json));
  WGK_TRY(check_contract(contract, manifest));
  return std::optional(std::move(contract));
}

const std::string* template_text(const FileTexts& files, std::string_view name) {
  const auto file = files.find(name);
  return file == files.end() || !file->second || !is_template_path(name) ? nullptr : &*file->second;
}

// One text may stand in very many templates, which are parsed later. What is wrong with a single
// one is said when it is parsed.
Status check_templates(const FileTexts& files, const LoadOptions& options) {
  const std::size_t most = most_template_bytes(options.limits.output_bytes);
  expr::Allowance bytes(most, 0);
  const expr::Limits limits{.max_steps = options.limits.steps,
                            .max_depth = options.limits.depth,
                            .max_output = options.limits.output_bytes,
                            .shared = &bytes};
  const jinja::Loader loader = [&](std::string_view name) { return template_text(files, name); };
  for (const auto& [path, text] : files) {
    if (!text || !is_template_path(path)) continue;
    (void)jinja::expand_includes(path, loader, limits);
    if (bytes.steps == 0)
      return failure("limit/output", "the templates and what they include have more than " +
                                         std::to_string(most) + " bytes together");
  }
  return {};
}

LazyTemplate::Parsed parse_template(const std::string& path, const FileTexts& files,
                                    const expr::Limits& limits) {
  const auto found = files.find(path);
  if (!found->second) return std::unexpected(found->second.error());
  const jinja::Loader loader = [&](std::string_view name) { return template_text(files, name); };
  WGK_ASSIGN(const std::string text, jinja::expand_includes(path, loader, limits));
  WGK_ASSIGN(jinja::Template parsed, jinja::Template::parse(text, path, limits));
  return std::make_shared<const jinja::Template>(std::move(parsed));
}

// The templates of a package whose files are all read; takes their texts.
void add_templates(FileTexts& files, Package& package) {
  auto texts = std::make_shared<FileTexts>();
  for (auto& [path, text] : files) {
    if (is_template_path(path)) texts->emplace_hint(texts->end(), path, std::move(text));
  }
  const expr::Limits limits{.max_steps = package.limits.steps,
                            .max_depth = package.limits.depth,
                            .max_output = package.limits.output_bytes};
  for (const auto& [path, text] : *texts) {
    package.templates.emplace_back(path, LazyTemplate(path, texts, limits));
  }
}

}  // namespace

struct LazyTemplate::State {
  std::string path;
  std::shared_ptr<const FileTexts> files;  // null: `parsed` was there from the start
  expr::Limits limits;
  std::mutex mutex;
  std::optional<Parsed> parsed;  // never changes once it is there
};

LazyTemplate::LazyTemplate(Parsed parsed) : state_(std::make_shared<State>()) {
  state_->parsed = std::move(parsed);
}

LazyTemplate::LazyTemplate(std::string path, std::shared_ptr<const FileTexts> files,
                           const expr::Limits& limits)
    : state_(std::make_shared<State>()) {
  state_->path = std::move(path);
  state_->files = std::move(files);
  state_->limits = limits;
}

const LazyTemplate::Parsed& LazyTemplate::get() const {
  const std::lock_guard lock(state_->mutex);
  if (!state_->parsed)
    state_->parsed = parse_template(state_->path, *state_->files, state_->limits);
  return *state_->parsed;
}

const FileTexts* LazyTemplate::files() const { return state_->files.get(); }

Result<std::shared_ptr<const jinja::Template>> Package::find_template(std::string_view path) const {
  for (const auto& [name, parsed] : templates) {
    if (name == path) return parsed.get();
  }
  return failure("package/template", "the package has no template '" + std::string(path) + "'");
}

bool Package::templates_read(std::string_view name) const {
  const auto has_letters = [name](const auto& file) {
    return file.second && file.second->contains(name);
  };
  const FileTexts* seen = nullptr;
  bool possible = true;
  for (const auto& [path, parsed] : templates) {
    if (parsed.files() != seen) {
      seen = parsed.files();
      possible = seen == nullptr || std::ranges::any_of(*seen, has_letters);
    }
    if (possible && parsed.get() && std::ranges::contains((*parsed.get())->free_names(), name))
      return true;
  }
  return false;
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

  Result<FileTexts> read = read_files(source, package->metadata, sha256, options);
  if (!read) return fail(std::move(read).error());
  FileTexts& files = *read;
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
  if (Status status = check_templates(files, options); !status)
    return fail(std::move(status).error());
  add_templates(files, *package);
  return std::shared_ptr<const Package>(std::move(package));
}

}  // namespace wgk::package
