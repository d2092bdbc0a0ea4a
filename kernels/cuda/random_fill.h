// How random fills hand out draws: as PyTorch does, so that a seed gives the same numbers on a device of the same size.
//
// There are as many threads, at most, as the device holds at once. Each takes blocks of four words from its own
// subsequence and gives the `count` values of one to elements a whole grid apart. Elements are counted in the order in
// which they lie in memory (Note [Order of draws]). What 32 bits cannot address is halved until they can, each part
// with draws of its own.
#pragma once

#include <algorithm>

#include "kernels/cuda/launch.h"
#include "kernels/cuda/philox.h"
#include "kernels/cuda/strided_walk.h"
#include "kernels/view.h"

namespace gradus::inline v0::kernels::cuda {

constexpr unsigned kRandomThreads = 256;

/// `write(char* to, Draw::Value)` makes an element of a value.
template <class Draw, class Write>
__global__ void __launch_bounds__(kRandomThreads, 4)
    random_kernel(char* out, StridedWalk<1, uint32_t> walk, int64_t numel, PhiloxState state, Write write) {
  const int64_t first = static_cast<int64_t>(blockIdx.x) * kRandomThreads + threadIdx.x;
  const int64_t threads = static_cast<int64_t>(gridDim.x) * kRandomThreads;
  PhiloxDraws draws(state, static_cast<uint64_t>(first));
  for (int64_t base = first; base < numel; base += threads * Draw::count) {
    typename Draw::Value value[Draw::count];
    Draw()(draws.next(), value);
#pragma unroll
    for (int i = 0; i < Draw::count; ++i) {
      const int64_t at = base + i * threads;
      if (at >= numel) break;
      int64_t offset[1];
      walk.locate(static_cast<uint32_t>(at), offset);
      write(out + offset[0], value[i]);
    }
  }
}

/// A tensor's dimensions in the order of its memory.
inline WalkDims<1> memory_dims(const ConstView& v) {
  const auto item = static_cast<int64_t>(element_size(v.dtype));
  int order[kMaxWalkDims], n = 0;
  for (int d = v.ndim; d-- > 0;) {
    if (v.sizes[d] == 1) continue;
    int i = n++;
    for (; i > 0 && v.strides[d] < v.strides[order[i - 1]]; --i) order[i] = order[i - 1];
    order[i] = d;
  }
  WalkDims<1> dims;
  for (int i = 0; i < n; ++i) dims.add(v.sizes[order[i]], {v.strides[order[i]] * item});
  return dims;
}

/// How many blocks draw for `numel` elements, and how many words each thread may take.
struct RandomGrid {
  unsigned blocks;
  uint64_t words;
};
inline RandomGrid random_grid(int64_t numel, int count) {
  const Context& c = context();
  const int64_t most = static_cast<int64_t>(c.multiprocessors) * (c.threads_per_multiprocessor / kRandomThreads);
  const int64_t blocks = std::min(most, ceil_div(numel, kRandomThreads));
  return {static_cast<unsigned>(blocks), static_cast<uint64_t>(ceil_div(numel, blocks * kRandomThreads * count)) * 4};
}

inline gradus::cuda::CUDAGeneratorImpl& cuda_generator(GeneratorImpl& g) {
  return static_cast<gradus::cuda::CUDAGeneratorImpl&>(g);
}

/// Fills a part of a tensor, with draws reserved for it.
template <class Draw, class Write>
void random_fill_part(const char* name, char* out, const WalkDims<1>& dims, GeneratorImpl& g, const Write& write) {
  const int64_t numel = dims.numel();
  const RandomGrid grid = random_grid(numel, Draw::count);
  launch(name, random_kernel<Draw, Write>, grid.blocks, kRandomThreads, 0, out, StridedWalk<1, uint32_t>(dims), numel,
         cuda_generator(g).reserve(grid.words), write);
}

/// Calls part(out, dims) for parts that 32 bits address, halves of the longest dimension of what they do not.
template <class Part>
void for_random_parts(char* out, WalkDims<1> dims, const Part& part) {
  const auto extent = [&](int d) { return (dims.size[d] - 1) * dims.stride[0][d]; };
  int64_t last = 0;
  int longest = dims.ndim - 1;
  for (int d = dims.ndim; d-- > 0;) {
    last += extent(d);
    if (extent(d) > extent(longest)) longest = d;
  }
  if (dims.numel() <= INT32_MAX && last < INT32_MAX) return part(out, dims);
  const int64_t half = dims.size[longest] / 2, rest = dims.size[longest] - half;
  dims.size[longest] = half;
  for_random_parts(out, dims, part);
  dims.size[longest] = rest;
  for_random_parts(out + half * dims.stride[0][longest], dims, part);
}

template <class Draw, class Write>
void random_fill(const char* name, const View& out, GeneratorImpl& g, const Write& write) {
  const WalkDims<1> dims = memory_dims(out);
  bool whole = false;
  for_random_parts(out.as<char>(), dims, [&](char*, const WalkDims<1>& d) { whole = d.numel() == dims.numel(); });
  // PyTorch reserves draws for a tensor and then, where it is cut, again for each part.
  if (!whole) cuda_generator(g).reserve(random_grid(dims.numel(), Draw::count).words);
  for_random_parts(out.as<char>(), dims,
                   [&](char* p, const WalkDims<1>& d) { random_fill_part<Draw>(name, p, d, g, write); });
}

}  // namespace gradus::inline v0::kernels::cuda
