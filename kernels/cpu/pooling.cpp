#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/pooling.cpp"
#include <kernels/cpu/simd.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include <kernels/scratch.h>
#include <kernels/parallel.h>
#include <kernels/pooling.h>
#include <kernels/visit.h>

#ifndef GRADUS_KERNELS_CPU_POOLING_IMAGE
#define GRADUS_KERNELS_CPU_POOLING_IMAGE
namespace gradus::inline v0::kernels {
namespace {

/// An image's sizes and layout. One pixel has both layouts and counts as contiguous, whatever its strides say.
struct Image {
  int64_t batch, channels, height, width;
  bool channels_last;
  explicit Image(const ConstView& v)
      : batch(v.sizes[0]),
        channels(v.sizes[1]),
        height(v.sizes[2]),
        width(v.sizes[3]),
        channels_last(v.sizes[1] > 1 && v.strides[1] == 1 && v.sizes[2] * v.sizes[3] > 1) {}
  int64_t plane() const { return height * width; }
  int64_t numel() const { return batch * channels * plane(); }
};

/// The part of one dimension that window `i` covers, clipped to the image, in steps of `step`.
struct Span {
  int64_t begin, end, step;
};
inline Span span(int64_t i, int64_t size, const PoolingGeometry& g, int dim) {
  int64_t begin = i * g.stride[dim] - g.padding[dim];
  const int64_t end = std::min(begin + (g.kernel[dim] - 1) * g.dilation[dim] + 1, size);
  while (begin < 0) begin += g.dilation[dim];
  return {begin, end, g.dilation[dim]};
}

inline bool is_2x2(const PoolingGeometry& g, const Image& in, const Image& out) {
  for (int d = 0; d < 2; ++d) {
    if (g.kernel[d] != 2 || g.stride[d] != 2 || g.padding[d] != 0 || g.dilation[d] != 1) return false;
  }
  return out.height * 2 <= in.height && out.width * 2 <= in.width;
}

inline int64_t grain_of(int64_t work_each) {
  return std::max<int64_t>(1, 16384 / std::max<int64_t>(1, work_each));
}

}  // namespace
}  // namespace gradus::inline v0::kernels
#endif

HWY_BEFORE_NAMESPACE();
namespace gradus::inline v0::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
/// The running maximum and where it was found. NaN replaces anything, as it does in PyTorch.
template <class D>
struct Best {
  using DI = hn::Rebind<int32_t, D>;
  hn::Vec<D> value;
  hn::Vec<DI> at;
  HWY_INLINE void take(hn::Vec<D> x, hn::Vec<DI> position) {
    const auto better = hn::Not(hn::Le(x, value));  // larger, or one of them is NaN
    // An earlier NaN stays unless x is NaN too.
    const auto keep = hn::And(hn::IsNaN(value), hn::Eq(x, x));
    const auto mask = hn::AndNot(keep, better);
    value = hn::IfThenElse(mask, x, value);
    at = hn::IfThenElse(hn::RebindMask(DI(), mask), position, at);
  }
  HWY_INLINE void store(float* out, int64_t* index, int64_t count) const {
    const D d;
    HWY_ALIGN float values[hn::MaxLanes(D())];
    HWY_ALIGN int32_t positions[hn::MaxLanes(D())];
    hn::Store(at, DI(), positions);
    if (count == static_cast<int64_t>(hn::Lanes(d))) {
      hn::StoreU(value, d, out);
      for (size_t i = 0; i < hn::MaxLanes(D()); ++i) index[i] = positions[i];
    } else {
      hn::Store(value, d, values);
      for (int64_t i = 0; i < count; ++i) out[i] = values[i], index[i] = positions[i];
    }
  }
};

/// A row of 2x2 windows at stride 2 of a contiguous plane; `n` of them, `position` that of the first element.
struct Row2x2 {
  const float *top, *bottom;
  int64_t width, position;
  float* out;
  int64_t* index;
  int64_t n;
};

