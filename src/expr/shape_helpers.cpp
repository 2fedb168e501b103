// SPDX-License-Identifier: Apache-2.0
// Helpers over shapes and axes, and over dtype names.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <initializer_list>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/number.h"
#include "expr/expression.h"
#include "expr/helper_support.h"
#include "expr/operators.h"
#include "expr/value_access.h"
#include "wgk/dtype.h"

namespace wgk::expr {
namespace {

std::string text_of(const std::vector<double>& shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < shape.size(); ++i)
    text += (i == 0 ? "" : ", ") + number_text(shape[i]);
  return text + "]";
}

bool dims_at(CallContext& call, Args args, std::size_t index, std::string_view function,
             std::vector<double>& dims) {
  const Array* list = list_at(call, args, index, function);
  if (list == nullptr) return false;
  dims.resize(list->items.size());
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (!number_of(call, list->items[i], dims[i])) return false;
  }
  return true;
}

Value shape_value(const std::vector<double>& dims) {
  std::vector<Value> items;
  items.reserve(dims.size());
  for (const double dim : dims) items.push_back(Value::plain(dim));
  return Value::list(std::move(items));
}

bool move_axis_helper(CallContext& call, const Value&, Args args, Value& result) {
  const Array* shape = list_at(call, args, 0, "moveAxis");
  double from = 0;
  double to = 0;
  if (shape == nullptr || !number_at(call, args, 1, from) || !number_at(call, args, 2, to))
    return false;
  const auto rank = static_cast<double>(shape->items.size());
  if (!is_integer(from) || !is_integer(to)) return call.fail("moveAxis() needs ints as axes");
  if (from < -rank || from >= rank || to < -rank || to >= rank) {
    return call.fail("an axis of moveAxis() is outside of [" + number_text(-rank) + ", " +
                     number_text(rank - 1) + "]");
  }
  std::vector<Value> items = shape->items;
  const auto source = static_cast<std::ptrdiff_t>(wrapped(from, rank));
  const auto target = static_cast<std::ptrdiff_t>(wrapped(to, rank));
  Value moved = items[static_cast<std::size_t>(source)];
  items.erase(items.begin() + source);
  items.insert(items.begin() + target, std::move(moved));
  result = Value::list(std::move(items));
  return true;
}

bool permute_shape_helper(CallContext& call, const Value&, Args args, Value& result) {
  const Array* shape = list_at(call, args, 0, "permuteShape");
  std::vector<double> order;
  if (shape == nullptr || !dims_at(call, args, 1, "permuteShape", order)) return false;
  const std::size_t rank = shape->items.size();
  if (order.size() != rank) {
    return call.fail("permuteShape() needs one axis per dimension, got " +
                     std::to_string(order.size()) + " for rank " + std::to_string(rank));
  }
  std::vector<bool> used(rank, false);
  std::vector<Value> items;
  for (const double axis : order) {
    const auto size = static_cast<double>(rank);
    if (!is_integer(axis) || axis < -size || axis >= size) {
      return call.fail("axis " + number_text(axis) + " of permuteShape() is outside of rank " +
                       std::to_string(rank));
    }
    const auto place = static_cast<std::size_t>(axis < 0 ? axis + size : axis);
    if (used[place])
      return call.fail("axis " + number_text(axis) + " of permuteShape() is used twice");
    used[place] = true;
    items.push_back(shape->items[place]);
  }
  result = Value::list(std::move(items));
  return true;
}

bool reversed_axes_helper(CallContext& call, const Value&, Args args, Value& result) {
  double rank = 0;
  if (!number_at(call, args, 0, rank)) return false;
  const double count = rank > 0 ? std::trunc(rank) : 0;
  if (!call.charge(static_cast<std::size_t>(std::min(count, 1e15)))) return false;
  std::vector<Value> axes;
  for (double axis = count - 1; axis >= 0; --axis) axes.push_back(Value::integer(axis));
  result = Value::list(std::move(axes));
  return true;
}

