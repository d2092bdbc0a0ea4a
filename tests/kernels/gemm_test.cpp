// Matrix products of every dtype, layout and shape class against plain loops. Operands are small integers, so every
// type but the 16-bit floats must give the exact result, and those the exact result rounded once.
#include <kernels/gemm.h>

#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

namespace gradus::inline v0::kernels {
namespace {

enum class Layout { kRows, kColumns, kSpread, kRepeated };  // contiguous rows, columns, neither, all rows the same

struct Matrix {
  std::vector<int64_t> sizes, strides;
  size_t extent;
};
Matrix matrix(int64_t batch, int64_t rows, int64_t columns, Layout layout) {
  Matrix x;
  int64_t row = columns, column = 1;
  if (layout == Layout::kColumns) row = 1, column = std::max<int64_t>(rows, 1) + 1;
  if (layout == Layout::kSpread) row = 2 * columns + 1, column = 2;
  if (layout == Layout::kRepeated) row = 0;
  const int64_t each = (rows + 2) * row + (columns + 2) * column + 8;
  x.sizes = {rows, columns}, x.strides = {row, column};
  if (batch >= 0) x.sizes.insert(x.sizes.begin(), batch), x.strides.insert(x.strides.begin(), each);
  x.extent = static_cast<size_t>(each * std::max<int64_t>(batch, 1));
  return x;
}

template <class T>
T value(size_t i, int salt) {
  return static_cast<T>(static_cast<float>(static_cast<int>((i * 7 + static_cast<size_t>(salt) * 5) % 9)) -
                        (salt == 9 ? 0 : 4));
}
template <>
complex<float> value(size_t i, int salt) {
  return {value<float>(i, salt), value<float>(i, salt + 1)};
}
template <>
complex<double> value(size_t i, int salt) {
  return {value<double>(i, salt), value<double>(i, salt + 1)};
}

template <class T>
struct Wide {
  using type = double;
};
template <>
struct Wide<complex<float>> {
  using type = complex<double>;
};
template <>
struct Wide<complex<double>> {
  using type = complex<double>;
};
template <>
struct Wide<int64_t> {
  using type = int64_t;
};

template <class W, class T>
W widen(T v) {
  if constexpr (std::is_same_v<W, complex<double>>) {
    return W(v);
  } else {
    return static_cast<W>(v);
  }
}

template <class T>
void check(int64_t batch, int64_t m, int64_t n, int64_t k, Layout la, Layout lb, Layout lc, int alpha, int beta,
           bool with_bias) {
  using W = typename Wide<T>::type;
  const Matrix a = matrix(batch, m, k, la), b = matrix(batch, k, n, lb), c = matrix(batch, m, n, lc);
  std::vector<T> xa(a.extent), xb(b.extent), xc(c.extent), bias(static_cast<size_t>(2 * n + 1));
  for (size_t i = 0; i < xa.size(); ++i) xa[i] = value<T>(i, 1);
  for (size_t i = 0; i < xb.size(); ++i) xb[i] = value<T>(i, 2);
  for (size_t i = 0; i < xc.size(); ++i) xc[i] = value<T>(i, 3);
  for (size_t i = 0; i < bias.size(); ++i) bias[i] = value<T>(i, 4);
  const int64_t bias_stride = k % 2 + 1;
  std::vector<T> want = xc;
  for (int64_t z = 0; z < std::max<int64_t>(batch, batch < 0 ? 1 : 0); ++z) {
    const int o = batch >= 0;
    const int64_t oa = o ? z * a.strides[0] : 0, ob = o ? z * b.strides[0] : 0, oc = o ? z * c.strides[0] : 0;
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        W sum = W(0);
        for (int64_t q = 0; q < k; ++q) {
          sum = sum + widen<W>(xa[static_cast<size_t>(oa + i * a.strides[o] + q * a.strides[o + 1])]) *
                          widen<W>(xb[static_cast<size_t>(ob + q * b.strides[o] + j * b.strides[o + 1])]);
        }
        T& y = want[static_cast<size_t>(oc + i * c.strides[o] + j * c.strides[o + 1])];
        sum = sum * W(alpha);
        if (beta) sum = sum + widen<W>(y) * W(beta);
        if (with_bias) sum = sum + widen<W>(bias[static_cast<size_t>(j * bias_stride)]);
        y = static_cast<T>(sum);
      }
    }
  }
  if constexpr (std::is_floating_point_v<T>) {
    if (beta == 0) {
      for (T& v : xc) v = v == want[static_cast<size_t>(&v - xc.data())] ? v : std::numeric_limits<T>::quiet_NaN();
    }
  }
  constexpr ScalarType kType = CppTypeToScalarType<T>::value;
  const int ndim = batch >= 0 ? 3 : 2;
  gemm(DeviceType::CPU, View{xc.data(), c.sizes.data(), c.strides.data(), ndim, kType},
       ConstView{xa.data(), a.sizes.data(), a.strides.data(), ndim, kType},
       ConstView{xb.data(), b.sizes.data(), b.strides.data(), ndim, kType},
       with_bias ? ConstView{bias.data(), &c.sizes[static_cast<size_t>(ndim - 1)], &bias_stride, 1, kType}
                 : ConstView{nullptr, nullptr, nullptr, 0, kType},
       Scalar(alpha), Scalar(beta));
  for (size_t i = 0; i < xc.size(); ++i) {
    if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
      ASSERT_EQ(static_cast<float>(xc[i]), static_cast<float>(want[i])) << m << 'x' << n << 'x' << k << " at " << i;
    } else {
      ASSERT_TRUE(xc[i] == want[i]) << m << 'x' << n << 'x' << k << " layouts " << int(la) << int(lb) << int(lc)
                                    << " alpha " << alpha << " beta " << beta << " bias " << with_bias << " at " << i;
    }
  }
}

