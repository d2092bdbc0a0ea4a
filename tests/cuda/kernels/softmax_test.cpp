// Softmax on the device against plain loops in double.
#include <kernels/softmax.h>

#include <limits>
#include <string>

#include "device_array.h"

namespace gradus::inline v0::kernels {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity(), kNaN = std::numeric_limits<double>::quiet_NaN();

template <class T>
class CudaSoftmax : public ::testing::Test {};
using Types = ::testing::Types<float, double, Half, BFloat16>;
TYPED_TEST_SUITE(CudaSoftmax, Types);

struct Shape {
  std::vector<int64_t> sizes;
  size_t dim;
  size_t shift = 0;  // of the input from an aligned address, in elements
  std::string name() const {
    std::string s;
    for (int64_t n : sizes) s += std::to_string(n) + " ";
    return s + "along " + std::to_string(dim) + " shifted " + std::to_string(shift);
  }
};
std::vector<Shape> shapes() {
  std::vector<Shape> all = {{{0}, 0}, {{1}, 0}, {{0, 4}, 1}, {{4, 0}, 1}, {{2, 4, 0}, 1}};
  for (int64_t n : {2, 10, 31, 32, 33, 64, 1000, 1023, 1024, 1025, 4096, 4097}) {
    all.push_back({{5, n}, 1});
    all.push_back({{3, n}, 1, 1});
  }
  const std::vector<Shape> more = {{{3001, 3}, 1},    {{700, 16}, 1},     {{1, 100003}, 1},  {{1, 100003}, 1, 1},
                                   {{2, 40000}, 1},   {{2, 40000}, 1, 4}, {{20, 33000}, 1},  {{33, 2}, 0},
                                   {{7, 5}, 0},       {{2, 6, 3}, 1},     {{3, 4, 65}, 1},   {{2, 1025, 2}, 1},
                                   {{3, 33, 130}, 1}, {{2, 2, 3000}, 1},  {{2, 3, 4, 5}, 2}, {{1, 30011, 2}, 1}};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

/// Calls f(indices of one row).
template <class F>
void for_rows(const Shape& s, const F& f) {
  int64_t outer = 1, n = 1, inner = 1;
  for (size_t i = 0; i < s.sizes.size(); ++i) (i < s.dim ? outer : i == s.dim ? n : inner) *= s.sizes[i];
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t j = 0; j < inner; ++j) {
      std::vector<size_t> row;
      for (int64_t i = 0; i < n; ++i) row.push_back(static_cast<size_t>((o * n + i) * inner + j));
      if (!row.empty()) f(row);
    }
  }
}

TYPED_TEST(CudaSoftmax, EveryShape) {
  for (const Shape& s : shapes()) {
    for (bool log : {false, true}) {
      Array<TypeParam> x(s.sizes), y(s.sizes), g(s.sizes), dx(s.sizes);
      x.fill(1, 3), g.fill(2);
      std::vector<double> want(x.data.size()), grad(x.data.size());
      for_rows(s, [&](const std::vector<size_t>& row) {
        double most = -kInf, sum = 0;
        for (size_t i : row) most = std::max(most, static_cast<double>(x.data[i]));
        for (size_t i : row) sum += std::exp(static_cast<double>(x.data[i]) - most);
        for (size_t i : row) {
          const double l = static_cast<double>(x.data[i]) - most - std::log(sum);
          want[i] = log ? l : std::exp(l);
        }
      });
      DeviceArray<TypeParam> dev_x(x, s.shift), dev_y(y), dev_g(g, s.shift), dev_dx(dx);
      const auto dim = static_cast<int64_t>(s.dim);
      softmax_forward(on_cuda(), dev_y.view(), dev_x.view(), dim, log);
      expect_near(dev_y.read(), want, rounding<TypeParam>() * (log ? 5 : 1), s.name());
      double most = 0;
      for_rows(s, [&](const std::vector<size_t>& row) {
        double sum = 0;
        for (size_t i : row) sum += static_cast<double>(g.data[i]) * (log ? 1 : static_cast<double>(y.data[i]));
        for (size_t i : row) {
          const double v = static_cast<double>(y.data[i]), d = static_cast<double>(g.data[i]);
          grad[i] = log ? d - std::exp(v) * sum : v * (d - sum);
          most = std::max(most, std::abs(sum));
        }
      });
      softmax_backward(on_cuda(), dev_dx.view(), dev_g.view(), dev_y.view(), dim, log);
      expect_near(dev_dx.read(), grad, rounding<TypeParam>() * 10 * (1 + most), s.name() + " gradient");
      if (this->HasFatalFailure()) return;
    }
  }
}

TYPED_TEST(CudaSoftmax, InfinitiesAndNaN) {
  // Each pattern in rows of every regime, beginning at every place that matters.
  const std::vector<std::vector<double>> patterns = {{-kInf, 0, 0, -kInf},
                                                     {-kInf, -kInf, -kInf, -kInf},
                                                     {1, kNaN, 2, 3},
                                                     {kNaN, kNaN, kNaN, kNaN},
                                                     {0, kInf, 0, 0},
                                                     {-kInf, kNaN, -kInf, -kInf},
                                                     {30000, 30000, -30000, -30000}};
  for (const auto& pattern : patterns) {
    for (int64_t n : {4, 40, 1500, 34000}) {
      for (int64_t inner : {1, 2}) {
        for (bool log : {false, true}) {
          Array<TypeParam> x({n, inner}), y({n, inner});
          std::vector<double> want;
          double most = -kInf, sum = 0;
          // The pattern at the row's end, -inf before.
          const auto at = [&](int64_t i) {
            return i < n - 4 ? -kInf
                             : static_cast<double>(static_cast<TypeParam>(
                                   static_cast<float>(pattern[static_cast<size_t>(i - (n - 4))])));
          };
          for (int64_t i = 0; i < n; ++i) most = at(i) > most ? at(i) : most;
          for (int64_t i = 0; i < n; ++i) sum += std::exp(at(i) - most);
          for (int64_t i = 0; i < n * inner; ++i) {
            x.data[static_cast<size_t>(i)] = static_cast<TypeParam>(static_cast<float>(at(i / inner)));
            want.push_back(log ? at(i / inner) - most - std::log(sum) : std::exp(at(i / inner) - most) / sum);
          }
          DeviceArray<TypeParam> dev_x(x), dev_y(y);
          softmax_forward(on_cuda(), dev_y.view(), dev_x.view(), 0, log);
          expect_near(dev_y.read(), want, log ? 1e-6 : 0, std::to_string(n) + " with " + std::to_string(pattern[0]));
          if (this->HasFatalFailure()) return;
        }
      }
    }
  }
}

}  // namespace
}  // namespace gradus::inline v0::kernels
