// SPDX-License-Identifier: Apache-2.0
// Counts every allocation of a thread, ours and of the libraries, in `allocations`, and what all
// threads hold in `held` while `held.on` is set. To be included by one file of a program: it
// replaces the program's operator new, which C++ libraries use too and drivers in C do not.
// Not with the thread sanitizer: foreign libraries would free through an instrumented function.
#pragma once

#include <malloc.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

namespace {
thread_local std::uint64_t allocations = 0;

struct Held {
  std::int64_t objects = 0, bytes = 0;
};
struct Holding {
  std::atomic<bool> on = false;
  std::atomic<std::int64_t> objects = 0, bytes = 0;

  Held now() const { return {objects.load(), bytes.load()}; }
  void add(void* memory, std::int64_t sign) {
    if (!on.load(std::memory_order_relaxed) || memory == nullptr) return;
    objects.fetch_add(sign, std::memory_order_relaxed);
    bytes.fetch_add(sign * static_cast<std::int64_t>(::malloc_usable_size(memory)),
                    std::memory_order_relaxed);
  }
};
// Only differences mean something: what was made before it was switched on is freed after it.
constinit Holding held;
}  // namespace

#if !defined(__SANITIZE_THREAD__)
namespace {
void* counted(std::size_t size) {
  ++allocations;
  void* const memory = std::malloc(size == 0 ? 1 : size);
  if (memory == nullptr) std::abort();
  held.add(memory, 1);
  return memory;
}
void uncounted(void* memory) {
  held.add(memory, -1);
  std::free(memory);
}
}  // namespace

void* operator new(std::size_t size) { return counted(size); }
void* operator new[](std::size_t size) { return counted(size); }
void operator delete(void* memory) noexcept { uncounted(memory); }
void operator delete[](void* memory) noexcept { uncounted(memory); }
void operator delete(void* memory, std::size_t) noexcept { uncounted(memory); }
void operator delete[](void* memory, std::size_t) noexcept { uncounted(memory); }
#endif
