// SPDX-License-Identifier: Apache-2.0
#include "store/digest.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/base64.h"
#include "base/try.h"
#include "io/files.h"
#include "jinja/template.h"
#include "json/json.h"
#include "package/manifest.h"
#include "package/names.h"
#include "store/folder_source.h"
#include "store/open.h"
#include "store/sha256.h"

namespace wgk::store {
namespace {

Result<Json> parse_file(std::string_view name, const std::string& text) {
  auto json = json::parse(text);
  if (!json) return std::unexpected(std::move(json).error().during("reading " + std::string(name)));
  return json;
}

namespace fs = std::filesystem;
using Files = std::map<std::string, std::string, std::less<>>;  // path -> text

constexpr std::string_view kMetadata = "metadata.json";

Result<Files> read_all(const fs::path& folder) {
  WGK_ASSIGN(const FolderSource source, FolderSource::open(folder));
  Files files;
  for (const std::string& path : source.list()) {
    WGK_ASSIGN(files[path], source.read(path));
  }
  return files;
}

// Templates that rendering `path` needs: itself and what it includes.
Result<std::vector<std::string>> closure(const std::string& path, const Files& files) {
  std::set<std::string> paths = {path};
  const jinja::Loader loader = [&](std::string_view name) -> const std::string* {
    const auto found = files.find(name);
    if (found == files.end() || !package::is_template_path(name)) return nullptr;
    paths.insert(found->first);
    return &found->second;
  };
  WGK_TRY(jinja::expand_includes(path, loader));
  return std::vector<std::string>(paths.begin(), paths.end());
}

// The templates of each variant, in manifest order.
using VariantTemplates = std::vector<std::pair<std::string, std::vector<std::string>>>;

Result<VariantTemplates> templates_of(const package::Manifest& manifest, const Files& files) {
  std::map<std::string, std::vector<std::string>> known;
  VariantTemplates result;
  for (const package::Variant& variant : manifest.variants) {
    std::set<std::string> paths;
    for (const package::Pass* pass : package::passes_of(variant)) {
      if (!files.contains(pass->shader)) {
        return failure("package/template", "variant '" + variant.id + "' renders '" + pass->shader +
                                               "', which is not in the package");
      }
      if (!known.contains(pass->shader)) {
        WGK_ASSIGN(known[pass->shader], closure(pass->shader, files));
      }
      paths.insert(known[pass->shader].begin(), known[pass->shader].end());
    }
    result.emplace_back(variant.id, std::vector<std::string>(paths.begin(), paths.end()));
  }
  return result;
}

std::string digest_of(std::string_view text) {
  return base64_encode(sha256(std::as_bytes(std::span(text))));
}

std::string build_id(const std::string& op_id, const Json& digests) {
  std::string id = "_";
  for (const char c : op_id)
    id += c == '.' ? '_' : c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  const std::string text = json::write(digests);
  const package::Sha256 hash = sha256(std::as_bytes(std::span(text)));
  id += "_webgpu_";
  for (std::size_t i = 0; i < 7; ++i)
    id += "0123456789abcdef"[i % 2 == 0 ? hash[i / 2] >> 4 : hash[i / 2] & 15];
  return id;
}

// Members in the published order; what the file says beyond that stays behind them.
Result<std::string> make_metadata(const package::Manifest& manifest, const Files& files,
                                  const VariantTemplates& templates) {
  Json old = Json(Json::Object{});
  if (const auto found = files.find(kMetadata); found != files.end()) {
    WGK_ASSIGN(old, parse_file("metadata.json", found->second));
    if (!old.is_object()) return failure("package/metadata", "metadata.json must hold an object");
  }
  const auto kept = [](const Json& from, std::string_view key, Json otherwise) {
    const Json* value = from.find(key);
    return value != nullptr ? *value : std::move(otherwise);
  };
  Json digests(Json::Object{});
  for (const auto& [path, text] : files) {
    if (path != kMetadata && path != "metadata.json.sigstore") digests.set(path, digest_of(text));
  }
  Json variants(Json::Object{});
  for (const auto& [id, paths] : templates)
    variants.set(id, Json(Json::Array(paths.begin(), paths.end())));

  const std::string op_id = manifest.op_id();
  const Json old_webgpu = kept(old, "webgpu", Json(Json::Object{}));
  Json webgpu = Json::object({{"manifestSpec", "2.1"},
                              {"specialized", kept(old_webgpu, "specialized", false)},
                              {"opPath", kept(old_webgpu, "opPath", "ops/" + op_id)},
                              {"variants", std::move(variants)}});
  Json metadata = Json::object(
      {{"name", op_id},
       {"id", build_id(op_id, digests)},
       {"version", kept(old, "version", 1)},
       {"license", kept(old, "license", "apache-2.0")},
       {"backend", Json::object({{"type", "webgpu"}})},
       {"digest", Json::object({{"algorithm", "sha256"}, {"files", std::move(digests)}})}});
  for (const auto& [key, value] : *old.if_object()) {
    if (metadata.find(key) == nullptr && key != "webgpu") metadata.set(key, value);
  }
  metadata.set("webgpu", std::move(webgpu));
  return json::write(metadata, json::Style::kPretty);
}

bool is_shared_template(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error) && package::is_template_path(path.filename().string());
}

// The shared templates, none when there is no such folder.
Result<Files> read_shared(const fs::path& folder) {
  Files files;
  std::error_code error;
  for (fs::directory_iterator walk(folder, error); !error && walk != fs::directory_iterator();
       walk.increment(error)) {
    if (!is_shared_template(walk->path())) continue;
    WGK_ASSIGN(files[walk->path().filename().string()], io::read_file(walk->path()));
  }
  return files;
}

fs::path shared_folder(const fs::path& build, const DigestOptions& options) {
  if (!options.shared.empty()) return options.shared;
  // build is <package>/build/webgpu, or a package folder that is nothing else.
  return (fs::absolute(build) / ".." / ".." / ".." / "common").lexically_normal();
}

Status write_changes(const fs::path& folder, const Files& before, const Files& after, bool dry_run,
                     DigestReport& report) {
  for (const auto& [path, text] : after) {
    const auto old = before.find(path);
    if (old != before.end() && old->second == text) continue;
    report.changed = true;
    if (path != kMetadata) report.copied.push_back(path);
    if (!dry_run) WGK_TRY(io::write_file(folder / path, text));
  }
  for (const std::string& path : report.removed) {
    report.changed = true;
    std::error_code error;
    if (!dry_run && !fs::remove(folder / path, error))
      return failure("io/write", "cannot remove '" + path + "': " + error.message());
  }
  return {};
}

Result<DigestReport> refresh_folder(const fs::path& folder, const DigestOptions& options) {
  WGK_ASSIGN(const Files before, read_all(folder));
  WGK_ASSIGN(const Files shared, read_shared(shared_folder(folder, options)));
  const auto text = before.find("manifest.json");
  if (text == before.end()) return failure("package/file", "manifest.json is missing");
  WGK_ASSIGN(const Json json, parse_file("manifest.json", text->second));
  WGK_ASSIGN(const package::Manifest manifest, package::read_manifest(json));

  Files all = before;
  for (const auto& [name, source] : shared) all[name] = source;
  WGK_ASSIGN(const VariantTemplates templates, templates_of(manifest, all));
  std::set<std::string> used;
  for (const auto& [id, paths] : templates) used.insert(paths.begin(), paths.end());
  DigestReport report;
  for (const auto& [name, source] : shared) {
    if (used.contains(name)) continue;
    all.erase(name);
    if (before.contains(name)) report.removed.push_back(name);
  }
  WGK_ASSIGN(all[std::string(kMetadata)], make_metadata(manifest, all, templates));
  WGK_TRY(write_changes(folder, before, all, options.dry_run, report));
  report.templates = templates;
  return report;
}

}  // namespace

Result<DigestReport> refresh(std::string_view package, const DigestOptions& options) {
  WGK_ASSIGN(const fs::path folder, find_build_folder(package));
  auto report = refresh_folder(folder, options);
  if (!report)
    return std::unexpected(
        std::move(report).error().during("refreshing the package " + folder.string()));
  return report;
}

}  // namespace wgk::store
