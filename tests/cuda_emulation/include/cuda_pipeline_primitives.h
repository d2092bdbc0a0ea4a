// Copies into shared memory that a thread goes on beside (cp.async), by CUDA's functions for C. Here nothing is copied
// before the thread waits for it, so that a missing wait shows: shared memory begins as NaN.
#pragma once

#include "cuda_runtime.h"

namespace gradus_emulation {
GRADUS_EMULATION_API void async_copy(Site site, void* to, const void* from, size_t size, size_t zeros);
GRADUS_EMULATION_API void async_commit();
GRADUS_EMULATION_API void async_wait(size_t groups_that_may_be_open);
}  // namespace gradus_emulation

/// 4, 8 or 16 bytes, of which the last `zeros` are not read but set to zero; both addresses are multiples of the size.
inline void __pipeline_memcpy_async(void* to, const void* from, size_t size, size_t zeros = 0,
                                    const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  ::gradus_emulation::async_copy({"__pipeline_memcpy_async", file, line}, to, from, size, zeros);
}
inline void __pipeline_commit() {
  ::gradus_emulation::async_commit();
}
/// Waits for all of the thread's groups but the last ones.
inline void __pipeline_wait_prior(size_t groups) {
  ::gradus_emulation::async_wait(groups);
}
