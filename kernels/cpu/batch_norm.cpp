#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/batch_norm.cpp"
#include <kernels/cpu/simd.h>

#include <algorithm>
#include <cmath>

#include <kernels/cpu/moments-inl.h>
#include <kernels/cpu/widen.h>
#include <kernels/normalization.h>
#include <kernels/parallel.h>

#ifndef GRADUS_KERNELS_CPU_BATCH_NORM_SHAPE
#define GRADUS_KERNELS_CPU_BATCH_NORM_SHAPE
namespace gradus::inline v0::kernels {
namespace {

/// [batch, channels, spatial], channels outside or innermost.
struct NormShape {
  int64_t batch, channels, spatial = 1;
  bool channels_last;
  explicit NormShape(const ConstView& v) : batch(v.sizes[0]), channels(v.sizes[1]) {
    for (int i = 2; i < v.ndim; ++i) spatial *= v.sizes[i];
    channels_last = channels > 1 && v.strides[1] == 1;
  }
  int64_t count() const { return batch * spatial; }
  /// With channels innermost: rows of `channels` elements, in blocks whose number depends on the sizes alone.
  int64_t block() const { return std::max({int64_t{1}, 8192 / channels, (count() + 255) / 256}); }
  int64_t blocks() const { return (count() + block() - 1) / block(); }
};

/// Mean and sum of squared deviations of what was seen so far; parts are joined without loss (Chan's formula).
struct Moments {
  double count = 0, mean = 0, squares = 0;
  void join(double n, double other_mean, double other_squares) {
    const double delta = other_mean - mean, total = count + n;
    mean += delta * n / total;
    squares += other_squares + delta * delta * count * n / total;
    count = total;
  }
};

/// What the backward pass knows of each channel.
struct NormSums {
  double grad = 0, grad_x = 0;  // sums of g and of g (x - mean)
};

}  // namespace
}  // namespace gradus::inline v0::kernels
#endif