// The numpy rule; nothing when two dimensions do not fit.
bool broadcast(CallContext& call, const std::vector<double>& a, const std::vector<double>& b,
               std::vector<double>& out) {
  out.assign(std::max(a.size(), b.size()), 1);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const double left = i < a.size() ? a[a.size() - 1 - i] : 1;
    const double right = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (left != right && left != 1 && right != 1) {
      return call.fail("the shapes " + text_of(a) + " and " + text_of(b) + " cannot be broadcast");
    }
    out[out.size() - 1 - i] = left == 1 ? right : left;
  }
  return true;
}

bool broadcast_shape_helper(CallContext& call, const Value&, Args args, Value& result) {
  std::vector<double> a;
  std::vector<double> b;
  std::vector<double> out;
  if (!dims_at(call, args, 0, "broadcastShape", a) || !dims_at(call, args, 1, "broadcastShape", b))
    return false;
  if (!broadcast(call, a, b, out)) return false;
  result = shape_value(out);
  return true;
}

bool matmul_shape_helper(CallContext& call, const Value&, Args args, Value& result) {
  std::vector<double> a;
  std::vector<double> b;
  if (!dims_at(call, args, 0, "matmulShape", a) || !dims_at(call, args, 1, "matmulShape", b))
    return false;
  if (a.empty() || b.empty()) return call.fail("matmulShape() needs shapes of rank 1 or more");
  const bool row = a.size() == 1;
  const bool column = b.size() == 1;
  if (row) a.insert(a.begin(), 1);
  if (column) b.push_back(1);
  if (a.back() != b[b.size() - 2]) {
    return call.fail("the inner dimensions of matmulShape() differ: " + number_text(a.back()) +
                     " and " + number_text(b[b.size() - 2]));
  }
  const double rows = a[a.size() - 2];
  const double columns = b.back();
  a.resize(a.size() - 2);
  b.resize(b.size() - 2);
  std::vector<double> out;
  if (!broadcast(call, a, b, out)) return false;
  if (!row) out.push_back(rows);
  if (!column) out.push_back(columns);
  result = shape_value(out);
  return true;
}

bool broadcastable_helper(CallContext& call, const Value&, Args args, Value& result) {
  std::vector<double> a;
  std::vector<double> b;
  if (!dims_at(call, args, 0, "broadcastable", a) || !dims_at(call, args, 1, "broadcastable", b))
    return false;
  bool fits = a.size() <= b.size();
  for (std::size_t i = 0; fits && i < a.size(); ++i) {
    const double dim = a[a.size() - 1 - i];
    fits = dim == 1 || dim == b[b.size() - 1 - i];
  }
  result = Value(fits);
  return true;
}

bool same_shape_helper(CallContext& call, const Value&, Args args, Value& result) {
  const Array* a = list_at(call, args, 0, "sameShape");
  const Array* b = a == nullptr ? nullptr : list_at(call, args, 1, "sameShape");
  if (b == nullptr) return false;
  result = Value(std::equal(a->items.begin(), a->items.end(), b->items.begin(), b->items.end(),
                            strictly_equal));
  return true;
}

// The place in `axes` that names `axis`, modulo rank; -1 when there is none.
std::ptrdiff_t axis_place(const std::vector<double>& axes, double axis, double rank) {
  const double wanted = wrapped(axis, rank);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (wrapped(axes[i], rank) == wanted) return static_cast<std::ptrdiff_t>(i);
  }
  return -1;
}

bool has_axis_helper(CallContext& call, const Value&, Args args, Value& result) {
  std::vector<double> axes;
  double axis = 0;
  double rank = 0;
  if (!dims_at(call, args, 0, "hasAxis", axes) || !number_at(call, args, 1, axis) ||
      !number_at(call, args, 2, rank)) {
    return false;
  }
  result = Value(axis_place(axes, axis, rank) >= 0);
  return true;
}

