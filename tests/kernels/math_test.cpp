// Maximum errors of kernels/cpu/math-inl.h on every SIMD target this machine has. f32: every 509th bit pattern (all of
// them with GRADUS_TEST_EXHAUSTIVE=1) against the C library in double; f64: bit patterns at random and values around
// the points where a function's method changes, against long double.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tests/kernels/math_test.cpp"
#include "kernels/cpu/simd.h"

#include "kernels/cpu/math-inl.h"

#ifndef GRADUS_MATH_TEST_FUNCTIONS
#define GRADUS_MATH_TEST_FUNCTIONS(X) \
  X(exp)                              \
  X(exp2)                             \
  X(expm1)                            \
  X(log)                              \
  X(log2)                             \
  X(log10)                            \
  X(log1p)                            \
  X(tanh)                             \
  X(sigmoid)                          \
  X(erf) X(erfc) X(sin) X(cos) X(gelu_erf) X(gelu_erf_grad) X(gelu_tanh) X(gelu_tanh_grad) X(silu) X(silu_grad)
#endif

HWY_BEFORE_NAMESPACE();
namespace gradus::inline v0::kernels::HWY_NAMESPACE {

template <class F, class Op>
void apply(const F* in, F* out, size_t n, Op op) {
  const hwy::HWY_NAMESPACE::ScalableTag<F> d;
  for (size_t i = 0; i < n; i += hwy::HWY_NAMESPACE::Lanes(d)) {
    hwy::HWY_NAMESPACE::StoreU(op(d, hwy::HWY_NAMESPACE::LoadU(d, in + i)), d, out + i);
  }
}
#define GRADUS_MATH_TEST_APPLY(name)                                             \
  void name##_f32(const float* in, float* out, size_t n) {                       \
    apply(in, out, n, [](auto d, auto x) HWY_ATTR { return math::name(d, x); }); \
  }                                                                              \
  void name##_f64(const double* in, double* out, size_t n) {                     \
    apply(in, out, n, [](auto d, auto x) HWY_ATTR { return math::name(d, x); }); \
  }