HWY_BEFORE_NAMESPACE();
namespace gradus::inline v0::kernels::HWY_NAMESPACE {

constexpr int64_t kRun = 4096;  // elements that are summed while they are in the first-level cache

/// Calls f(offset, length) for the runs of one channel of a contiguous image.
template <class F>
HWY_INLINE void for_runs(const NormShape& s, int64_t channel, const F& f) {
  for (int64_t n = 0; n < s.batch; ++n) {
    for (int64_t i = 0; i < s.spatial; i += kRun) {
      f((n * s.channels + channel) * s.spatial + i, std::min(kRun, s.spatial - i));
    }
  }
}

template <class T>
void moments_of_planes(const NormShape& s, const T* x, Moments* out) {
  using W = Wide<T>;
  parallel_for(0, s.channels, std::max<int64_t>(1, 16384 / s.count()), [&](int64_t begin, int64_t end) HWY_ATTR {
    const ScratchArray<W> buffer(wide_size<T>(kRun));
    for (int64_t c = begin; c < end; ++c) {
      for_runs(s, c, [&](int64_t at, int64_t n) HWY_ATTR {
        const W* run = widen(x + at, n, buffer.data());
        const W mean = sum(run, n) / static_cast<W>(n);
        out[c].join(static_cast<double>(n), static_cast<double>(mean),
                    static_cast<double>(sum_of_squares(run, n, mean)));
      });
    }
  });
}

template <class T>
void moments_of_rows(const NormShape& s, const T* x, Moments* out) {
  using W = Wide<T>;
  const int64_t c = s.channels, block = s.block();
  const ScratchArray<W> parts(static_cast<size_t>(2 * s.blocks() * c));
  const auto length = [&](int64_t k) { return std::min(block, s.count() - k * block); };
  parallel_for(0, s.blocks(), 1, [&](int64_t begin, int64_t end) HWY_ATTR {
    const ScratchArray<W> buffer(wide_size<T>(block * c));
    for (int64_t k = begin; k < end; ++k) {
      const int64_t rows = length(k);
      const W* first = widen(x + k * block * c, rows * c, buffer.data());
      W *mean = parts.data() + 2 * k * c, *squares = mean + c;
      std::fill_n(mean, 2 * c, W(0));
      for (int64_t r = 0; r < rows; ++r) {
        const W* row = first + r * c;
        for (int64_t i = 0; i < c; ++i) mean[i] += row[i];
      }
      for (int64_t i = 0; i < c; ++i) mean[i] /= static_cast<W>(rows);
      for (int64_t r = 0; r < rows; ++r) {
        const W* row = first + r * c;
        for (int64_t i = 0; i < c; ++i) squares[i] += (row[i] - mean[i]) * (row[i] - mean[i]);
      }
    }
  });
  for (int64_t k = 0; k < s.blocks(); ++k) {
    const W *mean = parts.data() + 2 * k * c, *squares = mean + c;
    for (int64_t i = 0; i < c; ++i) {
      out[i].join(static_cast<double>(length(k)), static_cast<double>(mean[i]), static_cast<double>(squares[i]));
    }
  }
}

template <class T>
void sums_of_planes(const NormShape& s, const T* g, const T* x, const Wide<T>* mean, NormSums* out) {
  using W = Wide<T>;
  parallel_for(0, s.channels, std::max<int64_t>(1, 16384 / s.count()), [&](int64_t begin, int64_t end) HWY_ATTR {
    const ScratchArray<W> wide_g(wide_size<T>(kRun)), wide_x(wide_size<T>(kRun));
    for (int64_t c = begin; c < end; ++c) {
      for_runs(s, c, [&](int64_t at, int64_t n) HWY_ATTR {
        const W *grad = widen(g + at, n, wide_g.data()), *value = widen(x + at, n, wide_x.data());
        out[c].grad += static_cast<double>(sum(grad, n));
        out[c].grad_x += static_cast<double>(sum_of_products(grad, value, n, mean[c]));
      });
    }
  });
}

template <class T>
void sums_of_rows(const NormShape& s, const T* g, const T* x, const Wide<T>* mean, NormSums* out) {
  using W = Wide<T>;
  const int64_t c = s.channels, block = s.block();
  const ScratchArray<W> parts(static_cast<size_t>(2 * s.blocks() * c));
  parallel_for(0, s.blocks(), 1, [&](int64_t begin, int64_t end) HWY_ATTR {
    const ScratchArray<W> wide_g(wide_size<T>(block * c)), wide_x(wide_size<T>(block * c));
    for (int64_t k = begin; k < end; ++k) {
      const int64_t rows = std::min(block, s.count() - k * block);
      const W* grads = widen(g + k * block * c, rows * c, wide_g.data());
      const W* values = widen(x + k * block * c, rows * c, wide_x.data());
      W *grad = parts.data() + 2 * k * c, *grad_x = grad + c;
      std::fill_n(grad, 2 * c, W(0));
      for (int64_t r = 0; r < rows; ++r) {
        const W *gr = grads + r * c, *xr = values + r * c;
        for (int64_t i = 0; i < c; ++i) {
          grad[i] += gr[i];
          grad_x[i] += gr[i] * (xr[i] - mean[i]);
        }
      }
    }
  });
  for (int64_t k = 0; k < s.blocks(); ++k) {
    const W *grad = parts.data() + 2 * k * c, *grad_x = grad + c;
    for (int64_t i = 0; i < c; ++i)
      out[i].grad += static_cast<double>(grad[i]), out[i].grad_x += static_cast<double>(grad_x[i]);
  }
}

/// out = (x - mean) scale + shift by channel.
template <class T>
void normalize(const NormShape& s, const T* x, T* out, const Wide<T>* mean, const Wide<T>* scale,
               const Wide<T>* shift) {
  using W = Wide<T>;
  const int64_t c = s.channels, run = s.channels_last ? c : s.spatial;
  parallel_for(0, s.batch * c * s.spatial / run, std::max<int64_t>(1, 16384 / run),
               [&](int64_t begin, int64_t end) HWY_ATTR {
                 const ScratchArray<W> from(wide_size<T>(run)), to(wide_size<T>(run));
                 for (int64_t p = begin; p < end; ++p) {
                   const W* v = widen(x + p * run, run, from.data());
                   W* y = wide_target(out + p * run, to.data());
                   if (s.channels_last) {
                     for (int64_t i = 0; i < run; ++i) y[i] = (v[i] - mean[i]) * scale[i] + shift[i];
                   } else {
                     const W m = mean[p % c], a = scale[p % c], b = shift[p % c];
                     for (int64_t i = 0; i < run; ++i) y[i] = (v[i] - m) * a + b;
                   }
                   narrow(y, run, out + p * run);
                 }
               });
}

/// out = g k0 + (x - mean) k1 + k2 by channel.
template <class T>
void input_gradient(const NormShape& s, const T* g, const T* x, T* out, const Wide<T>* mean, const Wide<T>* k0,
                    const Wide<T>* k1, const Wide<T>* k2) {
  using W = Wide<T>;
  const int64_t c = s.channels, run = s.channels_last ? c : s.spatial;
  parallel_for(0, s.batch * c * s.spatial / run, std::max<int64_t>(1, 16384 / run),
               [&](int64_t begin, int64_t end) HWY_ATTR {
                 const ScratchArray<W> wide_g(wide_size<T>(run)), wide_x(wide_size<T>(run)), to(wide_size<T>(run));
                 for (int64_t p = begin; p < end; ++p) {
                   const W *d = widen(g + p * run, run, wide_g.data()), *v = widen(x + p * run, run, wide_x.data());
                   W* y = wide_target(out + p * run, to.data());
                   if (s.channels_last) {
                     for (int64_t i = 0; i < run; ++i) y[i] = d[i] * k0[i] + (v[i] - mean[i]) * k1[i] + k2[i];
                   } else {
                     const W m = mean[p % c], a = k0[p % c], b = k1[p % c], e = k2[p % c];
                     for (int64_t i = 0; i < run; ++i) y[i] = d[i] * a + (v[i] - m) * b + e;
                   }
                   narrow(y, run, out + p * run);
                 }
               });
}

template <class T>
void moments(const NormShape& s, const T* x, Moments* out) {
  s.channels_last ? moments_of_rows(s, x, out) : moments_of_planes(s, x, out);
}

template <class T>
void batch_forward(View output, View save_mean, View save_invstd, ConstView input, ConstView weight, ConstView bias,
                   View running_mean, View running_var, bool training, double momentum, double eps) {
  using W = Wide<T>;
  const NormShape s(input);
  const int64_t c = s.channels;
  const auto size = static_cast<size_t>(c);
  const auto w = read_vector<W>(weight, c, W(1)), b = read_vector<W>(bias, c, W(0));
  auto mean = read_vector<W>(running_mean, c, W(0)), var = read_vector<W>(running_var, c, W(1));
  const ScratchArray<W> scale(size), invstd(size);
  if (training) {
    const ScratchArray<Moments> of(size);
    std::fill_n(of.data(), c, Moments{});
    moments(s, input.as<T>(), of.data());
    const double n = static_cast<double>(s.count());
    for (size_t i = 0; i < size; ++i) {
      const double variance = of[i].squares / n;
      if (running_mean.data) mean[i] = static_cast<W>((1 - momentum) * mean[i] + momentum * of[i].mean);
      if (running_var.data) var[i] = static_cast<W>((1 - momentum) * var[i] + momentum * of[i].squares / (n - 1));
      // As PyTorch: a channel of equal values without eps becomes its bias, not NaN.
      invstd[i] = variance == 0 && eps == 0 ? W(0) : static_cast<W>(1 / std::sqrt(variance + eps));
    }
    write_vector(running_mean, c, mean.data());
    write_vector(running_var, c, var.data());
    for (size_t i = 0; i < size; ++i) mean[i] = static_cast<W>(of[i].mean);
    write_vector(save_mean, c, mean.data());
    write_vector(save_invstd, c, invstd.data());
  } else {
    for (size_t i = 0; i < size; ++i) invstd[i] = static_cast<W>(1 / std::sqrt(static_cast<double>(var[i]) + eps));
  }
  for (size_t i = 0; i < size; ++i) scale[i] = invstd[i] * w[i];
  normalize(s, input.as<T>(), output.as<T>(), mean.data(), scale.data(), b.data());
}

template <class T>
void batch_backward(View grad_input, View grad_weight, View grad_bias, ConstView grad_output, ConstView input,
                    ConstView weight, ConstView running_mean, ConstView running_var, ConstView save_mean,
                    ConstView save_invstd, bool training, double eps) {
  using W = Wide<T>;
  const NormShape s(input);
  const int64_t c = s.channels;
  const auto size = static_cast<size_t>(c);
  const auto w = read_vector<W>(weight, c, W(1)), mean = read_vector<W>(training ? save_mean : running_mean, c, W(0));
  const auto spread = read_vector<W>(training ? save_invstd : running_var, c, W(1));
  const T *g = grad_output.as<T>(), *x = input.as<T>();
  const ScratchArray<NormSums> sums(size);
  std::fill_n(sums.data(), c, NormSums{});
  if (training || grad_weight.data || grad_bias.data) {
    s.channels_last ? sums_of_rows(s, g, x, mean.data(), sums.data())
                    : sums_of_planes(s, g, x, mean.data(), sums.data());
  }
  const ScratchArray<W> k0(size), k1(size), k2(size), weight_sum(size), bias_sum(size);
  for (size_t i = 0; i < size; ++i) {
    const double inv = training ? static_cast<double>(spread[i]) : 1 / std::sqrt(static_cast<double>(spread[i]) + eps);
    const double slope = inv * static_cast<double>(w[i]), n = static_cast<double>(s.count());
    k0[i] = static_cast<W>(slope);
    k1[i] = training ? static_cast<W>(-slope * inv * inv * sums[i].grad_x / n) : W(0);
    k2[i] = training ? static_cast<W>(-slope * sums[i].grad / n) : W(0);
    weight_sum[i] = static_cast<W>(sums[i].grad_x * inv), bias_sum[i] = static_cast<W>(sums[i].grad);
  }
  write_vector(grad_weight, c, weight_sum.data());
  write_vector(grad_bias, c, bias_sum.data());
  if (grad_input.data) input_gradient(s, g, x, grad_input.as<T>(), mean.data(), k0.data(), k1.data(), k2.data());
}

void batch_norm_forward(View output, View save_mean, View save_invstd, ConstView input, ConstView weight,
                        ConstView bias, View running_mean, View running_var, bool training, double momentum,
                        double eps) {
  visit_floating(input.dtype, [&]<class T>() {
    batch_forward<T>(output, save_mean, save_invstd, input, weight, bias, running_mean, running_var, training, momentum,
                     eps);
  });
}
void batch_norm_backward(View grad_input, View grad_weight, View grad_bias, ConstView grad_output, ConstView input,
                         ConstView weight, ConstView running_mean, ConstView running_var, ConstView save_mean,
                         ConstView save_invstd, bool training, double eps) {
  visit_floating(input.dtype, [&]<class T>() {
    batch_backward<T>(grad_input, grad_weight, grad_bias, grad_output, input, weight, running_mean, running_var,
                      save_mean, save_invstd, training, eps);
  });
}

}  // namespace gradus::inline v0::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gradus::inline v0::kernels {
namespace {
HWY_EXPORT(batch_norm_forward);
HWY_EXPORT(batch_norm_backward);

bool is_empty(const ConstView& v) {
  for (int i = 0; i < v.ndim; ++i) {
    if (v.sizes[i] == 0) return true;
  }
  return false;
}

void forward_cpu(View output, View save_mean, View save_invstd, ConstView input, ConstView weight, ConstView bias,
                 View running_mean, View running_var, bool training, double momentum, double eps) {
  if (is_empty(input)) {
    // Of nothing, the statistics are nothing too: zero, as the gradients are.
    const int64_t c = input.sizes[1];
    const auto zeros = read_vector<double>(ConstView{nullptr, nullptr, nullptr, 0, ScalarType::Double}, c, 0.0);
    write_vector(save_mean, c, zeros.data());
    write_vector(save_invstd, c, zeros.data());
    return;
  }
  HWY_DYNAMIC_DISPATCH(batch_norm_forward)
  (output, save_mean, save_invstd, input, weight, bias, running_mean, running_var, training, momentum, eps);
}

void backward_cpu(View grad_input, View grad_weight, View grad_bias, ConstView grad_output, ConstView input,
                  ConstView weight, ConstView running_mean, ConstView running_var, ConstView save_mean,
                  ConstView save_invstd, bool training, double eps) {
  if (is_empty(input)) {
    const int64_t c = input.sizes[1];
    const auto zeros = read_vector<double>(ConstView{nullptr, nullptr, nullptr, 0, ScalarType::Double}, c, 0.0);
    write_vector(grad_weight, c, zeros.data());
    write_vector(grad_bias, c, zeros.data());
    return;
  }
  HWY_DYNAMIC_DISPATCH(batch_norm_backward)
  (grad_input, grad_weight, grad_bias, grad_output, input, weight, running_mean, running_var, save_mean, save_invstd,
   training, eps);
}
}  // namespace

constinit KernelTable<void(View, View, View, ConstView, ConstView, ConstView, View, View, bool, double, double)>
    batch_norm_forward("batch_norm", &forward_cpu);
constinit KernelTable<void(View, View, View, ConstView, ConstView, ConstView, ConstView, ConstView, ConstView,
                           ConstView, bool, double)>
    batch_norm_backward("batch_norm_backward", &backward_cpu);

}  // namespace gradus::inline v0::kernels
#endif
