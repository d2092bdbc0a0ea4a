// Pooling in both layouts and all floating dtypes against plain loops in double.
#include <kernels/pooling.h>

#include "reference.h"

namespace gradus::inline v0::kernels {
namespace {

struct Case {
  std::vector<int64_t> input;
  int64_t kernel[2], stride[2], padding[2], dilation[2];
  bool ceil = false;
};

const std::vector<Case>& cases() {
  static const std::vector<Case> list = {
      {{2, 3, 4, 4}, {2, 2}, {2, 2}, {0, 0}, {1, 1}},  {{1, 2, 28, 28}, {2, 2}, {2, 2}, {0, 0}, {1, 1}},
      {{2, 3, 9, 71}, {2, 2}, {2, 2}, {0, 0}, {1, 1}}, {{1, 2, 7, 67}, {2, 2}, {2, 2}, {0, 0}, {1, 1}, true},
      {{2, 17, 9, 8}, {3, 3}, {2, 2}, {1, 1}, {1, 1}}, {{2, 33, 5, 6}, {3, 2}, {1, 2}, {1, 0}, {1, 1}, true},
      {{1, 1, 8, 8}, {2, 3}, {1, 1}, {1, 1}, {2, 2}},  {{2, 16, 6, 6}, {3, 3}, {3, 3}, {1, 1}, {1, 1}, true},
      {{1, 4, 1, 1}, {1, 1}, {1, 1}, {0, 0}, {1, 1}},  {{0, 4, 5, 5}, {2, 2}, {2, 2}, {0, 0}, {1, 1}},
      {{3, 5, 6, 7}, {6, 7}, {1, 1}, {0, 0}, {1, 1}},
  };
  return list;
}

PoolingGeometry geometry(const Case& c) {
  PoolingGeometry g;
  for (int i = 0; i < 2; ++i)
    g.kernel[i] = c.kernel[i], g.stride[i] = c.stride[i], g.padding[i] = c.padding[i], g.dilation[i] = c.dilation[i];
  return g;
}

std::vector<int64_t> output_size(const Case& c, bool dilated) {
  std::vector<int64_t> size = {c.input[0], c.input[1]};
  for (int i = 0; i < 2; ++i) {
    const int64_t reach = (dilated ? c.dilation[i] : 1) * (c.kernel[i] - 1) + 1;
    const int64_t room = c.input[static_cast<size_t>(2 + i)] + 2 * c.padding[i] - reach;
    int64_t n = (room + (c.ceil ? c.stride[i] - 1 : 0)) / c.stride[i] + 1;
    if (c.ceil && (n - 1) * c.stride[i] >= c.input[static_cast<size_t>(2 + i)] + c.padding[i]) --n;
    size.push_back(n);
  }
  return size;
}

template <class T>
class Pooling : public ::testing::Test {};
using Types = ::testing::Types<float, double, Half, BFloat16>;
TYPED_TEST_SUITE(Pooling, Types);

TYPED_TEST(Pooling, Max) {
  for (const Case& c : cases()) {
    for (bool last : {false, true}) {
      for (int special : {0, 1, 2}) {
        const auto size = output_size(c, true);
        Array<TypeParam> x(c.input, last), y(size, last), g(size, last), dx(c.input, last);
        Array<int64_t> index(size, last);
        x.fill(1, 4), g.fill(2);
        for (int64_t i = 0; special && i < x.numel(); ++i) {
          if (i % 5 == 0) x.data[x.at(i)] = static_cast<TypeParam>(special == 1 ? NAN : -HUGE_VAL);
          if (special == 2 && i % 3) x.data[x.at(i)] = static_cast<TypeParam>(-HUGE_VAL);
        }
        std::vector<double> want(static_cast<size_t>(y.numel())), at(want.size()), grad(static_cast<size_t>(x.numel()));
        const int64_t h = c.input[2], w = c.input[3], plane = size[2] * size[3];
        for (int64_t i = 0; i < y.numel(); ++i) {
          const int64_t p = i / plane, oy = i / size[3] % size[2], ox = i % size[3];
          double best = -HUGE_VAL;
          int64_t where = -1;
          for (int64_t a = 0; a < c.kernel[0]; ++a) {
            for (int64_t b = 0; b < c.kernel[1]; ++b) {
              const int64_t yy = oy * c.stride[0] - c.padding[0] + a * c.dilation[0],
                            xx = ox * c.stride[1] - c.padding[1] + b * c.dilation[1];
              if (yy < 0 || yy >= h || xx < 0 || xx >= w) continue;
              const double v = x.get((p * h + yy) * w + xx);
              if (where < 0 || v > best || std::isnan(v)) best = v, where = yy * w + xx;
            }
          }
          want[static_cast<size_t>(i)] = best, at[static_cast<size_t>(i)] = static_cast<double>(where);
          grad[static_cast<size_t>(p * h * w + where)] += g.get(i);
        }
        max_pool2d_forward(DeviceType::CPU, y.view(), index.view(), x.view(), geometry(c));
        expect_near(y, want, 0, "max_pool2d");
        expect_near(index, at, 0, "max_pool2d's indices");
        max_pool2d_backward(DeviceType::CPU, dx.view(), g.view(), index.view(), geometry(c));
        expect_near(dx, grad, rounding<TypeParam>(), "max_pool2d's gradient");
        if (this->HasFatalFailure()) return;
      }
    }
  }
}

TYPED_TEST(Pooling, Average) {
  for (const Case& c : cases()) {
    for (bool last : {false, true}) {
      for (AverageDivisor divisor : {AverageDivisor{true, 0}, AverageDivisor{false, 0}, AverageDivisor{true, 5}}) {
        const auto size = output_size(c, false);
        Array<TypeParam> x(c.input, last), y(size, last), g(size, last), dx(c.input, last);
        x.fill(1), g.fill(2);
        std::vector<double> want(static_cast<size_t>(y.numel())), grad(static_cast<size_t>(x.numel()));
        const int64_t h = c.input[2], w = c.input[3], plane = size[2] * size[3];
        for (int64_t i = 0; i < y.numel(); ++i) {
          const int64_t p = i / plane, top = i / size[3] % size[2] * c.stride[0] - c.padding[0],
                        left = i % size[3] * c.stride[1] - c.padding[1];
          std::vector<int64_t> inside;
          int64_t padded = 0;
          for (int64_t yy = top; yy < top + c.kernel[0]; ++yy) {
            for (int64_t xx = left; xx < left + c.kernel[1]; ++xx) {
              padded += yy < h + c.padding[0] && xx < w + c.padding[1];
              if (yy >= 0 && yy < h && xx >= 0 && xx < w) inside.push_back((p * h + yy) * w + xx);
            }
          }
          const double count =
              divisor.override
                  ? static_cast<double>(divisor.override)
                  : static_cast<double>(divisor.count_include_pad ? padded : static_cast<int64_t>(inside.size()));
          for (int64_t k : inside)
            want[static_cast<size_t>(i)] += x.get(k) / count, grad[static_cast<size_t>(k)] += g.get(i) / count;
        }
        avg_pool2d_forward(DeviceType::CPU, y.view(), x.view(), geometry(c), divisor);
        expect_near(y, want, rounding<TypeParam>(), "avg_pool2d");
        avg_pool2d_backward(DeviceType::CPU, dx.view(), g.view(), geometry(c), divisor);
        expect_near(dx, grad, rounding<TypeParam>(), "avg_pool2d's gradient");
        if (this->HasFatalFailure()) return;
      }
    }
  }
}

TYPED_TEST(Pooling, AdaptiveAverage) {
  for (const auto& [in, out] : {std::pair<std::vector<int64_t>, std::vector<int64_t>>{{2, 3, 7, 5}, {2, 3, 3, 2}},
                                {{2, 3, 7, 5}, {2, 3, 1, 1}},
                                {{1, 2, 4, 4}, {1, 2, 4, 4}},
                                {{1, 5, 3, 2}, {1, 5, 5, 7}}}) {
    for (bool last : {false, true}) {
      Array<TypeParam> x(in, last), y(out, last), g(out, last), dx(in, last);
      x.fill(1), g.fill(2);
      std::vector<double> want(static_cast<size_t>(y.numel())), grad(static_cast<size_t>(x.numel()));
      for (int64_t i = 0; i < y.numel(); ++i) {
        const int64_t p = i / (out[2] * out[3]), oy = i / out[3] % out[2], ox = i % out[3];
        const auto low = [](int64_t k, int64_t from, int64_t to) {
          return static_cast<int64_t>(std::floor(static_cast<double>(k * from) / static_cast<double>(to)));
        };
        const auto high = [](int64_t k, int64_t from, int64_t to) {
          return static_cast<int64_t>(std::ceil(static_cast<double>((k + 1) * from) / static_cast<double>(to)));
        };
        const int64_t y0 = low(oy, in[2], out[2]), y1 = high(oy, in[2], out[2]), x0 = low(ox, in[3], out[3]),
                      x1 = high(ox, in[3], out[3]);
        const auto count = static_cast<double>((y1 - y0) * (x1 - x0));
        for (int64_t a = y0; a < y1; ++a) {
          for (int64_t b = x0; b < x1; ++b) {
            const int64_t k = (p * in[2] + a) * in[3] + b;
            want[static_cast<size_t>(i)] += x.get(k) / count, grad[static_cast<size_t>(k)] += g.get(i) / count;
          }
        }
      }
      adaptive_avg_pool2d_forward(DeviceType::CPU, y.view(), x.view());
      expect_near(y, want, rounding<TypeParam>(), "adaptive_avg_pool2d");
      adaptive_avg_pool2d_backward(DeviceType::CPU, dx.view(), g.view());
      expect_near(dx, grad, rounding<TypeParam>(), "adaptive_avg_pool2d's gradient");
      if (this->HasFatalFailure()) return;
    }
  }
}

TEST(PoolingIntegers, MaximumAndAverage) {
  Array<int64_t> x({1, 1, 2, 4}), y({1, 1, 1, 2}), index(y.sizes);
  const int64_t lowest = std::numeric_limits<int64_t>::lowest(), beyond_double = (int64_t{1} << 53) + 1;
  x.data = {-9, -7, lowest, lowest, -8, -6, 5, beyond_double};
  PoolingGeometry g;
  g.kernel[0] = g.kernel[1] = g.stride[0] = g.stride[1] = 2;
  max_pool2d_forward(DeviceType::CPU, y.view(), index.view(), x.view(), g);
  EXPECT_EQ(y.data, (std::vector<int64_t>{-6, beyond_double}));
  EXPECT_EQ(index.data, (std::vector<int64_t>{5, 7}));
  x.data = {-9, -7, 1, 2, -8, -7, 3, 5};
  avg_pool2d_forward(DeviceType::CPU, y.view(), x.view(), g, AverageDivisor());
  EXPECT_EQ(y.data, (std::vector<int64_t>{-7, 2}));
}

}  // namespace
}  // namespace gradus::inline v0::kernels
