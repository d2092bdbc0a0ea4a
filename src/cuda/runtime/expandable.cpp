#include "expandable.h"

#include <cuda_runtime_api.h>
#include <gradus/core/error.h>

namespace gradus::inline v0::cuda::runtime {

namespace {

void* entry_point(const char* name) {
  constexpr unsigned kSince = 10020;  // the version of CUDA that brought these calls
  constexpr unsigned long long kDefault = 0;
  void* function = nullptr;
  cudaDriverEntryPointQueryResult result = cudaDriverEntryPointSymbolNotFound;
#if CUDART_VERSION >= 12050
  const cudaError_t error = cudaGetDriverEntryPointByVersion(name, &function, kSince, kDefault, &result);
#else
  const cudaError_t error = cudaGetDriverEntryPoint(name, &function, kDefault, &result);
#endif
  if (error != cudaSuccess) cudaGetLastError();
  return error == cudaSuccess && result == cudaDriverEntryPointSuccess ? function : nullptr;
}

template <class F>
void find(const char* name, F** function) {
  *function = reinterpret_cast<F*>(entry_point(name));
}

}  // namespace

DriverMemory& driver_memory() {
  static DriverMemory& d = *new DriverMemory([] {
    DriverMemory found;
    find("cuMemAddressReserve", &found.reserve);
    find("cuMemAddressFree", &found.give_up);
    find("cuMemCreate", &found.create);
    find("cuMemRelease", &found.release);
    find("cuMemMap", &found.map);
    find("cuMemUnmap", &found.unmap);
    find("cuMemSetAccess", &found.set_access);
    return found;
  }());
  return d;
}

ExpandableSegment::ExpandableSegment(int device, size_t page_size, size_t size)
    : device_(device), page_size_(page_size), pages_((size + page_size - 1) / page_size) {
  DriverMemory::Address address = 0;
  const int result = driver_memory().reserve(&address, this->size(), 0, 0, 0);
  GRADUS_CHECK(result == DriverMemory::kSuccess, "cuMemAddressReserve on cuda:", device, ": error ", result, " for ",
               this->size(), " bytes of addresses; expandable_segments:false needs fewer");
  base_ = reinterpret_cast<char*>(address);
}

ExpandableSegment::~ExpandableSegment() {
  unmap(base_, size());
  driver_memory().give_up(reinterpret_cast<DriverMemory::Address>(base_), size());
}

int ExpandableSegment::map_page(size_t page) {
  const DriverMemory& driver = driver_memory();
  const DriverMemory::Location here{1, device_};
  const DriverMemory::Properties properties{1, 0, here, nullptr, {}};
  const DriverMemory::Access access{here, 3};
  const auto address = reinterpret_cast<DriverMemory::Address>(base_ + page * page_size_);
  Page& p = pages_[page];
  int result = driver.create(&p.handle, page_size_, &properties, 0);
  if (result != DriverMemory::kSuccess) return result;
  result = driver.map(address, page_size_, 0, p.handle, 0);
  if (result != DriverMemory::kSuccess) {
    driver.release(p.handle);
    return result;
  }
  p.mapped = true;
  return driver.set_access(address, page_size_, &access, 1);
}

void ExpandableSegment::unmap_page(size_t page) noexcept {
  Page& p = pages_[page];
  if (!p.mapped) return;
  driver_memory().unmap(reinterpret_cast<DriverMemory::Address>(base_ + page * page_size_), page_size_);
  driver_memory().release(p.handle);
  p.mapped = false;
}

bool ExpandableSegment::map(char* begin, size_t size) {
  const size_t first = page_of(begin);
  const size_t count = size / page_size_;
  for (size_t i = 0; i < count; ++i) {
    const int result = map_page(first + i);
    if (result == DriverMemory::kSuccess) continue;
    for (size_t k = 0; k <= i; ++k) unmap_page(first + k);
    GRADUS_CHECK(result == DriverMemory::kOutOfMemory, "cuMemMap on cuda:", device_, ": error ", result);
    return false;
  }
  return true;
}

void ExpandableSegment::unmap(char* begin, size_t size) noexcept {
  const size_t first = page_of(begin);
  for (size_t i = 0; i < size / page_size_; ++i) unmap_page(first + i);
}

}  // namespace gradus::inline v0::cuda::runtime
