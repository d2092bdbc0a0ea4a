// Averages over windows of an image: of equal windows, and of those as even as the sizes allow.
#include <type_traits>

#include "kernels/cuda/pooling_shape.h"
#include "kernels/visit.h"

namespace gradus::inline v0::kernels::cuda {

namespace {

constexpr unsigned kThreads = 256;
constexpr int64_t kLargeWindow = 128;  // elements from which on a warp takes a window

/// A window, clipped to the image, and what its sum is divided by.
struct Window {
  int64_t top, bottom, left, right, divisor;
};

/// One dimension of the windows.
struct AverageAlong {
  int64_t size;  // of the image
  bool adaptive;
  // Equal windows.
  int64_t kernel, stride;
  WindowsAlong windows;
  // Adaptive ones.
  IndexDivider<uint64_t> by_size, by_count;

  __device__ void edges(int64_t window, int64_t* begin, int64_t* end, int64_t* padded) const {
    if (adaptive) {
      *begin = quotient(by_count, window * size);
      *end = quotient(by_count, (window + 1) * size + static_cast<int64_t>(by_count.divisor) - 1);
      *padded = *end - *begin;
    } else {
      const int64_t first = window * stride - windows.padding, behind = min(first + kernel, size + windows.padding);
      *padded = behind - first;
      *begin = first > 0 ? first : 0;
      *end = min(behind, size);
    }
  }
  __device__ WindowRange covering(int64_t at) const {
    if (!adaptive) return windows.covering(at);
    const auto count = static_cast<int64_t>(by_count.divisor);
    return {quotient(by_size, at * count), quotient(by_size, (at + 1) * count + size - 1) - 1};
  }