/// Whole vectors of windows from `i` on; returns where it stopped.
template <class D>
HWY_INLINE int64_t max_vectors_2x2(D d, const Row2x2& row, int64_t i) {
#if HWY_TARGET != HWY_SCALAR
  const typename Best<D>::DI di;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  for (; i + lanes <= row.n; i += lanes) {
    const auto t0 = hn::LoadU(d, row.top + 2 * i), t1 = hn::LoadU(d, row.top + 2 * i + lanes);
    const auto b0 = hn::LoadU(d, row.bottom + 2 * i), b1 = hn::LoadU(d, row.bottom + 2 * i + lanes);
    const auto first =
        hn::Add(hn::ShiftLeft<1>(hn::Iota(di, 0)), hn::Set(di, static_cast<int32_t>(row.position + 2 * i)));
    Best<D> best{hn::ConcatEven(d, t1, t0), first};
    best.take(hn::ConcatOdd(d, t1, t0), hn::Add(first, hn::Set(di, 1)));
    best.take(hn::ConcatEven(d, b1, b0), hn::Add(first, hn::Set(di, static_cast<int32_t>(row.width))));
    best.take(hn::ConcatOdd(d, b1, b0), hn::Add(first, hn::Set(di, static_cast<int32_t>(row.width + 1))));
    best.store(row.out + i, row.index + i, lanes);
  }
#endif
  return i;
}

void max_row_2x2(const Row2x2& row) {
  int64_t i = max_vectors_2x2(hn::ScalableTag<float>(), row, 0);
  i = max_vectors_2x2(hn::CappedTag<float, 8>(), row, i);
  i = max_vectors_2x2(hn::CappedTag<float, 4>(), row, i);
  for (; i < row.n; ++i) {
    const float window[4] = {row.top[2 * i], row.top[2 * i + 1], row.bottom[2 * i], row.bottom[2 * i + 1]};
    const int64_t offset[4] = {0, 1, row.width, row.width + 1};
    int best = 0;
    for (int k = 1; k < 4; ++k) {
      if (window[k] > window[best] || window[k] != window[k]) best = k;
    }
    row.out[i] = window[best], row.index[i] = row.position + 2 * i + offset[best];
  }
}

void max_planes_2x2(const Image& in, const Image& out, const float* from, float* to, int64_t* index) {
  parallel_for(0, in.batch * in.channels, grain_of(in.plane()), [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p) {
      for (int64_t y = 0; y < out.height; ++y) {
        const int64_t position = 2 * y * in.width, at = p * out.plane() + y * out.width;
        const float* top = from + p * in.plane() + position;
        max_row_2x2({top, top + in.width, in.width, position, to + at, index + at, out.width});
      }
    }
  });
}

/// One window, all channels side by side.
void max_window_channels(const Image& in, Span ys, Span xs, const float* from, float* to, int64_t* index) {
  using D = hn::ScalableTag<float>;
  const D d;
  const typename Best<D>::DI di;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t c = 0; c < in.channels; c += lanes) {
    const int64_t count = std::min(lanes, in.channels - c);
    const auto mask = hn::FirstN(d, static_cast<size_t>(count));
    Best<D> best{hn::Set(d, -std::numeric_limits<float>::infinity()),
                 hn::Set(di, static_cast<int32_t>(ys.begin * in.width + xs.begin))};
    for (int64_t y = ys.begin; y < ys.end; y += ys.step) {
      for (int64_t x = xs.begin; x < xs.end; x += xs.step) {
        const int64_t at = y * in.width + x;
        best.take(hn::MaskedLoad(mask, d, from + at * in.channels + c), hn::Set(di, static_cast<int32_t>(at)));
      }
    }
    best.store(to + c, index + c, count);
  }
}

