// Every elementwise operator's kernel on the device, for all of its dtypes, against formulas in long double and
// wrapping 64-bit integers, over special values and random ones.
#include "elementwise_fixture.h"

#include <kernels/dropout.h>
#include <kernels/pointwise.h>

namespace gradus::inline v0::kernels::cuda_test {
namespace {

using Real = long double;
constexpr Real kInfinity = std::numeric_limits<Real>::infinity(), kNan = std::numeric_limits<Real>::quiet_NaN();
constexpr ScalarType kFloats[] = {kFloat, kDouble, kHalf, kBFloat16};
constexpr ScalarType kIntegers[] = {kByte, kChar, kShort, kInt, kLong};

template <class Table, class... A>
std::function<void(const Loop&)> call(const Table& table, A... arguments) {
  return [&table, arguments...](const Loop& l) { table.get(Backend::CUDA)(l, arguments...); };
}

/// What a kernel must give, and in what size of numbers it may err (is_close).
struct Want {
  Real value;
  double floor = 0;
  Want(Real v, Real f = 0) : value(v), floor(static_cast<double>(std::abs(f))) {}  // NOLINT
};

std::vector<double> special_floats() {
  std::vector<double> v = {0.0,  -0.0, 1.0,  -1.0,  0.5,      -0.5,      1.5,   2.5,    -2.5,   2.0,
                           -2.0, 3.0,  -3.0, 4.0,   7.0,      10.0,      -10.0, 0.001,  -0.002, 3.14159,
                           1e4,  -1e4, 88.5, -88.0, 104.0,    -104.0,    1e-30, -1e-30, 6e-5,   1e-7,
                           3e4,  -6e4, 1e30, -1e38, INFINITY, -INFINITY, NAN};
  return v;
}
std::vector<double> moderate_floats() {
  std::vector<double> v = {0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 3.0, 10.0, INFINITY, -INFINITY, NAN};
  std::mt19937 random(5);
  std::uniform_real_distribution<double> draw(-12, 12);
  for (int i = 0; i < 25; ++i) v.push_back(draw(random));
  return v;
}
const std::vector<int64_t> kSpecialIntegers = {0,
                                               1,
                                               -1,
                                               2,
                                               -2,
                                               3,
                                               5,
                                               -7,
                                               63,
                                               127,
                                               128,
                                               -128,
                                               255,
                                               32767,
                                               -32768,
                                               2147483647,
                                               -2147483647 - 1,
                                               1 << 20,
                                               INT64_MAX,
                                               INT64_MIN,
                                               123456789};

// The inputs run through all combinations of the values.
template <class V>
int64_t combinations(const std::vector<V>& values, size_t inputs) {
  int64_t n = 1;
  for (size_t k = 0; k < inputs; ++k) n *= static_cast<int64_t>(values.size());
  return n;
}
template <class V>
V value_at(const std::vector<V>& values, size_t input, int64_t i) {
  for (size_t k = 0; k < input; ++k) i /= static_cast<int64_t>(values.size());
  return values[static_cast<size_t>(i) % values.size()];
}
Geometry rows(int64_t n, size_t operands) {
  return {"", {n}, std::vector<Layout>(operands, Layout{{1}})};
}

// ulps < 0: exactly, with the sign of a zero.
void expect_floats(const char* name, size_t inputs, const std::vector<double>& values, double ulps,
                   const std::function<void(const Loop&)>& run,
                   const std::function<Want(const Real*, ScalarType)>& want,
                   ScalarType out_dtype = ScalarType::Undefined) {
  for (const ScalarType t : kFloats) {
    SCOPED_TRACE(std::string(name) + " of " + to_string(t));
    const Geometry g = rows(combinations(values, inputs), inputs + 1);
    std::vector<ScalarType> dtypes(inputs + 1, t);
    if (out_dtype != ScalarType::Undefined) dtypes[0] = out_dtype;
    Operands o(g, dtypes, t);
    for (size_t k = 1; k <= inputs; ++k)
      o.fill(k, [&](int64_t i) { return std::pair<double, int64_t>(value_at(values, k - 1, i), 0); });
    o.run(run);
    for (int64_t i = 0; i < g.numel(); ++i) {
      Real in[3] = {};
      for (size_t k = 1; k <= inputs; ++k) in[k - 1] = o.at(k, i).real;
      const Want w = want(in, t);
      const Real got = o.at(0, i).real;
      const bool good =
          dtypes[0] == kBool ? got == w.value
          : ulps < 0
              ? (std::isnan(w.value) ? std::isnan(got) : got == w.value && std::signbit(got) == std::signbit(w.value))
              : is_close(t, got, w.value, ulps, w.floor);
      ASSERT_TRUE(good) << in[0] << " " << in[1] << " " << in[2] << ": " << got << ", expected " << w.value;
    }
  }
}
void expect_integers(const char* name, size_t inputs, const std::function<void(const Loop&)>& run,
                     const std::function<int64_t(const int64_t*, ScalarType)>& want, bool with_bool = false,
                     ScalarType out_dtype = ScalarType::Undefined) {
  std::vector<ScalarType> types(std::begin(kIntegers), std::end(kIntegers));
  if (with_bool) types.push_back(kBool);
  for (const ScalarType t : types) {
    SCOPED_TRACE(std::string(name) + " of " + to_string(t));
    const Geometry g = rows(combinations(kSpecialIntegers, inputs), inputs + 1);
    std::vector<ScalarType> dtypes(inputs + 1, t);
    if (out_dtype != ScalarType::Undefined) dtypes[0] = out_dtype;
    Operands o(g, dtypes, t);
    for (size_t k = 1; k <= inputs; ++k)
      o.fill(k, [&](int64_t i) { return std::pair<double, int64_t>(0, value_at(kSpecialIntegers, k - 1, i)); });
    o.run(run);
    for (int64_t i = 0; i < g.numel(); ++i) {
      int64_t in[3] = {};
      for (size_t k = 1; k <= inputs; ++k) in[k - 1] = o.at(k, i).integer;
      // Written as an element, where it wraps, and read again.
      unsigned char bytes[16];
      write(dtypes[0], bytes, 0, want(in, t));
      ASSERT_EQ(o.at(0, i).integer, read(dtypes[0], bytes).integer) << in[0] << " " << in[1] << " " << in[2];
    }
  }
}
int64_t wrapped_add(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
int64_t wrapped_mul(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}
/// A dtype's arithmetic in its computing type, for formulas that round on the way.
Real rounded(ScalarType t, Real v) {
  return t == kDouble ? static_cast<double>(v) : static_cast<float>(v);
}

TEST(Pointwise, Arithmetic) {
  expect_floats("add", 2, special_floats(), 1, call(kernels::add, Scalar(0.3)), [](const Real* in, ScalarType t) {
    const Real product = rounded(t, 0.3) * in[1];
    return Want(in[0] + product, std::isfinite(product) ? product : 0);
  });
  expect_floats("mul", 2, special_floats(), 0.5, call(kernels::mul),
                [](const Real* in, ScalarType) { return in[0] * in[1]; });
  expect_floats("div", 2, special_floats(), 0.5, call(kernels::div),
                [](const Real* in, ScalarType) { return in[0] / in[1]; });
  expect_floats("hypot", 2, special_floats(), 2, call(kernels::hypot),
                [](const Real* in, ScalarType) { return std::hypot(in[0], in[1]); });
  expect_integers("add", 2, call(kernels::add, Scalar(-3)),
                  [](const int64_t* in, ScalarType) { return wrapped_add(in[0], wrapped_mul(-3, in[1])); });
  expect_integers(
      "mul", 2, call(kernels::mul), [](const int64_t* in, ScalarType) { return wrapped_mul(in[0], in[1]); }, true);
}
TEST(Pointwise, AddOfBools) {
  for (const int alpha : {0, 1, 5}) {
    const Geometry g = rows(4, 3);
    Operands o(g, {kBool, kBool, kBool}, kBool);
    o.fill(1, [](int64_t i) { return std::pair<double, int64_t>(0, i & 1); });
    o.fill(2, [](int64_t i) { return std::pair<double, int64_t>(0, i >> 1); });
    o.run(call(kernels::add, Scalar(alpha)));
    for (int64_t i = 0; i < 4; ++i) EXPECT_EQ(o.at(0, i).integer, (i & 1) || (alpha != 0 && i >> 1));
  }
}
TEST(Pointwise, Extremes) {
  const auto larger = [](Real a, Real b) { return std::isnan(a) || std::isnan(b) ? kNan : a > b ? a : b; };
  const auto smaller = [](Real a, Real b) { return std::isnan(a) || std::isnan(b) ? kNan : a < b ? a : b; };
  expect_floats("maximum", 2, special_floats(), -1, call(kernels::maximum),
                [=](const Real* in, ScalarType) { return larger(in[0], in[1]); });
  expect_floats("minimum", 2, special_floats(), -1, call(kernels::minimum),
                [=](const Real* in, ScalarType) { return smaller(in[0], in[1]); });
  expect_integers(
      "maximum", 2, call(kernels::maximum), [](const int64_t* in, ScalarType) { return std::max(in[0], in[1]); }, true);
  expect_integers(
      "minimum", 2, call(kernels::minimum), [](const int64_t* in, ScalarType) { return std::min(in[0], in[1]); }, true);

  // Between infinities only, so that signs of zero do not matter.
  const auto clamped = [=](Real a, Real low, Real high) { return smaller(larger(a, low), high); };
  expect_floats("clamp", 3, moderate_floats(), 0, call(kernels::clamp),
                [=](const Real* in, ScalarType) { return clamped(in[0], in[1], in[2]); });
  expect_floats("clamp", 1, special_floats(), 0, call(kernels::clamp_scalar, Scalar(-0.7), Scalar(2.3)),
                [=](const Real* in, ScalarType t) { return clamped(in[0], rounded(t, -0.7), rounded(t, 2.3)); });
  expect_floats("clamp_min", 1, special_floats(), 0, call(kernels::clamp_min_scalar, Scalar(0.3)),
                [=](const Real* in, ScalarType t) { return larger(in[0], rounded(t, 0.3)); });
  expect_floats("clamp_max", 1, special_floats(), 0, call(kernels::clamp_max_scalar, Scalar(0.3)),
                [=](const Real* in, ScalarType t) { return smaller(in[0], rounded(t, 0.3)); });
  expect_floats("clamp_min to NaN", 1, special_floats(), 0, call(kernels::clamp_min_scalar, Scalar(NAN)),
                [=](const Real*, ScalarType) { return kNan; });
  expect_floats("clamp_max to infinity", 1, special_floats(), 0, call(kernels::clamp_max_scalar, Scalar(INFINITY)),
                [=](const Real* in, ScalarType) { return in[0]; });
  expect_integers("clamp", 3, call(kernels::clamp),
                  [](const int64_t* in, ScalarType) { return std::min(std::max(in[0], in[1]), in[2]); });
  expect_integers("clamp", 1, call(kernels::clamp_scalar, Scalar(2), Scalar(100)),
                  [](const int64_t* in, ScalarType) { return std::min<int64_t>(std::max<int64_t>(in[0], 2), 100); });
  expect_integers("clamp_min", 1, call(kernels::clamp_min_scalar, Scalar(3)),
                  [](const int64_t* in, ScalarType) { return std::max<int64_t>(in[0], 3); });
  expect_integers("clamp_max", 1, call(kernels::clamp_max_scalar, Scalar(3)),
                  [](const int64_t* in, ScalarType) { return std::min<int64_t>(in[0], 3); });
}
TEST(Pointwise, Bits) {
  expect_integers(
      "and", 2, call(kernels::bitwise_and), [](const int64_t* in, ScalarType) { return in[0] & in[1]; }, true);
  expect_integers(
      "or", 2, call(kernels::bitwise_or), [](const int64_t* in, ScalarType) { return in[0] | in[1]; }, true);
  expect_integers(
      "xor", 2, call(kernels::bitwise_xor), [](const int64_t* in, ScalarType) { return in[0] ^ in[1]; }, true);
  expect_integers(
      "not", 1, call(kernels::bitwise_not), [](const int64_t* in, ScalarType) { return ~in[0]; }, true);
}

TEST(Pointwise, Division) {
  const auto floor_of = [](Real a, Real b) {
    if (b == 0) return a / b;
    const Real rest = std::fmod(a, b);
    Real quotient = (a - rest) / b;
    if (rest != 0 && (b < 0) != (rest < 0)) quotient -= 1;
    return std::floor(quotient + 0.5L);
  };
  expect_floats("div_floor", 2, special_floats(), 1, call(kernels::div_floor),
                [=](const Real* in, ScalarType) { return floor_of(in[0], in[1]); });
  expect_floats("div_trunc", 2, special_floats(), 0.5, call(kernels::div_trunc),
                [](const Real* in, ScalarType t) { return std::trunc(rounded(t, in[0] / in[1])); });
  expect_floats("remainder", 2, special_floats(), 1, call(kernels::remainder), [](const Real* in, ScalarType) {
    const Real rest = std::fmod(in[0], in[1]);
    return rest != 0 && (in[1] < 0) != (rest < 0) ? Want(rest + in[1], rest) : Want(rest);
  });
  expect_floats("fmod", 2, special_floats(), 0.5, call(kernels::fmod),
                [](const Real* in, ScalarType) { return std::fmod(in[0], in[1]); });
  // 128 bits, where the smallest number divided by -1 is no exception.
  using Wide = __int128;
  const auto floor_wide = [](Wide a, Wide b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); };
  const auto of_integers = [](auto f) {
    return [f](const int64_t* in, ScalarType) {
      return in[1] == 0 ? 0 : static_cast<int64_t>(f(Wide{in[0]}, Wide{in[1]}));
    };
  };
  expect_integers("div_floor", 2, call(kernels::div_floor), of_integers(floor_wide));
  expect_integers("div_trunc", 2, call(kernels::div_trunc), of_integers([](Wide a, Wide b) { return a / b; }));
  expect_integers("remainder", 2, call(kernels::remainder),
                  of_integers([=](Wide a, Wide b) { return a - floor_wide(a, b) * b; }));
  expect_integers("fmod", 2, call(kernels::fmod), of_integers([](Wide a, Wide b) { return a % b; }));
}

TEST(Pointwise, DivisionReportsNothing) {
  const Geometry g = rows(5, 3);
  Operands o(g, {kInt, kInt, kInt}, kInt);
  o.fill(1, [](int64_t i) { return std::pair<double, int64_t>(0, i); });
  o.fill(2, [](int64_t) { return std::pair<double, int64_t>(0, 0); });
  o.run([](const Loop& l) { EXPECT_TRUE(kernels::div_floor.get(Backend::CUDA)(l)); });
}

TEST(Pointwise, Powers) {
  expect_floats("pow", 2, special_floats(), 8, call(kernels::pow),
                [](const Real* in, ScalarType) { return std::pow(in[0], in[1]); });
  for (const double e : {0.0, 1.0, 2.0, 3.0, 4.0, -1.0, -2.0, 0.5, -0.5, 2.7, -3.0}) {
    SCOPED_TRACE(e);
    // sqrt of minus infinity is NaN, and of -0 it is -0.
    expect_floats("pow_scalar", 1, special_floats(), 8, call(kernels::pow_scalar, Scalar(e)),
                  [e](const Real* in, ScalarType t) {
                    if (e == 0.5) return std::sqrt(in[0]);
                    if (e == -0.5) return 1 / std::sqrt(in[0]);
                    return std::pow(in[0], rounded(t, e));
                  });
  }
  const auto power = [](int64_t base, int64_t exponent) -> int64_t {
    if (exponent < 0) return base == 1 ? 1 : base == -1 ? (exponent % 2 ? -1 : 1) : 0;
    int64_t result = 1;
    for (int bit = 62; bit >= 0; --bit) {
      result = wrapped_mul(result, result);
      if (exponent >> bit & 1) result = wrapped_mul(result, base);
    }
    return result;
  };
  expect_integers("pow", 2, call(kernels::pow), [=](const int64_t* in, ScalarType) { return power(in[0], in[1]); });
  for (const int64_t e : {0, 1, 2, 5, -1, -2}) {
    expect_integers("pow_scalar", 1, call(kernels::pow_scalar, Scalar(e)),
                    [=](const int64_t* in, ScalarType t) { return power(in[0], t == kByte ? e & 255 : e); });
  }
}

TEST(Pointwise, Ternary) {
  expect_floats("addcmul", 3, moderate_floats(), 2, call(kernels::addcmul, Scalar(0.7)),
                [](const Real* in, ScalarType t) {
                  const Real product = rounded(t, 0.7) * in[1] * in[2];
                  return Want(in[0] + product, std::isfinite(product) ? product : 0);
                });
  expect_floats("addcdiv", 3, moderate_floats(), 2, call(kernels::addcdiv, Scalar(0.7)),
                [](const Real* in, ScalarType t) {
                  const Real quotient = rounded(t, 0.7) * in[1] / in[2];
                  return Want(in[0] + quotient, std::isfinite(quotient) ? quotient : 0);
                });
  expect_integers("addcmul", 3, call(kernels::addcmul, Scalar(-2)), [](const int64_t* in, ScalarType) {
    return wrapped_add(in[0], wrapped_mul(wrapped_mul(-2, in[1]), in[2]));
  });
  const auto between = [](Real a, Real b, Real w) {
    const Real value = std::abs(w) < 0.5L ? a + w * (b - a) : b - (b - a) * (1 - w);
    const Real size = std::abs(a) + std::abs(b) + std::abs(w * (b - a));
    return Want(value, std::isfinite(size) ? size : 0);
  };
  expect_floats("lerp", 3, moderate_floats(), 2, call(kernels::lerp),
                [=](const Real* in, ScalarType) { return between(in[0], in[1], in[2]); });
  for (const double w : {0.0, 0.3, 0.5, 1.0, 2.0}) {
    expect_floats("lerp_scalar", 2, moderate_floats(), 2, call(kernels::lerp_scalar, Scalar(w)),
                  [=](const Real* in, ScalarType t) { return between(in[0], in[1], rounded(t, w)); });
  }
}

TEST(Pointwise, SimpleFunctions) {
  const auto exact = [](const char* name, const UnaryTable& table, Real (*f)(Real)) {
    expect_floats(name, 1, special_floats(), -1, call(table), [f](const Real* in, ScalarType) { return f(in[0]); });
  };
  exact("abs", kernels::abs, [](Real a) { return std::abs(a); });
  exact("neg", kernels::neg, [](Real a) { return -a; });
  exact("sign", kernels::sign, [](Real a) { return a > 0 ? 1.0L : a < 0 ? -1.0L : 0.0L; });
  exact("relu", kernels::relu, [](Real a) { return std::isnan(a) || a > 0 ? a : 0.0L; });
  exact("floor", kernels::floor, [](Real a) { return std::floor(a); });
  exact("ceil", kernels::ceil, [](Real a) { return std::ceil(a); });
  exact("round", kernels::round, [](Real a) { return std::nearbyint(a); });
  exact("trunc", kernels::trunc, [](Real a) { return std::trunc(a); });
  expect_floats("reciprocal", 1, special_floats(), 0.5, call(kernels::reciprocal),
                [](const Real* in, ScalarType) { return 1 / in[0]; });
  for (const int64_t decimals : {0, 2, -1}) {
    expect_floats("round_decimals", 1, moderate_floats(), 2, call(kernels::round_decimals, Scalar(decimals)),
                  [=](const Real* in, ScalarType t) {
                    const Real ten = std::pow(10.0L, std::abs(decimals));
                    if (decimals < 0) return std::nearbyint(rounded(t, in[0] / ten)) * ten;
                    return std::nearbyint(rounded(t, in[0] * ten)) / ten;
                  });
  }
  expect_integers(
      "abs", 1, call(kernels::abs),
      [](const int64_t* in, ScalarType) { return in[0] < 0 ? wrapped_mul(-1, in[0]) : in[0]; }, true);
  expect_integers("neg", 1, call(kernels::neg), [](const int64_t* in, ScalarType) { return wrapped_mul(-1, in[0]); });
  expect_integers(
      "sign", 1, call(kernels::sign), [](const int64_t* in, ScalarType) { return (in[0] > 0) - (in[0] < 0); }, true);
  expect_integers("relu", 1, call(kernels::relu), [](const int64_t* in, ScalarType) { return in[0] > 0 ? in[0] : 0; });
}

Real sigmoid_of(Real x) {
  return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x));
}
// Numbers as large as their errors are where x is multiplied by a subnormal number.
Real subnormal(ScalarType t, Real x) {
  return std::isfinite(x) ? std::abs(x) * (t == kDouble ? 0x1p-1022L : 0x1p-126L) : 0;
}
Real cdf_of(Real x) {
  return std::erfc(-x * std::sqrt(0.5L)) / 2;
}
Real gelu_tanh_argument_of(Real x) {
  return 1.5957691216057308L * (x + 0.044715L * x * x * x);
}

