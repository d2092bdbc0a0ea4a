// GRADUS_CUDA_ALLOC_CONF.
#pragma once

#include <array>
#include <cstddef>
#include <limits>
#include <string>

#include <gradus/core/macros.h>

namespace gradus::inline v0::cuda::runtime {

struct AllocatorConfig {
  /// Blocks of at least this size are never split, so that they are there for requests of their own size.
  size_t max_split_size = std::numeric_limits<size_t>::max();
  /// When more than this part of the memory is held, what has not been used for long goes back to the driver. 0: never.
  double garbage_collection_threshold = 0;
  /// Segments grow instead of being many.
  bool expandable_segments = false;
  /// Requests are rounded up to this many steps between powers of two; one number for each power from 1 MB up to 64 GB.
  /// 0: not rounded.
  std::array<size_t, 17> roundup_power2_divisions{};
  /// Each allocation is one of the driver's, for tools that watch memory.
  bool passthrough = false;
  /// What is wrong with the text: the rest then has its defaults, and allocations throw it.
  std::string error;
};

/// Reads "key:value,key:value". A fault goes into `error`.
AllocatorConfig parse_allocator_config(const std::string& text);
/// Of this process.
const AllocatorConfig& allocator_config();
/// The bytes that a request of `nbytes` takes.
size_t round_size(size_t nbytes, const AllocatorConfig& config);

}  // namespace gradus::inline v0::cuda::runtime