void max_channels_last(const Image& in, const Image& out, const PoolingGeometry& g, const float* from, float* to,
                       int64_t* index) {
  parallel_for(0, in.batch * out.height, grain_of(out.width * in.channels * g.kernel[0] * g.kernel[1]),
               [&](int64_t begin, int64_t end) {
                 for (int64_t i = begin; i < end; ++i) {
                   const float* image = from + i / out.height * in.plane() * in.channels;
                   const Span ys = span(i % out.height, in.height, g, 0);
                   for (int64_t x = 0; x < out.width; ++x) {
                     const int64_t at = (i * out.width + x) * in.channels;
                     max_window_channels(in, ys, span(x, in.width, g, 1), image, to + at, index + at);
                   }
                 }
               });
}

}  // namespace gradus::inline v0::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gradus::inline v0::kernels {
namespace {

HWY_EXPORT(max_planes_2x2);
HWY_EXPORT(max_channels_last);

template <class T>
using Wide = std::conditional_t<std::is_same_v<T, double> || std::is_integral_v<T>, T, float>;

/// a + b; integers wrap.
template <class W>
W plus(W a, W b) {
  if constexpr (std::is_integral_v<W>) {
    return static_cast<W>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  } else {
    return a + b;
  }
}

template <class T>
void max_window(const Image& in, Span ys, Span xs, int64_t step, const T* from, T* to, int64_t* index) {
  using Limits = std::numeric_limits<Wide<T>>;
  Wide<T> best = Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
  int64_t at = ys.begin * in.width + xs.begin;
  for (int64_t y = ys.begin; y < ys.end; y += ys.step) {
    for (int64_t x = xs.begin; x < xs.end; x += xs.step) {
      const auto v = static_cast<Wide<T>>(from[(y * in.width + x) * step]);
      if (v > best || v != v) best = v, at = y * in.width + x;
    }
  }
  *to = static_cast<T>(best);
  *index = at;
}

/// Calls f(plane, its first element in the input, in the output) for every channel of every image on several threads.
/// Elements of a plane lie `channels` apart where channels are innermost, else side by side.
template <class F>
void for_planes(const Image& in, const Image& out, int64_t work, const F& f) {
  parallel_for(0, in.batch * in.channels, grain_of(work), [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p) {
      if (in.channels_last || out.channels_last) {
        const int64_t n = p / in.channels, c = p % in.channels;
        f(n * in.plane() * in.channels + c, n * out.plane() * in.channels + c, in.channels);
      } else {
        f(p * in.plane(), p * out.plane(), int64_t{1});
      }
    }
  });
}

template <class T>
void max_forward(const Image& in, const Image& out, const PoolingGeometry& g, const T* from, T* to, int64_t* index) {
  const bool small = in.plane() * (in.channels_last ? 1 : 2) < std::numeric_limits<int32_t>::max();
  if constexpr (std::is_same_v<T, float>) {
    if (small && in.channels_last) return HWY_DYNAMIC_DISPATCH(max_channels_last)(in, out, g, from, to, index);
    if (small && is_2x2(g, in, out)) return HWY_DYNAMIC_DISPATCH(max_planes_2x2)(in, out, from, to, index);
  }
  for_planes(in, out, out.plane() * g.kernel[0] * g.kernel[1], [&](int64_t i, int64_t o, int64_t step) {
    for (int64_t y = 0; y < out.height; ++y) {
      for (int64_t x = 0; x < out.width; ++x) {
        const int64_t at = o + (y * out.width + x) * step;
        max_window(in, span(y, in.height, g, 0), span(x, in.width, g, 1), step, from + i, to + at, index + at);
      }
    }
  });
}

/// 16-bit gradients of overlapping windows are summed in float, one plane at a time.
template <class T>
class PlaneSums {
 public:
  explicit PlaneSums(int64_t plane) : sums_(std::is_same_v<T, Wide<T>> ? 0 : static_cast<size_t>(plane)) {}
  /// Calls add(sums, step) with a zeroed plane and leaves its sums in `to`.
  template <class F>
  void run(T* to, int64_t step, int64_t plane, const F& add) {
    if constexpr (std::is_same_v<T, Wide<T>>) {
      for (int64_t i = 0; i < plane; ++i) to[i * step] = T(0);
      add(to, step);
    } else {
      std::fill_n(sums_.data(), plane, Wide<T>(0));
      add(sums_.data(), int64_t{1});
      for (int64_t i = 0; i < plane; ++i) to[i * step] = static_cast<T>(sums_[static_cast<size_t>(i)]);
    }
  }

