// Running sums.
//
// Note [Regimes of a running sum]
// lines    a warp or a block for each line: every warp adds up 32 neighbours, then the warps' sums.
// columns  a thread for each line, neighbouring threads on neighbouring lines: short lines, and those whose neighbours
// lie
//          closer than their own elements.
// Where lines are too few to fill the device each is cut into pieces: a launch sums them, the next begins each piece
// with the sum of those before it.
#include <cstdlib>
#include <type_traits>

#include <kernels/elementwise.h>
#include <kernels/reduction.h>
#include <kernels/visit.h>

#include "kernels/cuda/block.h"
#include "kernels/cuda/places.h"
#include "kernels/cuda/scratch.h"

namespace gradus::inline v0::kernels::cuda {

namespace {

constexpr int kThreads = 256, kWarps = kThreads / kWarp, kUnroll = 4;
static_assert(kUnroll * kWarps == kWarp, "a warp adds up the sums of all");

// Floats are added in double, 16-bit floats in float, integers wrap in 64 bits.
template <class T>
using Running = std::conditional_t<std::is_same_v<T, float> || std::is_same_v<T, double>, double,
                                   std::conditional_t<std::is_integral_v<T>, uint64_t, float>>;
template <class T>
using OutOf = std::conditional_t<std::is_integral_v<T>, int64_t, T>;

enum class Stage { kWhole, kMeasure, kWrite };

struct Lines {
  char* out;
  const char* in;
  Places<2> places;  // strides in bytes, out and in
  uint32_t lines;
  int64_t n, out_stride, in_stride;
  Stage stage;
  void* partial;  // sums of pieces
  uint32_t pieces;
  int64_t part;  // elements of a piece
};

template <class T>
__device__ inline Running<T> number_at(const char* p) {
  return static_cast<Running<T>>(load(reinterpret_cast<const T*>(p)));
}
template <class T>
__device__ inline void put_number(char* p, Running<T> v) {
  store(reinterpret_cast<OutOf<T>*>(p), v);
}

/// Of each lane, the sum up to and with its own.
template <class R>
__device__ inline R sum_of_lanes_before(R v) {
  const unsigned lane = threadIdx.x % kWarp;
#pragma unroll
  for (unsigned step = 1; step < kWarp; step *= 2) {
    const R other = __shfl_up_sync(kAllLanes, v, step);
    if (lane >= step) v += other;
  }
  return v;
}

/// Turns v[u], numbers of `group` threads each (a warp or the block), into running sums that begin with `carry`, which
/// becomes the last.
template <class R>
__device__ inline void scan(R (&v)[kUnroll], R& carry, bool block, R* shared) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp, warp = static_cast<int>(threadIdx.x) / kWarp;
#pragma unroll
  for (int u = 0; u < kUnroll; ++u) v[u] = sum_of_lanes_before(v[u]);
  if (!block) {
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
      v[u] += carry;
      carry = __shfl_sync(kAllLanes, v[u], kWarp - 1);
    }
    return;
  }
  if (lane == kWarp - 1) {
    for (int u = 0; u < kUnroll; ++u) shared[u * kWarps + warp] = v[u];
  }
  __syncthreads();
  if (warp == 0) {
    const R sum = sum_of_lanes_before(shared[lane]);
    __syncwarp();
    shared[lane] = sum;
  }
  __syncthreads();
#pragma unroll
  for (int u = 0; u < kUnroll; ++u) {
    const int before = u * kWarps + warp - 1;
    v[u] += before < 0 ? carry : carry + shared[before];
  }
  carry += shared[kWarp - 1];
  __syncthreads();
}

/// `group` threads a line, kWarp or kThreads.
template <class T>
__global__ void __launch_bounds__(kThreads, 4) sum_lines(const Lines l, const int group) {
  using R = Running<T>;
  GRADUS_SHARED(R, shared, [kWarp]);
  const int lane = static_cast<int>(threadIdx.x) % group;
  const int64_t item = blockIdx.x * static_cast<int64_t>(kThreads / group) + threadIdx.x / group;
  const bool here = item < static_cast<int64_t>(l.lines) * l.pieces;
  const uint32_t line = here ? static_cast<uint32_t>(item / l.pieces) : 0;
  const int64_t piece = here ? item % l.pieces : 0;
  const auto at = l.places.offsets(line);
  char* out = l.out + at.of[0];
  const char* in = l.in + at.of[1];
  const int64_t begin = piece * l.part, end = here ? (l.n - begin < l.part ? l.n : begin + l.part) : begin;
  R* partial = static_cast<R*>(l.partial) + static_cast<int64_t>(line) * l.pieces;
  R carry = 0;
  if (l.stage == Stage::kMeasure) {
#pragma unroll 4
    for (int64_t i = begin + lane; i < end; i += group) carry += number_at<T>(in + i * l.in_stride);
    carry = group_reduce(carry, group, Plus(), shared);
    if (here && lane == 0) partial[piece] = carry;
    return;
  }
  if (l.stage == Stage::kWrite) {
    for (int64_t i = lane; i < piece; i += group) carry += partial[i];
    carry = group_reduce(carry, group, Plus(), shared);
    __syncthreads();
  }
#pragma unroll 1
  for (int64_t base = begin; base < end; base += int64_t{kUnroll} * group) {
    R v[kUnroll];
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
      const int64_t i = base + u * group + lane;
      v[u] = i < end ? number_at<T>(in + i * l.in_stride) : R(0);
    }
    scan(v, carry, group > kWarp, shared);
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
      const int64_t i = base + u * group + lane;
      if (i < end) put_number<T>(out + i * l.out_stride, v[u]);
    }
  }
}

