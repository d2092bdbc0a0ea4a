// Sums over the threads before this one.
#pragma once

#include "kernels/cuda/device.h"

namespace gradus::inline v0::kernels::cuda {

/// The sum of `value` over the lanes up to and with this one, in a warp all of whose lanes take part.
template <class T>
__device__ inline T warp_inclusive_sum(T value) {
  const unsigned lane = threadIdx.x % 32;
  for (unsigned step = 1; step < 32; step *= 2) {
    const T before = __shfl_up_sync(0xffffffffu, value, step);
    if (lane >= step) value += before;
  }
  return value;
}

/// The sum of `value` over the block's threads before this one, and in `total` over all. `partial` is shared memory for
/// a number of each warp, free to be used again after the next barrier. All of the block's threads, whole warps in one
/// dimension, take part.
template <class T>
__device__ inline T block_exclusive_sum(T value, T* partial, T* total) {
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
  const T inclusive = warp_inclusive_sum(value);
  if (lane == 31) partial[warp] = inclusive;
  __syncthreads();
  T before = 0, all = 0;
  for (unsigned w = 0; w < warps; ++w) {
    if (w < warp) before += partial[w];
    all += partial[w];
  }
  *total = all;
  return before + inclusive - value;
}

}  // namespace gradus::inline v0::kernels::cuda
