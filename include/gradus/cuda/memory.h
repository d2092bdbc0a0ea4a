// Device memory: how much is used, cached and left, and by which blocks.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <gradus/core/stream.h>

// CUDA's own name of a stream's handle, so that values pass to and from programs that include CUDA's headers.
struct CUstream_st;

namespace gradus {
inline namespace v0 {
namespace cuda {

/// A quantity over time.
struct Stat {
  int64_t current = 0;
  int64_t peak = 0;
  int64_t allocated = 0;  // sum of all increases
  int64_t freed = 0;      // sum of all decreases
};
/// Which pool a statistic is of: requests up to 1 MB come from the small pool.
enum class StatType : uint8_t { AGGREGATE = 0, SMALL_POOL = 1, LARGE_POOL = 2 };
constexpr size_t kStatTypes = 3;
using StatArray = std::array<Stat, kStatTypes>;

/// Statistics of one device's allocator.
struct DeviceStats {
  StatArray allocation;            // blocks in use by tensors
  StatArray segment;               // pieces of memory held from the driver
  StatArray active;                // blocks in use by tensors or by a stream that has not finished with them
  StatArray inactive_split;        // unused parts of segments; their peak is that of the moments they were asked for
  StatArray allocated_bytes;       // bytes of `allocation`, rounded up to whole blocks
  StatArray reserved_bytes;        // bytes of `segment`
  StatArray active_bytes;          // bytes of `active`
  StatArray inactive_split_bytes;  // bytes of `inactive_split`
  StatArray requested_bytes;       // bytes that were asked for
  int64_t num_alloc_retries = 0;   // times the cache was given back because the driver had no memory left
  int64_t num_ooms = 0;            // OutOfMemoryErrors thrown
  Stat oversize_allocations;       // blocks above max_split_size_mb
  Stat oversize_segments;
  int64_t max_split_size = 0;
};

/// One block of a segment.
struct BlockInfo {
  size_t size = 0;
  size_t requested_size = 0;
  int32_t gc_counter = 0;  // allocations of new memory since it was last used
  bool allocated = false;  // by a tensor
  bool active = false;     // or still used by a stream
};
/// One piece of memory held from the driver.
struct SegmentInfo {
  DeviceIndex device = 0;
  uintptr_t address = 0;
  size_t total_size = 0;
  size_t requested_size = 0;
  size_t allocated_size = 0;
  size_t active_size = 0;
  CUstream_st* stream = nullptr;
  bool is_large = false;
  bool is_expandable = false;
  std::pair<uint64_t, uint64_t> owner_private_pool_id{0, 0};  // of a CUDA graph; {0, 0}: none
  std::vector<BlockInfo> blocks;                              // in the order of addresses
};

/// Bytes in use by tensors on a device (-1: the current one). 0 for all of these where CUDA has not been used.
GRADUS_API size_t memory_allocated(DeviceIndex device = -1);
/// The highest memory_allocated() since the start or the last reset.
GRADUS_API size_t max_memory_allocated(DeviceIndex device = -1);
/// Bytes held from the driver: in use and cached.
GRADUS_API size_t memory_reserved(DeviceIndex device = -1);
/// The highest memory_reserved() since the start or the last reset.
GRADUS_API size_t max_memory_reserved(DeviceIndex device = -1);
/// Everything that is counted.
GRADUS_API DeviceStats memory_stats(DeviceIndex device = -1);
/// Peaks start anew from what is current.
GRADUS_API void reset_peak_memory_stats(DeviceIndex device = -1);
/// Sums of increases and decreases and the counts of retries and errors start anew.
GRADUS_API void reset_accumulated_memory_stats(DeviceIndex device = -1);
/// Every segment of every device with its blocks.
GRADUS_API std::vector<SegmentInfo> memory_snapshot();
/// The statistics as a table.
GRADUS_API std::string memory_summary(DeviceIndex device = -1);
/// Gives unused cached memory of every device back to the driver, after waiting for streams that still use some.
GRADUS_API void empty_cache();
/// The allocator of a device holds at most this part (0..1) of its memory; more is an OutOfMemoryError.
GRADUS_API void set_per_process_memory_fraction(double fraction, DeviceIndex device = -1);
/// Device memory from the caching allocator, on the current device and stream, for libraries that bring their own
/// tensors.
GRADUS_API void* caching_allocator_alloc(size_t nbytes);
GRADUS_API void caching_allocator_delete(void* data);
/// The memory at `data` (from the caching allocator; other memory is ignored) is used by `stream`, too: once freed it
/// is reused only after what that stream then holds.
GRADUS_API void record_stream(void* data, const Stream& stream);

}  // namespace cuda
}  // namespace v0
}  // namespace gradus
