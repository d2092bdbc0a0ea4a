// The largest element of each window of an image. Averages are in pooling_average.cu.
#include "kernels/pooling.h"

#include <limits>

#include "kernels/cuda/data_error.h"
#include "kernels/cuda/pooling_shape.h"
#include "kernels/visit.h"

namespace gradus::inline v0::kernels::cuda {

namespace {

constexpr unsigned kThreads = 256;

/// The places along one dimension that a window covers, clipped to the image.
struct Span {
  int64_t begin, end, step;
};
struct WindowsOfMax {
  int64_t kernel[2], stride[2], padding[2], dilation[2];
  explicit WindowsOfMax(const PoolingGeometry& g) {
    for (int d = 0; d < 2; ++d)
      kernel[d] = g.kernel[d], stride[d] = g.stride[d], padding[d] = g.padding[d], dilation[d] = g.dilation[d];
  }
  __device__ Span span(int dim, int64_t window, int64_t size) const {
    int64_t begin = window * stride[dim] - padding[dim];
    const int64_t end = min(begin + (kernel[dim] - 1) * dilation[dim] + 1, size);
    while (begin < 0) begin += dilation[dim];
    return {begin, end, dilation[dim]};
  }
};

/// A thread finds the maxima of a pack of channels.
template <class T, int kPack>
__global__ void __launch_bounds__(kThreads) max_forward(const Pack<T, kPack>* in, Pack<T, kPack>* out, int64_t* indices,
                                                        PoolingShape shape, WindowsOfMax windows) {
  using C = Compute<T>;
  using Limits = std::numeric_limits<C>;
  constexpr int kIndexPack = kPack == 1 ? 1 : 2;
  const int64_t total = shape.out_packs(), step = static_cast<int64_t>(gridDim.x) * kThreads;
  for (int64_t at = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; at < total; at += step) {
    const PoolingPixel p = shape.out.pixel(at);
    const Span ys = windows.span(0, p.y, shape.in.height), xs = windows.span(1, p.x, shape.in.width);
    C best[kPack];
    int64_t where[kPack];
#pragma unroll
    for (int k = 0; k < kPack; ++k) {
      best[k] = Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
      where[k] = ys.begin * shape.in.width + xs.begin;
    }
    for (int64_t y = ys.begin; y < ys.end; y += ys.step) {
      for (int64_t x = xs.begin; x < xs.end; x += xs.step) {
        const Pack<T, kPack> pack = in[shape.in.element(p.image, y, x, p.channel)];
        const int64_t place = y * shape.in.width + x;
#pragma unroll
        for (int k = 0; k < kPack; ++k) {
          const C v = widen(pack.at[k]);
          if (v > best[k] || v != v) best[k] = v, where[k] = place;
        }
      }
    }
    Pack<T, kPack> result;
#pragma unroll
    for (int k = 0; k < kPack; ++k) result.at[k] = narrow<T>(best[k]);
    out[at] = result;
#pragma unroll
    for (int k = 0; k < kPack; k += kIndexPack) {
      Pack<int64_t, kIndexPack> pair;
#pragma unroll
      for (int j = 0; j < kIndexPack; ++j) pair.at[j] = where[k + j];
      reinterpret_cast<Pack<int64_t, kIndexPack>*>(indices)[(at * kPack + k) / kIndexPack] = pair;
    }
  }
}

template <class T>
void max_forward_of(const View& output, const View& indices, const ConstView& input, const PoolingGeometry& g) {
  constexpr int kPack = std::is_integral_v<T> ? 1 : kPackSize<T>;
  const PoolingShape shape(input, output, kPack, {output.data, indices.data, input.data});
  const unsigned blocks = blocks_for(shape.out_packs(), kThreads);
  const auto run = [&]<int kWide>() {
    using Elements = Pack<T, kWide>;
    launch("max_pool2d", max_forward<T, kWide>, blocks, kThreads, 0, input.as<Elements>(), output.as<Elements>(),
           indices.as<int64_t>(), shape, WindowsOfMax(g));
  };
  if constexpr (kPack > 1) {
    if (shape.pack > 1) return run.template operator()<kPack>();
  }
  run.template operator()<1>();
}

void max_pool2d_forward_on(View output, View indices, ConstView input, const PoolingGeometry& g) {
  if (numel_of(output) == 0) return;
  visit_numbers(input.dtype, [&]<class T>() { max_forward_of<T>(output, indices, input, g); });
}

// --- backward ---

struct WindowsBack {
  WindowsAlong y, x;
  IndexDivider<uint64_t> by_in_width;
  DataErrorSlot errors;
};

// An index must name a place of the image, and one that its window covers: others find no reader.
__device__ void check_index(const PoolingShape& shape, const WindowsBack& windows, int64_t position, int64_t index) {
  const int64_t plane = shape.in.height * shape.in.width;
  if (index < 0 || index >= plane) {
    windows.errors.report(kIndexOutOfRange, position, index, plane);
    return;
  }
  const PoolingPixel p = shape.out.pixel(position / shape.pack);
  const auto y = static_cast<int64_t>(windows.by_in_width.quotient(static_cast<uint64_t>(index)));
  const WindowRange ys = windows.y.covering(y), xs = windows.x.covering(index - y * shape.in.width);
  if (p.y < ys.first || p.y > ys.last || p.x < xs.first || p.x > xs.last)
    windows.errors.report(kOtherDataError, position, index, plane);
}

/// A thread sums over the windows that cover a place of the image, for a pack of channels.
template <class T, int kPack>
__global__ void __launch_bounds__(kThreads)
    max_backward(Pack<T, kPack>* grad_in, const Pack<T, kPack>* grad_out, const int64_t* indices, PoolingShape shape,
                 WindowsBack windows) {
  using C = Compute<T>;
  constexpr int kIndexPack = kPack == 1 ? 1 : 2;
  using IndexPack = Pack<int64_t, kIndexPack>;
  const int64_t total = shape.in_packs(), step = static_cast<int64_t>(gridDim.x) * kThreads;
  const int64_t first = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  for (int64_t at = first; at < total; at += step) {
    const PoolingPixel p = shape.in.pixel(at);
    const int64_t place = p.y * shape.in.width + p.x;
    const WindowRange ys = windows.y.covering(p.y), xs = windows.x.covering(p.x);
    C sum[kPack];
#pragma unroll
    for (int k = 0; k < kPack; ++k) sum[k] = C(0);
    for (int64_t y = ys.first; y <= ys.last; ++y) {
#pragma unroll 1
      for (int64_t x = xs.first; x <= xs.last; ++x) {
        const int64_t from = shape.out.element(p.image, y, x, p.channel);
        const Pack<T, kPack> pack = grad_out[from];
#pragma unroll
        for (int k = 0; k < kPack; k += kIndexPack) {
          const IndexPack index = reinterpret_cast<const IndexPack*>(indices)[(from * kPack + k) / kIndexPack];
#pragma unroll
          for (int j = 0; j < kIndexPack; ++j) {
            if (index.at[j] == place) sum[k + j] += widen(pack.at[k + j]);
          }
        }
      }
    }
    Pack<T, kPack> result;
#pragma unroll
    for (int k = 0; k < kPack; ++k) result.at[k] = narrow<T>(sum[k]);
    grad_in[at] = result;
  }
  const int64_t outputs = shape.out_packs() * kPack;
  for (int64_t at = first; at < outputs; at += step) check_index(shape, windows, at, indices[at]);
}

BadIndex max_pool2d_backward_on(View grad_input, ConstView grad_output, ConstView indices, const PoolingGeometry& g) {
  if (numel_of(grad_input) == 0) return {};
  visit_floating(grad_input.dtype, [&]<class T>() {
    constexpr int kPack = kPackSize<T>;
    const PoolingShape shape(grad_input, grad_output, kPack, {grad_input.data, grad_output.data, indices.data});
    const WindowsBack windows = {windows_along(g, 0, shape.out.height), windows_along(g, 1, shape.out.width),
                                 shape.in.by_width, data_error_slot("max_pool2d_backward")};
    const unsigned blocks = blocks_for(shape.in_packs(), kThreads);
    const auto run = [&]<int kWide>() {
      using Elements = Pack<T, kWide>;
      launch("max_pool2d_backward", max_backward<T, kWide>, blocks, kThreads, 0, grad_input.as<Elements>(),
             grad_output.as<Elements>(), indices.as<int64_t>(), shape, windows);
    };
    if (shape.pack > 1) {
      run.template operator()<kPack>();
    } else {
      run.template operator()<1>();
    }
  });
  return {};
}

}  // namespace

GRADUS_CUDA_KERNEL(max_pool2d_forward, max_pool2d_forward_on)
GRADUS_CUDA_KERNEL(max_pool2d_backward, max_pool2d_backward_on)

}  // namespace gradus::inline v0::kernels::cuda
