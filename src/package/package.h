// SPDX-License-Identifier: Apache-2.0
// A loaded kernel package: metadata checked against digests, manifest normalised, templates at
// hand.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "jinja/template.h"
#include "json/json.h"
#include "package/contract.h"
#include "package/manifest.h"
#include "wgk/error.h"
#include "wgk/limits.h"

namespace wgk::package {

// Where the files of build/webgpu/ come from: a folder, a cache snapshot, a map in memory. Paths as
// in the digest.
class FileSource {
 public:
  virtual ~FileSource() = default;
  virtual Result<std::string> read(std::string_view path) const = 0;
  // Every file that is there (for finding unlisted ones); empty when it cannot be known.
  virtual std::vector<std::string> list() const { return {}; }
  // Where this is, for messages.
  virtual std::string describe() const = 0;
};

using Sha256 = std::array<std::uint8_t, 32>;
// The core links no crypto library: whoever loads a package hands in the digest function.
using Sha256Function = Sha256 (*)(std::span<const std::byte> bytes);

struct Metadata {
  std::string name, id, license, manifest_spec;
  std::int64_t version = 0;
  std::vector<std::pair<std::string, std::string>> digests;                // path -> base64
  std::vector<std::pair<std::string, std::vector<std::string>>> variants;  // id -> templates
};

struct LoadOptions {
  bool verify_digests = true;
  // As the published loader does: only manifest.json is judged at once; what is wrong with a
  // template (also its digest) is the error of find_template, and other files are never looked at.
  bool defer_files = false;
  std::optional<std::string> expected_op_id;
  Limits limits = {};
};

// A template that is parsed when it is first asked for, by any thread; copies share it. A new
// process renders one or two of a package's.
class LazyTemplate {
 public:
  using Parsed = Result<std::shared_ptr<const jinja::Template>>;

  LazyTemplate(Parsed parsed);
  // `text` has its includes expanded, or says why there is none.
  LazyTemplate(std::string path, Result<std::string> text, const expr::Limits& limits);

  const Parsed& get() const;
  // Whether it reads this name from outside; parses it only if its text has the letters.
  bool reads(std::string_view name) const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

// Nothing that can be seen changes once it is loaded; shared by every kernel made from it.
struct Package {
  Metadata metadata;
  Manifest manifest;
  std::optional<Contract> contract;
  std::string manifest_digest;  // base64, names this build in reports
  std::string origin;           // FileSource::describe()
  Limits limits;                // it was loaded with; planning keeps to them

  // The parsed template of a pass, includes expanded. Errors: "package/template", "template/...".
  Result<std::shared_ptr<const jinja::Template>> find_template(std::string_view path) const;

  // Whether a template reads this name from outside.
  bool templates_read(std::string_view name) const;

  std::vector<std::pair<std::string, LazyTemplate>> templates;  // sorted by path
};

Result<Metadata> read_metadata(std::string_view text, const json::ParseLimits& limits = {});

// Verifies digests before anything but metadata.json is parsed; reports every digest violation at
// once ("package/digest").
Result<std::shared_ptr<const Package>> load(const FileSource& files, Sha256Function sha256,
                                            const LoadOptions& options = {});

}  // namespace wgk::package