 private:
  ScratchArray<Wide<T>> sums_;
};

template <class T>
void max_backward(const Image& in, const Image& out, T* to, const T* from, const int64_t* index) {
  if (std::is_same_v<T, Wide<T>> && in.channels_last) {
    // Image by image in the order of memory.
    parallel_for(0, in.batch, 1, [&](int64_t begin, int64_t end) {
      for (int64_t n = begin; n < end; ++n) {
        T* image = to + n * in.plane() * in.channels;
        std::fill_n(image, in.plane() * in.channels, T(0));
        for (int64_t i = 0; i < out.plane(); ++i) {
          const int64_t at = (n * out.plane() + i) * in.channels;
          for (int64_t c = 0; c < in.channels; ++c) {
            T& sum = image[index[at + c] * in.channels + c];
            sum = static_cast<T>(sum + from[at + c]);
          }
        }
      }
    });
    return;
  }
  for_planes(in, out, in.plane(), [&](int64_t i, int64_t o, int64_t step) {
    PlaneSums<T>(in.plane()).run(to + i, step, in.plane(), [&](Wide<T>* sums, int64_t sum_step) {
      for (int64_t k = 0; k < out.plane(); ++k)
        sums[index[o + k * step] * sum_step] += static_cast<Wide<T>>(from[o + k * step]);
    });
  });
}

/// A window of an average, clipped to the image, and what its sum is divided by.
struct Window {
  int64_t top, bottom, left, right, divisor;
};

struct AverageWindows {
  const Image &in, &out;
  const PoolingGeometry& g;
  AverageDivisor divisor;
  Window operator()(int64_t y, int64_t x) const {
    Window w{};
    w.top = y * g.stride[0] - g.padding[0], w.left = x * g.stride[1] - g.padding[1];
    w.bottom = std::min(w.top + g.kernel[0], in.height + g.padding[0]);
    w.right = std::min(w.left + g.kernel[1], in.width + g.padding[1]);
    const int64_t padded = (w.bottom - w.top) * (w.right - w.left);
    w.top = std::max<int64_t>(w.top, 0), w.left = std::max<int64_t>(w.left, 0);
    w.bottom = std::min(w.bottom, in.height), w.right = std::min(w.right, in.width);
    const int64_t inside = (w.bottom - w.top) * (w.right - w.left);
    w.divisor = divisor.override ? divisor.override : divisor.count_include_pad ? padded : inside;
    return w;
  }
};

struct AdaptiveWindows {
  const Image &in, &out;
  static int64_t begin(int64_t i, int64_t from, int64_t to) { return i * from / to; }
  static int64_t end(int64_t i, int64_t from, int64_t to) { return ((i + 1) * from + to - 1) / to; }
  Window operator()(int64_t y, int64_t x) const {
    Window w{begin(y, in.height, out.height), end(y, in.height, out.height), begin(x, in.width, out.width),
             end(x, in.width, out.width), 0};
    w.divisor = (w.bottom - w.top) * (w.right - w.left);
    return w;
  }
};

/// With channels innermost: window by window, all channels at once.
template <class T, class Windows>
void average_forward_channels_last(const Image& in, const Image& out, const T* from, T* to, const Windows& windows) {
  using W = Wide<T>;
  const int64_t c = in.channels;
  parallel_for(0, in.batch * out.height, grain_of(in.plane() / out.height * c), [&](int64_t begin, int64_t end) {
    const ScratchArray<W> sums(static_cast<size_t>(c));
    for (int64_t i = begin; i < end; ++i) {
      const T* image = from + i / out.height * in.plane() * c;
      for (int64_t x = 0; x < out.width; ++x) {
        const Window w = windows(i % out.height, x);
        W* sum = sums.data();
        std::fill_n(sum, c, W(0));
        for (int64_t r = w.top; r < w.bottom; ++r) {
          for (int64_t q = w.left; q < w.right; ++q) {
            const T* pixel = image + (r * in.width + q) * c;
            for (int64_t k = 0; k < c; ++k) sum[k] = plus(sum[k], static_cast<W>(pixel[k]));
          }
        }
        T* result = to + (i * out.width + x) * c;
        const bool empty = w.top >= w.bottom || w.left >= w.right;
        for (int64_t k = 0; k < c; ++k) result[k] = empty ? T(0) : static_cast<T>(sum[k] / static_cast<W>(w.divisor));
      }
    }
  });
}