template <class T>
class Gemm : public ::testing::Test {};
using Types = ::testing::Types<float, double, Half, BFloat16, complex<float>, complex<double>, uint8_t, int8_t, int16_t,
                               int32_t, int64_t>;
TYPED_TEST_SUITE(Gemm, Types);

constexpr Layout kLayouts[] = {Layout::kRows, Layout::kColumns, Layout::kSpread, Layout::kRepeated};

TYPED_TEST(Gemm, ShapesAndLayouts) {
  if constexpr (std::is_same_v<TypeParam, uint8_t>) {
    check<uint8_t>(-1, 3, 4, 5, Layout::kRows, Layout::kRows, Layout::kRows, 1, 0, false);  // operands wrap; see Wraps
    return;
  }
  // 8-bit results must fit, for the reference does not wrap: k small.
  const bool narrow = sizeof(TypeParam) == 1;
  const int64_t shapes[][3] = {{0, 3, 2},  {3, 0, 2},  {3, 4, 0},   {1, 1, 1},    {1, 7, 5},    {7, 1, 5},
                               {5, 3, 1},  {8, 8, 8},  {3, 5, 7},   {32, 16, 32}, {31, 33, 17}, {15, 47, 9},
                               {9, 20, 4}, {2, 65, 3}, {1, 40, 33}, {37, 1, 70}};
  for (const auto& s : shapes) {
    for (Layout la : kLayouts) {
      for (Layout lb : kLayouts) {
        for (Layout lc : {Layout::kRows, Layout::kColumns, Layout::kSpread}) {
          const int64_t k = narrow ? std::min<int64_t>(s[2], 1) : s[2];
          check<TypeParam>(-1, s[0], s[1], k, la, lb, lc, 1, 0, false);
          check<TypeParam>(-1, s[0], s[1], k, la, lb, lc, 2, 3, false);
          check<TypeParam>(-1, s[0], s[1], k, la, lb, lc, 1, 0, true);
          check<TypeParam>(-1, s[0], s[1], k, la, lb, lc, 1, 1, true);
        }
      }
    }
  }
}

TYPED_TEST(Gemm, Batches) {
  if (sizeof(TypeParam) == 1) return;
  for (int64_t batch : {0, 1, 2, 7}) {
    check<TypeParam>(batch, 5, 6, 7, Layout::kRows, Layout::kColumns, Layout::kRows, 1, 0, false);
    check<TypeParam>(batch, 5, 6, 7, Layout::kColumns, Layout::kRows, Layout::kSpread, 2, 1, true);
  }
}

TEST(GemmLarge, SplitOverThreads) {
  for (Layout la : {Layout::kRows, Layout::kColumns, Layout::kSpread}) {
    for (Layout lb : {Layout::kRows, Layout::kColumns, Layout::kSpread}) {
      check<float>(-1, 130, 97, 101, la, lb, Layout::kRows, 1, 1, true);
      check<float>(-1, 61, 270, 65, la, lb, Layout::kColumns, 1, 0, true);
      check<double>(-1, 130, 97, 101, la, lb, Layout::kRows, 1, 0, true);
      check<complex<float>>(-1, 90, 97, 60, la, lb, Layout::kRows, 1, 1, true);
      check<float>(3, 130, 97, 101, la, lb, Layout::kRows, 1, 0, false);
    }
  }
  for (Layout lb : {Layout::kRows, Layout::kColumns})
    check<float>(-1, 17, 33, 4000, Layout::kRows, lb, Layout::kRows, 2, 3, true);
  check<float>(-1, 600, 600, 400, Layout::kRows, Layout::kRows, Layout::kRows, 1, 0, true);
  check<float>(-1, 600, 600, 400, Layout::kSpread, Layout::kColumns, Layout::kColumns, 1, 1, true);
}

TEST(GemmLarge, SixteenBits) {
  for (Layout la : {Layout::kRows, Layout::kColumns}) {
    for (Layout lb : {Layout::kRows, Layout::kColumns}) {
      for (bool bias : {false, true}) {
        for (int k : {64, 65}) {
          check<BFloat16>(-1, 96, 80, k, la, lb, Layout::kRows, 1, 0, bias);
          check<BFloat16>(-1, 95, 81, k, la, lb, Layout::kRows, 1, 0, bias);
          check<Half>(-1, 95, 81, k, la, lb, Layout::kRows, 1, 0, bias);
        }
      }
    }
  }
}

TEST(GemmIntegers, Wrap) {
  const int64_t size[] = {1, 1}, stride[] = {1, 1};
  const uint8_t a = 200, b = 3;
  uint8_t c = 7;
  gemm(DeviceType::CPU, View{&c, size, stride, 2, kByte}, ConstView{&a, size, stride, 2, kByte},
       ConstView{&b, size, stride, 2, kByte}, ConstView{nullptr, nullptr, nullptr, 0, kByte}, Scalar(1), Scalar(1));
  EXPECT_EQ(c, static_cast<uint8_t>(607));
}

TEST(GemmDenormals, AreFlushedInsideOnly) {
  const int64_t size[] = {1, 1}, stride[] = {1, 1};
  const volatile float tiny = 1e-40f;
  const float a = tiny, b = 2.0f;
  float c = 1.0f;
  gemm(DeviceType::CPU, View{&c, size, stride, 2, kFloat}, ConstView{&a, size, stride, 2, kFloat},
       ConstView{&b, size, stride, 2, kFloat}, ConstView{nullptr, nullptr, nullptr, 0, kFloat}, Scalar(1.0),
       Scalar(0.0));
  EXPECT_TRUE(std::fpclassify(tiny * 2.0f) == FP_SUBNORMAL);
}

}  // namespace
}  // namespace gradus::inline v0::kernels
