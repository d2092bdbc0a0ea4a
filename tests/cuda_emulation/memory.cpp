// Memory of devices and page-locked memory of the host.
#include <sys/mman.h>

#include <cstring>

#include "machine.h"
#include "protection.h"

namespace gradus_emulation {
namespace {

constexpr size_t kGranule = 512;                      // what a device's memory is counted in
constexpr size_t kMostFilled = size_t{64} << 20;      // of an allocation's beginning, and of its end
constexpr size_t kMostKept = size_t{256} << 20;       // freed memory that sanitized programs keep inaccessible
Map<const char*, Allocation>* allocations = nullptr;  // by first byte

// Freed pages that are not given back yet, so that a late access is reported as one.
struct Freed {
  char* pages;
  size_t size;
};
Deque<Freed>* freed = nullptr;
size_t freed_bytes = 0;

void init() {
  if (allocations != nullptr) return;
  allocations = new (arena_allocate(sizeof(*allocations))) Map<const char*, Allocation>;
  freed = new (arena_allocate(sizeof(*freed))) Deque<Freed>;
}

// Pages between two that fault. The first byte is the beginning of a page; after the last one comes a poisoned tail.
char* allocate(size_t size, Place place, int device) {
  init();
  const size_t page = page_size();
  const size_t body = round_up(size, page);
  char* pages = static_cast<char*>(map_pages(body + 2 * page));
  if (pages == nullptr) return nullptr;
  char* data = pages + page;
  mprotect(pages, page, PROT_NONE);
  mprotect(data + body, page, PROT_NONE);
  if (place == Place::Device) {
    const size_t head = body < 2 * kMostFilled ? body : kMostFilled;
    fill_bytes(data, 0xff, head);
    if (head < body) fill_bytes(data + body - kMostFilled, 0xff, kMostFilled);
    protect(data, body, device);
  }
  poison(data + size, body - size);
  (*allocations)[data] = {size, pages, body + 2 * page, place, device};
  return data;
}

void unmap(char* pages, size_t size) {
  unpoison(pages, size);
  unmap_pages(pages, size);
}

void deallocate(const char* data) {
  const auto found = allocations->find(data);
  const Allocation a = found->second;
  allocations->erase(found);
  if (!has_asan()) return unmap(a.pages, a.mapped);
  madvise(a.pages, a.mapped, MADV_DONTNEED);
  poison(a.pages, a.mapped);
  freed->push_back({a.pages, a.mapped});
  for (freed_bytes += a.mapped; freed_bytes > kMostKept; freed->pop_front()) {
    freed_bytes -= freed->front().size;
    unmap(freed->front().pages, freed->front().size);
  }
}

const Allocation* allocation_at(const void* data) {
  if (allocations == nullptr) return nullptr;
  const auto found = allocations->find(static_cast<const char*>(data));
  return found == allocations->end() ? nullptr : &found->second;
}

// Whether `size` bytes from `data` on lie within one allocation, or in pageable memory.
bool in_one_allocation(const void* data, size_t size) {
  const char* begin = nullptr;
  const Allocation* a = find_allocation(data, &begin);
  return a == nullptr || static_cast<const char*>(data) + size <= begin + a->size;
}

bool is_device(Place place) {
  return place == Place::Device;
}
bool fits(cudaMemcpyKind kind, Place to, Place from) {
  switch (kind) {
    case cudaMemcpyHostToHost:
      return !is_device(to) && !is_device(from);
    case cudaMemcpyHostToDevice:
      return is_device(to) && !is_device(from);
    case cudaMemcpyDeviceToHost:
      return !is_device(to) && is_device(from);
    case cudaMemcpyDeviceToDevice:
      return is_device(to) && is_device(from);
    case cudaMemcpyDefault:
      return true;
  }
  return false;
}

cudaError_t copy(void* to, const void* from, size_t size, cudaMemcpyKind kind, cudaStream_t stream, bool wait) {
  if (cudaError_t error = device_error()) return error;
  if (size == 0) return cudaSuccess;
  if (to == nullptr || from == nullptr) return cudaErrorInvalidValue;
  if (kind < cudaMemcpyHostToHost || kind > cudaMemcpyDefault) return cudaErrorInvalidMemcpyDirection;
  const Place target = place_of(to), source = place_of(from);
  if (!fits(kind, target, source) || !in_one_allocation(to, size) || !in_one_allocation(from, size)) {
    return cudaErrorInvalidValue;
  }
  Work work;
  work.kind = WorkKind::Copy;
  work.to = to;
  work.from = from;
  work.size = size;
  const bool captured = stream->capture != nullptr;
  if (is_device(target) && source == Place::Pageable && !captured) {
    if (has_tsan()) __tsan_read_range(const_cast<void*>(from), size);
    void* staging = arena_allocate(size);
    has_tsan() ? copy_bytes(staging, from, size) : static_cast<void>(std::memcpy(staging, from, size));
    work.from = staging;
    work.staged = true;
  }
  if (cudaError_t error = enqueue(stream, work)) return error;
  const bool to_pageable = target == Place::Pageable && !captured;
  // Between two places of device memory not even the call that waits does.
  if (to_pageable || (wait && !(is_device(target) && is_device(source)))) {
    ++machine().counters.host_waits;
    run_until(stream, stream->enqueued);
    stream->out.acquire();
    return machine().devices[stream->device].sticky;
  }
  return cudaSuccess;
}

cudaError_t fill(void* data, int value, size_t size, cudaStream_t stream) {
  if (cudaError_t error = device_error()) return error;
  if (size == 0) return cudaSuccess;
  if (data == nullptr || place_of(data) == Place::Pageable || !in_one_allocation(data, size)) {
    return cudaErrorInvalidValue;
  }
  Work work;
  work.kind = WorkKind::Fill;
  work.to = data;
  work.value = value;
  work.size = size;
  return enqueue(stream, work);
}

cudaError_t allocate_device(void** data, size_t size) {
  if (cudaError_t error = device_error()) return error;
  if (cudaError_t error = check_unsafe_call()) return error;
  if (data == nullptr) return cudaErrorInvalidValue;
  *data = nullptr;
  if (size == 0) return cudaSuccess;
  Machine& m = machine();
  const int d = thread_state().device;
  const size_t counted = round_up(size, kGranule);
  if (size > m.memory || m.devices[d].used + counted > m.memory) return cudaErrorMemoryAllocation;
  *data = allocate(size, Place::Device, d);
  if (*data == nullptr) return cudaErrorMemoryAllocation;
  m.devices[d].used += counted;
  ++m.counters.allocations;
  return cudaSuccess;
}

cudaError_t free_device(void* data) {
  if (cudaError_t error = device_error()) return error;
  if (data == nullptr) return cudaSuccess;
  if (cudaError_t error = check_unsafe_call()) return error;
  const Allocation* a = allocation_at(data);
  if (a == nullptr || a->place != Place::Device) return cudaErrorInvalidValue;
  synchronize(a->device);  // as CUDA's does
  machine().devices[a->device].used -= round_up(a->size, kGranule);
  deallocate(static_cast<char*>(data));
  return cudaSuccess;
}

cudaError_t allocate_pinned(void** data, size_t size) {
  if (cudaError_t error = device_error()) return error;
  if (cudaError_t error = check_unsafe_call()) return error;
  if (data == nullptr) return cudaErrorInvalidValue;
  *data = nullptr;
  if (size == 0) return cudaSuccess;
  *data = allocate(size, Place::Pinned, thread_state().device);
  return *data == nullptr ? cudaErrorMemoryAllocation : cudaSuccess;
}

cudaError_t free_pinned(void* data) {
  if (data == nullptr) return cudaSuccess;
  if (cudaError_t error = device_error()) return error;
  const Allocation* a = allocation_at(data);
  if (a == nullptr || a->place != Place::Pinned || a->pages == nullptr) return cudaErrorInvalidValue;
  for (int d = 0; d < static_cast<int>(machine().devices.size()); ++d) synchronize(d);
  deallocate(static_cast<char*>(data));
  return cudaSuccess;
}

}  // namespace

const Allocation* find_allocation(const void* data, const char** begin) {
  if (allocations == nullptr || allocations->empty()) return nullptr;
  const char* address = static_cast<const char*>(data);
  auto found = allocations->upper_bound(address);
  if (found == allocations->begin()) return nullptr;
  --found;
  if (address >= found->first + found->second.size) return nullptr;
  if (begin != nullptr) *begin = found->first;
  return &found->second;
}

Place place_of(const void* data) {
  const Allocation* a = find_allocation(data);
  return a == nullptr ? Place::Pageable : a->place;
}

void free_device_memory(int device) {
  if (allocations == nullptr) return;
  for (;;) {
    const char* data = nullptr;
    for (const auto& [begin, a] : *allocations) {
      if (a.place == Place::Device && a.device == device) data = begin;
    }
    if (data == nullptr) break;
    deallocate(data);
  }
  machine().devices[device].used = 0;
}

}  // namespace gradus_emulation

