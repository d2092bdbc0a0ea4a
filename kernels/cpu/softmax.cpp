#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/softmax.cpp"
#include <kernels/cpu/simd.h>

#include <algorithm>
#include <limits>
#include <type_traits>

#include <kernels/cpu/math-inl.h>
#include <kernels/cpu/widen.h>
#include <kernels/scratch.h>
#include <kernels/parallel.h>
#include <kernels/softmax.h>
#include <kernels/visit.h>

HWY_BEFORE_NAMESPACE();
namespace gradus::inline v0::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Calls f(vector offset, mask) for each vector of n elements; only the last mask is partial.
template <class D, class F>
HWY_INLINE void for_vectors(D d, int64_t n, const F& f) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto all = hn::FirstN(d, hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) f(i, all);
  if (i < n) f(i, hn::FirstN(d, static_cast<size_t>(n - i)));
}

constexpr int64_t kSumBlock = 256;  // terms that are summed in a row, per lane; then the sums of these

/// Calls f(begin, end) for blocks of n terms of `step` each.
template <class F>
HWY_INLINE void for_blocks(int64_t n, int64_t step, const F& f) {
  for (int64_t b = 0; b < n; b += kSumBlock * step) f(b, std::min(n, b + kSumBlock * step));
}

/// A row whose elements lie side by side.
template <bool kLog, class T>
void forward_row(const T* in, T* out, int64_t n) {
  const hn::ScalableTag<T> d;
  const auto lowest = hn::Set(d, -std::numeric_limits<T>::infinity());
  auto most = lowest;
  for_vectors(d, n, [&](int64_t i, auto mask) HWY_ATTR {
    const auto x = hn::IfThenElse(mask, hn::MaskedLoad(mask, d, in + i), lowest);
    most = hn::Max(most, x);  // may drop a NaN, which the sum then takes up
  });
  most = hn::MaxOfLanes(d, most);
  auto sum = hn::Zero(d);
  for_blocks(n, static_cast<int64_t>(hn::Lanes(d)), [&](int64_t begin, int64_t end) HWY_ATTR {
    auto part = hn::Zero(d);
    for_vectors(d, end - begin, [&](int64_t i, auto mask) HWY_ATTR {
      const auto e = math::exp(d, hn::Sub(hn::MaskedLoad(mask, d, in + begin + i), most));
      part = hn::Add(part, hn::IfThenElseZero(mask, e));
      if (!kLog) hn::BlendedStore(e, mask, d, out + begin + i);
    });
    sum = hn::Add(sum, part);
  });
  sum = hn::SumOfLanes(d, sum);
  if (kLog) {
    const auto log_sum = math::log(d, sum);
    for_vectors(d, n, [&](int64_t i, auto mask) HWY_ATTR {
      hn::BlendedStore(hn::Sub(hn::Sub(hn::MaskedLoad(mask, d, in + i), most), log_sum), mask, d, out + i);
    });
  } else {
    const auto scale = hn::Div(hn::Set(d, T(1)), sum);
    for_vectors(d, n, [&](int64_t i, auto mask) HWY_ATTR {
      hn::BlendedStore(hn::Mul(hn::MaskedLoad(mask, d, out + i), scale), mask, d, out + i);
    });
  }
}

/// `width` columns side by side, each a row of n elements `stride` apart: vectors run across the columns.
template <bool kLog, class T>
void forward_columns(const T* in, int64_t in_stride, T* out, int64_t out_stride, int64_t n, int64_t width) {
  const hn::ScalableTag<T> d;
  for_vectors(d, width, [&](int64_t j, auto mask) HWY_ATTR {
    const T* x = in + j;
    T* y = out + j;
    auto most = hn::MaskedLoad(mask, d, x);
    for (int64_t i = 1; i < n; ++i) {
      most = hn::Max(most, hn::MaskedLoad(mask, d, x + i * in_stride));
    }
    auto sum = hn::Zero(d);
    for_blocks(n, 1, [&](int64_t begin, int64_t end) HWY_ATTR {
      auto part = hn::Zero(d);
      for (int64_t i = begin; i < end; ++i) {
        const auto e = math::exp(d, hn::Sub(hn::MaskedLoad(mask, d, x + i * in_stride), most));
        part = hn::Add(part, e);
        if (!kLog) hn::BlendedStore(e, mask, d, y + i * out_stride);
      }
      sum = hn::Add(sum, part);
    });
    if (kLog) {
      const auto log_sum = math::log(d, sum);
      for (int64_t i = 0; i < n; ++i) {
        const auto v = hn::MaskedLoad(mask, d, x + i * in_stride);
        hn::BlendedStore(hn::Sub(hn::Sub(v, most), log_sum), mask, d, y + i * out_stride);
      }
    } else {
      const auto scale = hn::Div(hn::Set(d, T(1)), sum);
      for (int64_t i = 0; i < n; ++i) {
        hn::BlendedStore(hn::Mul(hn::MaskedLoad(mask, d, y + i * out_stride), scale), mask, d, y + i * out_stride);
      }
    }
  });
}

