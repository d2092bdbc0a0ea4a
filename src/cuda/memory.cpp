#include <gradus/cuda/memory.h>

#include <cstdio>

#include <gradus/core/allocator.h>

#include "interface.h"

namespace gradus::inline v0::cuda {

namespace {

DeviceStats stats_of(const char* op, DeviceIndex device) {
  Runtime* r = runtime_in_use();
  return r == nullptr ? DeviceStats() : r->memory_stats(checked_device(*r, op, device));
}
size_t of(const Stat& s, int64_t Stat::*member) {
  return static_cast<size_t>(s.*member);
}

std::string megabytes(int64_t bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f MB", static_cast<double>(bytes) / (1 << 20));
  return text;
}

void add_row(std::string* text, const char* name, const Stat& s, bool bytes) {
  char line[160];
  const auto show = [&](int64_t v) { return bytes ? megabytes(v) : std::to_string(v); };
  std::snprintf(line, sizeof line, "  %-24s %14s %14s %14s %14s\n", name, show(s.current).c_str(), show(s.peak).c_str(),
                show(s.allocated).c_str(), show(s.freed).c_str());
  text->append(line);
}

}  // namespace

size_t memory_allocated(DeviceIndex device) {
  return of(stats_of("memory_allocated", device).allocated_bytes[0], &Stat::current);
}
size_t max_memory_allocated(DeviceIndex device) {
  return of(stats_of("max_memory_allocated", device).allocated_bytes[0], &Stat::peak);
}
size_t memory_reserved(DeviceIndex device) {
  return of(stats_of("memory_reserved", device).reserved_bytes[0], &Stat::current);
}
size_t max_memory_reserved(DeviceIndex device) {
  return of(stats_of("max_memory_reserved", device).reserved_bytes[0], &Stat::peak);
}
DeviceStats memory_stats(DeviceIndex device) {
  return stats_of("memory_stats", device);
}
void reset_peak_memory_stats(DeviceIndex device) {
  if (Runtime* r = runtime_in_use()) r->reset_peak_memory_stats(checked_device(*r, "reset_peak_memory_stats", device));
}
void reset_accumulated_memory_stats(DeviceIndex device) {
  if (Runtime* r = runtime_in_use())
    r->reset_accumulated_memory_stats(checked_device(*r, "reset_accumulated_memory_stats", device));
}
std::vector<SegmentInfo> memory_snapshot() {
  Runtime* r = runtime_in_use();
  return r == nullptr ? std::vector<SegmentInfo>() : r->memory_snapshot();
}

std::string memory_summary(DeviceIndex device) {
  Runtime& r = require_runtime("memory_summary");
  device = checked_device(r, "memory_summary", device);
  const DeviceStats s = r.memory_stats(device);
  std::string text = str("Memory of cuda:", int{device}, " (", r.properties(device).name, "); ", s.num_ooms,
                         " out-of-memory errors, ", s.num_alloc_retries, " retries\n");
  char line[160];
  std::snprintf(line, sizeof line, "  %-24s %14s %14s %14s %14s\n", "", "current", "peak", "total in", "total out");
  text += line;
  const std::pair<const char*, size_t> pools[] = {
      {"all", size_t(0)}, {"small blocks", size_t(1)}, {"large blocks", size_t(2)}};
  for (const auto& [name, i] : pools) {
    text += str(name, "\n");
    add_row(&text, "allocated", s.allocated_bytes[i], true);
    add_row(&text, "active", s.active_bytes[i], true);
    add_row(&text, "requested", s.requested_bytes[i], true);
    add_row(&text, "reserved", s.reserved_bytes[i], true);
    add_row(&text, "unused parts", s.inactive_split_bytes[i], true);
    add_row(&text, "allocations", s.allocation[i], false);
    add_row(&text, "segments", s.segment[i], false);
  }
  return text;
}

void empty_cache() {
  if (Runtime* r = runtime_in_use()) r->empty_cache();
}
void set_per_process_memory_fraction(double fraction, DeviceIndex device) {
  GRADUS_CHECK_AS(ValueError, fraction >= 0 && fraction <= 1, "set_per_process_memory_fraction: ", fraction,
                  " was given; expected a number from 0 to 1");
  Runtime& r = require_runtime("set_per_process_memory_fraction");
  r.set_memory_fraction(fraction, checked_device(r, "set_per_process_memory_fraction", device));
}

void* caching_allocator_alloc(size_t nbytes) {
  require_runtime("caching_allocator_alloc");
  return get_allocator(DeviceType::CUDA).allocate(nbytes);
}
void caching_allocator_delete(void* data) {
  if (data) get_allocator(DeviceType::CUDA).deallocate(data, 0);
}
void record_stream(void* data, const Stream& stream) {
  Runtime& r = require_runtime("record_stream");
  GRADUS_CHECK_AS(ValueError, stream.device_type() == DeviceType::CUDA && stream.id() >= 0, "record_stream: ", stream,
                  " was given; expected one of a CUDA device");
  r.record_stream(data, {stream.device_index(), static_cast<uint32_t>(stream.id())});
}

}  // namespace gradus::inline v0::cuda
