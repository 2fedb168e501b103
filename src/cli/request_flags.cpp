// SPDX-License-Identifier: Apache-2.0
#include "cli/request_flags.h"

#include <algorithm>
#include <cctype>
#include <charconv>

#include "base/suggest.h"
#include "base/try.h"
#include "io/array_file.h"
#include "io/files.h"
#include "json/cursor.h"
#include "json/json.h"
#include "package/case_data.h"
#include "verify/expected.h"
#include "verify/package_files.h"

namespace wgk::cli {
namespace {

constexpr std::string_view kUsageError = "usage/arguments";

Result<std::pair<std::string, std::string>> split(std::string_view option,
                                                  const std::string& text) {
  const std::size_t mark = text.find('=');
  if (mark == std::string::npos || mark == 0) {
    return failure(kUsageError, std::string(option) + ": expected name=value, got '" + text + "'");
  }
  return std::pair(text.substr(0, mark), text.substr(mark + 1));
}

// JSON where it is JSON, else the text itself: --attr epsilon=1e-5, --attr mode=linear, --attr
// 'pads=[0, 1]'.
Json to_value(const std::string& text) {
  auto json = json::parse(text);
  return json ? *std::move(json) : Json(text);
}

Status add_values(std::string_view option, const std::vector<std::string>& texts,
                  std::vector<std::pair<std::string, Json>>& values) {
  for (const std::string& text : texts) {
    WGK_ASSIGN(auto entry, split(option, text));
    Json value = to_value(entry.second);
    const auto found = std::ranges::find(values, entry.first, &std::pair<std::string, Json>::first);
    if (found != values.end()) {
      found->second = std::move(value);
    } else {
      values.emplace_back(std::move(entry.first), std::move(value));
    }
  }
  return {};
}

// Of a text that can be no file but could be dtype:dims.
Status check_dtype(std::string_view name, std::string_view dims) {
  const bool word =
      std::ranges::all_of(name, [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; });
  if (!word || dims.find_first_not_of("0123456789, ") != std::string_view::npos) return {};
  std::string known;
  for (const std::string_view one : dtype_names())
    known += (known.empty() ? "" : ", ") + std::string(one);
  return failure(kUsageError,
                 "--input: '" + std::string(name) + "' is no element type; they are " + known,
                 suggestion(name, dtype_names()));
}

// "float16:2,8": a tensor without elements; "float16:" has rank 0.
Result<std::optional<verify::Array>> read_description(const std::string& text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos) return std::optional<verify::Array>();
  const std::optional<DType> dtype = dtype_from_name(text.substr(0, colon));
  if (!dtype) {
    WGK_TRY(check_dtype(text.substr(0, colon), std::string_view(text).substr(colon + 1)));
    return std::optional<verify::Array>();
  }
  verify::Array array{*dtype, {}, {}};
  for (std::string_view rest = std::string_view(text).substr(colon + 1); !rest.empty();) {
    const std::string_view part = rest.substr(0, rest.find(','));
    std::int64_t dim = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), dim);
    if (error != std::errc() || end != part.data() + part.size() || dim < 0) {
      return failure(kUsageError,
                     "--input: '" + std::string(part) + "' is not a dimension in '" + text + "'");
    }
    array.shape.push_back(dim);
    rest.remove_prefix(std::min(part.size() + 1, rest.size()));
  }
  return std::optional(std::move(array));
}

Result<verify::Array> read_tensor(const std::string& name, const std::string& place,
                                  bool with_data) {
  WGK_ASSIGN(std::optional<verify::Array> described, read_description(place));
  if (described && !with_data) return *std::move(described);
  if (described)
    return failure(kUsageError, "--input " + name + "=" + place +
                                    " has no elements; pass a .npy or .safetensors file");
  auto file = io::read_array(place);
  if (!file) return std::unexpected(std::move(file).error().during("reading input '" + name + "'"));
  const auto bytes = std::as_bytes(std::span(file->data));
  return verify::Array{file->dtype, std::move(file->shape),
                       std::vector<std::byte>(bytes.begin(), bytes.end())};
}

