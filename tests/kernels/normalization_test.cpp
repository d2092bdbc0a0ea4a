// Batch and layer normalisation in both layouts and all floating dtypes against plain loops in double.
#include <kernels/normalization.h>

#include "reference.h"

namespace gradus::inline v0::kernels {
namespace {

template <class T>
class Normalization : public ::testing::Test {};
using Types = ::testing::Types<float, double, Half, BFloat16>;
TYPED_TEST_SUITE(Normalization, Types);

struct Channel {
  double mean = 0, var = 0, grad = 0, grad_x = 0;
};

TYPED_TEST(Normalization, Batch) {
  using T = TypeParam;
  const double tolerance = rounding<T>() * 20;
  const std::vector<int64_t> shapes[] = {{4, 3},         {2, 1, 5},       {3, 5, 4, 3}, {2, 33, 7, 7},
                                         {5, 2, 70, 71}, {2, 3, 2, 3, 4}, {600, 7},     {2, 16, 1, 1}};
  for (const auto& sizes : shapes) {
    for (bool last : {false, true}) {
      for (bool training : {true, false}) {
        const int64_t c = sizes[1];
        Array<T> x(sizes, last), y(sizes, last), g(sizes, last), dx(sizes, last), w({c}), b({c}), dw({c}), db({c});
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
        std::vector<double> want(static_cast<size_t>(x.numel())), grad(want.size()), want_w(of.size()),
            want_b(of.size());
        const auto xhat = [&](int64_t i) {
          return (x.get(i) - of[channel(i)].mean) / std::sqrt(of[channel(i)].var + eps);
        };
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
        batch_norm_forward(DeviceType::CPU, y.view(), save_mean.view(), save_invstd.view(), x.view(), w.view(),
                           b.view(), mean.view(), var.view(), training, momentum, eps);
        expect_near(y, want, tolerance, "batch_norm");
        expect_near(mean, run_mean, 4e-6, "running mean");
        expect_near(var, run_var, 2e-5, "running var");
        batch_norm_backward(DeviceType::CPU, dx.view(), dw.view(), db.view(), g.view(), x.view(), w.view(), mean.view(),
                            var.view(), save_mean.view(), save_invstd.view(), training, eps);
        // The saved statistics are floats, which bounds f64 here.
        const double slack = std::max(tolerance, 2e-5) * (training ? 1 : 3);
        expect_near(dx, grad, slack, "batch_norm's gradient");
        expect_near(dw, want_w, slack * n * 0.05 + slack, "weight's gradient");
        expect_near(db, want_b, slack * 10, "bias's gradient");
        if (this->HasFatalFailure()) return;
      }
    }
  }
}

TEST(BatchNorm, SurvivesALargeMean) {
  Array<float> x({64, 2, 8, 8}), y(x.sizes), save_mean({2}), save_invstd({2});
  x.fill(1, 1, 4096);
  double mean = 0, var = 0;
  for (int64_t i = 0; i < x.numel(); ++i) {
    if (i / 64 % 2 == 0) mean += x.get(i) / 4096;
  }
  for (int64_t i = 0; i < x.numel(); ++i) {
    if (i / 64 % 2 == 0) var += std::pow(x.get(i) - mean, 2) / 4096;
  }
  const View none{};
  batch_norm_forward(DeviceType::CPU, y.view(), save_mean.view(), save_invstd.view(), x.view(), no_view(), no_view(),
                     none, none, true, 0.1, 0);
  EXPECT_NEAR(save_mean.get(0), mean, 4096 * 1e-7);
  EXPECT_NEAR(save_invstd.get(0) * std::sqrt(var), 1, 1e-5);
}

TYPED_TEST(Normalization, Layer) {
  using T = TypeParam;
  for (const auto& [rows, n] :
       {std::pair<int64_t, int64_t>{1, 1}, {3, 5}, {4, 32}, {2, 33}, {200, 17}, {3, 1025}, {0, 5}, {1000, 64}}) {
    Array<T> x({rows, n}), y({rows, n}), g({rows, n}), dx({rows, n}), mean({rows}), rstd({rows});
    Array<float> w({n}), b({n}), dw({n}), db({n});
    x.fill(1, 1, 2), g.fill(2), w.fill(3), b.fill(4);
    const double eps = 1e-3;
    std::vector<double> want(x.data.size()), grad(x.data.size()), want_w(static_cast<size_t>(n)), want_b(want_w.size());
    layer_norm_forward(DeviceType::CPU, y.view(), mean.view(), rstd.view(), x.view(), w.view(), b.view(), n, eps);
    for (int64_t r = 0; r < rows; ++r) {
      double m = 0, v = 0, sum_h = 0, sum_hx = 0;
      for (int64_t i = 0; i < n; ++i) m += x.get(r * n + i) / static_cast<double>(n);
      for (int64_t i = 0; i < n; ++i) v += std::pow(x.get(r * n + i) - m, 2) / static_cast<double>(n);
      for (int64_t i = 0; i < n; ++i)
        want[static_cast<size_t>(r * n + i)] = (x.get(r * n + i) - m) / std::sqrt(v + eps) * w.get(i) + b.get(i);
      // From here on with what was saved, in T.
      m = mean.get(r);
      const double s = rstd.get(r);
      for (int64_t i = 0; i < n; ++i) {
        const double hat = (x.get(r * n + i) - m) * s, h = g.get(r * n + i) * w.get(i);
        sum_h += h / static_cast<double>(n), sum_hx += h * hat / static_cast<double>(n);
        want_w[static_cast<size_t>(i)] += g.get(r * n + i) * hat, want_b[static_cast<size_t>(i)] += g.get(r * n + i);
      }
      for (int64_t i = 0; i < n; ++i) {
        const double hat = (x.get(r * n + i) - m) * s;
        grad[static_cast<size_t>(r * n + i)] = s * (g.get(r * n + i) * w.get(i) - sum_h - hat * sum_hx);
      }
    }
    expect_near(y, want, rounding<T>() * 10, "layer_norm");
    layer_norm_backward(DeviceType::CPU, dx.view(), dw.view(), db.view(), g.view(), x.view(), mean.view(), rstd.view(),
                        w.view(), n);
    expect_near(dx, grad, rounding<T>() * 30, "layer_norm's gradient");
    expect_near(dw, want_w, 1e-5 * std::max<double>(static_cast<double>(rows), 1), "weight's gradient");
    expect_near(db, want_b, 1e-5 * std::max<double>(static_cast<double>(rows), 1), "bias's gradient");
    if (this->HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace gradus::inline v0::kernels
