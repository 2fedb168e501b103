// SPDX-License-Identifier: Apache-2.0
// Packages and requests for the tests of this module, straight from text.
#pragma once

#include <gtest/gtest.h>

#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "json/json.h"
#include "package/package.h"
#include "wgk/request.h"

namespace wgk::planning {

using Files = std::initializer_list<std::pair<std::string_view, std::string_view>>;

// The template of packages that do not care: its declarations and an entry point.
inline constexpr std::string_view kPlainTemplate =
    "{{ env.wgsl.resourceDeclarations }}\n@compute @workgroup_size(1)\nfn main() {\n}";

inline Json parse_json(std::string_view text) {
  auto json = json::parse(text);
  if (!json) {
    ADD_FAILURE() << json.error().to_string() << "\n" << text;
    return {};
  }
  return *std::move(json);
}

// Templates are named by path; without any, "s" is kPlainTemplate.
inline std::shared_ptr<package::Package> make_package(std::string_view manifest,
                                                      Files templates = {},
                                                      std::string_view contract = {}) {
  auto package = std::make_shared<package::Package>();
  auto read = package::read_manifest(parse_json(manifest));
  if (read) {
    package->manifest = *std::move(read);
  } else {
    ADD_FAILURE() << read.error().to_string();
  }
  const auto add = [&package](std::string_view path, std::string_view text) {
    auto parsed = jinja::Template::parse(text, std::string(path));
    if (parsed) {
      package->templates.emplace_back(path,
                                      std::make_shared<const jinja::Template>(*std::move(parsed)));
    } else {
      package->templates.emplace_back(path, std::unexpected(std::move(parsed.error())));
    }
  };
  for (const auto& [path, text] : templates) add(path, text);
  if (templates.size() == 0) add("s.wgsl.jinja", kPlainTemplate);
  if (!contract.empty()) {
    auto rules = package::read_contract(parse_json(contract));
    if (rules) {
      package->contract = *std::move(rules);
    } else {
      ADD_FAILURE() << rules.error().to_string();
    }
  }
  return package;
}

inline TensorDesc on_device(DType dtype, Shape shape) {
  TensorDesc tensor;
  tensor.shape = std::move(shape);
  tensor.dtype = dtype;
  tensor.on_device = true;
  return tensor;
}

template <class T>
TensorDesc on_host(DType dtype, Shape shape, const std::vector<T>& data) {
  TensorDesc tensor;
  tensor.shape = std::move(shape);
  tensor.dtype = dtype;
  tensor.host_data = std::as_bytes(std::span(data));
  return tensor;
}

inline std::string all_of(const Error& error) {
  std::string text = error.code + ": " + error.message;
  for (const Error& other : error.others) text += "\n" + all_of(other);
  return text;
}

}  // namespace wgk::planning
