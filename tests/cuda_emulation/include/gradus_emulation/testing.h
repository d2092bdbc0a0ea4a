// What tests ask of the emulation beside CUDA's calls.
#pragma once

#include <cstdint>

#include "gradus_emulation/types.h"

namespace gradus_emulation {

enum class StreamOrder { Eager, Lazy, Random };
/// As GRADUS_EMULATION_ORDER; for what is enqueued from now on.
GRADUS_EMULATION_API void set_stream_order(StreamOrder order, uint64_t seed = 0);
enum class BlockOrder { Forward, Backward, Random };
/// As GRADUS_EMULATION_BLOCKS; for kernels that begin from now on.
GRADUS_EMULATION_API void set_block_order(BlockOrder order, uint64_t seed = 0);

/// What the detectors said last.
GRADUS_EMULATION_API const char* last_report();
/// Forgets a failed launch, which CUDA does only when the process ends. Memory, streams and events stay.
GRADUS_EMULATION_API void clear_errors();

/// Since the program began.
struct Counters {
  uint64_t kernels;
  uint64_t copies;
  uint64_t fills;
  uint64_t allocations;  // cudaMalloc
  uint64_t host_waits;   // the host waited for a stream, an event or a device
};
GRADUS_EMULATION_API Counters counters();

}  // namespace gradus_emulation