template <class T, class Windows>
void average_backward_channels_last(const Image& in, const Image& out, T* to, const T* from, const Windows& windows) {
  const int64_t c = in.channels;
  parallel_for(0, in.batch, 1, [&](int64_t begin, int64_t end) {
    const ScratchArray<T> shares(static_cast<size_t>(c));
    for (int64_t n = begin; n < end; ++n) {
      T* image = to + n * in.plane() * c;
      std::fill_n(image, in.plane() * c, T(0));
      for (int64_t i = 0; i < out.plane(); ++i) {
        const Window w = windows(i / out.width, i % out.width);
        const T* grad = from + (n * out.plane() + i) * c;
        T* share = shares.data();
        for (int64_t k = 0; k < c; ++k) share[k] = grad[k] / static_cast<T>(w.divisor);
        for (int64_t r = w.top; r < w.bottom; ++r) {
          for (int64_t q = w.left; q < w.right; ++q) {
            T* pixel = image + (r * in.width + q) * c;
            for (int64_t k = 0; k < c; ++k) pixel[k] += share[k];
          }
        }
      }
    }
  });
}

template <class T, class Windows>
void average_forward(const Image& in, const Image& out, const T* from, T* to, const Windows& windows) {
  if (in.channels_last) return average_forward_channels_last(in, out, from, to, windows);
  for_planes(in, out, in.plane() + out.plane(), [&](int64_t i, int64_t o, int64_t step) {
    for (int64_t y = 0; y < out.height; ++y) {
      for (int64_t x = 0; x < out.width; ++x) {
        const Window w = windows(y, x);
        Wide<T> sum = 0;
        for (int64_t r = w.top; r < w.bottom; ++r) {
          const T* row = from + i + r * in.width * step;
          Wide<T> part = 0;
          for (int64_t c = w.left; c < w.right; ++c) part = plus(part, static_cast<Wide<T>>(row[c * step]));
          sum = plus(sum, part);
        }
        to[o + (y * out.width + x) * step] =
            w.top < w.bottom && w.left < w.right ? static_cast<T>(sum / static_cast<Wide<T>>(w.divisor)) : T(0);
      }
    }
  });
}

template <class T, class Windows>
void average_backward(const Image& in, const Image& out, T* to, const T* from, const Windows& windows) {
  if constexpr (std::is_same_v<T, Wide<T>>) {
    if (in.channels_last) return average_backward_channels_last(in, out, to, from, windows);
  }
  for_planes(in, out, in.plane() + out.plane(), [&](int64_t i, int64_t o, int64_t step) {
    PlaneSums<T>(in.plane()).run(to + i, step, in.plane(), [&](Wide<T>* sums, int64_t sum_step) {
      for (int64_t y = 0; y < out.height; ++y) {
        for (int64_t x = 0; x < out.width; ++x) {
          const Window w = windows(y, x);
          const Wide<T> each =
              static_cast<Wide<T>>(from[o + (y * out.width + x) * step]) / static_cast<Wide<T>>(w.divisor);
          for (int64_t r = w.top; r < w.bottom; ++r) {
            for (int64_t c = w.left; c < w.right; ++c) sums[(r * in.width + c) * sum_step] += each;
          }
        }
      }
    });
  });
}

void max_forward_cpu(View output, View indices, ConstView input, const PoolingGeometry& g) {
  const Image in(input), out(output);
  if (out.numel() == 0) return;
  visit_numbers(input.dtype,
                [&]<class T>() { max_forward(in, out, g, input.as<T>(), output.as<T>(), indices.as<int64_t>()); });
}