using namespace gradus_emulation;

extern "C" {

cudaError_t cudaMalloc(void** data, size_t size) {
  Guard guard;
  return result(allocate_device(data, size));
}
cudaError_t cudaFree(void* data) {
  Guard guard;
  return result(free_device(data));
}
cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  Guard guard;
  if (cudaError_t error = device_error()) return result(error);
  *total = machine().memory;
  *free = machine().memory - machine().devices[thread_state().device].used;
  return cudaSuccess;
}
cudaError_t cudaHostAlloc(void** data, size_t size, unsigned int) {
  Guard guard;
  return result(allocate_pinned(data, size));
}
cudaError_t cudaMallocHost(void** data, size_t size) {
  return cudaHostAlloc(data, size, cudaHostAllocDefault);
}
cudaError_t cudaFreeHost(void* data) {
  Guard guard;
  return result(free_pinned(data));
}

cudaError_t cudaHostRegister(void* data, size_t size, unsigned int) {
  Guard guard;
  if (cudaError_t error = device_error()) return result(error);
  if (data == nullptr || size == 0) return result(cudaErrorInvalidValue);
  if (place_of(data) != Place::Pageable) return result(cudaErrorHostMemoryAlreadyRegistered);
  init();
  (*allocations)[static_cast<char*>(data)] = {size, nullptr, 0, Place::Pinned, thread_state().device};
  return cudaSuccess;
}
cudaError_t cudaHostUnregister(void* data) {
  Guard guard;
  if (cudaError_t error = device_error()) return result(error);
  const Allocation* a = allocation_at(data);
  if (a == nullptr || a->pages != nullptr) return result(cudaErrorHostMemoryNotRegistered);
  for (int d = 0; d < static_cast<int>(machine().devices.size()); ++d) synchronize(d);
  allocations->erase(static_cast<char*>(data));
  return cudaSuccess;
}
cudaError_t cudaHostGetDevicePointer(void** device_data, void* data, unsigned int) {
  Guard guard;
  if (place_of(data) != Place::Pinned) return result(cudaErrorInvalidValue);
  *device_data = data;
  return cudaSuccess;
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* data) {
  Guard guard;
  if (cudaError_t error = device_error()) return result(error);
  const Allocation* a = find_allocation(data);
  void* address = const_cast<void*>(data);
  if (a == nullptr) {
    *attributes = {cudaMemoryTypeUnregistered, -2, nullptr, address};
  } else if (a->place == Place::Device) {
    *attributes = {cudaMemoryTypeDevice, a->device, address, nullptr};
  } else {
    *attributes = {cudaMemoryTypeHost, a->device, address, address};
  }
  return cudaSuccess;
}