 private:
  static __device__ int64_t quotient(const IndexDivider<uint64_t>& by, int64_t n) {
    return static_cast<int64_t>(by.quotient(static_cast<uint64_t>(n)));
  }
};

struct AverageWindows {
  AverageAlong y, x;
  AverageDivisor divisor;
  __device__ Window window(int64_t window_y, int64_t window_x) const {
    Window w;
    int64_t padded_y, padded_x;
    y.edges(window_y, &w.top, &w.bottom, &padded_y);
    x.edges(window_x, &w.left, &w.right, &padded_x);
    const int64_t inside = (w.bottom - w.top) * (w.right - w.left);
    w.divisor = divisor.override ? divisor.override : divisor.count_include_pad ? padded_y * padded_x : inside;
    return w;
  }
};

AverageAlong along(const PoolingGeometry* g, int dim, int64_t size, int64_t count) {
  AverageAlong a{};
  a.size = size;
  a.adaptive = g == nullptr;
  if (g != nullptr) {
    a.kernel = g->kernel[dim], a.stride = g->stride[dim];
    a.windows = windows_along(*g, dim, count);
  }
  a.by_size = IndexDivider<uint64_t>(static_cast<uint64_t>(size));
  a.by_count = IndexDivider<uint64_t>(static_cast<uint64_t>(count));
  return a;
}
AverageWindows windows_of(const PoolingShape& shape, const PoolingGeometry* g, AverageDivisor divisor) {
  return {along(g, 0, shape.in.height, shape.out.height), along(g, 1, shape.in.width, shape.out.width), divisor};
}

/// a + b; integers wrap.
template <class W>
__device__ W plus(W a, W b) {
  if constexpr (std::is_integral_v<W>) {
    return static_cast<W>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  } else {
    return a + b;
  }
}

/// A thread averages a pack of channels.
template <class T, int kPack>
__global__ void __launch_bounds__(kThreads)
    average_forward(const Pack<T, kPack>* in, Pack<T, kPack>* out, PoolingShape shape, AverageWindows windows) {
  using C = Compute<T>;
  const int64_t total = shape.out_packs(), step = static_cast<int64_t>(gridDim.x) * kThreads;
  for (int64_t at = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; at < total; at += step) {
    const PoolingPixel p = shape.out.pixel(at);
    const Window w = windows.window(p.y, p.x);
    C sum[kPack];
#pragma unroll
    for (int k = 0; k < kPack; ++k) sum[k] = C(0);
    for (int64_t y = w.top; y < w.bottom; ++y) {
      C part[kPack];
#pragma unroll
      for (int k = 0; k < kPack; ++k) part[k] = C(0);
      for (int64_t x = w.left; x < w.right; ++x) {
        const Pack<T, kPack> pack = in[shape.in.element(p.image, y, x, p.channel)];
#pragma unroll
        for (int k = 0; k < kPack; ++k) part[k] = plus(part[k], widen(pack.at[k]));
      }
#pragma unroll
      for (int k = 0; k < kPack; ++k) sum[k] = plus(sum[k], part[k]);
    }
    const bool empty = w.top >= w.bottom || w.left >= w.right;
    Pack<T, kPack> result;
#pragma unroll
    for (int k = 0; k < kPack; ++k)
      result.at[k] = narrow<T>(empty ? C(0) : static_cast<C>(sum[k] / static_cast<C>(w.divisor)));
    out[at] = result;
  }
}

/// A warp averages a window of an image of one channel: for windows so large that there are few of them.
template <class T>
__global__ void __launch_bounds__(kThreads)
    average_by_warps(const T* in, T* out, PoolingShape shape, AverageWindows windows) {
  using C = Compute<T>;
  const int64_t warps = static_cast<int64_t>(gridDim.x) * (kThreads / kWarp), total = shape.out_packs();
  const int lane = static_cast<int>(threadIdx.x % kWarp);
  for (int64_t at = static_cast<int64_t>(blockIdx.x) * (kThreads / kWarp) + threadIdx.x / kWarp; at < total;
       at += warps) {
    const PoolingPixel p = shape.out.pixel(at);
    const Window w = windows.window(p.y, p.x);
    const int64_t width = w.right - w.left, inside = w.bottom > w.top && width > 0 ? (w.bottom - w.top) * width : 0;
    C sum = C(0);
    // Row by row, 32 neighbours at a time.
    int64_t y = w.top, x = w.left + lane;
    for (int64_t i = lane; i < inside; i += kWarp) {
      while (x >= w.right) x -= width, ++y;
      sum = plus(sum, widen(in[shape.in.element(p.image, y, x, 0)]));
      x += kWarp;
    }
    for (int step = kWarp / 2; step > 0; step /= 2) {
      const C other = __shfl_xor_sync(0xffffffffu, sum, step);
      sum = plus(sum, other);
    }
    if (lane == 0) out[at] = narrow<T>(inside == 0 ? C(0) : static_cast<C>(sum / static_cast<C>(w.divisor)));
  }
}

/// A thread sums over the windows that cover a place of the image, for a pack of channels.
template <class T, int kPack>
__global__ void __launch_bounds__(kThreads) average_backward(Pack<T, kPack>* grad_in, const Pack<T, kPack>* grad_out,
                                                             PoolingShape shape, AverageWindows windows) {
  using C = Compute<T>;
  const int64_t total = shape.in_packs(), step = static_cast<int64_t>(gridDim.x) * kThreads;
  for (int64_t at = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; at < total; at += step) {
    const PoolingPixel p = shape.in.pixel(at);
    const WindowRange ys = windows.y.covering(p.y), xs = windows.x.covering(p.x);
    C sum[kPack];
#pragma unroll
    for (int k = 0; k < kPack; ++k) sum[k] = C(0);
    for (int64_t y = ys.first; y <= ys.last; ++y) {
#pragma unroll 1
      for (int64_t x = xs.first; x <= xs.last; ++x) {
        const auto divisor = static_cast<C>(windows.window(y, x).divisor);
        const Pack<T, kPack> pack = grad_out[shape.out.element(p.image, y, x, p.channel)];
#pragma unroll
        for (int k = 0; k < kPack; ++k) sum[k] += widen(pack.at[k]) / divisor;
      }
    }
    Pack<T, kPack> result;
#pragma unroll
    for (int k = 0; k < kPack; ++k) result.at[k] = narrow<T>(sum[k]);
    grad_in[at] = result;
  }
}

// run.template operator()<T, pack>() with the shape's pack.
template <class T, class Run>
void with_pack(const PoolingShape& shape, const Run& run) {
  if constexpr (kPackSize < T >> 1 && std::is_floating_point_v<Compute<T>>) {
    if (shape.pack > 1) return run.template operator()<kPackSize<T>>();
  }
  run.template operator()<1>();
}

/// `g` is null for adaptive windows.
void forward(const char* name, View output, ConstView input, const PoolingGeometry* g, AverageDivisor divisor) {
  if (numel_of(output) == 0) return;
  const auto average = [&]<class T>() {
    const PoolingShape shape(input, output, std::is_integral_v<T> ? 1 : kPackSize<T>, {output.data, input.data});
    // Windows of the least size; an image that is smaller has one or few.
    const int64_t least = g ? std::min(g->kernel[0], shape.in.height) * std::min(g->kernel[1], shape.in.width)
                            : shape.in.height / shape.out.height * (shape.in.width / shape.out.width);
    if (shape.out.channels == 1 && shape.pack == 1 && least >= kLargeWindow) {
      launch(name, average_by_warps<T>, blocks_for(shape.out_packs() * kWarp, kThreads), kThreads, 0, input.as<T>(),
             output.as<T>(), shape, windows_of(shape, g, divisor));
      return;
    }
    with_pack<T>(shape, [&]<int kPack>() {
      using Elements = Pack<T, kPack>;
      launch(name, average_forward<T, kPack>, blocks_for(shape.out_packs(), kThreads), kThreads, 0,
             input.as<Elements>(), output.as<Elements>(), shape, windows_of(shape, g, divisor));
    });
  };
  if (input.dtype == ScalarType::Long) return average.operator()<int64_t>();
  visit_floating(input.dtype, average);
}

void backward(const char* name, View grad_input, ConstView grad_output, const PoolingGeometry* g,
              AverageDivisor divisor) {
  if (numel_of(grad_input) == 0) return;
  visit_floating(grad_input.dtype, [&]<class T>() {
    const PoolingShape shape(grad_input, grad_output, kPackSize<T>, {grad_input.data, grad_output.data});
    with_pack<T>(shape, [&]<int kPack>() {
      using Elements = Pack<T, kPack>;
      launch(name, average_backward<T, kPack>, blocks_for(shape.in_packs(), kThreads), kThreads, 0,
             grad_input.as<Elements>(), grad_output.as<Elements>(), shape, windows_of(shape, g, divisor));
    });
  });
}

void avg_pool2d_forward_on(View output, ConstView input, const PoolingGeometry& g, AverageDivisor divisor) {
  forward("avg_pool2d", output, input, &g, divisor);
}
void avg_pool2d_backward_on(View grad_input, ConstView grad_output, const PoolingGeometry& g, AverageDivisor divisor) {
  backward("avg_pool2d_backward", grad_input, grad_output, &g, divisor);
}
void adaptive_forward_on(View output, ConstView input) {
  forward("adaptive_avg_pool2d", output, input, nullptr, {});
}
void adaptive_backward_on(View grad_input, ConstView grad_output) {
  backward("adaptive_avg_pool2d_backward", grad_input, grad_output, nullptr, {});
}

}  // namespace

GRADUS_CUDA_KERNEL(avg_pool2d_forward, avg_pool2d_forward_on)
GRADUS_CUDA_KERNEL(avg_pool2d_backward, avg_pool2d_backward_on)
GRADUS_CUDA_KERNEL(adaptive_avg_pool2d_forward, adaptive_forward_on)
GRADUS_CUDA_KERNEL(adaptive_avg_pool2d_backward, adaptive_backward_on)

}  // namespace gradus::inline v0::kernels::cuda
