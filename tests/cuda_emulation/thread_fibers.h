// With ThreadSanitizer each CUDA thread has a stack and a fiber of the sanitizer for ever: making them for each block
// is far too slow. Blocks alternate between two sets of them, so that accesses of two blocks are not those of one
// fiber; streams use different pairs of sets, as far as there are.
#pragma once

#include <cstdint>

#include "fibers.h"
#include "sanitizers.h"

namespace gradus_emulation {

constexpr int kThreadSets = 4;
constexpr int kWarpEdges = 4;

/// Makes what `threads` threads of a kernel in `stream` need.
void begin_thread_fibers(uint64_t stream, int threads);
/// The next block uses the other set of the pair.
void begin_thread_fibers_block();
int thread_set();

Fiber* thread_fiber(int thread);
void* thread_tsan_fiber(int thread);
/// "block 3 thread 17": what a report calls it.
void name_thread_fiber(int thread);
/// After threads were abandoned in the middle.
void renew_thread_fibers(int threads);

/// The edges from a stream to its kernel and back.
void release_to_threads();
void acquire_from_threads();
/// From the end of a block to the next block that uses its set: which has the same stacks and shared memory.
const Edge& edge_from_last_block();
const Edge& edge_to_next_block();
const Edge& barrier_edge(int parity);
const Edge& warp_edge(int warp, int number);

}  // namespace gradus_emulation
