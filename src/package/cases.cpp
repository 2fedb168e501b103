// SPDX-License-Identifier: Apache-2.0
#include "package/cases.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "base/checked.h"
#include "base/error_codes.h"
#include "base/try.h"
#include "json/cursor.h"
#include "json/json.h"
#include "package/names.h"

namespace wgk::package {
namespace {

using json::Cursor;

constexpr std::string_view kCasesCode = "package/cases";
constexpr std::size_t kMaxCases = 65536;
constexpr std::int64_t kMaxIndex = std::int64_t{1} << 53;

using Fixtures = std::map<std::string, std::shared_ptr<const std::vector<double>>, std::less<>>;

Result<double> read_value(const Cursor& cursor) {
  const Json& json = cursor.value();
  if (const bool* flag = json.if_bool()) return *flag ? 1.0 : 0.0;
  if (json == Json("nan")) return std::numeric_limits<double>::quiet_NaN();
  if (json == Json("inf")) return std::numeric_limits<double>::infinity();
  if (json == Json("-inf")) return -std::numeric_limits<double>::infinity();
  if (json.is_number()) return cursor.number();
  return cursor.fail("must be a number, a bool, \"nan\", \"inf\" or \"-inf\", got " +
                     json::write(json));
}

Result<std::vector<double>> read_values(const Cursor& list) {
  WGK_ASSIGN(const std::vector<Cursor> items, list.items());
  std::vector<double> values;
  values.reserve(items.size());
  for (const Cursor& item : items) {
    WGK_ASSIGN(const double value, read_value(item));
    values.push_back(value);
  }
  return values;
}

Result<double> read_number(const Cursor& object, std::string_view key,
                           std::optional<double> otherwise = {}) {
  const std::optional<Cursor> member = object.find(key);
  if (!member && otherwise) return *otherwise;
  WGK_ASSIGN(const Cursor required, object.require(key));
  return required.number();
}

Result<std::int64_t> read_integer(const Cursor& object, std::string_view key, std::int64_t min,
                                  std::int64_t max) {
  WGK_ASSIGN(const Cursor member, object.require(key));
  return member.integer(min, max);
}

Result<Data> read_listed(const Cursor& cursor, const Fixtures& fixtures) {
  WGK_TRY(cursor.only({"kind", "values"}));
  WGK_ASSIGN(const Cursor values, cursor.require("values"));
  const std::optional<Cursor> reference = values.find("$ref");
  if (!reference) {
    WGK_ASSIGN(std::vector<double> list, read_values(values));
    return ListedValues{std::make_shared<const std::vector<double>>(std::move(list))};
  }
  WGK_TRY(values.only({"$ref"}));
  WGK_ASSIGN(const std::string text, reference->string());
  constexpr std::string_view kPrefix = "#/fixtureArrays/";
  if (text.starts_with(kPrefix)) {
    const auto found = fixtures.find(std::string_view(text).substr(kPrefix.size()));
    if (found != fixtures.end()) return ListedValues{found->second};
  }
  return reference->fail("'" + text +
                         "' is not the name of a fixture array (#/fixtureArrays/<name>)");
}

Result<Data> read_grid_data(const Cursor& cursor) {
  WGK_TRY(cursor.only({"kind", "seed", "r", "step", "offset"}));
  GridValues grid;
  WGK_ASSIGN(const std::int64_t seed, read_integer(cursor, "seed", 0, kMaxIndex));
  grid.seed = static_cast<std::uint64_t>(seed);
  WGK_ASSIGN(grid.r, read_integer(cursor, "r", 0, 1 << 30));
  WGK_ASSIGN(grid.step, read_number(cursor, "step"));
  WGK_ASSIGN(grid.offset, read_number(cursor, "offset", 0.0));
  return grid;
}

Result<Data> read_normal(const Cursor& cursor) {
  WGK_TRY(cursor.only({"kind", "seed", "scale"}));
  WGK_ASSIGN(const std::int64_t seed, read_integer(cursor, "seed", 0, kMaxIndex));
  WGK_ASSIGN(const double scale, read_number(cursor, "scale", 1.0));
  return NormalValues{static_cast<std::uint64_t>(seed), scale};
}

Result<Data> read_block_mask(const Cursor& cursor) {
  WGK_TRY(cursor.only({"kind", "numLayout", "maxBlocks", "localBlocks", "vertStride", "part"}));
  CsrBlockMask mask;
  WGK_ASSIGN(mask.num_layout, read_integer(cursor, "numLayout", 1, 1 << 16));
  WGK_ASSIGN(mask.max_blocks, read_integer(cursor, "maxBlocks", 1, 1 << 16));
  WGK_ASSIGN(mask.local_blocks, read_integer(cursor, "localBlocks", 0, 1 << 16));
  WGK_ASSIGN(mask.vert_stride, read_integer(cursor, "vertStride", 1, 1 << 16));
  WGK_ASSIGN(const Cursor part, cursor.require("part"));
  if (part.value() != Json("rows") && part.value() != Json("cols"))
    return part.fail_value("must be rows or cols");
  mask.rows = part.value() == Json("rows");
  return mask;
}

Result<Data> read_same_as_input(const Cursor& cursor, bool expectation) {
  if (!expectation) return cursor.fail("kind 'input' is for expectations only");
  WGK_TRY(cursor.only({"kind", "port"}));
  WGK_ASSIGN(const Cursor port, cursor.require("port"));
  WGK_ASSIGN(std::string name, port.string());
  return SameAsInput{std::move(name)};
}

Result<Data> read_formula(const Cursor& cursor, const std::string& kind) {
  if (kind == "fillFloat32") {
    WGK_TRY(cursor.only({"kind", "sinStep", "cosStep", "scale"}));
    FillFloat32 fill;
    WGK_ASSIGN(fill.sin_step, read_number(cursor, "sinStep"));
    WGK_ASSIGN(fill.cos_step, read_number(cursor, "cosStep"));
    WGK_ASSIGN(fill.scale, read_number(cursor, "scale", 1.0));
    return fill;
  }
  if (kind == "const") {
    WGK_TRY(cursor.only({"kind", "value"}));
    WGK_ASSIGN(const Cursor value, cursor.require("value"));
    WGK_ASSIGN(const double number, read_value(value));
    return ConstantValue{number};
  }
  if (kind == "linear") {
    WGK_TRY(cursor.only({"kind", "start", "step"}));
    LinearValues linear;
    WGK_ASSIGN(linear.start, read_number(cursor, "start"));
    WGK_ASSIGN(linear.step, read_number(cursor, "step"));
    return linear;
  }
  return cursor.fail("'" + kind +
                     "' is not a kind of data; known are values, fillFloat32, const, linear, "
                     "axisIndex, grid, normal, "
                     "csrBlockMask and, in expectations, input");
}

Result<Data> read_data(const Cursor& cursor, const Fixtures& fixtures, bool expectation) {
  WGK_ASSIGN(const Cursor member, cursor.require("kind"));
  WGK_ASSIGN(const std::string kind, member.string());
  if (kind == "values") return read_listed(cursor, fixtures);
  if (kind == "grid") return read_grid_data(cursor);
  if (kind == "normal") return read_normal(cursor);
  if (kind == "csrBlockMask") return read_block_mask(cursor);
  if (kind == "input") return read_same_as_input(cursor, expectation);
  if (kind != "axisIndex") return read_formula(cursor, kind);
  WGK_TRY(cursor.only({"kind", "axis", "step"}));
  AxisIndex index;
  WGK_ASSIGN(index.axis, read_integer(cursor, "axis", 0, 64));
  WGK_ASSIGN(index.step, read_number(cursor, "step"));
  return index;
}

Result<DType> read_dtype(const Cursor& cursor) {
  WGK_ASSIGN(const std::string text, cursor.string());
  const std::optional<DType> dtype = dtype_from_name(text);
  if (!dtype) return cursor.fail_unknown("'" + text + "' is not a dtype", text, dtype_names());
  return *dtype;
}

Result<Shape> read_shape(const Cursor& cursor) {
  WGK_ASSIGN(const std::vector<Cursor> items, cursor.items());
  Shape shape;
  for (const Cursor& item : items) {
    WGK_ASSIGN(const std::int64_t dim, item.integer(0, kMaxIndex));
    shape.push_back(dim);
  }
  return shape;
}

// A list of tuples, each `width` numbers long.
Result<std::vector<std::vector<Cursor>>> read_tuples(const Cursor& object, std::string_view key,
                                                     std::size_t width) {
  std::vector<std::vector<Cursor>> tuples;
  const std::optional<Cursor> member = object.find(key);
  if (!member) return tuples;
  WGK_ASSIGN(const std::vector<Cursor> items, member->items());
  for (const Cursor& item : items) {
    WGK_ASSIGN(std::vector<Cursor> tuple, item.items());
    if (tuple.size() != width)
      return item.fail("must have " + std::to_string(width) + " entries, got " +
                       std::to_string(tuple.size()));
    tuples.push_back(std::move(tuple));
  }
  return tuples;
}

Result<std::pair<std::int64_t, std::int64_t>> read_range(const Cursor& begin, const Cursor& end,
                                                         std::int64_t count) {
  WGK_ASSIGN(const std::int64_t first, begin.integer(0, count));
  WGK_ASSIGN(const std::int64_t last, end.integer(first, count));
  return std::pair(first, last);
}

Result<std::vector<Poke>> read_pokes(const Cursor& object, std::int64_t count) {
  std::vector<Poke> pokes;
  WGK_ASSIGN(const auto single, read_tuples(object, "poke", 2));
  for (const auto& tuple : single) {
    WGK_ASSIGN(const std::int64_t index, tuple[0].integer(0, count - 1));
    WGK_ASSIGN(const double value, read_value(tuple[1]));
    pokes.push_back({index, index + 1, value});
  }
  WGK_ASSIGN(const auto ranges, read_tuples(object, "pokeRange", 3));
  // A range of a few bytes can write the whole tensor.
  constexpr std::int64_t kLayers = 16;
  std::int64_t written = 0;
  for (const auto& tuple : ranges) {
    WGK_ASSIGN(const auto range, read_range(tuple[0], tuple[1], count));
    written += range.second - range.first;
    if (written / kLayers > count)
      return failure("limit/count", object.path() + ".pokeRange: writes every element more than " +
                                        std::to_string(kLayers) + " times");
    WGK_ASSIGN(const double value, read_value(tuple[2]));
    pokes.push_back({range.first, range.second, value});
  }
  return pokes;
}

std::string shape_text(const Shape& shape) {
  std::string text = "(";
  for (const std::int64_t dim : shape) text += (text.size() > 1 ? ", " : "") + std::to_string(dim);
  return text + ")";
}

Result<std::int64_t> count_of(const Cursor& cursor, const Shape& shape) {
  auto count = element_count(shape);
  if (!count)
    return cursor.fail("the shape " + shape_text(shape) +
                       " is too large: " + count.error().message);
  return count;
}

Status check_length(const Cursor& cursor, const Data& data, const Shape& shape,
                    std::int64_t count) {
  const ListedValues* listed = std::get_if<ListedValues>(&data);
  if (listed == nullptr || std::ssize(*listed->values) == count) return {};
  return cursor.fail("has " + std::to_string(listed->values->size()) + " values; the shape " +
                     shape_text(shape) + " needs " + std::to_string(count));
}

// Where a call must fail, its data may be wrong on purpose.
Result<CaseTensor> read_tensor(const Cursor& cursor, const Fixtures& fixtures, bool must_fail,
                               bool default_data) {
  WGK_TRY(cursor.only({"dtype", "shape", "data", "poke", "pokeRange"}));
  CaseTensor tensor;
  WGK_ASSIGN(const Cursor dtype, cursor.require("dtype"));
  WGK_ASSIGN(tensor.dtype, read_dtype(dtype));
  WGK_ASSIGN(const Cursor shape, cursor.require("shape"));
  WGK_ASSIGN(tensor.shape, read_shape(shape));
  const std::optional<Cursor> data = cursor.find("data");
  if (!data && default_data) {
    tensor.data = NormalValues{};
  } else {
    WGK_ASSIGN(const Cursor required, cursor.require("data"));
    WGK_ASSIGN(tensor.data, read_data(required, fixtures, false));
  }
  WGK_ASSIGN(const std::int64_t count, count_of(shape, tensor.shape));
  if (!must_fail && data) WGK_TRY(check_length(*data, tensor.data, tensor.shape, count));
  WGK_ASSIGN(tensor.pokes, read_pokes(cursor, count));
  return tensor;
}

Result<Tolerance> read_tolerance(const Cursor& cursor) {
  Tolerance tolerance;
  if (cursor.value().is_number()) {
    WGK_ASSIGN(tolerance.abs, cursor.number());
  } else {
    WGK_TRY(cursor.only({"abs", "rel"}));
    WGK_ASSIGN(tolerance.abs, read_number(cursor, "abs", 0.0));
    WGK_ASSIGN(tolerance.rel, read_number(cursor, "rel", 0.0));
  }
  if (tolerance.abs < 0 || tolerance.rel < 0) return cursor.fail("must not be negative");
  return tolerance;
}

Status read_parts(const Cursor& cursor, std::int64_t count, Expectation& expectation) {
  WGK_ASSIGN(expectation.pokes, read_pokes(cursor, count));
  WGK_ASSIGN(const auto samples, read_tuples(cursor, "samples", 2));
  for (const auto& tuple : samples) {
    WGK_ASSIGN(const std::int64_t index, tuple[0].integer(0, count - 1));
    WGK_ASSIGN(const double value, read_value(tuple[1]));
    expectation.samples.emplace_back(index, value);
  }
  WGK_ASSIGN(const auto ignored, read_tuples(cursor, "ignore", 2));
  for (const auto& tuple : ignored) {
    WGK_ASSIGN(const auto range, read_range(tuple[0], tuple[1], count));
    expectation.ignore.push_back(range);
  }
  return {};
}

Result<Expectation> read_expectation(const Cursor& cursor, const Fixtures& fixtures) {
  WGK_TRY(cursor.only({"shape", "dtype", "tolerance", "data", "poke", "pokeRange", "samples",
                       "ignore", "allowNaN", "compare"}));
  Expectation expectation;
  if (const auto compare = cursor.find("compare")) {
    WGK_ASSIGN(expectation.compare, compare->boolean());
  }
  if (const auto dtype = cursor.find("dtype")) {
    WGK_ASSIGN(expectation.dtype, read_dtype(*dtype));
  }
  if (const auto tolerance = cursor.find("tolerance")) {
    WGK_ASSIGN(expectation.tolerance, read_tolerance(*tolerance));
  }
  if (const auto allow = cursor.find("allowNaN")) {
    WGK_ASSIGN(expectation.allow_nan, allow->boolean());
  }
  const std::optional<Cursor> data = cursor.find("data");
  if (data) {
    WGK_ASSIGN(expectation.data, read_data(*data, fixtures, true));
  }
  const std::optional<Cursor> shape = cursor.find("shape");
  if (!shape) {
    if (expectation.compare) return cursor.fail("needs a shape");
    return expectation;
  }
  WGK_ASSIGN(expectation.shape, read_shape(*shape));
  WGK_ASSIGN(const std::int64_t count, count_of(*shape, *expectation.shape));
  if (data) WGK_TRY(check_length(*data, *expectation.data, *expectation.shape, count));
  WGK_TRY(read_parts(cursor, count, expectation));
  if (data && !expectation.samples.empty())
    return cursor.fail("has data and samples; only one may stand there");
  if (!data && !expectation.pokes.empty()) return cursor.fail("has poke without data");
  return expectation;
}

Result<CaseMap<Json>> read_map(const Cursor& object, std::string_view key) {
  CaseMap<Json> map;
  const std::optional<Cursor> member = object.find(key);
  if (!member) return map;
  WGK_ASSIGN(const auto members, member->members());
  for (const auto& [name, value] : members) map.emplace_back(name, value.value());
  return map;
}

Result<std::vector<std::string>> read_names(const Cursor& object, std::string_view key) {
  std::vector<std::string> names;
  const std::optional<Cursor> member = object.find(key);
  if (!member) return names;
  WGK_ASSIGN(const std::vector<Cursor> items, member->items());
  for (const Cursor& item : items) {
    WGK_ASSIGN(std::string name, item.string());
    names.push_back(std::move(name));
  }
  return names;
}

Status read_request(const Cursor& cursor, const Fixtures& fixtures, bool must_fail,
                    bool default_data, CaseRequest& request) {
  WGK_ASSIGN(const Cursor name, cursor.require("name"));
  WGK_ASSIGN(request.name, name.string());
  const bool plain = !request.name.empty() && std::ranges::all_of(request.name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.';
  });
  if (!plain)
    return name.fail("'" + request.name + "' is not a name of letters, digits, '_', '-' and '.'");
  WGK_ASSIGN(request.attrs, read_map(cursor, "attrs"));
  WGK_ASSIGN(request.args, read_map(cursor, "args"));
  WGK_ASSIGN(request.tunables, read_map(cursor, "tunables"));
  WGK_ASSIGN(const Cursor inputs, cursor.require("inputs"));
  WGK_ASSIGN(const auto members, inputs.members());
  for (const auto& [port, value] : members) {
    WGK_ASSIGN(CaseTensor tensor, read_tensor(value, fixtures, must_fail, default_data));
    request.inputs.emplace_back(port, std::move(tensor));
  }
  return {};
}

Result<std::string> read_error(const Cursor& cursor) {
  if (cursor.value() == Json(true)) return std::string();
  WGK_ASSIGN(std::string code, cursor.string());
  const bool known =
      code.ends_with('/')
          ? std::ranges::any_of(
                error_codes(), [&](const ErrorCode& entry) { return entry.code.starts_with(code); })
          : find_error_code(code) != nullptr;
  if (!known)
    return cursor.fail("'" + code +
                       "' is neither an error code nor the beginning of one up to '/'");
  return code;
}

Result<SkipGpu> read_skip(const Cursor& cursor) {
  WGK_TRY(cursor.only({"category", "reason"}));
  SkipGpu skip;
  WGK_ASSIGN(const Cursor category, cursor.require("category"));
  WGK_ASSIGN(skip.category, category.string());
  if (skip.category != "permanent" && skip.category != "todo")
    return category.fail_value("must be permanent or todo");
  WGK_ASSIGN(const Cursor reason, cursor.require("reason"));
  WGK_ASSIGN(skip.reason, reason.string());
  return skip;
}

Result<TestCase> read_test(const Cursor& cursor, const Fixtures& fixtures) {
  WGK_TRY(cursor.only({"name", "attrs", "args", "tunables", "inputs", "outputs", "error",
                       "unchanged", "twin", "skipGpu", "provenance"}));
  TestCase test;
  const std::optional<Cursor> error = cursor.find("error");
  if (error) {
    WGK_ASSIGN(test.error, read_error(*error));
  }
  WGK_TRY(read_request(cursor, fixtures, error.has_value(), false, test));
  const std::optional<Cursor> outputs = cursor.find("outputs");
  if (error && outputs) return cursor.fail("has error and outputs; only one may stand there");
  if (const auto twin = cursor.find("twin")) {
    if (error) return twin->fail("a case with error has no outputs to compare");
    WGK_ASSIGN(test.twin, twin->string());
  }
  if (!error) {
    WGK_ASSIGN(const Cursor required, cursor.require("outputs"));
    WGK_ASSIGN(const auto members, required.members());
    for (const auto& [port, value] : members) {
      WGK_ASSIGN(Expectation expectation, read_expectation(value, fixtures));
      test.outputs.emplace_back(port, std::move(expectation));
    }
  }
  WGK_ASSIGN(test.unchanged, read_names(cursor, "unchanged"));
  if (const auto skip = cursor.find("skipGpu")) {
    WGK_ASSIGN(test.skip_gpu, read_skip(*skip));
  }
  if (const auto provenance = cursor.find("provenance")) test.provenance = provenance->value();
  return test;
}

Result<expr::Rule> read_rule(const Cursor& cursor) {
  if (!cursor.value().is_string() && !cursor.value().is_number())
    return cursor.fail_value("must be an expression or a number");
  expr::Rule rule(cursor.value());
  if (const Status syntax = rule.syntax(); !syntax) return cursor.fail(syntax.error().message);
  return rule;
}

Result<BenchCase> read_bench(const Cursor& cursor) {
  WGK_TRY(cursor.only(
      {"name", "attrs", "args", "tunables", "inputs", "outputs", "bytes", "flops", "tags"}));
  BenchCase bench;
  WGK_TRY(read_request(cursor, {}, false, true, bench));
  WGK_ASSIGN(bench.outputs, read_names(cursor, "outputs"));
  WGK_ASSIGN(bench.tags, read_names(cursor, "tags"));
  if (const auto bytes = cursor.find("bytes")) {
    WGK_ASSIGN(bench.bytes, read_rule(*bytes));
  }
  if (const auto flops = cursor.find("flops")) {
    WGK_ASSIGN(bench.flops, read_rule(*flops));
  }
  return bench;
}

Result<Fixtures> read_fixtures(const Cursor& cursor) {
  Fixtures fixtures;
  const std::optional<Cursor> member = cursor.find("fixtureArrays");
  if (!member) return fixtures;
  WGK_ASSIGN(const auto members, member->members());
  for (const auto& [name, list] : members) {
    WGK_ASSIGN(std::vector<double> values, read_values(list));
    fixtures.emplace(name, std::make_shared<const std::vector<double>>(std::move(values)));
  }
  return fixtures;
}

template <class Case, class Read>
Result<std::vector<Case>> read_cases(const Cursor& cursor, Read read) {
  WGK_ASSIGN(const Cursor list, cursor.require("cases"));
  WGK_ASSIGN(const std::vector<Cursor> items, list.items());
  if (items.size() > kMaxCases) {
    return failure("limit/count", "cases: " + std::to_string(items.size()) +
                                      " cases; the limit is " + std::to_string(kMaxCases));
  }
  std::vector<Case> cases;
  std::set<std::string, std::less<>> names;
  for (const Cursor& item : items) {
    WGK_ASSIGN(Case one, read(item));
    if (!names.insert(one.name).second)
      return item.fail("the name '" + one.name + "' stands there twice");
    if constexpr (requires { one.twin; }) {
      if (!one.twin.empty() && (one.twin == one.name || !names.contains(one.twin)))
        return item.fail("twin: '" + one.twin + "' is not the name of an earlier case");
    }
    cases.push_back(std::move(one));
  }
  return cases;
}

}  // namespace

Result<std::vector<TestCase>> read_tests(const Json& json) {
  const Cursor cursor(json, "", kCasesCode);
  WGK_TRY(cursor.only({"fixtureArrays", "cases"}));
  WGK_ASSIGN(const Fixtures fixtures, read_fixtures(cursor));
  return read_cases<TestCase>(cursor,
                              [&](const Cursor& item) { return read_test(item, fixtures); });
}

Result<TestCase> read_test(const Json& json) { return read_test(Cursor(json, "", kCasesCode), {}); }

Result<std::vector<BenchCase>> read_benches(const Json& json) {
  const Cursor cursor(json, "", kCasesCode);
  WGK_TRY(cursor.only({"cases"}));
  return read_cases<BenchCase>(cursor, [](const Cursor& item) { return read_bench(item); });
}

}  // namespace wgk::package
