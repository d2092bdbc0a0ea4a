// Memory: who gives it out, how much is in use, how to give it back.
#pragma once

#include <cstddef>

#include <gradus/core/device.h>

namespace gradus {
inline namespace v0 {

/// Gives out memory of one kind of device. Implementations may be called from any thread.
class GRADUS_API Allocator {
 public:
  virtual ~Allocator();
  /// At least `nbytes` bytes, aligned to 64. Throws OutOfMemoryError.
  virtual void* allocate(size_t nbytes) = 0;
  /// Takes back what allocate(nbytes) returned.
  virtual void deallocate(void* data, size_t nbytes) noexcept = 0;
};

/// The allocator of a kind of device. Throws NotImplementedError where none is registered.
GRADUS_API Allocator& get_allocator(DeviceType type);
/// Registers `allocator` (not owned; must outlive every tensor) for a kind of device: a user backend's or the CUDA
/// library's.
GRADUS_API void set_allocator(DeviceType type, Allocator* allocator);

/// Bytes in use by tensors and graph nodes on the CPU, in whole blocks.
GRADUS_API size_t memory_allocated();
/// The highest memory_allocated() since the start or the last reset; seen whenever the library asks the system for
/// memory and at every allocation above 2 KB, so it can miss a peak of small blocks by what a thread has cached.
GRADUS_API size_t max_memory_allocated();
/// Starts max_memory_allocated() anew.
GRADUS_API void reset_peak_memory_stats();
/// Bytes held from the system: in use and cached.
GRADUS_API size_t memory_reserved();
/// Gives cached blocks above 2 KB back to the system.
GRADUS_API void empty_cache();

}  // namespace v0
}  // namespace gradus
