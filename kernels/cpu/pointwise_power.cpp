// Powers. The exponents that programs use have their own loops; the rest goes through the C library.
#include <kernels/pointwise.h>

#include "kernels/bodies/power.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/pointwise_power.cpp"
#include "kernels/cpu/simd.h"

#include "kernels/cpu/elementwise-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gradus::inline v0::kernels::HWY_NAMESPACE {

void pow_kernel(const Loop& l) {
  if (!is_floating_point(l.dtype))
    return visit_integral(l.dtype, [&]<class T>() { binary<T, T, T>(l, bodies::Power(), 8); });
  visit_floating(l.dtype, [&]<class T>() { binary<T, T, T>(l, bodies::Power(), 16); });
}

template <class T>
void float_power(const Loop& l, double exponent) {
  using C = Compute<T>;
  if (exponent == 2) return unary<T, T>(l, bodies::Square());
  if (exponent == 3) return unary<T, T>(l, bodies::Cube());
  if (exponent == 4) return unary<T, T>(l, bodies::Fourth());
  if (exponent == 1) return unary<T, T>(l, bodies::Identity());
  if (exponent == -1) return unary<T, T>(l, bodies::Inverse(), 2);
  if (exponent == -2) return unary<T, T>(l, bodies::InverseSquare(), 2);
  if (exponent == 0.5) {
    return unary_vector<T>(
        l, [](auto d, auto x) HWY_ATTR { return (void)d, hn::Sqrt(x); }, 2);
  }
  if (exponent == -0.5) {
    return unary_vector<T>(
        l, [](auto d, auto x) HWY_ATTR { return hn::Div(hn::Set(d, hn::TFromD<decltype(d)>(1)), hn::Sqrt(x)); }, 3);
  }
  unary<T, T>(l, bodies::PowerOf<C>{static_cast<C>(exponent)}, 16);
}

void pow_scalar_kernel(const Loop& l, const Scalar& exponent) {
  if (!is_floating_point(l.dtype)) {
    return visit_integral(l.dtype,
                          [&]<class T>() { unary<T, T>(l, bodies::PowerOf<T>{static_cast<T>(exponent.as_int())}, 8); });
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
