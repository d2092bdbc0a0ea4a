#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/layer_norm.cpp"
#include <kernels/cpu/simd.h>

#include <algorithm>
#include <cmath>

#include <kernels/cpu/moments-inl.h>
#include <kernels/cpu/widen.h>
#include <kernels/normalization.h>
#include <kernels/parallel.h>

HWY_BEFORE_NAMESPACE();
namespace gradus::inline v0::kernels::HWY_NAMESPACE {

template <class T>
void layer_forward(View output, View mean, View rstd, ConstView input, ConstView weight, ConstView bias, int64_t rows,
                   int64_t n, double eps) {
  using W = Wide<T>;
  const auto w = read_vector<W>(weight, n, W(1)), b = read_vector<W>(bias, n, W(0));
  const ScratchArray<W> means(static_cast<size_t>(rows)), rstds(static_cast<size_t>(rows));
  parallel_for(0, rows, std::max<int64_t>(1, 16384 / n), [&](int64_t begin, int64_t end) HWY_ATTR {
    const ScratchArray<W> from(wide_size<T>(n)), to(wide_size<T>(n));
    const W *scale = w.data(), *shift = b.data();
    for (int64_t r = begin; r < end; ++r) {
      const W* x = widen(input.as<T>() + r * n, n, from.data());
      T* out = output.as<T>() + r * n;
      W* y = wide_target(out, to.data());
      const W m = sum(x, n) / static_cast<W>(n);
      const W s = W(1) / std::sqrt(sum_of_squares(x, n, m) / static_cast<W>(n) + static_cast<W>(eps));
      for (int64_t i = 0; i < n; ++i) y[i] = (x[i] - m) * s * scale[i] + shift[i];
      narrow(y, n, out);
      means[static_cast<size_t>(r)] = m, rstds[static_cast<size_t>(r)] = s;
    }
  });
  write_vector(mean, rows, means.data());
  write_vector(rstd, rows, rstds.data());
}

/// Rows in blocks, as many as depend on the sizes alone, each with its own sums of the parameters' gradients.
template <class T>
void layer_backward(View grad_input, View grad_weight, View grad_bias, ConstView grad_output, ConstView input,
                    ConstView mean, ConstView rstd, ConstView weight, int64_t rows, int64_t n) {
  using W = Wide<T>;
  const auto w = read_vector<W>(weight, n, W(1)), m = read_vector<W>(mean, rows, W(0)),
             s = read_vector<W>(rstd, rows, W(1));
  const bool want_sums = grad_weight.data || grad_bias.data;
  const int64_t block = std::max<int64_t>({1, 8192 / n, (rows + 63) / 64}), blocks = (rows + block - 1) / block;
  const ScratchArray<W> sums(want_sums ? static_cast<size_t>(2 * blocks * n) : 0);
  parallel_for(0, blocks, 1, [&](int64_t begin, int64_t end) HWY_ATTR {
    const ScratchArray<W> wide_x(wide_size<T>(n)), wide_g(wide_size<T>(n)), to(wide_size<T>(n)),
        scaled(static_cast<size_t>(n));
    for (int64_t k = begin; k < end; ++k) {
      W *weight_sum = sums.data() + 2 * k * n, *bias_sum = weight_sum + n;
      if (want_sums) std::fill_n(weight_sum, 2 * n, W(0));
      for (int64_t r = k * block; r < std::min(rows, (k + 1) * block); ++r) {
        const W* x = widen(input.as<T>() + r * n, n, wide_x.data());
        const W* g = widen(grad_output.as<T>() + r * n, n, wide_g.data());
        const W mu = m[static_cast<size_t>(r)], inv = s[static_cast<size_t>(r)];
        if (want_sums) {
          for (int64_t i = 0; i < n; ++i) weight_sum[i] += g[i] * ((x[i] - mu) * inv);
          for (int64_t i = 0; i < n; ++i) bias_sum[i] += g[i];
        }
        if (!grad_input.data) continue;
        W* h = scaled.data();
        const W* scale = w.data();
        for (int64_t i = 0; i < n; ++i) h[i] = g[i] * scale[i];
        const W mean_h = sum(h, n) / static_cast<W>(n);
        const W slope = sum_of_products(h, x, n, mu) * inv * inv / static_cast<W>(n);
        T* out = grad_input.as<T>() + r * n;
        W* dx = wide_target(out, to.data());
        for (int64_t i = 0; i < n; ++i) dx[i] = inv * (h[i] - mean_h - (x[i] - mu) * slope);
        narrow(dx, n, out);
      }
    }
  });
  if (!want_sums) return;
  for (int64_t k = 1; k < blocks; ++k) {
    for (int64_t i = 0; i < 2 * n; ++i) sums[static_cast<size_t>(i)] += sums[static_cast<size_t>(2 * k * n + i)];
  }
  write_vector(grad_weight, n, sums.data());
  write_vector(grad_bias, n, sums.data() + n);
}

void layer_norm_forward(View output, View mean, View rstd, ConstView input, ConstView weight, ConstView bias,
                        int64_t rows, int64_t n, double eps) {
  visit_floating(input.dtype,
                 [&]<class T>() { layer_forward<T>(output, mean, rstd, input, weight, bias, rows, n, eps); });
}
void layer_norm_backward(View grad_input, View grad_weight, View grad_bias, ConstView grad_output, ConstView input,
                         ConstView mean, ConstView rstd, ConstView weight, int64_t rows, int64_t n) {
  visit_floating(input.dtype, [&]<class T>() {
    layer_backward<T>(grad_input, grad_weight, grad_bias, grad_output, input, mean, rstd, weight, rows, n);
  });
}

}  // namespace gradus::inline v0::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gradus::inline v0::kernels {
namespace {
HWY_EXPORT(layer_norm_forward);
HWY_EXPORT(layer_norm_backward);

int64_t rows_of(const ConstView& v, int64_t row) {
  int64_t n = 1;
  for (int i = 0; i < v.ndim; ++i) n *= v.sizes[i];
  return row == 0 ? 0 : n / row;
}

void forward_cpu(View output, View mean, View rstd, ConstView input, ConstView weight, ConstView bias, int64_t row,
                 double eps) {
  const int64_t rows = rows_of(input, row);
  if (rows > 0) HWY_DYNAMIC_DISPATCH(layer_norm_forward)(output, mean, rstd, input, weight, bias, rows, row, eps);
}

void backward_cpu(View grad_input, View grad_weight, View grad_bias, ConstView grad_output, ConstView input,
                  ConstView mean, ConstView rstd, ConstView weight, int64_t row) {
  const int64_t rows = rows_of(input, row);
  if (rows == 0) {
    const ScratchArray<double> zeros = read_vector<double>(ConstView{nullptr, nullptr, nullptr, 0, kFloat}, row, 0.0);
    write_vector(grad_weight, row, zeros.data());
    write_vector(grad_bias, row, zeros.data());
    return;
  }
  HWY_DYNAMIC_DISPATCH(layer_norm_backward)
  (grad_input, grad_weight, grad_bias, grad_output, input, mean, rstd, weight, rows, row);
}
}  // namespace

constinit KernelTable<void(View, View, View, ConstView, ConstView, ConstView, int64_t, double)> layer_norm_forward(
    "layer_norm", &forward_cpu);
constinit KernelTable<void(View, View, View, ConstView, ConstView, ConstView, ConstView, ConstView, int64_t)>
    layer_norm_backward("layer_norm_backward", &backward_cpu);

}  // namespace gradus::inline v0::kernels
#endif
