// Batch and layer normalisation on the device against plain loops in double, in both layouts and all floating dtypes.
#include <kernels/normalization.h>

#include <string>

#include "device_array.h"

namespace gradus::inline v0::kernels {
namespace {

template <class T>
class CudaNormalization : public ::testing::Test {};
using Types = ::testing::Types<float, double, Half, BFloat16>;
TYPED_TEST_SUITE(CudaNormalization, Types);

std::string text(const std::vector<int64_t>& sizes) {
  std::string s;
  for (int64_t n : sizes) s += std::to_string(n) + " ";
  return s;
}

struct Channel {
  double mean = 0, var = 0, grad = 0, grad_x = 0;
};

template <class T, class P>
void batch(const std::vector<int64_t>& sizes, bool last, bool training, size_t shift) {
  const std::string name = text(sizes) + (last ? "channels last, " : "contiguous, ") + (training ? "training" : "eval");
  const int64_t c = sizes[1];
  Array<T> x(sizes, last), y(sizes, last), g(sizes, last), dx(sizes, last);
  Array<P> w({c}), b({c}), dw({c}), db({c});
  Array<float> mean({c}), var({c}), save_mean({c}), save_invstd({c});
  x.fill(1, 1, 3), g.fill(2), w.fill(3), b.fill(4), mean.fill(5), var.fill(6, 0.4, 1);
  const double momentum = 0.3, eps = 1e-3;
  int64_t spatial = 1;
  for (size_t i = 2; i < sizes.size(); ++i) spatial *= sizes[i];
  const double n = static_cast<double>(sizes[0] * spatial);
  const auto channel = [&](int64_t i) { return static_cast<size_t>(i / spatial % c); };
  std::vector<Channel> of(static_cast<size_t>(c));
  for (int64_t i = 0; i < x.numel(); ++i) of[channel(i)].mean += x.get(i) / n;
  for (int64_t i = 0; i < x.numel(); ++i) of[channel(i)].var += std::pow(x.get(i) - of[channel(i)].mean, 2) / n;
  std::vector<double> run_mean, run_var;
  for (int64_t i = 0; i < c; ++i) {
    Channel& k = of[static_cast<size_t>(i)];
    run_mean.push_back(training ? 0.7 * mean.get(i) + 0.3 * k.mean : mean.get(i));
    run_var.push_back(training ? 0.7 * var.get(i) + 0.3 * k.var * n / (n - 1) : var.get(i));
    if (!training) k.mean = mean.get(i), k.var = var.get(i);
  }
  std::vector<double> want(static_cast<size_t>(x.numel())), grad(want.size()), want_w(of.size()), want_b(of.size());
  const auto xhat = [&](int64_t i) { return (x.get(i) - of[channel(i)].mean) / std::sqrt(of[channel(i)].var + eps); };
  for (int64_t i = 0; i < x.numel(); ++i) {
    const auto k = static_cast<int64_t>(channel(i));
    want[static_cast<size_t>(i)] = xhat(i) * w.get(k) + b.get(k);
    want_w[channel(i)] += g.get(i) * xhat(i), want_b[channel(i)] += g.get(i);
  }
  for (int64_t i = 0; i < x.numel(); ++i) {
    const size_t k = channel(i);
    const double slope = w.get(static_cast<int64_t>(k)) / std::sqrt(of[k].var + eps);
    grad[static_cast<size_t>(i)] = slope * (g.get(i) - (training ? want_b[k] / n + xhat(i) * want_w[k] / n : 0));
  }
  DeviceArray<T> dev_x(x, shift), dev_y(y), dev_g(g), dev_dx(dx);
  DeviceArray<P> dev_w(w), dev_b(b), dev_dw(dw), dev_db(db);
  DeviceArray<float> dev_mean(mean), dev_var(var), dev_save_mean(save_mean), dev_save_invstd(save_invstd);
  batch_norm_forward(on_cuda(), dev_y.view(), training ? dev_save_mean.view() : no_cuda_result(),
                     training ? dev_save_invstd.view() : no_cuda_result(), dev_x.view(), dev_w.view(), dev_b.view(),
                     dev_mean.view(), dev_var.view(), training, momentum, eps);
  const double tolerance = rounding<T>() * 20;
  expect_near(dev_y.read(), want, tolerance, name);
  expect_near(dev_mean.read(), run_mean, 4e-6, name + ": running mean");
  expect_near(dev_var.read(), run_var, 2e-5, name + ": running var");
  batch_norm_backward(on_cuda(), dev_dx.view(), dev_dw.view(), dev_db.view(), dev_g.view(), dev_x.view(), dev_w.view(),
                      dev_mean.view(), dev_var.view(), training ? dev_save_mean.view() : no_cuda_result(),
                      training ? dev_save_invstd.view() : no_cuda_result(), training, eps);
  // The saved statistics are floats, which bounds f64 here.
  const double slack = std::max(tolerance, 2e-5) * (training ? 1 : 3);
  expect_near(dev_dx.read(), grad, slack, name + ": gradient");
  expect_near(dev_dw.read(), want_w, slack * n * 0.05 + slack, name + ": weight's gradient");
  expect_near(dev_db.read(), want_b, slack * 10, name + ": bias's gradient");
  // The input's gradient alone is the same bits.
  DeviceArray<T> dev_alone(dx);
  batch_norm_backward(on_cuda(), dev_alone.view(), no_cuda_result(), no_cuda_result(), dev_g.view(), dev_x.view(),
                      dev_w.view(), dev_mean.view(), dev_var.view(), training ? dev_save_mean.view() : no_cuda_result(),
                      training ? dev_save_invstd.view() : no_cuda_result(), training, eps);
  dev_alone.read();
  std::vector<double> before;
  for (int64_t i = 0; i < dx.numel(); ++i) before.push_back(grad[static_cast<size_t>(i)]);
  expect_near(dx, before, slack, name + ": gradient alone");
}

TYPED_TEST(CudaNormalization, Batch) {
  const std::vector<int64_t> shapes[] = {{4, 3},        {2, 1, 5},       {3, 5, 4, 3},  {2, 33, 7, 7}, {5, 2, 70, 71},
                                         {2, 64, 8, 8}, {2, 3, 2, 3, 4}, {600, 7},      {2, 16, 1, 1}, {33, 1024},
                                         {2, 2, 1025},  {1, 1, 4097},    {3, 129, 2, 2}};
  for (const auto& sizes : shapes) {
    for (bool last : {false, true}) {
      for (bool training : {true, false}) {
        batch<TypeParam, TypeParam>(sizes, last, training, 0);
        if (this->HasFatalFailure()) return;
      }
      batch<TypeParam, float>(sizes, last, true, 1);
      if (this->HasFatalFailure()) return;
    }
  }
}

TEST(CudaBatchNorm, OfNothingIsZero) {
  Array<float> x({0, 3, 4}), y(x.sizes), save_mean({3}), save_invstd({3});
  save_mean.fill(1), save_invstd.fill(1);
  DeviceArray<float> dev_x(x), dev_y(y), dev_mean(save_mean), dev_invstd(save_invstd);
  batch_norm_forward(on_cuda(), dev_y.view(), dev_mean.view(), dev_invstd.view(), dev_x.view(), no_cuda_view(),
                     no_cuda_view(), no_cuda_result(), no_cuda_result(), true, 0.1, 1e-5);
  expect_near(dev_mean.read(), {0, 0, 0}, 0, "mean");
  expect_near(dev_invstd.read(), {0, 0, 0}, 0, "invstd");
  save_mean.fill(1), save_invstd.fill(1);
  DeviceArray<float> dev_dw(save_mean), dev_db(save_invstd);
  batch_norm_backward(on_cuda(), no_cuda_result(), dev_dw.view(), dev_db.view(), dev_y.view(), dev_x.view(),
                      no_cuda_view(), no_cuda_view(), no_cuda_view(), dev_mean.view(), dev_invstd.view(), true, 1e-5);
  expect_near(dev_dw.read(), {0, 0, 0}, 0, "weight's gradient");
  expect_near(dev_db.read(), {0, 0, 0}, 0, "bias's gradient");
}

TEST(CudaBatchNorm, EqualValuesWithoutEps) {
  Array<float> x({4, 2}), y(x.sizes), save_mean({2}), save_invstd({2}), b({2});
  x.data.assign(x.data.size(), 3.0f);
  b.data = {1, -2};
  DeviceArray<float> dev_x(x), dev_y(y), dev_mean(save_mean), dev_invstd(save_invstd), dev_b(b);
  batch_norm_forward(on_cuda(), dev_y.view(), dev_mean.view(), dev_invstd.view(), dev_x.view(), no_cuda_view(),
                     dev_b.view(), no_cuda_result(), no_cuda_result(), true, 0.1, 0);
  expect_near(dev_y.read(), {1, -2, 1, -2, 1, -2, 1, -2}, 0, "output");
  expect_near(dev_invstd.read(), {0, 0}, 0, "invstd");
}

TEST(CudaBatchNorm, SurvivesALargeMean) {
  for (bool last : {false, true}) {
    Array<float> x({64, 2, 8, 8}, last), y(x.sizes, last), save_mean({2}), save_invstd({2});
    x.fill(1, 1, 4096);
    double mean = 0, var = 0;
    for (int64_t i = 0; i < x.numel(); ++i) mean += i / 64 % 2 == 0 ? x.get(i) / 4096 : 0;
    for (int64_t i = 0; i < x.numel(); ++i) var += i / 64 % 2 == 0 ? std::pow(x.get(i) - mean, 2) / 4096 : 0;
    DeviceArray<float> dev_x(x), dev_y(y), dev_mean(save_mean), dev_invstd(save_invstd);
    batch_norm_forward(on_cuda(), dev_y.view(), dev_mean.view(), dev_invstd.view(), dev_x.view(), no_cuda_view(),
                       no_cuda_view(), no_cuda_result(), no_cuda_result(), true, 0.1, 0);
    dev_mean.read(), dev_invstd.read();
    EXPECT_NEAR(save_mean.get(0), mean, 4096 * 1.2e-7);
    EXPECT_NEAR(save_invstd.get(0) * std::sqrt(var), 1, 1e-5);
  }
}

// T: of the rows, P: of the parameters, S: of the statistics.
template <class T, class P, class S>
void layer(int64_t rows, int64_t n, bool parameters, size_t shift) {
  const std::string name = std::to_string(rows) + " rows of " + std::to_string(n) + (parameters ? "" : ", bare");
  Array<T> x({rows, n}), y({rows, n}), g({rows, n}), dx({rows, n});
  Array<P> w({n}), b({n}), dw({n}), db({n});
  Array<S> mean({rows}), rstd({rows});
  x.fill(1, 1, 2), g.fill(2), w.fill(3), b.fill(4), dw.fill(5), db.fill(6);
  const double eps = 1e-3;
  DeviceArray<T> dev_x(x, shift), dev_y(y), dev_g(g), dev_dx(dx);
  DeviceArray<P> dev_w(w), dev_b(b), dev_dw(dw), dev_db(db);
  DeviceArray<S> dev_mean(mean), dev_rstd(rstd);
  const ConstView weight = parameters ? ConstView(dev_w.view()) : no_cuda_view();
  layer_norm_forward(on_cuda(), dev_y.view(), dev_mean.view(), dev_rstd.view(), dev_x.view(), weight,
                     parameters ? ConstView(dev_b.view()) : no_cuda_view(), n, eps);
  dev_y.read(), dev_mean.read(), dev_rstd.read();
  std::vector<double> want(x.data.size()), grad(want.size()), want_w(static_cast<size_t>(n)), want_b(want_w.size()),
      want_mean, want_rstd;
  const auto weight_of = [&](int64_t i) { return parameters ? w.get(i) : 1; };
  for (int64_t r = 0; r < rows; ++r) {
    double m = 0, v = 0, sum_h = 0, sum_hx = 0;
    for (int64_t i = 0; i < n; ++i) m += x.get(r * n + i) / static_cast<double>(n);
    for (int64_t i = 0; i < n; ++i) v += std::pow(x.get(r * n + i) - m, 2) / static_cast<double>(n);
    for (int64_t i = 0; i < n; ++i) {
      want[static_cast<size_t>(r * n + i)] =
          (x.get(r * n + i) - m) / std::sqrt(v + eps) * weight_of(i) + (parameters ? b.get(i) : 0);
    }
    want_mean.push_back(m), want_rstd.push_back(1 / std::sqrt(v + eps));
    // From here on with what was saved, in S.
    m = mean.get(r);
    const double s = rstd.get(r);
    for (int64_t i = 0; i < n; ++i) {
      const double hat = (x.get(r * n + i) - m) * s, h = g.get(r * n + i) * weight_of(i);
      sum_h += h / static_cast<double>(n), sum_hx += h * hat / static_cast<double>(n);
      want_w[static_cast<size_t>(i)] += g.get(r * n + i) * hat, want_b[static_cast<size_t>(i)] += g.get(r * n + i);
    }
    for (int64_t i = 0; i < n; ++i) {
      const double hat = (x.get(r * n + i) - m) * s;
      grad[static_cast<size_t>(r * n + i)] = s * (g.get(r * n + i) * weight_of(i) - sum_h - hat * sum_hx);
    }
  }
  expect_near(y, want, rounding<T>() * 10, name);
  expect_near(mean, want_mean, rounding<T>() * 10, name + ": mean");
  expect_near(rstd, want_rstd, rounding<T>() * 100, name + ": rstd");
  const auto backward = [&](View to, View to_w, View to_b) {
    layer_norm_backward(on_cuda(), to, to_w, to_b, dev_g.view(), dev_x.view(), dev_mean.view(), dev_rstd.view(), weight,
                        n);
  };
  const double slack = 1e-5 * std::max(10.0, static_cast<double>(rows));
  backward(dev_dx.view(), dev_dw.view(), dev_db.view());
  expect_near(dev_dx.read(), grad, rounding<T>() * 30, name + ": gradient");
  expect_near(dev_dw.read(), want_w, slack, name + ": weight's gradient");
  expect_near(dev_db.read(), want_b, slack, name + ": bias's gradient");
  DeviceArray<T> dev_alone(x);
  backward(dev_alone.view(), no_cuda_result(), no_cuda_result());
  expect_near(dev_alone.read(), grad, rounding<T>() * 30, name + ": gradient alone");
  DeviceArray<P> dev_bias_alone(b);
  backward(no_cuda_result(), no_cuda_result(), dev_bias_alone.view());
  expect_near(dev_bias_alone.read(), want_b, slack, name + ": bias's gradient alone");
}

TYPED_TEST(CudaNormalization, Layer) {
  using T = TypeParam;
  const std::pair<int64_t, int64_t> shapes[] = {{1, 1},    {3, 5},     {4, 32},    {2, 33},    {200, 17},
                                                {3, 1025}, {0, 5},     {1000, 64}, {70, 128},  {5, 1024},
                                                {3, 4096}, {2, 16384}, {2, 20000}, {1, 40001}, {70, 768}};
  for (const auto& [rows, n] : shapes) {
    layer<T, T, T>(rows, n, true, 0);
    layer<T, float, float>(rows, n, true, 0);
    if (n < 5000) layer<T, T, T>(rows, n, false, 0);
    layer<T, T, float>(rows, n, true, 1);
    if (n < 100) layer<T, double, Half>(rows, n, true, 0);
    if (this->HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace gradus::inline v0::kernels
