// Matrix products on the device, of every dtype, layout and shape class, against plain loops. Operands are small
// integers, so every type but the 16-bit floats must give the exact result, and those the exact result rounded once.
#include <kernels/gemm.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <gradus/cuda/backends.h>

#include "device_memory.h"

namespace gradus::inline v0::kernels {
namespace {

/// How a matrix lies: contiguous rows, contiguous columns, neither, all rows one, rows with a gap.
enum class Layout { kRows, kColumns, kSpread, kRepeated, kSlice };

struct Geometry {
  std::vector<int64_t> sizes, strides;
  size_t extent;
};
Geometry geometry(int64_t batch, int64_t rows, int64_t columns, Layout layout, bool repeat_batch = false) {
  Geometry g;
  int64_t row = columns, column = 1;
  if (layout == Layout::kColumns) row = 1, column = std::max<int64_t>(rows, 1);
  if (layout == Layout::kSpread) row = 2 * columns + 1, column = 2;
  if (layout == Layout::kRepeated) row = 0;
  if (layout == Layout::kSlice) row = columns + 3;
  const int64_t each = std::max<int64_t>(rows, 1) * row + std::max<int64_t>(columns, 1) * column + 5;
  g.sizes = {rows, columns}, g.strides = {row, column};
  if (batch >= 0) {
    g.sizes.insert(g.sizes.begin(), batch);
    g.strides.insert(g.strides.begin(), repeat_batch ? 0 : each);
  }
  g.extent = static_cast<size_t>(each * std::max<int64_t>(batch, 1));
  return g;
}

struct Case {
  int64_t batch = -1, m = 1, n = 1, k = 1;  // -1: matrices, not batches
  Layout a = Layout::kRows, b = Layout::kRows, c = Layout::kRows;
  int alpha = 1, beta = 0;
  bool bias = false, repeat_a = false, repeat_b = false;
  int64_t bias_stride = 1;