cudaError_t cudaMemcpy(void* to, const void* from, size_t size, cudaMemcpyKind kind) {
  Guard guard;
  if (cudaError_t error = device_error()) return result(error);
  return result(copy(to, from, size, kind, resolve(nullptr), true));
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t size, cudaMemcpyKind kind, cudaStream_t stream) {
  Guard guard;
  if (cudaError_t error = device_error()) return result(error);
  stream = resolve(stream);
  return result(stream == nullptr ? cudaErrorInvalidResourceHandle : copy(to, from, size, kind, stream, false));
}
cudaError_t cudaMemcpyPeer(void* to, int to_device, const void* from, int from_device, size_t size) {
  return cudaMemcpyPeerAsync(to, to_device, from, from_device, size, nullptr);
}
cudaError_t cudaMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device, size_t size,
                                cudaStream_t stream) {
  Guard guard;
  if (cudaError_t error = device_error()) return result(error);
  stream = resolve(stream);
  if (stream == nullptr) return result(cudaErrorInvalidResourceHandle);
  const Allocation* target = find_allocation(to);
  const Allocation* source = find_allocation(from);
  if (size != 0 && (target == nullptr || source == nullptr || target->place != Place::Device ||
                    source->place != Place::Device || target->device != to_device || source->device != from_device)) {
    return result(cudaErrorInvalidValue);
  }
  return result(copy(to, from, size, cudaMemcpyDeviceToDevice, stream, false));
}
cudaError_t cudaMemset(void* data, int value, size_t size) {
  return cudaMemsetAsync(data, value, size, nullptr);
}
cudaError_t cudaMemsetAsync(void* data, int value, size_t size, cudaStream_t stream) {
  Guard guard;
  if (cudaError_t error = device_error()) return result(error);
  stream = resolve(stream);
  return result(stream == nullptr ? cudaErrorInvalidResourceHandle : fill(data, value, size, stream));
}

}  // extern "C"
