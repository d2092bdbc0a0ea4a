// Softmax, negative log likelihood and embedding against plain loops in double.
#include <kernels/embedding.h>
#include <kernels/loss.h>
#include <kernels/softmax.h>

#include "reference.h"

namespace gradus::inline v0::kernels {
namespace {

template <class T>
class Floating : public ::testing::Test {};
using Types = ::testing::Types<float, double, Half, BFloat16>;
TYPED_TEST_SUITE(Floating, Types);

struct Extent {
  int64_t outer = 1, n = 1, inner = 1;
};
Extent extent(const std::vector<int64_t>& sizes, size_t dim) {
  Extent e;
  for (size_t i = 0; i < sizes.size(); ++i) (i < dim ? e.outer : i == dim ? e.n : e.inner) *= sizes[i];
  return e;
}

/// Calls f(indices of one row).
template <class F>
void for_rows(const Extent& e, const F& f) {
  for (int64_t o = 0; o < e.outer; ++o) {
    for (int64_t j = 0; j < e.inner; ++j) {
      std::vector<size_t> row;
      for (int64_t i = 0; i < e.n; ++i) row.push_back(static_cast<size_t>((o * e.n + i) * e.inner + j));
      if (!row.empty()) f(row);
    }
  }
}

TYPED_TEST(Floating, Softmax) {
  const std::pair<std::vector<int64_t>, size_t> shapes[] = {
      {{1}, 0},        {{3, 10}, 1},     {{5, 31}, 1},  {{4, 32}, 1}, {{2, 33}, 1},
      {{2, 1025}, 1},  {{1, 20000}, 1},  {{300, 3}, 1}, {{7, 5}, 0},  {{2, 6, 3}, 1},
      {{3, 4, 65}, 1}, {{2, 3, 130}, 1}, {{0, 4}, 1},   {{4, 0}, 1},  {{2, 4, 0}, 1}};
  for (const auto& [sizes, dim] : shapes) {
    for (bool log : {false, true}) {
      Array<TypeParam> x(sizes), y(sizes), g(sizes), dx(sizes);
      x.fill(1, 3), g.fill(2);
      const Extent e = extent(sizes, dim);
      std::vector<double> want(x.data.size()), grad(x.data.size());
      for_rows(e, [&](const std::vector<size_t>& row) {
        double most = -HUGE_VAL, sum = 0;
        for (size_t i : row) most = std::max(most, static_cast<double>(x.data[i]));
        for (size_t i : row) sum += std::exp(static_cast<double>(x.data[i]) - most);
        for (size_t i : row) {
          const double l = static_cast<double>(x.data[i]) - most - std::log(sum);
          want[i] = log ? l : std::exp(l);
        }
      });
      softmax_forward(DeviceType::CPU, y.view(), x.view(), static_cast<int64_t>(dim), log);
      expect_near(y, want, rounding<TypeParam>() * (log ? 5 : 1), log ? "log_softmax" : "softmax");
      for_rows(e, [&](const std::vector<size_t>& row) {
        double sum = 0;
        for (size_t i : row) sum += static_cast<double>(g.data[i]) * (log ? 1 : static_cast<double>(y.data[i]));
        for (size_t i : row) {
          const double v = static_cast<double>(y.data[i]), d = static_cast<double>(g.data[i]);
          grad[i] = log ? d - std::exp(v) * sum : v * (d - sum);
        }
      });
      softmax_backward(DeviceType::CPU, dx.view(), g.view(), y.view(), static_cast<int64_t>(dim), log);
      expect_near(dx, grad, rounding<TypeParam>() * 10, "softmax gradient");
      if (this->HasFatalFailure()) return;
    }
  }
}

TYPED_TEST(Floating, SoftmaxOfInfinitiesAndNaN) {
  constexpr double kInf = HUGE_VAL, kNaN = std::numeric_limits<double>::quiet_NaN();
  for (int64_t inner : {1, 2}) {
    const std::vector<std::vector<double>> rows = {{-kInf, 0, 0, -kInf},
                                                   {-kInf, -kInf, -kInf, -kInf},
                                                   {1, kNaN, 2, 3},
                                                   {kNaN, 0, 1, 2},
                                                   {60000, 60000, -60000, -60000}};
    const std::vector<std::vector<double>> want = {{0, 0.5, 0.5, 0},
                                                   {kNaN, kNaN, kNaN, kNaN},
                                                   {kNaN, kNaN, kNaN, kNaN},
                                                   {kNaN, kNaN, kNaN, kNaN},
                                                   {0.5, 0.5, 0, 0}};
    for (size_t r = 0; r < rows.size(); ++r) {
      Array<TypeParam> x({4, inner}), y({4, inner});
      std::vector<double> expected;
      for (size_t i = 0; i < 4; ++i) {
        for (int64_t j = 0; j < inner; ++j)
          x.data[i * static_cast<size_t>(inner) + static_cast<size_t>(j)] = static_cast<TypeParam>(rows[r][i]),
                                                  expected.push_back(want[r][i]);
      }
      softmax_forward(DeviceType::CPU, y.view(), x.view(), 0, false);
      expect_near(y, expected, 0, "row " + std::to_string(r));
    }
  }
}

TYPED_TEST(Floating, NllLoss) {
  const std::vector<int64_t> shapes[] = {{5, 4}, {1, 1}, {3, 7, 2, 3}, {700, 3}, {0, 3}};
  for (const auto& sizes : shapes) {
    for (bool weighted : {false, true}) {
      for (LossReduction reduction : {LossReduction::None, LossReduction::Mean, LossReduction::Sum}) {
        Array<TypeParam> x(sizes), w({sizes[1]}), dx(sizes);
        x.fill(1), w.fill(3, 0.2, 1);
        std::vector<int64_t> target_sizes = {sizes[0]};
        target_sizes.insert(target_sizes.end(), sizes.begin() + 2, sizes.end());
        Array<int64_t> target(target_sizes);
        const int64_t spatial = sizes.size() == 2 ? 1 : sizes[2] * sizes[3], n = target.numel();
        const int64_t ignore = sizes[1] > 2 ? 2 : -100;
        for (int64_t i = 0; i < n; ++i) target.data[static_cast<size_t>(i)] = i * 5 % sizes[1];
        Array<TypeParam> out(reduction == LossReduction::None ? target_sizes : std::vector<int64_t>{}), total({}),
            g(out.sizes);
        g.fill(4);
        std::vector<double> each(static_cast<size_t>(n)), grad(x.data.size());
        double sum = 0, weights = 0;
        const auto at = [&](int64_t i, int64_t c) {
          return static_cast<size_t>((i / spatial * sizes[1] + c) * spatial + i % spatial);
        };
        for (int64_t i = 0; i < n; ++i) {
          const int64_t c = target.data[static_cast<size_t>(i)];
          if (c == ignore) continue;
          const double wc = weighted ? static_cast<double>(w.data[static_cast<size_t>(c)]) : 1;
          each[static_cast<size_t>(i)] = -wc * static_cast<double>(x.data[at(i, c)]);
          sum += each[static_cast<size_t>(i)], weights += wc;
        }
        const ConstView weight = weighted ? ConstView(w.view()) : no_view();
        const BadIndex bad = nll_loss_forward(DeviceType::CPU, out.view(), total.view(), x.view(), target.view(),
                                              weight, reduction, ignore);
        EXPECT_FALSE(bad.found());
        if (reduction == LossReduction::None) {
          expect_near(out, each, rounding<TypeParam>(), "nll_loss");
        } else {
          expect_near(out, {reduction == LossReduction::Mean ? sum / weights : sum}, rounding<TypeParam>() * 100,
                      "nll_loss");
          expect_near(total, {weights}, rounding<TypeParam>() * 100, "total weight");
        }
        for (int64_t i = 0; i < n; ++i) {
          const int64_t c = target.data[static_cast<size_t>(i)];
          if (c == ignore) continue;
          const double wc = weighted ? static_cast<double>(w.data[static_cast<size_t>(c)]) : 1;
          const double upstream =
              static_cast<double>(g.data[reduction == LossReduction::None ? static_cast<size_t>(i) : 0]);
          grad[at(i, c)] = -wc * upstream / (reduction == LossReduction::Mean ? static_cast<double>(total.data[0]) : 1);
        }
        nll_loss_backward(DeviceType::CPU, dx.view(), g.view(), target.view(), weight, total.view(), reduction, ignore);
        expect_near(dx, grad, rounding<TypeParam>(), "nll_loss gradient");
        if (this->HasFatalFailure()) return;
      }
    }
  }
}

TEST(NllLoss, ReportsTheFirstBadIndex) {
  Array<float> x({4, 3}), out({4}), total({});
  Array<int64_t> target({4});
  target.data = {0, -100, 3, -1};
  const auto run = [&] {
    return nll_loss_forward(DeviceType::CPU, out.view(), total.view(), x.view(), target.view(), no_view(),
                            LossReduction::None, -100);
  };
  EXPECT_EQ(run().position, 2);
  EXPECT_EQ(run().value, 3);
  target.data[2] = 0;
  EXPECT_EQ(run().position, 3);
}

TYPED_TEST(Floating, Embedding) {
  for (int64_t width : {0, 1, 5, 64}) {
    for (int64_t n : {0, 1, 7, 3000}) {
      Array<TypeParam> table({11, width}), out({n, width}), g({n, width}), grad({11, width});
      Array<int64_t> index({n});
      table.fill(1), g.fill(2);
      for (int64_t i = 0; i < n; ++i) index.data[static_cast<size_t>(i)] = i * i % 11;
      std::vector<double> want(out.data.size()), sums(grad.data.size()), scaled;
      std::vector<double> used(11);
      for (int64_t i = 0; i < n; ++i) {
        const auto r = static_cast<size_t>(index.data[static_cast<size_t>(i)]), w = static_cast<size_t>(width),
                   u = static_cast<size_t>(i);
        used[r] += 1;
        for (size_t k = 0; k < w; ++k) {
          want[u * w + k] = static_cast<double>(table.data[r * w + k]);
          if (r != 4) sums[r * w + k] += static_cast<double>(g.data[u * w + k]);
        }
      }
      EXPECT_FALSE(embedding_forward(DeviceType::CPU, out.view(), table.view(), index.view()).found());
      expect_near(out, want, 0, "embedding");
      embedding_backward(DeviceType::CPU, grad.view(), g.view(), index.view(), 4, false);
      expect_near(grad, sums, rounding<TypeParam>() * 100, "embedding gradient");
      for (size_t i = 0; i < sums.size(); ++i) sums[i] /= std::max(1.0, used[i / static_cast<size_t>(width)]);
      embedding_backward(DeviceType::CPU, grad.view(), g.view(), index.view(), 4, true);
      expect_near(grad, sums, rounding<TypeParam>() * 10, "scaled embedding gradient");
      if (this->HasFatalFailure()) return;
    }
  }
  Array<TypeParam> table({3, 2}), out({2, 2});
  Array<int64_t> index({2});
  index.data = {1, 3};
  const BadIndex bad = embedding_forward(DeviceType::CPU, out.view(), table.view(), index.view());
  EXPECT_EQ(bad.position, 1);
  EXPECT_EQ(bad.value, 3);
}

}  // namespace
}  // namespace gradus::inline v0::kernels
