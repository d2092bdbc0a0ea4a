#include "heap.h"

#include <cstdlib>
#include <mutex>
#include <new>

#include <sys/mman.h>

#include <gradus/core/allocator.h>

namespace gradus::inline v0 {
namespace core {

constinit thread_local ThreadState tls;

namespace {

constexpr size_t kSlabBytes = 64 * 1024;
constexpr size_t kHugePage = size_t(2) << 20;
constexpr size_t kCacheLimit = size_t(2) << 30;
constexpr unsigned kLargeClasses = 8 * 48;

struct LargeBlock {
  LargeBlock* next;
};

// Never destroyed: tensors in static objects are freed after any destructor we could have.
struct Shared {
  std::mutex mutex;
  FreeBlock* lists[kSmallClasses] = {};
  Heap* heaps = nullptr;
  size_t slab_bytes = 0;
  std::mutex large_mutex;
  LargeBlock* large[kLargeClasses] = {};
  size_t large_cached = 0;
  size_t large_in_use = 0;
  size_t peak = 0;
  std::atomic<int64_t> ownerless{0};  // small bytes in use that no heap counts
};
union NoDestroy {
  constexpr NoDestroy() : value() {}
  ~NoDestroy() {}
  Shared value;
};
constinit NoDestroy shared_storage;
Shared& shared() {
  return shared_storage.value;
}

[[noreturn]] void out_of_memory(size_t nbytes) {
  throw OutOfMemoryError(str("CPU memory: could not allocate ", nbytes, " bytes; ", memory_allocated(),
                             " bytes are in use by tensors, ", memory_reserved(),
                             " held. Use a smaller batch or free tensors"));
}

size_t small_in_use_locked(Shared& s) {
  int64_t total = s.ownerless.load(std::memory_order_relaxed);
  for (Heap* h = s.heaps; h; h = h->next) total += h->in_use.load(std::memory_order_relaxed);
  return total > 0 ? static_cast<size_t>(total) : 0;
}

void note_peak(Shared& s) {
  // Both locks are held in the order mutex, large_mutex.
  const size_t now = small_in_use_locked(s) + s.large_in_use;
  if (now > s.peak) s.peak = now;
}

#ifndef GRADUS_HEAP_DIRECT

// Gives a thread's lists to the others when it ends.
struct HeapReaper {
  ~HeapReaper() {
    Heap* h = tls.heap;
    tls.heap = nullptr;
    tls.heap_retired = true;
    if (!h) return;
    Shared& s = shared();
    std::lock_guard lock(s.mutex);
    for (unsigned c = 1; c < kSmallClasses; ++c) {
      while (FreeBlock* b = h->lists[c]) {
        h->lists[c] = b->next;
        b->next = s.lists[c];
        s.lists[c] = b;
      }
      h->counts[c] = 0;
    }
    h->free_to_adopt = true;
  }
};

Heap* make_heap() {
  thread_local HeapReaper reaper;  // touched here only: its registration runs once a thread
  (void)reaper;
  Shared& s = shared();
  std::lock_guard lock(s.mutex);
  for (Heap* h = s.heaps; h; h = h->next) {
    if (h->free_to_adopt) {
      h->free_to_adopt = false;
      return h;
    }
  }
  Heap* h = new Heap;
  h->next = s.heaps;
  s.heaps = h;
  return h;
}

void refill(Heap* h, unsigned c) {
  Shared& s = shared();
  const size_t block = size_t(c) * 64;
  unsigned wanted = static_cast<unsigned>(kSlabBytes / block);
  {
    std::lock_guard lock(s.mutex);
    while (wanted && s.lists[c]) {
      FreeBlock* b = s.lists[c];
      s.lists[c] = b->next;
      b->next = h->lists[c];
      h->lists[c] = b;
      ++h->counts[c];
      --wanted;
    }
  }
  if (h->lists[c]) return;
  char* slab = static_cast<char*>(std::aligned_alloc(64, kSlabBytes));
  if (!slab) out_of_memory(kSlabBytes);
  // Linked so that blocks are given out in address order.
  for (unsigned i = wanted; i-- > 0;) {
    auto* b = reinterpret_cast<FreeBlock*>(slab + i * block);
    b->next = h->lists[c];
    h->lists[c] = b;
  }
  h->counts[c] += wanted;
  std::lock_guard lock(s.mutex);
  s.slab_bytes += kSlabBytes;
  std::lock_guard large(s.large_mutex);
  note_peak(s);
}
#endif

// Eight classes to each power of two, so at most an eighth is wasted.
unsigned large_class(size_t nbytes, size_t* rounded) {
  const unsigned top = 63 - static_cast<unsigned>(__builtin_clzll(nbytes - 1));
  const unsigned shift = top - 3;
  const size_t steps = ((nbytes - 1) >> shift) + 1;  // 9..16
  *rounded = steps << shift;
  return (top - 11) * 8 + static_cast<unsigned>(steps - 9);
}

void* system_allocate(size_t nbytes) {
  if (nbytes < 2 * kHugePage) return std::aligned_alloc(64, nbytes);
  void* p = std::aligned_alloc(kHugePage, (nbytes + kHugePage - 1) / kHugePage * kHugePage);
  if (p) madvise(p, nbytes, MADV_HUGEPAGE);
  return p;
}

void drop_cache_locked(Shared& s) {
  for (LargeBlock*& list : s.large) {
    while (LargeBlock* b = list) {
      list = b->next;
      std::free(b);
    }
  }
  s.large_cached = 0;
}

}  // namespace

void* small_allocate_slow(unsigned c) {
  const size_t block = size_t(c) * 64;
#ifndef GRADUS_HEAP_DIRECT
  if (!tls.heap_retired) {
    if (!tls.heap) tls.heap = make_heap();
    if (!tls.heap->lists[c]) refill(tls.heap, c);
    return small_allocate(block);
  }
#endif
  void* p = std::aligned_alloc(64, block);
  if (!p) out_of_memory(block);
  shared().ownerless.fetch_add(static_cast<int64_t>(block), std::memory_order_relaxed);
  return p;
}

void small_free_slow(void* block, unsigned c) noexcept {
  Shared& s = shared();
#ifdef GRADUS_HEAP_DIRECT
  s.ownerless.fetch_sub(int64_t(c) * 64, std::memory_order_relaxed);
  std::free(block);
#else
  std::lock_guard lock(s.mutex);
  auto* b = static_cast<FreeBlock*>(block);
  b->next = s.lists[c];
  s.lists[c] = b;
  s.ownerless.fetch_sub(int64_t(c) * 64, std::memory_order_relaxed);
  Heap* h = tls.heap;
  if (!h) return;
  for (unsigned n = h->counts[c] / 2; n > 0; --n) {
    FreeBlock* m = h->lists[c];
    h->lists[c] = m->next;
    --h->counts[c];
    m->next = s.lists[c];
    s.lists[c] = m;
  }
#endif
}

void* large_allocate(size_t nbytes) {
  if (nbytes > (size_t(1) << 56)) out_of_memory(nbytes);
  Shared& s = shared();
  size_t rounded;
  const unsigned c = large_class(nbytes, &rounded);
  std::unique_lock heaps(s.mutex);
  std::unique_lock lock(s.large_mutex);
  void* p = nullptr;
#ifndef GRADUS_HEAP_DIRECT
  if (LargeBlock* b = s.large[c]) {
    s.large[c] = b->next;
    s.large_cached -= rounded;
    p = b;
  }
#else
  (void)c;
#endif
  s.large_in_use += rounded;
  note_peak(s);
  if (p) return p;
  lock.unlock();
  heaps.unlock();
  p = system_allocate(rounded);
  if (!p) {
    empty_cache();
    p = system_allocate(rounded);
  }
  if (!p) {
    lock.lock();
    s.large_in_use -= rounded;
    lock.unlock();
    out_of_memory(nbytes);
  }
  return p;
}

void large_free(void* block, size_t nbytes) noexcept {
  Shared& s = shared();
  size_t rounded;
  const unsigned c = large_class(nbytes, &rounded);
  std::lock_guard lock(s.large_mutex);
  s.large_in_use -= rounded;
#ifndef GRADUS_HEAP_DIRECT
  if (s.large_cached + rounded <= kCacheLimit) {
    auto* b = static_cast<LargeBlock*>(block);
    b->next = s.large[c];
    s.large[c] = b;
    s.large_cached += rounded;
    return;
  }
#else
  (void)c;
#endif
  std::free(block);
}

namespace {
class CpuAllocator final : public Allocator {
 public:
  void* allocate(size_t nbytes) override { return cpu_allocate(nbytes); }
  void deallocate(void* data, size_t nbytes) noexcept override { cpu_free(data, nbytes); }
};
union NoDestroyAllocator {
  constexpr NoDestroyAllocator() : none(0) {}
  ~NoDestroyAllocator() {}
  char none;
  CpuAllocator value;
};
std::atomic<Allocator*> allocators[32];
}  // namespace

}  // namespace core

Allocator::~Allocator() = default;

Allocator& get_allocator(DeviceType type) {
  if (type == DeviceType::CPU) {
    static core::NoDestroyAllocator cpu;
    static Allocator* made = new (&cpu.value) core::CpuAllocator;
    return *made;
  }
  const int i = static_cast<int>(type);
  Allocator* a = i >= 0 && i < 32 ? core::allocators[i].load(std::memory_order_acquire) : nullptr;
  GRADUS_CHECK_AS(NotImplementedError, a != nullptr, "get_allocator: nothing allocates memory on device ",
                  Device(type).str(),
                  "; this build has the CPU only unless a backend registers one with set_allocator");
  return *a;
}

void set_allocator(DeviceType type, Allocator* allocator) {
  const int i = static_cast<int>(type);
  GRADUS_CHECK_AS(ValueError, type != DeviceType::CPU && type != DeviceType::Meta && i > 0 && i < 32,
                  "set_allocator: the allocator of device ", Device(type).str(), " cannot be replaced");
  core::allocators[i].store(allocator, std::memory_order_release);
}

size_t memory_allocated() {
  core::Shared& s = core::shared();
  std::lock_guard lock(s.mutex);
  std::lock_guard large(s.large_mutex);
  return core::small_in_use_locked(s) + s.large_in_use;
}

size_t max_memory_allocated() {
  core::Shared& s = core::shared();
  std::lock_guard lock(s.mutex);
  std::lock_guard large(s.large_mutex);
  core::note_peak(s);
  return s.peak;
}

void reset_peak_memory_stats() {
  core::Shared& s = core::shared();
  std::lock_guard lock(s.mutex);
  std::lock_guard large(s.large_mutex);
  s.peak = 0;
  core::note_peak(s);
}

size_t memory_reserved() {
  core::Shared& s = core::shared();
  std::lock_guard lock(s.mutex);
  std::lock_guard large(s.large_mutex);
  return s.slab_bytes + s.large_in_use + s.large_cached;
}

void empty_cache() {
  core::Shared& s = core::shared();
  std::lock_guard large(s.large_mutex);
  core::drop_cache_locked(s);
}

}  // namespace gradus::inline v0
