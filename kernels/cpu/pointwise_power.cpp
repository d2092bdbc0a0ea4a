// Powers. The exponents that programs use have their own loops; the rest goes through the C library.
#include <kernels/pointwise.h>

#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/pointwise_power.cpp"
#include "kernels/cpu/simd.h"

#include "kernels/cpu/elementwise-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gradus::inline v0::kernels::HWY_NAMESPACE {

// Wraps on overflow. A negative exponent gives 0, but for bases 1 and -1.
template <class T>
T integer_power(T base, T exponent) {
  if constexpr (std::is_signed_v<T>) {
    if (exponent < 0) return base == 1 ? T(1) : base == -1 ? (exponent & 1 ? T(-1) : T(1)) : T(0);
  }
  uint64_t result = 1, factor = static_cast<uint64_t>(base);
  for (auto e = static_cast<uint64_t>(exponent); e != 0; e >>= 1) {
    if (e & 1) result *= factor;
    factor *= factor;
  }
  return static_cast<T>(result);
}

void pow_kernel(const Loop& l) {
  if (!is_floating_point(l.dtype)) {
    return visit_integral(l.dtype, [&]<class T>() {
      binary<T, T, T>(
          l, [](T a, T b) { return integer_power(a, b); }, 8);
    });
  }
  visit_floating(l.dtype, [&]<class T>() {
    using C = Compute<T>;
    binary<T, T, T>(
        l, [](C a, C b) { return std::pow(a, b); }, 16);
  });
}

template <class T>
void float_power(const Loop& l, double exponent) {
  using C = Compute<T>;
  if (exponent == 2) return unary<T, T>(l, [](C a) { return a * a; });
  if (exponent == 3) return unary<T, T>(l, [](C a) { return a * a * a; });
  if (exponent == 4) return unary<T, T>(l, [](C a) { return (a * a) * (a * a); });
  if (exponent == 1) return unary<T, T>(l, [](C a) { return a; });
  if (exponent == -1)
    return unary<T, T>(
        l, [](C a) { return 1 / a; }, 2);
  if (exponent == -2)
    return unary<T, T>(
        l, [](C a) { return 1 / (a * a); }, 2);
  if (exponent == 0.5) {
    return unary_vector<T>(
        l, [](auto d, auto x) HWY_ATTR { return (void)d, hn::Sqrt(x); }, 2);
  }
  if (exponent == -0.5) {
    return unary_vector<T>(
        l, [](auto d, auto x) HWY_ATTR { return hn::Div(hn::Set(d, hn::TFromD<decltype(d)>(1)), hn::Sqrt(x)); }, 3);
  }
  const C e = static_cast<C>(exponent);
  unary<T, T>(
      l, [e](C a) { return std::pow(a, e); }, 16);
}

void pow_scalar_kernel(const Loop& l, const Scalar& exponent) {
  if (!is_floating_point(l.dtype)) {
    return visit_integral(l.dtype, [&]<class T>() {
      const T e = static_cast<T>(exponent.as_int());
      unary<T, T>(
          l, [e](T a) { return integer_power(a, e); }, 8);
    });
  }
  visit_floating(l.dtype, [&]<class T>() { float_power<T>(l, exponent.as_double()); });
}

}  // namespace gradus::inline v0::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gradus::inline v0::kernels {
GRADUS_CPU_KERNEL(pow, BinaryTable)
GRADUS_CPU_KERNEL_AS(pow_scalar, ScaledTable, "pow")
}  // namespace gradus::inline v0::kernels
#endif
