// What gradus::cuda asks of libgradus_cuda.so, beside what core asks. libgradus includes no CUDA header: handles of
// CUDA objects are void*.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gradus/cuda/cuda.h>
#include <gradus/cuda/memory.h>

#include "core/accelerator.h"

namespace gradus::inline v0::cuda {

/// A CUDA graph: captured work, and the memory it runs in. Kept by CUDAGraph.
class GraphImpl {
 public:
  virtual ~GraphImpl() = default;
  virtual void capture_begin(std::pair<uint64_t, uint64_t> pool, int mode) = 0;
  virtual void capture_end() = 0;
  virtual void replay() = 0;
  virtual void reset() = 0;
  virtual std::pair<uint64_t, uint64_t> pool() const = 0;
  virtual void register_generator(const Generator& generator) = 0;
};

/// A member that takes a device expects one that exists; -1 is resolved by the caller.
class Runtime : public core::Accelerator {
 public:
  virtual DeviceIndex current_device() = 0;
  /// set_device that also makes CUDA's own current device that one, for calls that are not Gradus's.
  virtual void set_device_now(DeviceIndex device) = 0;
  virtual const DeviceProperties& properties(DeviceIndex device) = 0;
  virtual std::pair<size_t, size_t> mem_get_info(DeviceIndex device) = 0;
  virtual bool can_access_peer(DeviceIndex device, DeviceIndex peer) = 0;
  virtual int runtime_version() = 0;
  virtual int driver_version() = 0;
  /// 0: cuDNN cannot be used.
  virtual int64_t cudnn_version() = 0;

  /// Every member below throws ValueError for a stream or handle that this library did not make.
  virtual core::StreamId pool_stream(DeviceIndex device, int priority) = 0;
  virtual core::StreamId external_stream(DeviceIndex device, void* handle) = 0;
  virtual void* stream_handle(core::StreamId stream) = 0;
  virtual int stream_priority(core::StreamId stream) = 0;
  virtual bool stream_query(core::StreamId stream) = 0;
  virtual void stream_synchronize(core::StreamId stream) = 0;
  virtual bool stream_is_capturing(core::StreamId stream) = 0;
  /// Lowest and highest; lower numbers come first.
  virtual std::pair<int, int> stream_priority_range() = 0;

  virtual void* event_create(DeviceIndex device, bool timing, bool blocking) = 0;
  virtual void event_destroy(DeviceIndex device, void* event) noexcept = 0;
  virtual void event_record(void* event, core::StreamId stream) = 0;
  virtual void event_wait(void* event, core::StreamId stream) = 0;
  virtual bool event_query(void* event) = 0;
  virtual void event_synchronize(DeviceIndex device, void* event) = 0;
  virtual float event_elapsed(DeviceIndex device, void* start, void* end) = 0;

  virtual DeviceStats memory_stats(DeviceIndex device) = 0;
  virtual void reset_peak_memory_stats(DeviceIndex device) = 0;
  virtual void reset_accumulated_memory_stats(DeviceIndex device) = 0;
  virtual std::vector<SegmentInfo> memory_snapshot() = 0;
  virtual void empty_cache() = 0;
  virtual void set_memory_fraction(double fraction, DeviceIndex device) = 0;

  /// Whether the thread's current stream is being captured.
  virtual bool is_capturing_here() = 0;
  virtual std::unique_ptr<GraphImpl> make_graph() = 0;
  virtual std::pair<uint64_t, uint64_t> new_graph_pool() = 0;
};

/// The runtime; throws NotImplementedError, naming `op`, where CUDA cannot be used.
Runtime& require_runtime(const char* op);
/// nullptr unless CUDA is in use already: statistics of what was never used are zero.
Runtime* runtime_in_use() noexcept;
/// -1: the thread's current device. Throws ValueError, naming `op`, where there is no such device.
DeviceIndex checked_device(Runtime& r, const char* op, DeviceIndex device);

}  // namespace gradus::inline v0::cuda
