// SPDX-License-Identifier: Apache-2.0
#include "verify/compare.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/try.h"
#include "package/case_data.h"

namespace wgk::verify {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

void take_worst(Difference& worst, std::size_t index, double got, double wanted,
                const package::Expectation& expectation) {
  const bool refused = std::isnan(got) && !expectation.allow_nan;
  const double multiple = refused ? kInfinity : error_multiple(got, wanted, expectation.tolerance);
  if (!(multiple > worst.multiple)) return;
  worst = {
      .multiple = multiple, .index = index, .wanted = wanted, .got = got, .nan_refused = refused};
}

template <class Bits>
bool same(std::span<const std::byte> a, std::span<const std::byte> b, std::size_t index) {
  return std::memcmp(a.data() + index * sizeof(Bits), b.data() + index * sizeof(Bits),
                     sizeof(Bits)) == 0;
}

// Of elements of `width` bytes.
bool same_bits(std::size_t width, std::span<const std::byte> a, std::span<const std::byte> b,
               std::size_t index) {
  switch (width) {
    case 1: return same<std::uint8_t>(a, b, index);
    case 2: return same<std::uint16_t>(a, b, index);
    case 4: return same<std::uint32_t>(a, b, index);
    default: return same<std::uint64_t>(a, b, index);
  }
}

}  // namespace

double error_multiple(double got, double wanted, const package::Tolerance& tolerance) {
  if (got == wanted || (std::isnan(got) && std::isnan(wanted))) return 0;
  if (!std::isfinite(got) || !std::isfinite(wanted)) return kInfinity;
  const double allowed = tolerance.abs + tolerance.rel * std::fabs(wanted);
  return allowed > 0 ? std::fabs(got - wanted) / allowed : kInfinity;
}

Difference compare(DType dtype, std::span<const std::byte> got, std::span<const std::byte> wanted,
                   const package::Expectation& expectation) {
  Difference worst;
  const std::size_t width = host_bytes(dtype);
  const std::size_t count = got.size() / width;
  auto ignore = expectation.ignore;
  std::ranges::sort(ignore);
  auto range = ignore.begin();
  for (std::size_t i = 0; i < count; ++i) {
    // Most are: what has the same bits has no error, and needs no conversion.
    if (expectation.allow_nan && same_bits(width, got, wanted, i)) continue;
    const auto index = static_cast<std::int64_t>(i);
    while (range != ignore.end() && range->second <= index) ++range;
    if (range != ignore.end() && range->first <= index) continue;
    take_worst(worst, i, package::host_value(dtype, got, i), package::host_value(dtype, wanted, i),
               expectation);
  }
  return worst;
}

Result<Difference> compare_samples(DType dtype, std::span<const std::byte> got,
                                   const package::Expectation& expectation) {
  Difference worst;
  for (const auto& [index, value] : expectation.samples) {
    std::array<std::byte, 8> rounded = {};
    WGK_TRY(package::store_host_value(dtype, value, rounded, 0));
    const auto at = static_cast<std::size_t>(index);
    take_worst(worst, at, package::host_value(dtype, got, at),
               package::host_value(dtype, rounded, 0), expectation);
  }
  return worst;
}

std::optional<std::size_t> first_difference(DType dtype, std::span<const std::byte> a,
                                            std::span<const std::byte> b) {
  const auto [left, right] = std::ranges::mismatch(a, b);
  if (left == a.end() && right == b.end()) return std::nullopt;
  return static_cast<std::size_t>(left - a.begin()) / host_bytes(dtype);
}

std::string index_text(std::size_t index, const Shape& shape) {
  Shape at(shape.size());
  for (std::size_t i = shape.size(); i-- > 0;) {
    const auto dim = static_cast<std::size_t>(std::max<std::int64_t>(1, shape[i]));
    at[i] = static_cast<std::int64_t>(index % dim);
    index /= dim;
  }
  return shape_text(at);
}

std::string shape_text(const Shape& shape) {
  std::string text = "(";
  for (const std::int64_t dim : shape) text += (text.size() > 1 ? ", " : "") + std::to_string(dim);
  return text + ")";
}

}  // namespace wgk::verify
