// Reductions on the device against plain loops, over every geometry and dtype.
#include <kernels/elementwise.h>
#include <kernels/reduction.h>

#include <cmath>
#include <limits>

#include "reduction_cases.h"

namespace gradus::inline v0::kernels {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity(), kNaN = std::numeric_limits<double>::quiet_NaN();

template <class T>
class Reductions : public ::testing::Test {};
using Numbers = ::testing::Types<float, double, Half, BFloat16, uint8_t, int8_t, int16_t, int32_t, int64_t, bool>;
TYPED_TEST_SUITE(Reductions, Numbers);
template <class T>
class FloatingReductions : public ::testing::Test {};
using Floats = ::testing::Types<float, double, Half, BFloat16>;
TYPED_TEST_SUITE(FloatingReductions, Floats);

template <class T>
constexpr bool kFloat = !std::is_integral_v<T>;

/// Numbers that are exact in T: small for the 16-bit floats, of both signs where there are.
template <class T>
std::vector<T> numbers(int64_t n) {
  std::vector<T> v(static_cast<size_t>(n));
  for (size_t i = 0; i < v.size(); ++i) {
    const auto k = static_cast<int64_t>(i * 2654435761u >> 7 & 0x3f);
    if constexpr (kFloat<T>) {
      v[i] = static_cast<T>(static_cast<float>(k - 30) / 16);
    } else if constexpr (std::is_same_v<T, bool>) {
      v[i] = k & 1;
    } else {
      v[i] = static_cast<T>(std::is_unsigned_v<T> ? k * 4 : k * 3 - 90);
    }
  }
  return v;
}

template <class Out>
bool equal(Out a, Out b) {
  const auto x = static_cast<double>(a), y = static_cast<double>(b);
  if (std::isnan(x) || std::isnan(y)) return std::isnan(x) && std::isnan(y);
  return a == b;
}

/// Runs a kernel over one case; results in dense order.
template <class Out, class T, class Run>
std::vector<Out> run(const ReductionCase& c, const std::vector<T>& in, const Run& kernel) {
  const DeviceCopy<T> from(in, c.shift);
  std::vector<Out> spread(static_cast<size_t>(c.count(false) * c.out_step + 1)), out;
  const DeviceCopy<Out> to(spread);
  kernel(c.reduction(from.data(), to.data(), CppTypeToScalarType<T>::value, CppTypeToScalarType<Out>::value));
  to.read(spread);
  for (int64_t i = 0; i < c.count(false); ++i) out.push_back(spread[static_cast<size_t>(i * c.out_step)]);
  return out;
}

/// want(elements of a result) against what the kernel gives, within tolerance(elements) beside the rounding of Out.
template <class Out, class T, class Run, class Want, class Tolerance>
void compare(const char* what, const ReductionCase& c, const std::vector<T>& in, const Run& kernel, const Want& want,
             const Tolerance& tolerance) {
  const auto got = run<Out>(c, in, kernel);
  const auto elements = c.elements();
  for (size_t i = 0; i < got.size(); ++i) {
    std::vector<double> x;
    for (size_t at : elements[i]) x.push_back(static_cast<double>(in[at]));
    const auto g = static_cast<double>(got[i]);
    double w = static_cast<double>(want(x));
    if (std::is_same_v<Out, Half> && std::abs(w) >= 65520) w = std::copysign(kInf, w);
    if (std::isnan(w) || std::isinf(w)) {
      ASSERT_TRUE(std::isnan(w) ? std::isnan(g) : g == w)
          << what << ", " << c.name << ", result " << i << ": " << g << ", expected " << w;
      continue;
    }
    const double bound = tolerance(x) + (kFloat<Out> ? std::abs(w) * unit<Out>() * 1.01 : 0) +
                         (std::is_same_v<Out, Half> ? 3e-8 : 0);  // its smallest steps
    ASSERT_TRUE(std::abs(g - w) <= bound)
        << what << ", " << c.name << ", result " << i << ": " << g << ", expected " << w << " within " << bound;
  }
}

/// A few roundings of a number of this size in the type that T is computed in.
template <class T>
double roundings(double size) {
  return kFloat<T> ? size * (std::is_same_v<T, double> ? 2e-15 : 1e-6) : 0;
}
// Plain loops, wide enough to judge doubles.
using Wide = long double;
Wide sum_of(const std::vector<double>& x) {
  Wide s = 0;
  for (double v : x) s += v;
  return s;
}
double magnitude_of(const std::vector<double>& x) {
  double s = 0;
  for (double v : x) s += std::abs(v);
  return s;
}
const auto exactly = [](const std::vector<double>&) { return 0.0; };

TYPED_TEST(Reductions, Sum) {
  using Out = std::conditional_t<kFloat<TypeParam>, TypeParam, int64_t>;
  for (const ReductionCase& c : reduction_cases()) {
    const auto in = numbers<TypeParam>(c.extent());
    compare<Out>(
        "sum", c, in, [](const Reduction& r) { sum(on_cuda(), r); }, sum_of,
        [](const std::vector<double>& x) { return roundings<TypeParam>(magnitude_of(x)); });
    if constexpr (kFloat<TypeParam>) {
      compare<Out>(
          "mean", c, in, [](const Reduction& r) { mean(on_cuda(), r); },
          [](const std::vector<double>& x) { return sum_of(x) / static_cast<Wide>(x.size()); },
          [](const std::vector<double>& x) {
            return roundings<TypeParam>(magnitude_of(x)) / static_cast<double>(x.size());
          });
    }
    if (this->HasFatalFailure()) return;
  }
}

TYPED_TEST(Reductions, IntegersWrap) {
  if constexpr (!kFloat<TypeParam> && sizeof(TypeParam) >= 4) {
    const ReductionCase c{"all", {1000}, {1}, 1};
    std::vector<TypeParam> in(1000, std::numeric_limits<TypeParam>::max());
    uint64_t added = 0, multiplied = 1;
    for (TypeParam v : in) added += static_cast<uint64_t>(v), multiplied *= static_cast<uint64_t>(v);
    EXPECT_EQ(run<int64_t>(c, in, [](const Reduction& r) { sum(on_cuda(), r); })[0], static_cast<int64_t>(added));
    EXPECT_EQ(run<int64_t>(c, in, [](const Reduction& r) { prod(on_cuda(), r); })[0], static_cast<int64_t>(multiplied));
  }
}

TYPED_TEST(Reductions, Product) {
  using Out = std::conditional_t<kFloat<TypeParam>, TypeParam, int64_t>;
  for (const ReductionCase& c : reduction_cases()) {
    // Few of the factors are not 1.
    auto in = numbers<TypeParam>(c.extent());
    for (size_t i = 0; i < in.size(); ++i)
      in[i] = static_cast<TypeParam>(i % 97 == 5 ? 2 : i % 89 == 7 && i % 2 ? -1 : 1);
    if (std::is_unsigned_v<TypeParam>) std::replace(in.begin(), in.end(), static_cast<TypeParam>(-1), TypeParam(1));
    const auto want = [](const std::vector<double>& x) {
      double p = 1;
      for (double v : x) p *= v;
      return kFloat<TypeParam> ? static_cast<double>(static_cast<Out>(p)) : p;
    };
    if (c.count(true) > 5000) continue;  // beyond what doubles hold exactly
    compare<Out>(
        "prod", c, in, [](const Reduction& r) { prod(on_cuda(), r); }, want, exactly);
    if (this->HasFatalFailure()) return;
  }
}

TYPED_TEST(Reductions, Extremes) {
  for (const ReductionCase& c : reduction_cases()) {
    if (c.count(true) == 0) continue;
    const auto in = numbers<TypeParam>(c.extent());
    const auto most = [](const std::vector<double>& x) { return *std::max_element(x.begin(), x.end()); };
    const auto least = [](const std::vector<double>& x) { return *std::min_element(x.begin(), x.end()); };
    compare<TypeParam>(
        "amax", c, in, [](const Reduction& r) { amax(on_cuda(), r); }, most, exactly);
    compare<TypeParam>(
        "amin", c, in, [](const Reduction& r) { amin(on_cuda(), r); }, least, exactly);
    if (this->HasFatalFailure()) return;
  }
}

TYPED_TEST(Reductions, ExtremesOfLimits) {
  using Limits = std::numeric_limits<TypeParam>;
  if constexpr (!kFloat<TypeParam>) {
    for (TypeParam v : {Limits::lowest(), Limits::max()}) {
      const ReductionCase c{"all", {100}, {1}, 1};
      const std::vector<TypeParam> in(100, v);
      EXPECT_EQ(run<TypeParam>(c, in, [](const Reduction& r) { amax(on_cuda(), r); })[0], v);
      EXPECT_EQ(run<TypeParam>(c, in, [](const Reduction& r) { amin(on_cuda(), r); })[0], v);
    }
  }
}

TYPED_TEST(Reductions, Truth) {
  for (const ReductionCase& c : reduction_cases()) {
    for (int kind = 0; kind < 3; ++kind) {
      // Hardly any zero, hardly anything else, zeros of both signs alone.
      std::vector<TypeParam> in(static_cast<size_t>(c.extent()), static_cast<TypeParam>(kind == 0 ? 1 : 0));
      for (size_t i = 0; i < in.size(); ++i) {
        if (i % 41 == 17) in[i] = static_cast<TypeParam>(kind == 0 ? 0 : kind == 1 ? 1 : -0.0f);
      }
      const auto has_any = [](const std::vector<double>& x) {
        return static_cast<double>(std::any_of(x.begin(), x.end(), [](double v) { return v != 0; }));
      };
      const auto has_all = [](const std::vector<double>& x) {
        return static_cast<double>(std::all_of(x.begin(), x.end(), [](double v) { return v != 0; }));
      };
      compare<bool>(
          "any", c, in, [](const Reduction& r) { any(on_cuda(), r); }, has_any, exactly);
      compare<bool>(
          "all", c, in, [](const Reduction& r) { all(on_cuda(), r); }, has_all, exactly);
      if (this->HasFatalFailure()) return;
    }
  }
}

TYPED_TEST(Reductions, FirstPlaces) {
  for (ReductionCase c : reduction_cases()) {
    int reduced = 0;
    for (size_t d = 0; d < c.sizes.size(); ++d) reduced += (c.reduced >> d) & 1;
    if (reduced > 1 || c.count(true) == 0) continue;
    c.out_step = 1;
    auto in = numbers<TypeParam>(c.extent());
    if constexpr (kFloat<TypeParam>) {
      for (size_t i = 0; i < in.size(); ++i) {
        if (i % 201 == 100) in[i] = static_cast<TypeParam>(static_cast<float>(kNaN));
      }
    }
    const auto places = run<int64_t>(c, in, [&](Reduction r) {
      auto* indices = reinterpret_cast<int64_t*>(r.out);
      const DeviceCopy<TypeParam> values(std::vector<TypeParam>(static_cast<size_t>(r.outputs)));
      r.out = reinterpret_cast<char*>(values.data());
      amax(on_cuda(), r);
      index_of(on_cuda(), r, indices);
      EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    });
    const auto elements = c.elements();
    for (size_t i = 0; i < places.size(); ++i) {
      int64_t want = 0;
      for (size_t k = 0; k < elements[i].size(); ++k) {
        const auto best = static_cast<double>(in[elements[i][static_cast<size_t>(want)]]);
        const auto v = static_cast<double>(in[elements[i][k]]);
        if (std::isnan(best)) break;
        if (v > best || std::isnan(v)) want = static_cast<int64_t>(k);
      }
      ASSERT_EQ(places[i], want) << c.name << ", result " << i;
    }
  }
}

TYPED_TEST(FloatingReductions, NaNWins) {
  for (int64_t n : {1, 33, 1025, 20011}) {
    for (int64_t at : {int64_t{0}, n / 2, n - 1}) {
      const ReductionCase c{"all", {n}, {1}, 1};
      auto in = numbers<TypeParam>(n);
      in[0] = static_cast<TypeParam>(static_cast<float>(kInf));
      in[static_cast<size_t>(at)] = static_cast<TypeParam>(static_cast<float>(kNaN));
      const auto nan = [](const std::vector<double>&) { return kNaN; };
      compare<TypeParam>(
          "amax", c, in, [](const Reduction& r) { amax(on_cuda(), r); }, nan, exactly);
      compare<TypeParam>(
          "amin", c, in, [](const Reduction& r) { amin(on_cuda(), r); }, nan, exactly);
      compare<TypeParam>(
          "norm", c, in, [](const Reduction& r) { norm(on_cuda(), r, kInf); }, nan, exactly);
      compare<TypeParam>(
          "norm", c, in, [](const Reduction& r) { norm(on_cuda(), r, -kInf); }, nan, exactly);
      compare<TypeParam>(
          "sum", c, in, [](const Reduction& r) { sum(on_cuda(), r); }, nan, exactly);
      if (this->HasFatalFailure()) return;
    }
  }
}

TYPED_TEST(FloatingReductions, Variance) {
  for (const ReductionCase& c : reduction_cases()) {
    for (double correction : {0.0, 1.0, 3.0}) {
      const bool root = correction == 1;
      auto in = numbers<TypeParam>(c.extent());
      for (TypeParam& v : in) v = static_cast<TypeParam>(static_cast<double>(v) + 10);
      const auto variance = [&](const std::vector<double>& x) {
        const auto n = static_cast<Wide>(x.size());
        const Wide m = sum_of(x) / n, divisor = x.empty() ? 0 : std::max(Wide{0}, n - correction);
        Wide s = 0;
        for (double v : x) s += (v - m) * (v - m);
        return root ? std::sqrt(s / divisor) : s / divisor;
      };
      compare<TypeParam>(
          "var", c, in, [&](const Reduction& r) { var(on_cuda(), r, correction, root); }, variance,
          [&](const std::vector<double>& x) { return std::isfinite(variance(x)) ? roundings<TypeParam>(30) : 0; });
      if (this->HasFatalFailure()) return;
    }
  }
}

TYPED_TEST(FloatingReductions, VarianceFarFromZero) {
  const ReductionCase c{"all", {20000}, {1}, 1};
  std::vector<TypeParam> in(20000);
  // 2048 and 2050 alternate: a mean of 2049, which the 16-bit floats could not even hold.
  const float low = std::is_same_v<TypeParam, BFloat16> ? 256.0f : 2048.0f;
  for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<TypeParam>(i % 2 ? low : low + 2);
  compare<TypeParam>(
      "var", c, in, [](const Reduction& r) { var(on_cuda(), r, 0, false); },
      [](const std::vector<double>&) { return 1.0; }, [](const std::vector<double>&) { return 1e-6; });
}

TYPED_TEST(FloatingReductions, Norms) {
  for (const ReductionCase& c : reduction_cases()) {
    for (double order : {0.0, 1.0, 2.0, 3.0, 0.5, -1.0, kInf, -kInf}) {
      auto in = numbers<TypeParam>(c.extent());
      if (order < 0 && std::isfinite(order)) {
        for (TypeParam& v : in) v = static_cast<double>(v) == 0 ? static_cast<TypeParam>(1) : v;
      }
      const auto want = [&](const std::vector<double>& x) {
        Wide s = order == -kInf ? kInf : 0;
        for (Wide v : x) {
          if (order == kInf) {
            s = std::max(s, std::abs(v));
          } else if (order == -kInf) {
            s = std::min(s, std::abs(v));
          } else {
            s += order == 0 ? v != 0 : std::pow(std::abs(v), Wide{order});
          }
        }
        return std::isinf(order) || order == 0 ? s : std::pow(s, 1 / Wide{order});
      };
      // A root below 1 takes the error of the sum times its exponent.
      compare<TypeParam>(
          "norm", c, in, [&](const Reduction& r) { norm(on_cuda(), r, order); }, want,
          [&](const std::vector<double>& x) {
            const auto w = static_cast<double>(want(x));
            return std::isfinite(w)
                       ? roundings<TypeParam>(w * (1 + 4 / std::abs(std::isfinite(order) && order ? order : 1)))
                       : 0;
          });
      if (this->HasFatalFailure()) return;
    }
  }
}

// Half's sums go beyond its own range before they are divided, and floats are added in blocks.
TEST(FloatingSums, StayAccurate) {
  const int64_t n = 1 << 20;
  const ReductionCase c{"all", {n}, {1}, 1};
  const std::vector<Half> halves(static_cast<size_t>(n), Half(0.125f));
  EXPECT_EQ(static_cast<float>(run<Half>(c, halves, [](const Reduction& r) { mean(on_cuda(), r); })[0]), 0.125f);
  const std::vector<float> tenths(static_cast<size_t>(n), 0.1f);
  const double want = static_cast<double>(0.1f) * static_cast<double>(n);
  EXPECT_NEAR(run<float>(c, tenths, [](const Reduction& r) { sum(on_cuda(), r); })[0], want, want * 2e-7);
}

template <class T>
struct Running {
  using Out = std::conditional_t<kFloat<T>, T, int64_t>;
};

TYPED_TEST(Reductions, RunningSums) {
  using Out = typename Running<TypeParam>::Out;
  struct Lines {
    int64_t outer, n, inner;
    bool backward;
  };
  const Lines shapes[] = {{1, 0, 1, false},   {1, 1, 1, false},     {1, 31, 1, false},   {3, 32, 1, true},
                          {3, 33, 1, false},  {2, 1023, 1, true},   {1, 1024, 1, false}, {5, 1025, 1, false},
                          {2, 4097, 1, true}, {1, 40001, 1, false}, {1, 40001, 1, true}, {700, 3, 1, false},
                          {300, 70, 1, true}, {1, 33, 5, false},    {3, 20, 64, true},   {2, 1025, 3, false},
                          {1, 9001, 2, true}, {1, 2, 3000, false},  {0, 5, 3, false},    {1, 100003, 1, false}};
  for (const Lines& s : shapes) {
    Array<TypeParam> in({s.outer, s.n, s.inner});
    Array<Out> out({s.outer, s.n, s.inner});
    in.data = numbers<TypeParam>(in.numel());
    DeviceArray<TypeParam> from(in, 1);
    DeviceArray<Out> to(out);
    const auto item = static_cast<int64_t>(sizeof(TypeParam)), out_item = static_cast<int64_t>(sizeof(Out));
    Loop l;
    l.operands = 2, l.contiguous = false, l.ndim = 2;
    l.dtype = CppTypeToScalarType<TypeParam>::value, l.out_dtype = CppTypeToScalarType<Out>::value;
    l.sizes[0] = s.inner, l.sizes[1] = s.outer, l.numel = s.inner * s.outer;
    l.strides[0][0] = out_item, l.strides[0][1] = item;
    l.strides[1][0] = out_item * s.n * s.inner, l.strides[1][1] = item * s.n * s.inner;
    l.data[0] = static_cast<char*>(to.view().data), l.data[1] = static_cast<char*>(from.view().data);
    int64_t out_stride = out_item * s.inner, in_stride = item * s.inner;
    if (s.backward) {
      l.data[0] += (s.n - 1) * out_stride, l.data[1] += (s.n - 1) * in_stride;
      out_stride = -out_stride, in_stride = -in_stride;
    }
    cumsum(on_cuda(), l, s.n, out_stride, in_stride);
    to.read();
    for (int64_t o = 0; o < s.outer; ++o) {
      for (int64_t j = 0; j < s.inner; ++j) {
        double want = 0, size = 0;
        for (int64_t k = 0; k < s.n; ++k) {
          const int64_t at = (o * s.n + (s.backward ? s.n - 1 - k : k)) * s.inner + j;
          want += in.get(at), size += std::abs(in.get(at));
          const double bound = kFloat<TypeParam> ? std::abs(want) * unit<Out>() * 1.01 +
                                                       (sizeof(TypeParam) == 2 ? roundings<float>(size) : size * 1e-14)
                                                 : 0;
          ASSERT_TRUE(std::abs(out.get(at) - want) <= bound) << s.outer << " x " << s.n << " x " << s.inner << " at "
                                                             << k << ": " << out.get(at) << ", expected " << want;
        }
      }
    }
  }
}

}  // namespace
}  // namespace gradus::inline v0::kernels
