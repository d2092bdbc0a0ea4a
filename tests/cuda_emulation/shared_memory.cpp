#include "shared_memory.h"

#include <sys/mman.h>

#include <cstdlib>

#include "arena.h"
#include "scheduler.h"
#include "thread_fibers.h"

namespace gradus_emulation {
namespace {

constexpr size_t kRedZone = 64;
constexpr size_t kStaticBytes = 96 * 1024;  // what a block may ask for, and red zones
constexpr size_t kDynamicBytes = 228 * 1024;

// Static shared memory grows from the beginning; dynamic shared memory ends where a page begins that faults.
struct Arena {
  char* memory = nullptr;
  size_t used = 0;     // static, with red zones
  size_t asked = 0;    // static, without
  size_t dynamic = 0;  // bytes that are not poisoned
  char* dynamic_end() const { return memory + kStaticBytes + kDynamicBytes; }
};
Arena arenas[kThreadSets];
Arena* arena = &arenas[0];
uint64_t block_number = 0;
size_t dynamic_bytes = 0;

void make(Arena& a) {
  const size_t size = kStaticBytes + kDynamicBytes;
  a.memory = static_cast<char*>(map_pages(size + page_size()));
  if (a.memory == nullptr || mprotect(a.memory + size, page_size(), PROT_NONE) != 0) std::abort();
  poison(a.memory, size);
}

}  // namespace

void begin_shared() {
  const int sets = has_tsan() ? 2 : 1;
  Arena* pair = &arenas[has_tsan() ? thread_set() & ~1 : 0];
  for (int i = 0; i < sets; ++i) {
    if (pair[i].memory == nullptr) make(pair[i]);
  }
}

void begin_shared_block(size_t bytes) {
  ++block_number;
  arena = &arenas[has_tsan() ? thread_set() : 0];
  poison(arena->memory, arena->used);
  arena->used = 0;
  arena->asked = 0;
  const size_t rounded = round_up(bytes, 16);
  if (has_asan() && arena->dynamic != bytes) {
    poison(arena->dynamic_end() - round_up(arena->dynamic, 16), round_up(arena->dynamic, 16));
    unpoison(arena->dynamic_end() - rounded, bytes);
    arena->dynamic = bytes;
  }
  fill_bytes(arena->dynamic_end() - rounded, 0xff, rounded);
  dynamic_bytes = bytes;
}

void end_shared() {
  if (has_asan()) poison(arena->memory, arena->used);
  ++block_number;
}

void* static_shared(SharedSite& site) {
  if (site.block == block_number) return site.address;
  const size_t at = round_up(arena->used + kRedZone, site.alignment < 16 ? 16 : site.alignment);
  arena->asked = round_up(arena->asked, site.alignment) + site.size;
  if (arena->asked > kMaxStaticShared || arena->asked + dynamic_bytes > kMaxShared || at + site.size > kStaticBytes) {
    fail_shared_memory({site.name, site.file, site.line}, arena->asked);
  }
  arena->used = at + site.size;
  site.address = arena->memory + at;
  site.block = block_number;
  unpoison(site.address, site.size);
  fill_bytes(site.address, 0xff, site.size);
  return site.address;
}

void* dynamic_shared() {
  return arena->dynamic_end() - round_up(dynamic_bytes, 16);
}

}  // namespace gradus_emulation
