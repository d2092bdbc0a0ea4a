#include "allocator.h"

#include <algorithm>

#include "graph.h"
#include "streams.h"

namespace gradus::inline v0::cuda::runtime {

namespace {

// Each statistic is kept for all blocks and for those of the block's pool.
inline void more(StatArray& all, bool small, size_t by) {
  for (Stat* s : {&all[0], &all[small ? 1 : 2]}) {
    s->current += static_cast<int64_t>(by);
    s->allocated += static_cast<int64_t>(by);
    s->peak = std::max(s->peak, s->current);
  }
}
inline void less(StatArray& all, bool small, size_t by) {
  for (Stat* s : {&all[0], &all[small ? 1 : 2]}) {
    s->current -= static_cast<int64_t>(by);
    s->freed += static_cast<int64_t>(by);
  }
}
void change(Stat& s, bool more) {
  s.current += more ? 1 : -1;
  ++(more ? s.allocated : s.freed);
  s.peak = std::max(s.peak, s.current);
}

size_t segment_size_for(size_t size) {
  if (size <= kSmallMax) return kSmallSegment;
  if (size < kLargeMin) return kLargeSegment;
  return (size + kSegmentRound - 1) / kSegmentRound * kSegmentRound;
}

void clear(PrivatePool& p, PoolId id) {
  p.id = id;
  p.small.small = true;
  p.small.owner = p.large.owner = &p;
}

}  // namespace

bool is_unloading(cudaError_t error) {
  return error == cudaErrorCudartUnloading || error == cudaErrorContextIsDestroyed;
}

DeviceAllocator::DeviceAllocator(int device, const AllocatorConfig& config) : device_(device), config_(config) {
  small_.small = true;
  stats_.max_split_size =
      config_.max_split_size == std::numeric_limits<size_t>::max() ? -1 : static_cast<int64_t>(config_.max_split_size);
}

// --- statistics ---

void DeviceAllocator::count_segment(const Segment& segment, bool is_more) {
  (is_more ? more : less)(stats_.segment, segment.pool->small, 1);
  (is_more ? more : less)(stats_.reserved_bytes, segment.pool->small, segment.size);
  if (segment.size >= config_.max_split_size) change(stats_.oversize_segments, is_more);
}
void DeviceAllocator::count_use(const Block& block) {
  const bool small = block.segment->pool->small;
  more(stats_.allocation, small, 1);
  more(stats_.allocated_bytes, small, block.size);
  more(stats_.requested_bytes, small, block.requested);
  if (block.size >= config_.max_split_size) [[unlikely]]
    change(stats_.oversize_allocations, true);
}
void DeviceAllocator::count_release(const Block& block) {
  const bool small = block.segment->pool->small;
  less(stats_.allocation, small, 1);
  less(stats_.allocated_bytes, small, block.size);
  less(stats_.requested_bytes, small, block.requested);
  if (block.size >= config_.max_split_size) [[unlikely]]
    change(stats_.oversize_allocations, false);
}
void DeviceAllocator::count_active(const Block& block) {
  more(stats_.active, block.segment->pool->small, 1);
  more(stats_.active_bytes, block.segment->pool->small, block.size);
}
void DeviceAllocator::count_inactive(const Block& block) {
  less(stats_.active, block.segment->pool->small, 1);
  less(stats_.active_bytes, block.segment->pool->small, block.size);
}

// --- giving out ---

void* DeviceAllocator::allocate(size_t nbytes, Handle stream) {
  GRADUS_CHECK_AS(ValueError, config_.error.empty(), config_.error);
  if (nbytes > (size_t(1) << 56)) {
    std::unique_lock lock(mutex_);
    out_of_memory(lock, nbytes, nbytes);
  }
  std::unique_lock lock(mutex_);
  if (config_.passthrough && captures_.empty()) [[unlikely]] {
    lock.unlock();
    return allocate_directly(nbytes, stream);
  }
  if (waiting_count_ != 0 && captures_under_way.load(std::memory_order_relaxed) == 0) process_events();
  const size_t size = round_size(nbytes, config_);
  Pool& pool = pool_for(size, stream);
  Block* block = find_free(pool, stream, size);
  if (block == nullptr) [[unlikely]] {
    block = from_driver(pool, stream, size);
    if (block == nullptr) out_of_memory(lock, nbytes, segment_size_for(size));
  }
  use(block, size, nbytes);
  return block->data;
}

Pool& DeviceAllocator::pool_for(size_t size, Handle stream) {
  const bool small = size <= kSmallMax;
  if (!captures_.empty() && stream != nullptr) [[unlikely]] {
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    unsigned long long id = 0;
    check(cudaStreamGetCaptureInfo(stream, &status, &id), "cudaStreamGetCaptureInfo");
    for (const Capture& c : captures_) {
      if (status == cudaStreamCaptureStatusActive && c.id == id) return small ? c.pool->small : c.pool->large;
    }
  }
  return small ? small_ : large_;
}

Block* DeviceAllocator::find_free(Pool& pool, Handle stream, size_t size) {
  FreeBlocks& free = pool.of(stream);
  Block* block = free.find(size);
  if (block == nullptr) return nullptr;
  if (!pool.small && config_.max_split_size != std::numeric_limits<size_t>::max()) {
    // What is not to be split must fit by itself.
    if (size < config_.max_split_size && block->size >= config_.max_split_size) return nullptr;
    if (size >= config_.max_split_size && block->size >= size + kLargeSegment) return nullptr;
  }
  free.erase(block);
  return block;
}

bool DeviceAllocator::should_split(const Block& block, size_t size) const {
  const size_t rest = block.size - size;
  if (block.segment->pool->small || block.segment->expandable) return rest >= kRound;
  return size < config_.max_split_size && rest > kSmallMax;
}

// `block` is in no list.
void DeviceAllocator::use(Block* block, size_t size, size_t nbytes) {
  if (should_split(*block, size)) {
    Block* rest = cut(block, size);
    rest->segment->pool->of(rest->segment->stream).insert(rest);
  }
  block->allocated = true;
  block->requested = nbytes;
  in_use_.insert(block);
  count_use(*block);
  count_active(*block);
}

Block* DeviceAllocator::from_driver(Pool& pool, Handle stream, size_t size) {
  const bool capturing = captures_under_way.load() != 0;
  if (config_.garbage_collection_threshold > 0 && !capturing) collect_garbage(segment_size_for(size));
  if (Block* b = more_memory(pool, stream, size)) return b;
  if (capturing) return nullptr;  // a capture forbids to wait for the device, which taking memory back does
  if (free_oversize(pool, stream, size)) {
    if (Block* b = more_memory(pool, stream, size)) return b;
  }
  ++stats_.num_alloc_retries;
  wait_for_events();
  if (Block* b = find_free(pool, stream, size)) return b;  // something a stream still used has come back
  free_all_unused();
  return more_memory(pool, stream, size);
}

Block* DeviceAllocator::more_memory(Pool& pool, Handle stream, size_t size) {
  return expands() ? grow(pool, stream, size) : new_segment(pool, stream, segment_size_for(size));
}

// A block of the whole new segment; nullptr where the driver, or the limit, allows no more.
Block* DeviceAllocator::new_segment(Pool& pool, Handle stream, size_t segment_size) {
  const auto held = static_cast<size_t>(stats_.reserved_bytes[0].current);
  if (segment_size > limit_ || held > limit_ - segment_size) return nullptr;
  void* memory = nullptr;
  {
    const RuntimeDevice scope(device_);
    const RelaxedCapture relaxed;
    const cudaError_t error = cudaMalloc(&memory, segment_size);
    if (error == cudaErrorMemoryAllocation) {
      cudaGetLastError();
      return nullptr;
    }
    check(error, "cudaMalloc");
  }
  auto* segment = new Segment;
  segment->base = static_cast<char*>(memory);
  segment->size = segment_size;
  segment->pool = &pool;
  segment->stream = stream;
  Block* block = objects_.make();
  block->segment = segment;
  block->data = segment->base;
  block->size = segment_size;
  segment->first = block;
  segments_.push_back(segment);
  if (pool.owner) ++pool.owner->segments;
  ++clock_;
  count_segment(*segment, true);
  return block;
}

// --- taking back ---

bool DeviceAllocator::deallocate(void* data) noexcept {
  std::unique_lock lock(mutex_);
  Block* block = in_use_.take(data);
  if (block == nullptr) return false;
  block->allocated = false;
  count_release(*block);
  if (block->segment->direct) [[unlikely]] {
    lock.unlock();
    deallocate_directly(block);
    return true;
  }
  try {
    if (!block->users.empty()) [[unlikely]] {
      if (captures_.empty()) {
        free_when_done(block);
      } else {
        freed_in_capture_.push_back(block);
      }
    } else {
      release_to_list(block);
    }
  } catch (...) {
    // The process ends, or the context is lost: nobody will need the block.
  }
  return true;
}

Block* DeviceAllocator::merged_with(Block* block, Block* other) {
  if (other == nullptr || other->is_active()) return block;
  if (other->mapped != block->mapped) return block;
  block->segment->pool->of(block->segment->stream).erase(other);
  Block* front = other->data < block->data ? other : block;
  Block* back = front == other ? block : other;
  front->size += back->size;
  front->after = back->after;
  if (front->after) front->after->before = front;
  objects_.give_back(back);
  return front;
}

void DeviceAllocator::release_to_list(Block* block) {
  count_inactive(*block);
  block->requested = 0;
  block = merged_with(block, block->before);
  block = merged_with(block, block->after);
  block->last_used = clock_;
  block->segment->pool->of(block->segment->stream).insert(block);
}

bool DeviceAllocator::record_stream(void* data, StreamOf user) {
  const std::lock_guard lock(mutex_);
  Block* block = in_use_.find(data);
  if (block == nullptr) return false;
  if (user == StreamOf{device_, block->segment->stream}) return true;
  if (std::find(block->users.begin(), block->users.end(), user) == block->users.end()) block->users.push_back(user);
  return true;
}

// An event on each stream that used the block; it is free when all have passed.
void DeviceAllocator::free_when_done(Block* block) {
  std::vector<StreamOf> users;
  users.swap(block->users);
  for (const StreamOf& user : users) {
    const RuntimeDevice scope(user.device);
    const cudaEvent_t event = take_event(user.device);
    ++block->events;  // kept where the record fails: such a block is never reused
    check(cudaEventRecord(event, user.stream), "cudaEventRecord");
    const auto of_stream = std::find_if(waiting_.begin(), waiting_.end(), [&](auto& w) { return w.first == user; });
    auto& queue = of_stream != waiting_.end() ? of_stream->second : waiting_.emplace_back(user, 0).second;
    queue.push_back({event, block});
    ++waiting_count_;
  }
}

void DeviceAllocator::process_events() {
  for (auto& [user, queue] : waiting_) {
    while (!queue.empty()) {
      const Waiting w = queue.front();
      const cudaError_t error = cudaEventQuery(w.event);
      if (error == cudaErrorNotReady) {
        cudaGetLastError();
        break;
      }
      check(error, "cudaEventQuery");
      queue.pop_front();
      --waiting_count_;
      give_event(user.device, w.event);
      if (--w.block->events == 0) release_to_list(w.block);
    }
  }
}

void DeviceAllocator::wait_for_events() {
  for (auto& [user, queue] : waiting_) {
    while (!queue.empty()) {
      const Waiting w = queue.front();
      check(cudaEventSynchronize(w.event), "cudaEventSynchronize");
      queue.pop_front();
      --waiting_count_;
      give_event(user.device, w.event);
      if (--w.block->events == 0) release_to_list(w.block);
    }
  }
}

// --- giving back to the driver ---

template <class F>
void DeviceAllocator::each_pool(F&& f) {
  f(small_);
  f(large_);
  for (auto& [id, p] : private_pools_) {
    if (p.graphs != 0) continue;
    f(p.small);
    f(p.large);
  }
}

// The segment's one block is free and in no list.
bool DeviceAllocator::free_segment(Segment* segment) {
  const RuntimeDevice scope(device_);
  const cudaError_t error = cudaFree(segment->base);
  if (error != cudaSuccess && !is_unloading(error)) check(error, "cudaFree");
  count_segment(*segment, false);
  if (segment->pool->owner) --segment->pool->owner->segments;
  segments_.erase(std::find(segments_.begin(), segments_.end(), segment));
  objects_.give_back(segment->first);
  delete segment;
  return true;
}

// Frees whole segments until `enough` bytes are back, or all that can be.
size_t DeviceAllocator::free_unused(Pool& pool, size_t enough) {
  size_t freed = 0;
  for (Pool::OfStream& s : pool.streams) {
    std::vector<Block*> all;
    s.free->collect(&all);
    for (Block* b : all) {
      if (b->is_split() || b->segment->expandable || freed >= enough) continue;
      s.free->erase(b);
      freed += b->size;
      free_segment(b->segment);
    }
  }
  return freed;
}

size_t DeviceAllocator::free_all_unused() {
  size_t freed = 0;
  each_pool([&](Pool& p) { freed += free_unused(p, std::numeric_limits<size_t>::max()); });
  freed += shrink_segments();
  drop_pools();
  return freed;
}

void DeviceAllocator::drop_pools() {
  for (auto it = private_pools_.begin(); it != private_pools_.end();) {
    it = it->second.graphs == 0 && it->second.segments == 0 ? private_pools_.erase(it) : std::next(it);
  }
}

// Blocks above max_split_size serve only requests of about their size: the largest of them go first.
bool DeviceAllocator::free_oversize(Pool& pool, Handle stream, size_t size) {
  if (pool.small || config_.max_split_size == std::numeric_limits<size_t>::max()) return false;
  const size_t wanted = std::max(size, config_.max_split_size);
  std::vector<Block*> all;
  FreeBlocks& free = pool.of(stream);
  free.collect(&all);  // in the order of their sizes
  size_t freed = 0;
  for (size_t i = all.size(); i-- > 0 && freed < wanted;) {
    Block* b = all[i];
    if (b->size < config_.max_split_size || b->is_split() || b->segment->expandable) continue;
    free.erase(b);
    freed += b->size;
    free_segment(b->segment);
  }
  return freed >= size;
}

// Frees what has not been used for longest, until the threshold leaves room for `wanted` bytes.
void DeviceAllocator::collect_garbage(size_t wanted) {
  const size_t all = std::min(limit_, properties(device_).totalGlobalMem);
  const auto threshold = static_cast<size_t>(config_.garbage_collection_threshold * static_cast<double>(all));
  const auto held = static_cast<size_t>(stats_.reserved_bytes[0].current);
  if (held + wanted <= threshold) return;
  const size_t target = held + wanted - threshold;
  std::vector<Block*> unused;
  for (Pool::OfStream& s : large_.streams) s.free->collect(&unused);
  std::erase_if(unused, [](const Block* b) { return b->is_split() || b->segment->expandable; });
  std::sort(unused.begin(), unused.end(), [](const Block* a, const Block* b) { return a->last_used < b->last_used; });
  size_t freed = 0;
  for (Block* b : unused) {
    if (freed >= target) break;
    b->segment->pool->of(b->segment->stream).erase(b);
    freed += b->size;
    free_segment(b->segment);
  }
}

void DeviceAllocator::empty_cache() {
  const std::lock_guard lock(mutex_);
  if (captures_under_way.load() != 0) return;
  wait_for_events();
  free_all_unused();
}

void DeviceAllocator::set_fraction(double fraction) {
  const std::lock_guard lock(mutex_);
  limit_ = static_cast<size_t>(fraction * static_cast<double>(properties(device_).totalGlobalMem));
}

// --- graphs ---

void DeviceAllocator::begin_capture(unsigned long long capture, PoolId pool) {
  const std::lock_guard lock(mutex_);
  auto [it, made] = private_pools_.try_emplace(pool);
  if (made) clear(it->second, pool);
  ++it->second.graphs;
  captures_.push_back({capture, &it->second});
}

void DeviceAllocator::end_capture(unsigned long long capture) {
  const std::lock_guard lock(mutex_);
  std::erase_if(captures_, [&](const Capture& c) { return c.id == capture; });
  if (!captures_.empty()) return;
  std::vector<Block*> freed;
  freed.swap(freed_in_capture_);
  for (Block* b : freed) free_when_done(b);
}

void DeviceAllocator::release_pool(PoolId pool) {
  const std::lock_guard lock(mutex_);
  const auto it = private_pools_.find(pool);
  if (it != private_pools_.end()) --it->second.graphs;
  drop_pools();
}

}  // namespace gradus::inline v0::cuda::runtime