// softmax: dx = y (dy - sum(dy y)); its logarithm: dx = dy - e^y sum(dy).
template <bool kLog, class D, class V>
HWY_INLINE V summand(D, V grad, V y) {
  return kLog ? grad : hn::Mul(grad, y);
}
template <bool kLog, class D, class V>
HWY_INLINE V gradient(D d, V grad, V y, V sum) {
  return kLog ? hn::NegMulAdd(math::exp(d, y), sum, grad) : hn::Mul(y, hn::Sub(grad, sum));
}

template <bool kLog, class T>
void backward_row(const T* grad, const T* y, T* out, int64_t n) {
  const hn::ScalableTag<T> d;
  auto sum = hn::Zero(d);
  for_blocks(n, static_cast<int64_t>(hn::Lanes(d)), [&](int64_t begin, int64_t end) HWY_ATTR {
    auto part = hn::Zero(d);
    for_vectors(d, end - begin, [&](int64_t i, auto mask) HWY_ATTR {
      const auto g = hn::MaskedLoad(mask, d, grad + begin + i), v = hn::MaskedLoad(mask, d, y + begin + i);
      part = hn::Add(part, summand<kLog>(d, g, v));
    });
    sum = hn::Add(sum, part);
  });
  sum = hn::SumOfLanes(d, sum);
  for_vectors(d, n, [&](int64_t i, auto mask) HWY_ATTR {
    hn::BlendedStore(gradient<kLog>(d, hn::MaskedLoad(mask, d, grad + i), hn::MaskedLoad(mask, d, y + i), sum), mask, d,
                     out + i);
  });
}

template <bool kLog, class T>
void backward_columns(const T* grad, const T* y, int64_t in_stride, T* out, int64_t out_stride, int64_t n,
                      int64_t width) {
  const hn::ScalableTag<T> d;
  for_vectors(d, width, [&](int64_t j, auto mask) HWY_ATTR {
    auto sum = hn::Zero(d);
    for_blocks(n, 1, [&](int64_t begin, int64_t end) HWY_ATTR {
      auto part = hn::Zero(d);
      for (int64_t i = begin; i < end; ++i) {
        const int64_t at = i * in_stride + j;
        part = hn::Add(part, summand<kLog>(d, hn::MaskedLoad(mask, d, grad + at), hn::MaskedLoad(mask, d, y + at)));
      }
      sum = hn::Add(sum, part);
    });
    for (int64_t i = 0; i < n; ++i) {
      const int64_t at = i * in_stride + j;
      const auto x = gradient<kLog>(d, hn::MaskedLoad(mask, d, grad + at), hn::MaskedLoad(mask, d, y + at), sum);
      hn::BlendedStore(x, mask, d, out + i * out_stride + j);
    }
  });
}

/// The tensor as `outer` blocks of n rows of `inner` elements; the softmax runs down the n.
struct Extent {
  int64_t outer = 1, n = 1, inner = 1;
  Extent(const ConstView& v, int64_t dim) {
    for (int i = 0; i < v.ndim; ++i) (i < dim ? outer : i == dim ? n : inner) *= v.sizes[i];
  }
};

