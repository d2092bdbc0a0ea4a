// What the parts of the scheduler share: which threads can run, waiting, failing.
#pragma once

#include "block.h"

namespace gradus_emulation {

inline unsigned bit(int index) {
  return 1u << (index % 32);
}
inline unsigned above(int index) {
  return index % 32 == 31 ? 0u : ~0u << (index % 32 + 1);
}
inline Warp& warp_of(int thread) {
  return block.warp[thread / kLanes];
}

inline void set_ready(int warp, unsigned lanes) {
  block.warp[warp].ready |= lanes;
  if (lanes) block.ready_warps |= 1u << warp;
}
inline void clear_ready(int thread) {
  Warp& warp = warp_of(thread);
  warp.ready &= ~bit(thread);
  if (warp.ready == 0) block.ready_warps &= ~(1u << (thread / kLanes));
}

/// The next thread that can run, -1 if there is none: a later lane of the warp, an earlier one, another warp. A fair
/// choice lets other warps run before it comes back to earlier lanes.
inline int choose(int current, bool fair) {
  const int w = current / kLanes;
  const unsigned ready = block.warp[w].ready;
  if (const unsigned later = ready & above(current)) return w * kLanes + __builtin_ctz(later);
  if (ready != 0 && !fair) return w * kLanes + __builtin_ctz(ready);
  unsigned warps = block.ready_warps & above(w);
  if (warps == 0) warps = block.ready_warps;
  if (warps == 0) return -1;
  const int next = __builtin_ctz(warps);
  return next * kLanes + __builtin_ctz(block.warp[next].ready);
}

/// The current thread cannot go on; returns when it can.
void wait_here(Waiting waiting, const Site& site, unsigned mask);
/// Ends the launch.
[[noreturn]] void fail(const Failure& failure);
/// Threads have got further, so that none waits for ever.
inline void note_progress() {
  block.yields = 0;
}

/// Warp operations that waited only for a thread that has just left.
void finish_without(int thread);

/// The order of a launch's blocks, numbered from 0.
void order_blocks(uint64_t total);
bool blocks_left();
uint64_t next_block();

}  // namespace gradus_emulation
