// Vector exp, log, tanh, erf, sin, ... for f32 and f64, by this project's own polynomials (fit_polynomials.py).
// Include after kernels/cpu/simd.h; call as `math::exp(d, x)` inside the target's namespace.
//
// Maximum errors in ULP with FMA, asserted by tests/kernels/math_test.cpp over all f32 bit patterns (strided) and dense
// f64 samples. Without FMA (the scalar target) they are up to twice as large. f32 | f64
//   exp        1.1 | 1.1     exp2       1.1 | 1.2     expm1      1.5 | 2.0     tanh       2.5 | 2.5
//   log        1.0 | 1.0     log2       1.5 | 1.5     log10      1.0 | 1.0     log1p      1.5 | 1.5
//   sigmoid    3.0 | 3.0     erf        1.2 | 1.2     erfc       6.0 | 6.0     sin        2.6 | 2.0
//   cos        1.8 | 1.8     pow: the C library's
//   silu 3.5, gelu_erf, gelu_tanh and gradients: 2 ULP of max(|x|, 1), tails relatively accurate to 1e-5 (f32).
// NaN, infinities, signed zeros and subnormal results are as in the C library.
#if defined(GRADUS_KERNELS_CPU_MATH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef GRADUS_KERNELS_CPU_MATH_INL_H_
#undef GRADUS_KERNELS_CPU_MATH_INL_H_
#else
#define GRADUS_KERNELS_CPU_MATH_INL_H_
#endif

