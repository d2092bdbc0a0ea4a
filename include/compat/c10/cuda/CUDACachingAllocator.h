#pragma once
#include <c10/cuda/CUDAStream.h>

#include <gradus/core/allocator.h>

namespace gradus {
inline namespace v0 {
namespace cuda {
namespace CUDACachingAllocator {

using cuda::BlockInfo;
using cuda::DeviceStats;
using cuda::SegmentInfo;
using cuda::Stat;
using cuda::StatArray;
using cuda::StatType;
struct SnapshotInfo {
  std::vector<SegmentInfo> segments;
};

inline Allocator* get() {
  TORCH_CHECK(is_available(), why_unavailable());
  return &get_allocator(kCUDA);
}
inline void init(int /*device_count*/) {}
inline void* raw_alloc(size_t nbytes) {
  return caching_allocator_alloc(nbytes);
}
inline void raw_delete(void* data) {
  caching_allocator_delete(data);
}
inline void emptyCache() {
  empty_cache();
}
inline void setMemoryFraction(double fraction, int device) {
  set_per_process_memory_fraction(fraction, static_cast<DeviceIndex>(device));
}
inline DeviceStats getDeviceStats(int device) {
  return memory_stats(static_cast<DeviceIndex>(device));
}
inline void resetAccumulatedStats(int device) {
  reset_accumulated_memory_stats(static_cast<DeviceIndex>(device));
}
inline void resetPeakStats(int device) {
  reset_peak_memory_stats(static_cast<DeviceIndex>(device));
}
inline SnapshotInfo snapshot() {
  return {memory_snapshot()};
}
/// `data` is where a tensor's storage begins.
inline void recordStream(void* data, CUDAStream stream) {
  record_stream(data, stream);
}

}  // namespace CUDACachingAllocator
}  // namespace cuda
}  // namespace v0
}  // namespace gradus