  std::string text() const {
    return str(batch, " x ", m, " x ", n, " x ", k, " layouts ", static_cast<int>(a), static_cast<int>(b),
               static_cast<int>(c), " alpha ", alpha, " beta ", beta, bias ? " bias" : "", repeat_a ? " repeat a" : "",
               repeat_b ? " repeat b" : "");
  }
};

template <class T>
struct WideOf {
  using type = double;
};
template <class T>
struct WideOf<complex<T>> {
  using type = complex<double>;
};
template <>
struct WideOf<int64_t> {
  using type = uint64_t;
};
template <class T>
using Wide = typename WideOf<T>::type;

template <class T>
T value(size_t i, int salt) {
  const auto number = [](size_t at, int s) { return static_cast<int>((at * 7 + static_cast<size_t>(s) * 5) % 9) - 4; };
  if constexpr (is_complex(CppTypeToScalarType<T>::value)) {
    using R = typename T::value_type;
    return T(static_cast<R>(number(i, salt)), static_cast<R>(number(i, salt + 1)));
  } else {
    return static_cast<T>(static_cast<float>(number(i, salt)));
  }
}
template <class T>
std::vector<T> values(size_t n, int salt) {
  std::vector<T> v(n);
  for (size_t i = 0; i < n; ++i) v[i] = value<T>(i, salt);
  return v;
}

template <class W, class T>
W widen(T v) {
  if constexpr (std::is_same_v<W, complex<double>>) {
    return W(v);
  } else if constexpr (std::is_same_v<W, uint64_t>) {
    return static_cast<W>(v);
  } else {
    return static_cast<double>(v);
  }
}
/// Rounded to a T; integers wrap.
template <class T, class W>
T narrow(W v) {
  if constexpr (std::is_integral_v<T> && std::is_same_v<W, double>) {
    return static_cast<T>(static_cast<int64_t>(v));
  } else {
    return static_cast<T>(v);
  }
}

size_t at(const Geometry& g, int64_t z, int64_t i, int64_t j) {
  const size_t o = g.sizes.size() - 2;
  return static_cast<size_t>((o ? z * g.strides[0] : 0) + i * g.strides[o] + j * g.strides[o + 1]);
}

template <class T>
void check(const Case& s) {
  using W = Wide<T>;
  const Geometry a = geometry(s.batch, s.m, s.k, s.a, s.repeat_a), b = geometry(s.batch, s.k, s.n, s.b, s.repeat_b);
  const Geometry c = geometry(s.batch, s.m, s.n, s.c);
  const auto xa = values<T>(a.extent, 1), xb = values<T>(b.extent, 2);
  const auto bias = values<T>(static_cast<size_t>(s.bias_stride * s.n + 1), 4);
  std::vector<T> xc = values<T>(c.extent, 3), want = xc;
  std::vector<bool> written(xc.size());
  for (int64_t z = 0; z < (s.batch < 0 ? 1 : s.batch); ++z) {
    for (int64_t i = 0; i < s.m; ++i) {
      for (int64_t j = 0; j < s.n; ++j) {
        W sum = W(0);
        for (int64_t q = 0; q < s.k; ++q) sum = sum + widen<W>(xa[at(a, z, i, q)]) * widen<W>(xb[at(b, z, q, j)]);
        sum = sum * W(s.alpha);
        if (s.beta) sum = sum + widen<W>(xc[at(c, z, i, j)]) * W(s.beta);
        if (s.bias) sum = sum + widen<W>(bias[static_cast<size_t>(j * s.bias_stride)]);
        want[at(c, z, i, j)] = narrow<T>(sum);
        written[at(c, z, i, j)] = true;
      }
    }
  }
  if constexpr (std::is_floating_point_v<T>) {
    // What c held must not matter then.
    for (size_t i = 0; i < xc.size(); ++i) {
      if (s.beta == 0 && written[i]) xc[i] = std::numeric_limits<T>::quiet_NaN();
    }
  }
  const OnDevice<T> da(xa), db(xb), dc(xc), dbias(bias);
  constexpr ScalarType kType = CppTypeToScalarType<T>::value;
  const int ndim = s.batch >= 0 ? 3 : 2;
  const Device device = test_device();
  gemm(device, View{dc.data(), c.sizes.data(), c.strides.data(), ndim, kType, device},
       ConstView{da.data(), a.sizes.data(), a.strides.data(), ndim, kType, device},
       ConstView{db.data(), b.sizes.data(), b.strides.data(), ndim, kType, device},
       s.bias ? ConstView{dbias.data(), &s.n, &s.bias_stride, 1, kType, device}
              : ConstView{nullptr, nullptr, nullptr, 0, kType, device},
       Scalar(s.alpha), Scalar(s.beta));
  const std::vector<T> got = dc.read();
  for (size_t i = 0; i < got.size(); ++i) {
    if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
      ASSERT_EQ(static_cast<float>(got[i]), static_cast<float>(want[i])) << s.text() << " at " << i;
    } else {
      ASSERT_TRUE(got[i] == want[i]) << s.text() << " at " << i;
    }
  }
}

template <class T>
class CudaGemm : public ::testing::Test {};
using Types = ::testing::Types<float, double, Half, BFloat16, complex<float>, complex<double>, uint8_t, int8_t, int16_t,
                               int32_t, int64_t>;
TYPED_TEST_SUITE(CudaGemm, Types);

TYPED_TEST(CudaGemm, ShapeLadder) {
  for (int64_t m : {0, 1, 3, 31, 33, 65}) {
    for (int64_t n : {0, 1, 3, 32, 65}) {
      for (int64_t k : {0, 1, 3, 33}) check<TypeParam>({.m = m, .n = n, .k = k, .bias = (m + n) % 2 == 0});
    }
  }
}

// Above the sizes that Gradus' own kernel takes: through cuBLASLt, where there is one for the type.
TYPED_TEST(CudaGemm, LargerShapes) {
  for (const auto& [m, n, k] : {std::array<int64_t, 3>{129, 65, 40},
                                {1, 300, 1000},
                                {300, 1, 1000},
                                {64, 64, 130},
                                {1, 1, 3000},
                                {97, 113, 31}}) {
    check<TypeParam>({.m = m, .n = n, .k = k});
    check<TypeParam>({.m = m, .n = n, .k = k, .alpha = 2, .beta = 3, .bias = true});
  }
}

TYPED_TEST(CudaGemm, Layouts) {
  for (Layout a : {Layout::kRows, Layout::kColumns, Layout::kSpread, Layout::kRepeated, Layout::kSlice}) {
    for (Layout b : {Layout::kRows, Layout::kColumns, Layout::kSpread, Layout::kRepeated, Layout::kSlice}) {
      for (Layout c : {Layout::kRows, Layout::kColumns, Layout::kSpread, Layout::kSlice}) {
        const bool bias = a != b;
        check<TypeParam>({.m = 19, .n = 34, .k = 5, .a = a, .b = b, .c = c, .bias = bias, .bias_stride = 2});
        check<TypeParam>({.m = 19, .n = 34, .k = 140, .a = a, .b = b, .c = c, .alpha = 3, .beta = -2, .bias = bias});
      }
    }
  }
}

TYPED_TEST(CudaGemm, Batches) {
  for (int64_t batch : {0, 1, 3}) {
    for (int64_t k : {9, 150}) {
      for (int repeated : {0, 1, 2, 3}) {
        for (Layout a : {Layout::kRows, Layout::kColumns, Layout::kSpread}) {
          const bool repeat_a = repeated & 1, repeat_b = repeated & 2;
          check<TypeParam>({.batch = batch,
                            .m = 17,
                            .n = 33,
                            .k = k,
                            .a = a,
                            .beta = 1,
                            .bias = repeat_a,
                            .repeat_a = repeat_a,
                            .repeat_b = repeat_b});
          check<TypeParam>({.batch = batch,
                            .m = 1,
                            .n = 33,
                            .k = k,
                            .b = a,
                            .c = Layout::kColumns,
                            .repeat_a = repeat_a,
                            .repeat_b = repeat_b});
        }
      }
    }
  }
}

TEST(CudaGemm, MoreBatchesThanAGridHoldsInItsSecondDimension) {
  check<int32_t>({.batch = 65600, .m = 1, .n = 1, .k = 0, .beta = 3});
}

TEST(CudaGemm, OddlySlicedRowsOfHalves) {
  // A 16-bit matrix whose rows begin at odd addresses and are odd numbers of elements apart.
  for (int64_t k : {7, 201}) {
    check<Half>({.m = 33, .n = 31, .k = k, .a = Layout::kSlice, .b = Layout::kSlice, .c = Layout::kSlice});
    check<BFloat16>({.m = 33, .n = 31, .k = k, .a = Layout::kSlice, .b = Layout::kColumns, .c = Layout::kSlice});
  }
}

/// c [m, n] of random floats with 24 bits, and the largest difference to the sum in double.
double float_error(int64_t m, int64_t n, int64_t k) {
  std::vector<float> a(static_cast<size_t>(m * k)), b(static_cast<size_t>(k * n)), c(static_cast<size_t>(m * n));
  for (size_t i = 0; i < a.size(); ++i) a[i] = std::sin(static_cast<float>(i) * 1.7f);
  for (size_t i = 0; i < b.size(); ++i) b[i] = std::cos(static_cast<float>(i) * 0.9f);
  const OnDevice<float> da(a), db(b), dc(c);
  const int64_t sa[] = {m, k}, sb[] = {k, n}, sc[] = {m, n}, ta[] = {k, 1}, tb[] = {n, 1};
  const Device device = test_device();
  gemm(device, View{dc.data(), sc, tb, 2, kFloat, device}, ConstView{da.data(), sa, ta, 2, kFloat, device},
       ConstView{db.data(), sb, tb, 2, kFloat, device}, ConstView{nullptr, nullptr, nullptr, 0, kFloat, device},
       Scalar(1.0), Scalar(0.0));
  const std::vector<float> got = dc.read();
  double worst = 0;
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      double sum = 0;
      for (int64_t q = 0; q < k; ++q)
        sum += double{a[static_cast<size_t>(i * k + q)]} * b[static_cast<size_t>(q * n + j)];
      const double error = std::abs(sum - got[static_cast<size_t>(i * n + j)]);
      if (std::isnan(error)) return std::numeric_limits<double>::infinity();
      worst = std::max(worst, error);
    }
  }
  return worst;
}

