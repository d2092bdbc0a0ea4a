#include "arena.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>

#ifdef __linux__
#include <linux/futex.h>
#include <sys/syscall.h>
#else
#include <sched.h>
#endif

#include "sanitizers.h"

namespace gradus_emulation {
namespace {

// Free blocks by size: powers of two from 16 bytes to 64 KB. Larger blocks are pages of their own.
constexpr size_t kSmallest = 16;
constexpr size_t kLargest = size_t{1} << 16;
constexpr size_t kChunk = size_t{1} << 20;
struct FreeBlock {
  FreeBlock* next;
};
FreeBlock* free_blocks[13];
char* chunk = nullptr;
size_t chunk_left = 0;

int size_class(size_t size) {
  int c = 0;
  while ((kSmallest << c) < size) ++c;
  return c;
}

void wait_for_change(int* address, int seen) {
#ifdef __linux__
  syscall(SYS_futex, address, FUTEX_WAIT_PRIVATE, seen, nullptr, nullptr, 0);
#else
  if (__atomic_load_n(address, __ATOMIC_RELAXED) == seen) sched_yield();
#endif
}
void wake([[maybe_unused]] int* address, [[maybe_unused]] int count) {
#ifdef __linux__
  syscall(SYS_futex, address, FUTEX_WAKE_PRIVATE, count, nullptr, nullptr, 0);
#endif
}

}  // namespace

Lock emulation_lock;

void* arena_allocate(size_t size) {
  if (size > kLargest) {
    void* pages = map_pages(round_up(size, page_size()));
    if (pages == nullptr) std::abort();
    return pages;
  }
  const int c = size_class(size);
  if (FreeBlock* block = free_blocks[c]) {
    free_blocks[c] = block->next;
    return block;
  }
  const size_t rounded = kSmallest << c;
  if (chunk_left < rounded) {
    chunk = static_cast<char*>(map_pages(kChunk));
    if (chunk == nullptr) std::abort();
    chunk_left = kChunk;
  }
  chunk_left -= rounded;
  return chunk + chunk_left;
}

void arena_free(void* data, size_t size) noexcept {
  if (data == nullptr) return;
  if (size > kLargest) return unmap_pages(data, round_up(size, page_size()));
  FreeBlock* block = static_cast<FreeBlock*>(data);
  const int c = size_class(size);
  block->next = free_blocks[c];
  free_blocks[c] = block;
}

void copy_bytes(void* to, const void* from, size_t size) {
#ifdef __x86_64__
  asm volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(size) : : "memory");
#else
  volatile char* t = static_cast<char*>(to);
  const char* f = static_cast<const char*>(from);
  for (size_t i = 0; i < size; ++i) t[i] = f[i];
#endif
}

void fill_bytes(void* data, int value, size_t size) {
#ifdef __x86_64__
  asm volatile("rep stosb" : "+D"(data), "+c"(size) : "a"(value) : "memory");
#else
  volatile char* d = static_cast<char*>(data);
  for (size_t i = 0; i < size; ++i) d[i] = static_cast<char>(value);
#endif
}

void* map_pages(size_t size) {
  void* pages = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return pages == MAP_FAILED ? nullptr : pages;
}
void unmap_pages(void* data, size_t size) noexcept {
  munmap(data, size);
}
size_t page_size() {
  static const size_t size = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return size;
}

void Lock::lock() {
  int expected = 0;
  if (__atomic_compare_exchange_n(&state_, &expected, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) return;
  while (__atomic_exchange_n(&state_, 2, __ATOMIC_ACQUIRE) != 0) wait_for_change(&state_, 2);
}
void Lock::unlock() {
  if (__atomic_exchange_n(&state_, 0, __ATOMIC_RELEASE) == 2) wake(&state_, 1);
}

void Gate::open() {
  __atomic_fetch_add(&count_, 1, __ATOMIC_RELEASE);
  wake(&count_, 1 << 30);
}
void Gate::wait(int seen) {
  while (now() == seen) wait_for_change(&count_, seen);
}

Edge::Edge() {
  if (!has_tsan()) return;
  token_ = std::malloc(8);
  release();  // so that whoever deletes it comes after
}
Edge::~Edge() {
  if (token_ == nullptr) return;
  acquire();
  std::free(token_);
}

}  // namespace gradus_emulation
