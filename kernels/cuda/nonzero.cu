// What is not zero: counted, and listed in order. A tile is a block's share; its elements lie with its warps in order.
#include <type_traits>

#include "kernels/cuda/block_scan.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/numeric.h"
#include "kernels/cuda/scratch.h"
#include "kernels/cuda/strided_walk.h"
#include "kernels/indexing.h"
#include "kernels/visit.h"

namespace gradus::inline v0::kernels::cuda {

namespace {

constexpr unsigned kThreads = 256, kWarps = kThreads / kWarp;
constexpr int kRounds = 16;  // elements of each thread
constexpr int64_t kTile = kThreads * kRounds;

// Of a T, an element as bits, those under `mask`: all but the signs of floating numbers.
template <class T>
__device__ bool not_zero(T v, uint64_t mask) {
  if constexpr (std::is_same_v<T, Bytes16>) {
    return ((v.halves[0] | v.halves[1]) & mask) != 0;
  } else {
    return (v & mask) != 0;
  }
}

/// A bit for each element of a round that is there and is not zero.
template <class T>
struct Marks {
  const char* data;
  StridedWalk<1, uint64_t> walk;
  int64_t numel;
  uint64_t mask;
  __device__ unsigned operator()(int64_t at) const {
    bool set = false;
    if (at < numel) {
      int64_t offset[1];
      walk.locate(static_cast<uint64_t>(at), offset);
      set = not_zero(*reinterpret_cast<const T*>(data + offset[0]), mask);
    }
    return __ballot_sync(0xffffffffu, set);
  }
};

// The first element of this thread's warp in a tile.
__device__ int64_t first_of_warp(int64_t tile) {
  return tile * kTile + static_cast<int64_t>(threadIdx.x / kWarp) * (kWarp * kRounds);
}

/// Into counts[tile], and all of them into *total where it is not null.
template <class T>
__global__ void __launch_bounds__(kThreads)
    count_marks(Marks<T> marks, uint32_t* counts, unsigned long long* total, int64_t tiles) {
  GRADUS_SHARED(uint32_t, partial, [kWarps]);
  const unsigned lane = threadIdx.x % kWarp;
  unsigned long long sum = 0;
  for (int64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    const int64_t first = first_of_warp(tile) + lane;
    uint32_t count = 0;
#pragma unroll
    for (int r = 0; r < kRounds; ++r) count += static_cast<uint32_t>(__popc(marks(first + r * kWarp)));
    if (lane == 0) partial[threadIdx.x / kWarp] = count;
    __syncthreads();
    if (threadIdx.x == 0) {
      uint32_t here = 0;
      for (unsigned w = 0; w < kWarps; ++w) here += partial[w];
      if (counts != nullptr) counts[tile] = here;
      sum += here;
    }
    __syncthreads();
  }
  if (threadIdx.x == 0 && total != nullptr && sum != 0) atomicAdd(total, sum);
}

/// One block: counts become sums over the tiles before.
__global__ void sum_counts(const uint32_t* counts, int64_t* before, int64_t tiles) {
  GRADUS_SHARED(int64_t, partial, [2][32]);
  int64_t running = 0, all;
  int turn = 0;
  for (int64_t base = 0; base < tiles; base += blockDim.x, turn ^= 1) {
    const int64_t tile = base + threadIdx.x;
    const int64_t count = tile < tiles ? counts[tile] : 0;
    const int64_t sum = block_exclusive_sum(count, partial[turn], &all);
    if (tile < tiles) before[tile] = running + sum;
    running += all;
  }
}

/// A tensor's sizes, innermost first.
struct Sizes {
  int ndim;
  IndexDivider<uint64_t> size[kMaxWalkDims];
};

template <class T>
__global__ void __launch_bounds__(kThreads)
    list_marks(Marks<T> marks, const int64_t* before, Sizes sizes, int64_t* to, int64_t count, int64_t tiles) {
  GRADUS_SHARED(uint32_t, partial, [2][kWarps]);
  const unsigned lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
  int turn = 0;
  for (int64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x, turn ^= 1) {
    const int64_t first = first_of_warp(tile) + lane;
    unsigned mark[kRounds];
    uint32_t here = 0;
#pragma unroll
    for (int r = 0; r < kRounds; ++r) {
      mark[r] = marks(first + r * kWarp);
      here += static_cast<uint32_t>(__popc(mark[r]));
    }
    if (lane == 0) partial[turn][warp] = here;
    __syncthreads();
    int64_t place = before[tile];
    for (unsigned w = 0; w < warp; ++w) place += partial[turn][w];
#pragma unroll
    for (int r = 0; r < kRounds; ++r) {
      if (mark[r] >> lane & 1) {
        const int64_t row = place + __popc(mark[r] & ((1u << lane) - 1));
        auto at = static_cast<uint64_t>(first + r * kWarp);
        // Beyond `count` the data changed since it was counted.
        for (int d = 0; row < count && d < sizes.ndim; ++d) {
          const uint64_t rest = sizes.size[d].quotient(at);
          to[static_cast<int64_t>(sizes.ndim - 1 - d) * count + row] =
              static_cast<int64_t>(at - rest * sizes.size[d].divisor);
          at = rest;
        }
      }
      place += __popc(mark[r]);
    }
  }
}

// All bits of an element but the sign, in each part of a complex number.
uint64_t bits_not_sign(ScalarType t) {
  if (!is_floating_point(t) && !is_complex(t)) return ~uint64_t{0};
  switch (element_size(to_real(t))) {
    case 2:
      return 0x7fff7fff7fff7fffu;
    case 4:
      return 0x7fffffff7fffffffu;
    default:
      return 0x7fffffffffffffffu;
  }
}

template <class T>
Marks<T> marks_of(const ConstView& v) {
  WalkDims<1> dims;
  for (int d = v.ndim; d-- > 0;) dims.add(v.sizes[d], {v.strides[d] * static_cast<int64_t>(sizeof(T))});
  return {static_cast<const char*>(v.data), StridedWalk<1, uint64_t>(dims), numel_of(v), bits_not_sign(v.dtype)};
}

unsigned tile_blocks(int64_t tiles) {
  return static_cast<unsigned>(std::min<int64_t>(tiles, blocks_for(tiles * kThreads, kThreads, 2)));
}

int64_t count_nonzero_of(ConstView self) {
  const int64_t numel = numel_of(self);
  if (numel == 0) return 0;
  const int64_t tiles = ceil_div(numel, kTile);
  const Scratch memory(sizeof(unsigned long long));
  auto* total = memory.as<unsigned long long>();
  const cudaStream_t stream = context().stream;
  check(cudaMemsetAsync(total, 0, sizeof *total, stream), "count_nonzero");
  const unsigned blocks = tile_blocks(tiles);
  visit_width(element_size(self.dtype), [&]<class T>() {
    launch("count_nonzero", count_marks<T>, blocks, kThreads, 0, marks_of<T>(self), nullptr, total, tiles);
  });
  unsigned long long result = 0;
  check(cudaMemcpyAsync(&result, total, sizeof result, cudaMemcpyDeviceToHost, stream), "count_nonzero");
  check(cudaStreamSynchronize(stream), "count_nonzero");
  return static_cast<int64_t>(result);
}

void list_nonzero(ConstView self, int64_t* to, int64_t count) {
  const int64_t numel = numel_of(self);
  if (numel == 0 || count == 0) return;
  const int64_t tiles = ceil_div(numel, kTile);
  const Scratch memory(static_cast<size_t>(tiles) * (sizeof(int64_t) + sizeof(uint32_t)));
  auto* before = memory.as<int64_t>();
  auto* counts = reinterpret_cast<uint32_t*>(before + tiles);
  Sizes sizes{};
  sizes.ndim = self.ndim;
  for (int d = 0; d < self.ndim; ++d)
    sizes.size[d] = IndexDivider<uint64_t>(static_cast<uint64_t>(self.sizes[self.ndim - 1 - d]));
  visit_width(element_size(self.dtype), [&]<class T>() {
    const unsigned blocks = tile_blocks(tiles);
    const Marks<T> marks = marks_of<T>(self);
    launch("count_nonzero", count_marks<T>, blocks, kThreads, 0, marks, counts, nullptr, tiles);
    launch("sum_counts", sum_counts, 1, 1024, 0, counts, before, tiles);
    launch("nonzero", list_marks<T>, blocks, kThreads, 0, marks, before, sizes, to, count, tiles);
  });
}

}  // namespace

GRADUS_CUDA_KERNEL(count_nonzero, count_nonzero_of)
GRADUS_CUDA_KERNEL(nonzero, list_nonzero)

}  // namespace gradus::inline v0::kernels::cuda