// A port by either of its names; an unknown name stays as it is, and the request check names it.
std::string input_key(const package::Package& package, const std::string& name) {
  const package::Port* port = package.manifest.input(name);
  return port != nullptr ? port->key : name;
}

std::string output_key(const package::Package& package, const std::string& name) {
  const package::Port* port = package.manifest.output(name);
  return port != nullptr ? port->key : name;
}

void put_input(verify::Call& call, const std::string& key, verify::Array array) {
  const auto found =
      std::ranges::find(call.inputs, key, &std::pair<std::string, verify::Array>::first);
  if (found != call.inputs.end()) {
    found->second = std::move(array);
  } else {
    call.inputs.emplace_back(key, std::move(array));
  }
}

Result<verify::Call> read_case(const package::Package& package, const RequestFlags& flags) {
  WGK_ASSIGN(const std::vector<package::TestCase> cases,
             verify::read_test_file(flags.package, flags.cases_file));
  const auto found = std::ranges::find(cases, flags.case_name, &package::TestCase::name);
  if (found != cases.end()) return verify::make_call(package, *found);
  std::vector<std::string> names;
  for (const package::TestCase& test : cases) names.push_back(test.name);
  return failure("request/unknown",
                 "there is no case '" + flags.case_name + "' among " + std::to_string(cases.size()),
                 suggestion(flags.case_name, names));
}

// The file of --request is a case without name and expectations; a tensor may also be {"file":
// "x.npy"}, and "outputs" lists ports.
Result<verify::Call> read_request_file(const package::Package& package, const RequestFlags& flags,
                                       bool with_data) {
  WGK_ASSIGN(const std::string text, io::read_file(flags.request_file));
  WGK_ASSIGN(const Json json, json::parse(text));
  const json::Cursor cursor(json, "", "package/cases");
  WGK_TRY(cursor.only({"inputs", "attrs", "args", "tunables", "outputs", "variant"}));
  Json test = Json::object(
      {{"name", "request"}, {"inputs", Json(Json::Object{})}, {"outputs", Json(Json::Object{})}});
  for (const std::string_view key : {"attrs", "args", "tunables"}) {
    if (const auto member = cursor.find(key)) test.set(std::string(key), member->value());
  }
  std::vector<std::pair<std::string, verify::Array>> extra;
  Json inputs(Json::Object{});
  WGK_ASSIGN(const json::Cursor given, cursor.require("inputs"));
  WGK_ASSIGN(const auto members, given.members());
  for (const auto& [name, tensor] : members) {
    const std::optional<json::Cursor> file = tensor.find("file");
    if (file) {
      WGK_TRY(tensor.only({"file"}));
      WGK_ASSIGN(const std::string place, file->string());
      WGK_ASSIGN(verify::Array array, read_tensor(name, place, with_data));
      extra.emplace_back(input_key(package, name), std::move(array));
      continue;
    }
    Json value = tensor.value();
    const bool bare = tensor.value().is_object() && !tensor.find("data");
    if (bare && with_data)
      return failure("request/missing", "input '" + name + "' of the request has no data");
    // Planning needs no elements; a stand-in keeps the reader strict about the rest.
    if (bare) value.set("data", Json::object({{"kind", "const"}, {"value", 0}}));
    inputs.set(name, std::move(value));
  }
  test.set("inputs", std::move(inputs));
  WGK_ASSIGN(const package::TestCase one, package::read_test(test));
  WGK_ASSIGN(verify::Call call, verify::make_call(package, one));
  for (auto& [key, array] : extra) put_input(call, key, std::move(array));
  if (const auto variant = cursor.find("variant")) {
    WGK_ASSIGN(call.variant, variant->string());
  }
  if (const auto outputs = cursor.find("outputs")) {
    WGK_ASSIGN(const auto items, outputs->items());
    for (const json::Cursor& item : items) {
      WGK_ASSIGN(const std::string name, item.string());
      call.outputs.push_back(output_key(package, name));
    }
  }
  return call;
}

