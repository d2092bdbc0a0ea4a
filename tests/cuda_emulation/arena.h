// Memory of the emulation itself. Not from malloc: under ThreadSanitizer that would make accesses of host threads,
// which only the emulation's own, invisible lock orders, look like races. All calls are made with that lock held.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <new>
#include <utility>
#include <vector>

namespace gradus_emulation {

void* arena_allocate(size_t size);
void arena_free(void* data, size_t size) noexcept;

template <class T>
struct ArenaAllocator {
  using value_type = T;
  ArenaAllocator() = default;
  template <class U>
  ArenaAllocator(const ArenaAllocator<U>&) {}
  T* allocate(size_t count) { return static_cast<T*>(arena_allocate(count * sizeof(T))); }
  void deallocate(T* data, size_t count) noexcept { arena_free(data, count * sizeof(T)); }
  template <class U>
  bool operator==(const ArenaAllocator<U>&) const {
    return true;
  }
};
template <class T>
using Vector = std::vector<T, ArenaAllocator<T>>;
template <class T>
using Deque = std::deque<T, ArenaAllocator<T>>;
template <class K, class V>
using Map = std::map<K, V, std::less<K>, ArenaAllocator<std::pair<const K, V>>>;

/// A base of what is made by `new` and shared between host threads.
struct InArena {
  static void* operator new(size_t size) { return arena_allocate(size); }
  static void operator delete(void* data, size_t size) noexcept { arena_free(data, size); }
};

/// memcpy and memset that sanitizers do not see.
void copy_bytes(void* to, const void* from, size_t size);
void fill_bytes(void* data, int value, size_t size);

/// Memory of the operating system in whole pages; nullptr when there is none. Sanitizers see these calls.
void* map_pages(size_t size);
void unmap_pages(void* data, size_t size) noexcept;
size_t page_size();
inline size_t round_up(size_t value, size_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

/// The one lock of the emulation; ThreadSanitizer does not see it.
class Lock {
 public:
  void lock();
  void unlock();

 private:
  int state_ = 0;  // 0: free, 1: held, 2: held and waited for
};
extern Lock emulation_lock;
class Guard {
 public:
  Guard() { emulation_lock.lock(); }
  ~Guard() { emulation_lock.unlock(); }
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;
};
/// A counter that threads wait for to change.
class Gate {
 public:
  int now() const { return __atomic_load_n(&count_, __ATOMIC_ACQUIRE); }
  void open();
  void wait(int seen);

 private:
  int count_ = 0;
};

}  // namespace gradus_emulation
