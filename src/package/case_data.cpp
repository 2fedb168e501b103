// SPDX-License-Identifier: Apache-2.0
#include "package/case_data.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/checked.h"
#include "base/half.h"
#include "base/number.h"
#include "base/try.h"

namespace wgk::package {
namespace {

constexpr std::string_view kCaseDataCode = "package/cases";

template <class T>
T load(std::span<const std::byte> data, std::size_t index) {
  T value;
  std::memcpy(&value, data.data() + index * sizeof(T), sizeof(T));
  return value;
}

template <class T>
void store(std::span<std::byte> data, std::size_t index, T value) {
  std::memcpy(data.data() + index * sizeof(T), &value, sizeof(T));
}

template <class T>
Status store_integer(DType dtype, double value, std::span<std::byte> data, std::size_t index) {
  const double rounded = std::nearbyint(value);
  // The upper bound as an exclusive power of two, because int64's maximum is no double.
  const double lowest = static_cast<double>(std::numeric_limits<T>::min());
  const double beyond = std::ldexp(1.0, std::numeric_limits<T>::digits);
  if (!(rounded >= lowest && rounded < beyond)) {
    return failure(kCaseDataCode, number_text(value) + " at index " + std::to_string(index) +
                                      " does not fit " + std::string(name(dtype)));
  }
  store(data, index, static_cast<T>(rounded));
  return {};
}

bool is_active(const CsrBlockMask& mask, std::int64_t layout, std::int64_t query,
               std::int64_t key) {
  const std::int64_t slide = std::max<std::int64_t>(1, mask.vert_stride / mask.num_layout);
  return key <= query &&
         (query - key < mask.local_blocks || (key + layout * slide + 1) % mask.vert_stride == 0);
}

// The values of a mask, and the shape they have.
struct MaskTable {
  std::vector<double> values;
  Shape shape;
};

// Calls `take(key)` for the active blocks of one row.
template <class Take>
void each_active(const CsrBlockMask& mask, std::int64_t layout, std::int64_t query, Take take) {
  for (std::int64_t key = 0; key <= query; ++key) {
    if (is_active(mask, layout, query, key)) take(key);
  }
}

// Nothing is kept of a mask that has not the shape.
Result<MaskTable> make_mask(const CsrBlockMask& mask, const Shape& shape) {
  constexpr std::int64_t kMaxBlocks = std::int64_t{1} << 28;
  if (mask.num_layout * mask.max_blocks * mask.max_blocks > kMaxBlocks) {
    return failure("limit/count", "a block mask of " + std::to_string(mask.num_layout) +
                                      " layouts and " + std::to_string(mask.max_blocks) +
                                      " blocks is too large");
  }
  MaskTable rows{{}, {mask.num_layout, mask.max_blocks + 1}};
  std::int64_t longest = 0;
  for (std::int64_t layout = 0; layout < mask.num_layout; ++layout) {
    std::int64_t count = 0;
    rows.values.push_back(0);
    for (std::int64_t query = 0; query < mask.max_blocks; ++query) {
      each_active(mask, layout, query, [&count](std::int64_t) { ++count; });
      rows.values.push_back(static_cast<double>(count));
    }
    longest = std::max(longest, count);
  }
  if (mask.rows) return rows;
  MaskTable table{{}, {mask.num_layout, longest}};
  if (table.shape != shape) return table;
  for (std::int64_t layout = 0; layout < mask.num_layout; ++layout) {
    for (std::int64_t query = 0; query < mask.max_blocks; ++query) {
      each_active(mask, layout, query,
                  [&table](std::int64_t key) { table.values.push_back(static_cast<double>(key)); });
    }
    table.values.resize(static_cast<std::size_t>((layout + 1) * longest), -1);
  }
  return table;
}

// Calls `put(i, value)` for every element.
class Generator {
 public:
  Generator(const Shape& shape, std::size_t count, DType dtype, std::span<std::byte> out)
      : shape_(shape), count_(count), dtype_(dtype), out_(out) {}