Result<verify::Call> read_base(const package::Package& package, const RequestFlags& flags,
                               bool with_data) {
  if (!flags.case_name.empty() && !flags.request_file.empty())
    return failure(kUsageError, "--case and --request exclude each other");
  if (!flags.cases_file.empty() && flags.case_name.empty())
    return failure(kUsageError, "--cases needs --case NAME");
  if (!flags.case_name.empty()) return read_case(package, flags);
  if (flags.request_file.empty()) return verify::Call{};
  auto call = read_request_file(package, flags, with_data);
  if (!call)
    return std::unexpected(
        std::move(call).error().during("reading the request " + flags.request_file));
  return call;
}

}  // namespace

void add_request_flags(CLI::App& command, RequestFlags& flags) {
  command.add_option("PKG", flags.package, "Package folder")->required();
  command.add_option("--case", flags.case_name, "A case of the package's test.json, or of --cases");
  command.add_option("--cases", flags.cases_file, "A file of cases in place of test.json");
  command.add_option("--request", flags.request_file,
                     "A request as JSON: inputs, attrs, args, tunables, outputs, variant");
  command
      .add_option("--input", flags.inputs,
                  "name=file.npy, name=file.safetensors:key, or name=dtype:dims where nothing runs")
      ->allow_extra_args(false);
  command.add_option("--output", flags.outputs, "name of an output, or name=file.npy to write it")
      ->allow_extra_args(false);
  command.add_option("--attr", flags.attrs, "name=value of an attribute")->allow_extra_args(false);
  command.add_option("--arg", flags.args, "name=value of a scalar argument")
      ->allow_extra_args(false);
  command.add_option("--tunable", flags.tunables, "name=value of a tunable")
      ->allow_extra_args(false);
  command.add_option("--variant", flags.variant, "Use this variant; an error if it does not fit");
}

Result<CliRequest> read_request(const package::Package& package, const RequestFlags& flags,
                                bool with_data) {
  CliRequest request;
  WGK_ASSIGN(request.call, read_base(package, flags, with_data));
  for (const std::string& text : flags.inputs) {
    WGK_ASSIGN(const auto entry, split("--input", text));
    WGK_ASSIGN(verify::Array array, read_tensor(entry.first, entry.second, with_data));
    put_input(request.call, input_key(package, entry.first), std::move(array));
  }
  WGK_TRY(add_values("--attr", flags.attrs, request.call.attrs));
  WGK_TRY(add_values("--arg", flags.args, request.call.args));
  WGK_TRY(add_values("--tunable", flags.tunables, request.call.tunables));
  for (const std::string& text : flags.outputs) {
    const std::size_t mark = text.find('=');
    const std::string key = output_key(package, text.substr(0, mark));
    if (!std::ranges::contains(request.call.outputs, key)) request.call.outputs.push_back(key);
    if (mark == std::string::npos) continue;
    const std::string file = text.substr(mark + 1);
    if (!file.ends_with(".npy"))
      return failure(kUsageError, "--output: '" + file + "' must end in .npy");
    request.files.emplace_back(key, file);
  }
  if (!flags.variant.empty()) request.call.variant = flags.variant;
  return request;
}

Result<DeviceCaps> read_caps(const std::string& file) {
  if (file == "default") return DeviceCaps::defaults();
  const auto read = [&]() -> Result<DeviceCaps> {
    WGK_ASSIGN(const std::string text, io::read_file(file));
    WGK_ASSIGN(const Json json, json::parse(text));
    return DeviceCaps::from_json(json);
  };
  auto caps = read();
  if (!caps)
    return std::unexpected(std::move(caps).error().during("reading the capabilities " + file));
  return caps;
}

}  // namespace wgk::cli
