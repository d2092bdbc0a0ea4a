// Note [Expandable segments]: with segments of fixed sizes, memory that is cached in pieces of one size does not serve
// requests of another. Here each stream of a pool has one segment: more addresses than the device has memory, of which
// pages are given memory when they are needed. Blocks without memory lie in the segment's chain of blocks like others,
// but in no list; one grows out of the free block before it. What is given back to the driver are pages that lie wholly
// within free blocks.
#include <algorithm>

#include "allocator.h"
#include "expandable.h"

namespace gradus::inline v0::cuda::runtime {

namespace {

bool is_free(const Block* b) {
  return b != nullptr && b->mapped && !b->is_active();
}
size_t free_size(const Block* b) {
  return is_free(b) ? b->size : 0;
}
char* round_up(char* base, char* at, size_t page) {
  return base + (static_cast<size_t>(at - base) + page - 1) / page * page;
}
char* round_down(char* base, char* at, size_t page) {
  return base + static_cast<size_t>(at - base) / page * page;
}

}  // namespace

bool DeviceAllocator::expands() {
  if (!config_.expandable_segments) return false;
  static const bool possible = [] {
    const bool has = driver_memory().complete();
    if (!has) warn("GRADUS_CUDA_ALLOC_CONF: the driver has no expandable_segments; memory is held in fixed ones");
    return has;
  }();
  return possible;
}

Segment* DeviceAllocator::new_expandable(Pool& pool, Handle stream) {
  const size_t all = properties(device_).totalGlobalMem;
  auto range = std::make_unique<ExpandableSegment>(device_, pool.small ? kSmallSegment : kLargeSegment, all + all / 8);
  auto* segment = new Segment;
  segment->base = range->base();
  segment->pool = &pool;
  segment->stream = stream;
  Block* block = objects_.make();
  block->segment = segment;
  block->data = range->base();
  block->size = range->size();
  block->mapped = false;
  segment->first = block;
  segment->expandable = range.release();
  segments_.push_back(segment);
  if (pool.owner) ++pool.owner->segments;
  return segment;
}

void DeviceAllocator::resize_segment(Segment* segment, size_t size) {
  // A segment is counted with the memory it has, and not at all while it has none.
  if (segment->size != 0) count_segment(*segment, false);
  segment->size = size;
  if (size != 0) count_segment(*segment, true);
}

// Cuts `block` at `size`; the part behind is returned.
Block* DeviceAllocator::cut(Block* block, size_t size) {
  Block* rest = objects_.make();
  rest->segment = block->segment;
  rest->data = block->data + size;
  rest->size = block->size - size;
  rest->mapped = block->mapped;
  rest->last_used = block->last_used;
  rest->before = block;
  rest->after = block->after;
  if (rest->after) rest->after->before = rest;
  block->after = rest;
  block->size = size;
  return rest;
}

// Joins `block` with the one behind it, if both are without memory.
void DeviceAllocator::join_unmapped(Block* block) {
  Block* next = block->after;
  if (next == nullptr || next->mapped || block->mapped) return;
  block->size += next->size;
  block->after = next->after;
  if (block->after) block->after->before = block;
  objects_.give_back(next);
}

// A free block of at least `size` bytes, in no list; nullptr where there is no memory left.
Block* DeviceAllocator::grow(Pool& pool, Handle stream, size_t size) {
  Block* room = nullptr;
  for (const Segment* s : segments_) {
    if (!s->expandable || s->pool != &pool || s->stream != stream) continue;
    for (Block* b = s->first; b && !room; b = b->after) {
      if (!b->mapped && free_size(b->before) + b->size + free_size(b->after) >= size) room = b;
    }
  }
  const RuntimeDevice scope(device_);
  if (!room) room = new_expandable(pool, stream)->first;
  Segment* segment = room->segment;
  const size_t page = segment->expandable->page_size();
  const size_t missing = size - free_size(room->before);
  const size_t bytes = std::min((missing + page - 1) / page * page, room->size);
  const auto held = static_cast<size_t>(stats_.reserved_bytes[0].current);
  if (bytes > limit_ || held > limit_ - bytes) return nullptr;
  {
    const RelaxedCapture relaxed;
    if (!segment->expandable->map(room->data, bytes)) return nullptr;
  }
  if (room->size > bytes) cut(room, bytes);
  room->mapped = true;
  ++clock_;
  resize_segment(segment, segment->size + bytes);
  room = merged_with(room, is_free(room->before) ? room->before : nullptr);
  return room->size >= size ? room : merged_with(room, room->after);
}

// Takes the whole pages of a free block, which is in its list, from it.
size_t DeviceAllocator::unmap_block(Block* block) {
  Segment* segment = block->segment;
  ExpandableSegment* range = segment->expandable;
  char* const begin = round_up(range->base(), block->data, range->page_size());
  char* const end = round_down(range->base(), block->data + block->size, range->page_size());
  if (begin >= end) return 0;
  FreeBlocks& free = segment->pool->of(segment->stream);
  free.erase(block);
  const auto bytes = static_cast<size_t>(end - begin);
  if (end < block->data + block->size) free.insert(cut(block, static_cast<size_t>(end - block->data)));
  if (begin > block->data) {
    Block* pages = cut(block, static_cast<size_t>(begin - block->data));
    free.insert(block);
    block = pages;
  }
  range->unmap(begin, bytes);
  block->mapped = false;
  resize_segment(segment, segment->size - bytes);
  join_unmapped(block);
  if (block->before) join_unmapped(block->before);
  return bytes;
}

size_t DeviceAllocator::shrink_segments() {
  std::vector<Segment*> expandable;
  for (Segment* s : segments_) {
    const bool of_a_graph = s->pool->owner && s->pool->owner->graphs != 0;
    if (s->expandable && !of_a_graph) expandable.push_back(s);
  }
  if (expandable.empty()) return 0;
  const RuntimeDevice scope(device_);
  check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");  // unmapping does not wait for who uses the memory
  size_t freed = 0;
  for (Segment* s : expandable) {
    std::vector<Block*> free;
    for (Block* b = s->first; b; b = b->after) {
      if (is_free(b)) free.push_back(b);
    }
    for (Block* b : free) freed += unmap_block(b);
    if (s->size != 0) continue;
    if (s->pool->owner) --s->pool->owner->segments;
    std::erase(segments_, s);
    objects_.give_back(s->first);
    delete s->expandable;
    delete s;
  }
  return freed;
}

}  // namespace gradus::inline v0::cuda::runtime