TEST(Pointwise, Functions) {
  const auto function = [](const char* name, const UnaryTable& table, double ulps, Real (*f)(Real)) {
    for (const auto& values : {special_floats(), moderate_floats()})
      expect_floats(name, 1, values, ulps, call(table), [f](const Real* in, ScalarType) { return f(in[0]); });
  };
  // Bounds on a device (CUDA's guide), where a C library has less.
  function("exp", kernels::exp, 2, [](Real x) { return std::exp(x); });
  function("exp2", kernels::exp2, 2, [](Real x) { return std::exp2(x); });
  function("expm1", kernels::expm1, 2, [](Real x) { return std::expm1(x); });
  function("log", kernels::log, 2, [](Real x) { return std::log(x); });
  function("log2", kernels::log2, 2, [](Real x) { return std::log2(x); });
  function("log10", kernels::log10, 2, [](Real x) { return std::log10(x); });
  function("log1p", kernels::log1p, 2, [](Real x) { return std::log1p(x); });
  function("sqrt", kernels::sqrt, 0.5, [](Real x) { return std::sqrt(x); });
  function("rsqrt", kernels::rsqrt, 2, [](Real x) { return 1 / std::sqrt(x); });
  function("sin", kernels::sin, 2, [](Real x) { return std::sin(x); });
  function("cos", kernels::cos, 2, [](Real x) { return std::cos(x); });
  function("tan", kernels::tan, 4, [](Real x) { return std::tan(x); });
  function("tanh", kernels::tanh, 2, [](Real x) { return std::tanh(x); });
  function("erf", kernels::erf, 2, [](Real x) { return std::erf(x); });
  function("erfc", kernels::erfc, 5, [](Real x) { return std::erfc(x); });
  function("sigmoid", kernels::sigmoid, 4, &sigmoid_of);
  // Tails err by what rounding x^2 makes of e^(-x^2), subnormal ones by x times the smallest number.
  for (const auto& values : {special_floats(), moderate_floats()}) {
    expect_floats("silu", 1, values, 4, call(kernels::silu), [](const Real* in, ScalarType t) {
      const Real v = in[0] * sigmoid_of(in[0]);
      return Want(v, subnormal(t, in[0]));
    });
    expect_floats("gelu_erf", 1, values, 6, call(kernels::gelu_erf), [](const Real* in, ScalarType t) {
      const Real v = in[0] * cdf_of(in[0]);
      return Want(v, std::abs(v) * std::max(1.0L, in[0] * in[0]) + subnormal(t, in[0]));
    });
    expect_floats("gelu_tanh", 1, values, 6, call(kernels::gelu_tanh), [](const Real* in, ScalarType t) {
      const Real u = gelu_tanh_argument_of(in[0]), v = in[0] * sigmoid_of(u);
      return Want(v, v == 0 ? 0 : std::abs(v) * std::max(1.0L, std::abs(u)) + subnormal(t, in[0]));
    });
  }
}

