#include "thread_fibers.h"

#include <cstring>

#include "arena.h"
#include "block.h"
#include "text.h"

namespace gradus_emulation {
namespace {

struct ThreadSet : InArena {
  Fiber* fiber[kMaxThreads] = {};
  void* tsan_fiber[kMaxThreads] = {};
  Edge end[2];  // of the block before, and of this one
  int parity = 0;
  Edge barrier[2];
  Edge warp[kMaxWarps][kWarpEdges];
};
ThreadSet* sets[kThreadSets];
int current_set = 0;

// Which stream a pair of sets was last used by, and when.
struct Pair {
  uint64_t stream;
  uint64_t used;
};
Pair pairs[kThreadSets / 2];
uint64_t uses = 0;

int pair_for(uint64_t stream) {
  int oldest = 0;
  for (int p = 0; p < kThreadSets / 2; ++p) {
    if (pairs[p].used != 0 && pairs[p].stream == stream) return p;
    if (pairs[p].used < pairs[oldest].used) oldest = p;
  }
  return oldest;
}

char* append_index(char* out, uint3 v, dim3 shape) {
  if (shape.y == 1 && shape.z == 1) return append(out, uint64_t{v.x});
  out = append(append(append(append(out, "("), v.x), ","), v.y);
  return append(append(append(out, ","), v.z), ")");
}

}  // namespace

void begin_thread_fibers(uint64_t stream, int threads) {
  const int p = pair_for(stream);
  pairs[p] = {stream, ++uses};
  for (int s = 2 * p; s < 2 * p + 2; ++s) {
    if (sets[s] == nullptr) sets[s] = new ThreadSet;
    for (int t = 0; t < threads; ++t) {
      if (sets[s]->fiber[t] != nullptr) continue;
      sets[s]->fiber[t] = make_fiber(t);
      sets[s]->tsan_fiber[t] = __tsan_create_fiber(0);
    }
  }
  current_set = 2 * p + 1;
}

void begin_thread_fibers_block() {
  current_set ^= 1;
  sets[current_set]->parity ^= 1;
}
int thread_set() {
  return current_set;
}
Fiber* thread_fiber(int thread) {
  return sets[current_set]->fiber[thread];
}
void* thread_tsan_fiber(int thread) {
  return sets[current_set]->tsan_fiber[thread];
}

void name_thread_fiber(int thread) {
  char name[64];
  char* end = append(append_index(append(name, "block "), blockIdx, gridDim), " thread ");
  append_index(end, block.thread[thread].index, blockDim);
  __tsan_set_fiber_name(thread_tsan_fiber(thread), name);
}

void renew_thread_fibers(int threads) {
  for (int t = 0; t < threads; ++t) {
    void*& fiber = sets[current_set]->tsan_fiber[t];
    __tsan_destroy_fiber(fiber);
    fiber = __tsan_create_fiber(0);
  }
}

void release_to_threads() {
  for (int s : {current_set, current_set ^ 1}) sets[s]->end[sets[s]->parity].release();
}
void acquire_from_threads() {
  for (int s : {current_set, current_set ^ 1}) sets[s]->end[sets[s]->parity].acquire();
}

const Edge& edge_from_last_block() {
  const ThreadSet& set = *sets[current_set];
  return set.end[set.parity ^ 1];
}
const Edge& edge_to_next_block() {
  const ThreadSet& set = *sets[current_set];
  return set.end[set.parity];
}
const Edge& barrier_edge(int parity) {
  return sets[current_set]->barrier[parity];
}
const Edge& warp_edge(int warp, int number) {
  return sets[current_set]->warp[warp][number];
}

}  // namespace gradus_emulation
