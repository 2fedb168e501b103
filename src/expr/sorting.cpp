// SPDX-License-Identifier: Apache-2.0
#include "expr/sorting.h"

#include <cstddef>
#include <utility>
#include <vector>

#include "expr/operators.h"

namespace wgk::expr {
namespace {

// Merge sort that can stop at an error, which std::stable_sort cannot.
class Sorter {
 public:
  Sorter(CallContext& call, bool case_sensitive, bool reverse)
      : call_(call), case_sensitive_(case_sensitive), reverse_(reverse) {}

  bool sort(std::vector<SortItem>& items) {
    std::vector<SortItem> other(items.size());
    for (std::size_t width = 1; width < items.size(); width *= 2) {
      for (std::size_t start = 0; start < items.size(); start += 2 * width) {
        const std::size_t middle = start + width < items.size() ? start + width : items.size();
        const std::size_t end = middle + width < items.size() ? middle + width : items.size();
        if (!merge(items, other, start, middle, end)) return false;
      }
      std::swap(items, other);
    }
    return true;
  }

 private:
  bool merge(std::vector<SortItem>& from, std::vector<SortItem>& to, std::size_t left,
             std::size_t right, std::size_t end) {
    const std::size_t middle = right;
    std::size_t out = left;
    if (!call_.charge(end - left)) return false;
    while (left < middle && right < end) {
      int order = 0;
      if (!compare_values(call_, from[left].key, from[right].key, case_sensitive_, order))
        return false;
      if (reverse_) order = -order;
      to[out++] = std::move(order <= 0 ? from[left++] : from[right++]);
    }
    while (left < middle) to[out++] = std::move(from[left++]);
    while (right < end) to[out++] = std::move(from[right++]);
    return true;
  }

  CallContext& call_;
  bool case_sensitive_;
  bool reverse_;
};

}  // namespace

bool sort_values(CallContext& call, std::vector<SortItem>& items, bool case_sensitive,
                 bool reverse) {
  // Empty places go to the end, uncompared.
  std::vector<SortItem> present;
  std::vector<SortItem> empty;
  for (SortItem& entry : items)
    (entry.item.is_hole() ? empty : present).push_back(std::move(entry));
  if (!Sorter(call, case_sensitive, reverse).sort(present)) return false;
  for (SortItem& entry : empty) present.push_back(std::move(entry));
  items = std::move(present);
  return true;
}

}  // namespace wgk::expr