TEST(Pointwise, Activations) {
  expect_floats("leaky_relu", 1, special_floats(), 1, call(kernels::leaky_relu, Scalar(0.1)),
                [](const Real* in, ScalarType t) { return in[0] > 0 ? in[0] : rounded(t, 0.1) * in[0]; });
  expect_floats("leaky_relu_backward", 2, special_floats(), 1, call(kernels::leaky_relu_backward, Scalar(0.1)),
                [](const Real* in, ScalarType t) { return in[1] > 0 ? in[0] : rounded(t, 0.1) * in[0]; });
  expect_floats("threshold", 1, special_floats(), 0, call(kernels::threshold, Scalar(0.5), Scalar(-2.0)),
                [](const Real* in, ScalarType) { return in[0] <= 0.5L ? -2.0L : in[0]; });
  expect_floats("threshold_backward", 2, special_floats(), 0, call(kernels::threshold_backward, Scalar(0.5)),
                [](const Real* in, ScalarType) { return in[1] <= 0.5L ? 0.0L : in[0]; });
  expect_integers("threshold", 1, call(kernels::threshold, Scalar(3), Scalar(7)),
                  [](const int64_t* in, ScalarType) { return in[0] <= 3 ? 7 : in[0]; });
  expect_integers("threshold_backward", 2, call(kernels::threshold_backward, Scalar(3)),
                  [](const int64_t* in, ScalarType) { return in[1] <= 3 ? 0 : in[0]; });
  expect_floats("tanh_backward", 2, moderate_floats(), 4, call(kernels::tanh_backward), [](const Real* in, ScalarType) {
    const Real v = in[0] * (1 - in[1] * in[1]), size = in[0] * in[1] * in[1];
    return Want(v, std::isfinite(size) ? size : 0);
  });
  expect_floats("sigmoid_backward", 2, moderate_floats(), 4, call(kernels::sigmoid_backward),
                [](const Real* in, ScalarType) { return in[0] * (1 - in[1]) * in[1]; });
  std::vector<double> finite;
  for (const double v : moderate_floats()) {
    if (!std::isinf(v)) finite.push_back(v);
  }
  expect_floats("silu_backward", 2, finite, 8, call(kernels::silu_backward), [](const Real* in, ScalarType) {
    const Real s = sigmoid_of(in[1]);
    return Want(in[0] * (s + in[1] * s * (1 - s)), in[0] * s * (1 + std::abs(in[1])));
  });
  expect_floats("gelu_erf_backward", 2, finite, 8, call(kernels::gelu_erf_backward), [](const Real* in, ScalarType) {
    const Real x = in[1], bell = std::exp(-x * x / 2) / std::sqrt(2 * std::acos(-1.0L));
    return Want(in[0] * (cdf_of(x) + x * bell), in[0] * (cdf_of(x) + std::abs(x) * bell) * (1 + x * x));
  });
  expect_floats("gelu_tanh_backward", 2, finite, 8, call(kernels::gelu_tanh_backward),
                [](const Real* in, ScalarType t) {
                  const Real x = in[1], u = gelu_tanh_argument_of(x), s = sigmoid_of(u);
                  const Real slope = 1.5957691216057308L * (1 + 3 * 0.044715L * x * x);
                  return Want(in[0] * (s + x * slope * s * (1 - s)),
                              std::abs(in[0]) * (s + std::abs(x * slope) * s * (1 - s)) * (1 + std::abs(u)) +
                                  subnormal(t, in[0] * x * slope));
                });
}