  Status operator()(const ListedValues& data) const {
    return fill([&](std::size_t i) { return (*data.values)[i]; });
  }
  Status operator()(const FillFloat32& data) const {
    return fill([&](std::size_t i) {
      const auto x = static_cast<double>(i);
      return static_cast<double>(static_cast<float>(
          (std::sin(x * data.sin_step) + std::cos(x * data.cos_step)) * data.scale));
    });
  }
  Status operator()(const ConstantValue& data) const {
    return fill([&](std::size_t) { return data.value; });
  }
  Status operator()(const LinearValues& data) const {
    return fill([&](std::size_t i) { return data.start + static_cast<double>(i) * data.step; });
  }
  Status operator()(const AxisIndex& data) const {
    if (data.axis >= std::ssize(shape_)) {
      return failure(kCaseDataCode, "axisIndex: the axis " + std::to_string(data.axis) +
                                        " is not below the rank " + std::to_string(shape_.size()));
    }
    const auto axis = static_cast<std::size_t>(data.axis);
    std::size_t inner = 1;
    for (std::size_t i = axis + 1; i < shape_.size(); ++i)
      inner *= static_cast<std::size_t>(shape_[i]);
    const auto dim = static_cast<std::size_t>(shape_[axis]);
    return fill([&](std::size_t i) { return static_cast<double>(i / inner % dim) * data.step; });
  }
  Status operator()(const GridValues& data) const {
    const auto span = static_cast<std::uint64_t>(2 * data.r + 1);
    return fill([&](std::size_t i) {
      const auto cell = static_cast<std::int64_t>(split_mix64(data.seed, i) % span) - data.r;
      return static_cast<double>(cell) * data.step + data.offset;
    });
  }
  Status operator()(const NormalValues& data) const {
    return fill([&](std::size_t i) {
      const std::uint64_t z = split_mix64(data.seed, i);
      double sum = 0;
      for (int part = 0; part < 4; ++part) sum += static_cast<double>((z >> (16 * part)) & 0xffff);
      // Each part is uniform on 0..65535, so the sum has this mean and (nearly) this deviation.
      constexpr double kMean = 2 * 65535.0;
      constexpr double kDeviation = 65536.0 * 0.57735026918962576;
      return (sum - kMean) / kDeviation * data.scale;
    });
  }
  Status operator()(const CsrBlockMask& data) const {
    WGK_ASSIGN(const MaskTable table, make_mask(data, shape_));
    if (table.shape != shape_) {
      return failure(kCaseDataCode, "csrBlockMask: the mask has " + std::to_string(table.shape[0]) +
                                        " rows of " + std::to_string(table.shape[1]) +
                                        "; the tensor has another shape");
    }
    return fill([&](std::size_t i) { return table.values[i]; });
  }
  Status operator()(const SameAsInput&) const {
    return failure(kCaseDataCode, "kind 'input' names another tensor; it has no data of its own");
  }

 private:
  template <class Value>
  Status fill(Value value) const {
    for (std::size_t i = 0; i < count_; ++i) WGK_TRY(store_host_value(dtype_, value(i), out_, i));
    return {};
  }

  const Shape& shape_;
  std::size_t count_;
  DType dtype_;
  std::span<std::byte> out_;
};

}  // namespace

std::uint64_t split_mix64(std::uint64_t seed, std::uint64_t index) {
  std::uint64_t z = seed + (index + 1) * 0x9E3779B97F4A7C15U;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
  return z ^ (z >> 31);
}

double host_value(DType dtype, std::span<const std::byte> data, std::size_t index) {
  switch (dtype) {
    case DType::f32: return static_cast<double>(load<float>(data, index));
    case DType::f16: return f64_from_f16(load<std::uint16_t>(data, index));
    case DType::i8: return load<std::int8_t>(data, index);
    case DType::i16: return load<std::int16_t>(data, index);
    case DType::i32: return load<std::int32_t>(data, index);
    case DType::i64: return static_cast<double>(load<std::int64_t>(data, index));
    case DType::u8: return load<std::uint8_t>(data, index);
    case DType::u32: return load<std::uint32_t>(data, index);
    case DType::boolean: return load<std::uint8_t>(data, index);
  }
  return 0;
}

Status store_host_value(DType dtype, double value, std::span<std::byte> data, std::size_t index) {
  switch (dtype) {
    case DType::f32: store(data, index, static_cast<float>(value)); return {};
    case DType::f16: store(data, index, f16_from_f64(value)); return {};
    case DType::i8: return store_integer<std::int8_t>(dtype, value, data, index);
    case DType::i16: return store_integer<std::int16_t>(dtype, value, data, index);
    case DType::i32: return store_integer<std::int32_t>(dtype, value, data, index);
    case DType::i64: return store_integer<std::int64_t>(dtype, value, data, index);
    case DType::u8: return store_integer<std::uint8_t>(dtype, value, data, index);
    case DType::u32: return store_integer<std::uint32_t>(dtype, value, data, index);
    case DType::boolean: store(data, index, static_cast<std::uint8_t>(value != 0)); return {};
  }
  return {};
}

Status apply_pokes(std::span<const Poke> pokes, DType dtype, std::span<std::byte> data) {
  for (const Poke& poke : pokes) {
    for (std::int64_t i = poke.begin; i < poke.end; ++i) {
      WGK_TRY(store_host_value(dtype, poke.value, data, static_cast<std::size_t>(i)));
    }
  }
  return {};
}

Result<std::vector<std::byte>> make_host_data(const CaseTensor& tensor, const DataLimits& limits) {
  WGK_ASSIGN(const std::int64_t elements, element_count(tensor.shape));
  auto count = static_cast<std::uint64_t>(elements);
  // A tensor of a call that must fail may hold another number of values than its shape says.
  if (const auto* listed = std::get_if<ListedValues>(&tensor.data)) count = listed->values->size();
  WGK_ASSIGN(const std::uint64_t bytes,
             checked_mul<std::uint64_t>(count, host_bytes(tensor.dtype)));
  if (bytes > limits.max_bytes) {
    return failure("limit/buffer", "a tensor of " + std::to_string(bytes) +
                                       " bytes; the limit for test data is " +
                                       std::to_string(limits.max_bytes));
  }
  std::vector<std::byte> data(bytes);
  WGK_TRY(std::visit(Generator(tensor.shape, count, tensor.dtype, data), tensor.data));
  const bool in_range = std::ranges::all_of(tensor.pokes, [&](const Poke& poke) {
    return static_cast<std::uint64_t>(poke.end) <= count;
  });
  if (!in_range) return failure(kCaseDataCode, "a poke lies outside the data");
  WGK_TRY(apply_pokes(tensor.pokes, tensor.dtype, data));
  return data;
}

}  // namespace wgk::package
