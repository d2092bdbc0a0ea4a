// What the threads of a group know together: a part of a warp, a warp or a block.
#pragma once

#include <cstring>
#include <type_traits>

#include "kernels/cuda/launch.h"
#include "kernels/cuda/numeric.h"

namespace gradus::inline v0::kernels::cuda {

constexpr unsigned kAllLanes = 0xffffffffu;

/// The value of the lane whose number differs in the bits of `mask`. Structs travel in 32-bit words.
template <class T>
__device__ inline T shuffle_xor(const T& v, int mask) {
  if constexpr (std::is_arithmetic_v<T>) {
    return __shfl_xor_sync(kAllLanes, v, mask);
  } else {
    static_assert(sizeof(T) % 4 == 0);
    uint32_t words[sizeof(T) / 4];
    std::memcpy(words, &v, sizeof(T));
    for (uint32_t& w : words) w = __shfl_xor_sync(kAllLanes, w, mask);
    T other;
    std::memcpy(&other, words, sizeof(T));
    return other;
  }
}

/// All of `width` neighbouring lanes (a power of two) joined in pairs; every lane gets the same bits.
template <class T, class F>
__device__ inline T warp_reduce(T v, int width, const F& combine) {
#pragma unroll 1
  for (int m = 1; m < width; m *= 2) {
    const T other = shuffle_xor(v, m);
    if constexpr (std::is_arithmetic_v<T>) {
      v = combine(v, other);
    } else {
      v = threadIdx.x & static_cast<unsigned>(m) ? combine(other, v) : combine(v, other);
    }
  }
  return v;
}

/// The same over `width` neighbouring threads of a one-dimensional block, a power of two that is the block's or divides
/// it. `shared` has a place for each warp; the whole block must come here where width is above a warp's.
template <class T, class F>
__device__ inline T group_reduce(T v, int width, const F& combine, T* shared) {
  v = warp_reduce(v, width < kWarp ? width : kWarp, combine);
  if (width <= kWarp) return v;
  const int warps = width / kWarp, warp = static_cast<int>(threadIdx.x) / kWarp;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  __syncthreads();  // what was there before has been read
  if (lane == 0) shared[warp] = v;
  __syncthreads();
  return warp_reduce(shared[(warp & -warps) + (lane & (warps - 1))], warps, combine);
}

struct Plus {
  template <class T>
  __device__ T operator()(T a, T b) const {
    return a + b;
  }
};
/// The larger; of a number and a NaN, the number.
struct Larger {
  __device__ float operator()(float a, float b) const { return fmaxf(a, b); }
  __device__ double operator()(double a, double b) const { return fmax(a, b); }
};

/// A sum of floats and what its roundings lost (Knuth's TwoSum), so that a long sum is as good as a short one.
template <class C>
struct LongSum {
  C sum, lost;
  __device__ C value() const { return lost == lost ? sum + lost : sum; }  // infinities leave NaN
};
template <class C>
__device__ inline LongSum<C> join(const LongSum<C>& a, const LongSum<C>& b) {
  const C sum = a.sum + b.sum, of_b = sum - a.sum;
  return {sum, a.lost + b.lost + ((a.sum - (sum - of_b)) + (b.sum - of_b))};
}

/// Mean and sum of squared deviations of `count` numbers.
template <class C>
struct Moments {
  C count, mean, squares;
};
/// Joined without loss (Chan's formula).
template <class C>
__device__ inline Moments<C> join(const Moments<C>& a, const Moments<C>& b) {
  if (b.count == 0) return a;
  if (a.count == 0) return b;
  const C count = a.count + b.count, part = b.count / count, delta = b.mean - a.mean;
  return {count, a.mean + delta * part, a.squares + b.squares + delta * delta * (a.count * part)};
}
struct Join {
  template <class A>
  __device__ A operator()(const A& a, const A& b) const {
    return join(a, b);
  }
};

/// map(x[0]), map(x[1]), ... joined on up to four chains side by side.
template <class A, int N, class C, class Map, class F>
__device__ inline A fold(const C (&x)[N], const Map& map, const F& combine) {
  constexpr int kChains = N < 4 ? N : 4;
  static_assert(N % kChains == 0 && (kChains & (kChains - 1)) == 0);
  A chain[kChains];
#pragma unroll
  for (int i = 0; i < kChains; ++i) chain[i] = map(x[i]);
#pragma unroll
  for (int i = kChains; i < N; ++i) chain[i % kChains] = combine(chain[i % kChains], static_cast<A>(map(x[i])));
  if constexpr (kChains == 4) chain[0] = combine(chain[0], chain[2]), chain[1] = combine(chain[1], chain[3]);
  if constexpr (kChains >= 2) chain[0] = combine(chain[0], chain[1]);
  return chain[0];
}

template <class C>
struct SquareAround {
  C mean;
  __device__ C operator()(C x) const { return (x - mean) * (x - mean); }
};
struct Itself {
  template <class C>
  __device__ C operator()(C x) const {
    return x;
  }
};
template <int N, class C>
__device__ inline Moments<C> moments_of(const C (&x)[N]) {
  const C mean = fold<C>(x, Itself(), Plus()) * (C(1) / C(N));
  return {C(N), mean, fold<C>(x, SquareAround<C>{mean}, Plus())};
}

}  // namespace gradus::inline v0::kernels::cuda