TEST(Pointwise, Comparisons) {
  struct Comparison {
    const char* name;
    const BinaryTable& table;
    bool (*f)(Real, Real);
  };
  const Comparison all[] = {{"eq", kernels::eq, [](Real a, Real b) { return a == b; }},
                            {"ne", kernels::ne, [](Real a, Real b) { return a != b; }},
                            {"lt", kernels::lt, [](Real a, Real b) { return a < b; }},
                            {"le", kernels::le, [](Real a, Real b) { return a <= b; }},
                            {"gt", kernels::gt, [](Real a, Real b) { return a > b; }},
                            {"ge", kernels::ge, [](Real a, Real b) { return a >= b; }},
                            {"logical_and", kernels::logical_and, [](Real a, Real b) { return a != 0 && b != 0; }},
                            {"logical_or", kernels::logical_or, [](Real a, Real b) { return a != 0 || b != 0; }},
                            {"logical_xor", kernels::logical_xor, [](Real a, Real b) { return (a != 0) != (b != 0); }}};
  for (const Comparison& c : all) {
    expect_floats(
        c.name, 2, special_floats(), 0, call(c.table),
        [&](const Real* in, ScalarType) { return Real(c.f(in[0], in[1])); }, kBool);
    expect_integers(
        c.name, 2, call(c.table), [&](const int64_t* in, ScalarType) { return c.f(Real(in[0]), Real(in[1])); }, true,
        kBool);
  }
  struct Test {
    const char* name;
    const UnaryTable& table;
    bool (*f)(Real);
    bool of_integers;  // what it is for every integer; logical_not asks for zero
  };
  const Test tests[] = {{"logical_not", kernels::logical_not, [](Real a) { return a == 0; }, false},
                        {"isnan", kernels::isnan, [](Real a) { return bool(std::isnan(a)); }, false},
                        {"isinf", kernels::isinf, [](Real a) { return bool(std::isinf(a)); }, false},
                        {"isfinite", kernels::isfinite, [](Real a) { return bool(std::isfinite(a)); }, true}};
  for (const Test& test : tests) {
    expect_floats(
        test.name, 1, special_floats(), 0, call(test.table),
        [&](const Real* in, ScalarType) { return Real(test.f(in[0])); }, kBool);
    expect_integers(
        test.name, 1, call(test.table), [&](const int64_t* in, ScalarType) { return test.f(Real(in[0])); }, true,
        kBool);
  }
}

TEST(Pointwise, MaskedScale) {
  for (const ScalarType t : kFloats) {
    const std::vector<double> values = special_floats();
    const Geometry g = rows(static_cast<int64_t>(values.size()) * 2, 3);
    Operands o(g, {t, t, kBool}, t);
    o.fill(1, [&](int64_t i) { return std::pair<double, int64_t>(value_at(values, 0, i), 0); });
    o.fill(2, [](int64_t i) { return std::pair<double, int64_t>(0, i % 3 == 0); });
    o.run(call(kernels::masked_scale, 1.25));
    for (int64_t i = 0; i < g.numel(); ++i) {
      const Real a = o.at(1, i).real, got = o.at(0, i).real;
      const Real want = a * (o.at(2, i).integer ? 1.25L : 0.0L);
      ASSERT_TRUE(is_close(t, got, want, 0.5)) << a << ": " << got << ", expected " << want;
      ASSERT_TRUE(want != 0 || std::signbit(got) == std::signbit(want)) << a;
    }
  }
}

}  // namespace
}  // namespace gradus::inline v0::kernels::cuda_test
