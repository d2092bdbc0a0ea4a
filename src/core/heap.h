// CPU memory. Small blocks come from per-thread free lists, large ones from a shared cache.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "thread_state.h"

#if defined(__SANITIZE_ADDRESS__)
#define GRADUS_HEAP_DIRECT 1  // no reuse, so that AddressSanitizer sees every use after free
#endif

namespace gradus::inline v0::core {

constexpr size_t kSmallMax = 2048;
constexpr unsigned kSmallClasses = kSmallMax / 64 + 1;

struct FreeBlock {
  FreeBlock* next;
};

struct Heap {
  FreeBlock* lists[kSmallClasses] = {};
  uint32_t counts[kSmallClasses] = {};
  std::atomic<int64_t> in_use{0};  // written by the owner only; negative where it frees what others allocated
  Heap* next = nullptr;            // of all heaps
  bool free_to_adopt = false;      // its thread has ended
};

void* small_allocate_slow(unsigned size_class);
void small_free_slow(void* block, unsigned size_class) noexcept;

/// A 64-byte aligned block of at least `nbytes` <= kSmallMax bytes.
inline void* small_allocate(size_t nbytes) {
  const unsigned c = static_cast<unsigned>((nbytes + 63) >> 6);
#ifndef GRADUS_HEAP_DIRECT
  Heap* h = tls.heap;
  if (h != nullptr) [[likely]] {
    FreeBlock* b = h->lists[c];
    if (b != nullptr) [[likely]] {
      h->lists[c] = b->next;
      --h->counts[c];
      h->in_use.store(h->in_use.load(std::memory_order_relaxed) + c * 64, std::memory_order_relaxed);
      return b;
    }
  }
#endif
  return small_allocate_slow(c);
}

inline void small_free(void* block, size_t nbytes) noexcept {
  const unsigned c = static_cast<unsigned>((nbytes + 63) >> 6);
#ifndef GRADUS_HEAP_DIRECT
  Heap* h = tls.heap;
  // A list that grows past 4 MB belongs to a consumer of another thread's tensors: the slow path hands half of it on.
  if (h != nullptr && h->counts[c] * c < 65536) [[likely]] {
    auto* b = static_cast<FreeBlock*>(block);
    b->next = h->lists[c];
    h->lists[c] = b;
    ++h->counts[c];
    h->in_use.store(h->in_use.load(std::memory_order_relaxed) - c * 64, std::memory_order_relaxed);
    return;
  }
#endif
  small_free_slow(block, c);
}

void* large_allocate(size_t nbytes);
void large_free(void* block, size_t nbytes) noexcept;

/// CPU memory of any size; pass the same size to cpu_free. nbytes == 0 gives nullptr. Throws OutOfMemoryError.
inline void* cpu_allocate(size_t nbytes) {
  if (nbytes == 0) return nullptr;
  return nbytes <= kSmallMax ? small_allocate(nbytes) : large_allocate(nbytes);
}
inline void cpu_free(void* block, size_t nbytes) noexcept {
  if (nbytes == 0) return;
  if (nbytes <= kSmallMax) {
    small_free(block, nbytes);
  } else {
    large_free(block, nbytes);
  }
}

}  // namespace gradus::inline v0::core
