// Simple functions of one operand.
#include <kernels/pointwise.h>

#include <cmath>

#include "kernels/bodies/unary.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/pointwise_unary.cpp"
#include "kernels/cpu/simd.h"

#include "kernels/cpu/elementwise-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gradus::inline v0::kernels::HWY_NAMESPACE {

void abs_kernel(const Loop& l) {
  visit_all(l.dtype, [&]<class T>() { unary<T, T>(l, bodies::Absolute()); });
}
void neg_kernel(const Loop& l) {
  visit_numbers(l.dtype, [&]<class T>() { unary<T, T>(l, bodies::Negative()); });
}
void sign_kernel(const Loop& l) {
  visit_all(l.dtype, [&]<class T>() { unary<T, T>(l, bodies::Sign()); });
}
void relu_kernel(const Loop& l) {
  visit_numbers(l.dtype, [&]<class T>() { unary<T, T>(l, bodies::Relu()); });
}
void bitwise_not_kernel(const Loop& l) {
  if (l.dtype == ScalarType::Bool) return unary<bool, bool>(l, bodies::BitNot());
  visit_integral(l.dtype, [&]<class T>() { unary<T, T>(l, bodies::BitNot()); });
}

#define GRADUS_VECTOR_KERNEL(name, expression)                       \
  void name##_kernel(const Loop& l) {                                \
    visit_floating(l.dtype, [&]<class T>() {                         \
      unary_vector<T>(                                               \
          l, [](auto d, auto x) HWY_ATTR { return expression; }, 1); \
    });                                                              \
  }
GRADUS_VECTOR_KERNEL(floor, ((void)d, hn::Floor(x)))
GRADUS_VECTOR_KERNEL(ceil, ((void)d, hn::Ceil(x)))
GRADUS_VECTOR_KERNEL(round, ((void)d, hn::Round(x)))
GRADUS_VECTOR_KERNEL(trunc, ((void)d, hn::Trunc(x)))
GRADUS_VECTOR_KERNEL(reciprocal, hn::Div(hn::Set(d, hn::TFromD<decltype(d)>(1)), x))
#undef GRADUS_VECTOR_KERNEL

void round_decimals_kernel(const Loop& l, const Scalar& decimals) {
  const bool left = decimals.as_int() < 0;
  const double power = std::pow(10.0, std::abs(static_cast<double>(decimals.as_int())));
  visit_floating(l.dtype, [&]<class T>() {
    using C = Compute<T>;
    const C ten = static_cast<C>(power);
    if (left) {
      unary<T, T>(l, bodies::RoundLeft<C>{ten}, 8);
    } else {
      unary<T, T>(l, bodies::RoundRight<C>{ten}, 8);
    }
  });
}

}  // namespace gradus::inline v0::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gradus::inline v0::kernels {
GRADUS_CPU_KERNEL(abs, UnaryTable)
GRADUS_CPU_KERNEL(neg, UnaryTable)
GRADUS_CPU_KERNEL(sign, UnaryTable)
GRADUS_CPU_KERNEL(relu, UnaryTable)
GRADUS_CPU_KERNEL(bitwise_not, UnaryTable)
GRADUS_CPU_KERNEL(floor, UnaryTable)
GRADUS_CPU_KERNEL(ceil, UnaryTable)
GRADUS_CPU_KERNEL(round, UnaryTable)
GRADUS_CPU_KERNEL(trunc, UnaryTable)
GRADUS_CPU_KERNEL(reciprocal, UnaryTable)
GRADUS_CPU_KERNEL_AS(round_decimals, ScaledTable, "round")
}  // namespace gradus::inline v0::kernels
#endif
