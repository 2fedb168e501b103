// SPDX-License-Identifier: Apache-2.0
#include "verify/expected.h"

#include <algorithm>

#include "base/try.h"
#include "package/case_data.h"
#include "reference/oracle.h"
#include "verify/compare.h"

namespace wgk::verify {
namespace {

constexpr std::string_view kCode = "package/cases";

std::string input_key(const package::Package& package, const std::string& name) {
  const package::Port* port = package.manifest.input(name);
  return port != nullptr ? port->key : name;
}

reference::Tensor to_doubles(const Array& array) {
  reference::Tensor tensor{array.dtype, array.shape, {}};
  const std::size_t count = array.data.size() / host_bytes(array.dtype);
  tensor.values.reserve(count);
  for (std::size_t i = 0; i < count; ++i)
    tensor.values.push_back(package::host_value(array.dtype, array.data, i));
  return tensor;
}

// Attributes of the call over the manifest's defaults.
std::vector<std::pair<std::string, Json>> all_attributes(const package::Package& package,
                                                         const Call& call) {
  std::vector<std::pair<std::string, Json>> attrs = call.attrs;
  for (const auto& [name, attribute] : package.manifest.attributes) {
    const bool given = std::ranges::contains(attrs, name, &std::pair<std::string, Json>::first);
    if (!given && attribute.default_value) attrs.emplace_back(name, *attribute.default_value);
  }
  return attrs;
}

}  // namespace

Request make_request(const Call& call) {
  Request request;
  for (const auto& [port, array] : call.inputs) {
    TensorDesc desc{.shape = array.shape, .dtype = array.dtype};
    desc.on_device = array.data.empty() && !std::ranges::contains(array.shape, 0);
    desc.host_data = array.data;
    request.inputs.emplace_back(port, std::move(desc));
  }
  for (const std::string& port : call.outputs) request.outputs.emplace_back(port, OutputDesc{});
  request.attrs = call.attrs;
  request.args = call.args;
  request.tunables = call.tunables;
  request.variant = call.variant;
  return request;
}

bool matches_code(const std::string& wanted, const Error& error) {
  const auto fits = [&](const Error& one) {
    return wanted.empty() || one.code == wanted ||
           (wanted.ends_with('/') && one.code.starts_with(wanted));
  };
  return fits(error) || std::ranges::any_of(error.others, fits);
}

const Array* find_array(const Arrays& arrays, std::string_view port) {
  const auto found = std::ranges::find(arrays, port, &std::pair<std::string, Array>::first);
  return found == arrays.end() ? nullptr : &found->second;
}

Result<Call> make_call(const package::Package& package, const package::TestCase& test) {
  Call call;
  call.attrs = test.attrs;
  call.args = test.args;
  call.tunables = test.tunables;
  for (const auto& [name, tensor] : test.inputs) {
    auto data = package::make_host_data(tensor);
    if (!data)
      return std::unexpected(
          std::move(data).error().during("making the data of input '" + name + "'"));
    call.inputs.emplace_back(input_key(package, name),
                             Array{tensor.dtype, tensor.shape, *std::move(data)});
  }
  for (const auto& [name, expectation] : test.outputs) {
    const package::Port* port = package.manifest.output(name);
    call.outputs.push_back(port != nullptr ? port->key : name);
  }
  return call;
}

Result<Arrays> ask_oracle(const package::Package& package, const Call& call,
                          std::span<const std::pair<std::size_t, std::size_t>> wanted) {
  const std::string op_id = package.manifest.op_id();
  const reference::Oracle oracle = reference::find_oracle(op_id);
  if (oracle == nullptr)
    return failure(kCode, "no expected values are given, and there is no oracle for " + op_id);
  reference::Call question;
  for (const auto& [port, array] : call.inputs)
    question.inputs.emplace_back(port, to_doubles(array));
  question.attrs = all_attributes(package, call);
  question.wanted.assign(wanted.begin(), wanted.end());
  auto answer = oracle(question);
  if (!answer)
    return std::unexpected(std::move(answer).error().during("asking the oracle of " + op_id));
  Arrays arrays;
  for (const auto& [port, tensor] : *answer) {
    Array array{tensor.dtype, tensor.shape,
                std::vector<std::byte>(tensor.values.size() * host_bytes(tensor.dtype))};
    for (std::size_t i = 0; i < tensor.values.size(); ++i)
      WGK_TRY(package::store_host_value(tensor.dtype, tensor.values[i], array.data, i));
    arrays.emplace_back(port, std::move(array));
  }
  return arrays;
}

Result<std::vector<std::byte>> Expected::from_input(const package::SameAsInput& source,
                                                    const Array& got,
                                                    const package::Expectation& expectation) const {
  const Array* input = find_array(call_.inputs, input_key(package_, source.port));
  if (input == nullptr)
    return failure(kCode, "the expectation names the input '" + source.port +
                              "', which the case does not have");
  if (input->dtype != got.dtype || input->shape != got.shape) {
    return failure(kCode, "the input '" + source.port + "' is " + std::string(name(input->dtype)) +
                              " " + shape_text(input->shape) + "; the output is " +
                              std::string(name(got.dtype)) + " " + shape_text(got.shape));
  }
  std::vector<std::byte> values = input->data;
  WGK_TRY(package::apply_pokes(expectation.pokes, got.dtype, values));
  return values;
}

Result<std::vector<std::byte>> Expected::from_oracle(std::string_view port, const Array& got) {
  if (!oracle_) oracle_ = ask_oracle(package_, call_);
  if (!*oracle_) return std::unexpected(oracle_->error());
  const Array* wanted = find_array(**oracle_, port);
  if (wanted == nullptr)
    return failure(kCode, "the oracle gives no output '" + std::string(port) + "'");
  if (wanted->dtype != got.dtype || wanted->shape != got.shape) {
    return failure(kCode, "the oracle gives " + std::string(name(wanted->dtype)) + " " +
                              shape_text(wanted->shape) + "; the output is " +
                              std::string(name(got.dtype)) + " " + shape_text(got.shape));
  }
  return wanted->data;
}

Result<std::vector<std::byte>> Expected::values(std::string_view port, const Array& got,
                                                const package::Expectation& expectation) {
  if (!expectation.data) return from_oracle(port, got);
  if (const auto* source = std::get_if<package::SameAsInput>(&*expectation.data))
    return from_input(*source, got, expectation);
  return package::make_host_data({.dtype = got.dtype,
                                  .shape = got.shape,
                                  .data = *expectation.data,
                                  .pokes = expectation.pokes});
}

}  // namespace wgk::verify