/// Runs body(input 0, input 1, their row stride, output, its row stride, n, width) over the tensor in parts of whole
/// columns; 16-bit floats are widened into scratch and rounded back. `in1` may be nullptr.
template <class T, class Body>
void in_parts(const Extent& e, const T* in0, const T* in1, T* out, const Body& body) {
  using W = Wide<T>;
  constexpr int64_t kWidth = 64;  // columns of a part: a few vectors, so that n of them stay in cache
  const int64_t parts = (e.inner + kWidth - 1) / kWidth;
  const int64_t grain = std::max<int64_t>(1, 8192 / std::max<int64_t>(1, e.n * std::min(e.inner, kWidth)));
  parallel_for(0, e.outer * parts, grain, [&](int64_t begin, int64_t end) HWY_ATTR {
    ScratchArray<W> wide(std::is_same_v<T, W> ? 0 : static_cast<size_t>(3 * e.n * std::min(e.inner, kWidth)));
    for (int64_t p = begin; p < end; ++p) {
      const int64_t j = p % parts * kWidth, width = std::min(kWidth, e.inner - j);
      const int64_t at = p / parts * e.n * e.inner + j;
      if constexpr (std::is_same_v<T, W>) {
        body(in0 + at, in1 ? in1 + at : nullptr, e.inner, out + at, e.inner, e.n, width);
      } else {
        W* w0 = wide.data();
        W *w1 = w0 + e.n * width, *w2 = w1 + e.n * width;
        // The part as runs of side-by-side elements: one where it takes all columns.
        const int64_t runs = width == e.inner ? 1 : e.n, length = e.n * width / runs;
        for (int64_t i = 0; i < runs; ++i) {
          for (int64_t k = 0; k < length; ++k) w0[i * length + k] = static_cast<W>(in0[at + i * e.inner + k]);
          for (int64_t k = 0; in1 && k < length; ++k) w1[i * length + k] = static_cast<W>(in1[at + i * e.inner + k]);
        }
        body(w0, w1, width, w2, width, e.n, width);
        for (int64_t i = 0; i < runs; ++i) {
          for (int64_t k = 0; k < length; ++k) out[at + i * e.inner + k] = static_cast<T>(w2[i * length + k]);
        }
      }
    }
  });
}

template <bool kLog>
void forward(View output, ConstView input, int64_t dim) {
  visit_floating(input.dtype, [&]<class T>() {
    using W = Wide<T>;
    const Extent e(input, dim);
    in_parts<T>(e, input.as<T>(), nullptr, output.as<T>(),
                [&](const W* x, const W*, int64_t in, W* y, int64_t out, int64_t n, int64_t width) HWY_ATTR {
                  if (e.inner == 1) {
                    forward_row<kLog>(x, y, n);
                  } else {
                    forward_columns<kLog>(x, in, y, out, n, width);
                  }
                });
  });
}

template <bool kLog>
void backward(View grad_input, ConstView grad_output, ConstView output, int64_t dim) {
  visit_floating(output.dtype, [&]<class T>() {
    using W = Wide<T>;
    const Extent e(output, dim);
    in_parts<T>(e, grad_output.as<T>(), output.as<T>(), grad_input.as<T>(),
                [&](const W* g, const W* y, int64_t in, W* x, int64_t out, int64_t n, int64_t width) HWY_ATTR {
                  if (e.inner == 1) {
                    backward_row<kLog>(g, y, x, n);
                  } else {
                    backward_columns<kLog>(g, y, in, x, out, n, width);
                  }
                });
  });
}

void softmax_forward(View output, ConstView input, int64_t dim, bool log) {
  log ? forward<true>(output, input, dim) : forward<false>(output, input, dim);
}
void softmax_backward(View grad_input, ConstView grad_output, ConstView output, int64_t dim, bool log) {
  log ? backward<true>(grad_input, grad_output, output, dim) : backward<false>(grad_input, grad_output, output, dim);
}

}  // namespace gradus::inline v0::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gradus::inline v0::kernels {
namespace {
HWY_EXPORT(softmax_forward);
HWY_EXPORT(softmax_backward);
int64_t count(const ConstView& v) {
  int64_t n = 1;
  for (int i = 0; i < v.ndim; ++i) n *= v.sizes[i];
  return n;
}
void forward_cpu(View output, ConstView input, int64_t dim, bool log) {
  if (count(input) > 0) HWY_DYNAMIC_DISPATCH(softmax_forward)(output, input, dim, log);
}
void backward_cpu(View grad_input, ConstView grad_output, ConstView output, int64_t dim, bool log) {
  if (count(output) > 0) HWY_DYNAMIC_DISPATCH(softmax_backward)(grad_input, grad_output, output, dim, log);
}
}  // namespace

constinit KernelTable<void(View, ConstView, int64_t, bool)> softmax_forward("softmax", &forward_cpu);
constinit KernelTable<void(View, ConstView, ConstView, int64_t, bool)> softmax_backward("softmax_backward",
                                                                                        &backward_cpu);

}  // namespace gradus::inline v0::kernels
#endif
