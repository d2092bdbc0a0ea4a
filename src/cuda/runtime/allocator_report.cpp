// What the allocator tells: statistics, snapshots, why there is no memory left.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>

#include "allocator.h"

namespace gradus::inline v0::cuda::runtime {

namespace {

void each_array(DeviceStats& s, void (*f)(Stat&)) {
  for (StatArray* a : {&s.allocation, &s.segment, &s.active, &s.inactive_split, &s.allocated_bytes, &s.reserved_bytes,
                       &s.active_bytes, &s.inactive_split_bytes, &s.requested_bytes}) {
    for (Stat& stat : *a) f(stat);
  }
  f(s.oversize_allocations);
  f(s.oversize_segments);
}

}  // namespace

std::string bytes_text(size_t bytes) {
  constexpr const char* kUnits[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  if (bytes < 1024) return str(bytes, " bytes");
  double v = static_cast<double>(bytes);
  int unit = 0;
  while (v >= 1024 && unit < 4) v /= 1024, ++unit;
  char text[32];
  std::snprintf(text, sizeof text, "%.2f %s", v, kUnits[unit]);
  return text;
}

// Counted when they are asked for: blocks are split and joined too often to count it each time.
void DeviceAllocator::count_unused_parts() {
  StatArray now[2] = {};
  for (const Segment* s : segments_) {
    for (const Block* b = s->first; b; b = b->after) {
      if (!b->is_split() || !b->mapped || b->is_active()) continue;
      for (const size_t i : {size_t(0), size_t(s->pool->small ? 1 : 2)}) {
        now[0][i].current += 1;
        now[1][i].current += static_cast<int64_t>(b->size);
      }
    }
  }
  StatArray* const kept[2] = {&stats_.inactive_split, &stats_.inactive_split_bytes};
  for (int k = 0; k < 2; ++k) {
    for (size_t i = 0; i < kStatTypes; ++i) {
      Stat& s = (*kept[k])[i];
      const int64_t change = now[k][i].current - s.current;
      (change > 0 ? s.allocated : s.freed) += std::abs(change);
      s.current += change;
      s.peak = std::max(s.peak, s.current);
    }
  }
}

DeviceStats DeviceAllocator::stats() {
  const std::lock_guard lock(mutex_);
  count_unused_parts();
  return stats_;
}
void DeviceAllocator::reset_peaks() {
  const std::lock_guard lock(mutex_);
  each_array(stats_, [](Stat& s) { s.peak = s.current; });
}
void DeviceAllocator::reset_accumulated() {
  const std::lock_guard lock(mutex_);
  each_array(stats_, [](Stat& s) { s.allocated = s.freed = 0; });
  stats_.num_alloc_retries = stats_.num_ooms = 0;
}

void DeviceAllocator::snapshot(std::vector<SegmentInfo>* all) {
  const std::lock_guard lock(mutex_);
  std::vector<const Segment*> sorted(segments_.begin(), segments_.end());
  std::sort(sorted.begin(), sorted.end(), [](const Segment* a, const Segment* b) { return a->base < b->base; });
  for (const Segment* s : sorted) {
    if (s->size == 0) continue;  // addresses alone
    SegmentInfo info;
    info.device = static_cast<DeviceIndex>(device_);
    info.address = reinterpret_cast<uintptr_t>(s->base);
    info.total_size = s->size;
    info.stream = s->stream;
    info.is_large = !s->pool->small;
    info.is_expandable = s->expandable != nullptr;
    if (s->pool->owner) info.owner_private_pool_id = s->pool->owner->id;
    for (const Block* b = s->first; b; b = b->after) {
      if (!b->mapped) continue;
      BlockInfo& block = info.blocks.emplace_back();
      block.size = b->size;
      block.requested_size = b->requested;
      block.allocated = b->allocated;
      block.active = b->is_active();
      block.gc_counter = block.active ? 0 : static_cast<int32_t>(clock_ - b->last_used);
      if (block.allocated) info.allocated_size += b->size;
      if (block.active) info.active_size += b->size;
      info.requested_size += b->requested;
    }
    all->push_back(std::move(info));
  }
}

// The sizes of blocks in use that together hold most.
std::string DeviceAllocator::largest_holders() const {
  std::map<size_t, size_t> counts;
  in_use_.each([&](const Block* b) { ++counts[b->requested]; });
  std::vector<std::pair<size_t, size_t>> order(counts.begin(), counts.end());
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.first * a.second > b.first * b.second; });
  std::string text;
  for (size_t i = 0; i < order.size() && i < 5; ++i) {
    if (!text.empty()) text += ", ";
    if (order[i].second > 1) text += str(order[i].second, " x ");
    text += bytes_text(order[i].first);
  }
  return text;
}

void DeviceAllocator::out_of_memory(std::unique_lock<std::mutex>& lock, size_t nbytes, size_t segment_size) {
  ++stats_.num_ooms;
  const auto reserved = static_cast<size_t>(stats_.reserved_bytes[0].current);
  const auto allocated = static_cast<size_t>(stats_.allocated_bytes[0].current);
  const auto active = static_cast<size_t>(stats_.active_bytes[0].current);
  const std::string holders = largest_holders();
  const bool capturing = !captures_.empty();
  const size_t limit = limit_;
  lock.unlock();
  const size_t total = properties(device_).totalGlobalMem;
  size_t free = 0, seen = 0;
  {
    const RuntimeDevice scope(device_);
    if (cudaMemGetInfo(&free, &seen) != cudaSuccess) cudaGetLastError();
  }
  std::string text = str("CUDA out of memory: ", bytes_text(nbytes), " were asked for on cuda:", device_, ", of whose ",
                         bytes_text(total), " the driver has ", bytes_text(free), " free. Gradus holds ",
                         bytes_text(reserved), ": ", bytes_text(allocated), " in use by tensors");
  if (active > allocated) text += str(", ", bytes_text(active - allocated), " by streams that are not done with them");
  text += str(" and ", bytes_text(reserved - active), " cached");
  if (!holders.empty()) text += str("; the largest in use are ", holders);
  text += ". ";
  if (limit < total) text += str("set_per_process_memory_fraction allows ", bytes_text(limit), ". ");
  if (capturing) text += "While a CUDA graph is captured no cached memory is given back to the driver. ";
  if (reserved - active >= segment_size) {
    text +=
        "The cached memory is in pieces that are too small: "
        "GRADUS_CUDA_ALLOC_CONF=expandable_segments:true or max_split_size_mb may help. ";
  }
  text += "Use a smaller batch or free tensors";
  throw OutOfMemoryError(text);
}

}  // namespace gradus::inline v0::cuda::runtime
