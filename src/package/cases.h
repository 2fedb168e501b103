// SPDX-License-Identifier: Apache-2.0
// test.json and bench.json as typed values. The dialect is the published one (format.md d) plus
// generated data, error cases, partial expectations and benchmark cases; docs/format-notes.md has
// the whole of it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "expr/expression.h"
#include "wgk/dtype.h"
#include "wgk/error.h"
#include "wgk/json.h"

namespace wgk::package {

// Where the elements of a tensor come from. Values are computed in double and rounded once to the
// dtype.
struct ListedValues {
  std::shared_ptr<const std::vector<double>> values;
};
struct FillFloat32 {  // (sin(i * sin_step) + cos(i * cos_step)) * scale, rounded to float32 first
  double sin_step = 0, cos_step = 0, scale = 1;
};
struct ConstantValue {
  double value = 0;
};
struct LinearValues {  // start + i * step
  double start = 0, step = 0;
};
struct AxisIndex {  // index along the axis * step
  std::int64_t axis = 0;
  double step = 1;
};
struct GridValues {  // ((SplitMix64_i mod (2r + 1)) - r) * step + offset
  std::uint64_t seed = 0;
  std::int64_t r = 0;
  double step = 1, offset = 0;
};
struct NormalValues {  // near normal: the sum of four uniform 16-bit numbers of SplitMix64_i, mean
                       // 0, deviation `scale`
  std::uint64_t seed = 0;
  double scale = 1;
};
struct CsrBlockMask {
  std::int64_t num_layout = 1, max_blocks = 1, local_blocks = 1, vert_stride = 1;
  bool rows = true;  // the row pointers, else the columns
};
struct SameAsInput {  // expectations only: the bytes of that input
  std::string port;
};
using Data = std::variant<ListedValues, FillFloat32, ConstantValue, LinearValues, AxisIndex,
                          GridValues, NormalValues, CsrBlockMask, SameAsInput>;

struct Poke {
  std::int64_t begin = 0, end = 0;  // flat, half-open
  double value = 0;
};

struct CaseTensor {
  DType dtype = DType::f32;
  Shape shape;
  Data data;
  std::vector<Poke> pokes;  // applied after `data`, in order: first `poke`, then `pokeRange`
};

struct Tolerance {  // |got - want| <= abs + rel * |want|; zero: exact
  double abs = 0, rel = 0;
};

struct Expectation {
  std::optional<Shape> shape;
  std::optional<DType> dtype;  // nothing: whatever is inferred
  Tolerance tolerance;
  std::optional<Data> data;  // nothing, and no samples: the operator's oracle
  std::vector<Poke> pokes;
  std::vector<std::pair<std::int64_t, double>> samples;
  std::vector<std::pair<std::int64_t, std::int64_t>> ignore;  // half-open
  bool allow_nan = true;
  bool compare = true;
};

struct SkipGpu {
  std::string category, reason;
};

template <class T>
using CaseMap = std::vector<std::pair<std::string, T>>;  // in the order of the file

// What calls, tests and benchmarks have in common.
struct CaseRequest {
  std::string name;
  CaseMap<Json> attrs, args, tunables;
  CaseMap<CaseTensor> inputs;
};

struct TestCase : CaseRequest {
  CaseMap<Expectation> outputs;
  std::optional<std::string> error;  // a code, a prefix ending in '/', or empty for any
  std::vector<std::string> unchanged;
  std::string twin;  // an earlier case, whose outputs have the same bits; empty: none
  std::optional<SkipGpu> skip_gpu;
  Json provenance;
};

struct BenchCase : CaseRequest {
  std::vector<std::string> outputs;
  std::optional<expr::Rule> bytes, flops;
  std::vector<std::string> tags;
};

// Errors: "package/cases" with the JSON path, "limit/count".
Result<std::vector<TestCase>> read_tests(const Json& json);
Result<TestCase> read_test(const Json& json);  // one case, which no list holds
Result<std::vector<BenchCase>> read_benches(const Json& json);

}  // namespace wgk::package
