// What the emulation tells AddressSanitizer and ThreadSanitizer. Its own sources are built without them; the functions
// are found when the program that holds the emulation is built with one.
#pragma once

#include <cstddef>

extern "C" {
[[gnu::weak]] void __asan_poison_memory_region(const volatile void* address, size_t size);
[[gnu::weak]] void __asan_unpoison_memory_region(const volatile void* address, size_t size);
[[gnu::weak]] void __sanitizer_start_switch_fiber(void** fake_stack, const void* bottom, size_t size);
[[gnu::weak]] void __sanitizer_finish_switch_fiber(void* fake_stack, const void** bottom, size_t* size);
[[gnu::weak]] void* __tsan_get_current_fiber();
[[gnu::weak]] void* __tsan_create_fiber(unsigned flags);
[[gnu::weak]] void __tsan_destroy_fiber(void* fiber);
[[gnu::weak]] void __tsan_switch_to_fiber(void* fiber, unsigned flags);
[[gnu::weak]] void __tsan_set_fiber_name(void* fiber, const char* name);
[[gnu::weak]] void __tsan_acquire(void* address);
[[gnu::weak]] void __tsan_release(void* address);
[[gnu::weak]] void __tsan_read_range(void* address, unsigned long size);
[[gnu::weak]] void __tsan_write_range(void* address, unsigned long size);
}

namespace gradus_emulation {

inline bool has_asan() {
  return &__asan_poison_memory_region != nullptr;
}
inline bool has_tsan() {
  return &__tsan_switch_to_fiber != nullptr;
}
inline void poison(const void* address, size_t size) {
  if (has_asan() && size != 0) __asan_poison_memory_region(address, size);
}
inline void unpoison(const void* address, size_t size) {
  if (has_asan() && size != 0) __asan_unpoison_memory_region(address, size);
}
/// Goes over to another fiber of ThreadSanitizer without an edge between the two.
inline void tsan_switch(void* fiber) {
  if (has_tsan()) __tsan_switch_to_fiber(fiber, 1);
}
inline void tsan_release(void* address) {
  if (has_tsan()) __tsan_release(address);
}
inline void tsan_acquire(void* address) {
  if (has_tsan()) __tsan_acquire(address);
}

/// An object that ThreadSanitizer hangs an edge on. Its memory is the sanitizer's own, so that it forgets the object
/// when it is deleted.
class Edge {
 public:
  Edge();
  ~Edge();
  Edge(const Edge&) = delete;
  Edge& operator=(const Edge&) = delete;
  void release() const { tsan_release(token_); }
  void acquire() const { tsan_acquire(token_); }

 private:
  void* token_ = nullptr;
};

}  // namespace gradus_emulation
