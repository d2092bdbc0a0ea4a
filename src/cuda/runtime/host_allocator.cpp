#include "host_allocator.h"

#include <algorithm>
#include <bit>
#include <deque>
#include <map>
#include <mutex>
#include <vector>

#include "blocks.h"
#include "graph.h"
#include "streams.h"

namespace gradus::inline v0::cuda::runtime {

namespace {

struct HostBlock {
  char* data;
  size_t size;
  bool allocated;
  uint32_t events;
  std::vector<StreamOf> users;
};
struct Waiting {
  int device;
  cudaEvent_t event;
  HostBlock* block;
};

constexpr int kClasses = 48;

struct HostMemory {
  std::mutex mutex;
  std::map<const char*, HostBlock*> blocks;  // by address, also those that are free
  std::vector<HostBlock*> free[kClasses];    // of 2^i bytes
  std::vector<Waiting> waiting;
  std::vector<HostBlock*> freed_in_capture;  // an event recorded now might become part of the captured graph
};
HostMemory& memory() {
  static HostMemory& m = *new HostMemory;  // outlives every tensor
  return m;
}

int class_of(size_t nbytes) {
  return std::max(9, static_cast<int>(std::bit_width(nbytes - 1)));
}

HostBlock* find(HostMemory& m, const void* data) {
  auto it = m.blocks.upper_bound(static_cast<const char*>(data));
  if (it == m.blocks.begin()) return nullptr;
  HostBlock* b = std::prev(it)->second;
  return static_cast<const char*>(data) < b->data + b->size ? b : nullptr;
}

void put_back(HostMemory& m, HostBlock* b) {
  m.free[class_of(b->size)].push_back(b);
}

void free_when_done(HostMemory& m, HostBlock* b) {
  std::vector<StreamOf> users;
  users.swap(b->users);
  for (const StreamOf& u : users) {
    ++b->events;  // kept where the record fails: such a block is never reused
    const cudaEvent_t event = take_event(u.device);
    const RuntimeDevice scope(u.device);
    check(cudaEventRecord(event, u.stream), "cudaEventRecord");
    m.waiting.push_back({u.device, event, b});
  }
  if (b->events == 0) put_back(m, b);
}

void process_events(HostMemory& m) {
  if (captures_under_way.load() != 0) return;
  std::vector<HostBlock*> freed;
  freed.swap(m.freed_in_capture);
  for (HostBlock* b : freed) free_when_done(m, b);
  std::erase_if(m.waiting, [&](const Waiting& w) {
    const cudaError_t error = cudaEventQuery(w.event);
    if (error != cudaSuccess) {
      cudaGetLastError();
      return false;  // not ready, or the context is lost: it stays
    }
    give_event(w.device, w.event);
    if (--w.block->events == 0) put_back(m, w.block);
    return true;
  });
}

}  // namespace

void* allocate_pinned(size_t nbytes) {
  if (nbytes == 0) return nullptr;
  GRADUS_CHECK_AS(OutOfMemoryError, nbytes <= size_t(1) << (kClasses - 1), "pinned memory: ", nbytes,
                  " bytes cannot be had");
  HostMemory& m = memory();
  const int c = class_of(nbytes);
  {
    const std::lock_guard lock(m.mutex);
    if (!m.waiting.empty() || !m.freed_in_capture.empty()) process_events(m);
    if (!m.free[c].empty()) {
      HostBlock* b = m.free[c].back();
      m.free[c].pop_back();
      b->allocated = true;
      return b->data;
    }
  }
  const size_t size = size_t(1) << c;
  void* data = nullptr;
  const RelaxedCapture relaxed;
  switch_runtime(
      tls.runtime_device);  // the memory belongs to a context; callers may have chosen another than the current
  cudaError_t error = cudaHostAlloc(&data, size, cudaHostAllocPortable);
  if (error == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    empty_pinned_cache();
    error = cudaHostAlloc(&data, size, cudaHostAllocPortable);
  }
  if (error == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    throw OutOfMemoryError(str("pinned memory: ", size,
                               " bytes of page-locked host memory could not be had; pin less, "
                               "or raise the limit of locked memory"));
  }
  check(error, "cudaHostAlloc");
  auto* b = new HostBlock{static_cast<char*>(data), size, true, 0, {}};
  const std::lock_guard lock(m.mutex);
  m.blocks.emplace(b->data, b);
  return data;
}

void free_pinned(void* data) noexcept {
  if (data == nullptr) return;
  HostMemory& m = memory();
  const std::lock_guard lock(m.mutex);
  HostBlock* b = find(m, data);
  if (b == nullptr || b->data != data || !b->allocated) return;
  b->allocated = false;
  try {
    if (!b->users.empty() && captures_under_way.load() != 0) {
      m.freed_in_capture.push_back(b);
    } else {
      free_when_done(m, b);
    }
  } catch (...) {
    // The process ends, or the context is lost.
  }
}

bool is_own_pinned(const void* data) {
  HostMemory& m = memory();
  const std::lock_guard lock(m.mutex);
  return find(m, data) != nullptr;
}

bool is_pinned(const void* data) {
  if (data == nullptr) return false;
  if (is_own_pinned(data)) return true;
  cudaPointerAttributes attributes;
  if (cudaPointerGetAttributes(&attributes, data) != cudaSuccess) {
    cudaGetLastError();
    return false;
  }
  return attributes.type == cudaMemoryTypeHost;
}

void use_pinned(const void* data, int device, cudaStream_t stream) {
  HostMemory& m = memory();
  const std::lock_guard lock(m.mutex);
  HostBlock* b = find(m, data);
  if (b == nullptr) return;
  const StreamOf u{device, stream};
  if (std::find(b->users.begin(), b->users.end(), u) == b->users.end()) b->users.push_back(u);
}

void empty_pinned_cache() {
  HostMemory& m = memory();
  const std::lock_guard lock(m.mutex);
  process_events(m);
  cudaError_t error = cudaSuccess;  // the first
  for (auto& list : m.free) {
    for (HostBlock* b : list) {
      m.blocks.erase(b->data);
      const cudaError_t freed = cudaFreeHost(b->data);
      if (error == cudaSuccess) error = freed;
      delete b;
    }
    list.clear();
  }
  check(error, "cudaFreeHost");
}

}  // namespace gradus::inline v0::cuda::runtime