/// A thread for each piece of each line.
template <class T>
__global__ void __launch_bounds__(kThreads) sum_columns(const Lines l) {
  using R = Running<T>;
  const int64_t item = blockIdx.x * static_cast<int64_t>(kThreads) + threadIdx.x;
  if (item >= static_cast<int64_t>(l.lines) * l.pieces) return;
  const auto line = static_cast<uint32_t>(l.pieces == 1 ? item : item % l.lines);
  const int64_t piece = l.pieces == 1 ? 0 : item / l.lines;
  const auto at = l.places.offsets(line);
  const int64_t begin = piece * l.part, end = l.n - begin < l.part ? l.n : begin + l.part;
  char* out = l.out + at.of[0] + begin * l.out_stride;
  const char* in = l.in + at.of[1] + begin * l.in_stride;
  R* partial = static_cast<R*>(l.partial) + line;
  R sum = 0;
  if (l.stage == Stage::kWrite) {
    for (int64_t i = 0; i < piece; ++i) sum += partial[i * l.lines];
  }
  int64_t i = begin;
#pragma unroll 1
  for (; i + kUnroll <= end; i += kUnroll) {
    R v[kUnroll];
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) v[u] = number_at<T>(in + u * l.in_stride);
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
      sum += v[u];
      if (l.stage != Stage::kMeasure) put_number<T>(out + u * l.out_stride, sum);
    }
    in += kUnroll * l.in_stride;
    out += kUnroll * l.out_stride;
  }
#pragma unroll 1
  for (; i < end; ++i) {
    sum += number_at<T>(in);
    if (l.stage != Stage::kMeasure) put_number<T>(out, sum);
    in += l.in_stride;
    out += l.out_stride;
  }
  if (l.stage == Stage::kMeasure) partial[piece * l.lines] = sum;
}

void cut(Lines& l, int64_t wanted, int64_t least) {
  l.part = ceil_div(l.n, std::max<int64_t>(1, std::min(wanted, l.n / least)));
  l.pieces = static_cast<uint32_t>(ceil_div(l.n, l.part));
}

template <class T, class Kernel, class... A>
void launch_stages(Kernel kernel, Lines& l, int64_t blocks, A... args) {
  const dim3 grid(static_cast<unsigned>(blocks));
  if (l.pieces == 1) return launch("cumsum", kernel, grid, kThreads, 0, l, args...);
  const Scratch partial(sizeof(Running<T>) * l.lines * l.pieces);
  l.partial = partial.as<void>();
  l.stage = Stage::kMeasure;
  launch("cumsum", kernel, grid, kThreads, 0, l, args...);
  l.stage = Stage::kWrite;
  launch("cumsum", kernel, grid, kThreads, 0, l, args...);
}

template <class T>
void sum_all(Lines& l, bool neighbours) {
  const int64_t device = context().multiprocessors;
  if (l.n < kWarp || neighbours) {
    cut(l, device * 1024 / l.lines, 64);
    return launch_stages<T>(&sum_columns<T>, l, ceil_div(int64_t{l.lines} * l.pieces, kThreads));
  }
  const int group = l.n <= 1024 ? kWarp : kThreads;
  cut(l, device * 4 * (kThreads / group) / l.lines, kThreads * kUnroll * 4);
  launch_stages<T>(&sum_lines<T>, l, ceil_div(int64_t{l.lines} * l.pieces, kThreads / group), group);
}

void cumsum_cuda(const Loop& loop, int64_t n, int64_t out_stride, int64_t in_stride) {
  if (loop.numel == 0 || n == 0) return;
  if (loop.numel > kPlacesLimit) {
    // Half of the lines at a time.
    int d = loop.ndim - 1;
    while (loop.sizes[d] == 1) --d;
    Loop half = loop;
    half.sizes[d] = loop.sizes[d] / 2;
    half.numel = loop.numel / loop.sizes[d] * half.sizes[d];
    cumsum_cuda(half, n, out_stride, in_stride);
    for (int k = 0; k < 2; ++k) half.data[k] += half.sizes[d] * loop.strides[d][k];
    half.sizes[d] = loop.sizes[d] - half.sizes[d];
    half.numel = loop.numel - half.numel;
    return cumsum_cuda(half, n, out_stride, in_stride);
  }
  Lines l;
  l.out = loop.data[0];
  l.in = loop.data[1];
  l.places.clear();
  l.lines = static_cast<uint32_t>(loop.numel);
  l.n = n;
  l.out_stride = out_stride;
  l.in_stride = in_stride;
  l.stage = Stage::kWhole;
  l.partial = nullptr;
  bool neighbours = false;
  for (int d = 0; d < loop.ndim; ++d) {
    l.places.add(loop.sizes[d], loop.strides[d][0], loop.strides[d][1]);
    neighbours |= loop.sizes[d] >= 16 && std::abs(loop.strides[d][1]) < std::abs(in_stride);
  }
  visit_numbers(loop.dtype == ScalarType::Bool ? ScalarType::Byte : loop.dtype,
                [&]<class T>() { sum_all<T>(l, neighbours); });
}

}  // namespace

GRADUS_CUDA_KERNEL(cumsum, cumsum_cuda)

}  // namespace gradus::inline v0::kernels::cuda
