#include "async_copies.h"

#include <cstring>

#include "cuda_pipeline_primitives.h"
#include "scheduling.h"

namespace gradus_emulation {
namespace {

AsyncCopies& of_current_thread() {
  AsyncCopies*& copies = block.thread[block.current].copies;
  if (copies == nullptr) copies = new AsyncCopies;
  return *copies;
}

void perform(const AsyncCopy& copy) {
  const size_t read = copy.size - copy.zeros;
  if (!has_tsan()) {
    std::memcpy(copy.to, copy.from, read);
    std::memset(static_cast<char*>(copy.to) + read, 0, copy.zeros);
    return;
  }
  __tsan_read_range(const_cast<void*>(copy.from), read);
  __tsan_write_range(copy.to, copy.size);
  copy_bytes(copy.to, copy.from, read);
  fill_bytes(static_cast<char*>(copy.to) + read, 0, copy.zeros);
}

}  // namespace

void async_copy(Site site, void* to, const void* from, size_t size, size_t zeros) {
  const bool fits = (size == 4 || size == 8 || size == 16) && zeros <= size;
  if (!fits || reinterpret_cast<uintptr_t>(to) % size != 0 || reinterpret_cast<uintptr_t>(from) % size != 0) {
    fail({.kind = Failure::Misaligned, .site = site, .thread = block.current, .bytes = size});
  }
  AsyncCopies& copies = of_current_thread();
  copies.open.push_back({to, from, size, zeros, copies.group});
}

void async_commit() {
  ++of_current_thread().group;
}

void async_wait(size_t groups) {
  AsyncCopies& copies = of_current_thread();
  while (!copies.open.empty() && copies.open.front().group + groups < copies.group) {
    perform(copies.open.front());
    copies.open.pop_front();
  }
}

}  // namespace gradus_emulation
