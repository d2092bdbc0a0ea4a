// The caching allocator of one device.
//
// Note [Device memory]: the driver takes microseconds to milliseconds for memory, and waits for the device to take it
// back. So memory is held in segments: of 2 MB for requests up to 1 MB, of 20 MB up to 10 MB, above that of the
// request's size. A request takes the smallest free block that fits, of those that its stream freed, and leaves the
// rest of it as another block; free neighbours grow together again. A block that is freed may be reused by its stream
// at once: what the stream still runs comes before what the next owner enqueues. Where other streams used it, an event
// on each says when it is free (record_stream).
//
// While a CUDA graph is captured, what the capturing streams allocate comes from a pool of the graph's own: a replay
// writes to these addresses again, so nobody else may have them as long as the graph lives.
#pragma once

#include <deque>
#include <limits>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <gradus/cuda/memory.h>

#include "allocator_config.h"
#include "blocks.h"
#include "device.h"

namespace gradus::inline v0::cuda::runtime {

using PoolId = std::pair<uint64_t, uint64_t>;

struct PrivatePool {
  PoolId id;
  int graphs = 0;       // and captures that use it
  size_t segments = 0;  // it may go when there are none
  Pool small, large;
};

class DeviceAllocator {
 public:
  explicit DeviceAllocator(int device, const AllocatorConfig& config = allocator_config());

  /// Memory for the stream. Throws OutOfMemoryError.
  void* allocate(size_t nbytes, Handle stream);
  /// Whether the memory was this device's; it is then free.
  bool deallocate(void* data) noexcept;
  bool record_stream(void* data, StreamOf user);
  void empty_cache();

  /// What streams of this capture allocate comes from the pool from now on.
  void begin_capture(unsigned long long capture, PoolId pool);
  void end_capture(unsigned long long capture);
  /// A graph does not need the pool any more.
  void release_pool(PoolId pool);

  DeviceStats stats();
  void reset_peaks();
  void reset_accumulated();
  void snapshot(std::vector<SegmentInfo>* all);
  void set_fraction(double fraction);

 private:
  void count_segment(const Segment& segment, bool more);
  void count_use(const Block& block);
  void count_release(const Block& block);
  void count_inactive(const Block& block);
  void count_active(const Block& block);
  void count_unused_parts();

  Pool& pool_for(size_t size, Handle stream);
  Block* find_free(Pool& pool, Handle stream, size_t size);
  Block* from_driver(Pool& pool, Handle stream, size_t size);
  Block* more_memory(Pool& pool, Handle stream, size_t size);
  Block* new_segment(Pool& pool, Handle stream, size_t segment_size);
  void use(Block* block, size_t size, size_t nbytes);
  bool should_split(const Block& block, size_t size) const;
  void release_to_list(Block* block);
  Block* merged_with(Block* block, Block* other);

  void free_when_done(Block* block);
  void process_events();
  void wait_for_events();

  bool free_segment(Segment* segment);
  size_t free_unused(Pool& pool, size_t enough);
  size_t free_all_unused();
  bool free_oversize(Pool& pool, Handle stream, size_t size);
  void collect_garbage(size_t wanted);
  void drop_pools();
  template <class F>
  void each_pool(F&& f);

  // Note [Expandable segments]
  bool expands();
  Segment* new_expandable(Pool& pool, Handle stream);
  void resize_segment(Segment* segment, size_t size);
  Block* cut(Block* block, size_t size);
  void join_unmapped(Block* block);
  Block* grow(Pool& pool, Handle stream, size_t size);
  size_t unmap_block(Block* block);
  size_t shrink_segments();

  void* allocate_directly(size_t nbytes, Handle stream);
  void deallocate_directly(Block* block) noexcept;
  [[noreturn]] void out_of_memory(std::unique_lock<std::mutex>& lock, size_t nbytes, size_t segment_size);
  std::string largest_holders() const;

  const int device_;
  const AllocatorConfig& config_;
  std::mutex mutex_;
  AddressMap in_use_;
  BlockObjects objects_;
  std::vector<Segment*> segments_;
  Pool small_, large_;
  std::map<PoolId, PrivatePool> private_pools_;
  struct Capture {
    unsigned long long id;
    PrivatePool* pool;
  };
  std::vector<Capture> captures_;

  struct Waiting {
    cudaEvent_t event;
    Block* block;
  };
  std::vector<std::pair<StreamOf, std::deque<Waiting>>> waiting_;  // each stream's events pass in order
  size_t waiting_count_ = 0;
  std::vector<Block*> freed_in_capture_;  // their events are recorded when no capture is under way

  size_t limit_ = std::numeric_limits<size_t>::max();
  uint64_t clock_ = 0;  // counts segments
  DeviceStats stats_;
};

/// Of each device; made when the library is.
extern DeviceAllocator* allocators[kMaxDevices];
void make_allocators();
inline DeviceAllocator& allocator_of(int device) {
  return *allocators[device];
}
/// Frees memory of whichever device has it.
void deallocate_anywhere(void* data) noexcept;
/// Whether this process's end has begun, for a call's error.
bool is_unloading(cudaError_t error);
/// "1.50 GiB".
std::string bytes_text(size_t bytes);

}  // namespace gradus::inline v0::cuda::runtime