GRADUS_MATH_TEST_FUNCTIONS(GRADUS_MATH_TEST_APPLY)
#undef GRADUS_MATH_TEST_APPLY

}  // namespace gradus::inline v0::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace gradus::inline v0::kernels {
#define GRADUS_MATH_TEST_EXPORT(name) \
  HWY_EXPORT(name##_f32);             \
  HWY_EXPORT(name##_f64);
GRADUS_MATH_TEST_FUNCTIONS(GRADUS_MATH_TEST_EXPORT)

namespace {

using Real = long double;

// References, in the wider type R.
template <class R>
R ref_sigmoid(R x) {
  return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x));
}
template <class R>
R ref_cdf(R x) {
  return std::erfc(-x * std::sqrt(R(0.5))) / 2;
}
template <class R>
R ref_slope(R x) {
  return std::sqrt(2 / std::acos(R(-1))) * 2 * (1 + 3 * R(0.044715) * x * x);
}
template <class R>
R ref_arg(R x) {
  return std::sqrt(2 / std::acos(R(-1))) * 2 * (x + R(0.044715) * x * x * x);
}

template <class R>
R ref_exp(R x) {
  return std::exp(x);
}
template <class R>
R ref_exp2(R x) {
  return std::exp2(x);
}
template <class R>
R ref_expm1(R x) {
  return std::expm1(x);
}
template <class R>
R ref_log(R x) {
  return std::log(x);
}
template <class R>
R ref_log2(R x) {
  return std::log2(x);
}
template <class R>
R ref_log10(R x) {
  return std::log10(x);
}
template <class R>
R ref_log1p(R x) {
  return std::log1p(x);
}
template <class R>
R ref_tanh(R x) {
  return std::tanh(x);
}
template <class R>
R ref_erf(R x) {
  return std::erf(x);
}
template <class R>
R ref_erfc(R x) {
  return std::erfc(x);
}
template <class R>
R ref_sin(R x) {
  return std::sin(x);
}
template <class R>
R ref_cos(R x) {
  return std::cos(x);
}
template <class R>
R ref_gelu_erf(R x) {
  return x * ref_cdf(x);
}
template <class R>
R ref_gelu_erf_grad(R x) {
  return ref_cdf(x) + x * std::exp(-x * x / 2) / std::sqrt(2 * std::acos(R(-1)));
}
template <class R>
R ref_gelu_tanh(R x) {
  return x * ref_sigmoid(ref_arg(x));
}
template <class R>
R ref_gelu_tanh_grad(R x) {
  const R s = ref_sigmoid(ref_arg(x)), t = ref_sigmoid(-ref_arg(x));
  return s + (s == 0 || t == 0 ? R(0) : x * s * t * ref_slope(x));
}
template <class R>
R ref_silu(R x) {
  return x * ref_sigmoid(x);
}
template <class R>
R ref_silu_grad(R x) {
  const R s = ref_sigmoid(x), t = ref_sigmoid(-x);
  return s + (t == 0 || s == 0 ? R(0) : x * s * t);
}

/// Distance of `got` from `want` in units of want's last place; infinite on a wrong class or sign of zero.
template <class F, class R>
double ulps(F got, R want) {
  constexpr double kWrong = 1e30;
  if (std::isnan(want)) return std::isnan(got) ? 0 : kWrong;
  if (std::isnan(got)) return kWrong;
  const F rounded = static_cast<F>(want);
  if (std::isinf(rounded) || std::isinf(got)) {
    if (got == rounded) return 0;
    const F edge = std::numeric_limits<F>::max();  // one of them just below the overflow threshold
    return std::abs(std::isinf(got) ? rounded : got) >= edge * F(0.9999998) &&
                   std::signbit(got) == std::signbit(rounded)
               ? 1
               : kWrong;
  }
  if (want == 0) return got == 0 && std::signbit(got) == std::signbit(want) ? 0 : kWrong;
  const R magnitude = std::max<R>(std::abs(want), std::numeric_limits<F>::min());
  const R unit = std::ldexp(R(1), std::ilogb(magnitude) - std::numeric_limits<F>::digits + 1);
  return static_cast<double>(std::abs(R(got) - want) / unit);
}

template <class F>
std::vector<F> samples(double low, double high) {
  std::vector<F> x;
  if constexpr (sizeof(F) == 4) {
#if defined(__SANITIZE_ADDRESS__)
    constexpr uint64_t kSample = 16381;
#else
    constexpr uint64_t kSample = 509;
#endif
    const uint64_t stride = std::getenv("GRADUS_TEST_EXHAUSTIVE") ? 1 : kSample;
    for (uint64_t b = 0; b < (1ull << 32); b += stride) {
      const uint32_t bits = static_cast<uint32_t>(b);
      float v;
      std::memcpy(&v, &bits, 4);
      if (!(v < low) && !(v > high)) x.push_back(v);
    }
  } else {
    std::mt19937_64 random(7);
    for (int i = 0; i < 400000; ++i) {
      const uint64_t bits = random();
      double v;
      std::memcpy(&v, &bits, 8);
      // Every other sample has an ordinary exponent; the rest are any bit pattern.
      if (i % 2)
        v = std::ldexp(1.0 + (bits & 0xfffff) / 1048576.0, static_cast<int>(bits >> 40) % 24 - 14) *
            (bits >> 63 ? -1 : 1);
      if (!(v < low) && !(v > high)) x.push_back(v);
    }
  }
  using L = std::numeric_limits<F>;
  for (F v : {F(0), -F(0), F(1), F(-1), F(0.5), F(-0.5), L::infinity(), -L::infinity(), L::quiet_NaN(), L::min(),
              L::denorm_min(), L::max(), L::lowest(), L::epsilon()}) {
    if (!(v < low) && !(v > high)) x.push_back(v);
  }
  while (x.size() % 64) x.push_back(F(low > 0.25 ? low : 0.25));
  return x;
}

/// The largest error of `f` over its samples, in ULP of the result or, for functions that cancel, of max(|x|, 1).
template <class F, class R>
double worst(const char* name, void (*f)(const F*, F*, size_t), R (*reference)(R), double low, double high,
             bool relative_to_x) {
  const std::vector<F> x = samples<F>(low, high);
  std::vector<F> y(x.size());
  f(x.data(), y.data(), x.size());
  double most = 0;
  F at = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const R want = reference(static_cast<R>(x[i]));
    double error = ulps(y[i], want);
    if (relative_to_x && std::isfinite(y[i]) && std::isfinite(want)) {
      const R unit = std::max<R>(std::abs(R(x[i])), 1) * std::numeric_limits<F>::epsilon();
      error = static_cast<double>(std::abs(R(y[i]) - want) / unit);
    }
    if (!(error <= most)) {
      most = error;
      at = x[i];
    }
  }
  std::printf("  %-16s %s  %.3f ulp at %.9g\n", name, sizeof(F) == 4 ? "f32" : "f64", most, static_cast<double>(at));
  return most;
}

