#include "scheduler.h"

#include <signal.h>

#include <cstdlib>
#include <cstring>

#include "arena.h"
#include "faults.h"
#include "gradus_emulation/atomics.h"
#include "scheduling.h"
#include "shared_memory.h"
#include "thread_fibers.h"

uint3 threadIdx;
uint3 blockIdx;
dim3 blockDim;
dim3 gridDim;

namespace gradus_emulation {

Block block;
unsigned atomics_until_yield;

namespace {

constexpr unsigned kAtomicsBetweenYields = 1024;
constexpr long kMostYields = 20'000;  // without any thread that arrives, goes on or leaves

Fiber home;  // the stack that called run_kernel
void* home_tsan_fiber;
bool coming_from_home;
Fiber* free_fibers;
int fiber_count;
Context abandoned;

void fiber_main();

Fiber* take_fiber(int thread) {
  if (has_tsan()) return thread_fiber(thread);
  if (free_fibers == nullptr) return make_fiber(fiber_count++);
  Fiber* fiber = free_fibers;
  free_fibers = fiber->next_free;
  return fiber;
}
void give_back_fiber(Fiber* fiber) {
  if (has_tsan()) return;  // it is its thread's for ever
  fiber->next_free = free_fibers;
  free_fibers = fiber;
}

void make_current(int thread) {
  block.current = thread;
  threadIdx = block.thread[thread].index;
}

// Goes to another stack; `from` is nullptr when this one will not be needed again.
void switch_stack(Fiber* from, Fiber& to) {
  const bool asan = &__sanitizer_start_switch_fiber != nullptr;
  if (asan) __sanitizer_start_switch_fiber(from ? &from->fake_stack : nullptr, to.low, to.size);
  gradus_emulation_switch(from ? &from->context : &abandoned, &to.context);
  if (asan) __sanitizer_finish_switch_fiber(from->fake_stack, nullptr, nullptr);
}

void switch_to_thread(Fiber* from, int next) {
  Thread& thread = block.thread[next];
  if (warp_of(next).fresh & bit(next)) {
    thread.fiber = take_fiber(next);
    prepare(*thread.fiber, fiber_main);
  }
  make_current(next);
  if (has_tsan()) tsan_switch(thread_tsan_fiber(next));
  switch_stack(from, *thread.fiber);
}

[[noreturn]] void go_home() {
  tsan_switch(home_tsan_fiber);
  switch_stack(nullptr, home);
  std::abort();  // nobody comes back
}

[[noreturn]] void fail_here(Failure::Kind kind, const Site& site = {}) {
  fail({.kind = kind, .site = site, .thread = block.current});
}

void begin_block() {
  const uint64_t n = next_block();
  const dim3& grid = block.launch->grid;
  blockIdx = {static_cast<unsigned>(n % grid.x), static_cast<unsigned>(n / grid.x % grid.y),
              static_cast<unsigned>(n / grid.x / grid.y)};
  block.alive = block.threads;
  block.arrived = 0;
  block.mixed = false;
  block.ready_warps = block.warps == 32 ? ~0u : (1u << block.warps) - 1;
  for (int w = 0; w < block.warps; ++w) {
    const int lanes = block.threads - w * kLanes;
    Warp& warp = block.warp[w];
    warp.ready = warp.fresh = lanes >= kLanes ? ~0u : (1u << lanes) - 1;
    warp.gone = ~warp.ready;
    warp.at_barrier = 0;
    warp.record_count = 0;
  }
  note_progress();
  if (has_tsan()) begin_thread_fibers_block();
  begin_shared_block(block.launch->shared);
}

void begin_thread(int thread) {
  warp_of(thread).fresh &= ~bit(thread);
  block.thread[thread].waiting = Waiting::Nothing;
  if (AsyncCopies* copies = block.thread[thread].copies) copies->open.clear();
  if (has_tsan()) {
    name_thread_fiber(thread);
    block.thread[thread].fenced = false;
    block.thread[thread].atomic_count = 0;
    edge_from_last_block().acquire();
  }
}
void end_thread(int thread) {
  if (has_tsan()) edge_to_next_block().release();
  Warp& warp = warp_of(thread);
  warp.gone |= bit(thread);
  clear_ready(thread);
  --block.alive;
  note_progress();
  if (warp.record_count != 0) finish_without(thread);
}

// What a stack does: runs threads from their beginning, as long as no other stack has one that can go on.
void fiber_main() {
  if (&__sanitizer_finish_switch_fiber != nullptr) {
    const void* bottom = nullptr;
    size_t size = 0;
    __sanitizer_finish_switch_fiber(nullptr, &bottom, &size);
    if (coming_from_home) {
      home.low = static_cast<char*>(const_cast<void*>(bottom));
      home.size = size;
    }
  }
  coming_from_home = false;
  for (;;) {
    const int self = block.current;
    begin_thread(self);
    block.launch->invoke(block.launch->kernel, block.launch->arguments);
    Fiber* fiber = block.thread[self].fiber;
    end_thread(self);
    int next = choose(self, false);
    if (next < 0) {
      if (block.alive != 0) fail_here(Failure::Stuck);
      if (!blocks_left()) {
        give_back_fiber(fiber);
        go_home();
      }
      begin_block();
      next = 0;
    }
    if ((warp_of(next).fresh & bit(next)) && !has_tsan()) {
      block.thread[next].fiber = fiber;
      make_current(next);
    } else {
      give_back_fiber(fiber);
      switch_to_thread(nullptr, next);
    }
  }
}

void number_threads(dim3 shape) {
  static dim3 numbered(0, 0, 0);
  if (numbered.x == shape.x && numbered.y == shape.y && numbered.z == shape.z) return;
  numbered = shape;
  int t = 0;
  for (unsigned z = 0; z < shape.z; ++z) {
    for (unsigned y = 0; y < shape.y; ++y) {
      for (unsigned x = 0; x < shape.x; ++x) block.thread[t++].index = {x, y, z};
    }
  }
}

// After a failure every stack is empty again, whatever was on it.
void abandon_threads() {
  for (int t = 0; t < block.threads; ++t) {
    Fiber*& fiber = block.thread[t].fiber;
    const Warp& warp = warp_of(t);
    const bool has_stack = !(warp.fresh & bit(t)) && (t == block.current || !(warp.gone & bit(t)));
    if (has_stack && fiber != nullptr) {
      unpoison(fiber->low, fiber->size);
      give_back_fiber(fiber);
    }
    fiber = nullptr;
  }
  if (has_tsan()) renew_thread_fibers(block.threads);
}

}  // namespace

void fail(const Failure& failure) {
  block.failure = failure;
  go_home();
}

void wait_here(Waiting waiting, const Site& site, unsigned mask) {
  const int self = block.current;
  Thread& thread = block.thread[self];
  thread.waiting = waiting;
  thread.site = site;
  thread.mask = mask;
  clear_ready(self);
  const int next = choose(self, false);
  if (next < 0) fail_here(Failure::Stuck);
  switch_to_thread(thread.fiber, next);
  thread.waiting = Waiting::Nothing;
}

cudaError_t run_kernel(const Launch& launch, uint64_t stream) {
  block.launch = &launch;
  block.threads = static_cast<int>(launch.block.x * launch.block.y * launch.block.z);
  block.warps = (block.threads + kLanes - 1) / kLanes;
  block.failure.kind = Failure::None;
  blockDim = launch.block;
  gridDim = launch.grid;
  atomics_until_yield = kAtomicsBetweenYields;
  number_threads(launch.block);
  order_blocks(uint64_t{launch.grid.x} * launch.grid.y * launch.grid.z);
  if (has_tsan()) {
    home_tsan_fiber = __tsan_get_current_fiber();
    begin_thread_fibers(stream, block.threads);
  }
  begin_shared();
  if (has_tsan()) release_to_threads();
  begin_block();
  coming_from_home = true;
  prepare_for_faults();
  set_running_kernel(true);
  switch_to_thread(&home, 0);
  set_running_kernel(false);
  if (has_tsan()) acquire_from_threads();
  end_shared();
  if (block.failure.kind == Failure::None) return cudaSuccess;
  report_failure();
  abandon_threads();
  return block.failure.kind == Failure::Fault ? cudaErrorIllegalAddress : cudaErrorLaunchFailure;
}

int block_barrier(Site site, Combine combine, int value) {
  if (block.arrived++ == 0) {
    block.barrier_site = site;
    block.count = 0;
    block.all = 1;
    block.any = 0;
  } else if (!same_site(block.barrier_site, site)) {
    block.mixed = true;
  }
  block.count += value != 0;
  block.all &= value != 0;
  block.any |= value != 0;
  const int parity = block.parity;
  if (has_tsan()) barrier_edge(parity).release();
  if (block.arrived == block.threads && !block.mixed) {
    block.arrived = 0;
    block.parity ^= 1;
    block.result = combine == Combine::Count ? block.count : combine == Combine::And ? block.all : block.any;
    note_progress();
    for (int w = 0; w < block.warps; ++w) {
      set_ready(w, block.warp[w].at_barrier);
      block.warp[w].at_barrier = 0;
    }
  } else {
    warp_of(block.current).at_barrier |= bit(block.current);
    wait_here(Waiting::Barrier, site, 0);
  }
  if (has_tsan()) barrier_edge(parity).acquire();
  return block.result;
}

void thread_fence() {
  if (!has_tsan()) return;
  Thread& thread = block.thread[block.current];
  thread.fenced = true;
  const unsigned known = thread.atomic_count < 4 ? thread.atomic_count : 4;
  for (unsigned i = 0; i < known; ++i) tsan_acquire(const_cast<void*>(thread.atomics[i]));
}

void after_atomic(const void* address) {
  Thread& thread = block.thread[block.current];
  if (thread.fenced) tsan_release(const_cast<void*>(address));
  thread.atomics[thread.atomic_count++ % 4] = address;
  if (--atomics_until_yield == 0) yield();
}

void yield() {
  atomics_until_yield = kAtomicsBetweenYields;
  if (++block.yields > kMostYields) fail_here(Failure::Spinning);
  const int self = block.current;
  const int next = choose(self, true);
  if (next != self) switch_to_thread(block.thread[self].fiber, next);
}

void trap(Site site) {
  fail_here(Failure::Trap, site);
}

void fail_fault(int signal, const void* address, uintptr_t instruction) {
  fail({.kind = signal == SIGFPE ? Failure::Division : Failure::Fault,
        .thread = block.current,
        .bytes = reinterpret_cast<size_t>(address),
        .instruction = instruction});
}

void fail_shared_memory(const Site& site, size_t bytes) {
  fail({.kind = Failure::TooMuchShared, .site = site, .thread = block.current, .bytes = bytes});
}

}  // namespace gradus_emulation
