// Runs a kernel: blocks one after another, their threads as fibers.
#pragma once

#include "gradus_emulation/launch.h"
#include "gradus_emulation/runtime.h"
#include "gradus_emulation/testing.h"
#include "sanitizers.h"

namespace gradus_emulation {

struct Launch {
  dim3 grid, block;
  size_t shared;  // dynamic shared memory, in bytes
  AnyFunction kernel;
  Invoke invoke;
  const void* arguments;
};

constexpr size_t kMaxStaticShared = 48 * 1024;
constexpr size_t kMaxShared = 227 * 1024;

/// Runs all of it on the calling thread. cudaErrorLaunchFailure if a detector struck; then `last_report` says why.
/// `stream` tells streams apart.
cudaError_t run_kernel(const Launch& launch, uint64_t stream);

}  // namespace gradus_emulation