struct Bound {
  double f32, f64, low = -HUGE_VAL, high = HUGE_VAL;
  bool relative_to_x = false;
};

class Math : public ::testing::TestWithParam<int64_t> {
 protected:
  void SetUp() override {
    hwy::SetSupportedTargetsForTest(GetParam());
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  }
  void TearDown() override {
    hwy::SetSupportedTargetsForTest(0);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  }
  /// Rounding twice where there is no fused multiply-add.
  double slack() const { return GetParam() == HWY_SCALAR ? 2.0 : 1.0; }
};

#define GRADUS_MATH_TEST(name, ...)                                                                             \
  TEST_P(Math, name) {                                                                                          \
    const Bound b{__VA_ARGS__};                                                                                 \
    EXPECT_LE((worst<float, double>(#name, HWY_DYNAMIC_DISPATCH(name##_f32), ref_##name<double>, b.low, b.high, \
                                    b.relative_to_x)),                                                          \
              b.f32* slack());                                                                                  \
    EXPECT_LE((worst<double, Real>(#name, HWY_DYNAMIC_DISPATCH(name##_f64), ref_##name<Real>, b.low, b.high,    \
                                   b.relative_to_x)),                                                           \
              b.f64* slack());                                                                                  \
  }
GRADUS_MATH_TEST(exp, 1.1, 1.1)
GRADUS_MATH_TEST(exp2, 1.1, 1.2)
GRADUS_MATH_TEST(expm1, 1.5, 2.0)
GRADUS_MATH_TEST(log, 1.0, 1.0)
GRADUS_MATH_TEST(log2, 1.5, 1.5)
GRADUS_MATH_TEST(log10, 1.0, 1.0)
GRADUS_MATH_TEST(log1p, 1.5, 1.5)
GRADUS_MATH_TEST(tanh, 2.5, 2.5)
GRADUS_MATH_TEST(sigmoid, 3.0, 3.0)
GRADUS_MATH_TEST(erf, 1.2, 1.2)
// Without FMA the square's rounding error is lost, and is multiplied by the square itself.
GRADUS_MATH_TEST(erfc, GetParam() == HWY_SCALAR ? 80.0 : 6.0, GetParam() == HWY_SCALAR ? 400.0 : 6.0)
GRADUS_MATH_TEST(sin, 2.6, 2.0)
GRADUS_MATH_TEST(cos, 1.8, 1.8)
GRADUS_MATH_TEST(silu, 3.5, 3.5, -80, HUGE_VAL)
GRADUS_MATH_TEST(silu_grad, 2.0, 2.0, -80, 1e30, true)
GRADUS_MATH_TEST(gelu_erf, 2.0, 2.0, -HUGE_VAL, HUGE_VAL, true)
GRADUS_MATH_TEST(gelu_erf_grad, 2.0, 2.0, -1e30, 1e30, true)
GRADUS_MATH_TEST(gelu_tanh, 2.0, 2.0, -1e12, 1e12, true)
GRADUS_MATH_TEST(gelu_tanh_grad, 2.0, 2.0, -1e12, 1e12, true)

std::vector<int64_t> targets() {
  std::vector<int64_t> list;
  for (int64_t left = hwy::SupportedTargets() & HWY_TARGETS; left != 0; left &= left - 1) list.push_back(left & -left);
  return list;
}
INSTANTIATE_TEST_SUITE_P(Targets, Math, ::testing::ValuesIn(targets()),
                         [](const auto& info) { return std::string(hwy::TargetName(info.param)); });

}  // namespace
}  // namespace gradus::inline v0::kernels
#endif
