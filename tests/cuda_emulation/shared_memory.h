// The shared memory of the block that runs.
#pragma once

#include <cstddef>

#include "gradus_emulation/execution.h"

namespace gradus_emulation {

/// Before a kernel, on the stack of the stream: makes the memory that its blocks use.
void begin_shared();
void begin_shared_block(size_t dynamic_bytes);
void end_shared();
[[noreturn]] void fail_shared_memory(const Site& site, size_t bytes);

}  // namespace gradus_emulation
