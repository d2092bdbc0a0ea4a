// Reference counts that cost no locked instruction while the process has a single thread (as libstdc++'s shared_ptr
// does it): a locked one takes about 20 cycles, and recording and walking one multiplication needs a dozen.
#pragma once

#include <atomic>

#if __has_include(<sys/single_threaded.h>)
#include <sys/single_threaded.h>
#endif

namespace gradus::inline v0::core {

/// Whether no other thread can run now. It becomes false before a second one starts.
inline bool single_threaded() {
#if __has_include(<sys/single_threaded.h>)
  return __libc_single_threaded != 0;
#else
  return false;
#endif
}

template <class T>
inline void count_up(std::atomic<T>& count, T by) {
  if (single_threaded()) {
    count.store(count.load(std::memory_order_relaxed) + by, std::memory_order_relaxed);
  } else {
    count.fetch_add(by, std::memory_order_relaxed);
  }
}

/// Returns the count as it was before.
template <class T>
inline T count_down(std::atomic<T>& count, T by) {
  if (single_threaded()) {
    const T before = count.load(std::memory_order_relaxed);
    count.store(before - by, std::memory_order_relaxed);
    return before;
  }
  return count.fetch_sub(by, std::memory_order_acq_rel);
}

}  // namespace gradus::inline v0::core
