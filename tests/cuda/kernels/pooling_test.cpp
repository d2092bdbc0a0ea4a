// Pooling on the device in both layouts against plain loops: windows that overlap, hang over, skip; NaN and infinities.
#include <algorithm>
#include <limits>

#include <kernels/pooling.h>

#include "device_tensor.h"

namespace gradus::inline v0::kernels {
namespace {

struct Case {
  std::vector<int64_t> input;
  int64_t kernel[2], stride[2], padding[2], dilation[2];
  bool ceil = false;
};
const std::vector<Case>& cases() {
  static const std::vector<Case> list = {
      {{2, 3, 4, 4}, {2, 2}, {2, 2}, {0, 0}, {1, 1}},        {{1, 2, 28, 29}, {2, 2}, {2, 2}, {0, 0}, {1, 1}},
      {{1, 2, 7, 33}, {2, 2}, {2, 2}, {0, 0}, {1, 1}, true}, {{2, 16, 9, 8}, {3, 3}, {2, 2}, {1, 1}, {1, 1}},
      {{2, 33, 5, 6}, {3, 2}, {1, 2}, {1, 0}, {1, 1}, true}, {{1, 1, 8, 8}, {2, 3}, {1, 1}, {1, 1}, {2, 2}},
      {{1, 8, 9, 11}, {3, 2}, {2, 3}, {1, 1}, {3, 2}},       {{2, 16, 6, 6}, {3, 3}, {3, 3}, {1, 1}, {1, 1}, true},
      {{1, 4, 1, 1}, {1, 1}, {1, 1}, {0, 0}, {1, 1}},        {{0, 4, 5, 5}, {2, 2}, {2, 2}, {0, 0}, {1, 1}},
      {{3, 5, 6, 7}, {6, 7}, {1, 1}, {0, 0}, {1, 1}},        {{2, 3, 20, 31}, {20, 31}, {1, 1}, {0, 0}, {1, 1}},
      {{1, 2, 1, 1025}, {1, 33}, {1, 32}, {0, 16}, {1, 1}},
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
    const int64_t n = c.input[static_cast<size_t>(2 + i)],
                  reach = (dilated ? c.dilation[i] : 1) * (c.kernel[i] - 1) + 1;
    int64_t windows = (n + 2 * c.padding[i] - reach + (c.ceil ? c.stride[i] - 1 : 0)) / c.stride[i] + 1;
    if (c.ceil && (windows - 1) * c.stride[i] >= n + c.padding[i]) --windows;
    size.push_back(windows);
  }
  return size;
}
std::vector<int64_t> layout(const std::vector<int64_t>& sizes, bool channels_last) {
  return permuted_strides(sizes, channels_last ? std::vector<size_t>{0, 2, 3, 1} : std::vector<size_t>{0, 1, 2, 3});
}

template <class T>
double unit_of() {
  return std::is_same_v<T, double> ? 2e-16 : std::is_same_v<T, float> ? 6e-8 : std::is_same_v<T, Half> ? 5e-4 : 4e-3;
}
template <class T>
void expect_close(const DeviceTensor<T>& got, const std::vector<double>& want, double growth) {
  for (int64_t i = 0; i < got.numel(); ++i) {
    const double w = want[static_cast<size_t>(i)], g = got.real(i);
    const double bound = unit_of<T>() * std::abs(w) + growth * (std::is_same_v<T, double> ? 2e-16 : 6e-8);
    ASSERT_TRUE(std::abs(g - w) <= bound || (std::isnan(w) && std::isnan(g)) || g == w)
        << "at " << i << ": " << g << ", expected " << w;
  }
}

template <class T>
class Pooling : public ::testing::Test {};
using Types = ::testing::Types<float, double, Half, BFloat16>;
TYPED_TEST_SUITE(Pooling, Types);

// A window's greatest element, by CPU's rules: NaN is greater, the last NaN wins, the first of equals.
template <class T>
struct MaxReference {
  std::vector<T> value;
  std::vector<int64_t> where;
  MaxReference(const Case& c, const std::vector<int64_t>& size, const DeviceTensor<T>& x) {
    const int64_t h = c.input[2], w = c.input[3], plane = size[2] * size[3], count = size[0] * size[1] * plane;
    for (int64_t i = 0; i < count; ++i) {
      const int64_t p = i / plane, oy = i / size[3] % size[2], ox = i % size[3];
      T best{};
      int64_t at = -1;
      for (int64_t a = 0; a < c.kernel[0]; ++a) {
        for (int64_t b = 0; b < c.kernel[1]; ++b) {
          const int64_t yy = oy * c.stride[0] - c.padding[0] + a * c.dilation[0],
                        xx = ox * c.stride[1] - c.padding[1] + b * c.dilation[1];
          if (yy < 0 || yy >= h || xx < 0 || xx >= w) continue;
          const T v = x[(p * h + yy) * w + xx];
          if (at < 0 || v > best || v != v) best = v, at = yy * w + xx;
        }
      }
      value.push_back(best), where.push_back(at);
    }
  }
};

TYPED_TEST(Pooling, Max) {
  using T = TypeParam;
  for (const Case& c : cases()) {
    for (bool last : {false, true}) {
      for (int special : {0, 1, 2}) {
        const auto size = output_size(c, true);
        DeviceTensor<T> x(c.input, layout(c.input, last)), y(size, layout(size, last)), g(size, layout(size, last)),
            dx(c.input, layout(c.input, last));
        DeviceTensor<int64_t> index(size, layout(size, last));
        x.fill([&](int64_t i) -> double {
          if (special && i % 5 == 0) return special == 1 ? NAN : -HUGE_VAL;
          if (special == 2 && i % 3) return -HUGE_VAL;
          return static_cast<double>(below(200, i)) - 100;
        });
        g.fill([](int64_t i) { return static_cast<double>(below(64, i, 1)) - 31; });
        max_pool2d_forward(the_cuda_device(), y.give(), index.give(), x.give(), geometry(c));
        y.take(), index.take();
        const MaxReference<T> want(c, size, x);
        std::vector<double> gradient(static_cast<size_t>(x.numel()));
        const int64_t plane = c.input[2] * c.input[3];
        for (int64_t i = 0; i < y.numel(); ++i) {
          const auto k = static_cast<size_t>(i);
          ASSERT_EQ(index[i], want.where[k]) << i;
          ASSERT_TRUE(y[i] == want.value[k] || (y[i] != y[i] && want.value[k] != want.value[k])) << i;
          gradient[static_cast<size_t>(i / (size[2] * size[3]) * plane + want.where[k])] += g.real(i);
        }
        max_pool2d_backward(the_cuda_device(), dx.give(), g.give(), index.give(), geometry(c));
        dx.take();
        expect_close(dx, gradient, 0);
        EXPECT_FALSE(take_report().any);
      }
    }
  }
}

TEST(Pooling, MaxOfIntegers) {
  const auto run = [&]<class T>() {
    for (const Case& c : cases()) {
      const auto size = output_size(c, true);
      DeviceTensor<T> x(c.input), y(size);
      DeviceTensor<int64_t> index(size);
      x.fill([](int64_t i) { return mixed(i); });
      max_pool2d_forward(the_cuda_device(), y.give(), index.give(), x.give(), geometry(c));
      y.take(), index.take();
      const MaxReference<T> want(c, size, x);
      for (int64_t i = 0; i < y.numel(); ++i) {
        ASSERT_EQ(y[i], want.value[static_cast<size_t>(i)]);
        ASSERT_EQ(index[i], want.where[static_cast<size_t>(i)]);
      }
    }
  };
  run.operator()<uint8_t>(), run.operator()<int8_t>(), run.operator()<int16_t>();
  run.operator()<int32_t>(), run.operator()<int64_t>();
}

TEST(Pooling, BadIndicesOfMax) {
  for (int64_t bad : {int64_t{16}, int64_t{-1}, int64_t{15}}) {
    DeviceTensor<float> dx({1, 1, 4, 4}), g({1, 1, 2, 2});
    DeviceTensor<int64_t> index({1, 1, 2, 2});
    g.fill([](int64_t) { return 1; });
    index[0] = 0, index[1] = bad, index[2] = 8, index[3] = 10;
    max_pool2d_backward(the_cuda_device(), dx.give(), g.give(), index.give(), {{2, 2}, {2, 2}, {0, 0}, {1, 1}});
    dx.take();
    const Reported r = take_report();
    EXPECT_EQ(r.operation, "max_pool2d_backward");
    EXPECT_EQ(r.what, bad == 15 ? cuda::kOtherDataError : cuda::kIndexOutOfRange);
    EXPECT_EQ(r.position, 1);
    EXPECT_EQ(r.value, bad);
  }
}

struct Window {
  int64_t top, bottom, left, right, divisor;
};

// Both directions of an average over windows(y, x).
template <class T, class Windows, class Forward, class Backward>
void check_average(const std::vector<int64_t>& input, const std::vector<int64_t>& size, const Windows& windows,
                   const Forward& forward, const Backward& backward) {
  for (bool last : {false, true}) {
    DeviceTensor<T> x(input, layout(input, last)), y(size, layout(size, last)), g(size, layout(size, last)),
        dx(input, layout(input, last));
    x.fill([](int64_t i) { return std::sin(static_cast<double>(i)); });
    g.fill([](int64_t i) { return std::cos(static_cast<double>(i) * 1.7); });
    forward(y.give(), x.give());
    y.take();
    std::vector<double> want, gradient(static_cast<size_t>(x.numel()));
    for (int64_t i = 0; i < y.numel(); ++i) {
      const int64_t plane = size[2] * size[3], p = i / plane;
      const Window w = windows(i / size[3] % size[2], i % size[3]);
      double sum = 0;
      for (int64_t a = w.top; a < w.bottom; ++a) {
        for (int64_t b = w.left; b < w.right; ++b) {
          const int64_t at = (p * input[2] + a) * input[3] + b;
          sum += x.real(at);
          gradient[static_cast<size_t>(at)] += g.real(i) / static_cast<double>(w.divisor);
        }
      }
      want.push_back(w.top < w.bottom && w.left < w.right ? sum / static_cast<double>(w.divisor) : 0);
    }
    expect_close(y, want, 40);
    backward(dx.give(), g.give());
    dx.take();
    expect_close(dx, gradient, 40);
  }
}

TYPED_TEST(Pooling, Average) {
  using T = TypeParam;
  for (const Case& c : cases()) {
    const auto size = output_size(c, false);
    PoolingGeometry g = geometry(c);
    g.dilation[0] = g.dilation[1] = 1;
    for (const AverageDivisor divisor : {AverageDivisor{true, 0}, AverageDivisor{false, 0}, AverageDivisor{true, 7}}) {
      const auto windows = [&](int64_t y, int64_t x) {
        const int64_t at[2] = {y, x};
        int64_t begin[2], end[2], padded = 1, inside = 1;
        for (int d = 0; d < 2; ++d) {
          const int64_t n = c.input[static_cast<size_t>(2 + d)];
          begin[d] = at[d] * c.stride[d] - c.padding[d];
          end[d] = std::min(begin[d] + c.kernel[d], n + c.padding[d]);
          padded *= end[d] - begin[d];
          begin[d] = std::max<int64_t>(begin[d], 0), end[d] = std::min(end[d], n);
          inside *= end[d] - begin[d];
        }
        const int64_t by = divisor.override ? divisor.override : divisor.count_include_pad ? padded : inside;
        return Window{begin[0], end[0], begin[1], end[1], by};
      };
      check_average<T>(
          c.input, size, windows, [&](View y, View x) { avg_pool2d_forward(the_cuda_device(), y, x, g, divisor); },
          [&](View dx, View dy) { avg_pool2d_backward(the_cuda_device(), dx, dy, g, divisor); });
    }
  }
}

TYPED_TEST(Pooling, Adaptive) {
  using T = TypeParam;
  struct Adaptive {
    std::vector<int64_t> input;
    int64_t out[2];
  };
  for (const Adaptive& c : std::vector<Adaptive>{{{2, 3, 7, 7}, {1, 1}},
                                                 {{2, 16, 7, 9}, {3, 4}},
                                                 {{1, 8, 5, 5}, {5, 5}},
                                                 {{1, 3, 4, 3}, {7, 8}},
                                                 {{2, 8, 31, 33}, {2, 1}},
                                                 {{1, 2, 1, 1}, {3, 2}},
                                                 {{0, 2, 4, 4}, {2, 2}}}) {
    const std::vector<int64_t> size = {c.input[0], c.input[1], c.out[0], c.out[1]};
    const auto windows = [&](int64_t y, int64_t x) {
      const auto begin = [](int64_t i, int64_t n, int64_t count) { return i * n / count; };
      const auto end = [](int64_t i, int64_t n, int64_t count) { return ((i + 1) * n + count - 1) / count; };
      Window w{begin(y, c.input[2], size[2]), end(y, c.input[2], size[2]), begin(x, c.input[3], size[3]),
               end(x, c.input[3], size[3]), 0};
      w.divisor = (w.bottom - w.top) * (w.right - w.left);
      return w;
    };
    check_average<T>(
        c.input, size, windows, [&](View y, View x) { adaptive_avg_pool2d_forward(the_cuda_device(), y, x); },
        [&](View dx, View dy) { adaptive_avg_pool2d_backward(the_cuda_device(), dx, dy); });
  }
}

TEST(Pooling, AverageOfIntegers) {
  for (int64_t kernel : {2, 12}) {
    DeviceTensor<int64_t> x({2, 3, 12, 13});
    const std::vector<int64_t> size = {2, 3, 12 / kernel, 13 / kernel};
    DeviceTensor<int64_t> y(size);
    x.fill([](int64_t i) { return below(1000, i) - 500; });
    x[0] = std::numeric_limits<int64_t>::max();
    avg_pool2d_forward(the_cuda_device(), y.give(), x.give(), {{kernel, kernel}, {kernel, kernel}, {0, 0}, {1, 1}}, {});
    y.take();
    for (int64_t i = 0; i < y.numel(); ++i) {
      const int64_t plane = size[2] * size[3], p = i / plane, oy = i / size[3] % size[2], ox = i % size[3];
      uint64_t sum = 0;
      for (int64_t a = 0; a < kernel; ++a) {
        for (int64_t b = 0; b < kernel; ++b)
          sum += static_cast<uint64_t>(x[(p * 12 + oy * kernel + a) * 13 + ox * kernel + b]);
      }
      ASSERT_EQ(y[i], static_cast<int64_t>(sum) / (kernel * kernel)) << i;
    }
  }
}

}  // namespace
}  // namespace gradus::inline v0::kernels
