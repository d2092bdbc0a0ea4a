// CUDA on a machine without CUDA: a test-only stand-in, in plain C++, for the header of the same name. Kernel files
// (compiled with `g++ -x c++`) and the host code of the CUDA library are compiled against it unchanged.
//
// How it works
//
// Kernels. A launch copies its arguments; when its turn in the stream comes, blocks run one after another on the host
// thread that happens to drive the stream. The threads of a block are fibers. As long as threads meet no barrier and no
// warp operation they are plain calls one after another on one stack; a thread that has to wait keeps that stack, and
// the next thread gets another. threadIdx and its like are globals, written at each switch. A barrier ends when every
// thread of the block has arrived at the same line; a warp operation when all lanes of its mask that have not exited
// have. When no thread can go on, the launch ends with cudaErrorLaunchFailure and a report that says which threads wait
// where. Source lines come from default arguments: one barrier or warp operation per line.
//
// Shared memory is asked for by two macros and lies in an arena per block, filled with 0xFF (NaN), with red zones that
// AddressSanitizer knows. Device memory is filled with 0xFF, too.
//
// Streams are queues. GRADUS_EMULATION_ORDER says when they run: eager (within the call that enqueues), lazy (only when
// the host waits or asks), random:SEED (any allowed order). The only edges are: enqueue, event record to wait, stream
// to host. GRADUS_EMULATION_BLOCKS=forward|backward|random:SEED orders the blocks of a grid. GRADUS_EMULATED_DEVICES
// (2) says how many devices there are, GRADUS_EMULATED_MEMORY (bytes, 8 GiB) how much each has.
//
// One lock, which ThreadSanitizer does not see, guards all of it: at any time one host thread runs device code.
//
// Host code that touches device memory, and a kernel that touches another device's, fault where the processor has
// protection keys (GRADUS_EMULATION_GUARD=0 turns them off), as they would with CUDA. In a build without sanitizers a
// fault of a kernel ends the launch, with cudaErrorIllegalAddress. Kernels that touch pageable host memory are not
// caught.
//
// Sanitizers. The emulation's own sources are built without them. Under ThreadSanitizer each CUDA thread has a stack
// and a fiber of the sanitizer, in sets that consecutive blocks alternate between, so that it finds races within and
// between blocks; streams have fibers, too. Barriers, __syncwarp and fences around atomics make edges, shuffles and
// votes do not. Two blocks that are not neighbours in the order may share fibers: GRADUS_EMULATION_BLOCKS=random mixes
// the pairs.
//
// Beside this header: <gradus_emulation/testing.h> for tests, <cuda_pipeline.h> (cp.async, done only when waited for),
// <mma.h>, and <cuda_fp16.h>, <cuda_bf16.h> with conversions alone. Every detector has a test with a kernel that is
// wrong on purpose: detectors_*_test.cpp.
#pragma once

#include "gradus_emulation/types.h"
#include "gradus_emulation/runtime.h"
#include "gradus_emulation/execution.h"
#include "gradus_emulation/launch.h"
#include "gradus_emulation/atomics.h"
#include "gradus_emulation/intrinsics.h"