bool axis_value_helper(CallContext& call, const Value&, Args args, Value& result) {
  const Array* values = list_at(call, args, 0, "axisValue");
  std::vector<double> axes;
  double axis = 0;
  double rank = 0;
  if (values == nullptr || !dims_at(call, args, 1, "axisValue", axes) ||
      !number_at(call, args, 2, axis) || !number_at(call, args, 3, rank)) {
    return false;
  }
  const std::ptrdiff_t place = axis_place(axes, axis, rank);
  if (place < 0) {
    result = args.size() > 4 ? Value(args[4]) : Value();
  } else {
    const auto at = static_cast<std::size_t>(place);
    result = at < values->items.size() ? Value(values->items[at]) : Value();
  }
  return true;
}

// All ints in [low, high) and distinct, after modulo rank when it is above 0.
bool is_unique_int_list_helper(CallContext& call, const Value&, Args args, Value& result) {
  result = Value(false);
  const Array* list = args.empty() ? nullptr : args[0].if_array();
  double low = 0;
  double high = 0;
  double rank = 0;
  if (list == nullptr) return true;
  if (!call.charge(list->items.size())) return false;
  if (!number_at(call, args, 1, low) || !number_at(call, args, 2, high)) return false;
  if (args.size() > 3 && !args[3].is_undefined() && !number_of(call, args[3], rank)) return false;
  std::vector<double> seen;
  for (const Value& item : list->items) {
    const Number* number = item.if_number();
    if (number == nullptr || !is_integer(number->value)) return true;
    if (!(number->value >= low && number->value < high)) return true;
    seen.push_back(rank > 0 ? wrapped(number->value, rank) : number->value);
  }
  std::sort(seen.begin(), seen.end());
  result = Value(std::adjacent_find(seen.begin(), seen.end()) == seen.end());
  return true;
}

bool dtype_bytes_helper(CallContext& call, const Value&, Args args, Value& result) {
  const std::string* name = args.empty() ? nullptr : args[0].if_string();
  if (name == nullptr) return call.fail("dtypeBytes() needs the name of a dtype");
  double bytes = 0;
  if (const auto dtype = dtype_from_name(*name)) bytes = static_cast<double>(device_bytes(*dtype));
  if (*name == "f32" || *name == "u32" || *name == "i32") bytes = 4;
  if (*name == "f16") bytes = 2;
  if (*name == "vec2<u32>") bytes = 8;
  if (bytes == 0) return call.fail("dtypeBytes() does not know '" + *name + "'");
  result = Value::integer(bytes);
  return true;
}

bool onnx_dtype_code_helper(CallContext& call, const Value&, Args args, Value& result) {
  const std::string* name = args.empty() ? nullptr : args[0].if_string();
  if (name == nullptr) return call.fail("onnxDtypeCode() needs the name of a dtype");
  for (const auto& [known, code] :
       std::initializer_list<std::pair<std::string_view, int>>{{"float32", 1},
                                                               {"uint8", 2},
                                                               {"int8", 3},
                                                               {"int16", 5},
                                                               {"int32", 6},
                                                               {"int64", 7},
                                                               {"bool", 9},
                                                               {"float16", 10},
                                                               {"uint32", 12}}) {
    if (known != *name) continue;
    result = Value::integer(code);
    return true;
  }
  return call.fail("onnxDtypeCode() does not know '" + *name + "'");
}

}  // namespace

void add_shape_helpers(Scope& scope) {
  for (const auto& [name, native] : std::initializer_list<std::pair<std::string_view, Native>>{
           {"moveAxis", move_axis_helper},
           {"permuteShape", permute_shape_helper},
           {"reversedAxes", reversed_axes_helper},
           {"broadcastShape", broadcast_shape_helper},
           {"matmulShape", matmul_shape_helper},
           {"broadcastable", broadcastable_helper},
           {"sameShape", same_shape_helper},
           {"hasAxis", has_axis_helper},
           {"axisValue", axis_value_helper},
           {"isUniqueIntList", is_unique_int_list_helper},
           {"dtypeBytes", dtype_bytes_helper},
           {"onnxDtypeCode", onnx_dtype_code_helper}}) {
    scope.set(name, native_function(std::string(name), native));
  }
}

}  // namespace wgk::expr