// The indices are the caller's: any number may stand there.
BadIndex first_outside(const int64_t* index, int64_t count, int64_t plane) {
  constexpr int64_t kBlock = 1024;  // one branch a block, so that the compiler vectorises the rest
  for (int64_t begin = 0; begin < count; begin += kBlock) {
    const int64_t end = std::min(count, begin + kBlock);
    bool outside = false;
    for (int64_t i = begin; i < end; ++i) outside |= static_cast<uint64_t>(index[i]) >= static_cast<uint64_t>(plane);
    if (!outside) continue;
    for (int64_t i = begin; i < end; ++i) {
      if (index[i] < 0 || index[i] >= plane) return {i, index[i]};
    }
  }
  return {};
}

BadIndex max_backward_cpu(View grad_input, ConstView grad_output, ConstView indices, const PoolingGeometry&) {
  const Image in(grad_input), out(grad_output);
  if (in.numel() == 0) return {};
  const BadIndex bad = first_outside(indices.as<int64_t>(), out.numel(), in.plane());
  if (bad.found()) return bad;
  visit_floating(grad_input.dtype, [&]<class T>() {
    max_backward(in, out, grad_input.as<T>(), grad_output.as<T>(), indices.as<int64_t>());
  });
  return {};
}

void avg_forward_cpu(View output, ConstView input, const PoolingGeometry& g, AverageDivisor divisor) {
  const Image in(input), out(output);
  if (out.numel() == 0) return;
  const auto average = [&]<class T>() {
    average_forward(in, out, input.as<T>(), output.as<T>(), AverageWindows{in, out, g, divisor});
  };
  if (input.dtype == ScalarType::Long) return average.operator()<int64_t>();
  visit_floating(input.dtype, average);
}

void avg_backward_cpu(View grad_input, ConstView grad_output, const PoolingGeometry& g, AverageDivisor divisor) {
  const Image in(grad_input), out(grad_output);
  if (in.numel() == 0) return;
  visit_floating(grad_input.dtype, [&]<class T>() {
    average_backward(in, out, grad_input.as<T>(), grad_output.as<T>(), AverageWindows{in, out, g, divisor});
  });
}

void adaptive_forward_cpu(View output, ConstView input) {
  const Image in(input), out(output);
  if (out.numel() == 0) return;
  visit_floating(input.dtype, [&]<class T>() {
    average_forward(in, out, input.as<T>(), output.as<T>(), AdaptiveWindows{in, out});
  });
}

void adaptive_backward_cpu(View grad_input, ConstView grad_output) {
  const Image in(grad_input), out(grad_output);
  if (in.numel() == 0) return;
  visit_floating(grad_input.dtype, [&]<class T>() {
    average_backward(in, out, grad_input.as<T>(), grad_output.as<T>(), AdaptiveWindows{in, out});
  });
}

}  // namespace

constinit KernelTable<void(View, View, ConstView, const PoolingGeometry&)> max_pool2d_forward("max_pool2d",
                                                                                              &max_forward_cpu);
constinit KernelTable<BadIndex(View, ConstView, ConstView, const PoolingGeometry&)> max_pool2d_backward(
    "max_pool2d_backward", &max_backward_cpu);
constinit KernelTable<void(View, ConstView, const PoolingGeometry&, AverageDivisor)> avg_pool2d_forward(
    "avg_pool2d", &avg_forward_cpu);
constinit KernelTable<void(View, ConstView, const PoolingGeometry&, AverageDivisor)> avg_pool2d_backward(
    "avg_pool2d_backward", &avg_backward_cpu);
constinit KernelTable<void(View, ConstView)> adaptive_avg_pool2d_forward("adaptive_avg_pool2d", &adaptive_forward_cpu);
constinit KernelTable<void(View, ConstView)> adaptive_avg_pool2d_backward("adaptive_avg_pool2d_backward",
                                                                          &adaptive_backward_cpu);

}  // namespace gradus::inline v0::kernels
#endif
