// The block that runs: what its warps and threads wait for. Shared by the scheduler and its reports.
#pragma once

#include "async_copies.h"
#include "fibers.h"
#include "gradus_emulation/execution.h"
#include "scheduler.h"

namespace gradus_emulation {

constexpr int kLanes = 32;
constexpr int kMaxWarps = 32;
constexpr int kMaxThreads = 1024;

/// A warp operation that lanes have arrived at.
struct WarpRecord {
  unsigned mask;
  unsigned arrived;
  WarpOperation operation;
  bool is_reduction;
  WarpReduction reduction;
  bool is_signed;
  Site site;
  int edge;  // which of the warp's edges a __syncwarp uses
};

struct Warp {
  unsigned ready;       // lanes that can run
  unsigned fresh;       // of those: have not begun
  unsigned gone;        // lanes that have left the kernel, or that the block does not have
  unsigned at_barrier;  // lanes that wait for the block
  int record_count;
  int syncs;
  WarpRecord records[kLanes];
  uint64_t value[kLanes];
  uint64_t result[kLanes];
  int source[kLanes];       // the lane a shuffle reads
  void* addresses[kLanes];  // of what the lanes do together
};

enum class Waiting : unsigned char { Nothing, Barrier, Warp };
struct Thread {
  Fiber* fiber;
  uint3 index;
  Waiting waiting;
  Site site;            // where it waits
  unsigned mask;        // the warp operation's
  AsyncCopies* copies;  // made when there is one
  // For ThreadSanitizer: a fence was passed, and the atomics that a later fence takes part in.
  bool fenced;
  const void* atomics[4];
  unsigned atomic_count;
};

/// What ended a launch. Text is made of it when no device code runs any more.
struct Failure {
  enum Kind {
    None,
    Stuck,           // no thread can go on
    NotInMask,       // a lane calls a warp operation without being in its mask
    OtherOperation,  // lanes of one mask at different operations
    InactiveLane,    // a shuffle reads a lane that takes no part
    BadWidth,
    TooMuchShared,
    Misaligned,  // an asynchronous copy of `bytes`
    Spinning,
    Trap,
    Fault,  // an address that the kernel may not touch: `bytes`
    Division,
  };
  Kind kind = None;
  Site site = {};
  Site other = {};
  int thread = 0;
  unsigned mask = 0;
  int lane = 0;
  size_t bytes = 0;
  size_t instruction = 0;
};

struct Block {
  const Launch* launch;
  int threads;
  int warps;
  int current;
  int alive;
  unsigned ready_warps;
  Warp warp[kMaxWarps];
  Thread thread[kMaxThreads];
  // The barrier that threads wait at.
  int arrived;
  bool mixed;
  Site barrier_site;
  int count, all, any;
  int result;
  int parity;
  long yields;  // since a thread arrived somewhere, went on or left
  Failure failure;
};
extern Block block;

/// Fills last_report() from `block` and prints it.
void report_failure();
bool same_site(const Site& a, const Site& b);

}  // namespace gradus_emulation
