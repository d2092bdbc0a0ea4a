#include "kernels/cuda/convolution_bias.h"

#include <algorithm>

#include "kernels/cuda/launch.h"
#include "kernels/cuda/numeric.h"
#include "kernels/cuda/scratch.h"
#include "kernels/visit.h"

namespace gradus::inline v0::kernels::cuda {

namespace {

constexpr int kThreads = 256;

/// Packs of N elements. `inner` packs in a row have one channel; if that is 0, a pack's elements have N channels.
template <class T, class I, int N>
__global__ void __launch_bounds__(kThreads)
    add_to_channels(I packs, I inner, I channels, Pack<T, N>* image, const T* bias, int64_t bias_stride) {
  const I step = static_cast<I>(gridDim.x) * kThreads;
  for (I i = static_cast<I>(blockIdx.x) * kThreads + static_cast<I>(threadIdx.x); i < packs; i += step) {
    const I channel = inner > 0 ? i / inner % channels : i % (channels / N) * N;
    Pack<T, N> pack = image[i];
#pragma unroll
    for (int j = 0; j < N; ++j) {
      const T* b = bias + static_cast<int64_t>(channel + (inner > 0 ? 0 : j)) * bias_stride;
      pack.at[j] = narrow<T>(widen(pack.at[j]) + load(b));
    }
    image[i] = pack;
  }
}

template <class T, int N>
void launch_add(const BiasedImage& s, void* image, const void* bias, int64_t bias_stride) {
  const int64_t packs = s.batch * s.channels * s.positions / N;
  const int64_t inner = s.channels_last && s.channels % N == 0 && N > 1 ? 0 : s.channels_last ? 1 : s.positions / N;
  const dim3 blocks(blocks_for(packs, kThreads));
  auto* const to = static_cast<Pack<T, N>*>(image);
  if (packs <= INT32_MAX) {
    launch("add_bias", add_to_channels<T, uint32_t, N>, blocks, dim3(kThreads), 0, static_cast<uint32_t>(packs),
           static_cast<uint32_t>(inner), static_cast<uint32_t>(s.channels), to, static_cast<const T*>(bias),
           bias_stride);
  } else {
    launch("add_bias", add_to_channels<T, uint64_t, N>, blocks, dim3(kThreads), 0, static_cast<uint64_t>(packs),
           static_cast<uint64_t>(inner), static_cast<uint64_t>(s.channels), to, static_cast<const T*>(bias),
           bias_stride);
  }
}

// Channel sums in two steps, so that few channels fill the device too: blocks sum slices of the image, then a thread
// adds a channel's slices up in order.

constexpr int kLanes = 32, kRows = 8;

/// Channels innermost: block (x, y) has kLanes channels and every gridDim.y-th row of kRows.
template <class T>
__global__ void __launch_bounds__(kLanes* kRows)
    sum_last(int64_t rows, int64_t channels, const T* image, Compute<T>* partial) {
  GRADUS_SHARED(Compute<T>, sums, [kRows][kLanes]);
  const int x = static_cast<int>(threadIdx.x), y = static_cast<int>(threadIdx.y);
  const int64_t channel = int64_t{blockIdx.x} * kLanes + x;
  Compute<T> sum = 0;
  if (channel < channels) {
    const int64_t step = int64_t{gridDim.y} * kRows;
#pragma unroll 4
    for (int64_t r = int64_t{blockIdx.y} * kRows + y; r < rows; r += step) sum += load(image + r * channels + channel);
  }
  sums[y][x] = sum;
  __syncthreads();
  if (y == 0 && channel < channels) {
    for (int i = 1; i < kRows; ++i) sum += sums[i][x];
    partial[blockIdx.y * channels + channel] = sum;
  }
}

/// Contiguous: block (x, y) has channel x and a slice of its batch * positions elements.
template <class T>
__global__ void __launch_bounds__(kThreads)
    sum_contiguous(int64_t batch, int64_t channels, int64_t positions, const T* image, Compute<T>* partial) {
  GRADUS_SHARED(Compute<T>, sums, [kThreads]);
  const int t = static_cast<int>(threadIdx.x);
  const int64_t step = int64_t{gridDim.y} * kThreads;
  for (int64_t channel = blockIdx.x; channel < channels; channel += gridDim.x) {
    Compute<T> sum = 0;
#pragma unroll 4
    for (int64_t i = int64_t{blockIdx.y} * kThreads + t; i < batch * positions; i += step) {
      const int64_t image_index = i / positions;
      sum += load(image + (image_index * channels + channel) * positions + i - image_index * positions);
    }
    sums[t] = sum;
    __syncthreads();
    for (int half = kThreads / 2; half > 0; half /= 2) {
      if (t < half) sums[t] += sums[t + half];
      __syncthreads();
    }
    if (t == 0) partial[blockIdx.y * channels + channel] = sums[0];
    __syncthreads();
  }
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    sum_slices(int64_t slices, int64_t channels, const Compute<T>* partial, T* grad_bias, int64_t bias_stride) {
  const int64_t step = int64_t{gridDim.x} * kThreads;
  for (int64_t c = int64_t{blockIdx.x} * kThreads + threadIdx.x; c < channels; c += step) {
    Compute<T> sum = 0;
    for (int64_t i = 0; i < slices; ++i) sum += partial[i * channels + c];
    store(grad_bias + c * bias_stride, sum);
  }
}

template <class T>
__global__ void __launch_bounds__(kThreads) add_each(int64_t count, T* to, const T* from) {
  const int64_t step = int64_t{gridDim.x} * kThreads;
  for (int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x; i < count; i += step) {
    store(to + i, load(to + i) + load(from + i));
  }
}

}  // namespace

void add_bias(const BiasedImage& s, void* image, const void* bias, int64_t bias_stride) {
  visit_floating(s.dtype, [&]<class T>() {
    constexpr int kPack = kPackSize<T>;
    const bool aligned = reinterpret_cast<uintptr_t>(image) % 16 == 0;
    const bool packs = (s.channels_last ? s.channels : s.positions) % kPack == 0;
    if (aligned && packs) {
      launch_add<T, kPack>(s, image, bias, bias_stride);
    } else {
      launch_add<T, 1>(s, image, bias, bias_stride);
    }
  });
}

void sum_channels(const BiasedImage& s, void* grad_bias, int64_t bias_stride, const void* image) {
  const int64_t terms = s.batch * s.positions;
  const int64_t across = s.channels_last ? ceil_div(s.channels, kLanes) : std::min<int64_t>(s.channels, 65535);
  const int64_t per_slice = s.channels_last ? 4 * kRows : 4 * kThreads;  // at least four loads a thread
  const int64_t wanted = ceil_div(int64_t{context().multiprocessors} * 8, across);
  const int64_t slices = std::clamp<int64_t>(ceil_div(terms, per_slice), 1, std::min<int64_t>(wanted, 1024));
  const dim3 grid(static_cast<unsigned>(across), static_cast<unsigned>(slices));
  visit_floating(s.dtype, [&]<class T>() {
    const Scratch partial(static_cast<size_t>(slices * s.channels) * sizeof(Compute<T>));
    auto* const sums = partial.as<Compute<T>>();
    if (s.channels_last) {
      launch("sum_channels_last", sum_last<T>, grid, dim3(kLanes, kRows), 0, terms, s.channels,
             static_cast<const T*>(image), sums);
    } else {
      launch("sum_channels", sum_contiguous<T>, grid, dim3(kThreads), 0, s.batch, s.channels, s.positions,
             static_cast<const T*>(image), sums);
    }
    launch("sum_channel_slices", sum_slices<T>, dim3(blocks_for(s.channels, kThreads)), dim3(kThreads), 0, slices,
           s.channels, sums, static_cast<T*>(grad_bias), bias_stride);
  });
}

void add_elements(ScalarType dtype, int64_t count, void* to, const void* from) {
  visit_floating(dtype, [&]<class T>() {
    launch("add_elements", add_each<T>, dim3(blocks_for(count, kThreads)), dim3(kThreads), 0, count,
           static_cast<T*>(to), static_cast<const T*>(from));
  });
}

}  // namespace gradus::inline v0::kernels::cuda