#include <cmath>
#include <limits>

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace gradus::inline v0::kernels::HWY_NAMESPACE::math {

namespace hn = hwy::HWY_NAMESPACE;
template <class D>
using V = hn::Vec<D>;
template <class D>
using T = hn::TFromD<D>;

/// What differs between the two types: layout, reduction constants, polynomials (lowest coefficient first).
template <class F>
struct Float;

template <>
struct Float<float> {
  using Bits = uint32_t;
  static constexpr int kMantissa = 23;
  static constexpr float kMagic = 12582912.0f;  // 1.5 * 2^23: adding it leaves an integer in the low bits
  static constexpr Bits kOne = 0x3f800000u, kTwoThirds = 0x3f2aaaabu, kMantissaMask = 0x007fffffu;
  static constexpr Bits kExponentMagic = 0x4b000000u;  // 2^23
  static constexpr float kExponentMagicValue = 8388608.0f + 127.0f;
  static constexpr float kSmallest = 1.17549435e-38f, kSubnormalScale = 33554432.0f, kSubnormalShift = 25.0f;
  static constexpr float kExpLow = -104.5f, kExpHigh = 89.0f, kExp2Low = -151.0f, kExp2High = 129.0f;
  static constexpr float kExpm1Low = -18.0f, kErfMax = 3.95f, kErfcMax = 10.2f;
  static constexpr float kLog2e = 1.44269504f, kLn2 = 0.693147181f;
  static constexpr float kLn2High = 0.693145752f, kLn2Low = 1.42860682e-6f;  // high: 16 bits, exact times an exponent
  static constexpr float kLog2eLow = 1.92596299e-8f;
  static constexpr float kLog10Of2High = 0.301025391f, kLog10Of2Low = 4.60503898e-6f;
  static constexpr float kLog10e = 0.434294492f, kLog10eLow = -1.01030501e-8f;
  static constexpr float kPi2[3] = {1.5703125f, 4.83751297e-4f, 7.54978995e-8f};  // pi / 2: 11, 12 and 24 bits
  static constexpr float kTwoOverPi = 0.636619772f, kTrigMax = 3000.0f;
  static constexpr float kExp[] = {0.5f, 0.166665182f, 0.041666206f, 0.00836891774f, 0.00139505346f};
  static constexpr float kExpm1[] = {0.5f, 0.166666672f, 0.041666355f, 0.00833327323f, 0.00139410503f, 0.000199142305f};
  static constexpr float kLog[] = {0.333332241f, -0.249996886f, 0.200100437f, -0.16685465f,
                                   0.140109181f, -0.121151239f, 0.139624611f, -0.131916851f};
  static constexpr float kSin[] = {-0.166666552f, 0.00833219104f, -0.000195185974f};
  static constexpr float kCos[] = {0.0416666456f, -0.00138873013f, 2.44306702e-05f};
  static constexpr float kErf[] = {0.128379166f,   -0.376126289f,    0.112836182f,   -0.026855126f,
                                   0.00519073382f, -0.000803076138f, 7.92036299e-05f};
  static constexpr float kErfcExponent[] = {-0.000188033766f, 1.12957835f,    0.633220136f,     0.108418189f,
                                            -0.0252079088f,   0.00420438824f, -0.000441290351f, 2.16818371e-05f};
  static constexpr float kErfcx[] = {1.02158272f,      -0.687161326f,    0.279471099f,    -0.0364261344f,
                                     -0.0214977507f,   0.00637135748f,   0.00301011279f,  -0.000569611031f,
                                     -0.000432306464f, -0.000177568058f, -9.72031194e-05f};
};

template <>
struct Float<double> {
  using Bits = uint64_t;
  static constexpr int kMantissa = 52;
  static constexpr double kMagic = 6755399441055744.0;
  static constexpr Bits kOne = 0x3ff0000000000000u, kTwoThirds = 0x3fe5555555555555u,
                        kMantissaMask = 0x000fffffffffffffu;
  static constexpr Bits kExponentMagic = 0x4330000000000000u;
  static constexpr double kExponentMagicValue = 4503599627370496.0 + 1023.0;
  static constexpr double kSmallest = 2.2250738585072014e-308, kSubnormalScale = 18014398509481984.0,
                          kSubnormalShift = 54.0;
  static constexpr double kExpLow = -746.0, kExpHigh = 710.0, kExp2Low = -1076.0, kExp2High = 1025.0;
  static constexpr double kExpm1Low = -40.0, kErfMax = 6.0, kErfcMax = 27.5;
  static constexpr double kLog2e = 1.4426950408889634, kLn2 = 0.69314718055994531;
  static constexpr double kLn2High = 0.69314718055966296, kLn2Low = 2.8235290563031577e-13;
  static constexpr double kLog2eLow = 2.0355273740931033e-17;
  static constexpr double kLog10Of2High = 0.30102999566361177, kLog10Of2Low = 3.6942390771589308e-13;
  static constexpr double kLog10e = 0.43429448190325182, kLog10eLow = 1.0983196502167651e-17;
  static constexpr double kPi2[3] = {1.5707963267341256, 6.077100506303966e-11,
                                     2.0222662487959506e-21};  // 33, 33 and 53 bits
  static constexpr double kTwoOverPi = 0.63661977236758134, kTrigMax = 500000.0;
  static constexpr double kExp[] = {0.50000000000000133,    0.16666666666666699,    0.041666666666514925,
                                    0.0083333333333071337,  0.0013888888947157052,  0.00019841269917541586,
                                    2.4801489784890151e-05, 2.7557216154527966e-06, 2.7631340024277273e-07,
                                    2.5117909045348216e-08};
  static constexpr double kExpm1[] = {0.5,
                                      0.16666666666666677,
                                      0.041666666666666699,
                                      0.0083333333333215787,
                                      0.0013888888888866809,
                                      0.00019841269886265928,
                                      2.4801587360632881e-05,
                                      2.7557244062135043e-06,
                                      2.7557242681752686e-07,
                                      2.5109090359390053e-08,
                                      2.0924470508221121e-09};
  static constexpr double kLog[] = {0.66666666666666596, 0.4000000000005674,  0.28571428555805622, 0.22222224299496904,
                                    0.18181665676994532, 0.15391118822083596, 0.13173479021278067, 0.13843878034857585};
  static constexpr double kSin[] = {-0.16666666666666632,   0.0083333333333224704,   -0.00019841269829833457,
                                    2.7557313696362754e-06, -2.5050758311452505e-08, 1.5896784845216902e-10};
  static constexpr double kCos[] = {0.041666666666666602,    -0.0013888888888874457, 2.480158728965279e-05,
                                    -2.7557314393823128e-07, 2.0875728101195061e-09, -1.1359864314210416e-11};
  static constexpr double kErf[] = {0.12837916709551256,    -0.37612638903183548,    0.11283791670945252,
                                    -0.026866170643276073,  0.005223977607422485,    -0.00085483259896572709,
                                    0.00012055295319497324, -1.4924744647109295e-05, 1.6447517507905382e-06,
                                    -1.620917480530334e-07, 1.3722972195066833e-08,  -7.801182409834947e-10};
  static constexpr double kErfcx[] = {
      1.021582705242023,       -0.68716068441381062,    0.27947209255605393,     -0.036442231506881924,
      -0.021510661889434426,   0.0064791850678411955,   0.0030906120579444001,   -0.00083729606405915551,
      -0.00066307348997413085, 3.4371448868837167e-05,  0.00014447063448672827,  3.4148835263650826e-05,
      -2.1695639453299642e-05, -1.6120697661583599e-05, -1.1277491145175402e-06, 3.6430418772382173e-06,
      2.0080263978998251e-06,  4.3657696683690528e-09,  -5.8319673098910311e-07, -3.2962542301516691e-07,
      1.2281397271116276e-08,  1.1797121670502537e-07,  4.5152012906887799e-08,  -1.6876062162473305e-08,
      -1.3337262714235876e-08, 2.2619490233654719e-10,  1.124787756019368e-09};
};

template <class D>
using Traits = Float<T<D>>;
template <class D>
using BitsOf = hn::Rebind<typename Traits<D>::Bits, D>;

/// c[0] + c[1] x + ...
template <size_t I = 0, class D, size_t N>
HWY_INLINE V<D> horner(D d, V<D> x, const T<D> (&c)[N]) {
  if constexpr (I + 1 == N) {
    return hn::Set(d, c[I]);
  } else {
    return hn::MulAdd(horner<I + 1>(d, x, c), x, hn::Set(d, c[I]));
  }
}
/// The same by even and odd powers: half the latency, for the long ones.
template <size_t I, class D, size_t N>
HWY_INLINE V<D> horner2(D d, V<D> x2, const T<D> (&c)[N]) {
  if constexpr (I + 2 >= N) {
    return hn::Set(d, c[I]);
  } else {
    return hn::MulAdd(horner2<I + 2>(d, x2, c), x2, hn::Set(d, c[I]));
  }
}
template <class D, size_t N>
HWY_INLINE V<D> poly(D d, V<D> x, const T<D> (&c)[N]) {
  if constexpr (N <= 6) {
    return horner(d, x, c);
  } else {
    const auto x2 = hn::Mul(x, x);
    return hn::MulAdd(horner2<1>(d, x2, c), x, horner2<0>(d, x2, c));
  }
}

/// Clamps; NaN stays NaN.
template <class D>
HWY_INLINE V<D> clamp(D d, V<D> x, T<D> low, T<D> high) {
  // x86's min and max return their second operand when one is NaN; Highway's scalar ones drop the NaN.
  const auto r = hn::Max(hn::Set(d, low), hn::Min(hn::Set(d, high), x));
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2
  return r;
#else
  return hn::IfThenElse(hn::Eq(x, x), r, x);
#endif
}

/// 2^n for integral n with a normal result.
template <class D>
HWY_INLINE V<D> pow2(D d, V<D> n) {
  using R = Traits<D>;
  const BitsOf<D> du;
  const auto bits = hn::BitCast(du, hn::Add(n, hn::Set(d, R::kMagic)));
  return hn::BitCast(d, hn::Add(hn::ShiftLeft<R::kMantissa>(bits), hn::Set(du, R::kOne)));
}

#if HWY_TARGET == HWY_AVX3
HWY_INLINE __m512 scalef(__m512 a, __m512 b) {
  return _mm512_scalef_ps(a, b);
}
HWY_INLINE __m256 scalef(__m256 a, __m256 b) {
  return _mm256_scalef_ps(a, b);
}
HWY_INLINE __m128 scalef(__m128 a, __m128 b) {
  return _mm_scalef_ps(a, b);
}
HWY_INLINE __m512d scalef(__m512d a, __m512d b) {
  return _mm512_scalef_pd(a, b);
}
HWY_INLINE __m256d scalef(__m256d a, __m256d b) {
  return _mm256_scalef_pd(a, b);
}
HWY_INLINE __m128d scalef(__m128d a, __m128d b) {
  return _mm_scalef_pd(a, b);
}
#endif

/// x * 2^n for integral n, rounded once where the result is subnormal.
template <class D>
HWY_INLINE V<D> scale(D d, V<D> x, V<D> n) {
#if HWY_TARGET == HWY_AVX3
  return V<D>{scalef(x.raw, n.raw)};
#else
  const auto half = hn::Floor(hn::Mul(n, hn::Set(d, T<D>(0.5))));
  return hn::Mul(hn::Mul(x, pow2(d, half)), pow2(d, hn::Sub(n, half)));
#endif
}

// ---- exp family ----------------------------------------------------------------------------------------------------

/// e^x where x needs no clamp.
template <class D>
HWY_INLINE V<D> exp_unclamped(D d, V<D> x) {
  using R = Traits<D>;
  const auto n = hn::Round(hn::Mul(x, hn::Set(d, R::kLog2e)));
  auto r = hn::NegMulAdd(n, hn::Set(d, R::kLn2High), x);
  r = hn::NegMulAdd(n, hn::Set(d, R::kLn2Low), r);
  const auto e = hn::MulAdd(poly(d, r, R::kExp), hn::Mul(r, r), r);
  return scale(d, hn::Add(e, hn::Set(d, T<D>(1))), n);
}

template <class D>
HWY_INLINE V<D> exp(D d, V<D> x) {
  return exp_unclamped(d, clamp(d, x, Traits<D>::kExpLow, Traits<D>::kExpHigh));
}

template <class D>
HWY_INLINE V<D> exp2(D d, V<D> x) {
  using R = Traits<D>;
  x = clamp(d, x, R::kExp2Low, R::kExp2High);
  const auto n = hn::Round(x);
  const auto r = hn::Mul(hn::Sub(x, n), hn::Set(d, R::kLn2));
  const auto e = hn::MulAdd(poly(d, r, R::kExp), hn::Mul(r, r), r);
  return scale(d, hn::Add(e, hn::Set(d, T<D>(1))), n);
}

/// e^x - 1 for x already clamped to [kExpm1Low, kExpHigh].
template <class D>
HWY_INLINE V<D> expm1_clamped(D d, V<D> x) {
  using R = Traits<D>;
  const auto half = hn::Set(d, T<D>(0.5));
  const auto n = hn::Round(hn::Mul(x, hn::Set(d, R::kLog2e)));
  auto r = hn::NegMulAdd(n, hn::Set(d, R::kLn2High), x);
  r = hn::NegMulAdd(n, hn::Set(d, R::kLn2Low), r);
  const auto q = hn::MulAdd(poly(d, r, R::kExpm1), hn::Mul(r, r), r);
  // Half of 2^n keeps the scale finite up to the overflow threshold.
  const auto t = pow2(d, hn::Sub(n, hn::Set(d, T<D>(1))));
  const auto h = hn::MulAdd(t, q, hn::Sub(t, half));
  return hn::Add(h, h);
}

template <class D>
HWY_INLINE V<D> expm1(D d, V<D> x) {
  const auto r = expm1_clamped(d, clamp(d, x, Traits<D>::kExpm1Low, Traits<D>::kExpHigh));
  return hn::CopySign(r, x);
}

// ---- log family ----------------------------------------------------------------------------------------------------

/// x = 2^exponent (1 + fraction) with fraction in [-1/3, 1/3], for positive finite x.
template <class D>
struct Split {
  V<D> exponent, fraction;
};

template <class D>
HWY_INLINE V<D> exponent_of(D d, hn::Vec<BitsOf<D>> shifted) {
  using R = Traits<D>;
  const BitsOf<D> du;
  const auto biased = hn::Or(hn::ShiftRight<R::kMantissa>(shifted), hn::Set(du, R::kExponentMagic));
  return hn::Sub(hn::BitCast(d, biased), hn::Set(d, R::kExponentMagicValue));
}

template <class D>
HWY_INLINE Split<D> split(D d, V<D> x) {
  using R = Traits<D>;
  const BitsOf<D> du;
  const auto tiny = hn::Lt(x, hn::Set(d, R::kSmallest));
  x = hn::IfThenElse(tiny, hn::Mul(x, hn::Set(d, R::kSubnormalScale)), x);
  const auto shifted = hn::Add(hn::BitCast(du, x), hn::Set(du, R::kOne - R::kTwoThirds));
  const auto mantissa = hn::Add(hn::And(shifted, hn::Set(du, R::kMantissaMask)), hn::Set(du, R::kTwoThirds));
  auto e = exponent_of(d, shifted);
  e = hn::Sub(e, hn::IfThenElseZero(tiny, hn::Set(d, R::kSubnormalShift)));
  return {e, hn::Sub(hn::BitCast(d, mantissa), hn::Set(d, T<D>(1)))};
}

/// log(1 + f) = f + the result, for f in [-1/3, 1/3]; `extra` is added to the small part.
template <class D>
HWY_INLINE V<D> log_tail(D d, V<D> f, V<D> extra) {
  using R = Traits<D>;
  const auto half = hn::Set(d, T<D>(0.5));
  const auto f2 = hn::Mul(f, f);
  if constexpr (sizeof(T<D>) == 4) {
    const auto y = hn::MulAdd(hn::Mul(f, f2), poly(d, f, R::kLog), extra);
    return hn::NegMulAdd(half, f2, y);
  } else {
    // With s = f / (2 + f): log(1 + f) = f - (f^2/2 - s (f^2/2 + s^2 P(s^2))).
    const auto s = hn::Div(f, hn::Add(f, hn::Set(d, T<D>(2))));
    const auto z = hn::Mul(s, s);
    const auto h = hn::Mul(half, f2);
    const auto y = hn::MulAdd(s, hn::MulAdd(z, poly(d, z, R::kLog), h), extra);
    return hn::Sub(y, h);
  }
}

/// Puts in what log gives at infinity and NaN (x itself), at zero (-infinity) and below (NaN). `x` is log's argument.
template <class D>
HWY_INLINE V<D> log_special(D d, V<D> x, V<D> result) {
  using Limits = std::numeric_limits<T<D>>;
  const auto inf = hn::Set(d, Limits::infinity());
  result = hn::IfThenElse(hn::Lt(x, inf), result, x);
  const auto at_or_below = hn::IfThenElse(hn::Eq(x, hn::Zero(d)), hn::Neg(inf), hn::Set(d, Limits::quiet_NaN()));
  return hn::IfThenElse(hn::Gt(x, hn::Zero(d)), result, at_or_below);
}

template <class D>
HWY_INLINE V<D> log(D d, V<D> x) {
  using R = Traits<D>;
  const auto [e, f] = split(d, x);
  const auto tail = log_tail(d, f, hn::Mul(e, hn::Set(d, R::kLn2Low)));
  return log_special(d, x, hn::MulAdd(e, hn::Set(d, R::kLn2High), hn::Add(f, tail)));
}

/// log(x) in another base: e * (base's log of 2, in two parts) + log(1 + f) * (its log of e, in two parts).
template <class D>
HWY_INLINE V<D> log_scaled(D d, V<D> x, T<D> two_high, T<D> two_low, T<D> e_high, T<D> e_low) {
  const auto [e, f] = split(d, x);
  const auto tail = log_tail(d, f, hn::Zero(d));
  const auto sum = hn::Add(f, tail);
  const auto lost = hn::Add(hn::Sub(f, sum), tail);
  auto low = hn::MulAdd(sum, hn::Set(d, e_low), hn::Mul(lost, hn::Set(d, e_high)));
  low = hn::MulAdd(e, hn::Set(d, two_low), low);
  const auto main = hn::MulAdd(sum, hn::Set(d, e_high), low);
  return log_special(d, x, hn::MulAdd(e, hn::Set(d, two_high), main));
}
template <class D>
HWY_INLINE V<D> log2(D d, V<D> x) {
  using R = Traits<D>;
  return log_scaled(d, x, T<D>(1), T<D>(0), R::kLog2e, R::kLog2eLow);
}
template <class D>
HWY_INLINE V<D> log10(D d, V<D> x) {
  using R = Traits<D>;
  return log_scaled(d, x, R::kLog10Of2High, R::kLog10Of2Low, R::kLog10e, R::kLog10eLow);
}

template <class D>
HWY_INLINE V<D> log1p(D d, V<D> x) {
  using R = Traits<D>;
  const BitsOf<D> du;
  const auto one = hn::Set(d, T<D>(1));
  const auto u = hn::Add(x, one);
  const auto shifted = hn::Add(hn::BitCast(du, u), hn::Set(du, R::kOne - R::kTwoThirds));
  const auto e = exponent_of(d, shifted);
  // 1 + x scaled by 2^-e, less 1, without rounding 1 + x; beyond 2^60 the 1 does not matter.
  const auto s = pow2(d, hn::Neg(hn::Min(e, hn::Set(d, T<D>(100)))));
  const auto near = hn::MulAdd(x, s, hn::Sub(s, one));
  const auto mantissa = hn::Add(hn::And(shifted, hn::Set(du, R::kMantissaMask)), hn::Set(du, R::kTwoThirds));
  const auto far = hn::Sub(hn::BitCast(d, mantissa), one);
  const auto f = hn::IfThenElse(hn::Gt(x, hn::Set(d, T<D>(1e18))), far, near);
  const auto tail = log_tail(d, f, hn::Mul(e, hn::Set(d, R::kLn2Low)));
  const auto r = log_special(d, u, hn::MulAdd(e, hn::Set(d, R::kLn2High), hn::Add(f, tail)));
  return hn::IfThenElse(hn::Eq(x, hn::Zero(d)), x, r);  // keeps -0
}

// ---- tanh, sigmoid -------------------------------------------------------------------------------------------------

template <class D>
HWY_INLINE V<D> tanh(D d, V<D> x) {
  const auto a = hn::Abs(x);
  const auto q = expm1_clamped(d, clamp(d, hn::Mul(a, hn::Set(d, T<D>(-2))), 2 * Traits<D>::kExpm1Low, T<D>(0)));
  return hn::CopySign(hn::Div(q, hn::Add(q, hn::Set(d, T<D>(2)))), x);
}

/// The logistic function and its slope; small values of both keep their relative accuracy.
template <class D>
struct Logistic {
  V<D> value, slope;
};
template <class D>
HWY_INLINE Logistic<D> logistic(D d, V<D> x) {
  const auto one = hn::Set(d, T<D>(1));
  const auto e = exp_unclamped(d, clamp(d, hn::Neg(hn::Abs(x)), Traits<D>::kExpLow, T<D>(0)));
  const auto big = hn::Div(one, hn::Add(one, e));
  const auto small = hn::Mul(e, big);
  return {hn::IfThenElse(hn::Lt(x, hn::Zero(d)), small, big), hn::Mul(small, big)};
}

/// 1 / (1 + e^-x).
template <class D>
HWY_INLINE V<D> sigmoid(D d, V<D> x) {
  return logistic(d, x).value;
}

template <class D>
HWY_INLINE V<D> silu(D d, V<D> x) {
  return hn::Mul(x, sigmoid(d, x));
}
template <class D>
HWY_INLINE V<D> silu_grad(D d, V<D> x) {
  const auto s = logistic(d, x);
  return hn::MulAdd(x, s.slope, s.value);
}

// ---- erf, gelu -----------------------------------------------------------------------------------------------------

/// e^(a^2) erfc(a) for a >= 0.
template <class D>
HWY_INLINE V<D> erfcx(D d, V<D> a) {
  const auto two = hn::Set(d, T<D>(2));
  const auto r = hn::Div(hn::Set(d, T<D>(1)), hn::Add(a, two));
  const auto t = hn::Mul(hn::Sub(a, two), r);
  return hn::Mul(poly(d, t, Traits<D>::kErfcx), r);
}

/// e^(-x^2 scale), scale 1 or 1/2, with the square's rounding error made good.
template <class D>
HWY_INLINE V<D> exp_minus_square(D d, V<D> x, T<D> by) {
  const auto square = hn::Mul(x, x);
  const auto lost = hn::Mul(hn::MulSub(x, x, square), hn::Set(d, by));
  const auto e = exp_unclamped(d, hn::Neg(hn::Mul(square, hn::Set(d, by))));
  return hn::NegMulAdd(lost, e, e);
}

/// erfc(a) for a in [0, kErfcMax].
template <class D>
HWY_INLINE V<D> erfc_positive(D d, V<D> a) {
  return hn::Mul(exp_minus_square(d, a, T<D>(1)), erfcx(d, a));
}

template <class D>
HWY_INLINE V<D> erf(D d, V<D> x) {
  using R = Traits<D>;
  const auto one = hn::Set(d, T<D>(1));
  const auto a = hn::Abs(x);
  const auto head = hn::MulAdd(poly(d, hn::Mul(x, x), R::kErf), x, x);
  const auto bounded = hn::Min(a, hn::Set(d, R::kErfMax));
  V<D> tail;
  if constexpr (sizeof(T<D>) == 4) {
    tail = hn::Sub(one, exp_unclamped(d, hn::Neg(poly(d, bounded, R::kErfcExponent))));
  } else {
    tail = hn::Sub(one, erfc_positive(d, bounded));
  }
  return hn::IfThenElse(hn::Ge(a, one), hn::CopySign(tail, x), head);
}

template <class D>
HWY_INLINE V<D> erfc(D d, V<D> x) {
  const auto e = erfc_positive(d, clamp(d, hn::Abs(x), T<D>(0), Traits<D>::kErfcMax));
  return hn::IfThenElse(hn::Lt(x, hn::Zero(d)), hn::Sub(hn::Set(d, T<D>(2)), e), e);
}

/// The normal distribution function of x, and e^(-x^2/2).
template <class D>
struct Normal {
  V<D> cdf, bell;
};
template <class D>
HWY_INLINE Normal<D> normal(D d, V<D> x) {
  constexpr T<D> kRootHalf = T<D>(0.70710678118654752);
  const auto a = clamp(d, hn::Abs(x), T<D>(0), Traits<D>::kErfcMax * T<D>(1.4142));
  const auto bell = exp_minus_square(d, a, T<D>(0.5));
  const auto upper = hn::Mul(hn::Mul(bell, hn::Set(d, T<D>(0.5))), erfcx(d, hn::Mul(a, hn::Set(d, kRootHalf))));
  const auto cdf = hn::IfThenElse(hn::Lt(x, hn::Zero(d)), upper, hn::Sub(hn::Set(d, T<D>(1)), upper));
  return {cdf, bell};
}

template <class D>
HWY_INLINE V<D> gelu_erf(D d, V<D> x) {
  return hn::Mul(x, normal(d, x).cdf);
}
template <class D>
HWY_INLINE V<D> gelu_erf_grad(D d, V<D> x) {
  const auto n = normal(d, x);
  const auto density = hn::Mul(n.bell, hn::Set(d, T<D>(0.39894228040143268)));
  return hn::MulAdd(x, density, n.cdf);
}

/// gelu's tanh form is x sigmoid(2u), u = sqrt(2/pi) (x + 0.044715 x^3).
template <class D>
HWY_INLINE V<D> gelu_tanh_argument(D d, V<D> x) {
  const auto cubic = hn::MulAdd(hn::Mul(x, x), hn::Set(d, T<D>(0.044715)), hn::Set(d, T<D>(1)));
  return hn::Mul(hn::Mul(x, hn::Set(d, T<D>(1.5957691216057308))), cubic);
}
template <class D>
HWY_INLINE V<D> gelu_tanh(D d, V<D> x) {
  return hn::Mul(x, sigmoid(d, gelu_tanh_argument(d, x)));
}
template <class D>
HWY_INLINE V<D> gelu_tanh_grad(D d, V<D> x) {
  x = clamp(d, x, T<D>(-100), T<D>(100));  // constant beyond, and the slope of u stays finite
  const auto one = hn::Set(d, T<D>(1));
  const auto s = logistic(d, gelu_tanh_argument(d, x));
  const auto slope =
      hn::Mul(hn::MulAdd(hn::Mul(x, x), hn::Set(d, T<D>(3 * 0.044715)), one), hn::Set(d, T<D>(1.5957691216057308)));
  return hn::MulAdd(hn::Mul(x, slope), s.slope, s.value);
}

// ---- sin, cos, pow -------------------------------------------------------------------------------------------------

/// Calls `f` on each lane that `mask` excludes and keeps `result` elsewhere.
template <class D, class M, class F>
HWY_NOINLINE V<D> by_lane(D d, V<D> x, V<D> result, M keep, F f) {
  HWY_ALIGN T<D> in[hn::MaxLanes(D())];
  HWY_ALIGN T<D> out[hn::MaxLanes(D())];
  hn::Store(x, d, in);
  for (size_t i = 0; i < hn::Lanes(d); ++i) out[i] = f(in[i]);
  return hn::IfThenElse(keep, result, hn::Load(d, out));
}

template <bool kCosine, class D>
HWY_INLINE V<D> sin_or_cos(D d, V<D> x) {
  using R = Traits<D>;
  const BitsOf<D> du;
  const auto n = hn::Round(hn::Mul(x, hn::Set(d, R::kTwoOverPi)));
  auto r = hn::NegMulAdd(n, hn::Set(d, R::kPi2[0]), x);
  r = hn::NegMulAdd(n, hn::Set(d, R::kPi2[1]), r);
  r = hn::NegMulAdd(n, hn::Set(d, R::kPi2[2]), r);
  auto quadrant = hn::BitCast(du, hn::Add(n, hn::Set(d, R::kMagic)));
  if (kCosine) quadrant = hn::Add(quadrant, hn::Set(du, typename R::Bits(1)));
  const auto z = hn::Mul(r, r);
  const auto sine = hn::MulAdd(hn::Mul(poly(d, z, R::kSin), z), r, r);
  const auto half = hn::NegMulAdd(hn::Set(d, T<D>(0.5)), z, hn::Set(d, T<D>(1)));
  const auto cosine = hn::MulAdd(hn::Mul(z, z), poly(d, z, R::kCos), half);
  constexpr int kSignShift = sizeof(T<D>) * 8 - 2;
  const auto odd = hn::Ne(hn::And(quadrant, hn::Set(du, typename R::Bits(1))), hn::Zero(du));
  const auto sign = hn::ShiftLeft<kSignShift>(hn::And(quadrant, hn::Set(du, typename R::Bits(2))));
  auto result = hn::Xor(hn::IfThenElse(hn::RebindMask(d, odd), cosine, sine), hn::BitCast(d, sign));
  if (!kCosine) result = hn::IfThenElse(hn::Eq(x, hn::Zero(d)), x, result);
  const auto keep = hn::Le(hn::Abs(x), hn::Set(d, R::kTrigMax));
  if (HWY_UNLIKELY(!hn::AllTrue(d, keep))) {
    return by_lane(d, x, result, keep, [](T<D> v) { return kCosine ? std::cos(v) : std::sin(v); });
  }
  return result;
}
template <class D>
HWY_INLINE V<D> sin(D d, V<D> x) {
  return sin_or_cos<false>(d, x);
}
template <class D>
HWY_INLINE V<D> cos(D d, V<D> x) {
  return sin_or_cos<true>(d, x);
}

/// x^y by the C library, lane by lane. Exponents that are common (2, 3, 0.5, -1, ...) deserve their own loops.
template <class D>
HWY_NOINLINE V<D> pow(D d, V<D> x, V<D> y) {
  HWY_ALIGN T<D> a[hn::MaxLanes(D())];
  HWY_ALIGN T<D> b[hn::MaxLanes(D())];
  hn::Store(x, d, a);
  hn::Store(y, d, b);
  for (size_t i = 0; i < hn::Lanes(d); ++i) a[i] = std::pow(a[i], b[i]);
  return hn::Load(d, a);
}

}  // namespace gradus::inline v0::kernels::HWY_NAMESPACE::math
HWY_AFTER_NAMESPACE();
#endif
