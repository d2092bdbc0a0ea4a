// The one door to the device: every kernel is launched here, on the calling thread's current device and stream.
#pragma once

#include <algorithm>
#include <cstdint>

#include <gradus/core/macros.h>

#include "kernels/cuda/device.h"
#include "kernels/table.h"

namespace gradus::inline v0::kernels::cuda {

constexpr int kWarp = 32;

/// Where this thread's kernels run.
struct Context {
  cudaStream_t stream;
  int device;
  int multiprocessors;
  int threads_per_multiprocessor;
  int max_shared;  // bytes a block may ask for
};
/// Of the current device and its current stream. Implemented in src/cuda/runtime.
const Context& context();

/// Throws an Error with CUDA's text: what was called, by which kernel table, on which device; OutOfMemoryError for
/// that. `what` names the call or the kernel.
[[noreturn]] void fail(cudaError_t error, const char* what);
inline void check(cudaError_t error, const char* what) {
  if (error != cudaSuccess) [[unlikely]]
    fail(error, what);
}
/// After every launch: with GRADUS_CUDA_SYNC=1, waits for the kernel and reports its errors.
void launched(const Context& c, const char* kernel);

/// Runs kernel(args...) on `grid` blocks of `block` threads with `shared` bytes of dynamic shared memory. An empty grid
/// launches nothing. `name` is the kernel's, for errors.
template <class... P, class... A>
void launch(const char* name, void (*kernel)(P...), dim3 grid, dim3 block, size_t shared, A... args) {
  if (grid.x == 0 || grid.y == 0 || grid.z == 0) return;
  const Context& c = context();
  if (shared > 48 * 1024) {
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared)), name);
  }
  cudaLaunchConfig_t config = {};
  config.gridDim = grid;
  config.blockDim = block;
  config.dynamicSmemBytes = shared;
  config.stream = c.stream;
  check(cudaLaunchKernelEx(&config, kernel, static_cast<P>(args)...), name);
  launched(c, name);
}

/// Blocks for a grid-stride loop over `work` items, one thread for each: enough to fill the device, `waves` times over.
inline unsigned blocks_for(int64_t work, int threads, int waves = 8) {
  const Context& c = context();
  const int64_t needed = (work + threads - 1) / threads;
  const int64_t full =
      static_cast<int64_t>(c.multiprocessors) * std::max(1, c.threads_per_multiprocessor / threads) * waves;
  return static_cast<unsigned>(std::min<int64_t>({needed, full, INT32_MAX}));
}
constexpr int64_t ceil_div(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

/// Puts a function into a table's CUDA slot when the CUDA library is loaded: GRADUS_CUDA_KERNEL(softmax_forward,
/// forward)
#define GRADUS_CUDA_KERNEL(table, function)                                              \
  namespace {                                                                            \
  [[maybe_unused]] const bool gradus_registered_##table =                                \
      (::gradus::kernels::table.set(::gradus::kernels::Backend::CUDA, &function), true); \
  }

}  // namespace gradus::inline v0::kernels::cuda
