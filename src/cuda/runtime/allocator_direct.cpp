// The ways into the allocators, and allocation without a cache.
#include <gradus/core/allocator.h>

#include "allocator.h"
#include "kernels/cuda/scratch.h"

namespace gradus::inline v0 {

namespace cuda::runtime {

void* DeviceAllocator::allocate_directly(size_t nbytes, Handle stream) {
  void* memory = nullptr;
  {
    const RuntimeDevice scope(device_);
    const cudaError_t error = cudaMalloc(&memory, nbytes);
    if (error == cudaErrorMemoryAllocation) {
      cudaGetLastError();
      std::unique_lock lock(mutex_);
      out_of_memory(lock, nbytes, nbytes);
    }
    check(error, "cudaMalloc");
  }
  auto* segment = new Segment;
  segment->base = static_cast<char*>(memory);
  segment->size = nbytes;
  segment->stream = stream;
  segment->pool = &large_;
  segment->direct = true;
  const std::lock_guard lock(mutex_);
  Block* block = objects_.make();
  block->segment = segment;
  block->data = segment->base;
  block->size = block->requested = nbytes;
  block->allocated = true;
  segment->first = block;
  segments_.push_back(segment);
  in_use_.insert(block);
  count_segment(*segment, true);
  count_use(*block);
  count_active(*block);
  return memory;
}

// Waits for the streams that used the block.
void DeviceAllocator::deallocate_directly(Block* block) noexcept {
  try {
    cudaError_t error = cudaSuccess;
    for (const StreamOf& user : block->users) {
      const RuntimeDevice scope(user.device);
      if (error == cudaSuccess) error = cudaStreamSynchronize(user.stream);
    }
    const RuntimeDevice scope(device_);
    if (error == cudaSuccess) error = cudaStreamSynchronize(block->segment->stream);
    if (error == cudaSuccess) error = cudaFree(block->data);
    if (error != cudaSuccess) cudaGetLastError();
  } catch (...) {
    // The process ends, or the context is lost.
  }
  const std::lock_guard lock(mutex_);
  count_inactive(*block);
  count_segment(*block->segment, false);
  std::erase(segments_, block->segment);
  delete block->segment;
  objects_.give_back(block);
}

DeviceAllocator* allocators[kMaxDevices] = {};

// Never destroyed: tensors of static objects are freed after any destructor that we could have.
void make_allocators() {
  for (int d = 0; d < device_count; ++d) allocators[d] = new DeviceAllocator(d);
}

void deallocate_anywhere(void* data) noexcept {
  const int here = kernels::launch_device;
  if (here < device_count && allocator_of(here).deallocate(data)) return;
  for (int d = 0; d < device_count; ++d) {
    if (d != here && allocator_of(d).deallocate(data)) return;
  }
}

}  // namespace cuda::runtime

namespace kernels::cuda {

void* allocate_scratch(size_t nbytes) {
  const Context& c = context();
  return gradus::cuda::runtime::allocator_of(c.device).allocate(nbytes, c.stream);
}
void free_scratch(void* data) noexcept {
  gradus::cuda::runtime::deallocate_anywhere(data);
}

}  // namespace kernels::cuda

}  // namespace gradus::inline v0
