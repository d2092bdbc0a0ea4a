// Page-locked host memory, cached: the driver takes as long for it as for device memory.
#pragma once

#include <cstddef>

#include "device.h"

namespace gradus::inline v0::cuda::runtime {

void* allocate_pinned(size_t nbytes);
void free_pinned(void* data) noexcept;
/// Whether the memory is of allocate_pinned.
bool is_own_pinned(const void* data);
/// Whether the driver can copy from or to this address without a detour.
bool is_pinned(const void* data);
/// A copy on the stream reads or writes the memory at `data`: once freed it is reused when that has passed. Nothing for
/// memory from elsewhere.
void use_pinned(const void* data, int device, cudaStream_t stream);
/// Gives unused memory back to the driver.
void empty_pinned_cache();

}  // namespace gradus::inline v0::cuda::runtime
