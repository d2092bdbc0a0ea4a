// Writing past the caches.
#pragma once

#include <cstddef>

namespace gradus::inline v0::kernels {

/// memcpy with stores that leave the destination in no cache: for results that are far larger than any. The bytes are
/// visible to other threads after the call.
void stream_copy(const void* from, void* to, size_t bytes);

}  // namespace gradus::inline v0::kernels