TEST(CudaGemm, TensorFloatsOnlyWhenAllowed) {
  ASSERT_FALSE(gradus::cuda::get_matmul_allow_tf32());
  // Sums of 200 products of about 0.5: each rounding is at most 2^-24 of a partial sum, which stays below 100.
  EXPECT_LT(float_error(64, 96, 200), 200 * 100 * 6e-8);
  EXPECT_LT(float_error(16, 16, 64), 64 * 32 * 6e-8);
  gradus::cuda::set_matmul_allow_tf32(true);
  const double rounded = float_error(64, 96, 200);
  gradus::cuda::set_matmul_allow_tf32(false);
  EXPECT_LT(rounded, 200 * 2 * 4.9e-4);
}

TEST(CudaGemm, InfinityAndNan) {
  // A zero times an infinity is NaN, also where only padding would meet it.
  for (int64_t k : {3, 150}) {
    const int64_t n = 40;
    std::vector<float> a(static_cast<size_t>(n * k), 1.0f), b(static_cast<size_t>(k * n), 1.0f);
    a[0] = std::numeric_limits<float>::infinity();
    b[static_cast<size_t>(n - 1)] = 0;
    const OnDevice<float> da(a), db(b), dc(std::vector<float>(static_cast<size_t>(n * n)));
    const int64_t sa[] = {n, k}, sb[] = {k, n}, sc[] = {n, n}, ta[] = {k, 1}, tb[] = {n, 1};
    const Device device = test_device();
    gemm(device, View{dc.data(), sc, tb, 2, kFloat, device}, ConstView{da.data(), sa, ta, 2, kFloat, device},
         ConstView{db.data(), sb, tb, 2, kFloat, device}, ConstView{nullptr, nullptr, nullptr, 0, kFloat, device},
         Scalar(1.0), Scalar(0.0));
    const std::vector<float> got = dc.read();
    EXPECT_TRUE(std::isinf(got[0])) << k;
    EXPECT_TRUE(std::isnan(got[static_cast<size_t>(n - 1)])) << k;
    for (size_t i = static_cast<size_t>(n); i + 1 < static_cast<size_t>(2 * n); ++i) ASSERT_EQ(got[i], k) << i;
  }
}

TEST(CudaGemm, ADtypeWithoutProductsIsNamed) {
  const OnDevice<uint8_t> x({1});
  const int64_t one[] = {1, 1};
  const Device device = test_device();
  const View v{x.data(), one, one, 2, kBool, device};
  try {
    gemm(device, v, v, v, ConstView{nullptr, nullptr, nullptr, 0, kBool, device}, Scalar(1), Scalar(0));
    FAIL();
  } catch (const NotImplementedError& e) {
    EXPECT_NE(std::string(e.what()).find("gemm: dtype Bool"), std::string::npos) << e.what();
  }
}

}  // namespace
}  // namespace gradus::inline v0::kernels
