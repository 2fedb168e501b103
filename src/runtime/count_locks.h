// SPDX-License-Identifier: Apache-2.0
// Counts every mutex that a thread locks, ours and of the libraries, in `locks`. To be included by
// one file of a program: it stands before the C library's function. Not with the thread sanitizer,
// which does the same.
#pragma once

#include <dlfcn.h>
#include <pthread.h>

#include <cstdint>

namespace {
thread_local std::uint64_t locks = 0;
}  // namespace

#if !defined(__SANITIZE_THREAD__)
extern "C" int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept {
  using Lock = int (*)(pthread_mutex_t*);
  static const auto kLock = reinterpret_cast<Lock>(dlsym(RTLD_NEXT, "pthread_mutex_lock"));
  ++locks;
  return kLock(mutex);
}
#endif
